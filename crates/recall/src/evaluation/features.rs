//! The features of a labelled set as lines of text, for `tools/ranker/train.py`.
//!
//! What must stay true: numbers and names of the set only, and never a text of it.

use std::fmt::Write;

use super::labelled::{LabelledQuestion, LabelledSet};
use crate::ranker::Feature;
use crate::search::Hit;

/// Whose memories a question was asked of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedGroup {
    /// Those that it is about, and that answer it.
    Own,
    /// Those of another group.
    Other,
    /// Those that it is about, and nobody marked an answer.
    Unanswered,
}

impl AskedGroup {
    pub fn name(self) -> &'static str {
        match self {
            AskedGroup::Own => "own",
            AskedGroup::Other => "other",
            AskedGroup::Unanswered => "none",
        }
    }
}

/// The names of the columns.
pub fn features_head() -> String {
    let mut head = "question\tkind\tgroup\tasked\tcategory\tgolds\tlabel\tmemory".to_owned();
    for feature in Feature::ALL {
        head.push('\t');
        head.push_str(feature.name());
    }
    head.push('\n');
    head
}

/// The lines of one question: one for each hit, in the order of the arms. `name` is what the set calls a memory.
pub fn features_of<'n>(
    set: &LabelledSet,
    kind: &str,
    question: &LabelledQuestion,
    asked: AskedGroup,
    hits: &[Hit],
    name: impl Fn(u64) -> Option<&'n String>,
) -> String {
    let relevant = set.relevant(question).filter(|_| asked == AskedGroup::Own);
    let golds = relevant.map_or(0, std::collections::BTreeSet::len);
    let group = question.group.as_deref().unwrap_or_default();
    let mut out = String::new();
    for hit in hits {
        let Some(signals) = &hit.signals else { continue };
        let memory = name(hit.id.get());
        let is_gold = memory.is_some_and(|name| relevant.is_some_and(|r| r.contains(name)));
        let (id, category) = (&question.id, question.category());
        // Writing to a text cannot fail.
        let _ = write!(
            out,
            "{id}\t{kind}\t{group}\t{}\t{category}\t{golds}\t{}\t{}",
            asked.name(),
            u8::from(is_gold),
            memory.map_or("", String::as_str)
        );
        for value in signals.0 {
            // Writing to a text cannot fail.
            let _ = write!(out, "\t{value}");
        }
        out.push('\n');
    }
    out
}
