//! Names: one meaning per public type, nouns for types, and no rooms for leftovers.

use std::collections::BTreeMap;

use crate::lexer::{Kind, reads};
use crate::ratchet::Finding;
use crate::source::Source;

/// These may be defined once per crate, in a file directly in its `src`.
const AT_CRATE_ROOTS: [&str; 2] = ["Error", "Result"];

/// Participles that do not end with -ed.
const PARTICIPLES: [&str; 11] =
    ["Begun", "Found", "Heard", "Held", "Kept", "Known", "Made", "Said", "Seen", "Taken", "Told"];

/// Nouns that end with -ed.
const NOUNS: [&str; 6] = ["Embed", "Feed", "Need", "Seed", "Speed", "Thread"];

/// Folders and modules with these names own no idea.
const ROOMS_FOR_LEFTOVERS: [&str; 9] =
    ["common", "helper", "helpers", "manager", "managers", "misc", "util", "utils", "utilities"];

/// A type that production code defines.
struct Definition<'t> {
    name: &'t str,
    /// `pub` or `pub(crate)`; what is `pub(super)` is nobody else's business.
    is_public: bool,
    place: String,
}

fn definitions<'t>(source: &Source<'t>) -> Vec<Definition<'t>> {
    let tokens = &source.production;
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_type = matches!(token.text, "struct" | "enum" | "trait" | "type" | "union");
        let Some(name) = tokens.get(at + 1).filter(|name| is_type && name.kind == Kind::Word)
        else {
            continue;
        };
        let before = |texts: &[&str]| at >= texts.len() && reads(tokens, at - texts.len(), texts);
        let is_public = before(&["pub"]) || before(&["pub", "(", "crate", ")"]);
        // Without `pub`, `type` is mostly a trait's, whose names others chose, and `union` any word.
        if is_public || !matches!(token.text, "type" | "union") {
            found.push(Definition { name: name.text, is_public, place: source.place(token) });
        }
    }
    found
}

/// Public names that are defined more than once in the workspace.
pub(crate) fn ambiguous(sources: &[Source<'_>]) -> Vec<Finding> {
    let mut by_name: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for source in sources {
        let is_root = source.inside_src().is_some_and(|path| !path.contains('/'));
        for definition in definitions(source) {
            let is_excepted = is_root && AT_CRATE_ROOTS.contains(&definition.name);
            if definition.is_public && !is_excepted {
                by_name.entry(definition.name).or_default().push(definition.place);
            }
        }
    }
    by_name.retain(|_, places| places.len() > 1);
    let of_name = |(name, places): (&str, Vec<String>)| {
        let subject = name.to_owned();
        let finding =
            move |place| Finding { rule: "type-name", subject: subject.clone(), amount: 1, place };
        places.into_iter().map(finding).collect::<Vec<_>>()
    };
    by_name.into_iter().flat_map(of_name).collect()
}

/// Types that are called after what was done to them instead of what they are.
pub(crate) fn participles(sources: &[Source<'_>]) -> Vec<Finding> {
    let definitions = sources.iter().flat_map(definitions);
    let participles = definitions.filter(|definition| is_participle(definition.name));
    let finding = |definition: Definition<'_>| Finding {
        rule: "participle",
        subject: definition.name.to_owned(),
        amount: 1,
        place: definition.place,
    };
    participles.map(finding).collect()
}

/// Looks at the last word of a name in camel case: `SearchAsked` is one, `UsedBytes` is none.
fn is_participle(name: &str) -> bool {
    let last =
        name.rfind(|character: char| character.is_uppercase()).map_or(name, |at| &name[at..]);
    PARTICIPLES.contains(&last) || (last.ends_with("ed") && !NOUNS.contains(&last))
}

/// Folders, files and inline modules with a name that says nothing.
pub(crate) fn rooms_for_leftovers(sources: &[Source<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources {
        let steps = source.path.trim_end_matches(".rs").split('/');
        if steps.skip(1).any(|step| ROOMS_FOR_LEFTOVERS.contains(&step)) {
            found.push(source.path.to_owned());
        }
        for (at, token) in source.tokens.iter().enumerate() {
            let name = source.tokens.get(at + 1).map_or("", |name| name.text);
            if token.text == "mod" && ROOMS_FOR_LEFTOVERS.contains(&name) {
                found.push(format!("{}: mod {name}", source.place(token)));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{made_up, sources};

    fn subjects(findings: &[Finding]) -> Vec<(&str, &str)> {
        findings.iter().map(|finding| (finding.subject.as_str(), finding.place.as_str())).collect()
    }

    #[test]
    fn a_public_name_with_two_meanings_is_found_wherever_it_is() {
        let files = made_up(&[
            (
                "crates/a/src/x.rs",
                "pub struct State;\npub(crate) enum Reader {}\npub struct Error;",
            ),
            ("crates/b/src/y/z.rs", "pub(crate) type State = u8; pub trait Once {}"),
            ("crates/b/src/lib.rs", "pub trait Reader {} pub enum Error {} pub type Result = u8;"),
        ]);
        let expected = [
            ("Reader", "crates/a/src/x.rs:2"),
            ("Reader", "crates/b/src/lib.rs:1"),
            ("State", "crates/a/src/x.rs:1"),
            ("State", "crates/b/src/y/z.rs:1"),
        ];
        assert_eq!(subjects(&ambiguous(&sources(&files))), expected);
    }

    #[test]
    fn an_error_below_the_root_counts_and_private_and_test_types_do_not() {
        let files = made_up(&[
            (
                "crates/a/src/x.rs",
                "pub enum Error {} struct State; pub(super) struct Page; // pub struct Page",
            ),
            ("crates/a/src/y/error.rs", "pub enum Error {} pub struct State; pub struct Page;"),
            (
                "crates/b/src/y/error.rs",
                "pub enum Error {} #[cfg(test)] mod tests { pub struct State; }",
            ),
            ("crates/b/tests/all.rs", "pub struct State; pub struct Page;"),
        ]);
        let expected =
            [("Error", "crates/a/src/y/error.rs:1"), ("Error", "crates/b/src/y/error.rs:1")];
        assert_eq!(subjects(&ambiguous(&sources(&files))), expected);
    }

    #[test]
    fn participles_are_known_by_their_last_word() {
        for name in ["Asked", "SearchAsked", "Kept", "RunsKept", "Shared"] {
            assert!(is_participle(name), "{name}");
        }
        for name in ["Seed", "RandomSeed", "UsedBytes", "Keeper", "Foundation", "T", "Unit"] {
            assert!(!is_participle(name), "{name}");
        }
        let text = "struct Told; impl A { type Waited = u8; } fn f() {}\n#[cfg(test)] struct Seen;";
        let files = made_up(&[("crates/a/src/lib.rs", text)]);
        assert_eq!(subjects(&participles(&sources(&files))), [("Told", "crates/a/src/lib.rs:1")]);
    }

    #[test]
    fn a_room_for_leftovers_is_named() {
        let files = made_up(&[
            ("crates/a/src/utils/x.rs", ""),
            ("crates/a/tests/common/mod.rs", ""),
            ("crates/a/src/lib.rs", "mod commons;\nmod helpers {}"),
        ]);
        let expected = [
            "crates/a/src/utils/x.rs",
            "crates/a/tests/common/mod.rs",
            "crates/a/src/lib.rs:2: mod helpers",
        ];
        assert_eq!(rooms_for_leftovers(&sources(&files)), expected);
    }
}
