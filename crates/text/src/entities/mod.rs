//! Entities: the files, URLs, packages, symbols, endpoints, variables, versions and errors a text names.
//!
//! Owns what counts as such a name. Must stay true: extraction is pure, linear and bounded; ordinary
//! prose yields nothing, because a false entity links memories that have nothing to do with each other.

mod kinds;
mod symbols;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::analyze::fold;

/// The most entities one memory has; what comes first in the text is kept.
pub const MAX_ENTITIES: usize = 256;
/// The longest value in bytes; anything longer is data, not a name.
pub const MAX_VALUE: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntityKind {
    File,
    Url,
    Package,
    Symbol,
    Endpoint,
    EnvVar,
    Version,
    Error,
}

impl EntityKind {
    pub const ALL: [EntityKind; 8] = [
        EntityKind::File,
        EntityKind::Url,
        EntityKind::Package,
        EntityKind::Symbol,
        EntityKind::Endpoint,
        EntityKind::EnvVar,
        EntityKind::Version,
        EntityKind::Error,
    ];

    pub fn name(self) -> &'static str {
        match self {
            EntityKind::File => "file",
            EntityKind::Url => "url",
            EntityKind::Package => "package",
            EntityKind::Symbol => "symbol",
            EntityKind::Endpoint => "endpoint",
            EntityKind::EnvVar => "env_var",
            EntityKind::Version => "version",
            EntityKind::Error => "error",
        }
    }

    pub fn parse(name: &str) -> Option<EntityKind> {
        EntityKind::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name.trim()))
    }
}

/// One named thing, as written but without the punctuation around it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Entity {
    pub kind: EntityKind,
    pub value: String,
}

impl Entity {
    /// The value folded for lookup, without its kind: `.\SRC\Main.rs` and `src/main.rs` are one file.
    pub fn key(&self) -> String {
        let folded = fold(&self.value);
        match self.kind {
            EntityKind::File => {
                let path = folded.replace('\\', "/");
                path.strip_prefix("./").unwrap_or(&path).to_owned()
            }
            EntityKind::Url => folded.trim_end_matches('/').to_owned(),
            EntityKind::Version => folded.strip_prefix('v').unwrap_or(&folded).to_owned(),
            _ => folded,
        }
    }
}

/// Everything the title and the content name: sorted, without repetition, at most [`MAX_ENTITIES`].
pub fn extract(title: &str, content: &str) -> Vec<Entity> {
    let mut found = EntitySet::default();
    for text in [title, content] {
        scan(text, &mut found);
        symbols::scan(text, &mut found);
    }
    found.0.into_iter().collect()
}

#[derive(Default)]
struct EntitySet(BTreeSet<Entity>);

impl EntitySet {
    fn add(&mut self, kind: EntityKind, value: &str) {
        if !value.is_empty() && value.len() <= MAX_VALUE && self.0.len() < MAX_ENTITIES {
            self.0.insert(Entity { kind, value: value.to_owned() });
        }
    }
}

/// What the words before tell about the next piece.
#[derive(Default)]
struct PrecedingWords<'a> {
    word: &'a str,
    last: &'a str,
    /// Inside a statement that began with `import` or `export`.
    importing: bool,
}

/// Walks the text by words; each is a URL, the path of an endpoint, or pieces between brackets and quotes.
fn scan(text: &str, found: &mut EntitySet) {
    let mut before = PrecedingWords::default();
    let mut end = 0;
    let urls = text.contains("://");
    for word in text.split_whitespace() {
        let at = word.as_ptr().addr() - text.as_ptr().addr();
        // Code opens a statement where prose does not: at a line's beginning, in back-ticks, behind another statement.
        let opens = text[end..at].contains('\n')
            || end == 0
            || word.starts_with('`')
            || text[..end].ends_with([';', '{', '}']);
        let keyword = word.trim_start_matches('`');
        before.importing |= opens && matches!(keyword, "import" | "export");
        end = at + word.len();
        let mut rest = word;
        while urls && let Some(at) = url_start(rest) {
            pieces(&rest[..at], &mut before, found);
            let url = kinds::url(&rest[at..]);
            found.add(EntityKind::Url, url);
            // Also moves on when the scheme alone was there.
            rest = rest[at..].get(url.len().max(4)..).unwrap_or("");
        }
        if rest.len() == word.len() && kinds::is_verb(before.last) {
            let path = kinds::endpoint_path(word);
            if !path.is_empty() {
                found.add(EntityKind::Endpoint, &format!("{} {path}", before.last));
                before = PrecedingWords::default();
                continue;
            }
        }
        pieces(rest, &mut before, found);
        before.importing &= !word.ends_with([';', '.', '?', '!']);
    }
}

fn url_start(word: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = word[from..].find("://").map(|at| from + at) {
        let head = &word.as_bytes()[..at];
        for scheme in [&b"https"[..], b"http"] {
            if head.len() >= scheme.len()
                && head[head.len() - scheme.len()..].eq_ignore_ascii_case(scheme)
            {
                return Some(at - scheme.len());
            }
        }
        from = at + 3;
    }
    None
}

/// Splits at what cannot be inside a name, and classifies what lies between.
fn pieces<'a>(word: &'a str, before: &mut PrecedingWords<'a>, found: &mut EntitySet) {
    // Most words are one piece, with nothing to trim.
    if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        kinds::classify(word, false, before.word, before.last, found);
        (before.word, before.last) = (before.last, word);
        return;
    }
    let mut start = 0;
    for (at, c) in word.char_indices().chain([(word.len(), ' ')]) {
        if c.is_alphanumeric()
            || matches!(c, '_' | '.' | '/' | '\\' | '-' | '@' | '$' | ':' | '+' | '~')
        {
            continue;
        }
        let quoted = start > 0
            && matches!(word.as_bytes()[start - 1], b'\'' | b'"')
            && matches!(c, '\'' | '"');
        let called = quoted && start > 1 && word.as_bytes()[start - 2] == b'(';
        let imported = match before.last {
            "from" => quoted && before.importing,
            "import" => called || quoted && before.importing,
            "require" => called,
            _ => false,
        };
        let braced = c == '{' && word[start..at].ends_with('$');
        // `${NAME}`: the dollar belongs to the name in the braces.
        let name = if start > 1 && word[..start].ends_with("${") {
            &word[start - 2..at]
        } else {
            &word[start..at]
        };
        if !name.is_empty() && !braced {
            let piece = kinds::trim(name);
            if !piece.is_empty() {
                before.importing &= !imported;
                kinds::classify(piece, imported, before.word, before.last, found);
                (before.word, before.last) = (before.last, piece);
            }
        }
        start = at + c.len_utf8();
    }
}
