//! Symbols: what Rust, Go, Python, TypeScript and Java declare, call and qualify.
//!
//! Must stay true: a keyword that is also an English word (`type`, `class`, `function`) declares only
//! what looks like a name; look-ahead is bounded, so the scan is linear.

use super::{EntityKind, EntitySet};

/// How far brackets between a keyword and its name are followed: receivers and generics are short.
const LOOK_AHEAD: usize = 96;

/// Words after a keyword that show it was prose.
const PROSE: &str = "a an and are as at be but by can do does fails for from has have i if in into is it its main \
not of on or so that the then this to was were when which will with";

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || (!c.is_ascii() && c.is_alphanumeric())
}

pub(super) fn scan(text: &str, found: &mut EntitySet) {
    let mut at = 0;
    let mut open_tick = false;
    while let Some(c) = text[at..].chars().next() {
        if !is_name(c) {
            open_tick = c == '`';
            at += c.len_utf8();
            continue;
        }
        let end = name_end(text, at);
        let before = text[..at].chars().next_back();
        let free = !before.is_some_and(|c| matches!(c, '.' | '/' | '\\' | '-' | '@' | '$'));
        let name = &text[at..end];
        let next = if free { declared(text, name, end, found) } else { end };
        if next == end && free && !name.starts_with(|c: char| c.is_numeric()) {
            let path = path_end(text, end);
            let rest = &text[path..];
            let ticked = open_tick && rest.starts_with('`');
            if path > end
                || (rest.starts_with("()") && name.len() >= 3)
                || is_code(name, ticked, rest)
            {
                found.add(EntityKind::Symbol, &text[at..path]);
            }
            at = path;
        } else {
            at = next;
        }
        open_tick = false;
    }
}

fn name_end(text: &str, at: usize) -> usize {
    let rest = &text.as_bytes()[at..];
    let ascii = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    let at = at + ascii;
    if rest.get(ascii).is_none_or(u8::is_ascii) {
        return at;
    }
    text[at..].find(|c| !is_name(c)).map_or(text.len(), |found| at + found)
}

/// The end of `a::b::C` from the end of `a`.
fn path_end(text: &str, mut end: usize) -> usize {
    while let Some(rest) = text[end..].strip_prefix("::") {
        if !rest.starts_with(|c: char| is_name(c) && !c.is_numeric()) {
            break;
        }
        end = name_end(text, end + 2);
    }
    end
}

/// `snake_case` anywhere; `camelCase` only in back-ticks, for prose is full of iPhones.
fn is_code(name: &str, ticked: bool, rest: &str) -> bool {
    let lower = name.contains(char::is_lowercase);
    let inner = name.trim_matches('_').contains('_');
    // `store_test.go` and `my_dir/x` are files, `a_b-c` neither.
    let part = rest.starts_with(['/', '\\', '-', '@'])
        || rest.strip_prefix('.').is_some_and(|r| r.starts_with(is_name));
    let hump =
        name.chars().zip(name.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    lower && ((inner && !part) || (ticked && hump))
}

/// If `word` is a keyword, adds what it declares and returns where that ends; else returns `end`.
fn declared(text: &str, word: &str, end: usize, found: &mut EntitySet) -> usize {
    let strong = match word {
        "fn" | "func" | "def" | "impl" => true,
        "type" | "class" | "struct" | "enum" | "trait" | "interface" | "function" | "const"
        | "var" | "record" | "macro_rules" | "union" | "static" | "object" => false,
        _ => return end,
    };
    let Some(at) = name_after(text, end, word) else { return end };
    let mut start = at;
    let mut stop = name_end(text, at);
    // Of `impl fmt::Display for Foo` the trait is `Display`.
    while path_end(text, stop) > stop {
        start = stop + 2;
        stop = name_end(text, start);
    }
    let name = &text[start..stop];
    let follows = text[stop..].trim_start_matches(' ').chars().next();
    let coded = matches!(follows, Some('(' | '{' | '<' | '=')) || text[stop..].starts_with(':');
    let prose = PROSE.split_ascii_whitespace().any(|prose| prose == name);
    let shaped = name.contains(|c: char| c.is_uppercase() || c == '_' || c.is_numeric())
        && !matches!(name, "A" | "I");
    // `func main()` is a declaration; `the func main idea` is not.
    let coded = coded && (!prose || text[stop..].starts_with('('));
    if name.starts_with(|c: char| c.is_numeric()) || !(coded || shaped || (strong && !prose)) {
        return end;
    }
    found.add(EntityKind::Symbol, name);
    if word == "impl" {
        implemented(text, stop, found);
    }
    stop
}

/// Where the declared name begins: past generics (`impl<T>`), a receiver (`func (s *Store)`) and blanks.
fn name_after(text: &str, end: usize, word: &str) -> Option<usize> {
    let mut at = end;
    if word == "macro_rules" {
        at += usize::from(text[at..].starts_with('!'));
    }
    let mut apart = false;
    loop {
        let c = text[at..].chars().next()?;
        match c {
            ' ' | '\t' => {
                apart = true;
                at += 1;
            }
            '<' if word == "impl" && !apart => at = closing(text, at, '<', '>')?,
            '(' if word == "func" && apart => at = closing(text, at, '(', ')')?,
            '*' | '&' if word == "impl" || word == "function" => at += 1,
            c if is_name(c) && (apart || at > end) => return Some(at),
            _ => return None,
        }
        if at - end > 2 * LOOK_AHEAD {
            return None;
        }
    }
}

fn closing(text: &str, open: usize, opening: char, closing: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text[open..].char_indices().take(LOOK_AHEAD) {
        if c == opening {
            depth += 1;
        } else if c == closing {
            depth -= 1;
            if depth == 0 {
                return Some(open + at + c.len_utf8());
            }
        }
    }
    None
}

/// The `for Type` of an implementation.
fn implemented(text: &str, from: usize, found: &mut EntitySet) {
    let from = if text[from..].starts_with('<') {
        closing(text, from, '<', '>').unwrap_or(from)
    } else {
        from
    };
    let Some(rest) = text[from..].strip_prefix(" for ") else { return };
    let at = text.len() - rest.len();
    let mut stop = name_end(text, at);
    let mut start = at;
    while path_end(text, stop) > stop {
        start = stop + 2;
        stop = name_end(text, start);
    }
    if text[start..stop].starts_with(char::is_uppercase) {
        found.add(EntityKind::Symbol, &text[start..stop]);
    }
}
