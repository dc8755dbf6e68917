//! The catalogue: which sources were read how far, which sessions there are, and in which segments.
//!
//! What must stay true: one frame is one transaction, and a frame that is not whole does not count; the newest word
//! about a source or session holds. Sessions and turns can be told from segments again, so losing it costs a new
//! reading of the sources and nothing else. A rewrite leaves no byte of what is no longer true.

use std::collections::{BTreeMap, HashMap};

use minicbor::{Decode, Encode};

use crate::disk::PastDisk;
use crate::error::{Error, Result};
use crate::segment::PromptRow;
use transcripts::cleaner::ReaderMemory;
use transcripts::counts::SourceTally;
use transcripts::digests::{self, Digest32};
use transcripts::session::{PastAgent, SessionInfo};

const FILE: &str = "catalog.log";
/// Bytes of the log that are tolerated beyond what a rewrite would need, as a multiple.
const GROWTH_MAX: u64 = 4;
const GROWTH_BYTES_MIN: u64 = 1 << 20;

/// A session among all sessions.
pub(crate) type SessionKey = (PastAgent, String);

/// A source and how far it was read.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct SourceRow {
    #[n(0)]
    pub(crate) path: String,
    #[n(1)]
    pub(crate) agent: PastAgent,
    #[n(2)]
    pub(crate) stamp: SourceStamp,
    /// Behind the last whole record.
    #[n(3)]
    pub(crate) offset: u64,
    /// Digests of the first bytes, and of those before `offset`.
    #[n(4)]
    #[cbor(with = "minicbor::bytes")]
    pub(crate) head: Digest32,
    #[n(5)]
    #[cbor(with = "minicbor::bytes")]
    pub(crate) tail: Digest32,
    #[n(6)]
    pub(crate) version: u32,
    #[n(7)]
    pub(crate) memory: ReaderMemory,
    #[n(8)]
    pub(crate) cursor: TurnCursor,
    /// Prompts that it gave, for drift.
    #[n(9)]
    pub(crate) prompts: u64,
    #[n(10)]
    pub(crate) tally: Option<SourceTally>,
}

/// What a file system says about a file without opening it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct SourceStamp {
    #[n(0)]
    pub(crate) size: u64,
    #[n(1)]
    pub(crate) modified_ns: i64,
    #[n(2)]
    pub(crate) device: u64,
    #[n(3)]
    pub(crate) inode: u64,
}

