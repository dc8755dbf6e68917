//! Memories in full, what was saved around them, and what they are connected to.
//!
//! What must stay true: one memory is shown whole unless its reader has no room for it, and then the answer says how
//! much is missing; of lists the nearest stay.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::super::quotation::mark;
use super::super::tokens;
use super::super::untrusted::{line, lines, opening};
use super::excerpt::{self, beginning, beyond_title};
use super::reader::{AnswerForModel, LIST_TOKENS, ModelReader, field, first_that_fits, put};
use super::{PROPOSED_MARK, when};
use crate::graph::{GraphAnswer, NodeView};
use crate::memory::{Brief, EdgeView, Memory};
use crate::read::GetAnswer;
use crate::timeline::TimelineAnswer;

/// Characters of a neighbour, the longest that fits first.
const NEIGHBOUR_CHARS: [usize; 5] = [150, 100, 60, 30, 0];
/// Characters of one field of a memory's type.
const FIELD_CHARS: usize = 400;
/// Tokens that are set aside for what is said of a text that is cut.
const CUT_NOTE_TOKENS: usize = 25;

/// One memory in full. What gives orders and is not a person's stands between two rules that name its author.
pub fn memory(got: &GetAnswer, reader: &ModelReader) -> AnswerForModel {
    let whole = memory_of(got, reader, &got.memory.content, None);
    let Some(room) = reader.max_tokens.filter(|room| whole.tokens() > *room) else { return whole };
    // What is not content is there whatever it costs; the content gets the rest.
    let around = memory_of(got, reader, "", None).tokens() + CUT_NOTE_TOKENS;
    let content = &got.memory.content;
    let mut kept = beginning_of(content, room.saturating_sub(around));
    loop {
        let (shown, all) = (kept.chars().count(), content.chars().count());
        let said = format!("cut: {shown} of {all} characters; a larger max_tokens shows more");
        let answer = memory_of(got, reader, kept, Some(&said));
        if answer.tokens() <= room || kept.is_empty() {
            return answer;
        }
        kept = &kept[..kept.floor_char_boundary(kept.len() * 9 / 10)];
    }
}

/// As much of a text as costs at most so many tokens.
fn beginning_of(text: &str, room: usize) -> &str {
    let (mut fits, mut too_much) = (0, text.len() + 1);
    while fits + 1 < too_much {
        let middle = fits.midpoint(too_much);
        let end = text.floor_char_boundary(middle);
        if tokens::estimate(&text[..end]) <= room { fits = middle } else { too_much = middle }
    }
    &text[..text.floor_char_boundary(fits)]
}

fn memory_of(
    got: &GetAnswer,
    reader: &ModelReader,
    content: &str,
    cut: Option<&str>,
) -> AnswerForModel {
    let memory = &got.memory;
    // A title without bounds would leave no room for the text; saved titles that long stand in the text whole.
    let title = if reader.max_tokens.is_some() {
        excerpt::title(&memory.title)
    } else {
        line(&memory.title)
    };
    let (id, kind) = (memory.id, line(&memory.kind));
    let content = lines(content);
    let content = match mark(&memory.by, memory.author, &[&memory.title, &memory.content]) {
        Some(mark) => {
            format!("--- memory #{id} ({mark}) ---\n{content}\n--- end of memory #{id} ---")
        }
        None => content,
    };
    let mut text = format!("#{id} [{kind}] {title}\n{content}\n");
    let mut fields = Map::new();
    put(&mut fields, "id", id);
    put(&mut fields, "type", field(&kind));
    put(&mut fields, "title", field(&title));
    // The rules around it are ours.
    fields.insert("content".to_owned(), Value::String(content));
    let author = if memory.author.is_person() {
        String::new()
    } else {
        format!("{} ({})", memory.by, memory.author.name())
    };
    let proposed = if memory.proposed { "no person has confirmed this rule" } else { "" };
    let counted = |n: u32, from: u32| if n > from { n.to_string() } else { String::new() };
    let named = |ids: &[u64]| ids.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let revisions = counted(memory.latest, 1);
    let duplicates = counted(memory.duplicates, 0);
    let (replaced, contradicted) = (named(&got.superseded_by), named(&got.contradicted_by));
    let happened = memory.happened_at.as_deref().unwrap_or_default();
    // A day before it was recorded is the day it happened, which is said already.
    let later = memory.valid_from.as_deref().filter(|from| *from > memory.created_at.as_str());
    let from = later.unwrap_or_default();
    for (name, key, value) in [
        ("Session", "session_id", memory.session_id.as_str()),
        ("Project", "project", &memory.project),
        ("Scope", "scope", &memory.scope),
        ("Topic", "topic_key", &memory.topic_key),
        ("Happened", "happened_at", happened),
        ("Created", "created_at", &memory.created_at),
        ("Author", "author", &author),
        ("Proposed", "proposed", proposed),
        ("Forgotten", "forgotten", memory.deleted_at.as_deref().unwrap_or_default()),
        ("Put away", "put_away", if memory.archived { "yes" } else { "" }),
        ("True from", "valid_from", from),
        ("True until", "valid_until", memory.valid_until.as_deref().unwrap_or_default()),
        ("Expires", "expires", memory.expires.as_deref().unwrap_or_default()),
        ("Revisions", "revisions", &revisions),
        ("Duplicates", "duplicates", &duplicates),
        ("Superseded by", "superseded_by", &replaced),
        ("Contradicted by", "contradicted_by", &contradicted),
    ] {
        if !value.is_empty() {
            writeln!(text, "{name}: {}", line(value)).expect("a String takes any text");
            put(&mut fields, key, field(value));
        }
    }
    for (name, value) in typed_fields(memory) {
        writeln!(text, "{}: {value}", capitalised(&name)).expect("a String takes any text");
        put(&mut fields, &name, field(&value));
    }
    if reader.explain {
        let (accesses, citations) = (memory.accesses, memory.citations);
        writeln!(
            text,
            "{} | entry {} | {accesses} accesses, {citations} citations",
            memory.uri, memory.entry
        )
        .expect("a String takes any text");
        let why = json!({
            "uri": memory.uri, "entry": memory.entry, "accesses": accesses, "citations": citations,
        });
        put(&mut fields, "explain", why);
    }
    let text = text.trim_end().to_owned();
    AnswerForModel { text, structured: fields }.noted(cut)
}

