//! Text for a grid of cells: measured by the cells it takes, never by its bytes or characters.
//!
//! Stored text never reaches the terminal as it is: it passes `api::render::untrusted` first.

use api::render::untrusted;
use proof::memory::Millis;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Cells of the widest character.
const WIDEST: usize = 2;
/// Cells between tab stops.
const TAB_CELLS: usize = 4;

/// Cells that a text takes.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// Text on one line, without anything that could draw.
pub(super) fn plain(text: &str) -> String {
    untrusted::line(text)
}

/// At most `cells` cells of a text, with an ellipsis where something is left out.
pub(super) fn cut(text: &str, cells: usize) -> String {
    let text = plain(text);
    if width(&text) <= cells {
        return text;
    }
    let Some(room) = cells.checked_sub(1) else { return String::new() };
    let mut kept = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        let cells = width(grapheme);
        if used + cells > room {
            break;
        }
        used += cells;
        kept.push_str(grapheme);
    }
    let mut kept = kept.trim_end().to_owned();
    kept.push('…');
    kept
}

/// A text cut or filled up to exactly `cells` cells.
pub(super) fn fit(text: &str, cells: usize) -> String {
    let mut text = cut(text, cells);
    text.push_str(&" ".repeat(cells.saturating_sub(width(&text))));
    text
}

/// The same, at the right end of the cells.
pub(super) fn fit_right(text: &str, cells: usize) -> String {
    let text = cut(text, cells);
    " ".repeat(cells.saturating_sub(width(&text))) + &text
}

/// A text of many lines in lines of at most `cells` cells. Breaks between words, inside a word only if it is too long;
/// what is wrapped keeps the indent of its line, and of its bullet.
pub(super) fn wrap(text: &str, cells: usize) -> Vec<String> {
    let cells = cells.max(1);
    text.split('\n').flat_map(|line| wrap_line(line.trim_end_matches('\r'), cells)).collect()
}

fn wrap_line(line: &str, cells: usize) -> Vec<String> {
    let line = plain(&line.replace('\t', &" ".repeat(TAB_CELLS)));
    let line = line.trim_end();
    if width(line) <= cells {
        return vec![line.to_owned()];
    }
    // An indent that leaves no room for words is given up.
    let indent = hanging_indent(line);
    let indent = if indent * 2 > cells || indent + WIDEST > cells { 0 } else { indent };
    let mut lines = Vec::new();
    let mut current = String::new();
    let mut used = 0;
    for word in line.split_word_bounds() {
        let cells_of_word = width(word);
        if used + cells_of_word <= cells {
            current.push_str(word);
            used += cells_of_word;
            continue;
        }
        if word.trim().is_empty() {
            continue;
        }
        let mut start_next = |current: &mut String, used: &mut usize| {
            lines.push(std::mem::take(current).trim_end().to_owned());
            current.push_str(&" ".repeat(indent));
            *used = indent;
        };
        if used > indent {
            start_next(&mut current, &mut used);
        }
        for grapheme in pieces(word) {
            let more = width(grapheme);
            if used + more > cells && used > indent {
                start_next(&mut current, &mut used);
            }
            current.push_str(grapheme);
            used += more;
        }
    }
    if !current.trim().is_empty() {
        lines.push(current.trim_end().to_owned());
    }
    lines
}

/// What a line may be broken between. A few rare clusters take more than two cells; those are taken apart.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    word.graphemes(true).flat_map(|grapheme| {
        if width(grapheme) <= 2 {
            return vec![grapheme];
        }
        grapheme.char_indices().map(|(at, c)| &grapheme[at..at + c.len_utf8()]).collect()
    })
}

/// Cells before the first word: spaces, and a bullet or number if there is one.
fn hanging_indent(line: &str) -> usize {
    let spaces = line.len() - line.trim_start().len();
    let rest = &line[spaces..];
    let bullet = ["- ", "* ", "+ ", "• ", "> "].iter().find(|bullet| rest.starts_with(**bullet));
    if let Some(bullet) = bullet {
        return spaces + width(bullet);
    }
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = (1..=3).contains(&digits) && rest[digits..].starts_with(". ");
    spaces + if numbered { digits + 2 } else { 0 }
}

