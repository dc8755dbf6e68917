//! Sources as one text: a heading for each segment, a smaller one for each file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::segments::{ChronicleEntry, ChronicleEntryKind};
use super::{ChronicleError, entries, segment_facets, segments};
use crate::layout::Layout;
use crate::names::{Day, Facet, Segment, TalentName};
use crate::talent_files::{Load, TalentCatalog, Want};

/// What one run may be given to read.
const TEXT_BYTES_MAX: usize = 2 * 1024 * 1024;
const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// With fewer sources than this the reader is told that there is not much.
const FEW: usize = 3;

/// Which part of a day.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RenderScope {
    Day,
    Segment(Segment),
    Span(Vec<Segment>),
}

#[derive(Clone, Debug, Default)]
pub struct Rendering {
    pub text: String,
    /// Without headings and notes.
    pub content_bytes: usize,
    pub files: Vec<PathBuf>,
    pub segments: Vec<Segment>,
    /// A source that the talent cannot do without and that is not there.
    pub missing: Option<String>,
    /// What could not be read or had no room.
    pub problems: Vec<String>,
}

impl Rendering {
    /// One line about how much there is.
    pub fn summary(&self) -> String {
        let minutes: u32 = self.segments.iter().map(|segment| segment.seconds()).sum::<u32>() / 60;
        match self.segments.len() {
            0 => "no segments".to_owned(),
            1 => format!("1 segment, {minutes} minutes"),
            count if minutes < 120 => format!("{count} segments, {minutes} minutes"),
            count => format!("{count} segments, {} hours", minutes / 60),
        }
    }
}

pub fn render(
    layout: &Layout,
    day: Day,
    scope: &RenderScope,
    facet: Option<&Facet>,
    load: &Load,
    catalog: &TalentCatalog,
    own: &TalentName,
) -> Result<Rendering, ChronicleError> {
    let there = segments(layout, day)?;
    let wanted: Vec<Segment> = match scope {
        RenderScope::Day => there.clone(),
        RenderScope::Segment(segment) => vec![*segment],
        RenderScope::Span(span) => span.clone(),
    };
    if let Some(missing) = wanted.iter().find(|segment| !there.contains(segment)) {
        return Err(ChronicleError::NoSegment {
            day: day.to_string(),
            segment: missing.to_string(),
        });
    }
    let is_talent = |name: &TalentName| catalog.all().any(|talent| talent.name == *name);
    // A run for one facet reads what is about it: what nobody has said to be about it is not.
    let is_about = |segment: &Segment| match facet {
        None => true,
        Some(facet) => {
            let (about, _) = segment_facets(layout, day, *segment);
            about.iter().any(|activity| activity.facet == facet.as_str())
        }
    };
    let wanted: Vec<Segment> = wanted.into_iter().filter(is_about).collect();
    let (out, found) = (Rendering::default(), BTreeMap::new());
    let mut page = Page { facet, load, own, in_segment: true, out, found };
    for segment in wanted {
        let files = entries(layout, day, Some(segment), &is_talent)?;
        let heading = format!(
            "## {} to {} ({segment})",
            segment.start().strftime("%H:%M:%S"),
            segment.end().strftime("%H:%M:%S")
        );
        page.out.segments.push(segment);
        page.put(&heading, &files);
    }
    if *scope == RenderScope::Day {
        page.in_segment = false;
        let files = entries(layout, day, None, &is_talent)?;
        page.put("## Written about the whole day", &files);
    }
    Ok(page.end())
}

struct Page<'a> {
    facet: Option<&'a Facet>,
    load: &'a Load,
    own: &'a TalentName,
    /// What is put down is of a segment, not of the day.
    in_segment: bool,
    out: Rendering,
    /// By source: how many files.
    found: BTreeMap<String, usize>,
}

