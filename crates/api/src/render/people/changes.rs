//! What became of a change.

use std::fmt::Write as _;

use super::super::untrusted::line;
use crate::change::{ChangeAnswer, ConfirmAnswer, DeleteAnswer};
use crate::graph::{RelateAnswer, UnrelateAnswer};
use crate::memory::EdgeView;
use crate::prompt::PromptView;
use crate::save::{SaveAnswer, SaveStatus};
use crate::session::SessionView;

pub fn confirmed(answer: &ConfirmAnswer) -> String {
    let mut text = String::new();
    for one in &answer.confirmed {
        let verb = if one.changed { "confirmed" } else { "holds already:" };
        writeln!(text, "{verb} {}#{} {}", one.id, one.version, line(&one.title))
            .expect("a String takes any text");
    }
    text
}

pub fn saved(saved: &SaveAnswer) -> String {
    let verb = match saved.status {
        SaveStatus::Created => "saved",
        SaveStatus::Updated => "updated",
        SaveStatus::Duplicate => "saved before, counted:",
        SaveStatus::Replayed => "saved before",
    };
    format!("{verb} {}\n", saved.uri)
}

/// What is worth knowing besides that it is saved, a line each.
pub fn beside_save(saved: &SaveAnswer) -> Vec<String> {
    let notes = [&saved.cleaned, &saved.redacted, &saved.type_note, &saved.project_note];
    let notes = notes.into_iter().filter(|note| !note.is_empty());
    let mut all: Vec<String> = notes.map(|note| line(note)).collect();
    for near in &saved.similar {
        all.push(format!("similar: {} {} ({:.2})", near.id, line(&near.title), near.nearness));
    }
    all
}

pub fn archived(answer: &ChangeAnswer) -> String {
    let verb = if answer.changed { "archived" } else { "unchanged" };
    format!("{verb} {}\n", answer.memory.uri)
}

pub fn updated(answer: &ChangeAnswer) -> String {
    let verb = if answer.changed { "updated" } else { "unchanged" };
    format!("{verb} {}\n", answer.memory.uri)
}

pub fn restored(answer: &ChangeAnswer) -> String {
    let verb = if answer.changed { "restored" } else { "unchanged" };
    format!("{verb} {}\n", answer.memory.uri)
}

pub fn deleted(answer: &DeleteAnswer) -> String {
    let verb = match (answer.changed, answer.hard) {
        (false, _) => "unchanged",
        (true, true) => "erased",
        (true, false) => "forgot",
    };
    match answer.uri.as_str() {
        "" => format!("{verb} the text of entry {}\n", answer.id),
        uri => format!("{verb} {uri}\n"),
    }
}

pub fn related(answer: &RelateAnswer) -> String {
    let verb = if answer.changed { "related" } else { "unchanged:" };
    let EdgeView { from_obs_id, relation_type, to_obs_id, .. } = &answer.edge;
    format!("{verb} {from_obs_id} {relation_type} {to_obs_id}\n")
}

pub fn unrelated(answer: &UnrelateAnswer) -> String {
    let verb = if answer.changed { "unrelated" } else { "unchanged:" };
    let UnrelateAnswer { from_obs_id, relation_type, to_obs_id, .. } = answer;
    format!("{verb} {from_obs_id} {relation_type} {to_obs_id}\n")
}

pub fn session_started(session: &SessionView) -> String {
    let verb = if session.changed { "started" } else { "unchanged:" };
    let state = if session.ended_at.is_some() { ", which has ended" } else { "" };
    format!("{verb} {}{state}\n", line(&session.id))
}

pub fn session_ended(session: &SessionView) -> String {
    let verb = if session.changed { "ended" } else { "unchanged:" };
    format!("{verb} {}\n", line(&session.id))
}

pub fn prompt_kept(prompt: &PromptView) -> String {
    format!("kept as entry {}\n", prompt.id)
}
