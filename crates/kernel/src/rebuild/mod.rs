//! Rebuild: everything but the journal and the bodies can be dropped and made again, to the same bytes.
//!
//! `rebuild` fills the side of the store that is not live, in slices that each commit, and then switches sides in one
//! commit; a crash leaves the live side as it was and the rebuild goes on where it stopped. `renew` is the rebuild that
//! nobody asked for: it switches only to a state of the same root. `verify` replays into a store of its own and compares
//! every row.

mod other_side;
mod verify;

use proof::journal::{Entry, Payload};
use proof::memory::SealedBody;

use crate::error::{Error, Result};
use crate::keys;
use crate::store::{Space, StoreReader};

pub(crate) use other_side::{rebuild, renew, replay};
pub(crate) use verify::verify;
pub use verify::{PROBLEMS_MAX, VerifyProblem, VerifyReport};

/// An entry read back from the journal with what lies beside it.
struct StoredEntry {
    entry: Entry,
    bytes: Vec<u8>,
    payload: Payload,
    sealed: Option<SealedBody>,
}

/// Reads entry `seq`, checking that it is the entry its key says.
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
    let sealed = reader
        .get(Space::Truth, &keys::body(seq))?
        .map(|bytes| SealedBody::from_bytes(&bytes))
        .transpose()
        .map_err(|error| Error::corrupt(format!("body {seq}"), error.to_string()))?;
    Ok(Some(StoredEntry { entry, bytes, payload, sealed }))
}
