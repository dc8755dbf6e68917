//! What became of a change, in a line or two.

use std::fmt::Write as _;

use serde_json::json;

use super::super::untrusted::line;
use super::excerpt;
use super::for_project;
use super::reader::{AnswerForModel, LIST_TOKENS, ModelReader, field, first_that_fits};
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
/// Names of projects that statistics list; the newest first.
const PROJECTS_MAX: usize = 50;

pub fn saved(saved: &SaveAnswer) -> AnswerForModel {
    let (how, status) = match saved.status {
        SaveStatus::Created => ("Memory saved", "created"),
        SaveStatus::Updated => ("Memory updated", "updated"),
        SaveStatus::Duplicate => ("Memory already saved, counted", "duplicate"),
        SaveStatus::Replayed => ("Memory saved before", "replayed"),
    };
    let (id, version) = (saved.id, saved.version);
    let (title, kind) = (excerpt::title(&saved.title), line(&saved.kind));
    let mut text = format!("{how}: \"{title}\" ({kind}) as #{id}, version {version}");
    let topic = line(&saved.suggested_topic_key);
    if !topic.is_empty() {
        write!(text, "\nSuggested topic_key: {topic}").expect("a String takes any text");
    }
    let similar: Vec<String> = saved
        .similar
        .iter()
        .map(|near| {
            let (id, title, kind) = (near.id, excerpt::title(&near.title), line(&near.kind));
            format!("#{id} {title} ({kind}, {:.2})", near.nearness)
        })
        .collect();
    for near in &similar {
        write!(text, "\nSimilar: {near}").expect("a String takes any text");
    }
    let proposed =
        if saved.proposed { "it is a proposed rule until a person confirms it" } else { "" };
    // Where nothing says which project is meant, the agent is asked.
    let project = if saved.project.is_empty() && saved.scope == "project" {
        "it belongs to no project; name one with `project` if it is about one"
    } else {
        &saved.project_note
    };
    let notes = [proposed, &saved.cleaned, &saved.redacted, &saved.type_note, project];
    AnswerForModel::new(
        text,
        [
            ("id", json!(id)),
            ("status", json!(status)),
            ("title", field(&title)),
            ("type", field(&kind)),
            ("version", json!(version)),
        ],
    )
    .with("suggested_topic_key", field(&topic))
    .with("similar", similar)
    .noted(notes)
}

pub fn summary_saved(saved: &SaveAnswer) -> AnswerForModel {
    let (id, project) = (saved.id, line(&saved.project));
    let text = format!("Session summary saved{} as #{id}", for_project(&saved.project));
    AnswerForModel::new(text, [("id", json!(id)), ("status", json!("summary saved"))])
        .with("project", field(&project))
        .noted([saved.redacted.as_str()])
}

pub fn prompt_saved(saved: &PromptView) -> AnswerForModel {
    let shown: String = saved.content.chars().take(PROMPT_CHARS).collect();
    let shown = line(&shown);
    let text = format!("Prompt saved: \"{shown}\" as #{}", saved.id);
    AnswerForModel::new(text, [("id", json!(saved.id)), ("saved", field(&shown))])
        .noted([saved.redacted.as_str()])
}

pub fn updated(changed: &ChangeAnswer) -> AnswerForModel {
    let memory = &changed.memory;
    let (id, version, scope) = (memory.id, memory.version, &memory.scope);
    let (title, kind) = (excerpt::title(&memory.title), line(&memory.kind));
    let text =
        format!("Memory updated: #{id} \"{title}\" ({kind}, scope={scope}, version {version})");
    AnswerForModel::new(
        text,
        [
            ("id", json!(id)),
            ("title", field(&title)),
            ("type", field(&kind)),
            ("scope", json!(scope)),
            ("version", json!(version)),
        ],
    )
    .noted([changed.cleaned.as_str(), &changed.redacted])
}

pub fn suggested(answer: &SuggestAnswer) -> AnswerForModel {
    let key = line(&answer.topic_key);
    AnswerForModel::new(format!("Suggested topic_key: {key}"), [("topic_key", field(&key))])
}

pub fn session_started(session: &SessionView) -> AnswerForModel {
    let (before, status) = match (session.changed, &session.ended_at) {
        (true, _) => ("", "started"),
        (false, None) => (" before", "started before"),
        (false, Some(_)) => {
            let ended = " before and has ended; a new id starts another";
            (ended, "started before and has ended; a new id starts another")
        }
    };
    let id = line(&session.id);
    let text = format!("Session \"{id}\" started{}{before}", for_project(&session.project));
    AnswerForModel::new(text, [("id", field(&id)), ("status", json!(status))])
        .with("project", field(&session.project))
}

pub fn session_ended(session: &SessionView) -> AnswerForModel {
    let status = if session.changed { "completed" } else { "completed before" };
    let id = line(&session.id);
    let text = format!("Session \"{id}\" {status}");
    AnswerForModel::new(text, [("id", field(&id)), ("status", json!(status))])
}

pub fn captured(answer: &CaptureAnswer) -> AnswerForModel {
    let (extracted, saved, duplicates) = (answer.extracted, answer.saved, answer.duplicates);
    let text = format!(
        "Passive capture complete: extracted={extracted} saved={saved} duplicates={duplicates}"
    );
    AnswerForModel::new(
        text,
        [
            ("extracted", json!(extracted)),
            ("saved", json!(saved)),
            ("duplicates", json!(duplicates)),
        ],
    )
}

