//! Secrets: credentials are masked before a text is stored, and the mask says what was there.
//!
//! `rules` has the forms that issuers give their tokens, `assignment` judges values that only their name makes suspect,
//! `surroundings` and its table `places` those that a sentence, a command or a format does; `blocks` finds private
//! keys; `signs` says which of all these have to read a text. Must stay true: a value that was recognised is never in
//! the answer, the mask never holds a part of it, masking twice changes nothing, and time is linear in the text (no
//! rule backtracks, each reads on from the end of its last match).

mod assignment;
mod blocks;
mod places;
mod randomness;
mod rules;
mod signs;
mod surroundings;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use signs::Signs;

/// Starts every mask; what begins like this is never taken for a secret again.
pub const MASK_START: &str = "[REDACTED";

/// How many of which kind were masked. Holds no values.
pub type SecretCounts = BTreeMap<&'static str, usize>;

/// A text in which every recognised secret is masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskOutcome<'t> {
    pub text: Cow<'t, str>,
    pub counts: SecretCounts,
}

/// A file embedded in a text. Its characters are as random as a token's and mean nothing.
static DATA_URI: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"data:[a-zA-Z0-9.+/;=-]{0,128};base64,[A-Za-z0-9+/=]+")
        .expect("the pattern of data URIs is valid")
});

/// Masks every secret as `[REDACTED:kind]`.
pub fn mask(text: &str) -> MaskOutcome<'_> {
    mask_by(text, Signs::of)
}

fn mask_by(text: &str, signs_of: fn(&str) -> Signs) -> MaskOutcome<'_> {
    let mut counts = SecretCounts::new();
    let mut current = Cow::Borrowed(text);
    let mut signs = signs_of(text);
    for _ in 0..ROUNDS_MAX {
        let mut changed = false;
        if signs.is_empty() {
            break;
        }
        for step in STEPS {
            let spans = outside_files(&current, step(&current, &signs));
            if !spans.is_empty() {
                current = Cow::Owned(write_masks(&current, &spans, &mut counts));
                signs = signs_of(&current);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    MaskOutcome { text: current, counts }
}

/// In this order: a later step sees the masks of the earlier ones and leaves them alone.
const STEPS: [fn(&str, &Signs) -> Vec<Span>; 4] =
    [blocks::find, rules::find, assignment::find, surroundings::find];

/// A mask can end what hid another secret, so a text that had one is read again, until nothing changes.
const ROUNDS_MAX: usize = 8;

/// The spans that do not start inside an embedded file.
fn outside_files(text: &str, mut spans: Vec<Span>) -> Vec<Span> {
    if !spans.is_empty() && text.contains(";base64,") {
        let files: Vec<Range<usize>> =
            DATA_URI.find_iter(text).map(|found| found.range()).collect();
        spans.retain(|span| !within(&files, span.range.start));
    }
    spans
}

/// Does this place lie inside a mask? Its words say what was there; they are no names of values.
fn is_in_mask(text: &str, at: usize) -> bool {
    let before = &text[..at];
    before.rfind(['[', ']', '\n']).is_some_and(|bracket| before[bracket..].starts_with(MASK_START))
}

/// One secret: where it stands and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    range: Range<usize>,
    kind: &'static str,
}

/// `ranges` are in order and do not overlap.
fn within(ranges: &[Range<usize>], at: usize) -> bool {
    let next = ranges.partition_point(|range| range.end <= at);
    ranges.get(next).is_some_and(|range| range.contains(&at))
}

/// Replaces spans, of which the first wins where two overlap.
fn write_masks(text: &str, spans: &[Span], counts: &mut SecretCounts) -> String {
    let mut sorted: Vec<&Span> = spans.iter().collect();
    sorted.sort_by_key(|span| (span.range.start, std::cmp::Reverse(span.range.end)));
    let mut masked = String::with_capacity(text.len());
    let mut from = 0;
    for span in sorted {
        if span.range.start >= from {
            masked.push_str(&text[from..span.range.start]);
            masked.push_str(MASK_START);
            masked.push(':');
            masked.push_str(span.kind);
            masked.push(']');
            *counts.entry(span.kind).or_default() += 1;
        }
        from = from.max(span.range.end);
    }
    masked.push_str(&text[from..]);
    masked
}
