//! What runs ask of the daemon while they go on, and what talents wrote.

use api::outputs::{OutputPutAnswer, OutputPutRequest, OutputsAnswer, OutputsRequest};
use api::run_spend::{RunSpendAnswer, RunSpendRequest};
use mind::budget::{Cost, ModelCall};
use service::Caller;
use service::error::{Error, Result};
use talents::Layout;
use talents::talent_files::TalentCatalog;

use crate::channels::purpose;
use crate::home::Host;

/// How long a grant holds if its run never ends: longer than any run lasts.
const HELD_MS: i64 = 25 * 3_600 * 1_000;

impl Host {
    /// Grants a run what it wants in all, or what is left if that is enough; the grant before it is replaced.
    pub fn run_spend(&self, caller: &Caller, request: RunSpendRequest) -> Result<RunSpendAnswer> {
        let live = self.run_control_if_there().map(|runs| runs.live()).unwrap_or_default();
        let run = live.into_iter().find(|run| run.use_id == request.run);
        // A run that no runner knows was started by hand; it has the budget of talents.
        let (name, of_channel, who) = match &run {
            Some(run) => {
                let who = run.context.clone().unwrap_or_else(|| run.use_id.clone());
                (run.talent.as_str(), run.channel.is_some(), who)
            }
            None => ("", false, request.run.clone()),
        };
        if !self.service.home().has(&caller.actor) {
            return Ok(RunSpendAnswer { granted: request.tokens, refused: None });
        }
        let (actor_mind, now) = (self.actor_mind(caller)?, caller.now()?);
        let worst = Cost { tokens: request.tokens, micro_dollars: request.micro_dollars };
        let until = kernel::memory::Millis(now.get().saturating_add(HELD_MS));
        let call =
            ModelCall { purpose: purpose(name, of_channel), who: &who, worst, at: now, until };
        let granted = actor_mind.slot().mind.extend(call, request.tokens_min);
        Ok(match granted {
            Ok(granted) => RunSpendAnswer { granted, refused: None },
            Err(refusal) => RunSpendAnswer { granted: 0, refused: Some(refusal.to_string()) },
        })
    }

    pub fn outputs(&self, caller: &Caller, request: OutputsRequest) -> Result<OutputsAnswer> {
        service::access::only_owner(caller, "read what talents wrote")?;
        let catalog = TalentCatalog::open(&Layout::new(self.folder()).talents());
        let language = text::analyze::Language::default();
        self.outputs.search(&catalog, language, &request).map_err(unread)
    }

    pub fn output_put(
        &self,
        caller: &Caller,
        request: OutputPutRequest,
    ) -> Result<OutputPutAnswer> {
        service::access::only_owner(caller, "read what talents wrote")?;
        self.outputs.put(&request.path).map_err(unread)?;
        Ok(OutputPutAnswer { path: request.path })
    }
}

fn unread(error: std::io::Error) -> Error {
    Error::internal(format!("an output: {error}"))
}
