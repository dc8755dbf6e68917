//! The kernel's bars: writes, rebuild, root, proofs, open. Every write bar stands beside the same kernel on SQLite.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use kernel::actor::ActorName;
use kernel::command::{Command, Draft, Removal, Stamp};
use kernel::memory::{Body, Fields, MemoryId, MemoryType, Millis, Salt};
use kernel::prove::{Subject, prove};
use proof::{Claim, check};
use kernel::store::{KeyRange, Storage, WriteSet};
use kernel::{Cortex, Options, Submission};
use recall::search::SearchQuery;

use crate::Outcome;
use crate::corpus::Corpus;
use crate::cortex_recall;
use crate::measure::{Samples, compared, cpu, heading, note, per_second, ratio, row, timed};
use crate::sqlite::SqliteStorage;

const WRITES: usize = 400;
/// Single writes with recall on: more than twice what is made durable at a time.
const INTERACTIVE: usize = 1_200;
/// Erasures, each with some writes and reads behind it.
const ERASURES: usize = 20;
const CONTENT_BYTES: usize = 600;
const THREADS: usize = 32;
const BULK: usize = 1_000;

static CLOCK: AtomicU64 = AtomicU64::new(0);

/// A memory of the usual size: a title, a paragraph, a project and a tag.
fn request(n: u64) -> Submission {
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
    Submission { stamp, command: Command::Write(Box::new(draft)), authority: None }
}

/// Text in which few words are frequent and many are rare, as in real text: about 65,000 words by rank.
fn words(seed: u64, bytes: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = String::with_capacity(bytes + 8);
    while text.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let magnitude = state % 16;
        let mut rank = (1 << magnitude) + (state >> 8) % (1 << magnitude);
        while rank > 0 {
            text.push(char::from(b'a' + (rank % 21) as u8));
            rank /= 21;
        }
        text.push_str("ing ");
    }
    text.truncate(bytes);
    text.trim_end().to_owned()
}

pub fn run(scratch: &Path, memories: usize) -> Outcome<()> {
    heading();
    let actor = ActorName::parse("bench")?;
    let folder = scratch.join("actor");
    let ours = Cortex::open(&folder, &actor, Options::default())?;
    let birth = kernel::birth(&actor);
    let sqlite = Arc::new(SqliteStorage::open(&scratch.join("sqlite.db"), &birth)?);
    let storage = Arc::<SqliteStorage>::clone(&sqlite);
    let theirs = Cortex::with_storage(storage, &actor, Options::default())?;

    // Bulk first, so that everything after it is measured on stores of the size that the bars name.
    let rate = per_second(memories, fill(&ours, memories));
    let their_rate = per_second(memories, fill(&theirs, memories));
    row(
        &format!("bulk import of {memories}, {BULK} per commit"),
        format!("{rate:.0}/s"),
        format!("same kernel on SQLite {their_rate:.0}/s"),
        ">= 5,000/s",
        rate >= 5_000.0,
    );
    sqlite.keep_commits();
    singles(scratch, &ours, &theirs)?;
    let finished = sqlite.kept_commits();
    let fed = SqliteStorage::open(&scratch.join("fed.db"), &birth)?;
    concurrent(&ours, &theirs, (&fed, &finished));
    reads(&ours)?;
    drop(theirs);
    whole(ours, scratch, &folder, &actor)?;
    everything_on(scratch, memories)
}

fn fill(cortex: &Cortex, memories: usize) -> Duration {
    let write = || {
        for start in (0..memories).step_by(BULK) {
            let count = BULK.min(memories - start);
            let batch = (0..count).map(|i| request((start + i) as u64)).collect();
            for outcome in cortex.submit_bulk(batch).expect("the pen is there") {
                outcome.expect("a valid memory");
            }
        }
    };
    timed(write).1
}

