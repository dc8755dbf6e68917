//! Memories that were found, in lists and in full.

use std::fmt::Write as _;

use super::super::quotation::mark;
use super::super::untrusted::{line, lines, opening};
use super::with_note;
use crate::graph::GraphAnswer;
use crate::memory::Brief;
use crate::read::GetAnswer;
use crate::search::{ArmView, HitView, SearchAnswer};
use crate::timeline::TimelineAnswer;

/// Characters of a question that an answer repeats.
const ECHO_CHARS: usize = 200;
/// Characters of a preview beside what each arm said.
const ARMS_PREVIEW_CHARS: usize = 120;
/// Beside a rule that no person has confirmed.
const PROPOSED: &str = " (proposed, not confirmed by a person)";

/// A question as an answer repeats it: whoever asked knows the rest.
fn echoed(question: &str) -> String {
    match question.char_indices().nth(ECHO_CHARS) {
        Some((end, _)) => format!("{}…", line(&question[..end])),
        None => line(question),
    }
}

/// What stands beside a title: that it is a proposal, and whose words it is if it gives orders.
fn beside(proposed: bool, mark: Option<String>) -> String {
    let proposed = if proposed { PROPOSED } else { "" };
    format!("{proposed}{}", mark.map(|mark| format!(" ({mark})")).unwrap_or_default())
}

fn beside_hit(hit: &HitView) -> String {
    beside(hit.proposed, mark(&hit.by, hit.author, &[&hit.title, &hit.preview]))
}

fn beside_brief(brief: &Brief) -> String {
    beside(brief.proposed, mark(&brief.by, brief.author, &[&brief.title, &brief.preview]))
}

/// True if memories were found, but none by a word of the question.
fn by_meaning_alone(found: &SearchAnswer) -> bool {
    let worded = |arm: &ArmView| arm.arm == "words" && arm.score > 0.0;
    found.mode != "newest" && !found.hits.iter().flat_map(|hit| &hit.arms).any(worded)
}

/// What a search found.
pub fn found(found: &SearchAnswer) -> String {
    with_note(listed(found), found.note.as_deref().unwrap_or_default())
}

fn listed(found: &SearchAnswer) -> String {
    if found.hits.is_empty() {
        let elsewhere = found.elsewhere.as_deref().map(|text| format!("\n{}", line(text)));
        return format!(
            "No memories found for: \"{}\"{}",
            echoed(&found.query),
            elsewhere.unwrap_or_default()
        );
    }
    let is_answered = found.answerable.as_ref().is_none_or(|it| it.level != "nothing");
    let mut text = if is_answered {
        format!("Found {} memories:\n\n", found.hits.len())
    } else {
        format!("Nothing here seems to answer this. The nearest {}:\n\n", found.hits.len())
    };
    for (n, hit) in found.hits.iter().enumerate() {
        let standing =
            if hit.standing == "current" { String::new() } else { format!(" ({})", hit.standing) };
        let (kind, title) = (line(&hit.kind), line(&hit.title));
        writeln!(text, "[{}] #{} ({kind}) — {title}{standing}{}", n + 1, hit.id, beside_hit(hit))
            .expect("a String takes any text");
        let more = if hit.cut { " [preview]" } else { "" };
        write!(text, "    {}{more}\n    {}", opening(&hit.preview), hit.created_at)
            .expect("a String takes any text");
        if !hit.project.is_empty() {
            write!(text, " | project: {}", line(&hit.project)).expect("a String takes any text");
        }
        writeln!(text, " | scope: {}", hit.scope).expect("a String takes any text");
        let related = [("superseded by", &hit.superseded_by), ("contradicts", &hit.contradicts)];
        for (relation, others) in related {
            for other in others {
                writeln!(text, "    {relation} #{}: {}", other.id, line(&other.title))
                    .expect("a String takes any text");
            }
        }
        text.push('\n');
    }
    if found.hits.iter().any(|hit| hit.cut) {
        text.push_str("---\nPreviews are 300 characters; mem_get_observation(id) has the rest.\n");
    }
    if by_meaning_alone(found) {
        text.push_str("Note: no memory has a word of the question; these are nearest in meaning.");
    }
    text.trim_end().to_owned()
}

/// What a search found, with the share of each arm.
pub fn found_by_arms(found: &SearchAnswer) -> String {
    with_note(listed_by_arms(found), found.note.as_deref().unwrap_or_default())
}

