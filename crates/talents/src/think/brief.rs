//! The brief of a day by rules: what was recorded when, and what was asked. For homes without a provider, and for days
//! whose provider cannot be reached now; a model that can be asked writes its own in its place.
//!
//! What must stay true: nothing is said that is not in the record; the brief has a bound, and says what it leaves out.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use super::ThinkError;
use super::done::{self, UnitDone, WorkDone};
use crate::chronicle::{
    ChronicleEntryKind, entries, output_path, segment_facets, segments, write_atomic,
};
use crate::layout::Layout;
use crate::names::{Day, Segment, TalentName};
use crate::talent_files::{OutputFormat, TalentCatalog};

/// The talent in whose place this stands.
const TALENT: &str = "daily_brief";
const SEGMENTS_MAX: usize = 60;
/// Lines that are shown of one record.
const LINES_MAX: usize = 8;
/// Of these, the last ones: where it ended.
const LAST: usize = 3;
const LINE_CHARS: usize = 160;
const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Writes the brief of a day by rules, unless a model has written one. Gives whether anything was written.
pub fn brief_by_rules(
    layout: &Layout,
    catalog: &TalentCatalog,
    day: Day,
) -> Result<bool, ThinkError> {
    let Ok(talent) = TalentName::parse(TALENT) else { return Ok(false) };
    let path = output_path(layout, day, None, None, &talent, OutputFormat::Md);
    let key = done::key(None, None, &talent);
    let by_rules = WorkDone::read(layout, day).get(&key).is_some_and(|unit| unit.by_rules);
    let is_written = path.metadata().is_ok_and(|meta| meta.len() > 0);
    if is_written && !by_rules {
        return Ok(false);
    }
    let there = segments(layout, day)?;
    if there.is_empty() {
        return Ok(false);
    }
    let text = text(layout, catalog, day, &there)?;
    if is_written && fs::read_to_string(&path).is_ok_and(|before| before == text) {
        return Ok(false);
    }
    // Marked first: a brief whose mark is missing would be taken for a model's.
    let unit = UnitDone { by_rules: true, ..UnitDone::default() };
    WorkDone::put(layout, day, key, unit)?;
    write_atomic(&path, text.as_bytes())?;
    Ok(true)
}

fn text(
    layout: &Layout,
    catalog: &TalentCatalog,
    day: Day,
    there: &[Segment],
) -> Result<String, ThinkError> {
    let minutes = there.iter().map(|segment| segment.seconds()).sum::<u32>() / 60;
    let mut out = format!("# {}\n\n", day.date().strftime("%A, %-d %B %Y"));
    let count = there.len();
    let plural = if count == 1 { "segment" } else { "segments" };
    // Writing into a String cannot fail.
    let _ = writeln!(
        out,
        "{count} {plural}, about {minutes} minutes. Written by rules: no model was asked.\n"
    );
    out.push_str("## What was recorded\n");
    let is_talent = |name: &TalentName| catalog.all().any(|talent| talent.name == *name);
    for segment in there.iter().take(SEGMENTS_MAX) {
        let (facets, _) = segment_facets(layout, day, *segment);
        let facets: Vec<String> = facets.into_iter().map(|activity| activity.facet).collect();
        let (from, to) = (segment.start().strftime("%H:%M"), segment.end().strftime("%H:%M"));
        let about =
            if facets.is_empty() { String::new() } else { format!(" ({})", facets.join(", ")) };
        let _ = writeln!(out, "\n### {from} to {to}{about}\n");
        for entry in entries(layout, day, Some(*segment), &is_talent)? {
            if entry.kind != ChronicleEntryKind::Transcript {
                continue;
            }
            let name = entry.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Some(text) = read(&entry.path) else {
                let _ = writeln!(out, "- {name}: could not be read");
                continue;
            };
            let (lines, said) =
                telling_lines(&text, entry.path.extension().is_some_and(|e| e == "jsonl"));
            for line in &said {
                let _ = writeln!(out, "- {line}");
            }
            if lines > said.len() {
                let _ = writeln!(out, "- … and {} more in {name}", lines - said.len());
            }
        }
    }
    if count > SEGMENTS_MAX {
        let _ = writeln!(out, "\n{} more segments are left out here.", count - SEGMENTS_MAX);
    }
    Ok(out)
}

