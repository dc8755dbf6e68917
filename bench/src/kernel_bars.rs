//! The kernel's bars: writes, rebuild, root, proofs, open.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kernel::actor::ActorName;
use kernel::command::{Command, Draft, Stamp};
use kernel::memory::{Body, Fields, MemoryId, MemoryType, Millis, Salt};
use kernel::proof::{Claim, Subject, check, prove};
use kernel::store::{DiskMedium, EngineOptions, RedbStorage, WriteSet};
use kernel::{Cortex, Options, Request};

use crate::measure::{Samples, note, per_second, ratio, row, timed};
use crate::sqlite::{Recorder, Sqlite};

const WRITES: usize = 400;
const CONTENT_BYTES: usize = 600;
const THREADS: usize = 32;
const GROUP: usize = 32;
const BULK: usize = 1_000;

static CLOCK: AtomicU64 = AtomicU64::new(0);

fn request(n: u64) -> Request {
    let tick = CLOCK.fetch_add(1, Ordering::Relaxed);
    let memory_type = MemoryType::ALL[(n % 9) as usize];
    let mut salt = [0; 16];
    salt[..8].copy_from_slice(&tick.to_be_bytes());
    let content = words(n, CONTENT_BYTES);
    let body = Body { title: words(n ^ 0xabc, 40), content, fields: Fields::empty(memory_type) };
    let mut draft = Draft::new(body, Salt(salt));
    draft.project = Some(format!("project-{}", n % 7));
    draft.tags = vec![format!("tag-{}", n % 50)];
    let stamp = Stamp::new(Millis(1_767_225_600_000 + tick as i64), "bench");
    Request { stamp, command: Command::Write(Box::new(draft)), authority: None }
}

/// Text that does not repeat from memory to memory.
fn words(seed: u64, bytes: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = String::with_capacity(bytes + 8);
    while text.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        for i in 0..(3 + state % 6) {
            text.push(char::from(b'a' + ((state >> (8 + 5 * i)) % 26) as u8));
        }
        text.push(' ');
    }
    text.truncate(bytes);
    text.trim_end().to_owned()
}

pub fn run(scratch: &Path, memories: usize) -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "{:<44} {:>22}  {:<44} {:<26} verdict",
        "what", "measured", "beside", "bar"
    );
    let actor = ActorName::parse("bench")?;
    let folder = scratch.join("actor");
    let cortex = Cortex::open(&folder, &actor, Options::default())?;
    let mut sqlite = Sqlite::open(&scratch.join("sqlite.db"));
    let batches = Batches::record(&scratch.join("recorded"), &actor, memories)?;

    // Bulk first, so that everything after it is measured on a store of the size that the bars name.
    let (_, bulk) = timed(|| {
        for start in (0..memories).step_by(BULK) {
            let count = BULK.min(memories - start);
            let batch = (0..count).map(|i| request((start + i) as u64)).collect();
            for outcome in cortex.submit_bulk(batch).expect("the pen is there") {
                outcome.expect("a valid memory");
            }
        }
    });
    let (_, sqlite_bulk) = timed(|| batches.bulk.iter().for_each(|batch| sqlite.commit(batch)));
    let rate = per_second(memories, bulk);
    row(
        &format!("bulk import of {memories}, {BULK} per commit"),
        format!("{rate:.0}/s"),
        format!("SQLite {:.0}/s", per_second(memories, sqlite_bulk)),
        ">= 5,000/s",
        rate >= 5_000.0,
    );
    note("  store file", format!("{:.0} B/memory", cortex.size_bytes()? as f64 / memories as f64));

    singles(scratch, &cortex, &mut sqlite, &batches.single)?;
    concurrent(&cortex, &mut sqlite, &batches.grouped);
    reads(&cortex)?;
    whole(cortex, &folder, &actor)
}

/// The write sets of the kernel for the same memories: what SQLite is given to store.
struct Batches {
    bulk: Vec<WriteSet>,
    single: Vec<WriteSet>,
    grouped: Vec<WriteSet>,
}

impl Batches {
    fn record(
        folder: &Path,
        actor: &ActorName,
        memories: usize,
    ) -> Result<Batches, Box<dyn std::error::Error>> {
        std::fs::create_dir_all(folder)?;
        let medium = Box::new(DiskMedium::new(folder));
        let store = RedbStorage::open(medium, EngineOptions::default(), || kernel::birth(actor))?;
        let (recorder, taken) = Recorder::new(Box::new(store));
        let cortex = Cortex::with_storage(Arc::new(recorder), actor, Options::default())?;
        let mut next = 0u64;
        let mut write = |count: usize| {
            let batch = (0..count as u64).map(|i| request(next + i)).collect();
            next += count as u64;
            for outcome in cortex.submit_bulk(batch).expect("the pen is there") {
                outcome.expect("a valid memory");
            }
        };
        let take = || std::mem::take(&mut *taken.lock().expect("no panic while recording"));
        for start in (0..memories).step_by(BULK) {
            write(BULK.min(memories - start));
        }
        let bulk = take();
        (0..WRITES).for_each(|_| write(1));
        let single = take();
        (0..WRITES / 4).for_each(|_| write(GROUP));
        Ok(Batches { bulk, single, grouped: take() })
    }
}