impl Page<'_> {
    fn wants(&self, kind: &ChronicleEntryKind) -> Option<String> {
        let load = self.load;
        match kind {
            ChronicleEntryKind::Transcript => {
                (load.transcripts != Want::No).then(|| "transcripts".to_owned())
            }
            ChronicleEntryKind::Percept => {
                (load.percepts != Want::No).then(|| "percepts".to_owned())
            }
            ChronicleEntryKind::Output { talent, facet } => {
                // What was written about a whole day is about all facets, and so for no run that is for one.
                let mine = facet.as_ref() == self.facet || (facet.is_none() && self.in_segment);
                let listed = load.only_talents.is_empty()
                    || load.only_talents.get(talent.as_str()).is_some_and(|want| *want != Want::No);
                (load.talents != Want::No && mine && listed && talent != self.own)
                    .then(|| talent.to_string())
            }
        }
    }

    fn put(&mut self, heading: &str, files: &[ChronicleEntry]) {
        let mut heading = Some(heading);
        for entry in files {
            let Some(source) = self.wants(&entry.kind) else { continue };
            let text = match read(&entry.path) {
                Ok(text) => text,
                Err(reason) => {
                    self.out.problems.push(format!("{}: {reason}", entry.path.display()));
                    continue;
                }
            };
            let text = text.trim();
            if text.is_empty() {
                continue;
            }
            *self.found.entry(source).or_default() += 1;
            if self.out.text.len() + text.len() > TEXT_BYTES_MAX {
                let name = entry.path.display();
                self.out
                    .problems
                    .push(format!("{name}: left out, because {TEXT_BYTES_MAX} bytes are full"));
                continue;
            }
            if let Some(heading) = heading.take() {
                self.line(heading);
            }
            let title = match &entry.kind {
                ChronicleEntryKind::Output { talent, facet: Some(facet) } => {
                    format!("### {talent} (facet {facet})")
                }
                ChronicleEntryKind::Output { talent, facet: None } => format!("### {talent}"),
                _ => {
                    format!("### {}", entry.path.file_name().unwrap_or_default().to_string_lossy())
                }
            };
            self.line(&title);
            self.line(text);
            self.out.content_bytes += text.len();
            self.out.files.push(entry.path.clone());
        }
    }

    fn line(&mut self, text: &str) {
        self.out.text.push_str(text);
        self.out.text.push_str("\n\n");
    }

    fn end(mut self) -> Rendering {
        let load = self.load;
        let none = |source: &str| self.found.get(source).copied().unwrap_or_default() == 0;
        let outputs = self.out.files.len();
        let named = load
            .only_talents
            .iter()
            .filter(|(_, want)| **want == Want::Required)
            .map(|(name, _)| name.as_str())
            .find(|name| none(name));
        self.out.missing = if load.transcripts == Want::Required && none("transcripts") {
            Some("transcripts".into())
        } else if load.percepts == Want::Required && none("percepts") {
            Some("percepts".into())
        } else if load.talents == Want::Required && outputs == 0 {
            Some("talents".into())
        } else {
            named.map(str::to_owned)
        };
        if self.out.problems.iter().any(|problem| problem.contains("left out")) {
            let left: Vec<&str> = self.out.problems.iter().map(String::as_str).collect();
            let note = format!("(Not everything had room: {})", left.join("; "));
            self.line(&note);
        }
        if !self.out.files.is_empty() && self.out.files.len() < FEW {
            let count = self.out.files.len();
            let note = format!(
                "(There {} only {count} source{} for this. Do not make more of it than it holds.)\n\n",
                if count == 1 { "is" } else { "are" },
                if count == 1 { "" } else { "s" }
            );
            self.out.text.insert_str(0, &note);
        }
        self.out.text.truncate(self.out.text.trim_end().len());
        self.out
    }
}

