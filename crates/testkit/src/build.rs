//! Short ways to make what tests need: deterministic stamps, salts, bodies and drafts; dumps and checks of a whole
//! store.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use kernel::actor::ActorName;
use kernel::command::{Command, Draft, HeadRevision, Receipt, Removal, Revision, Stamp};
use kernel::find::{Predicate, Query};
use kernel::journal::{HeadPatch, Payload};
use kernel::memory::{Body, Fields, MemoryId, MemoryType, Millis, Salt};
use kernel::store::{
    EngineOptions, KeyRange, Medium, RedbStorage, Side, Space, Storage, StoreReader, WriteSet,
};
use kernel::{Cortex, Options, Result, Submission, VerifyReport};

use crate::disk::Disk;

/// 2026-01-01T00:00:00Z, and `n` seconds later.
pub fn at(n: i64) -> Millis {
    Millis(1_767_225_600_000 + n * 1_000)
}

pub fn stamp(n: i64) -> Stamp {
    Stamp::new(at(n), "tester")
}

/// A salt that depends on `n` only.
pub fn salt(n: u64) -> Salt {
    let mut bytes = [0x5a; 16];
    bytes[..8].copy_from_slice(&n.to_be_bytes());
    Salt(bytes)
}

pub fn body(memory_type: MemoryType, title: &str, content: &str) -> Body {
    Body { title: title.into(), content: content.into(), fields: Fields::empty(memory_type) }
}

/// A fact with nothing but title and content.
pub fn fact(n: u64, title: &str, content: &str) -> Draft {
    Draft::new(body(MemoryType::Fact, title, content), salt(n))
}

pub fn id(n: u64) -> MemoryId {
    MemoryId::new(n).expect("test ids start at 1")
}

pub fn ada() -> ActorName {
    ActorName::parse("ada").expect("a legal name")
}

/// Opens the test actor on a simulated disk.
pub fn open(disk: &Disk) -> Cortex {
    Cortex::open_on(disk.medium(), &ada(), Options::default()).expect("the store opens")
}

/// Runs one command as the tester at second `n`.
pub fn run(cortex: &Cortex, n: i64, command: Command) -> Result<Receipt> {
    cortex.submit(Submission { stamp: stamp(n), command, authority: None })
}

/// Forgetting, restoring or erasing memory `n` at whatever version it has.
pub fn removal(n: u64) -> Removal {
    Removal { id: id(n), expected: None, reason: "a test".into() }
}

/// A new version of fact `n`.
pub fn revision(n: u64, expected: Option<u32>, title: &str) -> Revision {
    Revision::new(id(n), expected, body(MemoryType::Fact, title, "new content"), salt(n << 32))
}

pub fn head_revision(n: u64, patch: HeadPatch) -> HeadRevision {
    HeadRevision { id: id(n), expected: None, patch, reason: None }
}

/// Journal entries so far.
pub fn size(cortex: &Cortex) -> u64 {
    cortex.read().and_then(|reading| reading.view().last_seq()).expect("the journal reads")
}

/// The payload of entry `seq`.
pub fn payload(cortex: &Cortex, seq: u64) -> Payload {
    let reading = cortex.read().expect("the store reads");
    let entry = reading.view().entry(seq).expect("the entry reads").expect("the entry is there");
    entry.payload().expect("the payload reads")
}

/// Every row of the live state: journal and bodies (false), everything derived (true).
pub type Dump = BTreeMap<(bool, Vec<u8>), Vec<u8>>;

pub fn try_dump(cortex: &Cortex) -> Result<Dump> {
    let reading = cortex.read()?;
    let view = reading.view();
    let mut dump = Dump::new();
    view.scan_truth(&KeyRange::all(), &mut |key, value| {
        dump.insert((false, key.to_vec()), value.to_vec());
        Ok(ControlFlow::Continue(()))
    })?;
    view.scan(&KeyRange::all(), &mut |key, value| {
        dump.insert((true, key.to_vec()), value.to_vec());
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(dump)
}

pub fn dump(cortex: &Cortex) -> Dump {
    try_dump(cortex).expect("every row reads")
}

/// Verifies with a scratch store in memory.
pub fn try_verify(cortex: &Cortex) -> Result<VerifyReport> {
    let birth = || kernel::birth(cortex.actor());
    let scratch = RedbStorage::open(Disk::new().medium(), EngineOptions::default(), birth)?;
    cortex.verify_with(&scratch, &mut |_, _| {})
}

pub fn verify(cortex: &Cortex) -> VerifyReport {
    try_verify(cortex).expect("the check itself does not fail")
}

pub fn assert_clean(cortex: &Cortex) {
    let report = verify(cortex);
    assert!(report.is_clean(), "{:#?}", report.problems);
    assert_eq!(report.root, Some(cortex.root().expect("the root reads")));
    assert_eq!(report.entries, size(cortex));
}

/// Asserts that `call` is refused with `code` and leaves every row as it was.
pub fn assert_refused<T: std::fmt::Debug>(
    cortex: &Cortex,
    code: &str,
    call: impl FnOnce(&Cortex) -> Result<T>,
) {
    let before = dump(cortex);
    let error = call(cortex).expect_err(code);
    assert_eq!(error.code(), code, "{error}");
    assert_eq!(dump(cortex), before, "a refusal changes nothing");
}

/// Changes rows of a closed store behind the kernel's back. `edit` is told which side is live.
pub fn tamper(disk: &Disk, edit: impl FnOnce(&dyn StoreReader, Side, &mut WriteSet)) {
    tamper_on(disk.medium(), edit);
}

/// The same for a store on any medium.
pub fn tamper_on(
    medium: Box<dyn Medium>,
    edit: impl FnOnce(&dyn StoreReader, Side, &mut WriteSet),
) {
    let storage = RedbStorage::open(medium, EngineOptions::default(), WriteSet::new)
        .expect("the store opens");
    let reader = storage.reader().expect("the store reads");
    let live = reader.get(Space::Engine, b"live").expect("the row reads");
    let side = if live.as_deref() == Some(b"b") { Side::B } else { Side::A };
    let mut rows = WriteSet::new();
    edit(&*reader, side, &mut rows);
    drop(reader);
    storage.commit(&rows).expect("the rows are written");
    storage.close().expect("the store closes");
}

/// True if the bytes of `text` are anywhere in `bytes`.
pub fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// A find by filter alone.
pub fn filtered(filter: Predicate, limit: u32) -> Query {
    Query { filter: Some(filter), limit: Some(limit), ..Query::default() }
}
