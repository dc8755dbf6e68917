//! What a person states as a rule or a preference, in English, German, Spanish, French and Chinese: the sentence,
//! whole.
//!
//! What must stay true: pure; only what addresses how work is to be done from now on counts, not what describes how a
//! program behaves, asks something, or is meant for the task at hand; nothing inside code or quotations is looked at.
//! `stated_phrases` has the words; `stated_labelled.tsv` holds labelled prompts; `stated_precision` counts on them, and
//! a test holds the bar.

use serde::{Deserialize, Serialize};

pub(crate) use super::stated_phrases::StatedType;
use super::stated_phrases::{
    ASKS, CONDITION, DEMANDS, DESCRIBES, FILLER, LATER, LEAD, NARRATES, OBLIGES, OF_PRODUCT,
    PASSING, PHRASES,
};

/// Sentences of one prompt that are looked at, and characters of one.
const SENTENCES_MAX: usize = 200;
const SENTENCE_CHARS_MAX: usize = 300;
/// A prompt longer than this is mostly pasted; only its beginning is looked at.
const PROMPT_BYTES_MAX: usize = 8 << 10;

/// A sentence of a person that says how work is to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StatedRule {
    pub(crate) kind: StatedType,
    pub(crate) sentence: String,
}

/// What a prompt states, in the order of its sentences.
pub(crate) fn stated(prompt: &str) -> Vec<StatedRule> {
    let prompt = &prompt[..prompt.floor_char_boundary(PROMPT_BYTES_MAX)];
    let mut found: Vec<StatedRule> = Vec::new();
    for sentence in sentences(prompt).into_iter().take(SENTENCES_MAX) {
        let Some(kind) = judged(&sentence) else { continue };
        let rule = StatedRule { kind, sentence };
        if !found.contains(&rule) {
            found.push(rule);
        }
    }
    found
}

/// What one sentence is.
fn judged(sentence: &str) -> Option<StatedType> {
    let chars = sentence.chars().count();
    let is_question = sentence.ends_with(['?', '？']);
    if is_question || !(4..=SENTENCE_CHARS_MAX).contains(&chars) || PASSING.is_match(sentence) {
        return None;
    }
    let bare = FILLER.replace(sentence, "");
    let bare = bare.trim_start_matches([',', '，', ':', '：', ' ', '-', '–']);
    if OF_PRODUCT.is_match(bare)
        || LATER.is_match(bare) && !ASKS.is_match(bare)
        || NARRATES.is_match(bare) && !OBLIGES.is_match(bare)
    {
        return None;
    }
    let bare =
        LEAD.captures(bare).and_then(|found| found.get(1)).map_or(bare, |rest| rest.as_str());
    let demanded = CONDITION.captures(bare).and_then(|found| found.get(1));
    if demands(bare) || demanded.is_some_and(|rest| demands(rest.as_str())) {
        return Some(StatedType::Rule);
    }
    PHRASES.iter().find(|phrase| phrase.pattern.is_match(bare)).map(|phrase| phrase.kind)
}

/// "Always" or "never" with an imperative behind it.
fn demands(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let Some(rest) = lower.strip_prefix("always ").or_else(|| lower.strip_prefix("never ")) else {
        return false;
    };
    let mut words = rest.split_whitespace();
    let word = words.next().unwrap_or_default().trim_matches(|c: char| !c.is_alphanumeric());
    let describes = DESCRIBES.contains(&word)
        || (!DEMANDS.contains(&word)
            && (word.ends_with('s') || word.ends_with("ed") || word.ends_with("ing")));
    !word.is_empty() && !describes && words.next().is_some()
}

