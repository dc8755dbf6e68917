//! Tombstones of the past, in the journal of the memory that the past belongs to.
//!
//! What must stay true: a tombstone is journaled before anything is erased; its digests are keyed, and the key lies in
//! the actor's folder and nowhere else. Without the key nobody can tell what was forgotten, so nothing is read then.

use std::path::PathBuf;
use std::sync::Arc;

use api::{ErrorCode, Fault};
use kernel::command::{Command, PastForgetDraft, PastRestoreDraft};
use kernel::journal::{Entry, Payload};
use kernel::limits::PAST_MEMBERS_MAX;
use kernel::{Cortex, Digest};
use past::TombstoneGroup;

use service::caller::Caller;
use service::error::{Error, Result};
use service::{Service, files};

const KEY_FILE: &str = "past.key";

/// What the journal holds of tombstones, and where new ones go.
pub(super) struct JournalTombstones<'s> {
    service: &'s Service,
    owner: &'s Caller,
    cortex: Arc<Cortex>,
    key: [u8; 32],
    groups: Vec<TombstoneGroup>,
}

impl<'s> JournalTombstones<'s> {
    pub(super) fn load(service: &'s Service, owner: &'s Caller) -> Result<JournalTombstones<'s>> {
        let cortex = service.existing(owner)?;
        let groups = entries(&cortex)?
            .iter()
            .filter_map(|entry| match entry.payload() {
                Ok(Payload::PastForget(said)) => Some(TombstoneGroup {
                    subject: said.subject.0,
                    members: said.members.iter().map(|digest| digest.0).collect(),
                }),
                _ => None,
            })
            .collect::<Vec<_>>();
        let key = key(service, owner, groups.is_empty())?;
        Ok(JournalTombstones { service, owner, cortex, key, groups })
    }

    fn submit(&self, command: Command) -> std::result::Result<bool, String> {
        let stamp = self.owner.plain_stamp().map_err(|error| error.to_string())?;
        let receipt = self.service.submit(&self.cortex, stamp, command);
        receipt.map(|receipt| receipt.changed).map_err(|error| error.to_string())
    }
}

/// The entries whose tombstones hold, oldest first.
pub(super) fn entries(cortex: &Cortex) -> Result<Vec<Entry>> {
    let reading = cortex.read()?;
    let view = reading.view();
    let mut seqs = view.past_tombstones()?;
    seqs.sort_unstable();
    let mut entries = Vec::with_capacity(seqs.len());
    for seq in seqs {
        entries.extend(view.entry(seq)?);
    }
    Ok(entries)
}

/// The key of the home's tombstones, made when there is nothing yet that another could have made.
fn key(service: &Service, owner: &Caller, is_first: bool) -> Result<[u8; 32]> {
    let path: PathBuf = service.folder().join("actors").join(owner.actor.as_str()).join(KEY_FILE);
    match std::fs::read(&path) {
        Ok(bytes) => bytes.try_into().map_err(|_| lost(&path)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && is_first => {
            let mut key = [0; 32];
            owner.environment.fill(&mut key)?;
            files::replace_private_file(&path, &key)
                .map_err(|error| Error::io(path.display(), &error))?;
            Ok(key)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(lost(&path)),
        Err(error) => Err(Error::io(path.display(), &error)),
    }
}

fn lost(path: &std::path::Path) -> Error {
    let message = format!(
        "{} is not there or not whole; without it nobody can tell what of the past was forgotten",
        path.display()
    );
    Error::new(ErrorCode::PastKey, Fault::Server, message).with_hint(
        "put it back from a copy of the home; until then nothing of the past is read or shown",
    )
}

impl past::Tombstones for JournalTombstones<'_> {
    fn key(&self) -> [u8; 32] {
        self.key
    }

    fn all(&self) -> Vec<[u8; 32]> {
        let digests = |group: &TombstoneGroup| {
            group.members.iter().copied().chain([group.subject]).collect::<Vec<_>>()
        };
        self.groups.iter().flat_map(digests).collect()
    }

    fn add(&mut self, groups: &[TombstoneGroup], reason: &str) -> std::result::Result<(), String> {
        for group in groups {
            let mut members: Vec<&[[u8; 32]]> = group.members.chunks(PAST_MEMBERS_MAX).collect();
            if members.is_empty() {
                members.push(&[]);
            }
            for members in members {
                self.submit(Command::PastForget(PastForgetDraft {
                    subject: Digest(group.subject),
                    members: members.iter().map(|member| Digest(*member)).collect(),
                    reason: reason.to_owned(),
                }))?;
            }
            self.groups.push(group.clone());
        }
        Ok(())
    }

    fn lift(&mut self, subject: [u8; 32]) -> std::result::Result<bool, String> {
        let draft = PastRestoreDraft { subject: Digest(subject) };
        let is_lifted = self.submit(Command::PastRestore(draft))?;
        self.groups.retain(|group| group.subject != subject);
        Ok(is_lifted)
    }
}
