//! What answers a question that stands: what recall finds in the project, and what is linked to it.
//!
//! What must stay true: a forgotten memory, or one that the reader may not see, is not in here; what was replaced is
//! said only with what replaced it; the same state, question and time give the same page.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use kernel::find::{MemoryReader, MemoryRow, Standing};
use kernel::limits::EDGES_PER_MEMORY_MAX;
use kernel::memory::{Body, DecisionStatus, Fields, GoalStatus, MemoryId, MemoryType, PAGE_KIND};
use kernel::render::one_line;
use kernel::{Digest, Reading};
use recall::ranker::{AnswerLevel, Ranker};
use recall::search::{self, SearchQuery};
use text::analyze::Analyzer;

use super::PageSubject;
use crate::bulletin::dimension::Dimension;
use crate::bulletin::gather::{GatherRequest, Gathering, happened};
use crate::bulletin::input::{BulletinInput, InputItem, InputSection, hash_of};
use crate::bulletin::phrase::{phrase, within};
use crate::bulletin::relations;
use crate::error::Result;
use crate::memory_recall::{ListCandidates, RecallHit};

/// Memories that a question is answered with.
const MATCHES_MAX: usize = 40;
/// Words that ask, and say nothing about what is asked.
const ASKING: &str =
    "know known tell remember say said think learn learned give show list explain describe";
/// Memories that are said because they are linked to one of those.
const LINKED_MAX: usize = 20;
/// Words of one line.
const LINE_WORDS_MAX: usize = 45;

/// Asks the memory the question.
pub fn gather_page(
    reading: &Reading,
    subject: &PageSubject,
    request: GatherRequest<'_>,
) -> Result<BulletinInput> {
    let mut gathering = Gathering::new(reading, request, ListCandidates::default());
    let size = gathering.view.counters()?.size;
    let memories = answering(reading, &gathering, subject)?;
    let found = memories.len();
    let mut sections: Vec<InputSection> = Vec::new();
    for dimension in Dimension::ALL {
        let mut own: Vec<&RecallHit> = memories
            .iter()
            .filter(|memory| {
                let proposed = request.rules.is_proposed(&memory.head, &memory.version);
                dimension_of(memory.head.memory_type, proposed) == dimension
            })
            .collect();
        if dimension == Dimension::Happened {
            own.sort_by_key(|memory| (Reverse(happened(memory)), Reverse(memory.id())));
        }
        let mut items: Vec<InputItem> = Vec::new();
        for memory in own {
            let (text, note) = phrase(memory);
            let mut item = gathering.item(memory, &text, note)?;
            relations::replaced(&gathering.view, &gathering.sight, memory, &mut item)?;
            with_content(&mut item);
            let folded = text::analyze::fold(&item.text);
            if relations::join_alike(&mut items, &item) || !gathering.said.insert(folded) {
                continue;
            }
            items.push(item);
        }
        relations::put_contradictions_together(&gathering.view, &mut items)?;
        if !items.is_empty() {
            sections.push(InputSection { dimension, items, found });
        }
    }
    let hash = hash_with(subject, &sections);
    let audience = request.audience.clone();
    Ok(BulletinInput {
        audience,
        subject: Some(subject.clone()),
        sections,
        size,
        hash,
        capped: found >= MATCHES_MAX,
    })
}

