//! What went wrong with an actor's files since they were opened, and what is done about a derived store that is
//! damaged.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::limits::DAMAGE_NOTES_MAX;
use crate::store::{DamageNote, Medium, STORE_FILE, StoreFile};

/// What went wrong since the files were opened.
#[derive(Debug)]
pub(super) struct Health {
    pub(super) medium: Arc<dyn Medium>,
    /// The derived store can no longer be trusted.
    pub(super) has_failed: AtomicBool,
    pub(super) damage: Mutex<BTreeSet<DamageNote>>,
}

impl Health {
    pub(super) fn new(medium: &Arc<dyn Medium>) -> Health {
        let (medium, has_failed) = (Arc::clone(medium), AtomicBool::new(false));
        Health { medium, has_failed, damage: Mutex::default() }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    pub(super) fn note(&self, note: DamageNote) {
        let mut damage = self.damage.lock().unwrap_or_else(PoisonError::into_inner);
        if damage.len() < DAMAGE_NOTES_MAX {
            damage.insert(note);
        }
    }

    /// Takes an outcome of the derived store. One that is damaged is put aside at once, so that the next open makes it
    /// again; whoever reads from it now still has it open.
    pub(super) fn judge<T>(&self, outcome: Result<T>) -> Result<T> {
        if let Err(Error::Corrupt { place, reason }) = &outcome
            && place == STORE_FILE
        {
            self.distrust(DamageNote::new(place, reason));
        }
        outcome
    }

    pub(super) fn distrust(&self, note: DamageNote) {
        self.note(note);
        if !self.has_failed.swap(true, Ordering::AcqRel) {
            // If it keeps its name, the next open judges it again.
            let _ = put_aside(&*self.medium);
        }
    }
}

/// Gives a damaged derived store another name, if it is there.
pub(super) fn put_aside(medium: &dyn Medium) -> Result<()> {
    let failed = |error| Error::io(STORE_FILE, error);
    if medium.exists(StoreFile::Derived).map_err(failed)? {
        medium.rename(StoreFile::Derived, StoreFile::DerivedAside).map_err(failed)?;
    }
    Ok(())
}

/// True for a place in the truth, or of a file, as errors call it: there it does not help to make everything again.
pub fn is_of_truth(place: &str) -> bool {
    let what = place.split(' ').next().unwrap_or_default();
    place.contains('/')
        || ["entry", "entries", "body", "ledger", "journal", "truth"].contains(&what)
}
