//! What an actor's own use has taught, where a search cannot decide: among hits that answer about equally well, those
//! with more salience under the learned weights come first.
//!
//! What must stay true: an actor that has learned nothing yet is answered as if this were not here; a hit never passes
//! one that answers clearly better, and what was replaced never passes what is current.

use std::cmp::Reverse;

use kernel::find::Standing;
use kernel::journal::Weights;
use kernel::memory::{Head, Millis, Usage};
use kernel::salience::{Signals, salience};
use kernel::store::View;
use recall::search::{Arm, Hit};

use crate::error::Result;

/// Scores that differ by no more than this, in parts per million, answer about equally well.
const ABOUT_EQUAL_PPM: u64 = 20_000;

/// Puts hits that answer about equally well into the order that was learned.
pub(crate) fn order(view: &View<'_>, hits: &mut [Hit], now: Millis) -> Result<()> {
    let Some(weights) = weights(view)? else { return Ok(()) };
    let mut start = 0;
    while start < hits.len() {
        let best = hits[start].score;
        let equal = |hit: &Hit| best.saturating_sub(hit.score) <= ABOUT_EQUAL_PPM;
        let end = start + hits[start..].iter().take_while(|hit| equal(hit)).count();
        hits[start..end].sort_by_key(|hit| {
            (hit.standing == Standing::Superseded, Reverse(learned(hit, now, &weights)))
        });
        start = end;
    }
    Ok(())
}

/// The weights of an actor whose use has taught something; none before that.
pub(crate) fn weights(view: &View<'_>) -> Result<Option<Weights>> {
    Ok(Some(view.weights()?).filter(|weights| *weights != Weights::cold()))
}

/// What a memory is worth to an actor with these weights, where nothing is asked.
pub(crate) fn worth(head: &Head, usage: &Usage, now: Millis, weights: &Weights) -> u32 {
    salience(&Signals::of(head, usage, None), now.get(), weights)
}

fn learned(hit: &Hit, now: Millis, weights: &Weights) -> u32 {
    let meaning = hit.arms.iter().find(|arm| arm.arm == Arm::Meaning);
    let similarity = meaning.map(|arm| u32::try_from(arm.score).unwrap_or(u32::MAX));
    salience(&Signals::of(&hit.head, &hit.usage, similarity), now.get(), weights)
}
