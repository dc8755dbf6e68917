//! Text, Markdown or a transcript put into a segment of the chronicle.

use jiff::civil::Time;
use serde_json::Value;

use super::{ChronicleError, write_atomic};
use crate::layout::Layout;
use crate::names::{Day, Segment};

/// How long a segment is if nobody says.
const SECONDS_DEFAULT: u32 = 300;
/// Files of one kind in one segment.
const FILES_MAX: u32 = 1_000;

#[derive(Clone, Debug)]
pub struct Addition {
    pub day: Day,
    pub start: Time,
    /// Without it: what the transcript says, else five minutes.
    pub seconds: Option<u32>,
    pub content: AddContent,
}

#[derive(Clone, Debug)]
pub enum AddContent {
    Text(String),
    Markdown(String),
    /// JSON lines with at least `text` each; `start` and `speaker` are used if they are there.
    Transcript(String),
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AddReport {
    pub day: Day,
    pub segment: Segment,
    pub path: std::path::PathBuf,
}

/// Adds a file; one that is there already is never written over.
pub fn add(layout: &Layout, addition: &Addition) -> Result<AddReport, ChronicleError> {
    let (stem, ending, text, told) = match &addition.content {
        AddContent::Text(text) => ("note", "txt", text, None),
        // Markdown with the name of a talent would be taken for its output.
        AddContent::Markdown(text) => ("imported_note", "md", text, None),
        AddContent::Transcript(text) => ("transcript", "jsonl", text, Some(transcript(text)?)),
    };
    if text.trim().is_empty() {
        return Err(ChronicleError::Empty("the text has no letters".into()));
    }
    let seconds = addition.seconds.or(told.flatten()).unwrap_or(SECONDS_DEFAULT);
    let segment = Segment::new(addition.start, seconds)?;
    let folder = layout.segment(addition.day, segment);
    let mut path = folder.join(format!("{stem}.{ending}"));
    for number in 2..=FILES_MAX {
        if !path.exists() {
            break;
        }
        path = folder.join(format!("{stem}_{number}.{ending}"));
    }
    if path.exists() {
        let reason = format!("the segment has {FILES_MAX} files of this kind");
        return Err(ChronicleError::Unreadable { path, reason });
    }
    let mut bytes = text.trim_end().as_bytes().to_vec();
    bytes.push(b'\n');
    write_atomic(&path, &bytes)?;
    Ok(AddReport { day: addition.day, segment, path })
}

/// Checks the lines and gives the seconds between the first time and the last, if they are times of a clock.
fn transcript(text: &str) -> Result<Option<u32>, ChronicleError> {
    let bad = |line: usize, reason: &str| ChronicleError::Unreadable {
        path: "transcript".into(),
        reason: format!("line {}: {reason}", line + 1),
    };
    let (mut spoken, mut times) = (0, Vec::new());
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let value: Value =
            serde_json::from_str(line).map_err(|error| bad(number, &error.to_string()))?;
        if !value.is_object() {
            return Err(bad(number, "is no object"));
        }
        if value["text"].as_str().is_some_and(|text| !text.trim().is_empty()) {
            spoken += 1;
        }
        if let Some(time) = value["start"].as_str().and_then(|text| text.parse::<Time>().ok()) {
            times.push(time);
        }
    }
    if spoken == 0 {
        return Err(ChronicleError::Empty("no line has a \"text\"".into()));
    }
    let (Some(first), Some(last)) = (times.iter().min(), times.iter().max()) else {
        return Ok(None);
    };
    let seconds = first.duration_until(*last).as_secs();
    Ok(u32::try_from(seconds).ok().filter(|seconds| *seconds > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addition(content: AddContent) -> Addition {
        Addition {
            day: Day::parse("20250109").unwrap(),
            start: Time::constant(12, 0, 0, 0),
            seconds: None,
            content,
        }
    }

    #[test]
    fn what_is_added_is_found_and_never_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        let first = add(&layout, &addition(AddContent::Text("One".into()))).unwrap();
        let second = add(&layout, &addition(AddContent::Text("Two".into()))).unwrap();
        assert!(first.path.ends_with("chronicle/20250109/120000_300/note.txt"));
        assert!(second.path.ends_with("note_2.txt"));
        let text =
            "{\"start\":\"12:00:00\",\"text\":\"Hi\"}\n{\"start\":\"12:01:30\",\"text\":\"Bye\"}";
        let spoken = add(&layout, &addition(AddContent::Transcript(text.into()))).unwrap();
        assert_eq!(spoken.segment.to_string(), "120000_90");
    }

    #[test]
    fn what_is_no_transcript_is_refused_with_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        let bad = |content| add(&layout, &addition(content)).unwrap_err().to_string();
        assert!(bad(AddContent::Transcript("{\"text\":\"a\"}\n7".into())).contains("line 2"));
        assert!(bad(AddContent::Transcript("{\"a\":1}".into())).contains("no line has"));
        assert!(bad(AddContent::Markdown("  ".into())).contains("nothing to add"));
        assert!(!layout.chronicle().exists(), "what is refused leaves no trace");
    }
}
