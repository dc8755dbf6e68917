//! The bars of recall: the same memories and questions in Cortex, SQLite FTS5 and tantivy, in one run.
//!
//! Ratios are of processor time per question, median: wall time on a busy machine compares the machine's other work. The
//! latency bars are wall time, because that is what a user waits for; read them on a quiet machine.

use std::path::Path;
use std::time::Duration;

use crate::Outcome;
use crate::corpus::Corpus;
use crate::cortex_recall::{self, HYBRID, INDEX, TEXT};
use crate::engine::{Answered, Built, Opened, built, folder, opened};
use crate::measure::{compared, heading, load, note, per_second, ratio, row, say};
use crate::oracle::Oracle;
use crate::question_words::{AS_ASKED, CONTENT_WORDS};

pub const CORTEX: &str = "cortex";
pub const FTS5: &str = "fts5";
pub const TANTIVY: &str = "tantivy";

/// The brute-force oracle is for corpora of at most this size: it reads every posting of every question.
const ORACLE_MAX: u64 = 20_000;
const ORACLE_QUESTIONS: u64 = 300;
/// The engines weigh titles, tags and identifiers differently and cut words differently, so their tens differ. But with the
/// same words and the same idea of rarity they cannot differ in most: below this, one of them ranks by something else.
const OVERLAP_MIN: f64 = 0.3;
const HUNDRED_THOUSAND: u64 = 100_000;
const MILLION: u64 = 1_000_000;

pub fn run(scratch: &Path, sizes: &[u64]) -> Outcome<()> {
    for memories in sizes {
        size(scratch, *memories)?;
        println!();
    }
    Ok(())
}

fn size(scratch: &Path, memories: u64) -> Outcome<()> {
    println!("recall over {memories} generated memories (load of the machine: {})", load());
    heading();
    let mut engines = Vec::new();
    for engine in [CORTEX, FTS5, TANTIVY] {
        say(format_args!("building {memories} memories in {engine}"));
        engines.push(built(scratch, engine, memories)?);
    }
    builds(&engines, memories);
    say(format_args!("opening {memories} memories in cortex after a kill"));
    let killed = opened(scratch, CORTEX, "open", memories)?;
    let mut asked = Vec::new();
    for engine in [CORTEX, FTS5, TANTIVY] {
        say(format_args!("asking {engine}"));
        asked.push(opened(scratch, engine, "ask", memories)?);
    }
    let [ours, fts5, tantivy] = asked.as_slice() else { return Err("three engines".into()) };
    opens(ours, &killed, [fts5, tantivy], memories);
    questions(ours, fts5, tantivy, memories);
    let agreed = overlaps(ours, fts5, tantivy);
    if memories <= ORACLE_MAX {
        say("comparing with exact scores");
        exact(scratch, memories)?;
    }
    for engine in [CORTEX, FTS5, TANTIVY] {
        std::fs::remove_dir_all(folder(scratch, engine, memories))?;
    }
    if !agreed {
        return Err(format!("fewer than {OVERLAP_MIN} of the ten best are shared").into());
    }
    Ok(())
}

fn builds(engines: &[Built], memories: u64) {
    let [ours, fts5, tantivy] = engines else { return };
    let rate = |built: &Built| per_second(memories as usize, built.wall);
    let per_cpu = |built: &Built| per_second(memories as usize, built.cpu);
    row(
        "bulk import with recall on",
        format!("{:.0}/s", rate(ours)),
        format!("text alone: FTS5 {:.0}/s, tantivy {:.0}/s", rate(fts5), rate(tantivy)),
        ">= 5,000/s",
        rate(ours) >= 5_000.0,
    );
    compared(
        "  for each second of CPU",
        format!("{:.0}", per_cpu(ours)),
        format!("FTS5 {:.0}, tantivy {:.0}", per_cpu(fts5), per_cpu(tantivy)),
    );
    compared(
        "  peak of resident memory",
        bytes(ours.peak),
        format!("FTS5 {}, tantivy {}", bytes(fts5.peak), bytes(tantivy.peak)),
    );
    compared(
        "index of words on disk",
        bytes(ours.extra["text"].as_u64()),
        format!("FTS5 {}, tantivy {}", bytes(Some(fts5.bytes)), bytes(Some(tantivy.bytes))),
    );
    compared(
        "  whole store: journal, trees, text, vectors",
        bytes(Some(ours.bytes)),
        format!("of it vectors and tokens {}", bytes(ours.extra["passages"].as_u64())),
    );
}

fn opens(ours: &Opened, killed: &Opened, others: [&Opened; 2], memories: u64) {
    let [fts5, tantivy] = others;
    let barred = memories <= HUNDRED_THOUSAND;
    let open = format!("{:.1?}", ours.open);
    let beside = format!("FTS5 {:.1?}, tantivy {:.1?}", fts5.open, tantivy.open);
    if barred {
        let met = ours.open < Duration::from_millis(50);
        row("open after a clean close, recall on", open, beside, "< 50 ms", met);
        let met = killed.open < Duration::from_secs(1);
        row("open after a kill, recall on", format!("{:.1?}", killed.open), "", "< 1 s", met);
    } else {
        compared("open after a clean close, recall on", open, beside);
        note("open after a kill, recall on", format!("{:.1?}", killed.open));
    }
    row(
        "open to first whole answer",
        format!("{:.1?}", ours.first),
        format!("CPU {:.1?}; FTS5 {:.1?}, tantivy {:.1?}", ours.first_cpu, fts5.first, tantivy.first),
        "< 50 ms",
        ours.first < Duration::from_millis(50),
    );
    compared(
        "resident memory after the questions",
        bytes(ours.resident),
        format!("FTS5 {}, tantivy {}", bytes(fts5.resident), bytes(tantivy.resident)),
    );
    compared(
        "  of it its own, not mapped files",
        bytes(ours.anonymous),
        format!("FTS5 {}, tantivy {}", bytes(fts5.anonymous), bytes(tantivy.anonymous)),
    );
}

