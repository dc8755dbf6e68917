//! The record of one session, read on from where it was left, without a store.
//!
//! What must stay true: each byte is read once as long as the file only grows; a file that was replaced or cut is read
//! anew, and the reading says so; a record that is still being written waits for the next reading.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use minicbor::{Decode, Encode};

use crate::error::{Error, Result};
use crate::source_file::fingerprints;
use transcripts::bounded_lines::BoundedLines;
use transcripts::cleaner::{Cleaner, PastEvent, ReaderMemory};
use transcripts::digests::Digest32;
use transcripts::limits::WHOLE_BYTES_MAX;
use transcripts::readers::{self, SourceInput};
use transcripts::session::PastAgent;
use transcripts::surroundings::PastSurroundings;

const BUFFER_BYTES: usize = 256 << 10;

/// How far a record was read, and by what it is known again.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TranscriptPlace {
    /// Behind the last whole line.
    #[n(0)]
    offset: u64,
    #[n(1)]
    #[cbor(with = "minicbor::bytes")]
    head: Digest32,
    #[n(2)]
    #[cbor(with = "minicbor::bytes")]
    tail: Digest32,
    #[n(3)]
    version: u32,
    #[n(4)]
    memory: ReaderMemory,
}

impl TranscriptPlace {
    pub fn to_bytes(&self) -> Vec<u8> {
        minicbor::to_vec(self).unwrap_or_default()
    }

    /// Nothing if the bytes are none of [`TranscriptPlace::to_bytes`]: the record is then read anew.
    pub fn from_bytes(bytes: &[u8]) -> Option<TranscriptPlace> {
        minicbor::decode(bytes).ok()
    }

    pub fn offset(&self) -> u64 {
        self.offset
    }
}

/// What a reading gave.
#[derive(Debug)]
pub struct TranscriptReading {
    pub place: TranscriptPlace,
    pub events: Vec<PastEvent>,
    /// It began at the beginning: what was known of the record before does not count.
    pub is_anew: bool,
    /// There is more than one reading takes.
    pub has_more: bool,
}

/// Reads what a record holds behind `before`, at most about `bytes_max` bytes of it.
pub fn read_transcript(
    agent: PastAgent,
    path: &Path,
    before: Option<&TranscriptPlace>,
    now: i64,
    bytes_max: u64,
) -> Result<TranscriptReading> {
    let failed = |error| Error::file(path, error);
    let reader = readers::of(agent).ok_or_else(|| {
        Error::source(path, format!("no reader knows the records of {}", agent.name()))
    })?;
    if !reader.is_source(path) {
        return Err(Error::source(path, format!("{} keeps no session there", agent.name())));
    }
    let mut file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let before = before.filter(|before| {
        reader.grows(path) && before.version == reader.version() && before.offset <= size
    });
    let before = before.filter(|before| {
        fingerprints(&mut file, before.offset)
            .is_ok_and(|found| found == (before.head, before.tail))
    });
    let (from, memory) =
        before.map_or_else(|| (0, ReaderMemory::default()), |b| (b.offset, b.memory.clone()));
    if !reader.grows(path) && size > WHOLE_BYTES_MAX {
        return Err(Error::source(path, format!("it has more than {WHOLE_BYTES_MAX} bytes")));
    }
    let mut limit = if reader.grows(path) { bytes_max } else { u64::MAX };
    loop {
        file.seek(SeekFrom::Start(from)).map_err(failed)?;
        let part = (&file).take(limit);
        let part: Box<dyn BufRead + '_> = Box::new(BufReader::with_capacity(BUFFER_BYTES, part));
        let mut events = Vec::new();
        let mut cleaner = Cleaner::new(&mut events, memory.clone(), now);
        let mut input = SourceInput { path, lines: BoundedLines::new(part, from) };
        reader.read(&mut input, &mut cleaner)?;
        let offset = if reader.grows(path) { input.lines.offset() } else { size };
        drop(input);
        let memory = cleaner.memory;
        let has_more = reader.grows(path) && limit < size - from;
        if has_more && offset == from {
            // One line is longer than a reading: it is read past, as `BoundedLines` does.
            limit = u64::MAX;
            continue;
        }
        let (head, tail) = fingerprints(&mut file, offset).map_err(failed)?;
        let place = TranscriptPlace { offset, head, tail, version: reader.version(), memory };
        return Ok(TranscriptReading { place, events, is_anew: before.is_none(), has_more });
    }
}

