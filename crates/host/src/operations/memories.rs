//! Operations on memories that reach beyond the store: what is erased must be in nothing that the mind or a
//! conversation keeps, an agent's first session wakes the mind, and what a memory is worth fades as for the mind.

use api::change::{DeleteAnswer, DeleteRequest};
use api::hook::{HookAnswer, HookMoment, HookRequest};
use api::score::{ScoreAnswer, ScoreRequest};
use api::session::{SessionStartRequest, SessionView};
use mind::warmup::ProcessType;
use service::Caller;
use service::error::Result;

use crate::channels::channel_of;
use crate::home::Host;

impl Host {
    /// Forgets or erases a memory; an erased one is erased from the mind and from its conversation, too.
    pub fn delete(&self, caller: &Caller, request: DeleteRequest) -> Result<DeleteAnswer> {
        let erases = request.hard && !request.dry_run && caller.delegate.is_none();
        if !erases {
            return self.service.delete(caller, request);
        }
        let id = request.id;
        let prompt = self.service.prompt_text(caller, id)?;
        let answer = self.service.delete(caller, request)?;
        self.feed.forget(&caller.actor, id);
        self.erase_from_mind(caller, id)?;
        if let Some((session, text)) = prompt
            && let Some(channel) = channel_of(&session)
        {
            self.erase_from_channel(caller, channel, &text)?;
        }
        Ok(answer)
    }

    /// What a memory is worth now. It fades as it does for the mind.
    pub fn score(&self, caller: &Caller, request: ScoreRequest) -> Result<ScoreAnswer> {
        let config = self.minds.config()?;
        self.service.score(caller, request, &config.settings.cortex)
    }

    /// Starts a session. A new one is work that begins: the mind makes itself ready for it.
    pub fn session_start(
        &self,
        caller: &Caller,
        request: SessionStartRequest,
    ) -> Result<SessionView> {
        let session = self.service.session_start(caller, request)?;
        if session.changed {
            self.dispatched(caller, ProcessType::Channel);
        }
        Ok(session)
    }

    /// What a hook tells, and what the agent should know. A session that begins is work that begins.
    pub fn hook(&self, caller: &Caller, request: HookRequest) -> Result<HookAnswer> {
        let begins = request.moment == HookMoment::SessionStart && !request.preview;
        let answer = self.agents.hook(caller, request)?;
        if begins {
            self.dispatched(caller, ProcessType::Channel);
        }
        Ok(answer)
    }
}
