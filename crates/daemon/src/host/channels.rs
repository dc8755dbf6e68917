//! The channels of an actor: made, read, erased from and removed, each under its own lock.

use kernel::actor::ActorName;
use service::Caller;
use service::error::{Error, Result};

use super::Host;
use crate::channels::{Kept, alone, channel_of, files};

impl Host {
    /// The channel as it is kept; one that is not there is made, and is there once it is kept.
    pub fn channel_or_new(&self, caller: &Caller, channel: &str, shared: bool) -> Result<Kept> {
        let folder = self.service.home().actor_folder(&caller.actor);
        match files::load(&folder, channel)? {
            Some(kept) => Ok(kept),
            None => {
                let kept = Kept::new(channel, !shared, caller.now()?.get());
                files::store(&folder, &kept)?;
                Ok(kept)
            }
        }
    }

    pub fn channel_there(&self, caller: &Caller, channel: &str) -> Result<Kept> {
        let folder = self.service.home().actor_folder(&caller.actor);
        files::load(&folder, channel)?.ok_or_else(|| Error::missing("channel", channel))
    }

    /// Every channel of the caller's actor, in the order of their names.
    pub fn all_channels(&self, caller: &Caller) -> Result<Vec<Kept>> {
        let folder = self.service.home().actor_folder(&caller.actor);
        let names = files::names(&folder)?;
        names.iter().filter_map(|name| files::load(&folder, name).transpose()).collect()
    }

    /// Is this the session of a channel that others read?
    pub fn is_shared_session(&self, actor: &ActorName, session: &str) -> bool {
        let folder = self.service.home().actor_folder(actor);
        let kept = channel_of(session).and_then(|channel| files::load(&folder, channel).ok()?);
        kept.is_some_and(|kept| !kept.channel.private)
    }

    /// What was said in these words was erased: the channel and its transcript must not hold it either.
    pub fn erase_from_channel(&self, caller: &Caller, channel: &str, text: &str) -> Result<()> {
        let lock = self.channels.lock_of(&caller.actor, channel);
        let _guard = alone(&lock);
        let folder = self.service.home().actor_folder(&caller.actor);
        let Some(mut kept) = files::load(&folder, channel)? else { return Ok(()) };
        kept.channel.erase(text);
        files::erase_said(&folder, channel, text)?;
        files::store(&folder, &kept)
    }

    /// Removes a channel and its transcript.
    pub fn remove_channel(&self, caller: &Caller, channel: &str) -> Result<()> {
        let lock = self.channels.lock_of(&caller.actor, channel);
        let _guard = alone(&lock);
        files::remove(&self.service.home().actor_folder(&caller.actor), channel)
    }

    /// What a person said is on disk before anybody is asked.
    pub fn channel_said(&self, caller: &Caller, kept: &Kept, before: u64) -> Result<()> {
        self.transcribe_since(caller, kept, before)?;
        self.keep_channel(caller, kept)
    }
}