fn singles(scratch: &Path, ours: &Cortex, theirs: &Cortex) -> Outcome<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(scratch.join("raw"))?;
    let kilobyte = [7u8; 1_024];
    let mut append = || file.write_all(&kilobyte).and_then(|()| file.sync_data());
    // Interleaved, so that a slow moment of the disk hits all three.
    let mut times = [const { Vec::new() }; 3];
    for i in 0..WRITES as u64 {
        times[0].push(timed(|| append().expect("a writable disk")).1);
        times[1].push(timed(|| ours.submit(request(i)).expect("a valid memory")).1);
        times[2].push(timed(|| theirs.submit(request(i)).expect("a valid memory")).1);
    }
    let [raw, own, sqlite] = times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    });
    row(
        "durable single write, p50",
        format!("{own:.0?} = {:.1}x", ratio(own, raw)),
        format!("raw 1 KB append+fdatasync {raw:.0?}; on SQLite {sqlite:.0?}"),
        "<= 3x raw",
        ratio(own, raw) <= 3.0,
    );
    Ok(())
}

/// The same write with words, vectors and entities staged in its commit, at a thousand memories and at all; what it
/// writes and computes; and an erasure.
fn everything_on(scratch: &Path, memories: usize) -> Outcome<()> {
    let folder = scratch.join("recall");
    let cortex = cortex_recall::open(&folder)?;
    let mut texts = Texts::new();
    let mut rate = per_second(1_000, texts.fill(&cortex, 1_000));
    interactive(scratch, &cortex, &mut texts, 1_000);
    if memories > 1_000 {
        rate = per_second(memories - 1_000, texts.fill(&cortex, memories - 1_000));
        interactive(scratch, &cortex, &mut texts, memories);
    }
    row(
        &format!("bulk import of {memories} with recall on"),
        format!("{rate:.0}/s"),
        "",
        ">= 5,000/s",
        rate >= 5_000.0,
    );
    disk_each(&cortex, &texts, "before it is compact", 1_560)?;
    let reading = cortex.read()?;
    let asked = Samples::of(50, |i| {
        let query = SearchQuery::new(texts.corpus.question(i as u64, memories as u64), 10);
        cortex_recall::recall(&reading, &query).expect("a readable store");
    });
    drop(reading);
    note(
        &format!("a question over {memories}, p50 / p95"),
        format!("{:.1?} / {:.1?}", asked.p50(), asked.p95()),
    );
    erasure(&cortex, &mut texts, memories)?;
    rebuilt_beside_writers(&cortex, &mut texts, memories)?;
    disk_each(&cortex, &texts, "compact", 1_200)?;
    drop(cortex);
    killed(scratch, &folder, &mut texts, memories)
}

/// Memories of the generated corpus, one after the other: text with the word frequencies of English.
struct Texts {
    corpus: Corpus,
    next: u64,
    /// Bytes of titles and contents so far.
    bytes: u64,
}

impl Texts {
    fn new() -> Texts {
        Texts { corpus: Corpus::new(), next: 0, bytes: 0 }
    }

    fn request(&mut self) -> Submission {
        let memory = self.corpus.memory(self.next);
        self.next += 1;
        self.bytes += (memory.title.len() + memory.content.len()) as u64;
        cortex_recall::request(memory)
    }

    fn fill(&mut self, cortex: &Cortex, memories: usize) -> Duration {
        let mut took = Duration::ZERO;
        for start in (0..memories).step_by(BULK) {
            let batch = (0..BULK.min(memories - start)).map(|_| self.request()).collect();
            let (outcomes, part) = timed(|| cortex.submit_bulk(batch).expect("the writer is there"));
            took += part;
            outcomes.into_iter().for_each(|outcome| drop(outcome.expect("a valid memory")));
        }
        took
    }
}

/// Bytes on disk for each memory, for texts of 400 bytes: those of the corpus are nearly that long, the bar grows with
/// what they have more.
fn disk_each(cortex: &Cortex, texts: &Texts, when: &str, bar: u64) -> Outcome<()> {
    let each = cortex.size_bytes()? / cortex.read()?.view().counters()?.live();
    let text = texts.bytes / texts.next.max(1);
    let bar = bar + text.saturating_sub(400);
    row(
        &format!("disk for each memory, {when}"),
        format!("{each} B"),
        format!("its text has {text} B"),
        format!("<= {bar} B"),
        each <= bar,
    );
    Ok(())
}