/// The sentences of a text outside of code, quotations and lists of log lines.
fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        let bare = line.trim();
        if bare.starts_with("```") || bare.starts_with("~~~") {
            in_code = !in_code;
            continue;
        }
        let is_code = in_code || line.starts_with("    ") || line.starts_with('\t');
        let is_quoted =
            bare.starts_with(['>', '|', '"', '“', '„', '«', '\'', '`', '+', '<', '{', '[']);
        if is_code || is_quoted || bare.is_empty() {
            continue;
        }
        let bare = bare.trim_start_matches(['-', '*', '•', '#', ' ']);
        let bare = bare
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .trim_start_matches(['.', ')', ' ']);
        let mut start = 0;
        for (at, sign) in bare.char_indices() {
            let end = at + sign.len_utf8();
            // A point inside a name ends nothing.
            let ends = match sign {
                '.' | '!' | '?' | ';' => bare[end..].chars().next().is_none_or(char::is_whitespace),
                '。' | '！' | '？' | '；' => true,
                _ => false,
            };
            if ends {
                found.push(bare[start..end].trim().trim_end_matches(';').to_owned());
                start = end;
            }
        }
        found.push(bare[start..].trim().to_owned());
    }
    found.retain(|sentence| !sentence.is_empty());
    found
}

/// Prompts with what they state, as people labelled them: language, label, prompt.
const LABELLED: &str = include_str!("stated_labelled.tsv");

/// How well statements of one kind are told from other sentences, in one language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StatedCounts {
    pub language: String,
    /// rule or preference.
    pub kind: &'static str,
    pub prompts: usize,
    /// Taken for a statement, and one of that kind.
    pub right: usize,
    /// Taken for one without being so.
    pub wrong: usize,
    /// A statement that was not taken for one.
    pub missed: usize,
}

/// The counts on the labelled prompts, by language and kind.
pub fn stated_precision() -> Vec<StatedCounts> {
    let mut table: Vec<StatedCounts> = Vec::new();
    for line in LABELLED.lines().filter(|line| !line.starts_with('#')) {
        let mut columns = line.splitn(3, '\t');
        let (Some(language), Some(label), Some(prompt)) =
            (columns.next(), columns.next(), columns.next())
        else {
            continue;
        };
        let found = stated(prompt);
        for (kind, name) in [(StatedType::Rule, "rule"), (StatedType::Preference, "preference")] {
            let is_taken = found.iter().any(|rule| rule.kind == kind);
            let known =
                table.iter().position(|counts| counts.language == language && counts.kind == name);
            let place = known.unwrap_or_else(|| {
                let language = language.to_owned();
                let (prompts, right, wrong, missed) = (0, 0, 0, 0);
                table.push(StatedCounts { language, kind: name, prompts, right, wrong, missed });
                table.len() - 1
            });
            let counts = &mut table[place];
            counts.prompts += 1;
            counts.right += usize::from(label == name && is_taken);
            counts.wrong += usize::from(label != name && is_taken);
            counts.missed += usize::from(label == name && !is_taken);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    // S13: precision of at least .9 for each language and kind, on a thousand labelled prompts.
    #[test]
    fn statements_are_told_from_other_sentences() {
        let table = stated_precision();
        for counts in &table {
            let StatedCounts { right, wrong, missed, .. } = *counts;
            assert!(right >= 5, "{counts:?}");
            assert!(right * 10 >= (right + wrong) * 9, "{counts:?}");
            assert!(right * 10 >= (right + missed) * 6, "{counts:?}");
        }
        let prompts: usize =
            table.iter().filter(|counts| counts.kind == "rule").map(|counts| counts.prompts).sum();
        assert!(prompts >= 1_000, "{prompts}");
        assert_eq!(table.len(), 10);
    }

    #[test]
    fn nothing_is_taken_from_code_quotations_and_logs() {
        for prompt in [
            "```\nalways use tabs\n```",
            "> always use tabs",
            "    never push",
            "\"never push to main\" is what the README says",
            "[info] always retry: true",
        ] {
            assert_eq!(stated(prompt), Vec::new(), "{prompt}");
        }
        let two = "Fix the login. Always run `make check` first! From now on use pnpm; thanks";
        let found: Vec<String> = stated(two).into_iter().map(|rule| rule.sentence).collect();
        assert_eq!(found, ["Always run `make check` first!", "From now on use pnpm"]);
    }
}
