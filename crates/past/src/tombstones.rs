//! What must stay forgotten. The tombstones themselves are journaled with the memories of an actor; this is how the
//! past asks for them and adds to them.
//!
//! What must stay true: a tombstone is a keyed digest. It holds no text, and whoever lacks the key cannot test a
//! guess.

use std::collections::BTreeSet;

use transcripts::digests::{self, Digest32};
use transcripts::session::{ItemBody, PastItem};

/// What is forgotten at once: a session or a turn, and all by which copies of it are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TombstoneGroup {
    /// The session or turn itself; by it the group is lifted.
    pub subject: [u8; 32],
    pub members: Vec<[u8; 32]>,
}

/// The journaled part of forgetting, handed in by whoever has a journal.
pub trait Tombstones: Send + Sync {
    /// The key of the home. It lies in no journal, export or proof.
    fn key(&self) -> [u8; 32];

    /// Every digest of every group that was not lifted.
    fn all(&self) -> Vec<[u8; 32]>;

    /// Journals groups. When it returns they are durable.
    fn add(&mut self, groups: &[TombstoneGroup], reason: &str) -> Result<(), String>;

    /// Journals that the group of a subject does not hold any more. False if there is none.
    fn lift(&mut self, subject: [u8; 32]) -> Result<bool, String>;
}

/// Tombstones in memory: for tests, and for a home without a journal.
#[derive(Clone, Debug, Default)]
pub struct MemoryTombstones {
    groups: Vec<TombstoneGroup>,
}

impl Tombstones for MemoryTombstones {
    fn key(&self) -> [u8; 32] {
        [7; 32]
    }

    fn all(&self) -> Vec<[u8; 32]> {
        self.groups
            .iter()
            .flat_map(|group| group.members.iter().copied().chain([group.subject]))
            .collect()
    }

    fn add(&mut self, groups: &[TombstoneGroup], _reason: &str) -> Result<(), String> {
        self.groups.extend_from_slice(groups);
        Ok(())
    }

    fn lift(&mut self, subject: [u8; 32]) -> Result<bool, String> {
        let before = self.groups.len();
        self.groups.retain(|group| group.subject != subject);
        Ok(self.groups.len() < before)
    }
}

/// The tombstones as a reading asks for them.
#[derive(Clone, Debug)]
pub(crate) struct TombstoneSet {
    key: Digest32,
    tombstones: BTreeSet<Digest32>,
}