fn questions(ours: &Opened, fts5: &Opened, tantivy: &Opened, memories: u64) {
    for (engine, opened, ways) in [
        (CORTEX, ours, &[INDEX, TEXT, HYBRID][..]),
        (FTS5, fts5, &[AS_ASKED, CONTENT_WORDS]),
        (TANTIVY, tantivy, &[AS_ASKED, CONTENT_WORDS]),
    ] {
        for way in ways {
            let answered = opened.answered(way);
            compared(
                &format!("{engine}, {way}: p50 / p95"),
                format!("{:.2?} / {:.2?}", answered.wall.p50(), answered.wall.p95()),
                format!(
                    "CPU {:.2?} / {:.2?}; {} questions",
                    answered.cpu.p50(),
                    answered.cpu.p95(),
                    answered.cpu.count()
                ),
            );
        }
    }
    let cpu = |opened: &Opened, way: &str| opened.answered(way).cpu.p50();
    for way in [INDEX, TEXT] {
        // FTS5 is asked as its users ask it; tantivy, which would win or lose by the stop words alone, for the same words.
        let own = cpu(ours, way);
        let [asked, content] = [AS_ASKED, CONTENT_WORDS].map(|way| ratio(cpu(fts5, way), own));
        from_100k(
            memories,
            &format!("{way} against FTS5 bm25(), CPU p50"),
            format!("{asked:.2}x faster"),
            format!("{content:.2}x if FTS5 gets no stop words"),
            ">= 50x",
            asked >= 50.0,
        );
        let [asked, content] = [AS_ASKED, CONTENT_WORDS].map(|way| ratio(cpu(tantivy, way), own));
        let what = format!("{way} against tantivy, CPU p50");
        let (measured, beside) = (
            format!("{content:.3}x faster"),
            format!("{asked:.3}x if tantivy gets the stop words"),
        );
        if way == INDEX {
            from_100k(memories, &what, measured, beside, ">= 1x", content >= 1.0);
        } else {
            // tantivy gives numbers of documents; a whole answer has texts, previews and reasons.
            compared(&what, measured, beside);
        }
    }
    let hybrid = ours.answered(HYBRID);
    if memories >= MILLION {
        let text = cpu(ours, TEXT);
        let met = text <= Duration::from_millis(3);
        row("text recall, CPU p50", format!("{text:.2?}"), "", "<= 3 ms at 1M", met);
    }
    let most = Duration::from_millis(if memories > HUNDRED_THOUSAND { 30 } else { 10 });
    row(
        "hybrid recall, p95",
        format!("{:.2?}", hybrid.wall.p95()),
        format!("CPU p95 {:.2?}", hybrid.cpu.p95()),
        format!("< {most:.0?}"),
        hybrid.wall.p95() < most,
    );
}

/// A bar that is set for 100,000 memories; below, the figure alone.
fn from_100k(memories: u64, what: &str, measured: String, beside: String, bar: &str, met: bool) {
    if memories >= HUNDRED_THOUSAND {
        row(what, measured, beside, bar, met);
    } else {
        compared(what, measured, beside);
    }
}

/// How many of the ten best two engines share, on the questions both were asked. False when it is absurdly few.
fn overlaps(ours: &Opened, fts5: &Opened, tantivy: &Opened) -> bool {
    let own = ours.answered(INDEX);
    let [fts5, tantivy] = [fts5, tantivy].map(|opened| opened.answered(CONTENT_WORDS));
    let (with_fts5, with_tantivy) = (overlap(&own, &fts5), overlap(&own, &tantivy));
    let met = with_fts5 >= OVERLAP_MIN && with_tantivy >= OVERLAP_MIN;
    row(
        "overlap@10 of the words index",
        format!("{with_fts5:.2} FTS5, {with_tantivy:.2} tantivy"),
        format!("FTS5 with tantivy {:.2}", overlap(&fts5, &tantivy)),
        format!(">= {OVERLAP_MIN}"),
        met,
    );
    met
}

fn overlap(a: &Answered, b: &Answered) -> f64 {
    let (mut shared, mut all) = (0, 0);
    for (a, b) in a.tops.iter().zip(&b.tops) {
        shared += a.iter().filter(|number| b.contains(number)).count();
        all += a.len().max(b.len());
    }
    shared as f64 / all.max(1) as f64
}

fn exact(scratch: &Path, memories: u64) -> Outcome<()> {
    let corpus = Corpus::new();
    let questions: Vec<String> =
        (0..ORACLE_QUESTIONS).map(|n| corpus.question(n, memories)).collect();
    let cortex = cortex_recall::open(&folder(scratch, CORTEX, memories))?;
    let reading = cortex.read()?;
    let oracle = Oracle::of(&reading, 1..=memories)?;
    let agreement = oracle.compare(&reading, &questions)?;
    row(
        "ten best equal exact BM25F up to rounding",
        format!("{} of {}", agreement.within_rounding, agreement.questions),
        format!(
            "same order {}; largest error {:.2} of rounding",
            agreement.same_order, agreement.worst
        ),
        "all",
        agreement.within_rounding == agreement.questions,
    );
    Ok(())
}

fn bytes(bytes: Option<u64>) -> String {
    bytes.map_or("unknown".into(), |bytes| format!("{:.1} MB", bytes as f64 / 1e6))
}