/// Where the items of a source go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) enum TurnCursor {
    /// Before the first prompt.
    #[default]
    #[n(0)]
    Before,
    #[n(1)]
    Turn(#[n(0)] u32),
    /// In a copy of a turn of another session.
    #[n(2)]
    Copy(#[n(0)] PastAgent, #[n(1)] String, #[n(2)] u32),
    /// In a turn that was forgotten.
    #[n(3)]
    Nowhere,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct SessionRow {
    #[n(0)]
    pub(crate) info: SessionInfo,
    #[n(1)]
    pub(crate) segments: Vec<SegmentRow>,
    #[n(2)]
    pub(crate) undone: Vec<u32>,
    /// Numbers of turns that were given.
    #[n(3)]
    pub(crate) turns: u32,
    #[n(4)]
    pub(crate) source: String,
    /// A turn of it was forgotten, or is stored with another session: titles are made of the words of turns.
    #[n(5)]
    pub(crate) is_untitled: bool,
}

impl SessionRow {
    pub(crate) fn hide_title(&mut self) {
        if self.is_untitled {
            self.info.title = None;
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct SegmentRow {
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    pub(crate) digest: Digest32,
    #[n(1)]
    pub(crate) first_item: u64,
    #[n(2)]
    pub(crate) items: u64,
    #[n(3)]
    pub(crate) raw_bytes: u64,
    #[n(4)]
    pub(crate) bytes: u64,
    #[n(5)]
    pub(crate) first_turn: u32,
    #[n(6)]
    pub(crate) last_turn: u32,
    #[n(7)]
    pub(crate) revision: u32,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum CatalogChange {
    #[n(0)]
    Source(#[n(0)] Box<SourceRow>),
    #[n(1)]
    Session(#[n(0)] Box<SessionRow>),
    /// Prompts of a session, beside those that are known.
    #[n(2)]
    Prompts(#[n(0)] PastAgent, #[n(1)] String, #[n(2)] Vec<PromptRow>),
    #[n(3)]
    SessionGone(#[n(0)] PastAgent, #[n(1)] String),
    #[n(4)]
    SourceGone(#[n(0)] String),
    /// The parts of the index that count.
    #[n(5)]
    Parts(#[n(0)] Vec<PartName>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct PartName {
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    pub(crate) digest: Digest32,
}

#[derive(Debug, Default)]
pub(crate) struct Catalog {
    pub(crate) sources: BTreeMap<String, SourceRow>,
    pub(crate) sessions: BTreeMap<SessionKey, SessionRow>,
    pub(crate) parts: Vec<PartName>,
    prompts: BTreeMap<SessionKey, Vec<PromptRow>>,
    /// Where each prompt is: the number of its session among `owners`, and its turn.
    places: HashMap<u64, (u32, u32)>,
    owners: Vec<SessionKey>,
    owner_numbers: BTreeMap<SessionKey, u32>,
    log_bytes: u64,
    /// Bytes after the last rewrite.
    base_bytes: u64,
}

impl Catalog {
    /// Reads the log; none if there is none.
    pub(crate) fn open(disk: &dyn PastDisk) -> Result<Option<Catalog>> {
        let bytes = match disk.read(FILE) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::file(&disk.path(FILE), error)),
        };
        let mut catalog = Catalog::default();
        let mut rest = &bytes[..];
        while let Some((changes, after)) = next_frame(rest) {
            for change in changes {
                catalog.apply(change);
            }
            rest = after;
        }
        catalog.pack();
        catalog.log_bytes = bytes.len() as u64;
        catalog.base_bytes = catalog.log_bytes;
        if !rest.is_empty() {
            // What was torn off must not stand between whole frames.
            catalog.rewrite(disk)?;
        }
        Ok(Some(catalog))
    }

    /// Makes all rows again in as little memory as they need: what was put in one by one in ascending order fills half
    /// of a tree's leaves.
    fn pack(&mut self) {
        fn filled<K: Ord, V>(map: &mut BTreeMap<K, V>) {
            *map = std::mem::take(map).into_iter().collect();
        }
        filled(&mut self.sources);
        self.sessions.values_mut().for_each(|row| row.segments.shrink_to_fit());
        filled(&mut self.sessions);
        self.prompts.values_mut().for_each(Vec::shrink_to_fit);
        filled(&mut self.prompts);
        filled(&mut self.owner_numbers);
        self.owners.shrink_to_fit();
    }

    pub(crate) fn apply(&mut self, change: CatalogChange) {
        match change {
            CatalogChange::Source(row) => {
                self.sources.insert(row.path.clone(), *row);
            }
            CatalogChange::Session(row) => {
                self.sessions.insert((row.info.agent, row.info.id.clone()), *row);
            }
            CatalogChange::Prompts(agent, id, rows) => {
                let key = (agent, id);
                let owner = self.owner(&key);
                for row in &rows {
                    self.places.entry(row.identity).or_insert((owner, row.turn));
                }
                self.prompts.entry(key).or_default().extend(rows);
            }
            CatalogChange::SessionGone(agent, id) => {
                let key = (agent, id);
                self.sessions.remove(&key);
                self.drop_prompts(&key, |_| true);
            }
            CatalogChange::SourceGone(path) => {
                self.sources.remove(&path);
            }
            CatalogChange::Parts(parts) => self.parts = parts,
        }
    }

    /// Forgets the prompts of some turns of a session.
    pub(crate) fn drop_prompts(&mut self, key: &SessionKey, is_gone: impl Fn(u32) -> bool) {
        let number = self.owner_numbers.get(key).copied();
        if let Some(rows) = self.prompts.get_mut(key) {
            for row in rows.iter().filter(|row| is_gone(row.turn)) {
                if self.places.get(&row.identity).is_some_and(|(owner, _)| Some(*owner) == number) {
                    self.places.remove(&row.identity);
                }
            }
            rows.retain(|row| !is_gone(row.turn));
        }
    }

    /// Where the turn with this prompt is.
    pub(crate) fn place(&self, identity: u64) -> Option<(SessionKey, u32)> {
        let (owner, turn) = self.places.get(&identity)?;
        Some((self.owners[*owner as usize].clone(), *turn))
    }

    /// The number of a session. A session that is gone keeps its number until the catalogue is opened anew.
    fn owner(&mut self, key: &SessionKey) -> u32 {
        if let Some(number) = self.owner_numbers.get(key) {
            return *number;
        }
        let number =
            u32::try_from(self.owners.len()).expect("sessions are fewer than the bytes of memory");
        self.owners.push(key.clone());
        self.owner_numbers.insert(key.clone(), number);
        number
    }

    pub(crate) fn prompts_of(&self, key: &SessionKey) -> &[PromptRow] {
        self.prompts.get(key).map_or(&[], Vec::as_slice)
    }

    /// Makes changes durable. They have been applied already.
    pub(crate) fn commit(&mut self, disk: &dyn PastDisk, changes: &[CatalogChange]) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        let frame = frame(changes);
        disk.append(FILE, &frame).map_err(|error| Error::file(&disk.path(FILE), error))?;
        self.log_bytes += frame.len() as u64;
        if self.log_bytes > (self.base_bytes * GROWTH_MAX).max(GROWTH_BYTES_MIN) {
            self.rewrite(disk)?;
        }
        Ok(())
    }

    /// Writes the log anew, with what is true now and nothing else.
    pub(crate) fn rewrite(&mut self, disk: &dyn PastDisk) -> Result<()> {
        let mut changes: Vec<CatalogChange> = Vec::new();
        changes
            .extend(self.sources.values().map(|row| CatalogChange::Source(Box::new(row.clone()))));
        for (key, row) in &self.sessions {
            changes.push(CatalogChange::Session(Box::new(row.clone())));
            let prompts = self.prompts_of(key).to_vec();
            changes.push(CatalogChange::Prompts(key.0, key.1.clone(), prompts));
        }
        changes.push(CatalogChange::Parts(self.parts.clone()));
        let bytes = frame(&changes);
        self.log_bytes = bytes.len() as u64;
        self.base_bytes = self.log_bytes;
        disk.write_all(&[(FILE.to_owned(), bytes)])
            .map_err(|error| Error::file(&disk.path(FILE), error))
    }
}

/// Length, digest of the content, content.
fn frame(changes: &[CatalogChange]) -> Vec<u8> {
    let content = minicbor::to_vec(changes).expect("a vector takes every byte");
    let mut bytes = (content.len() as u64).to_be_bytes().to_vec();
    bytes.extend_from_slice(&digests::of_bytes(&content)[..8]);
    bytes.extend_from_slice(&content);
    bytes
}

fn next_frame(bytes: &[u8]) -> Option<(Vec<CatalogChange>, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let (digest, rest) = rest.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_be_bytes(*length)).ok()?;
    let (content, rest) = rest.split_at_checked(length)?;
    if digests::of_bytes(content)[..8] != digest[..] {
        return None;
    }
    Some((minicbor::decode(content).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::FolderDisk;

    fn session(id: &str, turns: u32) -> CatalogChange {
        let info = SessionInfo::new(PastAgent::Codex, id);
        let row = SessionRow {
            info,
            segments: Vec::new(),
            undone: Vec::new(),
            turns,
            source: String::new(),
            is_untitled: false,
        };
        CatalogChange::Session(Box::new(row))
    }

    // past 23
    #[test]
    fn a_log_that_is_torn_anywhere_reads_up_to_its_last_whole_frame() {
        let folder = tempfile::tempdir().unwrap();
        let disk = FolderDisk::open(folder.path()).unwrap();
        let mut catalog = Catalog::default();
        catalog.commit(&disk, &[session("a", 1), session("b", 1)]).unwrap();
        let whole = disk.read(FILE).unwrap().len();
        catalog.commit(&disk, &[session("a", 2), session("c", 1)]).unwrap();
        let bytes = disk.read(FILE).unwrap();
        for end in whole..bytes.len() {
            disk.write_all(&[(FILE.to_owned(), bytes[..end].to_vec())]).unwrap();
            let read = Catalog::open(&disk).unwrap().unwrap();
            let turns = |id: &str| {
                read.sessions.get(&(PastAgent::Codex, id.to_owned())).map(|row| row.turns)
            };
            assert_eq!((turns("a"), turns("b"), turns("c")), (Some(1), Some(1), None), "{end}");
            // It can be added to at once.
            let mut read = read;
            read.commit(&disk, &[session("d", 7)]).unwrap();
            let again = Catalog::open(&disk).unwrap().unwrap();
            assert_eq!(again.sessions.len(), 3);
        }
    }

    #[test]
    fn a_rewrite_holds_nothing_of_what_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let disk = FolderDisk::open(folder.path()).unwrap();
        let mut catalog = Catalog::default();
        let key = || (PastAgent::Codex, "canary".to_owned());
        let prompts =
            CatalogChange::Prompts(key().0, key().1, vec![PromptRow { turn: 1, identity: 5 }]);
        let changes = [session("canary", 1), prompts];
        changes.iter().cloned().for_each(|change| catalog.apply(change));
        catalog.commit(&disk, &changes).unwrap();
        assert_eq!(catalog.place(5), Some((key(), 1)));
        catalog.apply(CatalogChange::SessionGone(key().0, key().1));
        assert_eq!(catalog.place(5), None);
        catalog.rewrite(&disk).unwrap();
        let bytes = disk.read(FILE).unwrap();
        assert!(!bytes.windows(6).any(|window| window == b"canary"));
        assert!(Catalog::open(&disk).unwrap().unwrap().sessions.is_empty());
    }
}
