//! Windows: the few lines of a text that answer a question best. A long text says something to every word of it.

use super::retrievers::CandidateSet;
use crate::embedding::{self, SIM_ONE, StaticEmbedder};
use crate::passages::Passages;

/// Tokens of a window, about two sentences, and by how many the next one begins later.
const WINDOW: usize = 32;
const STEP: usize = 16;

/// How well the best window answers, in thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WindowMatch {
    /// Word for word.
    pub(super) interaction: u64,
    /// The cosine of the same window.
    pub(super) meaning: u64,
}

/// Finds the best window; of equal ones the first.
pub(super) fn best_window(gathered: &CandidateSet, passages: &Passages) -> WindowMatch {
    let mut best: Option<(i64, &[u16])> = None;
    for tokens in passages.passages() {
        let starts = (0..tokens.len().saturating_sub(WINDOW - STEP).max(1)).step_by(STEP);
        for start in starts {
            let window = &tokens[start..tokens.len().min(start + WINDOW)];
            let found = gathered.interaction.matches(window.iter().copied().map(u32::from));
            let score = gathered.interaction.mean(&found);
            if best.is_none_or(|(most, _)| score > most) {
                best = Some((score, window));
            }
        }
    }
    let Some((score, window)) = best else { return WindowMatch::default() };
    let ids: Vec<u32> = window.iter().copied().map(u32::from).collect();
    let cosine = StaticEmbedder::shared().embed_ids(&ids).dot(&gathered.vector);
    let share = |part: i64, whole: i64| u64::try_from(part.max(0) * 1_000 / whole).unwrap_or(0);
    WindowMatch {
        interaction: share(score, SIM_ONE),
        meaning: share(cosine, embedding::ONE),
    }
}
