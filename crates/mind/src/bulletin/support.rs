//! Does what a model wrote follow from what it cites?
//!
//! This is no judgement of meaning. It is a fence: a line is put together from whole clauses of the memories it cites,
//! or it is not said. What must stay true: a line that repeats a memory word for word passes; a line that adds, drops,
//! swaps or rewords something inside of a clause never does.

use std::collections::BTreeSet;

use thiserror::Error;

use super::clauses::{Clauses, Mismatch, WORDS_MAX};
use super::input::{BulletinInput, InputItem, InputSection};
use super::render::{BulletinLine, BulletinSection, about};

/// The lines of each section that a text must not leave out in great number.
const COVERED: usize = 2;
/// Memories that one line may speak of.
const CITED_MAX: usize = 8;

/// What is wrong with a line or a text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum SupportGap {
    #[error("{0:?} is in none of the memories that the line cites")]
    Foreign(String),
    #[error("no memory that it cites has the clause {0:?} as it stands there")]
    Clause(String),
    #[error("it leaves out {0:?}, which limits what the memory says")]
    Limit(String),
    #[error("it speaks of memory {0}, which is under another heading")]
    Elsewhere(u64),
    #[error("memory {0} has nothing to do with it")]
    Stranger(u64),
    #[error("it says nothing")]
    Empty,
    #[error(
        "it has more than {WORDS_MAX} words, more than {CITED_MAX} memories, or too many readings"
    )]
    Long,
    #[error("it leaves out {missing} of the {asked} lines that matter most")]
    Coverage { missing: usize, asked: usize },
    #[error("it says nothing under {0:?}")]
    Section(String),
}

/// What a memory says, as far as a model was shown it.
fn source(item: &InputItem) -> Clauses {
    Clauses::of(&format!("{}.\n{}", item.text, item.detail))
}

/// A line that follows from the memories it cites, with what the program says of them in parentheses: project, date and
/// how it ended.
pub(super) fn checked(
    heading: &str,
    line: BulletinLine,
    gathered: &BulletinInput,
) -> Result<BulletinLine, SupportGap> {
    let is_cited = |item: &&InputItem| {
        line.cites.contains(&item.id) || item.also.iter().any(|id| line.cites.contains(id))
    };
    let cited: Vec<&InputItem> = gathered.items().filter(is_cited).collect();
    if cited.len() > CITED_MAX {
        return Err(SupportGap::Long);
    }
    let under = gathered.sections.iter().filter(|section| section.dimension.heading() == heading);
    let here: BTreeSet<u64> =
        under.flat_map(|section| &section.items).map(|item| item.id).collect();
    if let Some(item) = cited.iter().find(|item| !here.contains(&item.id)) {
        return Err(SupportGap::Elsewhere(item.id));
    }
    let text = without_about(&line.text, &cited);
    let sources: Vec<Clauses> = cited.iter().map(|item| source(item)).collect();
    Clauses::of(text).are_from(&sources).map_err(|mismatch| match mismatch {
        Mismatch::Empty => SupportGap::Empty,
        Mismatch::Long => SupportGap::Long,
        Mismatch::Foreign(word) => SupportGap::Foreign(word),
        Mismatch::Clause(words) => SupportGap::Clause(words),
        Mismatch::Limit(word) => SupportGap::Limit(word),
        Mismatch::Unused(place) => SupportGap::Stranger(cited[place].id),
    })?;
    let said = match cited.as_slice() {
        [item] => Some(about(item)),
        several => {
            let notes: Vec<&str> = several.iter().filter_map(|item| item.note.as_deref()).collect();
            (!notes.is_empty()).then(|| notes.join(", "))
        }
    };
    let said = said.map(|about| format!(" ({about})")).unwrap_or_default();
    Ok(BulletinLine { text: format!("{text}{said}"), cites: line.cites })
}

/// The text without the parentheses that the program puts behind a line, if the model repeated them.
fn without_about<'a>(text: &'a str, cited: &[&InputItem]) -> &'a str {
    let said = cited.iter().find_map(|item| text.strip_suffix(&format!("({})", about(item))));
    said.unwrap_or(text).trim().trim_end_matches('.')
}

/// Whether a text says enough of what it was given.
pub(super) fn check_coverage(
    parts: &[BulletinSection],
    gathered: &BulletinInput,
) -> Result<(), SupportGap> {
    let cited: BTreeSet<u64> =
        parts.iter().flat_map(|part| &part.lines).flat_map(|line| line.cites.clone()).collect();
    let (mut asked, mut missing) = (0, 0);
    for InputSection { dimension, items, .. } in &gathered.sections {
        if !dimension.is_for_model() {
            continue;
        }
        let first: Vec<&InputItem> = items.iter().take(COVERED).collect();
        if !items.iter().any(|item| cited.contains(&item.id)) {
            return Err(SupportGap::Section(dimension.heading().to_owned()));
        }
        asked += first.len();
        missing += first.iter().filter(|item| !cited.contains(&item.id)).count();
    }
    if 2 * missing > asked { Err(SupportGap::Coverage { missing, asked }) } else { Ok(()) }
}
