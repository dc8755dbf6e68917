//! Hooks: what an agent tells us about its session, and what we tell it back.
//!
//! `parse` reads the JSON of any agent into one [`HookEvent`], `render` writes a [`HookReply`] as that agent expects
//! it; both are pure. What is remembered in between goes through [`HookMemory`]. [`respond`] ties them together and
//! cannot fail: an agent must never stop or wait because its memory has trouble.

mod event;
mod parse;
mod reply;
#[cfg(test)]
mod tests;
mod text;

pub use event::{EventName, HookSession, Start};
pub use parse::INPUT_BYTES_MAX;
pub use reply::{HookReply, render};
pub use text::{reminder, session_text};

use crate::agent::Agent;
use event::{Happening, HookEvent};
use parse::parse;

/// The memory behind the hooks.
pub trait HookMemory {
    /// What memory says when it fails. It ends up in a log, so it must not quote content.
    type Error: std::fmt::Display;

    /// A session begins or goes on. Returns what the agent should know, within the budget for a session's start.
    fn start(&self, session: &HookSession, start: Start) -> Result<Option<String>, Self::Error>;

    /// A person asked something. Keeps it, and returns a short reminder if one is due.
    fn prompt(&self, session: &HookSession, text: &str) -> Result<Option<String>, Self::Error>;

    /// The agent is about to forget its conversation. Secures what there is, and returns what a summary should mention.
    fn before_compaction(&self, session: &HookSession) -> Result<Option<String>, Self::Error>;

    /// The session is over.
    fn end(&self, session: &HookSession, reason: Option<&str>) -> Result<(), Self::Error>;

    /// Somebody reported on finished work: a sub-agent, or the agent at the end of its turn. Keeps the learnings in it.
    fn report(
        &self,
        session: &HookSession,
        event: EventName,
        text: &str,
    ) -> Result<(), Self::Error>;
}

/// Does what an event asks for.
fn answer<M: HookMemory>(event: &HookEvent, memory: &M) -> Result<HookReply, M::Error> {
    let session = &event.session;
    let context = match &event.happening {
        Happening::SessionStart(start) => memory.start(session, *start)?,
        Happening::PromptSubmit { prompt } => memory.prompt(session, prompt)?,
        Happening::PreCompact => memory.before_compaction(session)?,
        Happening::SessionEnd { reason } => {
            memory.end(session, reason.as_deref())?;
            None
        }
        Happening::SubagentStop { message } | Happening::Stop { message } => {
            if let Some(message) = message {
                memory.report(session, event.happening.name(), message)?;
            }
            None
        }
    };
    Ok(HookReply { context })
}

/// The bytes to print for the bytes that came in, and what to log if something went wrong. Never fails.
pub fn respond<M: HookMemory>(
    agent: Agent,
    name: EventName,
    input: &[u8],
    memory: &M,
) -> (Vec<u8>, Option<String>) {
    let reply = match parse(agent, name, input) {
        Ok(event) => answer(&event, memory).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match reply {
        Ok(reply) => (render(agent, name, &reply), None),
        Err(error) => (render(agent, name, &HookReply::default()), Some(error)),
    }
}
