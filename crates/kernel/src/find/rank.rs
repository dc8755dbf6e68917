//! Sort keys and cursors. A key is a list of numbers that ascends in the order asked for and ends with the id, so no
//! two memories share one and a page can begin right after the last key of the page before.

use minicbor::{Decode, Encode};
use proof::codec;
use proof::digest::{Digest, decode_hex, encode_hex};
use proof::memory::{MemoryId, Millis};

use super::predicate::Number;
use super::query::{Order, OrderBy, Query};
use crate::error::{Error, Result};
use crate::rows::{MemoryRow, Standing};

/// Numbers that ascend as the order asks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub(super) struct Key(#[n(0)] Vec<Number>);

/// What is known of an item besides its records.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scores {
    pub(super) salience: u32,
    pub(super) similarity: Option<u32>,
    pub(super) hop: Option<u32>,
}

impl Key {
    pub(super) fn new(order: &[Order], row: &MemoryRow, scores: Scores) -> Key {
        let mut parts = Vec::with_capacity(order.len() + 2);
        for Order { by, descending } in order {
            // Each number fits into 64 bits, so its negative is a legal number too.
            let mut push = |number: i128| {
                let number = if *descending { -number } else { number };
                parts.push(Number::new(number).expect("keys are made of 64-bit numbers"));
            };
            match by {
                OrderBy::Salience => {
                    push((row.standing != Standing::Superseded).into());
                    push(scores.salience.into());
                }
                OrderBy::Created | OrderBy::Id => push(row.head.id.get().into()),
                OrderBy::Updated => push(row.head.updated.get().into()),
                OrderBy::Importance => push(row.head.importance.into()),
                OrderBy::Similarity => push(scores.similarity.unwrap_or(0).into()),
                OrderBy::Hop => push(scores.hop.unwrap_or(u32::MAX).into()),
            }
        }
        parts.push(row.head.id.get().into());
        Key(parts)
    }

    /// The key of an id in a query that is answered in the order of ids.
    pub(super) fn of_id(order: &[Order], id: MemoryId) -> Option<Key> {
        let descending = by_id(order)?;
        let number = i128::from(id.get());
        let first = Number::new(if descending { -number } else { number })?;
        // Nothing after the id decides, so the rest may be anything above all real keys.
        Some(Key(vec![first, Number::from(u64::MAX)]))
    }

    pub(super) fn leading_id(&self) -> Option<u64> {
        self.0.first().and_then(|number| u64::try_from(number.get().unsigned_abs()).ok())
    }
}

/// Whether the order is that of ids, and if so whether downwards.
pub(super) fn by_id(order: &[Order]) -> Option<bool> {
    order
        .first()
        .filter(|order| matches!(order.by, OrderBy::Created | OrderBy::Id))
        .map(|order| order.descending)
}

/// Where a page ended. Opaque: made by a find, given back with the same query.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct Cursor(#[n(0)] String);

impl Cursor {
    /// A cursor that came in from outside; it is checked when it is used.
    pub fn new(text: impl Into<String>) -> Cursor {
        Cursor(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub(super) struct Place {
    #[n(0)]
    query: Digest,
    /// The clock of the first page, so that scores do not move between pages.
    #[n(1)]
    pub(super) now: Millis,
    #[n(2)]
    pub(super) after: Key,
}

impl Place {
    pub(super) fn new(query: &Query, now: Millis, after: Key) -> Place {
        Place { query: query.digest(), now, after }
    }

    pub(super) fn to_cursor(&self) -> Cursor {
        Cursor(encode_hex(&codec::encode(self)))
    }

    pub(super) fn of(query: &Query) -> Result<Option<Place>> {
        let Some(cursor) = &query.cursor else { return Ok(None) };
        let bytes = decode_hex(&cursor.0).ok_or(Error::BadCursor)?;
        let place: Place = codec::decode("cursor", &bytes).map_err(|_| Error::BadCursor)?;
        if place.query == query.digest() { Ok(Some(place)) } else { Err(Error::BadCursor) }
    }
}
