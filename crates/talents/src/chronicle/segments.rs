//! The segments of a day and the files in them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use jiff::civil::Time;

use super::ChronicleError;
use crate::digests::TextDigest;
use crate::layout::Layout;
use crate::names::{Day, Facet, Segment, TalentName};

/// What a file of a segment or day is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ChronicleEntryKind {
    Transcript,
    /// What was seen on a screen.
    Percept,
    /// What a talent wrote, perhaps for one facet.
    Output {
        talent: TalentName,
        facet: Option<Facet>,
    },
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ChronicleEntry {
    pub kind: ChronicleEntryKind,
    pub path: PathBuf,
}

/// The days that have a folder, in order.
pub fn days(layout: &Layout) -> Result<Vec<Day>, ChronicleError> {
    let mut days: Vec<Day> = names(&layout.chronicle())?
        .into_iter()
        .filter_map(|(name, is_dir)| is_dir.then(|| Day::parse(&name).ok()).flatten())
        .collect();
    days.sort_unstable();
    Ok(days)
}

/// The segments of a day, in order; a day without a folder has none.
pub fn segments(layout: &Layout, day: Day) -> Result<Vec<Segment>, ChronicleError> {
    let mut segments: Vec<Segment> = names(&layout.day(day))?
        .into_iter()
        .filter_map(|(name, is_dir)| is_dir.then(|| Segment::parse(&name).ok()).flatten())
        .collect();
    segments.sort_unstable();
    Ok(segments)
}

/// The files of a segment, or those that were written about a whole day. Transcripts and outputs stand in one
/// folder: Markdown with the name of a talent is an output, any other is a transcript.
pub fn entries(
    layout: &Layout,
    day: Day,
    segment: Option<Segment>,
    is_talent: &dyn Fn(&TalentName) -> bool,
) -> Result<Vec<ChronicleEntry>, ChronicleError> {
    let folder = match segment {
        Some(segment) => layout.segment(day, segment),
        None => layout.day(day).join("talents"),
    };
    let mut found = Vec::new();
    for (name, is_dir) in names(&folder)? {
        let path = folder.join(&name);
        if is_dir {
            if let Ok(facet) = Facet::parse(&name) {
                for (inner, is_dir) in names(&path)? {
                    if !is_dir && let Some(talent) = output_of(&inner) {
                        let kind =
                            ChronicleEntryKind::Output { talent, facet: Some(facet.clone()) };
                        found.push(ChronicleEntry { kind, path: path.join(inner) });
                    }
                }
            }
        } else if let Some(kind) = kind_of(&name, segment.is_some(), is_talent) {
            found.push(ChronicleEntry { kind, path });
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// What talents wrote about several segments of a day at once.
pub fn span_outputs(layout: &Layout, day: Day) -> Result<Vec<ChronicleEntry>, ChronicleError> {
    let mut found = Vec::new();
    let spans = layout.spans(day);
    for (span, is_dir) in names(&spans)? {
        let folder = spans.join(span);
        for (name, inner_is_dir) in if is_dir { names(&folder)? } else { Vec::new() } {
            if let (false, Some(talent)) = (inner_is_dir, output_of(&name)) {
                let kind = ChronicleEntryKind::Output { talent, facet: None };
                found.push(ChronicleEntry { kind, path: folder.join(name) });
            } else if let (true, Ok(facet)) = (inner_is_dir, Facet::parse(&name)) {
                for (inner, is_dir) in names(&folder.join(&name))? {
                    if !is_dir && let Some(talent) = output_of(&inner) {
                        let kind =
                            ChronicleEntryKind::Output { talent, facet: Some(facet.clone()) };
                        found.push(ChronicleEntry { kind, path: folder.join(&name).join(inner) });
                    }
                }
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Changes when a source of the day comes, goes or changes; what talents write changes nothing. Segments that end after
/// `until` are not closed and do not count.
pub fn sources_print(
    layout: &Layout,
    day: Day,
    until: Option<Time>,
    is_talent: &dyn Fn(&TalentName) -> bool,
) -> Result<String, ChronicleError> {
    let mut digest = TextDigest::default();
    for segment in segments(layout, day)? {
        if until.is_some_and(|until| segment.end() > until) {
            continue;
        }
        for entry in entries(layout, day, Some(segment), is_talent)? {
            if matches!(entry.kind, ChronicleEntryKind::Output { .. }) {
                continue;
            }
            // A file that is gone meanwhile is as good as one that never was.
            let Ok(meta) = fs::metadata(&entry.path) else { continue };
            let at = meta.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
            let at = at.map_or(0, |at| at.as_nanos());
            digest.add(&format!("{}\n{}\n{at}", entry.path.display(), meta.len()));
        }
    }
    Ok(digest.hex(16))
}

fn kind_of(
    name: &str,
    in_segment: bool,
    is_talent: &dyn Fn(&TalentName) -> bool,
) -> Option<ChronicleEntryKind> {
    let (stem, ending) = name.rsplit_once('.')?;
    let output = output_of(name).map(|talent| ChronicleEntryKind::Output { talent, facet: None });
    if !in_segment || ending == "json" {
        return output;
    }
    match ending {
        // What was noted about the segment's own processing.
        "jsonl" if stem == "events" => None,
        "jsonl" | "txt" if stem == "screen" || stem.ends_with("_screen") => {
            Some(ChronicleEntryKind::Percept)
        }
        "jsonl" | "txt" => Some(ChronicleEntryKind::Transcript),
        "md" => match output {
            Some(ChronicleEntryKind::Output { ref talent, .. }) if is_talent(talent) => output,
            _ => Some(ChronicleEntryKind::Transcript),
        },
        _ => None,
    }
}

fn output_of(name: &str) -> Option<TalentName> {
    let (stem, ending) = name.rsplit_once('.')?;
    matches!(ending, "md" | "json").then(|| TalentName::parse(stem).ok()).flatten()
}

/// Names in a folder with whether each is a folder itself; a folder that is not there is empty. Names that begin
/// with a dot are files on their way.
pub(super) fn names(folder: &Path) -> Result<Vec<(String, bool)>, ChronicleError> {
    let read = match fs::read_dir(folder) {
        Ok(read) => read,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(ChronicleError::io(folder)(error)),
    };
    let mut names = Vec::new();
    for entry in read {
        let entry = entry.map_err(ChronicleError::io(folder))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            names.push((name, entry.path().is_dir()));
        }
    }
    names.sort();
    Ok(names)
}
