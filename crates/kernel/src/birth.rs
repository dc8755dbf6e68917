//! The rows of the engine space: which format, whose memory, which side is live. Not state, never part of a root.

use proof::actor::ActorName;
use proof::journal::SCHEMA;

use crate::error::{Error, Result};
use crate::store::{Side, Space, StoreReader, WriteSet};

const SCHEMA_KEY: &[u8] = b"schema";
const ACTOR_KEY: &[u8] = b"actor";
pub(crate) const LIVE_KEY: &[u8] = b"live";

/// What a new store holds.
pub fn birth(actor: &ActorName) -> WriteSet {
    let mut rows = WriteSet::new();
    rows.put(Space::Engine, SCHEMA_KEY.to_vec(), SCHEMA.to_be_bytes().to_vec());
    rows.put(Space::Engine, ACTOR_KEY.to_vec(), actor.as_str().as_bytes().to_vec());
    rows.put(Space::Engine, LIVE_KEY.to_vec(), side_name(Side::A).to_vec());
    rows
}

/// Refuses a store of another format or of another actor.
pub(crate) fn check_birth(reader: &dyn StoreReader, actor: &ActorName) -> Result<()> {
    let schema = reader.get(Space::Engine, SCHEMA_KEY)?.and_then(|b| b.try_into().ok());
    let found = u32::from_be_bytes(
        schema.ok_or_else(|| Error::corrupt("engine row schema", "is missing or malformed"))?,
    );
    if found != SCHEMA {
        return Err(Error::Schema { found, expected: SCHEMA });
    }
    let owner = reader.get(Space::Engine, ACTOR_KEY)?.unwrap_or_default();
    if owner == actor.as_str().as_bytes() {
        Ok(())
    } else {
        let owner = String::from_utf8_lossy(&owner).into_owned();
        Err(Error::invalid("actor", format!("this store belongs to {owner:?}, not {actor}")))
    }
}

/// The side that readers of this snapshot must use.
pub(crate) fn live_side(reader: &dyn StoreReader) -> Result<Side> {
    match reader.get(Space::Engine, LIVE_KEY)?.as_deref() {
        Some(b"a") => Ok(Side::A),
        Some(b"b") => Ok(Side::B),
        _ => Err(Error::corrupt("engine row live", "does not name a side")),
    }
}

pub(crate) fn side_name(side: Side) -> &'static [u8] {
    match side {
        Side::A => b"a",
        Side::B => b"b",
    }
}