fn read(path: &std::path::Path) -> Option<String> {
    if fs::metadata(path).ok()?.len() > FILE_BYTES_MAX {
        return None;
    }
    fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// How many lines say something, and those that tell most, in their order: what people said first, and where it ended.
fn telling_lines(text: &str, is_transcript: bool) -> (usize, Vec<String>) {
    let mut said: Vec<(bool, String)> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if !is_transcript {
            said.push((true, line.trim().to_owned()));
            continue;
        }
        let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
        let Some(words) = value["text"].as_str().filter(|words| !words.trim().is_empty()) else {
            continue;
        };
        let speaker = value["speaker"].as_str().unwrap_or_default();
        let shown =
            if speaker.is_empty() { words.to_owned() } else { format!("{speaker}: {words}") };
        said.push((!matches!(speaker, "assistant" | "agent" | "tool"), shown));
    }
    let count = said.len();
    let mut chosen: BTreeSet<usize> = (count.saturating_sub(LAST)..count).collect();
    for people in [true, false] {
        for (at, _) in said.iter().enumerate().filter(|(_, (by_people, _))| *by_people == people) {
            if chosen.len() < LINES_MAX {
                chosen.insert(at);
            }
        }
    }
    (count, chosen.into_iter().map(|at| shown(&said[at].1)).collect())
}

/// A line that cannot pose as a heading or a list of its own.
fn shown(line: &str) -> String {
    let line: String = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.trim_start_matches(['#', '-', '*', '>', '`']).trim_start().to_owned();
    match line.char_indices().nth(LINE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_record_it_says_what_was_asked_and_where_it_ended() {
        // T14: a reader wants the outcome, and questions beside their answers
        let line = |n: usize| {
            let speaker = if n.is_multiple_of(2) { "user" } else { "assistant" };
            format!("{{\"speaker\":\"{speaker}\",\"text\":\"line {n}\"}}\n")
        };
        let (count, said) = telling_lines(&(0..4).map(line).collect::<String>(), true);
        assert_eq!((count, said.len()), (4, 4));
        assert_eq!(said[..2], ["user: line 0".to_owned(), "assistant: line 1".to_owned()]);
        let (count, said) = telling_lines(&(0..40).map(line).collect::<String>(), true);
        assert_eq!((count, said.len()), (40, LINES_MAX));
        assert_eq!(said[0], "user: line 0");
        assert_eq!(said[LINES_MAX - 1], "assistant: line 39");
    }

    #[test]
    fn a_brief_by_rules_says_what_is_there_and_makes_room_for_a_model() {
        // T14: no provider, and still a brief
        let dir = tempfile::tempdir().expect("a folder");
        let layout = Layout::new(dir.path());
        let (catalog, day) = (TalentCatalog::built_in(), Day::parse("20260109").expect("a day"));
        assert!(!brief_by_rules(&layout, &catalog, day).expect("nothing"));
        let folder = layout.segment(day, Segment::parse("120000_300").expect("a segment"));
        fs::create_dir_all(&folder).expect("made");
        let line = |speaker: &str, text: &str| {
            format!("{{\"speaker\":\"{speaker}\",\"text\":\"{text}\"}}\n")
        };
        let talk = line("assistant", "Done.") + &line("user", "# Move the release to May");
        fs::write(folder.join("past_claude.jsonl"), talk).expect("written");
        assert!(brief_by_rules(&layout, &catalog, day).expect("written"));
        let path = layout.day(day).join("talents/daily_brief.md");
        let text = fs::read_to_string(&path).expect("a brief");
        assert!(
            text.starts_with("# Friday, 9 January 2026\n\n1 segment, about 5 minutes."),
            "{text}"
        );
        assert!(
            text.contains("### 12:00 to 12:05\n\n- assistant: Done.\n- user: # Move the release"),
            "{text}"
        );
        assert!(!brief_by_rules(&layout, &catalog, day).expect("the same"));
        // What a model wrote stays.
        let key = done::key(None, None, &TalentName::parse(TALENT).expect("a name"));
        WorkDone::put(&layout, day, key, UnitDone::default()).expect("put");
        fs::write(&path, "A model's.").expect("written");
        assert!(!brief_by_rules(&layout, &catalog, day).expect("kept"));
    }
}