pub fn related(answer: &RelateAnswer) -> AnswerForModel {
    let edge = &answer.edge;
    let (id, from, to, weight) = (edge.id, edge.from_obs_id, edge.to_obs_id, edge.weight);
    let relation = line(&edge.relation_type);
    let text = format!(
        "Relationship created: observation {from} -[{relation}]-> observation {to} \
         (weight: {weight:.1}, edge ID: {id})"
    );
    AnswerForModel::new(
        text,
        [
            ("id", json!(id)),
            ("from_id", json!(from)),
            ("relation_type", json!(relation)),
            ("to_id", json!(to)),
            ("weight", json!(weight)),
        ],
    )
}

pub fn scored(answer: &ScoreAnswer, reader: &ModelReader) -> AnswerForModel {
    let (id, accesses) = (answer.observation_id, answer.access_count);
    let last = answer.last_accessed.as_deref().unwrap_or("never");
    let score = (answer.score * 100.0).round() / 100.0;
    let mut text = format!(
        "Observation {id} — score: {score:.2}, access_count: {accesses}, last_accessed: {last}"
    );
    let mut why = None;
    if reader.explain {
        let (edges, citations, shown) = (answer.incoming_edges, answer.citations, answer.shown);
        write!(text, "\nincoming edges {edges}, citations {citations}, shown {shown}")
            .expect("a String takes any text");
        why = Some(json!({"incoming_edges": edges, "citations": citations, "shown": shown}));
    }
    AnswerForModel::new(
        text,
        [
            ("observation_id", json!(id)),
            ("score", json!(score)),
            ("access_count", json!(accesses)),
            ("last_accessed", json!(last)),
        ],
    )
    .with("explain", why)
}

pub fn deleted(answer: &DeleteAnswer) -> AnswerForModel {
    let status = if answer.hard { "permanently deleted" } else { "soft-deleted" };
    changed("Memory #", answer.id, status)
}

pub fn stats(answer: &StatsAnswer, reader: &ModelReader) -> AnswerForModel {
    let all = answer.projects.len();
    let ways = (0..=all.min(PROJECTS_MAX)).rev().map(|kept| {
        let names: Vec<String> = answer.projects.iter().take(kept).map(|name| line(name)).collect();
        let listed = if all == 0 { "none yet".to_owned() } else { names.join(", ") };
        let (sessions, observations, prompts) =
            (answer.sessions, answer.observations, answer.prompts);
        let text = format!(
            "Memory System Stats:\n- Sessions: {sessions}\n- Observations: {observations}\n\
             - Prompts: {prompts}\n- Projects: {listed}"
        );
        let more = (kept < all).then(|| format!("{} more projects are not listed", all - kept));
        AnswerForModel::new(
            text,
            [
                ("sessions", json!(sessions)),
                ("observations", json!(observations)),
                ("prompts", json!(prompts)),
                ("projects", names.iter().map(|name| field(name)).collect()),
            ],
        )
        .noted(more.as_deref())
    });
    first_that_fits(reader.room(LIST_TOKENS), ways).unwrap_or_default()
}

pub fn archived(answer: &ChangeAnswer, reader: &ModelReader) -> AnswerForModel {
    let back = if reader.has("mem_restore") { "mem_restore brings it back" } else { "" };
    changed("Observation ", answer.memory.id, "archived").noted([back])
}

pub fn pinned(answer: &ChangeAnswer) -> AnswerForModel {
    let status = if answer.memory.pinned { "pinned" } else { "unpinned" };
    changed("Memory #", answer.memory.id, status)
}

pub fn restored(answer: &ChangeAnswer) -> AnswerForModel {
    changed("Memory #", answer.memory.id, "restored")
}

fn changed(what: &str, id: u64, status: &str) -> AnswerForModel {
    let text = format!("{what}{id} {status}");
    AnswerForModel::new(text, [("id", json!(id)), ("status", json!(status))])
}

pub fn proven(answer: &ProveAnswer, reader: &ModelReader) -> AnswerForModel {
    let (id, bytes, root, size) = (answer.id, answer.bytes, &answer.root, answer.size);
    let of = if answer.exists { "of" } else { "that there is no" };
    let said = format!("Proof {of} #{id} ({bytes} bytes) for root {root} over {size} entries");
    let whole = AnswerForModel::new(
        format!("{said}; `cortex verify-proof` checks it:\n{}", answer.proof),
        [
            ("id", json!(id)),
            ("exists", json!(answer.exists)),
            ("root", json!(root)),
            ("size", json!(size)),
            ("proof", json!(answer.proof)),
        ],
    );
    match reader.max_tokens {
        // Half a proof proves nothing.
        Some(room) if whole.tokens() > room => {
            let note =
                format!("the file was left out: it takes a max_tokens of {}", whole.tokens());
            let fields =
                [("id", json!(id)), ("exists", json!(answer.exists)), ("proof", json!(""))];
            AnswerForModel::new(format!("Proof {of} #{id} ({bytes} bytes)"), fields)
                .noted([note.as_str()])
        }
        _ => whole,
    }
}
