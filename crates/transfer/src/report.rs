//! What an import left out: counted, and named with the reason.

use api::transfer::{SkipSummary, SkippedRow};

/// Rows left out that are named one by one. The counts cover all of them.
const NAMED_MAX: usize = 1_000;

/// Counts a row that is left out.
pub(super) fn left_out(
    skipped: &mut SkipSummary,
    what: impl Into<String>,
    reason: impl Into<String>,
) {
    let (what, reason) = (what.into(), reason.into());
    skipped.total += 1;
    *skipped.by_reason.entry(class_of(&reason)).or_default() += 1;
    if skipped.rows.len() < NAMED_MAX {
        skipped.rows.push(SkippedRow { what, reason });
    }
}

/// A reason without its particulars: quoted names and long numbers would make each row a reason of its own.
fn class_of(reason: &str) -> String {
    let mut class = String::new();
    for (n, part) in reason.split('"').enumerate() {
        class.push_str(if n % 2 == 0 { part } else { "…" });
    }
    let word = |word: &str| {
        let long = word.bytes().filter(u8::is_ascii_digit).count() > 2;
        if long { "…".to_owned() } else { word.to_owned() }
    };
    class.split_whitespace().take(16).map(word).collect::<Vec<_>>().join(" ")
}