/// The memories that answer, best first, then those that are linked to them.
fn answering(
    reading: &Reading,
    gathering: &Gathering<'_>,
    subject: &PageSubject,
) -> Result<Vec<RecallHit>> {
    let GatherRequest { fading, now, .. } = gathering.request;
    let question = SearchQuery::new(&subject.question, MATCHES_MAX);
    let outcome = search::search(reading, Some(&gathering.sight), &question, now)?;
    let lens = MemoryReader::new(&gathering.view, Some(&gathering.sight), None, now)?;
    let mut known: BTreeSet<MemoryId> = BTreeSet::new();
    let mut waiting: Vec<MemoryId> = Vec::new();
    let mut memories = Vec::new();
    let mut add = |row: MemoryRow, relevance: u64, known: &mut BTreeSet<MemoryId>| -> Result<()> {
        if !known.insert(row.head.id) || row.head.kind == PAGE_KIND {
            return Ok(());
        }
        let Some(body) = lens.body(&row)? else { return Ok(()) };
        let importance = fading.importance(&row.head, &row.version, &row.usage, now);
        let MemoryRow { head, version, usage, standing, .. } = row;
        let memory = RecallHit { head, version, usage, body, standing, importance, relevance };
        if holds(&memory) {
            memories.push(memory);
        }
        Ok(())
    };
    let analyzer = recall::language::analyzer(&gathering.view)?;
    let asked = asked_words(&analyzer, &subject.question);
    for hit in &outcome.hits {
        // How likely a hit answers was learned on large memories; in a small one its words must do.
        let answers = Ranker::shared().level(hit.relevance) >= AnswerLevel::Weak;
        if !answers && !hit.body.as_ref().is_some_and(|body| speaks_of(&analyzer, &asked, body)) {
            continue;
        }
        // What was replaced makes room for what replaced it.
        waiting.extend(hit.superseded_by.iter().map(|newer| newer.id));
        waiting.extend(hit.contradicts.iter().map(|other| other.id));
        let usage = gathering.view.usage(hit.id)?;
        if usage.edges_out > 0 || usage.edges_in > 0 {
            let max = EDGES_PER_MEMORY_MAX as usize;
            waiting.extend(gathering.view.edges_out(hit.id, max)?.iter().map(|edge| edge.dst));
            waiting.extend(gathering.view.edges_in(hit.id, max)?.iter().map(|edge| edge.src));
        }
        if let Some(row) = lens.row(hit.id)? {
            add(row, hit.score, &mut known)?;
        }
    }
    let mut linked = 0;
    for id in waiting {
        if linked == LINKED_MAX || known.contains(&id) {
            continue;
        }
        if let Some(row) = lens.row(id)?.filter(|row| row.standing.is_shown()) {
            linked += 1;
            add(row, 0, &mut known)?;
        }
    }
    Ok(memories)
}

/// The words that a question is about, without those that only ask.
fn asked_words(analyzer: &Analyzer, question: &str) -> Vec<String> {
    let asking = analyzer.question(ASKING).terms;
    let all = analyzer.question(question).terms;
    let (about, rest): (Vec<String>, Vec<String>) =
        all.into_iter().partition(|term| !asking.contains(term));
    if about.is_empty() { rest } else { about }
}

/// True if a memory has two of three words that the question asks about.
fn speaks_of(analyzer: &Analyzer, asked: &[String], body: &Body) -> bool {
    let said: BTreeSet<String> =
        analyzer.question(&format!("{} {}", body.title, body.content)).terms.into_iter().collect();
    let found = asked.iter().filter(|term| said.contains(*term)).count();
    !asked.is_empty() && 3 * found >= 2 * asked.len()
}

/// True unless something newer replaced it, or it is over.
pub(super) fn holds(memory: &RecallHit) -> bool {
    let open = match &memory.body.fields {
        Fields::Goal(goal) => matches!(goal.status, GoalStatus::Active | GoalStatus::Paused),
        Fields::Decision(decision) => {
            matches!(decision.status, DecisionStatus::Accepted | DecisionStatus::Proposed)
        }
        _ => true,
    };
    open && memory.standing == Standing::Current
}

fn dimension_of(memory_type: MemoryType, proposed: bool) -> Dimension {
    match memory_type {
        MemoryType::Constraint | MemoryType::Preference if proposed => Dimension::Proposed,
        MemoryType::Identity => Dimension::Identity,
        MemoryType::Goal => Dimension::Goals,
        MemoryType::Constraint => Dimension::Constraints,
        MemoryType::Preference => Dimension::Preferences,
        MemoryType::Decision => Dimension::Decisions,
        MemoryType::Pattern => Dimension::Patterns,
        MemoryType::Event => Dimension::Happened,
        MemoryType::Fact | MemoryType::ArtifactRef => Dimension::Knowledge,
    }
}

/// A page has room for more than titles: the beginning of the content goes with them.
fn with_content(item: &mut InputItem) {
    let (said, more) = (item.text.to_lowercase(), one_line(&item.detail));
    let begins: String = more.to_lowercase().chars().take(40).collect();
    if !more.is_empty() && !said.contains(begins.trim_end_matches(['.', ' '])) {
        item.text = within(&format!("{}: {more}", item.text), LINE_WORDS_MAX);
    }
}

/// The hash of what is said, the question and how things stand to each other included.
fn hash_with(subject: &PageSubject, sections: &[InputSection]) -> String {
    let items = sections.iter().flat_map(|section| &section.items);
    let mut notes: Vec<(u64, &str)> =
        items.map(|item| (item.id, item.note.as_deref().unwrap_or_default())).collect();
    notes.sort_unstable();
    let notes: String = notes.iter().map(|(id, note)| format!("{id} {note}\n")).collect();
    let (sections, question) = (hash_of(sections), &subject.question);
    let parts = [sections.as_bytes(), question.as_bytes(), notes.as_bytes()];
    Digest::of("cortex/page/1", &parts).to_string()
}
