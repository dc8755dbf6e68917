//! What talents wrote, found by its words: an index of its own, apart from memories.
//!
//! What must stay true: an output is no memory and never stands among them; a file that changed is read again before
//! anybody is answered, and one that is gone is gone; scores are whole numbers and ties go to the newer day. Everything
//! here is made again from the files.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use api::outputs::{OutputHit, OutputsAnswer, OutputsRequest};
use talents::chronicle::{
    ChronicleEntry, ChronicleEntryKind, days, entries, segments, span_outputs,
};
use talents::talent_files::TalentCatalog;
use talents::{Day, Facet, Layout, Segment, TalentName};
use text::analyze::{Analyzer, Language};
use text::index::idf;

/// An output is text; what is larger is something else.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Outputs that are held; the newest days count.
const OUTPUTS_MAX: usize = 20_000;
const HITS_DEFAULT: usize = 10;
const HITS_MAX: usize = 100;
const PREVIEW_CHARS: usize = 240;
/// How often a word counts at most, so that a long list of one word is no better answer.
const TIMES_MAX: u32 = 4;

/// One output as it was read.
#[derive(Debug)]
struct OutputDocument {
    changed: (SystemTime, u64),
    terms: HashMap<Box<str>, u32>,
    day: Day,
    segment: Option<Segment>,
    facet: Option<Facet>,
    talent: TalentName,
}

/// The outputs of a home by their words.
#[derive(Debug)]
pub(crate) struct OutputIndex {
    layout: Layout,
    documents: Mutex<BTreeMap<PathBuf, OutputDocument>>,
}

impl OutputIndex {
    pub(crate) fn new(home: &Path) -> OutputIndex {
        OutputIndex { layout: Layout::new(home), documents: Mutex::default() }
    }

    /// Reads one output that was just written.
    pub(crate) fn put(&self, path: &str) -> io::Result<()> {
        let path = Path::new(path);
        // One that lies elsewhere was asked to lie there, and is nobody's to find here.
        let Some(place) = self.place_of(path) else { return Ok(()) };
        let document = read(path, place)?;
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        documents.insert(path.to_owned(), document);
        Ok(())
    }

    /// Day, segment, facet and talent of a path in the chronicle.
    fn place_of(&self, path: &Path) -> Option<Place> {
        let inner = path.strip_prefix(self.layout.chronicle()).ok()?;
        let parts: Vec<&str> = inner.iter().filter_map(|part| part.to_str()).collect();
        let (day, folder, facet, file) = match parts.as_slice() {
            // Of several segments at once: it belongs to the day.
            [day, "spans", span, file] => (day, span, None, file),
            [day, "spans", span, facet, file] => (day, span, Some(facet), file),
            [day, folder, file] => (day, folder, None, file),
            [day, folder, facet, file] => (day, folder, Some(facet), file),
            _ => return None,
        };
        let stem = file.rsplit_once('.').map(|(stem, _)| stem)?;
        Some(Place {
            day: Day::parse(day).ok()?,
            segment: Segment::parse(folder).ok(),
            facet: facet.map(|facet| Facet::parse(facet)).transpose().ok()?,
            talent: TalentName::parse(stem).ok()?,
        })
    }

    /// What there is to find is what lies there now.
    fn refresh(&self, catalog: &TalentCatalog) -> io::Result<()> {
        let is_talent = |name: &TalentName| catalog.all().any(|talent| talent.name == *name);
        let failed =
            |error: talents::chronicle::ChronicleError| io::Error::other(error.to_string());
        let mut there: Vec<(Place, ChronicleEntry)> = Vec::new();
        let all = days(&self.layout).map_err(failed)?;
        'days: for day in all.into_iter().rev() {
            let parts = segments(&self.layout, day).map_err(failed)?;
            let mut written = vec![(None, span_outputs(&self.layout, day).map_err(failed)?)];
            for segment in parts.into_iter().map(Some).chain([None]) {
                let found = entries(&self.layout, day, segment, &is_talent).map_err(failed)?;
                written.push((segment, found));
            }
            for (segment, found) in written {
                for entry in found {
                    let ChronicleEntryKind::Output { talent, facet } = entry.kind.clone() else {
                        continue;
                    };
                    there.push((Place { day, segment, facet, talent }, entry));
                    if there.len() == OUTPUTS_MAX {
                        break 'days;
                    }
                }
            }
        }
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        let mut before = std::mem::take(&mut *documents);
        for (place, entry) in there {
            let known = before.remove(&entry.path);
            let now = changed(&entry.path).ok();
            let document = match known {
                Some(known) if Some(known.changed) == now => known,
                // A file that cannot be read now is not found now.
                _ => match read(&entry.path, place) {
                    Ok(document) => document,
                    Err(_) => continue,
                },
            };
            documents.insert(entry.path, document);
        }
        Ok(())
    }

    /// The outputs that the words of a question stand in, the best first.
    pub(crate) fn search(
        &self,
        catalog: &TalentCatalog,
        language: Language,
        asked: &OutputsRequest,
    ) -> io::Result<OutputsAnswer> {
        self.refresh(catalog)?;
        let mut words: Vec<String> = Vec::new();
        Analyzer::new(language).terms(&asked.query, &mut |term, _| {
            if !words.iter().any(|word| word == term) {
                words.push(term.to_owned());
            }
        });
        let documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |document: &OutputDocument| {
            let day = document.day.to_string();
            asked.day.as_ref().is_none_or(|wanted| *wanted == day)
                && asked.talent.as_ref().is_none_or(|wanted| wanted == document.talent.as_str())
                && asked.facet.as_ref().is_none_or(|wanted| {
                    document.facet.as_ref().is_some_and(|facet| facet.as_str() == wanted)
                })
        };
        let count = documents.len() as u64;
        let weights: Vec<(&str, u64)> = words
            .iter()
            .map(|word| {
                let df = documents.values().filter(|one| one.terms.contains_key(word.as_str()));
                (word.as_str(), idf(count, df.count() as u64))
            })
            .collect();
        let mut found: Vec<(u64, &PathBuf, &OutputDocument)> = documents
            .iter()
            .filter(|(_, document)| fits(document))
            .filter_map(|(path, document)| {
                let score: u64 = weights
                    .iter()
                    .filter_map(|(word, weight)| {
                        let times = u64::from((*document.terms.get(*word)?).min(TIMES_MAX));
                        // One time is worth half of the most; each further one adds less.
                        Some(weight * (2 * times) / (times + 1))
                    })
                    .sum();
                (score > 0 || words.is_empty()).then_some((score, path, document))
            })
            .collect();
        found.sort_by(|a, b| b.0.cmp(&a.0).then(b.2.day.cmp(&a.2.day)).then(a.1.cmp(b.1)));
        let matches = found.len() as u64;
        let limit = asked.limit.unwrap_or(HITS_DEFAULT).clamp(1, HITS_MAX);
        let outputs = found.into_iter().take(limit).map(|(score, path, document)| OutputHit {
            path: path.strip_prefix(self.layout.home()).unwrap_or(path).display().to_string(),
            day: document.day.to_string(),
            segment: document.segment.map(|segment| segment.to_string()),
            facet: document.facet.as_ref().map(ToString::to_string),
            talent: document.talent.to_string(),
            preview: preview(path, &words),
            score,
        });
        Ok(OutputsAnswer { query: asked.query.clone(), matches, outputs: outputs.collect() })
    }
}

