//! How a memory is said in one line of a briefing.

use kernel::memory::{Body, Fields, GoalStatus, Outcome, Polarity, Strength};
use kernel::render::one_line;

use crate::memory_recall::RecallHit;

/// Words of one line.
const LINE_WORDS_MAX: usize = 26;

/// One line without citation, and how the thing ended. Never holds a line break.
pub(super) fn phrase(memory: &RecallHit) -> (String, Option<String>) {
    let body = &memory.body;
    let title = one_line(&body.title);
    let text = match &body.fields {
        Fields::Identity(f) => {
            let name = f.name.as_deref().filter(|name| !title.contains(*name));
            let who = [name, f.role.as_deref().filter(|role| !title.contains(*role))];
            let who: Vec<&str> = who.into_iter().flatten().collect();
            let lead = if who.is_empty() { String::new() } else { format!("{}: ", who.join(", ")) };
            format!("{lead}{}", said(body, &title))
        }
        Fields::Goal(f) => {
            let due = f.due.map(|due| format!(", due {}", due.date())).unwrap_or_default();
            let paused = if f.status == GoalStatus::Paused { " (paused)" } else { "" };
            format!("{}{due}{paused}", short(&title))
        }
        Fields::Preference(f) => {
            let topic = f.topic.as_deref().filter(|topic| !has(&title, topic));
            let topic = topic.map(|topic| format!("{}: ", capital(topic))).unwrap_or_default();
            let avoid = f.polarity == Polarity::Avoid && !has(&title, "avoid");
            format!("{topic}{}{}", if avoid { "avoid " } else { "" }, said(body, &title))
        }
        Fields::Constraint(f) => {
            let when = f.trigger.as_ref().map(|t| format!(" (when {})", one_line(t)));
            let hard = if f.strength == Strength::Hard { "Must: " } else { "" };
            format!("{hard}{}{}", short(&title), when.unwrap_or_default())
        }
        Fields::Decision(f) => {
            let why = f.rationale.as_ref().map(|why| format!(", because {}", first(why)));
            format!("{}{}", short(&title), why.unwrap_or_default())
        }
        Fields::Fact(f) => {
            let parts = [&f.subject, &f.predicate, &f.object];
            let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
            let spoken = parts.join(" ");
            if spoken.is_empty() || has(&title, &spoken) { said(body, &title) } else { spoken }
        }
        Fields::Pattern(f) => {
            let seen = f.coverage.filter(|n| *n > 1).map(|n| format!(" (seen {n} times)"));
            format!("{}{}", short(&title), seen.unwrap_or_default())
        }
        Fields::Event(_) => short(&title),
        Fields::ArtifactRef(f) => {
            let uri = f.uri.as_ref().map(|uri| format!(" <{}>", one_line(uri)));
            format!("{}{}", short(&title), uri.unwrap_or_default())
        }
    };
    (within(&text, LINE_WORDS_MAX), ending(memory))
}

/// How an event ended, if that is worth a word.
fn ending(memory: &RecallHit) -> Option<String> {
    let Fields::Event(event) = &memory.body.fields else { return None };
    let ongoing = memory.head.tags.iter().any(|tag| tag == "ongoing");
    let ending = match event.outcome {
        Some(Outcome::Failure) => "failed",
        Some(Outcome::Partial) => "partly done",
        None if ongoing => "ongoing",
        Some(Outcome::Success) | None => return None,
    };
    Some(ending.to_owned())
}

/// The title, and the first sentence of the content if the title alone says little.
fn said(body: &Body, title: &str) -> String {
    let more = first(&body.content);
    let thin = title.split_whitespace().count() < 5;
    if thin && !more.is_empty() && !has(&more, title) && !has(title, &more) {
        format!("{}: {more}", short(title))
    } else if thin && has(&more, title) {
        more
    } else {
        short(title)
    }
}

/// The title without the full stop that a citation would follow.
fn short(title: &str) -> String {
    title.trim_end_matches(['.', ' ']).to_owned()
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn has(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(&part.to_lowercase())
}

/// The first sentence, on one line.
fn first(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = one_line(line.trim_start_matches(['#', '-', '*', '>', ' ']));
    let end = line.find(". ").map_or(line.len(), |at| at);
    short(&line[..end])
}

/// At most `max` words, the cut marked.
pub(super) fn within(text: &str, max: usize) -> String {
    let line = one_line(text);
    let words: Vec<&str> = line.split(' ').collect();
    if words.len() <= max { line } else { format!("{} …", words[..max - 1].join(" ")) }
}
