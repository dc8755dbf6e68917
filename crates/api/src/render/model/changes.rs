//! What became of a change, in a line or two.

use std::fmt::Write as _;

use super::super::untrusted::line;
use super::{for_project, with_note};
use crate::capture::{CaptureAnswer, SuggestAnswer};
use crate::change::{ChangeAnswer, DeleteAnswer};
use crate::graph::RelateAnswer;
use crate::prompt::PromptView;
use crate::proof::ProveAnswer;
use crate::save::{SaveAnswer, SaveStatus};
use crate::score::ScoreAnswer;
use crate::session::SessionView;
use crate::stats::StatsAnswer;

/// Characters of a prompt that its answer repeats.
const PROMPT_CHARS: usize = 80;

pub fn saved(saved: &SaveAnswer) -> String {
    let how = match saved.status {
        SaveStatus::Created => "Memory saved",
        SaveStatus::Updated => "Memory updated",
        SaveStatus::Duplicate => "Memory already saved, counted",
        SaveStatus::Replayed => "Memory saved before",
    };
    let mut text = format!(
        "{how}: \"{}\" ({}) as #{}, version {}",
        line(&saved.title),
        line(&saved.kind),
        saved.id,
        saved.version
    );
    if saved.proposed {
        text.push_str("\nIt is a proposed rule until a person confirms it.");
    }
    if !saved.suggested_topic_key.is_empty() {
        write!(text, "\nSuggested topic_key: {}", line(&saved.suggested_topic_key))
            .expect("a String takes any text");
    }
    for near in &saved.similar {
        let (id, title, kind) = (near.id, line(&near.title), line(&near.kind));
        write!(text, "\nSimilar: #{id} {title} ({kind}, {:.2})", near.nearness)
            .expect("a String takes any text");
    }
    with_note(with_note(text, &saved.redacted), &saved.project_note)
}

pub fn summary_saved(saved: &SaveAnswer) -> String {
    let text = format!("Session summary saved{} as #{}", for_project(&saved.project), saved.id);
    with_note(text, &saved.redacted)
}

pub fn prompt_saved(saved: &PromptView) -> String {
    let shown: String = saved.content.chars().take(PROMPT_CHARS).collect();
    with_note(format!("Prompt saved: \"{}\" as #{}", line(&shown), saved.id), &saved.redacted)
}

pub fn updated(changed: &ChangeAnswer) -> String {
    let memory = &changed.memory;
    let text = format!(
        "Memory updated: #{} \"{}\" ({}, scope={}, version {})",
        memory.id,
        line(&memory.title),
        line(&memory.kind),
        memory.scope,
        memory.version
    );
    with_note(text, &changed.redacted)
}

pub fn suggested(answer: &SuggestAnswer) -> String {
    format!("Suggested topic_key: {}", line(&answer.topic_key))
}

pub fn session_started(session: &SessionView) -> String {
    let before = match (session.changed, &session.ended_at) {
        (true, _) => "",
        (false, None) => " before",
        (false, Some(_)) => " before and has ended; a new id starts another",
    };
    format!("Session \"{}\" started{}{before}", line(&session.id), for_project(&session.project))
}

pub fn session_ended(session: &SessionView) -> String {
    let before = if session.changed { "" } else { " before" };
    format!("Session \"{}\" completed{before}", line(&session.id))
}

pub fn captured(answer: &CaptureAnswer) -> String {
    format!(
        "Passive capture complete: extracted={} saved={} duplicates={}",
        answer.extracted, answer.saved, answer.duplicates
    )
}

pub fn related(answer: &RelateAnswer) -> String {
    let edge = &answer.edge;
    format!(
        "Relationship created: observation {} -[{}]-> observation {} (weight: {:.1}, edge ID: {})",
        edge.from_obs_id, edge.relation_type, edge.to_obs_id, edge.weight, edge.id
    )
}

pub fn scored(answer: &ScoreAnswer) -> String {
    format!(
        "Observation {} — score: {:.2}, access_count: {}, last_accessed: {}",
        answer.observation_id,
        answer.score,
        answer.access_count,
        answer.last_accessed.as_deref().unwrap_or("never")
    )
}

pub fn deleted(answer: &DeleteAnswer) -> String {
    let how = if answer.hard { "permanently deleted" } else { "soft-deleted" };
    format!("Memory #{} {how}", answer.id)
}

pub fn stats(answer: &StatsAnswer) -> String {
    let projects = line(&answer.projects.join(", "));
    let projects = if projects.is_empty() { "none yet".to_owned() } else { projects };
    format!(
        "Memory System Stats:\n- Sessions: {}\n- Observations: {}\n- Prompts: {}\n- Projects: {projects}",
        answer.sessions, answer.observations, answer.prompts
    )
}

pub fn archived(answer: &ChangeAnswer) -> String {
    format!("Observation {} archived", answer.memory.id)
}

pub fn pinned(answer: &ChangeAnswer) -> String {
    let how = if answer.memory.pinned { "pinned" } else { "unpinned" };
    format!("Memory #{} {how}", answer.memory.id)
}

pub fn restored(answer: &ChangeAnswer) -> String {
    format!("Memory #{} restored", answer.memory.id)
}

pub fn proven(answer: &ProveAnswer) -> String {
    let of = if answer.exists { "of" } else { "that there is no" };
    format!(
        "Proof {of} #{} ({} bytes) for root {} over {} entries; `cortex verify-proof` checks it",
        answer.id, answer.bytes, answer.root, answer.size
    )
}
