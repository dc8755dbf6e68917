//! What the runner must know of a talent before it starts it: looked up for every request, so that an edited talent or
//! a changed setting counts at once.

use std::sync::{Arc, Weak};
use std::time::Duration;

use api::DEFAULT_ACTOR;
use api::run::{RunRejection, RunRequest};
use llm::models::ModelQuery;
use runs::runner::{Facts, TalentFacts};
use service::Caller;
use talents::TalentName;

use crate::talents_host::host::TalentSources;
use host::Host;
use host::channels::{actor_of, purpose};

#[derive(Debug)]
pub(super) struct CatalogFacts {
    sources: TalentSources,
    host: Weak<Host>,
}

impl CatalogFacts {
    pub(super) fn new(sources: TalentSources, host: &Arc<Host>) -> CatalogFacts {
        CatalogFacts { sources, host: Arc::downgrade(host) }
    }
}

impl TalentFacts for CatalogFacts {
    fn facts(&self, name: &TalentName, request: &RunRequest) -> Result<Facts, String> {
        let talents = self.sources.context().map_err(|error| error.message)?;
        let talent = talents.catalog.find(name).map_err(|error| error.to_string())?;
        // A talent that no model can be found for is still started: its own process says why, in its log.
        let choice = talents.choice(&talent, &ModelQuery::default());
        let (variables, policy) = talents.rules(&talent, request, &self.sources.program);
        Ok(Facts {
            timeout: talent.front.timeout_seconds.map(Duration::from_secs),
            env: talent.front.env,
            provider: choice.ok().map(|choice| choice.provider),
            variables,
            policy: Some(policy),
        })
    }

    /// The budget is asked before a run begins; parts of conversations were admitted when they were asked for.
    fn refusal(&self, request: &RunRequest) -> Option<RunRejection> {
        let actor = match actor_of(request) {
            Ok(actor) => actor,
            Err(error) => return Some(RunRejection::new("bad_actor", error.to_string())),
        };
        let host = self.host.upgrade()?;
        if actor.as_str() != DEFAULT_ACTOR && !host.service.home().has(&actor) {
            return Some(RunRejection::new("unknown_actor", format!("there is no actor {actor}")));
        }
        if request.context.is_some() {
            return None;
        }
        let caller = Caller::new(actor, "runner");
        let purpose =
            purpose(request.name.as_deref().unwrap_or_default(), request.channel.is_some());
        let refusal = host.may_spend(&caller, purpose)?;
        let why = format!("{refusal}; `cortex budget` shows what is left");
        Some(RunRejection::new(refusal.code(), why))
    }
}
