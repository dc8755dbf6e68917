//! Memories that were found, and what is around them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::super::untrusted::{line, lines, opening};
use super::words::{count, moment};
use crate::graph::{GraphAnswer, NodeView};
use crate::memory::{Brief, EdgeView};
use crate::read::{GetAnswer, ListAnswer};
use crate::score::ScoreAnswer;
use crate::search::{HitView, NamedView, SearchAnswer};
use crate::stats::EntityListAnswer;
use crate::timeline::TimelineAnswer;

/// How much is said of a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HitDetail {
    Usual,
    /// With what each arm said of it.
    Explained,
}

/// What a search found. Why a model was not asked is no part of it: it is said beside the data.
pub fn found(answer: &SearchAnswer, detail: HitDetail) -> String {
    let mut text = String::new();
    match (answer.hits.is_empty(), answer.is_unanswered()) {
        (true, _) => text.push_str("no memory was found\n"),
        (false, true) => text.push_str("nothing here seems to answer this; nearest:\n"),
        (false, false) => {}
    }
    let worth = answer.worth_showing(detail == HitDetail::Explained);
    text.extend(answer.hits.iter().take(worth).map(|hit| one_hit(hit, detail)));
    if !answer.hits.is_empty() {
        writeln!(text, "{worth} of {} candidates", answer.candidates)
            .expect("a String takes any text");
    }
    if worth < answer.hits.len() {
        let farther = answer.hits.len() - worth;
        writeln!(text, "{farther} farther ones are left out; --explain shows them")
            .expect("a String takes any text");
    }
    if let Some(said) = answer.put_away_note() {
        writeln!(text, "{said}; --put-away shows them").expect("a String takes any text");
    }
    if let Some(elsewhere) = &answer.elsewhere {
        writeln!(text, "{}", line(elsewhere)).expect("a String takes any text");
    }
    if let (HitDetail::Explained, Some(model), Some(count)) =
        (detail, &answer.model, answer.by_model)
    {
        writeln!(text, "meaning of {count} by {}", line(model)).expect("a String takes any text");
    }
    text
}

fn one_hit(hit: &HitView, detail: HitDetail) -> String {
    let mark = match hit.standing.as_str() {
        "current" => String::new(),
        other => format!(" ({other})"),
    };
    let proposed = if hit.proposed { " (proposed)" } else { "" };
    let (id, kind) = (hit.id, &hit.memory_type);
    // A word means the same for every question; where nothing was asked in words there is only a place in the list.
    let worth = match (hit.level.as_str(), detail) {
        ("", _) => format!("{:.3}", hit.rank),
        (level, HitDetail::Usual) => level.to_owned(),
        (level, HitDetail::Explained) => format!("{level} {:.3}", hit.rank),
    };
    let title = titled(&hit.title);
    let mut text = format!("{id:>6}  {kind:<11} {worth:<6}  {title}{mark}{proposed}\n");
    if !hit.preview.is_empty() && hit.preview != hit.title {
        writeln!(text, "        {}", opening(&hit.preview)).expect("a String takes any text");
    }
    let related = [("superseded by", &hit.superseded_by), ("contradicts", &hit.contradicts)];
    for (relation, others) in related {
        for NamedView { id, title } in others {
            writeln!(text, "        {relation} {id}: {}", titled(title))
                .expect("a String takes any text");
        }
    }
    for arm in hit.arms.iter().filter(|arm| detail == HitDetail::Explained && arm.score > 0.0) {
        let by = arm.by.as_ref().map(|model| format!("  by {}", line(model))).unwrap_or_default();
        let (name, rank, score, weight) = (&arm.arm, arm.rank, arm.score, arm.weight);
        writeln!(text, "          {name:<12} rank {rank:<4} {score:.3} x {weight:.2}{by}")
            .expect("a String takes any text");
    }
    for reason in hit.reasons.iter().filter(|_| detail == HitDetail::Explained) {
        let (feature, value, typical) = (&reason.feature, reason.value, reason.typical);
        let way = if reason.moved > 0 { "up" } else { "down" };
        writeln!(text, "          {way:<4} by {feature} {value}, where most have {typical}")
            .expect("a String takes any text");
    }
    text
}

/// A memory always has a title, until it is erased.
fn titled(title: &str) -> String {
    if title.is_empty() { "[erased]".to_owned() } else { line(title) }
}

/// Whether a memory is in sight or why it is not, how often it was used, and who saved it.
pub fn whereabouts(got: &GetAnswer) -> String {
    let memory = &got.memory;
    let state = match (&memory.deleted_at, memory.archived) {
        (Some(at), _) => {
            let why = memory.deleted_reason.as_deref().unwrap_or("nobody said why");
            format!("was forgotten {}: {}", moment(at), line(why))
        }
        (None, true) => "is archived".to_owned(),
        (None, false) => "is current".to_owned(),
    };
    let (id, kind, title) = (memory.id, line(&memory.kind), line(&memory.title));
    let proposed = if memory.proposed { ", proposed" } else { "" };
    let mut text = format!("#{id} ({kind}) {title:?} {state}{proposed}\n");
    let read = match memory.accesses {
        0 => "never read".to_owned(),
        times => format!("read {}", count(times, "time", "times")),
    };
    writeln!(
        text,
        "- {}, {read}, importance {:.2}, saved {} by {}",
        count(memory.latest, "version", "versions"),
        memory.importance,
        moment(&memory.created_at),
        line(&memory.by)
    )
    .expect("a String takes any text");
    if memory.deleted_at.is_none() && !memory.content.trim().is_empty() {
        writeln!(text, "{}", lines(memory.content.trim())).expect("a String takes any text");
    }
    if !got.superseded_by.is_empty() {
        let by: Vec<String> = got.superseded_by.iter().map(|id| format!("#{id}")).collect();
        writeln!(text, "- replaced by {}", by.join(", ")).expect("a String takes any text");
    }
    text
}

