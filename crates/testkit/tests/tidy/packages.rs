//! Where packages come from, and under which licences.
//!
//! Every package of a lock file is ours or comes from a registry, never from a git repository; every licence is one
//! that `deny.toml` allows. cargo-deny checks the same and more, but cannot be assumed to be installed.

use serde_json::Value;

use crate::metadata::{list, text};

/// Packages of a lock file that come neither from a registry nor from a folder of this repository.
pub(crate) fn foreign_sources(lock: &str) -> Vec<String> {
    let mut found = Vec::new();
    for package in lock.split("[[package]]").skip(1) {
        let field = |name: &str| {
            let line =
                package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
            line.map(|value| value.trim_matches('"'))
        };
        let name = field("name").unwrap_or("a package without a name");
        if let Some(source) = field("source").filter(|source| !source.starts_with("registry+")) {
            found.push(format!("{name} comes from {source}"));
        }
    }
    found
}

/// The licences that `deny.toml` allows.
pub(crate) fn allowed_licences(deny: &str) -> Vec<String> {
    let section = deny.split("\n[").find(|section| section.starts_with("licenses]")).unwrap_or("");
    let lines = section.lines().map(str::trim).skip_while(|line| !line.starts_with("allow = ["));
    let names = lines.skip(1).take_while(|line| !line.starts_with(']'));
    names.filter_map(|line| Some(line.strip_prefix('"')?.split_once('"')?.0.to_owned())).collect()
}

/// Packages whose licence, as a whole, is none that is allowed.
pub(crate) fn refused_licences(metadata: &Value, allowed: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for package in list(metadata, "packages") {
        let name = text(&package["name"]);
        match package["license"].as_str() {
            None => found.push(format!("{name} names no licence")),
            Some(licence) if !is_allowed(licence, allowed) => {
                found.push(format!("{name} is under {licence}"));
            }
            Some(_) => {}
        }
    }
    found
}

/// Whether an SPDX expression leaves a choice of allowed licences. The old `A/B` means `A OR B`.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words: Vec<&str> = spaced.split_whitespace().rev().collect();
    any_of(&mut words, allowed) && words.is_empty()
}

fn any_of(words: &mut Vec<&str>, allowed: &[String]) -> bool {
    let mut result = all_of(words, allowed);
    while words.last() == Some(&"OR") {
        words.pop();
        result |= all_of(words, allowed);
    }
    result
}

/// `AND` binds closer than `OR`.
fn all_of(words: &mut Vec<&str>, allowed: &[String]) -> bool {
    let mut result = one_of(words, allowed);
    while words.last() == Some(&"AND") {
        words.pop();
        result &= one_of(words, allowed);
    }
    result
}

fn one_of(words: &mut Vec<&str>, allowed: &[String]) -> bool {
    let Some(word) = words.pop() else {
        return false;
    };
    if word == "(" {
        let result = any_of(words, allowed);
        return words.pop() == Some(")") && result;
    }
    let mut licence = word.to_owned();
    if words.last() == Some(&"WITH") {
        words.pop();
        licence = format!("{licence} WITH {}", words.pop().unwrap_or(""));
    }
    allowed.contains(&licence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::metadata;
    use crate::source::{paths, read};

    const DENY: &str = "[bans]\nx = 1\n\n[licenses]\nallow = [\n    \"MIT\", # why\n\
        \"A WITH e\",\n]\n\n[sources]\n";

    #[test]
    fn a_package_from_elsewhere_is_named() {
        let lock = "version = 4\n\n[[package]]\nname = \"ours\"\n\n\
                    [[package]]\nname = \"far\"\nsource = \"git+https://a\"\n\n\
                    [[package]]\nname = \"near\"\nsource = \"registry+https://b\"\n";
        assert_eq!(foreign_sources(lock), ["far comes from git+https://a"]);
    }

    #[test]
    fn licences_are_read_as_expressions() {
        let allowed = allowed_licences(DENY);
        assert_eq!(allowed, ["MIT", "A WITH e"]);
        for good in
            ["MIT", "GPL OR MIT", "GPL/MIT", "(GPL OR MIT) AND MIT", "A WITH e", "GPL AND B OR MIT"]
        {
            assert!(is_allowed(good, &allowed), "{good}");
        }
        for bad in [
            "GPL",
            "MIT AND GPL",
            "(MIT OR B) AND GPL",
            "A",
            "A WITH f",
            "",
            "(MIT",
            "MIT)",
            "MIT B",
        ] {
            assert!(!is_allowed(bad, &allowed), "{bad}");
        }
    }

    #[test]
    fn a_package_under_another_licence_or_none_is_named() {
        let metadata = serde_json::json!({"packages": [
            {"name": "good", "license": "MIT"},
            {"name": "bad", "license": "GPL-3.0"},
            {"name": "silent", "license": null},
        ]});
        let found = refused_licences(&metadata, &allowed_licences(DENY));
        assert_eq!(found, ["bad is under GPL-3.0", "silent names no licence"]);
    }

    #[test]
    fn packages_come_from_registries_under_allowed_licences() {
        let locks = read(paths().into_iter().filter(|path| path.ends_with("Cargo.lock")));
        let root = locks
            .iter()
            .find(|lock| lock.path == "Cargo.lock")
            .expect("the lock file is committed");
        assert!(root.text.matches("[[package]]").count() > 50, "the lock file was read");
        for lock in &locks {
            assert_eq!(foreign_sources(&lock.text), Vec::<String>::new(), "{}", lock.path);
        }
        let allowed = allowed_licences(&read(["deny.toml".to_owned()])[0].text);
        assert!(
            allowed.iter().any(|licence| licence == "Apache-2.0"),
            "deny.toml was read: {allowed:?}"
        );
        assert_eq!(refused_licences(&metadata(), &allowed), Vec::<String>::new());
    }
}
