//! Sources of days: whatever else keeps a record of what somebody did, such as the sessions of coding agents, puts it
//! into the chronicle as segments.
//!
//! What must stay true: only what is closed is put there, so that a segment's name and content stay; taking in twice
//! changes nothing; what a source no longer has is gone from the chronicle too, with what was written about it, because
//! somebody wanted it forgotten. Files that others put into the same segment stay.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::json;

use super::segments::names;
use super::{ChronicleError, days, read_facet, segments, write_atomic};
use crate::layout::Layout;
use crate::names::{Day, Facet, Segment};

/// Letters of one line; the rest is left out, and said to be.
const LINE_CHARS: usize = 8_000;
/// Bytes of one file; the lines that have no room are counted in its last one.
const FILE_BYTES_MAX: usize = 1024 * 1024;

/// Something that was said or done.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SegmentLine {
    /// HH:MM:SS in the user's zone.
    pub at: String,
    pub speaker: String,
    pub text: String,
}

/// A stretch of a day that is over, as a source tells it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourceSegment {
    pub day: Day,
    pub segment: Segment,
    /// Which of the source's records: letters, digits, `-` and `_`.
    pub name: String,
    /// What it is about, if that is the name of a facet.
    pub project: Option<String>,
    pub title: Option<String>,
    pub lines: Vec<SegmentLine>,
}

/// Keeps a record of days.
pub trait DaySource: Send + Sync {
    /// The beginning of its files: letters and digits.
    fn name(&self) -> &'static str;

    /// Every closed stretch from a day on, whether or not it was asked for before.
    fn segments(&self, since: Day) -> Result<Vec<SourceSegment>, String>;
}

/// What taking in changed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TakenIn {
    pub written: usize,
    pub removed: usize,
}

/// Puts what a source has from a day on into the chronicle, and takes out what it has no longer.
pub fn take_in(
    layout: &Layout,
    source: &dyn DaySource,
    since: Day,
) -> Result<TakenIn, ChronicleError> {
    let unread = |reason: String| ChronicleError::Unreadable { path: source.name().into(), reason };
    let found = source.segments(since).map_err(unread)?;
    let mut done = TakenIn::default();
    let mut there: BTreeMap<(Day, Segment), BTreeSet<String>> = BTreeMap::new();
    for one in &found {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if one.day < since || one.name.is_empty() || !one.name.chars().all(plain) {
            continue;
        }
        let file = format!("{}_{}.jsonl", source.name(), one.name);
        let folder = layout.segment(one.day, one.segment);
        let text = text(one);
        let path = folder.join(&file);
        there.entry((one.day, one.segment)).or_default().insert(file);
        if fs::read(&path).is_ok_and(|before| before == text.as_bytes()) {
            continue;
        }
        write_atomic(&path, text.as_bytes())?;
        done.written += 1;
        name_facet(layout, one)?;
    }
    for day in days(layout)?.into_iter().filter(|day| *day >= since) {
        for segment in segments(layout, day)? {
            let kept = there.get(&(day, segment));
            done.removed += take_out(layout, source, day, segment, kept)?;
        }
    }
    Ok(done)
}

fn text(one: &SourceSegment) -> String {
    let (mut out, mut left_out) = (String::new(), 0_usize);
    if let Some(title) = &one.title {
        out.push_str(&json!({"title": title}).to_string());
        out.push('\n');
    }
    for line in &one.lines {
        let mut words = line.text.clone();
        if let Some((end, _)) = words.char_indices().nth(LINE_CHARS) {
            words.truncate(end);
            words.push_str(" … (cut)");
        }
        let row = json!({"start": line.at, "speaker": line.speaker, "text": words}).to_string();
        if out.len() + row.len() > FILE_BYTES_MAX {
            left_out += 1;
            continue;
        }
        out.push_str(&row);
        out.push('\n');
    }
    if left_out > 0 {
        let told = format!("({left_out} more lines had no room)");
        out.push_str(&json!({"text": told}).to_string());
        out.push('\n');
    }
    out
}