/// What the fields of a memory's type say beside its text: why, when, what became of it. What is so by default, and
/// what the text says as well, is left out.
fn typed_fields(memory: &Memory) -> Vec<(String, String)> {
    const BY_DEFAULT: [(&str, &str); 4] = [
        ("status", "accepted"),
        ("status", "active"),
        ("strength", "firm"),
        ("polarity", "prefer"),
    ];
    let said = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(all) => all
            .iter()
            .map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned))
            .collect::<Vec<_>>()
            .join("; "),
        other => other.to_string(),
    };
    let fields = memory.fields.as_object().into_iter().flatten();
    fields
        .map(|(name, value)| (name.clone(), said(value)))
        .filter(|(name, value)| {
            name != "happened_at"
                && !BY_DEFAULT.contains(&(name.as_str(), value.as_str()))
                && !memory.content.contains(value.as_str())
        })
        .map(|(name, value)| (name, line(&beginning(&value, FIELD_CHARS))))
        .collect()
}

/// `as_of` as a label: `As of`.
fn capitalised(name: &str) -> String {
    let spaced = name.replace('_', " ");
    let mut chars = spaced.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// What was saved around a memory.
pub fn timeline(answer: &TimelineAnswer, reader: &ModelReader) -> AnswerForModel {
    let most = answer.before.len().max(answer.after.len());
    let shorter = NEIGHBOUR_CHARS.into_iter().map(|chars| (most, chars));
    let fewer = (0..most).rev().map(|kept| (kept, 0));
    let ways = shorter.chain(fewer).map(|(kept, chars)| timeline_of(answer, kept, chars));
    first_that_fits(reader.room(LIST_TOKENS), ways).unwrap_or_default()
}

/// At most `kept` neighbours on each side, with so many characters of each.
fn timeline_of(answer: &TimelineAnswer, kept: usize, chars: usize) -> AnswerForModel {
    let before = &answer.before[answer.before.len().saturating_sub(kept)..];
    let after = &answer.after[..answer.after.len().min(kept)];
    let left_out = answer.before.len() + answer.after.len() - before.len() - after.len();
    let mut text = String::new();
    let mut fields = Map::new();
    if let Some(session) = &answer.session {
        let said = format!("{} ({})", line(&session.id), session.started_at);
        writeln!(text, "Session: {said}").expect("a String takes any text");
        put(&mut fields, "session", field(&said));
    }
    let neighbours = |briefs: &[Brief], text: &mut String| -> Vec<Value> {
        let mut list = Vec::new();
        for brief in briefs {
            let preview = line(&beginning(&beyond_title(&brief.title, &brief.preview), chars));
            let shown = if preview.is_empty() { String::new() } else { format!(" — {preview}") };
            writeln!(text, "{}{shown}", titled(brief)).expect("a String takes any text");
            list.push(Value::Object(brief_fields(brief, &preview)));
        }
        list
    };
    text.push_str("--- Before ---\n");
    let before = neighbours(before, &mut text);
    let focus = &answer.focus;
    let shown = opening(&beginning(&focus.preview, chars.max(NEIGHBOUR_CHARS[0]) * 3));
    writeln!(text, ">>> {} <<<\n{shown}\n--- After ---", titled(focus))
        .expect("a String takes any text");
    let focus = brief_fields(focus, &shown);
    let after = neighbours(after, &mut text);
    fields.insert("before".to_owned(), Value::Array(before));
    fields.insert("focus".to_owned(), Value::Object(focus));
    fields.insert("after".to_owned(), Value::Array(after));
    let note = (left_out > 0)
        .then(|| format!("{left_out} farther ones did not fit; a larger max_tokens shows them"));
    let text = text.trim_end().to_owned();
    AnswerForModel { text, structured: fields }.noted(note.as_deref())
}

/// `#7 [decision] 2026-11-18 Title`, with whose words it is.
fn titled(brief: &Brief) -> String {
    let (id, kind, title) = (brief.id, line(&brief.kind), excerpt::title(&brief.title));
    let when = when(&brief.created_at, brief.happened_at.as_deref());
    let beside = marks(brief).map(|mark| format!(" ({mark})")).unwrap_or_default();
    format!("#{id} [{kind}] {when} {title}{beside}")
}

fn marks(brief: &Brief) -> Option<String> {
    let proposed = brief.proposed.then(|| PROPOSED_MARK.to_owned());
    let quoted = mark(&brief.by, brief.author, &[&brief.title, &brief.preview]);
    let said: Vec<String> = [proposed, quoted].into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join("; "))
}