fn singles(
    scratch: &Path,
    cortex: &Cortex,
    sqlite: &mut Sqlite,
    batches: &[WriteSet],
) -> Result<(), Box<dyn std::error::Error>> {
    let mut raw_file = OpenOptions::new().create(true).append(true).open(scratch.join("raw"))?;
    let kilobyte = [7u8; 1_024];
    // Interleaved, so that a slow moment of the disk hits all three.
    let mut raw = Vec::new();
    let mut ours = Vec::new();
    let mut theirs = Vec::new();
    for i in 0..WRITES {
        raw.push(timed(|| {
            raw_file.write_all(&kilobyte).and_then(|()| raw_file.sync_data()).expect("a writable disk");
        }).1);
        ours.push(timed(|| cortex.submit(request(i as u64)).expect("a valid memory")).1);
        theirs.push(timed(|| sqlite.commit(&batches[i])).1);
    }
    let p50 = |times: &mut Vec<std::time::Duration>| {
        times.sort_unstable();
        times[times.len() / 2]
    };
    let (raw, ours, theirs) = (p50(&mut raw), p50(&mut ours), p50(&mut theirs));
    row(
        "durable single write, p50",
        format!("{ours:.0?} = {:.1}x", ratio(ours, raw)),
        format!("raw 1 KB append+fdatasync {raw:.0?}; SQLite {theirs:.0?}"),
        "<= 4x raw",
        ratio(ours, raw) <= 4.0,
    );
    Ok(())
}

fn concurrent(cortex: &Cortex, sqlite: &mut Sqlite, batches: &[WriteSet]) {
    let each = WRITES / 4;
    let (_, alone) = timed(|| {
        for i in 0..WRITES {
            cortex.submit(request(i as u64)).expect("a valid memory");
        }
    });
    let (_, together) = timed(|| {
        std::thread::scope(|threads| {
            for t in 0..THREADS {
                threads.spawn(move || {
                    for i in 0..each {
                        cortex.submit(request((t * each + i) as u64)).expect("a valid memory");
                    }
                });
            }
        });
    });
    let (_, sqlite_grouped) = timed(|| batches.iter().for_each(|batch| sqlite.commit(batch)));
    let one = per_second(WRITES, alone);
    let all = per_second(THREADS * each, together);
    let theirs = per_second(batches.len() * GROUP, sqlite_grouped);
    row(
        &format!("{THREADS} writers, each waiting for the disk"),
        format!("{all:.0}/s = {:.1}x", all / one),
        format!("one writer {one:.0}/s; SQLite by {GROUP} {theirs:.0}/s"),
        ">= 4x one, ahead of SQLite",
        all >= 4.0 * one && all >= theirs,
    );
}

fn reads(cortex: &Cortex) -> Result<(), Box<dyn std::error::Error>> {
    let roots = Samples::of(200, |i| {
        cortex.submit(request(i as u64)).expect("a valid memory");
    });
    let _writes = roots;
    let root = Samples::of(200, |_| {
        cortex.root().expect("a readable store");
    });
    row(
        "OverallRoot after a write, p50 / p99",
        format!("{:.0?} / {:.0?}", root.p50(), root.p99()),
        "",
        "< 1 ms",
        root.p99().as_micros() < 1_000,
    );
    let reading = cortex.read()?;
    let view = reading.view();
    let size = view.counters()?.size;
    let mut largest = 0;
    let mut whole = 0;
    let proofs = Samples::of(200, |i| {
        let id = MemoryId::new(1 + (i as u64 * 7_919) % size).expect("not zero");
        let file = prove(&view, cortex.actor(), Subject::Memory(id), None).expect("a memory");
        let Claim::Memory(claim) = &file.claim else { panic!("memory {id} is there") };
        largest = largest.max(kernel::codec::encode(&claim.head_proof).len());
        whole = whole.max(file.to_bytes().len());
        check(&file).expect("a true proof");
    });
    row(
        &format!("inclusion proof at {size} entries"),
        format!("{largest} B"),
        format!("file with record, body, journal proof {whole} B; made+checked {:.0?}", proofs.p50()),
        "< 1 KB",
        largest < 1_024,
    );
    Ok(())
}

fn whole(
    cortex: Cortex,
    folder: &Path,
    actor: &ActorName,
) -> Result<(), Box<dyn std::error::Error>> {
    let before = cortex.root()?;
    let bytes_before = merkle_bytes(&cortex)?;
    let live = cortex.read()?.view().counters()?.live();
    let each = bytes_before as f64 / live as f64;
    row("Merkle rows, keys included", format!("{each:.0} B/memory"), "", "< 200 B", each < 200.0);
    let (entries, took) = timed(|| cortex.rebuild(Box::new(|_, _| {})));
    let entries = entries?;
    assert_eq!(cortex.root()?, before, "a rebuild gives the same root");
    let rate = per_second(entries as usize, took);
    row("rebuild", format!("{rate:.0} entries/s"), format!("{entries} entries"), ">= 10,000/s", rate >= 10_000.0);
    let (report, took) = timed(|| cortex.verify(&folder.join("cache/verify"), &mut |_, _| {}));
    let report = report?;
    assert!(report.is_clean(), "{report:?}");
    note("verify, every row against a replay", format!("{:.0} entries/s", per_second(entries as usize, took)));
    drop(cortex);
    let (cortex, took) = timed(|| Cortex::open(folder, actor, Options::default()));
    let cortex = cortex?;
    row(
        "open after a clean close",
        format!("{took:.1?}"),
        format!("{entries} entries, {} MB", cortex.size_bytes()? >> 20),
        "< 50 ms",
        took.as_millis() < 50,
    );
    Ok(())
}

/// Bytes of journal tiles and tree pages with their keys.
fn merkle_bytes(cortex: &Cortex) -> Result<u64, Box<dyn std::error::Error>> {
    let reading = cortex.read()?;
    let mut bytes = 0;
    for prefix in [b'l', b't', b'T'] {
        let range = kernel::store::KeyRange::prefix(&[prefix]);
        reading.view().scan(&range, &mut |key, value| {
            bytes += (key.len() + value.len()) as u64;
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
    }
    Ok(bytes)
}
