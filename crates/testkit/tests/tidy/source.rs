//! The repository's text, and which part of it is tests.
//!
//! A rule sees files as data: a path from the root of the repository and a text. Files that only `#[cfg(test)]` modules
//! bring in, and items under `#[cfg(test)]`, are no production code, however they are called.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::lexer::{Kind, Token, after_bracket, lex, reads};

/// A file as it was read; the path begins at the root of the repository and has slashes.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A Rust file below `crates`.
#[derive(Clone, Debug)]
pub(crate) struct Source<'t> {
    /// The folder below `crates`, which is what the rules call a crate.
    pub(crate) member: &'t str,
    pub(crate) path: &'t str,
    pub(crate) text: &'t str,
    pub(crate) tokens: Vec<Token<'t>>,
    /// The tokens that are not tests; none for a file of tests.
    pub(crate) production: Vec<Token<'t>>,
}

impl Source<'_> {
    /// The path inside the crate's `src`, if the file is there.
    pub(crate) fn inside_src(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.strip_prefix(self.member)?.strip_prefix("/src/")
    }

    pub(crate) fn place(&self, token: &Token<'_>) -> String {
        format!("{}:{}", self.path, token.line)
    }
}

/// Everything below these names is made by tools.
const SKIPPED: [&str; 4] = [".git", "target", "node_modules", "__pycache__"];

pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("testkit lies in crates, below the root").to_owned()
}

/// The paths of all files below the root, sorted.
pub(crate) fn paths() -> Vec<String> {
    let root = root();
    let (mut open, mut found) = (vec![root.clone()], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the repository is readable") {
            let entry = entry.expect("a folder of the repository is readable");
            let path = entry.path();
            let name = entry.file_name();
            let kind = entry.file_type().expect("an entry has a type");
            if kind.is_dir() && !SKIPPED.iter().any(|skipped| name == *skipped) {
                open.push(path);
            } else if kind.is_file() {
                let inside = path.strip_prefix(&root).expect("a walk stays below its root");
                found.push(inside.to_str().expect("paths of the repository are UTF-8").to_owned());
            }
        }
    }
    found.sort();
    found
}

pub(crate) fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}

/// The files with one of these paths, as text.
pub(crate) fn read(paths: impl IntoIterator<Item = String>) -> Vec<Document> {
    let root = root();
    let document = |path: String| {
        let text = std::fs::read_to_string(root.join(&path));
        Document { text: text.unwrap_or_else(|error| panic!("{path}: {error}")), path }
    };
    paths.into_iter().map(document).collect()
}

/// The Rust files of all crates, read once however many rules ask for them.
pub(crate) fn repository() -> &'static [Source<'static>] {
    static FILES: OnceLock<Vec<Document>> = OnceLock::new();
    static SOURCES: OnceLock<Vec<Source<'static>>> = OnceLock::new();
    let is_rust = |path: &String| path.starts_with("crates/") && has_extension(path, "rs");
    let files = FILES.get_or_init(|| read(paths().into_iter().filter(is_rust)));
    SOURCES.get_or_init(|| sources(files))
}

/// Files made up for a test of a rule.
pub(crate) fn made_up(files: &[(&str, &str)]) -> Vec<Document> {
    let document = |(path, text): &(&str, &str)| Document {
        path: (*path).to_owned(),
        text: (*text).to_owned(),
    };
    files.iter().map(document).collect()
}

pub(crate) fn sources(documents: &[Document]) -> Vec<Source<'_>> {
    let mut sources: Vec<Source<'_>> = documents.iter().filter_map(source).collect();
    let tests: BTreeSet<String> = sources.iter().flat_map(test_modules).collect();
    for source in &mut sources {
        let is_test = source.inside_src().is_none()
            || tests.iter().any(|module| {
                source
                    .path
                    .strip_prefix(module.as_str())
                    .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
            })
            || reads(&source.tokens, 0, &["#", "!", "[", "cfg", "(", "test"]);
        if !is_test {
            source.production = production(&source.tokens);
        }
    }
    sources
}

fn source(document: &Document) -> Option<Source<'_>> {
    let (member, _) = document.path.strip_prefix("crates/")?.split_once('/')?;
    let tokens = lex(&document.text);
    Some(Source {
        member,
        path: &document.path,
        text: &document.text,
        tokens,
        production: Vec::new(),
    })
}

/// Attributes at one place, and the item after them.
struct Attributed {
    is_test: bool,
    /// What `#[path = "…"]` says.
    path: Option<String>,
    /// Where the item begins, after its visibility.
    item: usize,
}

