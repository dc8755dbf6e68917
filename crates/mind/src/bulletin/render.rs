//! The bulletin by rules: title, time, sections, one cited line per memory, within the words allowed.
//!
//! What must stay true: every line below a heading ends with the ids of the memories it comes from; a heading is
//! never printed without a line; the text never has more words than allowed; nothing of a memory can look like a
//! heading.

use api::render::untrusted;
use kernel::memory::Millis;
use serde::{Deserialize, Serialize};

use super::dimension::Dimension;
use super::input::{BulletinInput, InputItem, InputSection};
use super::page::PageSubject;
use crate::audience::Trust;

/// One line with the memories it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulletinLine {
    /// The sentence as written, without the citation.
    pub text: String,
    /// Ids of memories; never empty.
    pub cites: Vec<u64>,
}

impl BulletinLine {
    pub fn written(&self) -> String {
        format!("- {} {}", self.text, citation(&self.cites))
    }

    fn words(&self) -> usize {
        words(&self.written())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulletinSection {
    pub heading: String,
    pub lines: Vec<BulletinLine>,
}

pub fn citation(ids: &[u64]) -> String {
    let ids: Vec<String> = ids.iter().map(|id| format!("#{id}")).collect();
    format!("[{}]", ids.join(", "))
}

/// Words as people count them: what stands between spaces and has a letter or a digit in it.
pub fn words(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count()
}

/// The whole text: the seed's title, or a page's own with its question; the time to the second; the sections.
pub fn text_of(subject: Option<&PageSubject>, parts: &[BulletinSection], now: Millis) -> String {
    let mut text = header(subject, now);
    if subject.is_some() && parts.is_empty() {
        text.push_str("\n\nNothing in memory answers this yet.");
    }
    for part in parts {
        text.push_str("\n\n## ");
        text.push_str(&part.heading);
        for line in &part.lines {
            text.push('\n');
            text.push_str(&line.written());
        }
    }
    text.push('\n');
    text
}

pub(super) fn header(subject: Option<&PageSubject>, now: Millis) -> String {
    let made = format!("Generated: {} UTC", utc_second(now));
    match subject {
        None => format!("# Memory Bulletin\n{made}"),
        Some(PageSubject { name, question }) => {
            format!("# {}\n{}\n{made}", untrusted::line(name), untrusted::line(question))
        }
    }
}

/// `2024-03-15 14:30:00`.
fn utc_second(now: Millis) -> String {
    now.rfc3339().chars().take(19).map(|c| if c == 'T' { ' ' } else { c }).collect()
}

/// Fills the words allowed: in turns, so that every section says its most important line before any says its second.
pub fn by_rules(gathered: &BulletinInput, max_words: usize, now: Millis) -> Vec<BulletinSection> {
    let all: Vec<&InputSection> = gathered.sections.iter().collect();
    of_sections(gathered.subject.as_ref(), &all, max_words, now)
}

/// The same for some of the sections.
pub(super) fn of_sections(
    subject: Option<&PageSubject>,
    sections: &[&InputSection],
    max_words: usize,
    now: Millis,
) -> Vec<BulletinSection> {
    let mut used = words(&header(subject, now));
    let mut chosen: Vec<Vec<BulletinLine>> = vec![Vec::new(); sections.len()];
    let mut open: Vec<bool> = vec![true; sections.len()];
    for turn in 0.. {
        let mut any = false;
        for (at, section) in sections.iter().enumerate() {
            // Identity, goals and rules get two lines in every turn: they matter more than the other sections.
            let per_turn = weight(section.dimension);
            for place in turn * per_turn..(turn + 1) * per_turn {
                let Some(item) = section.items.get(place).filter(|_| open[at]) else { break };
                let line = line_of(item);
                let heading = if place == 0 { words(section.dimension.heading()) } else { 0 };
                if used + heading + line.words() > max_words {
                    open[at] = false;
                    break;
                }
                used += heading + line.words();
                chosen[at].push(line);
                any = true;
            }
        }
        if !any {
            break;
        }
    }
    let part = |(section, lines): (&&InputSection, Vec<BulletinLine>)| BulletinSection {
        heading: section.dimension.heading().to_owned(),
        lines,
    };
    let parts = sections.iter().zip(chosen).map(part);
    parts.filter(|part| !part.lines.is_empty()).collect()
}

fn weight(dimension: Dimension) -> usize {
    match dimension {
        Dimension::Identity | Dimension::Goals | Dimension::Constraints | Dimension::Work => 2,
        _ => 1,
    }
}

/// The sentence with what is said about it.
pub(super) fn line_of(item: &InputItem) -> BulletinLine {
    let cites = std::iter::once(item.id).chain(item.also.iter().copied()).collect();
    BulletinLine { text: format!("{} ({})", item.text, about(item)), cites }
}

/// Project, ending and date. A memory that nobody stated is marked, so that readers do not take a guess for a
/// statement.
pub(super) fn about(item: &InputItem) -> String {
    let trust = match item.trust {
        Trust::Stated | Trust::Observed => None,
        Trust::Inferred | Trust::Imported | Trust::Unknown => Some(item.trust.name()),
    };
    let project = Some(item.project.as_str()).filter(|project| !project.is_empty());
    let about = [project, item.note.as_deref(), Some(item.date.as_str()), trust];
    about.into_iter().flatten().collect::<Vec<&str>>().join(", ")
}
