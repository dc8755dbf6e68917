//! Opens a source where reading stopped before, if it is still the same source.
//!
//! What must stay true: a file is read on only if it grew and both its beginning and the bytes before the old place are
//! what they were; everything else is read anew, and turns are matched by their prompts.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use crate::catalog::SourceRow;
use crate::error::{Error, Result};
use crate::limits::FINGERPRINT_BYTES;
use crate::sweep::SourcePlan;
use transcripts::bounded_lines::BoundedLines;
use transcripts::cleaner::{Cleaner, EventSink, ReaderMemory};
use transcripts::counts::ReadCounts;
use transcripts::digests::{self, Digest32};
use transcripts::limits::WHOLE_BYTES_MAX;
use transcripts::readers::{SourceInput, has_ending};

const BUFFER_BYTES: usize = 256 << 10;

/// Where a reading begins.
#[derive(Debug)]
pub(crate) enum SourceStart {
    Anew,
    On(Box<SourceRow>),
}

/// What a reading of one source came to.
#[derive(Debug)]
pub(crate) struct SourceEnd {
    pub(crate) offset: u64,
    pub(crate) head: Digest32,
    pub(crate) tail: Digest32,
    pub(crate) memory: ReaderMemory,
    pub(crate) counts: ReadCounts,
    /// It was read from its beginning.
    pub(crate) is_anew: bool,
}

pub(crate) fn start(plan: &SourcePlan) -> SourceStart {
    let Some(before) = &plan.before else { return SourceStart::Anew };
    let may_grow = plan.reader.grows(&plan.path)
        && !has_ending(&plan.path, ".zst")
        && before.version == plan.reader.version()
        && plan.stamp.size >= before.offset
        && before.offset > 0;
    let is_same = may_grow
        && File::open(&plan.path)
            .and_then(|mut file| fingerprints(&mut file, before.offset))
            .is_ok_and(|found| found == (before.head, before.tail));
    if is_same { SourceStart::On(Box::new(before.clone())) } else { SourceStart::Anew }
}

/// Digests of the first bytes before `offset`, and of the last.
pub(crate) fn fingerprints(file: &mut File, offset: u64) -> std::io::Result<(Digest32, Digest32)> {
    let length = offset.min(FINGERPRINT_BYTES);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    file.seek(SeekFrom::Start(0))?;
    file.read_exact(&mut bytes)?;
    let head = digests::of_bytes(&bytes);
    file.seek(SeekFrom::Start(offset - length))?;
    file.read_exact(&mut bytes)?;
    Ok((head, digests::of_bytes(&bytes)))
}

/// Reads a source from its start and hands what it holds to `sink`.
pub(crate) fn read(
    plan: &SourcePlan,
    start: &SourceStart,
    now: i64,
    sink: &mut dyn EventSink,
) -> Result<SourceEnd> {
    let failed = |error| Error::file(&plan.path, error);
    let (offset, memory) = match start {
        SourceStart::Anew => {
            (0, ReaderMemory { marks: known_marks(plan), ..ReaderMemory::default() })
        }
        SourceStart::On(row) => (row.offset, row.memory.clone()),
    };
    if !plan.reader.grows(&plan.path) && plan.stamp.size > WHOLE_BYTES_MAX && !is_database(plan) {
        return Err(Error::source(&plan.path, format!("it has more than {WHOLE_BYTES_MAX} bytes")));
    }
    let mut file = File::open(&plan.path).map_err(failed)?;
    file.seek(SeekFrom::Start(offset)).map_err(failed)?;
    let is_packed = has_ending(&plan.path, ".zst");
    let input: Box<dyn BufRead> = if is_packed {
        let unpacked = zstd::Decoder::new(file).map_err(failed)?;
        Box::new(BufReader::with_capacity(BUFFER_BYTES, unpacked))
    } else {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, file))
    };
    let mut cleaner = Cleaner::new(sink, memory, now);
    let mut input = SourceInput { path: &plan.path, lines: BoundedLines::new(input, offset) };
    plan.reader.read(&mut input, &mut cleaner)?;
    let offset = input.lines.offset();
    let (memory, mut counts) = (cleaner.memory, cleaner.counts);
    let read = match start {
        SourceStart::Anew if !plan.reader.grows(&plan.path) => plan.stamp.size,
        SourceStart::Anew => offset,
        SourceStart::On(row) => offset - row.offset,
    };
    let is_anew = matches!(start, SourceStart::Anew);
    counts.end_of_source(read, is_anew, 0);
    let mut file = File::open(&plan.path).map_err(failed)?;
    let reached = if is_packed { plan.stamp.size } else { offset };
    let (head, tail) = fingerprints(&mut file, reached).map_err(failed)?;
    Ok(SourceEnd { offset, head, tail, memory, counts, is_anew })
}

/// What a source with many sessions was known by, if the same reader saw it.
fn known_marks(plan: &SourcePlan) -> BTreeMap<String, String> {
    let before = plan.before.as_ref().filter(|row| row.version == plan.reader.version());
    before.map(|row| row.memory.marks.clone()).unwrap_or_default()
}

fn is_database(plan: &SourcePlan) -> bool {
    has_ending(&plan.path, ".db") || has_ending(&plan.path, ".vscdb")
}
