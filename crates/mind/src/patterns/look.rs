//! One look for patterns, made on a copy so that nobody waits for it.
//!
//! The mind hands out a [`PatternLook`], the caller adds what the journal says since the last one, asks for the plan
//! and gives the look back. What must stay true: a look changes the mind only by what it added itself, so what tools
//! did meanwhile is not lost; a look that began before something was erased changes nothing.

use kernel::Reading;
use kernel::memory::Millis;
use text::analyze::{Analyzer, Language};

use super::{Observation, PatternWatch, Sighting, detect, propose};
use crate::error::Result;
use crate::proposal::MindPlan;
use crate::settings::PatternSettings;

/// A look under way: what was watched when it began, and what it added since.
#[derive(Clone, Debug)]
pub struct PatternLook {
    analyzer: Analyzer,
    settings: PatternSettings,
    /// Everything that counts for this look: what the mind watched, then what was added.
    watch: PatternWatch,
    added: Vec<Sighting>,
    /// The round of the mind's watch that the copy was taken in.
    pub(crate) round: u64,
}

impl PatternLook {
    /// Topics are counted by the stems of `language`.
    pub(crate) fn new(
        watch: PatternWatch,
        settings: PatternSettings,
        language: Language,
        round: u64,
    ) -> PatternLook {
        let analyzer = Analyzer::new(language);
        PatternLook { analyzer, settings, watch, added: Vec::new(), round }
    }

    /// Adds something that happened since the last look.
    pub fn observe(&mut self, observation: &Observation) {
        let seen = super::sightings(&self.analyzer, observation);
        self.added.extend(seen.iter().cloned());
        self.watch.add(seen, observation.at);
    }

    /// What should be remembered of what repeats at `now`.
    pub fn plan(&self, reading: &Reading, now: Millis) -> Result<MindPlan> {
        propose(reading, &detect(&self.watch, &self.settings, now), now)
    }

    /// Puts what this look added into a watch that may have grown meanwhile.
    pub(crate) fn merge_into(self, watch: &mut PatternWatch) {
        if let Some(newest) = self.added.iter().map(|seen| seen.at_unix_ms).max() {
            watch.add(self.added, Millis(newest));
        }
    }
}
