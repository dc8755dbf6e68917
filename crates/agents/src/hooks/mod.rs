//! Hooks: what an agent tells us about its session, and what we tell it back.
//!
//! `parse` reads the JSON of any agent into one [`HookEvent`], `render` writes a [`HookReply`] as that agent expects
//! it; both are pure. Whoever remembers is asked in between. [`respond`] ties them together and cannot fail: an agent
//! must never stop or wait because its memory has trouble.

mod event;
mod parse;
mod reply;
#[cfg(test)]
mod tests;

pub use event::{EventName, Happening, HookEvent, HookSession, Start};
pub use parse::INPUT_BYTES_MAX;
pub use reply::{HookReply, render};

use crate::agent::Agent;
use parse::parse;

/// The bytes to print for the bytes that came in, and what to log if something went wrong. Never fails. What `ask` says
/// when it fails ends up in a log, so it must not quote content.
pub fn respond<E: std::fmt::Display>(
    agent: Agent,
    name: EventName,
    input: &[u8],
    ask: impl FnOnce(HookEvent) -> Result<Option<String>, E>,
) -> (Vec<u8>, Option<String>) {
    let answer = match parse(agent, name, input) {
        Ok(event) => ask(event).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match answer {
        Ok(context) => (render(agent, name, &HookReply { context }), None),
        Err(error) => (render(agent, name, &HookReply::default()), Some(error)),
    }
}