/// Durable single writes, each beside a raw append in the same moment.
fn interactive(scratch: &Path, cortex: &Cortex, texts: &mut Texts, memories: usize) {
    let raw = OpenOptions::new().create(true).append(true).open(scratch.join("raw"));
    let mut file = raw.expect("a writable disk");
    let mut append = || file.write_all(&[7u8; 1_024]).and_then(|()| file.sync_data());
    let mut times = [const { Vec::new() }; 2];
    let (mut written, mut computed) = (0, Duration::ZERO);
    for _ in 0..INTERACTIVE {
        times[0].push(timed(|| append().expect("a writable disk")).1);
        let request = texts.request();
        let (bytes_before, cpu_before) = (disk_bytes(), cpu());
        times[1].push(timed(|| cortex.submit(request).expect("a valid memory")).1);
        written += disk_bytes().saturating_sub(bytes_before);
        computed += cpu().saturating_sub(cpu_before);
    }
    let [raw, own] = times.map(Samples::new);
    row(
        &format!("durable write with recall on, at {memories}"),
        format!("{:.0?} = {:.1}x", own.p50(), ratio(own.p50(), raw.p50())),
        format!("raw append {:.0?}; p99 {:.1?}", raw.p50(), own.p99()),
        "<= 3x raw",
        ratio(own.p50(), raw.p50()) <= 3.0,
    );
    let kilobytes = written as f64 / INTERACTIVE as f64 / 1_000.0;
    let milliseconds = computed.as_secs_f64() * 1_000.0 / INTERACTIVE as f64;
    row(
        &format!("written and computed per save, at {memories}"),
        format!("{kilobytes:.1} kB, {milliseconds:.2} ms"),
        format!("over {INTERACTIVE} saves, derived rows included"),
        "<= 40 kB, <= 2 ms",
        kilobytes <= 40.0 && milliseconds <= 2.0,
    );
}

/// Bytes that this process has written to files; nothing where the system does not say. What Linux calls `write_bytes`
/// is no measure of it: since file systems have large folios it counts all of one when a byte of it changes.
fn disk_bytes() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = io.lines().find_map(|line| line.strip_prefix("wchar: "));
    line.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}

/// Erasures one after the other, while somebody else writes and reads.
fn erasure(cortex: &Cortex, texts: &mut Texts, memories: usize) -> Outcome<()> {
    let removal = |n: u64| Removal {
        id: MemoryId::new(n).expect("not zero"),
        expected: None,
        reason: "bench".into(),
    };
    let write = |texts: &mut Texts| {
        let request = texts.request();
        timed(|| cortex.submit(request).expect("a valid memory")).1
    };
    let read = || timed(|| drop(cortex.read().and_then(|reading| reading.root()))).1;
    let alone = Samples::new((0..ERASURES * 4).map(|_| write(texts).max(read())).collect());
    let (mut erased, mut beside) = (Vec::new(), Vec::new());
    for n in 1..=ERASURES as u64 {
        // By the clock of the texts.
        let stamp = texts.request().stamp;
        let (done, took) = timed(|| cortex.erase(stamp, removal(n * 7)));
        done?;
        erased.push(took);
        beside.extend((0..4).map(|_| write(texts).max(read())));
    }
    let (erased, beside) = (Samples::new(erased), Samples::new(beside));
    row(
        &format!("erase, at {memories}: p50 / most of {ERASURES}"),
        format!("{:.1?} / {:.1?}", erased.p50(), erased.most()),
        "until it is gone from the ledger",
        "<= 20 ms",
        erased.most().as_millis() <= 20,
    );
    row(
        "  a write and a read meanwhile, p50 / p99",
        format!("{:.1?} / {:.1?}", beside.p50(), beside.p99()),
        format!("before it {:.1?} / {:.1?}", alone.p50(), alone.p99()),
        "p99 <= 2x",
        ratio(beside.p99(), alone.p99()) <= 2.0,
    );
    let (is_done, took) = timed(|| cortex.wait_for_scrub(Duration::from_secs(3_600)));
    assert!(is_done, "{:?}", cortex.scrub_state());
    note("  until it is gone from every file", format!("{took:.1?}"));
    Ok(())
}

