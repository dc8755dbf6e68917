//! Texts made shorter: around the words of a question, at the end of a word, with a sign that something is missing.

use super::super::untrusted::line;

/// Letters by which two forms of a word are taken for the same.
const STEM_CHARS: usize = 5;
/// Characters before the first word of the question that a shorter text keeps.
const LEAD_CHARS: usize = 20;

/// Characters of a title in a list.
const TITLE_CHARS: usize = 120;

/// The parts of a memory as agents are asked to write it.
const LABELS: [&str; 4] = ["What", "Why", "Where", "Learned"];

/// A title as lists show it.
pub(super) fn title(text: &str) -> String {
    line(&beginning(text, TITLE_CHARS))
}

/// What a memory says beyond its title, on one line. The labels that agents are asked to write (`**What**: …`) lose
/// their marks, and a `What` that only repeats the title is left out.
pub(super) fn beyond_title(title: &str, text: &str) -> String {
    let mut flat = on_one_line(text);
    for label in LABELS {
        flat = flat.replace(&format!("**{label}**:"), &format!("{label}:"));
        flat = flat.replace(&format!("**{label}:**"), &format!("{label}:"));
    }
    let bare = title.trim().trim_end_matches(['…', '.']);
    // What a person stated is a memory whose title is the sentence.
    let sentence = flat.strip_prefix("The user said: \"").and_then(|rest| rest.strip_suffix('"'));
    if sentence.is_some_and(|said| !bare.is_empty() && said.trim_end_matches('.') == bare) {
        return String::new();
    }
    let Some(what) = flat.strip_prefix("What:").map(str::trim_start) else { return flat };
    let same = what.get(..bare.len()).is_some_and(|start| start.eq_ignore_ascii_case(bare));
    if !same || bare.is_empty() {
        return what.to_owned();
    }
    let rest = &what[bare.len()..];
    let next = rest.trim_start_matches('.').trim_start();
    let is_label = LABELS.iter().any(|label| next.starts_with(&format!("{label}:")));
    // Otherwise the title is the beginning of a longer sentence.
    let ends = rest.is_empty() || rest == "." || rest.starts_with(". ") || is_label;
    if ends { next.to_owned() } else { what.to_owned() }
}

/// A text on one line. The marks of headings go: within a line they mark nothing.
fn on_one_line(text: &str) -> String {
    let mut flat = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        let is_mark = (2..=6).contains(&word.len()) && word.bytes().all(|byte| byte == b'#');
        if is_mark {
            if flat.ends_with(|c: char| c.is_alphanumeric() || c == ')') {
                flat.push('.');
            }
            continue;
        }
        flat.push_str(if flat.is_empty() { "" } else { " " });
        flat.push_str(word);
    }
    flat
}

/// At most `max` characters of a text of one line, around the most words of the question.
pub(super) fn around(text: &str, question: &str, max: usize) -> String {
    let text = text.trim();
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= max {
        return text.to_owned();
    }
    if max == 0 {
        return String::new();
    }
    let asked: Vec<String> = words(question).map(|(_, word)| stem(&word)).collect();
    let places: Vec<usize> =
        words(text).filter(|(_, word)| asked.contains(&stem(word))).map(|(at, _)| at).collect();
    let (mut best, mut most) = (0, 0);
    for from in &places {
        let within = places.iter().filter(|place| (*from..from + max).contains(place)).count();
        if within > most {
            (best, most) = (*from, within);
        }
    }
    let start = best.saturating_sub(LEAD_CHARS).min(chars.len() - max);
    let mut from = start;
    // A text begins with a word.
    if from > 0 {
        let next = chars[from..from + LEAD_CHARS.min(max)].iter().position(|c| c.is_whitespace());
        from += next.map_or(0, |space| space + 1);
    }
    let end = (start + max).min(chars.len());
    let cut: String = chars[from..end].iter().collect();
    let cut = if end < chars.len() { at_word(&cut) } else { cut.trim_end() };
    let (before, after) =
        (if from > 0 { "…" } else { "" }, if end < chars.len() { "…" } else { "" });
    format!("{before}{}{after}", cut.trim_start_matches('…'))
}

/// At most `max` characters of a text from its beginning, on one line.
pub(super) fn beginning(text: &str, max: usize) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(max) {
        None => flat,
        Some(_) if max == 0 => String::new(),
        Some((end, _)) => format!("{}…", at_word(&flat[..end])),
    }
}

/// A text that was cut, without the word that the cut went through.
fn at_word(cut: &str) -> &str {
    let word = cut.rfind(' ').filter(|at| *at >= cut.len() / 2).unwrap_or(cut.len());
    cut[..word].trim_end_matches([' ', ',', ';', ':'])
}

fn stem(word: &str) -> String {
    word.chars().take(STEM_CHARS).collect()
}

/// Words of more than two letters in lower case, with the character that each begins at.
fn words(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut at = 0;
    let parts = text.split(|c: char| !c.is_alphanumeric());
    parts
        .map(move |part| {
            let start = at;
            at += part.chars().count() + 1;
            (start, part.to_lowercase())
        })
        .filter(|(_, word)| word.chars().count() > 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shorter_text_keeps_what_was_asked_for() {
        let text = "The first part is about nothing much at all, and goes on for a while. Then it \
                    says that deployments run on Tuesday at noon, and ends with more words.";
        let short = around(text, "when do we deploy", 70);
        assert!(short.contains("deployments run on Tuesday"), "{short}");
        assert!(short.starts_with('…') && short.ends_with('…'), "{short}");
        assert!(short.chars().count() <= 72, "{short}");
        assert_eq!(around("short", "x", 70), "short");
        let headed = beyond_title("", "Boats use VHF.\n\n## Facts\n- channel 12\n## Files\na.go");
        assert_eq!(headed, "Boats use VHF. Facts - channel 12. Files a.go");
        assert_eq!(around(text, "zzz", 20), "The first part is…");
        assert_eq!(around(text, "zzz", 0), "");
        let ideographs = around(&"認証モデル".repeat(30), "認証モデル", 40);
        assert!(ideographs.chars().count() <= 42, "{ideographs}");
    }

    #[test]
    fn a_text_in_labelled_parts_does_not_repeat_its_title() {
        let said =
            beyond_title("No ORM", "**What**: No ORM.\n**Why**: it hid queries.\n**Where**: src");
        assert_eq!(said, "Why: it hid queries. Where: src");
        assert_eq!(beyond_title("No ORM", "**What:** no ORM"), "");
        assert_eq!(beyond_title("No ORM", "**What**: SQL by hand"), "SQL by hand");
        assert_eq!(beyond_title("No", "**What**: No ORM. **Why**: x"), "No ORM. Why: x");
        assert_eq!(beyond_title("Use WebP", "**What**: Use WebPack"), "Use WebPack");
        assert_eq!(beyond_title("é", "**What**: è, and more"), "è, and more");
        assert_eq!(beyond_title("Use pnpm.", "The user said: \"Use pnpm.\""), "");
        assert_ne!(beyond_title("Use pnpm...", "The user said: \"Use pnpm and npm.\""), "");
        assert_eq!(beyond_title("Port", "It is **bold**: 8443"), "It is **bold**: 8443");
    }

    #[test]
    fn a_beginning_is_one_line_and_ends_at_a_word() {
        assert_eq!(beginning("one\ntwo", 80), "one two");
        assert_eq!(beginning("a few short words here", 12), "a few short…");
    }
}
