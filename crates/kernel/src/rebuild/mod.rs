//! Rebuild: everything but the journal and the bodies can be dropped and made again, to the same bytes.
//!
//! A `Remake` makes everything again in a file beside the live one, while others read and write, and takes its place;
//! a crash leaves the live one as it was. `renew` is the rebuild that nobody asked for: it takes the place only of a
//! state with the same root. `replay` brings the live side up to the journal after a crash. `verify` replays into a
//! store of its own and compares every row. All of them read and prepare entries on several threads (`read_ahead`).
//!
//! An entry that cannot be read costs itself and what follows from it: a marker without effect takes its number, and so
//! with entries that no longer fit. All of them are named.

mod beside;
mod read_ahead;
mod replay;
mod verify;

use proof::journal::{Entry, EntryKind, Migration, Payload, SCHEMA};
use proof::memory::{Millis, SealedBody};

use crate::error::{Error, Result};
use crate::keys;
use crate::store::{DamageNote, KeyRange, Space, StoreReader, Visit};

pub use beside::RebuildReport;
pub(crate) use beside::{Remake, renew};
pub(crate) use read_ahead::prepared;
pub(crate) use replay::replay;
pub use verify::{PROBLEMS_MAX, VerifyProblem, VerifyReport};
pub(crate) use verify::{other_roots, replay_into, verify};

/// An entry read back from the journal with what lies beside it.
struct StoredEntry {
    entry: Entry,
    bytes: Vec<u8>,
    payload: Payload,
    sealed: Option<SealedBody>,
    /// Why there is no body, though there should be one.
    body_damage: Option<DamageNote>,
}

/// Reads entry `seq`, checking that it is the entry its key says. A body that does not read costs only itself.
fn stored(reader: &dyn StoreReader, seq: u64) -> Result<Option<StoredEntry>> {
    let Some(bytes) = reader.get(Space::Truth, &keys::entry(seq))? else { return Ok(None) };
    let place = || format!("entry {seq}");
    let damaged = |error: proof::Error| match error {
        proof::Error::NonCanonical { .. } => Error::corrupt(place(), error.to_string()),
        other => other.into(),
    };
    let entry = Entry::from_bytes(&bytes).map_err(damaged)?;
    if entry.seq != seq {
        return Err(Error::corrupt(place(), format!("holds entry {}", entry.seq)));
    }
    let payload = entry.payload().map_err(damaged)?;
    let sealed = reader.get(Space::Truth, &keys::body(seq)).and_then(|bytes| {
        let sealed = bytes.map(|bytes| SealedBody::from_bytes(&bytes)).transpose();
        sealed.map_err(|error| Error::corrupt(format!("body {seq}"), error.to_string()))
    });
    let (sealed, body_damage) = match sealed {
        Err(Error::Corrupt { place, reason }) => (None, Some(DamageNote { place, reason })),
        sealed => (sealed?, None),
    };
    Ok(Some(StoredEntry { entry, bytes, payload, sealed, body_damage }))
}

/// Derived rows of one store beside the truth of another: what a hook reads while everything is made again.
struct ScratchReader<'a> {
    truth: &'a dyn StoreReader,
    derived: &'a dyn StoreReader,
}

impl ScratchReader<'_> {
    fn of(&self, space: Space) -> &dyn StoreReader {
        if space == Space::Truth { self.truth } else { self.derived }
    }
}

impl StoreReader for ScratchReader<'_> {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.of(space).get(space, key)
    }

    fn scan(&self, space: Space, range: &KeyRange, visit: &mut Visit<'_>) -> Result<()> {
        self.of(space).scan(space, range, visit)
    }

    fn generation(&self) -> u64 {
        self.derived.generation()
    }

    fn note_damage(&self, note: DamageNote) {
        self.truth.note_damage(note);
    }
}

/// What stands for an entry that cannot be read or does not fit what is left: it changes nothing.
///
/// It is an entry as any other, so that hooks see every number once; in a ledger that was salvaged it stands where the
/// lost one was.
fn marker(seq: u64, at: Millis) -> StoredEntry {
    let payload = Payload::Migration(Migration { component: LOST.to_owned(), from: 0, to: 0 });
    let entry = Entry {
        schema: SCHEMA,
        seq,
        kind: payload.kind(),
        at,
        by: LOST.to_owned(),
        payload: payload.to_bytes(),
        run: None,
        idempotency: None,
    };
    let bytes = entry.to_bytes();
    StoredEntry { entry, bytes, payload, sealed: None, body_damage: None }
}

/// The bytes of such an entry.
pub(crate) fn marker_bytes(seq: u64, at: Millis) -> Vec<u8> {
    marker(seq, at).bytes
}

fn is_marker(entry: &Entry) -> bool {
    entry.kind == EntryKind::Migration && entry.by == LOST
}

/// Who wrote an entry that stands for a lost one.
const LOST: &str = "lost";

/// True for an error that says the journal or a row is not what it was, and not that the machine failed.
fn is_damage(error: &Error) -> bool {
    matches!(
        error,
        Error::Corrupt { .. }
            | Error::NonCanonical { .. }
            | Error::NotFound { .. }
            | Error::RootMismatch { .. }
    )
}
