//! Conversations that Cortex keeps: what a channel wants done, done by runs of talents, and kept on disk.
//!
//! - here: the channels of a home, each under its own lock.
//! - `keep`: the file of a channel and the transcript that only grows.
//! - `carry`: each effect of a channel. `ends`: what the end of a run means for its channel and for the budget.
//!
//! What must stay true: what a person said is on disk before a model is asked; a run belongs to its channel by the name of its
//! context, so that an end is understood after a restart too; a message leaves the context only after it was stored; the same end
//! told twice changes nothing the second time.

mod carry;
mod ends;
mod keep;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api::run::RunRequest;
use kernel::actor::ActorName;
use kernel::digest::Digest;
use mind::conversation::Channel;
use serde::{Deserialize, Serialize};

pub use carry::{With, actor_key, channel_of, session_of};
pub use ends::purpose;

use crate::host::Host;
use api::DEFAULT_ACTOR;
use service::Caller;
use service::error::{Error, Result};

/// Talents that are parts of a conversation. A person may replace them, as any talent.
pub const TURN: &str = "channel";
pub const BRANCH: &str = "branch";
pub const COMPACTION: &str = "compaction";
/// Answers an administrator.
pub const ADMIN: &str = "admin";
/// The tract of the bus on which conversations and processes are told.
pub const TRACT: &str = "mind";

/// Bytes of a channel's name.
const NAME_BYTES_MAX: usize = 100;
/// Digits of the mark in the name of a context.
const MARK_CHARS: usize = 12;

/// What a run is to its channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "part")]
pub enum Part {
    Turn { turn: u64 },
    Branch { branch: String },
    Extract { run: String },
}

/// A channel as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    pub channel: Channel,
    pub created_unix_ms: i64,
    /// Runs that go on, by the name of their context.
    pub waiting: BTreeMap<String, Part>,
    /// Why the last turn was not answered.
    pub last_error: Option<String>,
}

impl Kept {
    fn new(channel: &str, private: bool, created_unix_ms: i64) -> Kept {
        Kept {
            channel: Channel::new(channel, private),
            created_unix_ms,
            waiting: BTreeMap::new(),
            last_error: None,
        }
    }
}

/// Whose channel, and its name.
type Which = (ActorName, String);

/// The channels of a home that somebody works with at this moment.
#[derive(Debug, Default)]
pub struct Channels {
    /// A lock is in here for as long as somebody has it; the next caller takes out those that nobody has.
    open: Mutex<BTreeMap<Which, Arc<Mutex<()>>>>,
}

/// A channel that nobody else changes meanwhile. What it holds is on disk and only there.
pub struct Alone<'a>(#[expect(dead_code, reason = "held, not read")] MutexGuard<'a, ()>);

impl Channels {
    pub fn lock_of(&self, actor: &ActorName, channel: &str) -> Arc<Mutex<()>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // Locks are handed out under this guard alone: one that only the map holds is nobody's.
        open.retain(|_, lock| Arc::strong_count(lock) > 1);
        Arc::clone(open.entry((actor.clone(), channel.to_owned())).or_default())
    }
}

impl Host {
    /// The channel as it is kept; one that is not there is made, and is there once it is kept.
    pub fn channel_or_new(&self, caller: &Caller, channel: &str, shared: bool) -> Result<Kept> {
        let folder = self.service.home().actor_folder(&caller.actor);
        match keep::load(&folder, channel)? {
            Some(kept) => Ok(kept),
            None => {
                let kept = Kept::new(channel, !shared, caller.now()?.get());
                keep::store(&folder, &kept)?;
                Ok(kept)
            }
        }
    }

    pub fn channel_there(&self, caller: &Caller, channel: &str) -> Result<Kept> {
        let folder = self.service.home().actor_folder(&caller.actor);
        keep::load(&folder, channel)?.ok_or_else(|| Error::missing("channel", channel))
    }

    /// Every channel of the caller's actor, in the order of their names.
    pub fn all_channels(&self, caller: &Caller) -> Result<Vec<Kept>> {
        let folder = self.service.home().actor_folder(&caller.actor);
        let names = keep::names(&folder)?;
        names.iter().filter_map(|name| keep::load(&folder, name).transpose()).collect()
    }

    /// Is this the session of a channel that others read?
    pub fn is_shared_session(&self, actor: &ActorName, session: &str) -> bool {
        let folder = self.service.home().actor_folder(actor);
        let kept = channel_of(session).and_then(|channel| keep::load(&folder, channel).ok()?);
        kept.is_some_and(|kept| !kept.channel.private)
    }

    /// What was said in these words was erased: the channel and its transcript must not hold it either.
    pub fn erase_from_channel(&self, caller: &Caller, channel: &str, text: &str) -> Result<()> {
        let lock = self.channels.lock_of(&caller.actor, channel);
        let _alone = alone(&lock);
        let folder = self.service.home().actor_folder(&caller.actor);
        let Some(mut kept) = keep::load(&folder, channel)? else { return Ok(()) };
        kept.channel.erase(text);
        keep::erase_said(&folder, channel, text)?;
        keep::store(&folder, &kept)
    }

    /// Removes a channel and its transcript.
    pub fn remove_channel(&self, caller: &Caller, channel: &str) -> Result<()> {
        let lock = self.channels.lock_of(&caller.actor, channel);
        let _alone = alone(&lock);
        keep::remove(&self.service.home().actor_folder(&caller.actor), channel)
    }

    /// What a person said is on disk before anybody is asked.
    pub fn channel_said(&self, caller: &Caller, kept: &Kept, before: u64) -> Result<()> {
        self.transcribe_since(caller, kept, before)?;
        self.keep_channel(caller, kept)
    }
}

pub fn alone(lock: &Mutex<()>) -> Alone<'_> {
    Alone(lock.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Whose memory a run works with.
pub fn actor_of(request: &RunRequest) -> Result<ActorName> {
    Ok(ActorName::parse(request.actor.as_deref().unwrap_or(DEFAULT_ACTOR))?)
}

/// The name of a part's context. Contexts of all actors lie in one folder: those of others than the home's own end with a mark of
/// whose they are. A part ends with a number behind a hyphen, so no part looks like one with a mark.
pub fn context_of(actor: &ActorName, part: &str) -> String {
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