/// Everything is made again while somebody writes: how fast, and how long that one waits.
fn rebuilt_beside_writers(cortex: &Cortex, texts: &mut Texts, memories: usize) -> Outcome<()> {
    let alone = Samples::of(300, |_| drop(cortex.submit(texts.request()).expect("a valid memory")));
    let is_over = AtomicBool::new(false);
    let (report, took, cpu_took, beside) = std::thread::scope(|threads| {
        let writer = threads.spawn(|| {
            let mut times = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let request = texts.request();
                times.push(timed(|| cortex.submit(request).expect("a valid memory")).1);
                // As an agent would, and not as fast as it can.
                std::thread::sleep(Duration::from_millis(20));
            }
            Samples::new(times)
        });
        let cpu_before = cpu();
        let (report, took) = timed(|| cortex.rebuild(Box::new(|_, _| {})));
        let cpu_took = cpu().saturating_sub(cpu_before);
        is_over.store(true, Ordering::Relaxed);
        (report, took, cpu_took, writer.join().expect("the writer wrote"))
    });
    let report = report?;
    let rate = per_second(report.entries as usize, took);
    row(
        &format!("rebuild with recall beside a writer, at {memories}"),
        format!("{rate:.0} entries/s"),
        format!("{} entries in {took:.1?}, {:.1?} of CPU", report.entries, cpu_took),
        ">= 10,000/s",
        rate >= 10_000.0,
    );
    let slower = ratio(beside.p99(), alone.p99());
    row(
        "a write meanwhile, p50 / p99",
        format!("{:.1?} / {:.1?}", beside.p50(), beside.p99()),
        format!("before it {:.1?} / {:.1?}", alone.p50(), alone.p99()),
        "p99 <= 2x",
        slower <= 2.0,
    );
    Ok(())
}