impl TombstoneSet {
    pub(crate) fn of(tombstones: &dyn Tombstones) -> TombstoneSet {
        TombstoneSet { key: tombstones.key(), tombstones: tombstones.all().into_iter().collect() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tombstones.is_empty()
    }

    pub(crate) fn session(&self, key: &str) -> Digest32 {
        digests::keyed(&self.key, &[b"session", key.as_bytes()])
    }

    pub(crate) fn has_session(&self, key: &str) -> bool {
        !self.is_empty() && self.tombstones.contains(&self.session(key))
    }

    /// What a prompt is known by in any session: its id, and what was said in which minute; and in its own by its id,
    /// whatever the words are now.
    pub(crate) fn prompt(&self, session: &str, item: &PastItem) -> Vec<Digest32> {
        let anywhere = identities(item);
        let here = identity_in_session(item).filter(|own| !anywhere.contains(own));
        let here = here.map(|own| {
            digests::keyed(&self.key, &[b"own", session.as_bytes(), &own.to_be_bytes()])
        });
        anywhere.into_iter().map(|identity| self.turn(identity)).chain(here).collect()
    }

    /// A turn without a prompt is known by its session and number.
    pub(crate) fn numbered(&self, key: &str, turn: u32) -> Digest32 {
        digests::keyed(&self.key, &[b"turn", key.as_bytes(), &turn.to_be_bytes()])
    }

    pub(crate) fn has_turn(&self, key: &str, turn: u32) -> bool {
        self.tombstones.contains(&self.numbered(key, turn))
    }

    pub(crate) fn has_identity(&self, identity: u64) -> bool {
        self.tombstones.contains(&self.turn(identity))
    }

    fn turn(&self, identity: u64) -> Digest32 {
        digests::keyed(&self.key, &[b"prompt", &identity.to_be_bytes()])
    }

    pub(crate) fn has_prompt(&self, session: &str, item: &PastItem) -> bool {
        let is_there = |digest: &Digest32| self.tombstones.contains(digest);
        !self.is_empty() && self.prompt(session, item).iter().any(is_there)
    }
}

/// The identities of an item, the one that counts first: its native id if it has one, then role, minute and text.
pub(crate) fn identities(item: &PastItem) -> Vec<u64> {
    let mut found = Vec::with_capacity(2);
    if let Some(native) = &item.native {
        found.push(identity_of_id(item.body.role(), native, own_text(&item.body, native)));
    }
    let minute = (item.at / 60_000).to_be_bytes();
    let texts = item.body.texts();
    let parts: Vec<&[u8]> = [item.body.role().as_bytes(), &minute]
        .into_iter()
        .chain(texts.iter().map(|text| text.as_bytes()))
        .collect();
    found.push(digests::short(&digests::of(&parts)));
    found
}

/// The identity that counts.
pub(crate) fn identity(item: &PastItem) -> u64 {
    identities(item)[0]
}

/// What an id means together with a role; several items of one call differ in their text.
pub(crate) fn identity_of_id(role: &str, native: &str, text: &str) -> u64 {
    digests::short(&digests::of(&[b"id", role.as_bytes(), native.as_bytes(), text.as_bytes()]))
}

/// The id of a prompt alone, if it has one: enough to know it by in its own session.
pub(crate) fn identity_in_session(item: &PastItem) -> Option<u64> {
    let is_prompt = matches!(item.body, ItemBody::Prompt { .. });
    let native = item.native.as_deref().filter(|_| is_prompt)?;
    Some(identity_of_id(item.body.role(), native, ""))
}

/// Bytes that an id has at least that no other session gives to anything else: shorter ones are counted, or chance.
const OWN_ID_BYTES_MIN: usize = 16;

/// Speech grows under its id, so its text is no part of what it is; other items share an id, and so do prompts of
/// different sessions if it is short.
fn own_text<'b>(body: &'b ItemBody, native: &str) -> &'b str {
    match body {
        ItemBody::Prompt { text, .. } if native.len() < OWN_ID_BYTES_MIN => text,
        ItemBody::Prompt { .. } | ItemBody::Answer { .. } | ItemBody::Summary { .. } => "",
        ItemBody::Edit { added, .. } => added,
        other => other.texts()[0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // past 33
    #[test]
    fn a_tombstone_needs_the_key_and_tells_copies_by_id_and_by_words() {
        let prompt = |native: Option<&str>, at| PastItem {
            turn: 1,
            at,
            about: false,
            native: native.map(str::to_owned),
            body: ItemBody::Prompt { text: "Why?".to_owned(), bytes: 4 },
        };
        let mut journal = MemoryTombstones::default();
        let digests = TombstoneSet::of(&journal).prompt("codex:s", &prompt(Some("u1"), 60_000));
        let group = TombstoneGroup { subject: [1; 32], members: digests };
        journal.add(&[group], "test").unwrap();
        let set = TombstoneSet::of(&journal);
        assert!(set.has_prompt("codex:t", &prompt(Some("u1"), 999_999)));
        assert!(set.has_prompt("codex:t", &prompt(None, 60_001)));
        assert!(!set.has_prompt("codex:t", &prompt(None, 180_000)));
        assert!(!set.has_prompt("codex:t", &prompt(Some("u2"), 180_000)));
        // A short id stands for the prompt in its own session, whatever its words are now.
        let changed = PastItem {
            body: ItemBody::Prompt { text: "Why now?".to_owned(), bytes: 8 },
            ..prompt(Some("u1"), 999_999)
        };
        assert!(set.has_prompt("codex:s", &changed) && !set.has_prompt("codex:t", &changed));
        let other = TombstoneSet { key: [8; 32], ..set.clone() };
        assert!(!other.has_prompt("codex:t", &prompt(Some("u1"), 60_000)));
        assert!(journal.lift([1; 32]).unwrap() && !journal.lift([1; 32]).unwrap());
        assert!(TombstoneSet::of(&journal).is_empty());
    }
}