/// The agent in whose folders a file lies, if it is one of its transcripts.
pub fn agent_of(path: &Path, surroundings: &PastSurroundings) -> Option<PastAgent> {
    let lies_below = |root: &PathBuf| path.starts_with(root);
    readers::all()
        .into_iter()
        .find(|reader| reader.is_source(path) && reader.roots(surroundings).iter().any(lies_below))
        .map(readers::PastReader::agent)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use transcripts::session::ItemBody;

    fn line(n: usize, role: &str, text: &str) -> String {
        format!(
            "{{\"type\":\"{role}\",\"uuid\":\"u{n}\",\"sessionId\":\"s\",\"cwd\":\"/p\",\
             \"timestamp\":\"2026-03-04T10:00:00.000Z\",\"message\":{{\"role\":\"{role}\",\
             \"content\":\"{text}\"}}}}\n"
        )
    }

    fn prompts(reading: &TranscriptReading) -> Vec<String> {
        let text = |event: &PastEvent| match event {
            PastEvent::Item(item) => match &item.body {
                ItemBody::Prompt { text, .. } => Some(text.clone()),
                _ => None,
            },
            _ => None,
        };
        reading.events.iter().filter_map(text).collect()
    }

    // S14: torn lines wait, each byte is read once, rotated files are read anew, a large file is read in parts.
    #[test]
    fn a_record_is_read_on_from_where_it_was_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let read = |before: Option<&TranscriptPlace>, max| {
            read_transcript(PastAgent::ClaudeCode, &path, before, i64::MAX, max).unwrap()
        };
        let (one, two) = (line(1, "user", "first"), line(2, "user", "second"));
        std::fs::write(&path, format!("{one}{}", &two[..40])).unwrap();
        let first = read(None, u64::MAX);
        assert_eq!((prompts(&first), first.is_anew), (vec!["first".to_owned()], true));
        std::fs::write(&path, format!("{one}{two}")).unwrap();
        let place = TranscriptPlace::from_bytes(&first.place.to_bytes()).unwrap();
        let second = read(Some(&place), u64::MAX);
        assert_eq!((prompts(&second), second.is_anew), (vec!["second".to_owned()], false));
        assert!(read(Some(&second.place), u64::MAX).events.is_empty());
        // Another file under the same name.
        std::fs::write(&path, line(3, "user", "another beginning, and longer than before"))
            .unwrap();
        assert!(read(Some(&second.place), u64::MAX).is_anew);
        let mut long = String::new();
        for n in 0..200 {
            write!(long, "{}", line(n, "user", &format!("prompt {n}"))).unwrap();
        }
        std::fs::write(&path, &long).unwrap();
        let (mut found, mut place, mut rounds) = (Vec::new(), None, 0);
        loop {
            let reading = read(place.as_ref(), 1_000);
            found.extend(prompts(&reading));
            let more = reading.has_more;
            place = Some(reading.place);
            rounds += 1;
            if !more {
                break;
            }
        }
        assert_eq!(found.len(), 200);
        assert!(rounds > 10, "{rounds}");
        // A line that is longer than a reading does not stop it.
        std::fs::write(&path, line(1, "user", &"x".repeat(9_000))).unwrap();
        assert_eq!(read(None, 100).place.offset(), std::fs::metadata(&path).unwrap().len());
        std::fs::remove_file(&path).unwrap();
        assert!(read_transcript(PastAgent::ClaudeCode, &path, None, 0, 9).is_err());
    }
}
