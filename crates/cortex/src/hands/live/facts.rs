//! What the runner must know of a talent before it starts it: looked up for every request, so that an edited talent or a
//! changed setting counts at once.

use exec::TalentName;
use exec::models::{Ask, Resolver};
use exec::providers::usable;
use exec::runner::{Facts, TalentFacts};
use exec::talents::Shelf;
use std::time::Duration;

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
        let shelf = Shelf::open(&self.sources.layout.talents());
        let talent = shelf.find(name).map_err(|error| error.to_string())?;
        let settings = self.sources.providers().map_err(|error| error.message)?;
        let usable = usable(&settings, &self.sources.environment);
        let front = &talent.front;
        let ask =
            Ask { provider: front.provider.clone(), tier: front.tier, model: front.model.clone() };
        // A talent that no model can be found for is still started: its own process says why, in its log.
        let choice =
            Resolver::new(settings, usable).resolve(&talent.context(), &Ask::default(), &ask);
        Ok(Facts {
            timeout: front.timeout_seconds.map(Duration::from_secs),
            env: front.env.clone(),
            provider: choice.ok().map(|choice| choice.provider),
        })
    }
}
