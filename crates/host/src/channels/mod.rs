//! Conversations that Cortex keeps: their names, their locks and their files. What happens to them is in `host`.
//!
//! - here: the channels of a home, each under its own lock; what runs of a channel are called.
//! - `files`: the file of a channel and the transcript that only grows.
//!
//! What must stay true: what a person said is on disk before a model is asked; a run belongs to its channel by the name
//! of its context, so that an end is understood after a restart too; a message leaves the context only after it was
//! stored; the same end told twice changes nothing the second time.

pub(crate) mod files;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api::DEFAULT_ACTOR;
use api::run::{RunEnvironment, RunRequest};
use kernel::actor::ActorName;
use kernel::digest::Digest;
use mind::budget::Purpose;
use mind::conversation::Channel;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use service::error::{Error, Result};

/// Talents that are parts of a conversation. A person may replace them, as any talent.
pub(crate) const TURN: &str = "channel";
pub(crate) const BRANCH: &str = "branch";
pub(crate) const COMPACTION: &str = "compaction";
/// Answers an administrator.
pub(crate) const ADMIN: &str = "admin";
/// The tract of the bus on which conversations and processes are told.
pub const TRACT: &str = "mind";

/// Bytes of a channel's name.
const NAME_BYTES_MAX: usize = 100;
/// Digits of the mark in the name of a context.
const MARK_CHARS: usize = 12;

/// What a run is to its channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "part")]
pub(crate) enum ChannelPart {
    Turn { turn: u64 },
    Branch { branch: String },
    Extract { run: String },
}

/// A channel as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PersistedChannel {
    pub channel: Channel,
    pub created_unix_ms: i64,
    /// Runs that go on, by the name of their context.
    pub waiting: BTreeMap<String, ChannelPart>,
    /// Why the last turn was not answered.
    pub last_error: Option<String>,
}

impl PersistedChannel {
    pub(crate) fn new(channel: &str, private: bool, created_unix_ms: i64) -> PersistedChannel {
        PersistedChannel {
            channel: Channel::new(channel, private),
            created_unix_ms,
            waiting: BTreeMap::new(),
            last_error: None,
        }
    }
}

/// What goes with the runs of one request: keys of services, and the model that was asked for.
#[derive(Clone, Default)]
pub(crate) struct RunOptions {
    pub env: Map<String, Value>,
    pub model: Option<String>,
    pub provider: Option<String>,
}

impl RunOptions {
    /// A request for a run with these keys and this model.
    pub(crate) fn request(&self, request: RunRequest) -> RunRequest {
        let env = (!self.env.is_empty()).then(|| RunEnvironment::Values(self.env.clone()));
        RunRequest { model: self.model.clone(), provider: self.provider.clone(), env, ..request }
    }
}

impl std::fmt::Debug for RunOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Values of the environment are keys.
        f.debug_struct("With").field("model", &self.model).finish_non_exhaustive()
    }
}

/// A run that was started for a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChannelRun {
    pub use_id: String,
}

/// Whose channel, and its name.
type Which = (ActorName, String);

/// The channels of a home that somebody works with at this moment.
#[derive(Debug, Default)]
pub struct Channels {
    /// A lock is in here for as long as somebody has it; the next caller takes out those that nobody has.
    open: Mutex<BTreeMap<Which, Arc<Mutex<()>>>>,
}

impl Channels {
    pub(crate) fn lock_of(&self, actor: &ActorName, channel: &str) -> Arc<Mutex<()>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // Locks are handed out under this guard alone: one that only the map holds is nobody's.
        open.retain(|_, lock| Arc::strong_count(lock) > 1);
        Arc::clone(open.entry((actor.clone(), channel.to_owned())).or_default())
    }
}

/// Holds a channel, so that nobody else changes it meanwhile. What it holds is on disk and only there.
pub(crate) fn hold(lock: &Mutex<()>) -> MutexGuard<'_, ()> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whose memory a run works with.
pub fn actor_of(request: &RunRequest) -> Result<ActorName> {
    Ok(ActorName::parse(request.actor.as_deref().unwrap_or(DEFAULT_ACTOR))?)
}

/// The name of a part's context. Contexts of all actors lie in one folder: those of others than the home's own end with
/// a mark of whose they are. A part ends with a number behind a hyphen, so no part looks like one with a mark.
pub(crate) fn context_of(actor: &ActorName, part: &str) -> String {
    if actor.as_str() == DEFAULT_ACTOR {
        return part.to_owned();
    }
    let digest = Digest::of("cortex channel context", &[actor.as_str().as_bytes()]);
    format!("{part}.{}", &digest.to_string()[..MARK_CHARS])
}

/// The part whose context this is.
pub fn part_of<'a>(actor: &ActorName, context: &'a str) -> &'a str {
    if actor.as_str() == DEFAULT_ACTOR {
        return context;
    }
    context.rsplit_once('.').map_or(context, |(part, _)| part)
}

/// Refuses what cannot name a channel: it becomes a file name and part of ids.
pub fn check_name(channel: &str) -> Result<()> {
    let is_name = api::run::is_conversation_id(channel) && !channel.contains("..");
    if channel.len() <= NAME_BYTES_MAX && is_name {
        return Ok(());
    }
    Err(Error::invalid(
        "channel",
        format!("must be letters, digits, - _ and . and at most {NAME_BYTES_MAX} long"),
    ))
}

/// The session under which a channel's messages are journaled.
pub fn session_of(channel: &str) -> String {
    format!("channel-{channel}")
}

/// The channel whose session this is.
pub(crate) fn channel_of(session: &str) -> Option<&str> {
    session.strip_prefix("channel-").filter(|channel| check_name(channel).is_ok())
}

/// The key that says whose memory a run works with; none for the home's own.
pub fn actor_key(actor: &ActorName) -> Option<String> {
    (actor.as_str() != DEFAULT_ACTOR).then(|| actor.as_str().to_owned())
}

/// What the calls of a run are paid from.
pub fn purpose(talent: &str, is_of_channel: bool) -> Purpose {
    match talent {
        COMPACTION if is_of_channel => Purpose::Maintenance,
        TURN | BRANCH if is_of_channel => Purpose::Chat,
        ADMIN if !is_of_channel => Purpose::Chat,
        _ => Purpose::Talents,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    // Law 8: everything is bounded.
    #[test]
    fn locks_of_channels_that_nobody_uses_are_dropped() {
        let channels = Channels::default();
        let actor = ActorName::parse("ada").unwrap();
        let held = channels.lock_of(&actor, "main");
        for number in 0..1_000 {
            drop(channels.lock_of(&actor, &format!("channel-{number}")));
        }
        assert_eq!(channels.open.lock().unwrap().len(), 2, "the one that is held and the last");
        assert!(Arc::ptr_eq(&held, &channels.lock_of(&actor, "main")), "one lock per channel");
    }
}