fn brief_fields(brief: &Brief, preview: &str) -> Map<String, Value> {
    let mut fields = Map::new();
    put(&mut fields, "id", brief.id);
    put(&mut fields, "type", field(&brief.kind));
    put(&mut fields, "date", when(&brief.created_at, brief.happened_at.as_deref()));
    put(&mut fields, "title", field(&excerpt::title(&brief.title)));
    put(&mut fields, "text", field(preview));
    put(&mut fields, "mark", marks(brief));
    fields
}

/// What a walk found, nearest first, and the edges it went along.
pub fn walked(answer: &GraphAnswer, reader: &ModelReader) -> AnswerForModel {
    let (id, depth) = (answer.id, answer.depth);
    if answer.nodes.is_empty() {
        let said = format!("No related observations found for ID {id} (depth: {depth})");
        return AnswerForModel::new(
            said.clone(),
            [("notes", json!([said])), ("nodes", json!([])), ("edges", json!([]))],
        );
    }
    let all = answer.nodes.len();
    let shorter = [80, 40, 0].into_iter().map(|chars| (all, chars));
    let fewer = (0..all).rev().map(|kept| (kept, 0));
    let ways = shorter.chain(fewer).map(|(kept, chars)| walked_to(answer, kept, chars));
    first_that_fits(reader.room(LIST_TOKENS), ways).unwrap_or_default()
}

/// The `kept` nearest, and the edges among them.
fn walked_to(answer: &GraphAnswer, kept: usize, chars: usize) -> AnswerForModel {
    let (id, depth, count) = (answer.id, answer.depth, answer.nodes.len());
    let mut text = format!("Related observations for ID {id} (depth: {depth}, found: {count}):\n");
    let nodes = &answer.nodes[..kept];
    let mut listed = Vec::new();
    for node in nodes {
        let (fields, said) = node_of(node, chars);
        writeln!(text, "{said}").expect("a String takes any text");
        listed.push(Value::Object(fields));
    }
    let is_shown = |end: u64| end == id || nodes.iter().any(|node| node.id == end);
    let among = |edge: &&EdgeView| is_shown(edge.from_obs_id) && is_shown(edge.to_obs_id);
    let edges: Vec<String> = answer.edges.iter().filter(among).map(edge).collect();
    for edge in &edges {
        writeln!(text, "{edge}").expect("a String takes any text");
    }
    let left_out = (kept < count).then(|| {
        format!("{} farther ones did not fit; a larger max_tokens shows them", count - kept)
    });
    let capped = answer.capped.then(|| "there is more than a walk may reach".to_owned());
    let notes: Vec<String> = [left_out, capped].into_iter().flatten().collect();
    AnswerForModel::new(text.trim_end(), [("nodes", json!(listed)), ("edges", json!(edges))])
        .noted(notes.iter().map(String::as_str))
}

fn node_of(node: &NodeView, chars: usize) -> (Map<String, Value>, String) {
    let (title, kind) = (excerpt::title(&node.title), line(&node.kind));
    let preview = line(&beginning(&node.preview, chars));
    let shown = if preview.is_empty() { String::new() } else { format!(" — {preview}") };
    let state = if node.superseded { ", superseded" } else { "" };
    let said = format!("- [{}] {title} ({kind}, {} hops{state}){shown}", node.id, node.hop);
    let mut fields = Map::new();
    put(&mut fields, "id", node.id);
    put(&mut fields, "title", field(&title));
    put(&mut fields, "type", field(&kind));
    put(&mut fields, "hops", node.hop);
    put(&mut fields, "text", field(&preview));
    put(&mut fields, "state", if node.superseded { "superseded" } else { "" });
    (fields, said)
}

/// `7 -[supersedes 1.0]-> 3 (edge 9)`
fn edge(edge: &EdgeView) -> String {
    let (from, to, relation) = (edge.from_obs_id, edge.to_obs_id, line(&edge.relation_type));
    format!("{from} -[{relation} {:.1}]-> {to} (edge {})", edge.weight, edge.id)
}
