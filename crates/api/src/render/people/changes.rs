//! What became of a change.

use std::fmt::Write as _;

use super::super::untrusted::line;
use crate::change::{ChangeAnswer, ConfirmAnswer};
use crate::save::{SaveAnswer, SaveStatus};

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