struct Place {
    day: Day,
    segment: Option<Segment>,
    facet: Option<Facet>,
    talent: TalentName,
}

fn changed(path: &Path) -> io::Result<(SystemTime, u64)> {
    let meta = fs::metadata(path)?;
    Ok((meta.modified()?, meta.len()))
}

fn read(path: &Path, place: Place) -> io::Result<OutputDocument> {
    let changed = changed(path)?;
    if changed.1 > FILE_BYTES_MAX {
        let why = format!("{}: larger than {FILE_BYTES_MAX} bytes", path.display());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    let text = String::from_utf8_lossy(&fs::read(path)?).into_owned();
    let mut terms: HashMap<Box<str>, u32> = HashMap::new();
    Analyzer::new(Language::default()).terms(&text, &mut |term, _| {
        *terms.entry(term.into()).or_default() += 1;
    });
    let Place { day, segment, facet, talent } = place;
    Ok(OutputDocument { changed, terms, day, segment, facet, talent })
}

/// The line with the most of the words, bounded.
fn preview(path: &Path, words: &[String]) -> String {
    let text = fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let text = text.unwrap_or_default();
    let analyzer = Analyzer::new(Language::default());
    let count = |line: &str| {
        let mut seen = 0;
        analyzer
            .terms(line, &mut |term, _| seen += usize::from(words.iter().any(|word| word == term)));
        seen
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let mut best: Option<(usize, &str)> = None;
    for line in lines {
        let score = count(line);
        if best.is_none_or(|(most, _)| score > most) {
            best = Some((score, line));
        }
    }
    let line = best.map_or("", |(_, line)| line.trim());
    match line.char_indices().nth(PREVIEW_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // T17, execution R117: every output, JSON and facets included, as it is now
    #[test]
    fn outputs_are_found_by_their_words_as_they_lie_there_now() {
        let dir = tempfile::tempdir().unwrap();
        let index = OutputIndex::new(dir.path());
        let catalog = TalentCatalog::built_in();
        let put = |path: &str, text: &str| {
            let path = dir.path().join("chronicle").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        let find = |query: &str| {
            let asked = OutputsRequest { query: query.to_owned(), ..OutputsRequest::default() };
            let answer = index.search(&catalog, Language::default(), &asked).unwrap();
            answer.outputs.into_iter().map(|hit| hit.path).collect::<Vec<_>>()
        };
        let brief =
            put("20250109/talents/daily_brief.md", "# Day\n\nWe chose redb for the store.\n");
        put("20250109/120000_300/work/activity.md", "Talked about the release.");
        put("20250109/120000_300/facets.json", "[{\"facet\":\"work\",\"activity\":\"redb\"}]");
        let span = put("20250109/spans/120000_300-130000_300-0a1b/activity.md", "Both hours: tea.");
        put("20250109/spans/120000_300-130000_300-0a1b/work/activity.md", "Of work: tea.");
        assert_eq!(find("tea").len(), 2, "what was written about several segments");
        index.put(span.to_str().unwrap()).unwrap();
        assert_eq!(find("tea").len(), 2);
        put("20250109/120000_300/note.txt", "redb in a transcript is no output");
        assert_eq!(find("redb").len(), 2);
        assert_eq!(find("release"), ["chronicle/20250109/120000_300/work/activity.md"]);
        fs::write(&brief, "# Day\n\nNothing about stores at all, and longer.\n").unwrap();
        index.put(brief.to_str().unwrap()).unwrap();
        assert_eq!(find("redb"), ["chronicle/20250109/120000_300/facets.json"]);
        fs::remove_file(&brief).unwrap();
        assert!(find("stores").is_empty());
        assert!(index.put("/elsewhere/x.md").is_ok());
    }
}
