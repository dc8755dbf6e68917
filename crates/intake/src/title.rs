//! A title for a text that came without one.
//!
//! Must stay true: one line, no Markdown marks, never empty for a text that says anything, cut at a word with an
//! ellipsis that shows it. The content keeps every word, so a short title loses nothing.

use kernel::render::one_line;
use kernel::{Error, Result};

/// Characters of a title made from content.
pub const TITLE_CHARS: usize = 80;

/// The first line that says something, up to the end of its first sentence.
pub fn from_content(content: &str) -> Result<String> {
    let mut fence = false;
    let lines = content.lines().filter(|line| {
        let mark = line.trim_start().starts_with("```");
        fence ^= mark;
        !mark && !fence
    });
    let plain = lines.map(plain_line).find(|line| says(line));
    // A text of code alone is named by its first line of code; one of signs alone by the signs.
    let line = plain
        .or_else(|| {
            content.lines().map(one_line).find(|line| says(line) && !line.starts_with("```"))
        })
        .unwrap_or_else(|| one_line(content));
    if line.is_empty() {
        return Err(Error::invalid("title", "is missing, and there is no content to take it from"));
    }
    Ok(shorten(first_sentence(&line), TITLE_CHARS, "…"))
}

fn says(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

/// At most `max` characters; where something is left out, `mark` follows.
pub fn shorten(line: &str, max: usize, mark: &str) -> String {
    let Some((end, _)) = line.char_indices().nth(max) else { return line.to_owned() };
    let cut = &line[..end];
    let word = cut.rfind(' ').filter(|at| *at >= end / 2).unwrap_or(end);
    format!("{}{mark}", cut[..word].trim_end_matches([' ', ',', ';', ':']))
}

/// Without heading, list and emphasis marks, and without the label of a part (`**What**: …`).
fn plain_line(line: &str) -> String {
    let text = line.trim().trim_start_matches(['#', '>', ' ']);
    let text =
        text.strip_prefix(['-', '*', '+']).filter(|rest| rest.starts_with(' ')).unwrap_or(text);
    let text = strip_marks(text);
    let label = LABELS.iter().find_map(|label| {
        let head = text.get(..label.len())?;
        let rest = head.eq_ignore_ascii_case(label).then(|| &text[label.len()..])?;
        let rest = rest.trim_start();
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix(':') }
    });
    one_line(label.unwrap_or(&text))
}

/// The parts of a well-formed memory, whose names say nothing about it.
const LABELS: [&str; 6] = ["what", "why", "where", "learned", "summary", "goal"];

/// Drops `**bold**`, `*italic*`, `__bold__` and `` `code` `` marks; their text stays. Underscores inside words stay
/// too.
pub fn strip_marks(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied();
        let space = |c: Option<char>| c.is_none_or(char::is_whitespace);
        let mark = match c {
            '`' => true,
            // A star between spaces or digits multiplies.
            '*' => {
                let star = |c: Option<char>| c == Some('*');
                star(next)
                    || star(before)
                    || !(both_word(before, next) || space(before) && space(next))
            }
            '_' => next == Some('_') && !word(before) || before == Some('_') && !word(next),
            _ => false,
        };
        if !mark {
            plain.push(c);
        }
        before = Some(c);
    }
    plain
}

fn word(c: Option<char>) -> bool {
    c.is_some_and(char::is_alphanumeric)
}

fn both_word(before: Option<char>, after: Option<char>) -> bool {
    word(before) && word(after)
}

/// Up to a full stop that ends a sentence: followed by a space, after at least two words.
fn first_sentence(line: &str) -> &str {
    let stops =
        line.char_indices().filter(|(_, c)| matches!(c, '.' | '!' | '?' | '。' | '！' | '？'));
    for (at, c) in stops {
        let end = at + c.len_utf8();
        let wide = !c.is_ascii() && says(&line[..at]);
        let ends = line[end..].chars().next().is_none_or(char::is_whitespace);
        if (wide || ends && line[..at].contains(' ') && at >= 12) && !line[end..].trim().is_empty()
        {
            return if c == '.' || c == '。' { &line[..at] } else { &line[..end] };
        }
    }
    line.strip_suffix('.').filter(|rest| says(rest) && !rest.ends_with('.')).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_thing_said_is_the_title() {
        for (content, title) in [
            ("Use WAL mode.", "Use WAL mode"),
            ("\n\n# JWT auth middleware\n\ntext", "JWT auth middleware"),
            (
                "**What**: Fixed the N+1 query in UserList. It was slow.",
                "Fixed the N+1 query in UserList",
            ),
            ("## Goal\nMake it fast", "Make it fast"),
            ("- `cargo test` needs *two* cores", "cargo test needs two cores"),
            ("```\nlet x = 1;\n```\nExplains x", "Explains x"),
            ("```rust\nlet x = 1;\n```", "let x = 1;"),
            ("Version 1.2 is out", "Version 1.2 is out"),
            ("e.g. this one counts", "e.g. this one counts"),
            ("2 * 3 is six, snake_case stays", "2 * 3 is six, snake_case stays"),
            ("認証モデルを決めた。次は実装。", "認証モデルを決めた"),
            ("Why does it fail? Because of locks.", "Why does it fail?"),
            ("🚀", "🚀"),
            (".", "."),
            ("。。", "。。"),
        ] {
            assert_eq!(from_content(content).unwrap(), title, "{content}");
        }
        assert!(from_content(" \n ").is_err());
    }

    #[test]
    fn a_long_line_is_cut_at_a_word_and_says_so() {
        let title = from_content(&"lengthy words ".repeat(20)).unwrap();
        assert!(title.ends_with("words…") || title.ends_with("lengthy…"), "{title}");
        assert!(title.chars().count() <= TITLE_CHARS + 1);
        assert_eq!(shorten(&"x".repeat(70), 60, "..."), format!("{}...", "x".repeat(60)));
        assert_eq!(shorten("short", 60, "..."), "short");
    }

    proptest! {
        #[test]
        fn a_title_is_one_short_line(content in "(\\PC|[\n*`#_. ]){1,200}") {
            if let Ok(title) = from_content(&content) {
                prop_assert!(!title.trim().is_empty());
                prop_assert!(!title.contains('\n'));
                prop_assert!(title.chars().count() <= TITLE_CHARS + 1);
            } else {
                prop_assert!(one_line(&content).is_empty());
            }
        }
    }
}