fn read(path: &Path) -> Result<String, String> {
    let size = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if size > FILE_BYTES_MAX {
        return Err(format!("left out, because it is larger than {FILE_BYTES_MAX} bytes"));
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if path.extension().is_some_and(|ending| ending == "jsonl") {
        Ok(lines(&text))
    } else {
        Ok(text)
    }
}

/// A transcript of JSON lines as text: time, speaker, words. Lines that say nothing are headers of machines.
fn lines(text: &str) -> String {
    let mut out = String::new();
    let mut unread = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            unread += 1;
            continue;
        };
        let first = |keys: &[&str]| {
            keys.iter().find_map(|key| match &value[*key] {
                Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            })
        };
        let Some(words) = first(&["text", "content", "message", "description", "summary"]) else {
            continue;
        };
        if let Some(time) = first(&["start", "time", "timestamp", "at", "ts"]) {
            // Writing into a String cannot fail.
            let _ = write!(out, "[{time}] ");
        }
        if let Some(speaker) = first(&["speaker", "role", "author", "source"]) {
            // Writing into a String cannot fail.
            let _ = write!(out, "{speaker}: ");
        }
        out.push_str(&words);
        out.push('\n');
    }
    if unread > 0 {
        // Writing into a String cannot fail.
        let _ = writeln!(out, "({unread} lines could not be read)");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(layout: &Layout, path: &str, text: &str) {
        let path = layout.chronicle().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn load(transcripts: Want, talents: Want) -> Load {
        Load { transcripts, talents, ..Load::default() }
    }

    #[test]
    fn sources_are_put_in_order_under_their_segments() {
        // execution R39
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        put(&layout, "20250109/130000_60/note.txt", "Later.");
        put(
            &layout,
            "20250109/120000_300/audio.jsonl",
            "{\"raw\":\"audio.flac\"}\n{\"start\":\"12:00:05\",\"speaker\":\"Ada\",\"text\":\"Hello\"}\nbroken\n",
        );
        put(&layout, "20250109/120000_300/meeting.md", "A note by hand.");
        put(&layout, "20250109/120000_300/activity.md", "What happened.");
        put(&layout, "20250109/120000_300/screen.jsonl", "{\"text\":\"a window\"}");
        put(&layout, "20250109/120000_300/.activity.md.1.part", "half");
        put(&layout, "20250109/talents/decisions.md", "Decided.");
        put(&layout, "20250109/talents/work/followups.md", "Work only.");
        let day = Day::parse("20250109").unwrap();
        let (catalog, own) = (TalentCatalog::built_in(), TalentName::parse("knowledge").unwrap());
        let get = |scope: &RenderScope, load: &Load, facet: Option<&Facet>| {
            render(&layout, day, scope, facet, load, &catalog, &own).unwrap()
        };
        let all = get(&RenderScope::Day, &load(Want::Yes, Want::No), None);
        assert_eq!(
            all.text,
            "## 12:00:00 to 12:05:00 (120000_300)\n\n### audio.jsonl\n\n[12:00:05] Ada: Hello\n\
             (1 lines could not be read)\n\n\
             ### meeting.md\n\nA note by hand.\n\n## 13:00:00 to 13:01:00 (130000_60)\n\n### note.txt\n\nLater."
        );
        assert_eq!(all.summary(), "2 segments, 6 minutes");
        let outputs = get(&RenderScope::Day, &load(Want::No, Want::Yes), None);
        assert!(outputs.text.contains("What happened.") && outputs.text.contains("Decided."));
        assert!(
            !outputs.text.contains("Work only."),
            "another facet's output is not for everybody"
        );
        let work = Facet::parse("work").unwrap();
        assert!(
            get(&RenderScope::Day, &load(Want::No, Want::Yes), Some(&work))
                .text
                .contains("Work only.")
        );
        // T17, execution R32: a run for a facet reads the segments that are about it, and no others
        let about = r#"[{"facet":"work","activity":"a","level":"high"}]"#;
        put(&layout, "20250109/130000_60/facets.json", about);
        let mine = get(&RenderScope::Day, &load(Want::Yes, Want::Yes), Some(&work)).text;
        assert!(mine.contains("Later.") && !mine.contains("Hello"), "{mine}");
        assert!(mine.contains("Work only.") && !mine.contains("Decided."), "{mine}");
        let one = get(
            &RenderScope::Segment(Segment::parse("130000_60").unwrap()),
            &load(Want::Yes, Want::No),
            None,
        );
        assert!(one.text.starts_with("(There is only 1 source for this."), "{}", one.text);
    }

    #[test]
    fn what_is_required_and_not_there_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        put(&layout, "20250109/130000_60/note.txt", "  \n");
        let (day, own) = (Day::parse("20250109").unwrap(), TalentName::parse("x").unwrap());
        let get = |load: &Load, scope: &RenderScope| {
            render(&layout, day, scope, None, load, &TalentCatalog::built_in(), &own)
        };
        let none = get(&load(Want::Required, Want::No), &RenderScope::Day).unwrap();
        assert_eq!(none.missing.as_deref(), Some("transcripts"));
        let mut named = load(Want::No, Want::Yes);
        named.only_talents.insert("activity".into(), Want::Required);
        assert_eq!(get(&named, &RenderScope::Day).unwrap().missing.as_deref(), Some("activity"));
        // execution R42: a segment of a span that is not there is an error
        let span = RenderScope::Span(vec![Segment::parse("010000_60").unwrap()]);
        assert_eq!(get(&load(Want::Yes, Want::No), &span).unwrap_err().code(), "no_segment");
    }
}