/// How long ago a moment was: `now`, `42s`, `5m`, `3h`, `12d`, `4mo`, `2y`. Empty if there is no moment.
pub(super) fn age(moment: &str, now: Millis) -> String {
    match moment.parse::<jiff::Timestamp>().map(|at| Millis(at.as_millisecond())) {
        Ok(moment) => span(now.get().saturating_sub(moment.get())),
        Err(_) => String::new(),
    }
}

/// The same as words: `3h ago`.
pub(super) fn ago(moment: &str, now: Millis) -> String {
    match age(moment, now) {
        age if age.is_empty() || age == "now" => age,
        age => format!("{age} ago"),
    }
}

/// A span of time in its largest unit.
pub(super) fn span(ms: i64) -> String {
    let seconds = ms.max(0) / 1_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match seconds {
        0..5 => "now".to_owned(),
        5..60 => format!("{seconds}s"),
        60..3_600 => format!("{minutes}m"),
        3_600..86_400 => format!("{hours}h"),
        _ if days < 60 => format!("{days}d"),
        _ if days < 730 => format!("{}mo", days / 30),
        _ => format!("{}y", days / 365),
    }
}

/// A moment for people, in UTC: `2026-11-16 02:58`.
pub(super) fn moment(rfc3339: &str) -> String {
    match (rfc3339.get(..10), rfc3339.get(11..16)) {
        (Some(date), Some(time)) => plain(&format!("{date} {time}")),
        _ => plain(rfc3339),
    }
}

/// A number with its thousands apart.
pub(super) fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count with its noun: `1 memory`, `2 memories`.
pub(super) fn count(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(n), if n == 1 { one } else { many })
}

/// Bytes in the unit that suits them.
pub(super) fn bytes(n: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if n < 1_000 {
        return format!("{n} B");
    }
    let mut tenths = n / 100;
    let mut unit = 0;
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        tenths /= 1_000;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn wide_characters_are_cut_between_cells() {
        assert_eq!(cut("日本語の記憶", 7), "日本語…");
        assert_eq!(cut("日本語の記憶", 6), "日本…");
        assert_eq!(fit("日本", 6), "日本  ");
        assert_eq!(fit_right("é", 3), "  é");
        assert_eq!(cut("abc", 0), "");
        assert_eq!(cut("a\u{1b}[31mb\u{202e}c", 20), "a [31mb c");
    }

    #[test]
    fn wrapped_text_keeps_words_indents_and_bullets() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("- first second third", 10), ["- first", "  second", "  third"]);
        assert_eq!(wrap("12. first second", 10), ["12. first", "    second"]);
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("a\n\nb", 4), ["a", "", "b"]);
        assert_eq!(wrap("日本語の記憶", 5), ["日本", "語の", "記憶"]);
    }

    #[test]
    fn spans_and_sizes_are_short() {
        let words = [0, 42_000, 300_000, 7_200_000, 172_800_000, 86_400_000 * 90, 86_400_000 * 800];
        assert_eq!(words.map(span), ["now", "42s", "5m", "2h", "2d", "3mo", "2y"]);
        assert_eq!(
            [999, 1_000, 1_550_000, 12_000_000_000].map(bytes),
            ["999 B", "1.0 kB", "1.5 MB", "12.0 GB"]
        );
        assert_eq!([7, 1_234, 1_234_567].map(number), ["7", "1,234", "1,234,567"]);
        assert_eq!(ago("2026-01-01T00:00:00Z", Millis(1_767_225_600_000 + 60_000)), "1m ago");
        assert_eq!(ago("", Millis(0)), "");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_its_cells(text in any::<String>(), cells in 2_usize..40) {
            for line in wrap(&text, cells) {
                prop_assert!(width(&line) <= cells, "{line:?}");
            }
            prop_assert!(width(&cut(&text, cells)) <= cells);
            prop_assert_eq!(width(&fit(&text, cells)), cells);
        }

        #[test]
        fn wrapping_loses_no_word(text in "[a-z日語 \n-]{0,200}", cells in 4_usize..40) {
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&wrap(&text, cells).join("\n")), letters(&text));
        }
    }
}