fn listed_by_arms(found: &SearchAnswer) -> String {
    if found.hits.is_empty() {
        return format!("No results found for \"{}\"", echoed(&found.query));
    }
    let mut text = format!(
        "Search results for \"{}\" [{}] ({} found):\n",
        echoed(&found.query),
        found.mode,
        found.hits.len()
    );
    for (n, hit) in found.hits.iter().enumerate() {
        let preview: String = hit.preview.chars().take(ARMS_PREVIEW_CHARS).collect();
        writeln!(
            text,
            "{}. [{}] {} ({}, rank: {:.2}){}",
            n + 1,
            hit.id,
            line(&hit.title),
            line(&hit.kind),
            hit.rank,
            beside_hit(hit)
        )
        .expect("a String takes any text");
        let arms: Vec<String> = hit
            .arms
            .iter()
            .filter(|arm| arm.score > 0.0)
            .map(|arm| format!("{} {:.2}", arm.arm, arm.score))
            .collect();
        writeln!(text, "   {}\n   {}", opening(&preview), arms.join(", "))
            .expect("a String takes any text");
    }
    text.trim_end().to_owned()
}

/// One memory in full. What gives orders and is not a person's stands between two rules that name its author.
pub fn memory(got: &GetAnswer) -> String {
    let memory = &got.memory;
    let mut text = format!("#{} [{}] {}\n", memory.id, line(&memory.kind), line(&memory.title));
    let content = lines(&memory.content);
    match mark(&memory.by, memory.author, &[&memory.title, &memory.content]) {
        Some(mark) => {
            let id = memory.id;
            writeln!(text, "--- memory #{id} ({mark}) ---\n{content}\n--- end of memory #{id} ---")
        }
        None => writeln!(text, "{content}"),
    }
    .expect("a String takes any text");
    for (name, value) in [
        ("Session", &memory.session_id),
        ("Project", &memory.project),
        ("Scope", &memory.scope),
        ("Topic", &memory.topic_key),
        ("Created", &memory.created_at),
    ] {
        if !value.is_empty() {
            writeln!(text, "{name}: {}", line(value)).expect("a String takes any text");
        }
    }
    if !memory.author.is_person() {
        writeln!(text, "Author: {} ({})", line(&memory.by), memory.author.name())
            .expect("a String takes any text");
    }
    if memory.proposed {
        text.push_str("Proposed: no person has confirmed this rule\n");
    }
    if memory.latest > 1 {
        writeln!(text, "Revisions: {}", memory.latest).expect("a String takes any text");
    }
    if memory.duplicates > 0 {
        writeln!(text, "Duplicates: {}", memory.duplicates).expect("a String takes any text");
    }
    for (name, ids) in
        [("Superseded by", &got.superseded_by), ("Contradicted by", &got.contradicted_by)]
    {
        if !ids.is_empty() {
            let ids: Vec<String> = ids.iter().map(|id| format!("#{id}")).collect();
            writeln!(text, "{name}: {}", ids.join(", ")).expect("a String takes any text");
        }
    }
    text.trim_end().to_owned()
}

/// What was saved around a memory.
pub fn timeline(answer: &TimelineAnswer) -> String {
    let one = |brief: &Brief| {
        format!(
            "#{} [{}] {}{} — {}\n",
            brief.id,
            line(&brief.kind),
            line(&brief.title),
            beside_brief(brief),
            line(&brief.preview)
        )
    };
    let mut text = String::new();
    if let Some(session) = &answer.session {
        writeln!(text, "Session: {} ({})", line(&session.id), session.started_at)
            .expect("a String takes any text");
    }
    text.push_str("--- Before ---\n");
    answer.before.iter().for_each(|brief| text.push_str(&one(brief)));
    let focus = &answer.focus;
    writeln!(
        text,
        ">>> #{} [{}] {}{} <<<\n{}\n{}\n--- After ---",
        focus.id,
        line(&focus.kind),
        line(&focus.title),
        beside_brief(focus),
        opening(&focus.preview),
        focus.created_at
    )
    .expect("a String takes any text");
    answer.after.iter().for_each(|brief| text.push_str(&one(brief)));
    text.trim_end().to_owned()
}

/// What a walk found, nearest first, and the edges it went along.
pub fn walked(answer: &GraphAnswer) -> String {
    let (id, depth) = (answer.id, answer.depth);
    if answer.nodes.is_empty() {
        return format!("No related observations found for ID {id} (depth: {depth})");
    }
    let count = answer.nodes.len();
    let mut text =
        format!("Related observations for ID {id} (depth: {depth}, found: {count}):\n\n");
    for node in &answer.nodes {
        let mark = if node.superseded { ", superseded" } else { "" };
        let (title, kind) = (line(&node.title), line(&node.kind));
        writeln!(
            text,
            "- [{}] {title} ({kind}, {} hops{mark}) — {}",
            node.id,
            node.hop,
            line(&node.preview)
        )
        .expect("a String takes any text");
    }
    text.push('\n');
    for edge in &answer.edges {
        writeln!(
            text,
            "{} -[{} {:.1}]-> {} (edge {})",
            edge.from_obs_id, edge.relation_type, edge.weight, edge.to_obs_id, edge.id
        )
        .expect("a String takes any text");
    }
    text.trim_end().to_owned()
}
