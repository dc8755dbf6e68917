//! How near memories are to a text in meaning: the fifth factor of salience, which the kernel cannot know by itself.
//!
//! What must stay true: the factor is the meaning arm of recall and nothing else, so that a word that happens to occur
//! does not count twice; at most as many memories as a search may return have it.

use kernel::Reading;
use kernel::find::NearMemory;
use kernel::grants::Gate;
use kernel::memory::Millis;
use recall::search::{Arm, LIMIT_MAX, SearchQuery, search};

use crate::error::Result;

/// The memories that are near a text, with how near they are in parts per million: where each lies between the
/// farthest and the nearest of what a search for the text looks at.
pub(crate) fn to_text(
    reading: &Reading,
    gate: Option<&dyn Gate>,
    text: &str,
    project: Option<String>,
    now: Millis,
) -> Result<Vec<NearMemory>> {
    let query = SearchQuery { project, ..SearchQuery::new(text, LIMIT_MAX) };
    let found = search(reading, gate, &query, now)?;
    let near = found.hits.into_iter().filter_map(|hit| {
        let meaning = hit.arms.iter().find(|arm| arm.arm == Arm::Meaning)?;
        let similarity = u32::try_from(meaning.score).unwrap_or(u32::MAX).min(1_000_000);
        (similarity > 0).then_some(NearMemory { id: hit.id, similarity })
    });
    Ok(near.collect())
}