/// Ids and titles, newest first.
pub fn listed(answer: &ListAnswer) -> String {
    if answer.total == 0 {
        return "There is none yet.\n".to_owned();
    }
    let mut text = format!("{} of {}, newest first:\n", answer.memories.len(), answer.total);
    for memory in &answer.memories {
        let day = memory.created_at.get(..10).unwrap_or_default();
        let project = match memory.project.as_str() {
            "" => String::new(),
            project => format!("{}, ", line(project)),
        };
        let proposed = if memory.proposed { ", proposed" } else { "" };
        writeln!(text, "- #{} {} ({project}{day}{proposed})", memory.id, line(&memory.title))
            .expect("a String takes any text");
    }
    text
}

/// One line each: number, day, kind, project and title.
pub fn table(answer: &ListAnswer) -> String {
    let mut text = String::new();
    for memory in &answer.memories {
        let day = memory.created_at.get(..10).unwrap_or_default();
        let pin = if memory.pinned { " (pinned)" } else { "" };
        let (kind, project) = (line(&memory.kind), line(&memory.project));
        writeln!(
            text,
            "{:>6}  {day}  {kind:<12} {project:<14} {}{pin}",
            memory.id,
            line(&memory.title)
        )
        .expect("a String takes any text");
    }
    writeln!(text, "{} of {} memories", answer.memories.len(), answer.total)
        .expect("a String takes any text");
    text
}

pub fn timeline(answer: &TimelineAnswer) -> String {
    let one = |mark: &str, brief: &Brief| {
        let (title, preview) = (line(&brief.title), line(&brief.preview));
        let says = if preview.is_empty() { preview } else { format!(": {preview}") };
        format!("{mark}{:>6}  {:<12} {title}{says}\n", brief.id, line(&brief.kind))
    };
    let before = answer.before.iter().map(|brief| one("  ", brief));
    let after = answer.after.iter().map(|brief| one("  ", brief));
    before.chain([one("> ", &answer.focus)]).chain(after).collect()
}

/// A walk as a tree: each memory hangs once, below the first one that leads to it; further edges to it are named, not
/// followed.
pub fn tree(answer: &GraphAnswer) -> String {
    let nodes = std::iter::once(&answer.start).chain(&answer.nodes);
    let by_id: BTreeMap<u64, &NodeView> = nodes.map(|node| (node.id, node)).collect();
    let mut text = String::new();
    let mut stack = vec![(answer.id, None::<&EdgeView>, 0_usize)];
    let mut hung = BTreeSet::new();
    while let Some((id, edge, depth)) = stack.pop() {
        let Some(node) = by_id.get(&id) else { continue };
        let first = hung.insert(id);
        let arrow = match edge {
            None => String::new(),
            Some(edge) if edge.to_obs_id == id => format!("-{}-> ", edge.relation_type),
            Some(edge) => format!("<-{}- ", edge.relation_type),
        };
        let again = if first { "" } else { " (above)" };
        let (indent, kind, says) = ("   ".repeat(depth), &node.memory_type, line(&node.text));
        writeln!(text, "{indent}{arrow}{id} {kind} {says}{again}")
            .expect("a String takes any text");
        if !first {
            continue;
        }
        let mut next = Vec::new();
        for edge in &answer.edges {
            let far = if edge.from_obs_id == id { edge.to_obs_id } else { edge.from_obs_id };
            let touches = edge.from_obs_id == id || edge.to_obs_id == id;
            // Only downwards: an edge back to where we came from, or sideways, is shown from its nearer end.
            if touches && by_id.get(&far).is_some_and(|other| other.hop > node.hop) {
                next.push((far, Some(edge), depth + 1));
            }
        }
        stack.extend(next.into_iter().rev());
    }
    text
}

pub fn scored(answer: &ScoreAnswer) -> String {
    let factors = &answer.factors;
    format!(
        "salience {:.3} (recency {:.3}, access {:.3}, citation {:.3}, importance {:.3})\n\
         score {:.2} of 5, importance left {:.3}, {} accesses, {} citations\n",
        answer.salience,
        factors.recency,
        factors.access,
        factors.citation,
        factors.importance,
        answer.score,
        answer.importance,
        answer.access_count,
        answer.citations,
    )
}

pub fn entities(answer: &EntityListAnswer) -> String {
    let one = |entity: &crate::stats::NamedEntityView| {
        format!("{:>6}  {:<8} {}\n", entity.memories, entity.kind, line(&entity.value))
    };
    answer.entities.iter().map(one).collect()
}
