//! What the runner must know of a talent before it starts it: looked up for every request, so that an edited talent or a
//! changed setting counts at once.

use std::time::Duration;

use exec::TalentName;
use exec::models::Ask;
use exec::runner::{Facts, TalentFacts};

use super::Sources;

#[derive(Debug)]
pub(super) struct ShelfFacts {
    sources: Sources,
}

impl ShelfFacts {
    pub(super) fn new(sources: Sources) -> ShelfFacts {
        ShelfFacts { sources }
    }
}

impl TalentFacts for ShelfFacts {
    fn facts(&self, name: &TalentName) -> Result<Facts, String> {
        let hands = self.sources.hands().map_err(|error| error.message)?;
        let talent = hands.shelf.find(name).map_err(|error| error.to_string())?;
        // A talent that no model can be found for is still started: its own process says why, in its log.
        let choice = hands.choice(&talent, &Ask::default());
        Ok(Facts {
            timeout: talent.front.timeout_seconds.map(Duration::from_secs),
            env: talent.front.env,
            provider: choice.ok().map(|choice| choice.provider),
        })
    }
}
