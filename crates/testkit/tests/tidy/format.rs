//! What documents quote from the code is what the code says: key prefixes and limits.

use std::collections::{BTreeMap, BTreeSet};

use crate::lexer::{Kind, Token, reads};
use crate::source::{Document, Source};

/// First bytes of keys.
type Prefixes = BTreeSet<u8>;

/// What the tables of `docs/format.md`, section 3, say about first bytes of keys.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct QuotedPrefixes {
    pub(crate) truth: Prefixes,
    pub(crate) derived: Prefixes,
    /// First bytes of layers above the kernel, one by one.
    pub(crate) hooks: Prefixes,
    /// Ranges of such bytes, with both ends.
    pub(crate) hook_ranges: Vec<(u8, u8)>,
}

pub(crate) fn quoted_prefixes(format: &str) -> QuotedPrefixes {
    let mut quoted = QuotedPrefixes::default();
    let mut section = "";
    for line in format.lines() {
        if let Some(title) = line.strip_prefix('#') {
            section = title.trim_start_matches('#').trim();
        }
        // A bar inside a key is written `\|`, so the first cell ends at a bar with a space before and no backslash.
        let Some(row) = line.strip_prefix("| `").filter(|_| section.starts_with("3.")) else {
            continue;
        };
        let row = row.replace("\\|", "¦");
        let (key, value) = row.split_once('|').unwrap_or((&row, ""));
        if value.trim_start().starts_with("free") {
            continue;
        }
        if row.starts_with("0x") {
            let bytes: Vec<u8> = key.split('`').filter_map(byte).collect();
            match bytes[..] {
                [first, last] if key.contains("` to `") => quoted.hook_ranges.push((first, last)),
                [first, ..] => {
                    quoted.hooks.insert(first);
                }
                [] => {}
            }
            continue;
        }
        // Several keys in one cell are each in ticks of their own.
        for code in key.split('`').filter_map(|code| code.strip_prefix('\'')?.bytes().next()) {
            let set =
                if section.contains("Truth") { &mut quoted.truth } else { &mut quoted.derived };
            set.insert(code);
        }
    }
    quoted
}

fn byte(text: &str) -> Option<u8> {
    let digits = text.strip_prefix("0x")?;
    u8::from_str_radix(digits.get(..2)?, 16).ok()
}

