//! Moving an actor out of the one file in which journal, bodies and derived rows lay before there was a ledger.
//!
//! The truth is copied into segments with names of their own, read back and compared byte by byte; the derived rows are
//! copied as they are. Then the old file is put aside in one rename, which is the moment from which the ledger counts;
//! the segments get their names, and the old file goes. What must stay true: until that rename the old file is the
//! truth and everything beside it is worthless; from it on the segments are. Power may fail at any sync of it.

use std::ops::ControlFlow;
use std::sync::Arc;

use proof::actor::ActorName;

use super::segment::LedgerKey;
use super::segment_files::SegmentNames;
use super::{FileLedger, Frame, FrameEntry, Ledger, LedgerPart};
use crate::birth::{birth, check_birth, live_side};
use crate::error::{Error, Result};
use crate::keys;
use crate::store::{
    EngineOptions, KeyRange, Medium, RedbStorage, RowChanges, Side, Space, Storage, StoreFile,
    StoreReader, View, WriteSet,
};

/// Entries and bytes in one frame of a moved journal.
const ENTRIES_PER_FRAME: usize = 1_024;
const BYTES_PER_FRAME: usize = 4 << 20;
/// Derived rows copied per commit.
const ROWS_PER_COMMIT: usize = 20_000;

/// Moves the actor if it has to be moved, or finishes that.
pub(super) fn finish_move(
    medium: &Arc<dyn Medium>,
    actor: &ActorName,
    options: EngineOptions,
    key: LedgerKey,
) -> Result<()> {
    if medium.exists(StoreFile::Former).map_err(failed)? {
        begin_anew(&**medium)?;
        let former = RedbStorage::open_former(medium, options)?;
        let reader = former.reader()?;
        check_birth(&*reader, actor)?;
        let side = live_side(&*reader)?;
        let locations = copy_truth(medium, (actor, key), options.segment_bytes, &*reader, side)?;
        copy_derived(medium, actor, options, (&*reader, side), &locations)?;
        drop(reader);
        former.close()?;
        medium.rename(StoreFile::Former, StoreFile::FormerAside).map_err(failed)?;
    }
    if medium.exists(StoreFile::FormerAside).map_err(failed)? {
        for file in medium.segments().map_err(failed)? {
            if let StoreFile::SegmentMove(first) = file {
                medium.rename(file, StoreFile::Segment(first)).map_err(failed)?;
            }
        }
        medium.remove(StoreFile::FormerAside).map_err(failed)?;
    }
    Ok(())
}

/// Removes what a move that did not finish has left.
fn begin_anew(medium: &dyn Medium) -> Result<()> {
    let files = medium.segments().map_err(failed)?;
    if files.iter().any(|file| matches!(file, StoreFile::Segment(_))) {
        let reason = "a store.redb lies beside the ledger, as an older version of this program makes one; \
                      move one of the two elsewhere";
        return Err(Error::invalid("actor", reason));
    }
    for file in files.into_iter().chain([StoreFile::Derived, StoreFile::DerivedScratch]) {
        medium.remove(file).map_err(failed)?;
    }
    Ok(())
}

/// Copies journal and bodies, and compares what was written with what was read. Returns where everything is.
fn copy_truth(
    medium: &Arc<dyn Medium>,
    of: (&ActorName, LedgerKey),
    segment_bytes: u64,
    reader: &dyn StoreReader,
    side: Side,
) -> Result<RowChanges> {
    let view = View::new(reader, side);
    let last = view.last_seq()?;
    let ledger = FileLedger::open(Arc::clone(medium), SegmentNames::Move, of, None, segment_bytes)?;
    let mut done = ledger.last();
    while done < last {
        let mut parts = Vec::new();
        let mut bytes = 0;
        for seq in done + 1..=last {
            let entry = view.entry_bytes(seq)?;
            let missing = || Error::corrupt(format!("entry {seq}"), "is missing");
            let part = (entry.ok_or_else(missing)?, view.get_truth(&keys::body(seq))?);
            bytes += part.0.len() + part.1.as_ref().map_or(0, Vec::len);
            parts.push(part);
            if parts.len() == ENTRIES_PER_FRAME || bytes >= BYTES_PER_FRAME {
                break;
            }
        }
        let frame = Frame {
            entries: parts
                .iter()
                .map(|(entry, body)| FrameEntry { entry, body: body.as_deref() })
                .collect(),
            ..Frame::default()
        };
        ledger.append(done, &frame, &|| proof::merkle::log::root(&view, done))?;
        done += parts.len() as u64;
    }
    let mut locations = RowChanges::new();
    ledger.read(1, &mut |found| {
        let body = match found.body {
            LedgerPart::Absent => None,
            LedgerPart::Whole(bytes) => Some(bytes),
            LedgerPart::Erased | LedgerPart::Damaged => return Err(differs(found.seq)),
        };
        let entry = view.entry_bytes(found.seq)?.map(LedgerPart::Whole);
        if entry != Some(found.entry) || body != view.get_truth(&keys::body(found.seq))? {
            return Err(differs(found.seq));
        }
        locations.insert(keys::entry(found.seq), Some(found.location.to_bytes()));
        Ok(ControlFlow::Continue(()))
    })?;
    if locations.len() as u64 == last { Ok(locations) } else { Err(differs(last)) }
}

fn differs(seq: u64) -> Error {
    Error::corrupt(format!("entry {seq}"), "the copy in the ledger is another one")
}

fn copy_derived(
    medium: &Arc<dyn Medium>,
    actor: &ActorName,
    options: EngineOptions,
    (reader, side): (&dyn StoreReader, Side),
    locations: &RowChanges,
) -> Result<()> {
    let derived = RedbStorage::open(Arc::clone(medium), options, || birth(actor))?;
    let mut batch = WriteSet::new();
    let mut rows = 0;
    reader.scan(Space::Derived(side), &KeyRange::all(), &mut |key, value| {
        batch.put(Space::Derived(Side::A), key.to_vec(), value.to_vec());
        rows += 1;
        if rows % ROWS_PER_COMMIT == 0 {
            derived.commit(&std::mem::take(&mut batch))?;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    derived.commit_around(&batch, true, || Ok(locations.clone()))?;
    derived.close()
}

fn failed(error: std::io::Error) -> Error {
    Error::io("store file", error)
}