fn attributes(tokens: &[Token<'_>], mut at: usize) -> Attributed {
    let mut found = Attributed { is_test: false, path: None, item: at };
    while reads(tokens, at, &["#", "["]) {
        let end = after_bracket(tokens, at + 1);
        let inside = &tokens[at + 2..end];
        let has = |word: &str| inside.iter().any(|token| token.text == word);
        found.is_test |= reads(inside, 0, &["cfg"]) && has("test") && !has("not") && !has("any");
        if reads(inside, 0, &["path", "="]) {
            found.path = inside.get(2).map(|text| text.text.trim_matches('"').to_owned());
        }
        at = end;
    }
    if reads(tokens, at, &["pub"]) {
        at += 1;
        if reads(tokens, at, &["("]) {
            at = after_bracket(tokens, at);
        }
    }
    found.item = at;
    found
}

/// The modules in files of their own that a file brings in for tests only, as paths without `.rs`.
fn test_modules(source: &Source<'_>) -> Vec<String> {
    let (folder, name) = source.path.rsplit_once('/').expect("a source lies in a folder");
    let is_root = matches!(name, "lib.rs" | "main.rs" | "mod.rs");
    let below = if is_root { folder } else { source.path.trim_end_matches(".rs") };
    let mut found = Vec::new();
    for at in 0..source.tokens.len() {
        // A run of attributes is read once, from its first one.
        if !reads(&source.tokens, at, &["#", "["]) || (at > 0 && source.tokens[at - 1].text == "]")
        {
            continue;
        }
        let here = attributes(&source.tokens, at);
        let item = &source.tokens[here.item..];
        if here.is_test && reads(item, 0, &["mod"]) && reads(item, 2, &[";"]) {
            found.push(match here.path {
                Some(path) => format!("{folder}/{}", path.trim_end_matches(".rs")),
                None => format!("{below}/{}", item[1].text),
            });
        }
    }
    found
}

/// The tokens without items that are compiled for tests only.
fn production<'t>(tokens: &[Token<'t>]) -> Vec<Token<'t>> {
    let (mut kept, mut at) = (Vec::with_capacity(tokens.len()), 0);
    while at < tokens.len() {
        if reads(tokens, at, &["#", "["]) {
            let here = attributes(tokens, at);
            if here.is_test {
                at = after_item(tokens, here.item);
                continue;
            }
        }
        kept.push(tokens[at]);
        at += 1;
    }
    kept
}

/// The place after an item, a statement, a field or an arm of a match.
fn after_item(tokens: &[Token<'_>], mut at: usize) -> usize {
    let first =
        tokens.get(at).filter(|token| token.kind == Kind::Word).map_or("", |token| token.text);
    let only_semicolon = matches!(first, "let" | "const" | "static" | "use" | "type")
        && !reads(tokens, at, &["const", "fn"]);
    let is_item = only_semicolon
        || matches!(
            first,
            "fn" | "mod"
                | "struct"
                | "enum"
                | "impl"
                | "trait"
                | "async"
                | "unsafe"
                | "extern"
                | "const"
        );
    while let Some(token) = tokens.get(at) {
        match token.text {
            ";" => return at + 1,
            "," if !is_item => return at + 1,
            // The bracket of whatever the field or the arm is in.
            ")" | "]" | "}" => return at,
            "{" if !only_semicolon => return after_bracket(tokens, at),
            "(" | "[" | "{" => at = after_bracket(tokens, at),
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(files: &[(&str, &str)]) -> Vec<String> {
        let files = made_up(files);
        let sources = sources(&files);
        sources
            .iter()
            .flat_map(|source| source.production.iter().map(|t| t.text.to_owned()))
            .collect()
    }

    fn kept(text: &str) -> String {
        words(&[("crates/a/src/lib.rs", text)]).join(" ")
    }

    #[test]
    fn items_for_tests_are_no_production() {
        assert_eq!(kept("a; #[cfg(test)] mod tests { b } c;"), "a ; c ;");
        assert_eq!(kept("#[cfg(test)] #[allow(x)] pub(crate) fn f(a: A<B, C>) -> D { e } g"), "g");
        assert_eq!(
            kept("#[cfg(test)] use a::{b, c}; #[cfg(test)] const A: [B; 2] = [b, c]; d"),
            "d"
        );
        assert_eq!(kept("#[cfg(test)] impl A<B, C> for D { e } f"), "f");
        assert_eq!(
            kept("struct A { #[cfg(test)] b: B, c: C, #[cfg(test)] d: D }"),
            "struct A { c : C , }"
        );
        assert_eq!(
            kept("#[cfg(not(test))] a #[cfg(any(test, b))] c"),
            "# [ cfg ( not ( test ) ) ] a # [ cfg ( any ( test , b ) ) ] c"
        );
    }

    #[test]
    fn files_for_tests_are_found_by_what_brings_them_in() {
        let files = [
            ("crates/a/src/lib.rs", "#[cfg(test)] pub(crate) mod fixture;"),
            ("crates/a/src/fixture.rs", "f1"),
            ("crates/a/src/fixture/deep.rs", "f2"),
            ("crates/a/src/fixtures.rs", "stays #[cfg(test)] mod tests;"),
            ("crates/a/src/fixtures/tests.rs", "f3"),
            ("crates/a/src/b/keys.rs", "#[cfg(test)] #[path = \"keys_tests.rs\"] mod tests;"),
            ("crates/a/src/b/keys_tests.rs", "f4"),
            ("crates/a/src/b/alone.rs", "#![cfg(test)] f5"),
            ("crates/a/tests/whole.rs", "f6"),
            ("README.md", "f7"),
        ];
        assert_eq!(words(&files), ["stays"]);
    }
}