/// The namespaces that the kernel registers: `Namespace { prefix: b'm', … }`.
pub(crate) fn namespaces(sources: &[Source<'_>]) -> Prefixes {
    let after = ["prefix", ":"];
    let keys = sources.iter().filter(|source| is_keys(source));
    keys.flat_map(|source| bytes_after(&source.production, &after)).collect()
}

/// The first bytes with which the kernel begins a key: `Key::new(b'j')`.
pub(crate) fn begun_keys(sources: &[Source<'_>]) -> Prefixes {
    let after = ["Key", "::", "new", "("];
    let keys = sources.iter().filter(|source| is_keys(source));
    keys.flat_map(|source| bytes_after(&source.production, &after)).collect()
}

fn is_keys(source: &Source<'_>) -> bool {
    let inside = source.inside_src().unwrap_or("");
    source.member == "kernel" && (inside == "keys.rs" || inside.starts_with("keys/"))
}

fn bytes_after(tokens: &[Token<'_>], before: &[&str]) -> Vec<u8> {
    let places = (0..tokens.len()).filter(|at| reads(tokens, *at, before));
    places
        .filter_map(|at| tokens.get(at + before.len())?.text.strip_prefix("b'")?.bytes().next())
        .collect()
}

/// The first bytes of the rows of recall: hexadecimal bytes from `0x80` on that are a constant's value, a match arm's
/// answer or the first of an array. Masks and bounds of varints stand after other marks.
pub(crate) fn recall_prefixes(sources: &[Source<'_>]) -> Prefixes {
    let mut found = Prefixes::new();
    for source in sources.iter().filter(|source| ["recall", "text"].contains(&source.member)) {
        for pair in source.production.windows(2) {
            let stands_alone = matches!(pair[0].text, "=" | "=>" | "[");
            let value = byte(pair[1].text)
                .filter(|_| pair[1].kind == Kind::Number && pair[1].text.len() == 4);
            found.extend(value.filter(|value| stands_alone && *value >= 0x80));
        }
    }
    found
}

/// Where the document and the code differ about first bytes of keys.
pub(crate) fn wrong_prefixes(quoted: &QuotedPrefixes, sources: &[Source<'_>]) -> Vec<String> {
    let (namespaces, begun, recall) =
        (namespaces(sources), begun_keys(sources), recall_prefixes(sources));
    let mut found = Vec::new();
    let mut differ = |what: &str, bytes: Vec<u8>| {
        found.extend(
            bytes.into_iter().map(|byte| format!("{what}: {byte:#04x} {:?}", char::from(byte))),
        );
    };
    differ("quoted, but no namespace", quoted.derived.difference(&namespaces).copied().collect());
    differ(
        "a namespace, but not quoted",
        namespaces.difference(&quoted.derived).copied().collect(),
    );
    differ(
        "quoted as truth, but no key begins so",
        quoted.truth.difference(&begun).copied().collect(),
    );
    let ends = quoted.hook_ranges.iter().flat_map(|(first, last)| [*first, *last]);
    let used: Prefixes = quoted.hooks.iter().copied().chain(ends).collect();
    differ("quoted, but not used by recall", used.difference(&recall).copied().collect());
    let in_range =
        |byte: &u8| quoted.hook_ranges.iter().any(|(first, last)| (first..=last).contains(&byte));
    let is_quoted = |byte: &u8| quoted.hooks.contains(byte) || in_range(byte);
    differ(
        "used by recall, but not quoted",
        recall.iter().copied().filter(|byte| !is_quoted(byte)).collect(),
    );
    found
}

/// Public constants by name; those of a `limits.rs` come before others with the same name. A value that is neither a
/// number nor a product of numbers is unknown.
pub(crate) fn limits(sources: &[Source<'_>]) -> BTreeMap<String, Option<u64>> {
    let mut found = BTreeMap::new();
    let (limits, others): (Vec<_>, Vec<_>) =
        sources.iter().partition(|source| source.path.ends_with("/limits.rs"));
    for source in limits.into_iter().chain(others) {
        let tokens = &source.production;
        let is_public = |at: usize| at > 0 && matches!(tokens[at - 1].text, "pub" | ")");
        let is_constant = |at: &usize| tokens[*at].text == "const" && reads(tokens, at + 2, &[":"]);
        for at in (0..tokens.len()).filter(is_constant).filter(|at| is_public(*at)) {
            let value = tokens[at..].iter().skip_while(|token| token.text != "=").skip(1);
            let value = value.take_while(|token| token.text != ";");
            let factors = value.filter(|token| token.text != "*").map(|token| number(token.text));
            let name = tokens[at + 1].text.to_owned();
            found.entry(name).or_insert_with(|| factors.product::<Option<u64>>());
        }
    }
    found
}

fn number(text: &str) -> Option<u64> {
    let digits: String = text.chars().filter(|character| !"_, ".contains(*character)).collect();
    digits.parse().ok()
}

/// Limits that a document names and that do not exist, or have another value than in the brackets after the name.
pub(crate) fn wrong_limits(
    document: &Document,
    limits: &BTreeMap<String, Option<u64>>,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = document.text.as_str();
    while let Some((_, after)) = rest.split_once('`') {
        let Some((name, after)) = after.split_once('`') else {
            break;
        };
        rest = after;
        let is_constant =
            name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        if !is_constant || !name.contains('_') {
            continue;
        }
        let limit = limits.get(name);
        if limit.is_none() && name.ends_with("_MAX") {
            found.push(format!("{}: no limit is called {name}", document.path));
        }
        let brackets =
            after.trim_start().strip_prefix('(').and_then(|inside| inside.split_once(')'));
        let quoted = brackets.and_then(|(inside, _)| number(inside));
        if let (Some(Some(limit)), Some(quoted)) = (limit, quoted)
            && *limit != quoted
        {
            found.push(format!("{}: {name} is {limit}, not {quoted}", document.path));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::is_checked;
    use crate::source::{made_up, paths, read, repository, sources};

    const FORMAT: &str = "## 3. Keys\n\n### 3.1 Truth\n\n| key | value |\n|---|---|\n| `'j' \\| seq u64` | entry |\n\n\
        ### 3.2 Derived\n\n| `'m' \\| id u64 \\| 0x00` | head, `'x'` |\n| `'l' …`, `'t' …` | tiles |\n\
        | `0x80` to `0x82` … | text |\n| `0x90` \\| id u64 \\| `0x00` | vectors |\n| `0x91` to `0xfe` | free |\n\n\
        ## 4. Other\n\n| `'q'` | nothing |\n";
    const KEYS: &str = "const N: [Namespace; 3] = [Namespace { prefix: b'm' }, Namespace { prefix: b'l' }, \
        Namespace { prefix: b't' }]; fn f() { Key::new(b'j'); }";
    const ROWS: &str = "const A: u8 = 0x80; fn f(n: u8) { match n { 1 => 0x82, _ => g([0x90]) } } \
        fn h() { while n >= 0xa0 { push(n | 0xa1); } let big = 0xcbf2_9ce4; }";

    fn wrong(format: &str, keys: &str, rows: &str) -> Vec<String> {
        let files = made_up(&[
            ("crates/kernel/src/keys.rs", keys),
            ("crates/text/src/index/rows.rs", rows),
        ]);
        wrong_prefixes(&quoted_prefixes(format), &sources(&files))
    }

    #[test]
    fn prefixes_are_read_from_the_tables_of_section_three() {
        let quoted = quoted_prefixes(FORMAT);
        assert_eq!(quoted.truth, [b'j'].into());
        assert_eq!(quoted.derived, [b'm', b'l', b't'].into());
        assert_eq!((quoted.hooks, quoted.hook_ranges), ([0x90].into(), vec![(0x80, 0x82)]));
        assert_eq!(wrong(FORMAT, KEYS, ROWS), Vec::<String>::new());
    }

    #[test]
    fn every_difference_of_prefixes_is_named() {
        let cases = [
            (wrong(&FORMAT.replace("'m'", "'M'"), KEYS, ROWS), "quoted, but no namespace: 0x4d"),
            (
                wrong(FORMAT, &KEYS.replace("b'l'", "b'z'"), ROWS),
                "a namespace, but not quoted: 0x7a",
            ),
            (wrong(FORMAT, &KEYS.replace("b'j'", "b'k'"), ROWS), "no key begins so: 0x6a"),
            (
                wrong(FORMAT, KEYS, &ROWS.replace("[0x90]", "[0x93]")),
                "used by recall, but not quoted: 0x93",
            ),
            (
                wrong(FORMAT, KEYS, &ROWS.replace("[0x90]", "[n]")),
                "quoted, but not used by recall: 0x90",
            ),
        ];
        for (found, expected) in cases {
            assert!(found.iter().any(|said| said.contains(expected)), "{expected}: {found:?}");
        }
    }

    #[test]
    fn a_limit_is_quoted_with_its_value() {
        let limits_file = "pub const A_MAX: usize = 1_024;\npub const B_MAX: u64 = 16 * 1_048_576;\n\
            pub const C_MAX: D = D::new();";
        let elsewhere = "pub(crate) const A_MAX: usize = 7; pub const PROOF_MAX: u64 = 5; const PRIVATE_MAX: u8 = 1;";
        let files = made_up(&[
            ("crates/kernel/src/file.rs", elsewhere),
            ("crates/kernel/src/limits.rs", limits_file),
        ]);
        let limits = limits(&sources(&files));
        let text = "`A_MAX` (1 024), `A_MAX` (lists), `A_MAX`\n(1024), \
            `B_MAX` (16,777,216), `C_MAX` (3), `HOME_DIR` (4), `PROOF_MAX` (5).";
        assert_eq!(wrong_limits(&made_up(&[("x.md", text)])[0], &limits), Vec::<String>::new());
        let text = "`A_MAX` (1 000) and `GONE_MAX`, `B_MAX` (16), `PRIVATE_MAX`";
        let expected = [
            "x.md: A_MAX is 1024, not 1000",
            "x.md: no limit is called GONE_MAX",
            "x.md: B_MAX is 16777216, not 16",
            "x.md: no limit is called PRIVATE_MAX",
        ];
        assert_eq!(wrong_limits(&made_up(&[("x.md", text)])[0], &limits), expected);
    }

    #[test]
    fn documents_quote_prefixes_and_limits_as_they_are() {
        let sources = repository();
        let documents = read(paths().into_iter().filter(|path| is_checked(path)));
        let format = documents
            .iter()
            .find(|document| document.path == "docs/format.md")
            .expect("it is normative");
        let quoted = quoted_prefixes(&format.text);
        assert!(
            quoted.derived.len() > 10 && quoted.hooks.len() > 5,
            "the tables were read: {quoted:?}"
        );
        assert_eq!(wrong_prefixes(&quoted, sources), Vec::<String>::new());
        let limits = limits(sources);
        assert!(limits.len() > 10, "limits.rs was read");
        let wrong: Vec<String> =
            documents.iter().flat_map(|document| wrong_limits(document, &limits)).collect();
        assert_eq!(wrong, Vec::<String>::new());
    }
}
