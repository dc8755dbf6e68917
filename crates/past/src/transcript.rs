//! One transcript by itself: what an agent wrote to a file since a place, cleaned, without a store.
//!
//! For whoever is told by an agent which file grew. What must stay true: a place is opaque and belongs to one file;
//! a file that was replaced, or a place of an older reader, begins anew and says so; a bounded number of bytes is read
//! at once, and the place stands behind the last whole record.

use std::path::{Path, PathBuf};

use minicbor::{Decode, Encode};

use crate::catalog::{SourceRow, TurnCursor};
use crate::cleaner::{PastEvent, ReaderMemory};
use crate::digests::Digest32;
use crate::error::{Error, Result};
use crate::readers;
use crate::session::{PastAgent, PastItem, SessionInfo};
use crate::source_file::{self, SourceStart};
use crate::surroundings::PastSurroundings;
use crate::sweep::{self, SourcePlan};

/// What was read of a transcript, and where to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptPart {
    /// None if the file does not say whose session it is.
    pub session: Option<SessionInfo>,
    /// In order. A prompt begins a turn; numbers are given by the store alone, so `turn` is 0.
    pub items: Vec<PastItem>,
    /// The place behind the last whole record, for the next call.
    pub place: Vec<u8>,
    /// It was read from its beginning: nothing was known of it, or it is another file now.
    pub is_anew: bool,
}

#[derive(Debug, Encode, Decode)]
struct TranscriptPlace {
    #[n(0)]
    offset: u64,
    #[n(1)]
    #[cbor(with = "minicbor::bytes")]
    head: Digest32,
    #[n(2)]
    #[cbor(with = "minicbor::bytes")]
    tail: Digest32,
    #[n(3)]
    version: u32,
    #[n(4)]
    memory: ReaderMemory,
}

/// Reads on in a transcript. `place` is what the call before gave; without one, or with one that does not fit the
/// file any more, it is read from its beginning.
pub fn transcript(
    agent: PastAgent,
    path: &Path,
    place: Option<&[u8]>,
    now: i64,
) -> Result<TranscriptPart> {
    let reader = readers::of(agent).ok_or_else(|| Error::Invalid {
        field: "agent",
        problem: format!("sessions of {} cannot be read", agent.name()),
    })?;
    let data = std::fs::symlink_metadata(path).map_err(|error| Error::file(path, error))?;
    if !data.is_file() {
        return Err(Error::Invalid { field: "path", problem: "is no regular file".to_owned() });
    }
    let stamp = sweep::stamp(path, &data);
    let known = place.and_then(|bytes| minicbor::decode::<TranscriptPlace>(bytes).ok());
    let before = known.map(|place| SourceRow {
        path: path.to_string_lossy().into_owned(),
        agent,
        stamp,
        offset: place.offset,
        head: place.head,
        tail: place.tail,
        version: place.version,
        memory: place.memory,
        cursor: TurnCursor::Before,
        prompts: 0,
        tally: None,
    });
    let plan = SourcePlan { reader, path: path.to_owned(), stamp, before };
    let start = source_file::start(&plan);
    let mut events: Vec<PastEvent> = Vec::new();
    let end = source_file::read(&plan, &start, now, &mut events)?;
    let items = events.into_iter().filter_map(|event| match event {
        PastEvent::Item(item) => Some(item),
        PastEvent::Session(_) | PastEvent::Undo(_) => None,
    });
    let place = TranscriptPlace {
        offset: end.offset,
        head: end.head,
        tail: end.tail,
        version: reader.version(),
        memory: end.memory.clone(),
    };
    Ok(TranscriptPart {
        items: items.collect(),
        session: end.memory.session,
        place: minicbor::to_vec(place).expect("a vector takes every byte"),
        is_anew: matches!(start, SourceStart::Anew),
    })
}

/// The agent in whose folders a file lies, if it is one of its transcripts.
pub fn agent_of(path: &Path, surroundings: &PastSurroundings) -> Option<PastAgent> {
    let lies_below = |root: &PathBuf| path.starts_with(root);
    readers::all()
        .into_iter()
        .find(|reader| reader.is_source(path) && reader.roots(surroundings).iter().any(lies_below))
        .map(readers::PastReader::agent)
}