/// Opens what a kill -9 leaves: the files as they are while the actor is open and some entries are not durable yet.
fn killed(scratch: &Path, folder: &Path, texts: &mut Texts, memories: usize) -> Outcome<()> {
    let cortex = cortex_recall::open(folder)?;
    for _ in 0..300 {
        cortex.submit(texts.request())?;
    }
    let killed = scratch.join("recall killed");
    copy_folder(folder, &killed)?;
    drop(cortex);
    let (cortex, took) = timed(|| cortex_recall::open(&killed));
    let megabytes = cortex?.size_bytes()? >> 20;
    row(
        &format!("open after kill -9 with recall, at {memories}"),
        format!("{took:.1?}"),
        format!("300 entries to replay, {megabytes} MB"),
        "< 200 ms",
        took.as_millis() < 200,
    );
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> Outcome<()> {
    std::fs::create_dir_all(to)?;
    for file in std::fs::read_dir(from)? {
        let file = file?;
        let target = to.join(file.file_name());
        if file.file_type()?.is_dir() {
            copy_folder(&file.path(), &target)?;
        } else {
            std::fs::copy(file.path(), target)?;
        }
    }
    Ok(())
}

/// Many writers at once, beside the same kernel on SQLite and beside SQLite that is given the rows which that kernel
/// made before: nothing is left to it but to write them.
fn concurrent(ours: &Cortex, theirs: &Cortex, (fed, finished): (&SqliteStorage, &[WriteSet])) {
    let each = WRITES / 4;
    let alone = timed(|| {
        for i in 0..WRITES {
            ours.submit(request(i as u64)).expect("a valid memory");
        }
    });
    let together = |cortex: &Cortex| {
        let write = || {
            std::thread::scope(|threads| {
                for t in 0..THREADS {
                    threads.spawn(move || {
                        for i in 0..each {
                            let n = (t * each + i) as u64;
                            cortex.submit(request(n)).expect("a valid memory");
                        }
                    });
                }
            });
        };
        per_second(THREADS * each, timed(write).1)
    };
    // Twice each in turn; the better run counts, for both.
    let (first, their_first) = (together(ours), together(theirs));
    let (all, their_all) = (first.max(together(ours)), their_first.max(together(theirs)));
    let feed = || {
        let next = AtomicU64::new(0);
        std::thread::scope(|threads| {
            for _ in 0..THREADS {
                threads.spawn(|| {
                    while let Some(rows) =
                        finished.get(next.fetch_add(1, Ordering::Relaxed) as usize)
                    {
                        fed.commit(rows).expect("a writable disk");
                    }
                });
            }
        });
    };
    let fed_rate = per_second(finished.len(), timed(feed).1);
    let one = per_second(WRITES, alone.1);
    row(
        &format!("{THREADS} writers, each waiting for the disk"),
        format!("{all:.0}/s = {:.1}x", all / fed_rate),
        format!("SQLite fed finished rows {fed_rate:.0}/s"),
        ">= 2x SQLite",
        all >= 2.0 * fed_rate,
    );
    compared(
        "  beside one writer, and this kernel on SQLite",
        format!("{:.1}x", all / one),
        format!("one writer {one:.0}/s; {THREADS} on SQLite {their_all:.0}/s"),
    );
}

fn reads(cortex: &Cortex) -> Outcome<()> {
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
        format!("file with memory and journal proof {whole} B, {:.0?}", proofs.p50()),
        "< 1 KB",
        largest < 1_024,
    );
    Ok(())
}

fn whole(cortex: Cortex, scratch: &Path, folder: &Path, actor: &ActorName) -> Outcome<()> {
    let before = cortex.root()?;
    let live = cortex.read()?.view().counters()?.live();
    let each = merkle_bytes(&cortex)? as f64 / live as f64;
    row("Merkle rows, keys included", format!("{each:.0} B/memory"), "", "< 200 B", each < 200.0);

    // What a kill -9 leaves: the files as they are while they are open.
    let killed = scratch.join("killed");
    copy_folder(folder, &killed)?;

    let (entries, took) = timed(|| cortex.rebuild(Box::new(|_, _| {})));
    let entries = entries?.entries;
    assert_eq!(cortex.root()?, before, "a rebuild gives the same root");
    let rate = per_second(entries as usize, took);
    let beside = format!("{entries} entries");
    row("rebuild", format!("{rate:.0} entries/s"), beside, ">= 10,000/s", rate >= 10_000.0);
    let (report, took) = timed(|| cortex.verify(&folder.join("cache/verify"), &mut |_, _| {}));
    let report = report?;
    assert!(report.is_clean(), "{report:?}");
    let rate = per_second(entries as usize, took);
    note("verify, every row against a replay", format!("{rate:.0} entries/s"));
    drop(cortex);

    for (what, folder, bar) in
        [("open after a clean close", folder, 50), ("open after kill -9", &killed, 200)]
    {
        let (cortex, took) = timed(|| Cortex::open(folder, actor, Options::default()));
        let megabytes = cortex?.size_bytes()? >> 20;
        row(
            what,
            format!("{took:.1?}"),
            format!("{entries} entries, {megabytes} MB file"),
            format!("< {bar} ms"),
            took.as_millis() < bar,
        );
    }
    Ok(())
}

/// Bytes of journal tiles and tree pages with their keys.
fn merkle_bytes(cortex: &Cortex) -> Outcome<u64> {
    let reading = cortex.read()?;
    let mut bytes = 0;
    for prefix in [b'l', b't', b'T'] {
        reading.view().scan(&KeyRange::prefix(&[prefix]), &mut |key, value| {
            bytes += (key.len() + value.len()) as u64;
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
    }
    Ok(bytes)
}