/// A segment about a project that is a facet is about that facet; what a talent or another source said stays.
fn name_facet(layout: &Layout, one: &SourceSegment) -> Result<(), ChronicleError> {
    let path = layout.segment(one.day, one.segment).join("facets.json");
    let Some(Ok(facet)) = one.project.as_deref().map(Facet::parse) else { return Ok(()) };
    if path.exists() || read_facet(layout, &facet).is_err() {
        return Ok(());
    }
    let activity = one.title.clone().unwrap_or_else(|| "Session with an agent".to_owned());
    let about = json!([{"facet": facet.as_str(), "activity": activity, "level": "high"}]);
    write_atomic(&path, format!("{about:#}\n").as_bytes())
}

fn ending(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, ending)| ending)
}

/// Removes what a source has no longer; a segment that then holds no record goes with all that was written about it.
fn take_out(
    layout: &Layout,
    source: &dyn DaySource,
    day: Day,
    segment: Segment,
    kept: Option<&BTreeSet<String>>,
) -> Result<usize, ChronicleError> {
    let folder = layout.segment(day, segment);
    let prefix = format!("{}_", source.name());
    let mut removed = 0;
    for (name, is_dir) in names(&folder)? {
        let own = !is_dir && name.starts_with(&prefix) && ending(&name) == "jsonl";
        if own && !kept.is_some_and(|kept| kept.contains(&name)) {
            fs::remove_file(folder.join(&name)).map_err(ChronicleError::io(folder.join(&name)))?;
            removed += 1;
        }
    }
    let is_record =
        |name: &str| matches!(ending(name), "jsonl" | "txt") || name.starts_with("imported_");
    if removed > 0 && !names(&folder)?.iter().any(|(name, is_dir)| !is_dir && is_record(name)) {
        fs::remove_dir_all(&folder).map_err(ChronicleError::io(&folder))?;
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    struct Sessions(Mutex<Vec<SourceSegment>>);

    impl DaySource for Sessions {
        fn name(&self) -> &'static str {
            "past"
        }

        fn segments(&self, _: Day) -> Result<Vec<SourceSegment>, String> {
            Ok(self.0.lock().unwrap().clone())
        }
    }

    fn session(name: &str, text: &str) -> SourceSegment {
        SourceSegment {
            day: Day::parse("20260109").unwrap(),
            segment: Segment::parse("120000_300").unwrap(),
            name: name.to_owned(),
            project: Some("work".to_owned()),
            title: Some("Release".to_owned()),
            lines: vec![SegmentLine {
                at: "12:00:05".into(),
                speaker: "user".into(),
                text: text.into(),
            }],
        }
    }

    // T14, T16
    #[test]
    fn what_a_source_has_is_taken_in_once_and_what_it_forgot_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        fs::create_dir_all(layout.facets().join("work")).unwrap();
        fs::write(layout.facets().join("work/facet.json"), "{}").unwrap();
        let source = Sessions(Mutex::new(vec![session("a", "Move it"), session("b", "secret")]));
        let since = Day::parse("20260101").unwrap();
        let take = || take_in(&layout, &source, since).unwrap();
        assert_eq!(take(), TakenIn { written: 2, removed: 0 });
        assert_eq!(take(), TakenIn::default());
        let folder =
            layout.segment(Day::parse("20260109").unwrap(), Segment::parse("120000_300").unwrap());
        assert!(fs::read_to_string(folder.join("facets.json")).unwrap().contains("\"work\""));
        fs::write(folder.join("activity.md"), "About secret things").unwrap();
        source.0.lock().unwrap().pop();
        assert_eq!(take(), TakenIn { written: 0, removed: 1 });
        assert!(folder.join("past_a.jsonl").exists() && !folder.join("past_b.jsonl").exists());
        source.0.lock().unwrap().pop();
        assert_eq!(take(), TakenIn { written: 0, removed: 1 });
        assert!(!folder.exists(), "nothing about it is left");
        // Before the day that it begins with nothing is touched.
        source.0.lock().unwrap().push(session("a", "Move it"));
        assert_eq!(
            take_in(&layout, &source, Day::parse("20270101").unwrap()).unwrap(),
            TakenIn::default()
        );
    }
}
