//! Patterns use no class of characters that the program's `regex` is built without. No other test can tell: tests share
//! their build with crates that bring in more features than the finished program has.

use crate::source::Source;

/// What of a pattern needs which feature.
const NEEDS: [(&str, &str); 4] = [
    (r"\p{", "unicode-gencat"),
    (r"\b", "unicode-perl"),
    (r"\w", "unicode-perl"),
    ("(?i)", "unicode-case"),
];

/// Files with patterns of classes whose feature the manifest does not name.
fn not_built_in(sources: &[Source<'_>], manifest: &str) -> Vec<String> {
    let features = manifest.lines().find(|line| line.starts_with("regex = ")).unwrap_or_default();
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| source.inside_src().is_some()) {
        let reads_patterns = source.text.contains("regex::") || source.text.contains("use regex");
        for (class, feature) in NEEDS {
            if reads_patterns && source.text.contains(class) && !features.contains(feature) {
                found
                    .push(format!("{}: {class} needs the feature {feature} of regex", source.path));
            }
        }
    }
    found
}

#[test]
fn classes_of_patterns_are_built_in() {
    let manifest = std::fs::read_to_string(crate::source::root().join("Cargo.toml"));
    let manifest = manifest.expect("the workspace has a manifest");
    let sources = crate::source::repository();
    assert_eq!(not_built_in(sources, &manifest), Vec::<String>::new());
    let less = manifest.replace(r#""unicode-gencat", "#, "");
    assert!(!not_built_in(sources, &less).is_empty(), "a class without its feature is found");
}
