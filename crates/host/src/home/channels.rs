//! The channels of an actor: made, read, erased from and removed, each under its own lock.

use kernel::actor::ActorName;
use service::Caller;
use service::error::{Error, Result};

use super::Host;
use crate::channels::{PersistedChannel, channel_of, files, hold};

impl Host {
    /// The channel as it is kept; one that is not there is made, and is there once it is kept.
    pub(crate) fn channel_or_new(
        &self,
        caller: &Caller,
        channel: &str,
        shared: bool,
    ) -> Result<PersistedChannel> {
        let folder = self.service.home().actor_folder(&caller.actor);
        match files::load(&folder, channel)? {
            Some(persisted) => Ok(persisted),
            None => {
                let persisted = PersistedChannel::new(channel, !shared, caller.now()?.get());
                files::store(&folder, &persisted)?;
                Ok(persisted)
            }
        }
    }

    pub(crate) fn existing_channel(
        &self,
        caller: &Caller,
        channel: &str,
    ) -> Result<PersistedChannel> {
        let folder = self.service.home().actor_folder(&caller.actor);
        files::load(&folder, channel)?.ok_or_else(|| Error::missing("channel", channel))
    }

    /// Every channel of the caller's actor, in the order of their names.
    pub(crate) fn all_channels(&self, caller: &Caller) -> Result<Vec<PersistedChannel>> {
        let folder = self.service.home().actor_folder(&caller.actor);
        let names = files::names(&folder)?;
        names.iter().filter_map(|name| files::load(&folder, name).transpose()).collect()
    }

    /// Is this the session of a channel that others read?
    pub(crate) fn is_shared_session(&self, actor: &ActorName, session: &str) -> bool {
        let folder = self.service.home().actor_folder(actor);
        let persisted =
            channel_of(session).and_then(|channel| files::load(&folder, channel).ok()?);
        persisted.is_some_and(|persisted| !persisted.channel.private)
    }

    /// Is there a channel that more than the owner reads?
    pub(crate) fn has_shared_channel(&self, actor: &ActorName) -> bool {
        let folder = self.service.home().actor_folder(actor);
        let names = files::names(&folder).unwrap_or_default();
        names.iter().any(|name| {
            let persisted = files::load(&folder, name).ok().flatten();
            persisted.is_some_and(|persisted| !persisted.channel.private)
        })
    }

    /// What was said in these words was erased: the channel and its transcript must not hold it either.
    pub(crate) fn erase_from_channel(
        &self,
        caller: &Caller,
        channel: &str,
        text: &str,
    ) -> Result<()> {
        let lock = self.channels.lock_of(&caller.actor, channel);
        let _guard = hold(&lock);
        let folder = self.service.home().actor_folder(&caller.actor);
        let Some(mut persisted) = files::load(&folder, channel)? else { return Ok(()) };
        persisted.channel.erase(text);
        files::erase_said(&folder, channel, text)?;
        files::store(&folder, &persisted)
    }

    /// Removes a channel and its transcript.
    pub fn remove_channel(&self, caller: &Caller, channel: &str) -> Result<()> {
        let lock = self.channels.lock_of(&caller.actor, channel);
        let _guard = hold(&lock);
        files::remove(&self.service.home().actor_folder(&caller.actor), channel)
    }

    /// What a person said is on disk before anybody is asked.
    pub(crate) fn record_message(
        &self,
        caller: &Caller,
        persisted: &PersistedChannel,
        before: u64,
    ) -> Result<()> {
        self.transcribe_since(caller, persisted, before)?;
        self.store_channel(caller, persisted)
    }
}
