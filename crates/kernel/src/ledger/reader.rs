//! A state of an actor's storage: rows of the derived store, and entries and bodies from the ledger.
//!
//! What must stay true: an entry is seen exactly when the row that says where it is is seen; such a row that does not
//! read costs the derived store, which is made again, and never the entry, which lies in the ledger.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::health::Health;
use super::{Ledger, Location};
use crate::error::{Error, Result};
use crate::keys::{self, TruthKey};
use crate::store::{DamageNote, KeyRange, STORE_FILE, Space, StoreReader, Visit};

/// A state of the derived store, with the entries and bodies it knows of read from the ledger.
pub struct LocationReader {
    pub(super) rows: Box<dyn StoreReader + Send>,
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) health: Arc<Health>,
}

impl std::fmt::Debug for LocationReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocationReader").field("ledger", &self.ledger).finish_non_exhaustive()
    }
}

impl LocationReader {
    /// The entry and then the body, where they lie in the range, in its direction.
    fn visit_entry(
        &self,
        (seq, location): (u64, Location),
        range: &KeyRange,
        visit: &mut Visit<'_>,
    ) -> Result<ControlFlow<()>> {
        let mut keys = [TruthKey::Entry(seq), TruthKey::Body(seq)];
        if range.reverse {
            keys.reverse();
        }
        for part in keys {
            let (key, read): (_, Result<Option<Vec<u8>>>) = match part {
                TruthKey::Entry(seq) => {
                    let key = keys::entry(seq);
                    let is_inside = range.holds(&key);
                    (key, is_inside.then(|| self.ledger.entry(seq, location)).transpose())
                }
                TruthKey::Body(seq) => {
                    let key = keys::body(seq);
                    let is_inside = range.holds(&key);
                    let body = is_inside.then(|| self.ledger.body(seq, location)).transpose();
                    (key, body.map(Option::flatten))
                }
            };
            let value = match read {
                // The key is there, with a value that no reader takes for one.
                Err(Error::Corrupt { place, reason }) => {
                    self.note_damage(DamageNote { place, reason });
                    Some(Vec::new())
                }
                read => read?,
            };
            if let Some(value) = value
                && visit(&key, &value)?.is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl StoreReader for LocationReader {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if space != Space::Truth {
            return self.health.judge(self.rows.get(space, key));
        }
        let Some(part) = keys::parse_truth(key) else { return Ok(None) };
        let (TruthKey::Entry(seq) | TruthKey::Body(seq)) = part;
        let found = self.health.judge(location(&*self.rows, seq))?;
        let Some(location) = found else { return Ok(None) };
        match part {
            TruthKey::Entry(_) => self.ledger.entry(seq, location).map(Some),
            TruthKey::Body(_) => self.ledger.body(seq, location),
        }
    }

    fn scan(&self, space: Space, range: &KeyRange, visit: &mut Visit<'_>) -> Result<()> {
        if space != Space::Truth {
            return self.health.judge(self.rows.scan(space, range, visit));
        }
        // A range that begins with a body has its entry's row before it.
        let mut rows = range.clone();
        if let Some(TruthKey::Body(seq)) = keys::parse_truth(&range.from) {
            rows.from = keys::entry(seq);
        }
        self.health.judge(self.rows.scan(Space::Truth, &rows, &mut |key, value| {
            self.visit_entry(parse_location(key, value)?, range, visit)
        }))
    }

    fn generation(&self) -> u64 {
        self.rows.generation()
    }

    fn note_damage(&self, note: DamageNote) {
        self.health.note(note);
    }

    fn distrust(&self, note: DamageNote) {
        self.health.distrust(note);
    }
}

fn parse_location(key: &[u8], value: &[u8]) -> Result<(u64, Location)> {
    match (keys::parse_truth(key), Location::from_bytes(value)) {
        (Some(TruthKey::Entry(seq)), Some(location)) => Ok((seq, location)),
        _ => {
            let key = proof::digest::encode_hex(key);
            Err(Error::corrupt(STORE_FILE, format!("{key} is no place in the ledger")))
        }
    }
}

pub(super) fn location(rows: &dyn StoreReader, seq: u64) -> Result<Option<Location>> {
    let key = keys::entry(seq);
    let row = rows.get(Space::Truth, &key)?;
    row.map(|value| Ok(parse_location(&key, &value)?.1)).transpose()
}

/// The last entry that the derived store knows of.
pub(super) fn last_location(rows: &dyn StoreReader) -> Result<Option<(u64, Location)>> {
    let mut last = None;
    rows.scan(Space::Truth, &KeyRange::all().reversed(), &mut |key, value| {
        last = Some(parse_location(key, value)?);
        Ok(ControlFlow::Break(()))
    })?;
    Ok(last)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::actor::ActorName;
    use crate::ledger::{FileLedger, SegmentNames};
    use crate::store::{DiskMedium, Medium, StoreFile};

    /// Rows of which the engine reads none, or none that is a place.
    struct DamagedRows(Option<Vec<u8>>);

    impl StoreReader for DamagedRows {
        fn get(&self, _: Space, _: &[u8]) -> Result<Option<Vec<u8>>> {
            let unread = || Error::corrupt(STORE_FILE, "the engine could not read it");
            self.0.clone().map(Some).ok_or_else(unread)
        }

        fn scan(&self, space: Space, _: &KeyRange, visit: &mut Visit<'_>) -> Result<()> {
            let row = self.get(space, &[])?.unwrap_or_default();
            visit(&keys::entry(1), &row).map(drop)
        }
    }

    // F15: found by `make torture`: 136 of 200 memories were said to be lost for one page of what is derived
    #[test]
    fn places_that_do_not_read_cost_the_derived_store_and_no_memory() {
        let folder = tempfile::tempdir().unwrap();
        let medium: Arc<dyn Medium> = Arc::new(DiskMedium::new(folder.path()));
        let actor = ActorName::parse("ada").unwrap();
        let of = (&actor, [7; 16]);
        let ledger = FileLedger::open(Arc::clone(&medium), SegmentNames::Ledger, of, None, 1 << 20);
        let ledger: Arc<dyn Ledger> = Arc::new(ledger.unwrap());
        for row in [None, Some(b"no place".to_vec())] {
            for scans in [false, true] {
                std::fs::write(folder.path().join("derived.redb"), "damaged").unwrap();
                let (health, rows) = (Arc::new(Health::new(&medium)), DamagedRows(row.clone()));
                let ledger = Arc::clone(&ledger);
                let reader = LocationReader { rows: Box::new(rows), ledger, health };
                let outcome = if scans {
                    let all = KeyRange::all();
                    reader.scan(Space::Truth, &all, &mut |_, _| Ok(ControlFlow::Continue(())))
                } else {
                    reader.get(Space::Truth, &keys::body(1)).map(drop)
                };
                assert!(matches!(outcome, Err(Error::Corrupt { .. })), "{outcome:?}");
                assert!(reader.health.has_failed(), "the next open makes it again");
                assert!(!medium.exists(StoreFile::Derived).unwrap());
            }
        }
    }
}
