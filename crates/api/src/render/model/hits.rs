//! What a search found: titles and previews, as long as the reader has room for.
//!
//! What must stay true: where nothing answers, that is said first, and the nearest few follow in brief; previews get
//! shorter before hits are left out, and hits that are left out are counted.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::super::quotation::mark;
use super::super::untrusted::{line, opening};
use super::excerpt::{self, around, beyond_title};
use super::reader::{AnswerForModel, ModelReader, SEARCH_TOKENS, field, first_that_fits, put};
use super::{PROPOSED_MARK, when};
use crate::search::{ArmView, HitView, NamedView, SearchAnswer};

/// Characters of a question that an answer repeats.
const ECHO_CHARS: usize = 200;
/// Characters of a preview, the longest that fits first.
const PREVIEW_CHARS: [usize; 11] = [300, 240, 200, 170, 140, 115, 90, 70, 50, 25, 0];
/// Characters of a preview beside a rank, at most.
const RANKED_PREVIEW_CHARS: usize = 120;
/// Characters of a preview of what is nearest where nothing answers, at most.
const NEAREST_PREVIEW_CHARS: usize = 90;
/// Said first where nothing answers.
const NOTHING: &str = "Nothing here answers this; nearest:";
const NOTHING_SURE: &str = "Nothing here answers this for sure; nearest:";
const NOTHING_WORDED: &str =
    "Nothing here answers this: no memory has a word of the question; nearest in meaning:";
const BY_MEANING: &str = "no memory has a word of the question; these are nearest in meaning";

/// How a search is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Titles, previews, how relevant each is.
    Plain,
    /// The same with ranks and what was searched by.
    Ranked,
}

/// Where in an answer a hit stands.
struct HitPlace<'a> {
    shape: Shape,
    n: usize,
    /// The project that was asked about: what belongs to it need not say so.
    project: &'a str,
}

impl HitPlace<'_> {
    /// What has to be said of where a hit belongs.
    fn belongs<'h>(&self, hit: &'h HitView) -> [(&'static str, &'h str); 2] {
        let project = if hit.project == self.project { "" } else { &hit.project };
        let scope = if hit.scope == "project" { "" } else { &hit.scope };
        [("project", project), ("scope", scope)]
    }
}

/// What a search found.
pub fn found(found: &SearchAnswer, reader: &ModelReader) -> AnswerForModel {
    fitting(found, reader, Shape::Plain)
}

/// What a search found, with the rank of each hit.
pub fn found_by_rank(found: &SearchAnswer, reader: &ModelReader) -> AnswerForModel {
    fitting(found, reader, Shape::Ranked)
}

fn fitting(found: &SearchAnswer, reader: &ModelReader, shape: Shape) -> AnswerForModel {
    if found.hits.is_empty() {
        return nothing_found(found, shape);
    }
    let longest = match shape {
        _ if found.is_unanswered() && !reader.explain => NEAREST_PREVIEW_CHARS,
        Shape::Ranked => RANKED_PREVIEW_CHARS,
        Shape::Plain => PREVIEW_CHARS[0],
    };
    let all = found.worth_showing(reader.explain);
    let shorter = PREVIEW_CHARS.into_iter().filter(|chars| *chars <= longest).map(|c| (all, c));
    let fewer = (0..all).rev().map(|kept| (kept, 0));
    let ways = shorter.chain(fewer).map(|(kept, chars)| shown(found, reader, shape, kept, chars));
    first_that_fits(reader.room(SEARCH_TOKENS), ways).unwrap_or_default()
}

fn nothing_found(found: &SearchAnswer, shape: Shape) -> AnswerForModel {
    let said = format!("No memories found for: \"{}\"", echoed(&found.query));
    let others = [found.elsewhere.as_deref(), found.note.as_deref()].into_iter().flatten();
    let mut notes = vec![said];
    notes.extend(others.map(line));
    notes.extend(found.put_away_note());
    let mut fields = Map::new();
    if shape == Shape::Ranked {
        put(&mut fields, "mode", found.mode.as_str());
    }
    put(&mut fields, "notes", notes.clone());
    fields.insert("hits".to_owned(), json!([]));
    AnswerForModel { text: notes.join("\n"), structured: fields }
}

/// The first `kept` hits with previews of so many characters.
fn shown(
    found: &SearchAnswer,
    reader: &ModelReader,
    shape: Shape,
    kept: usize,
    chars: usize,
) -> AnswerForModel {
    let first = unanswered(found);
    let worth = found.worth_showing(reader.explain);
    let all = found.hits.len();
    let mut text = match (shape, first) {
        (Shape::Ranked, _) => {
            let (query, mode) = (echoed(&found.query), &found.mode);
            let first = first.map(|note| format!("{note}\n")).unwrap_or_default();
            format!("Search results for \"{query}\" [{mode}] ({worth} found):\n{first}")
        }
        (Shape::Plain, Some(note)) => format!("{note}\n"),
        (Shape::Plain, None) => format!("Found {worth} memories:\n"),
    };
    let mut hits = Vec::new();
    let mut is_cut = false;
    for (n, hit) in found.hits.iter().take(kept).enumerate() {
        let said = beyond_title(&hit.title, &hit.preview);
        let preview = opening(&around(&said, &found.query, chars));
        is_cut |= hit.cut || preview.chars().count() < said.chars().count();
        let place = HitPlace { shape, n: n + 1, project: &found.project };
        text.push_str(&hit_text(hit, reader, &preview, &place));
        hits.push(Value::Object(hit_fields(hit, reader, preview, &place)));
    }
    let left_out = (kept < worth)
        .then(|| format!("{} more hits did not fit; a larger max_tokens shows them", worth - kept));
    let farther =
        (worth < all).then(|| format!("{} farther ones left out (explain: true)", all - worth));
    // What does not answer needs no advice on how to read more of it.
    let rest = (is_cut && first.is_none() && reader.has("mem_get_observation"))
        .then(|| "previews are cut; mem_get_observation(id) has the rest".to_owned());
    let meaning = (first.is_none() && by_meaning_alone(found)).then(|| BY_MEANING.to_owned());
    let away = found.put_away_note();
    let said =
        [found.note.clone(), meaning, left_out, farther, found.elsewhere.clone(), away, rest];
    let said: Vec<String> = said.into_iter().flatten().map(|note| line(&note)).collect();
    for note in &said {
        write!(text, "\nNote: {note}").expect("a String takes any text");
    }
    let notes: Vec<String> = first.map(str::to_owned).into_iter().chain(said).collect();
    let mut fields = Map::new();
    if shape == Shape::Ranked {
        put(&mut fields, "mode", found.mode.as_str());
    }
    put(&mut fields, "notes", notes);
    fields.insert("hits".to_owned(), Value::Array(hits));
    AnswerForModel { text, structured: fields }
}

/// `[1] #7 (decision) — Title`, the preview and the date below; with a rank as `1. [7] Title (decision, rank: 0.75)`.
fn hit_text(hit: &HitView, reader: &ModelReader, preview: &str, place: &HitPlace<'_>) -> String {
    let HitPlace { shape, n, .. } = *place;
    let (id, kind, title) = (hit.id, line(&hit.kind), excerpt::title(&hit.title));
    let beside: String =
        [state(hit), marks(hit)].into_iter().flatten().map(|said| format!(" ({said})")).collect();
    let mut text = match shape {
        Shape::Plain => format!("\n[{n}] #{id} ({kind}) — {title}{beside}"),
        Shape::Ranked => {
            let rank = two_digits(hit.rank);
            format!("\n{n}. [{id}] {title} ({kind}, rank: {rank}){beside}")
        }
    };
    if !preview.is_empty() {
        write!(text, "\n    {preview}").expect("a String takes any text");
    }
    let when = dated(hit);
    write!(text, "\n    {when}").expect("a String takes any text");
    if !hit.level.is_empty() && shape == Shape::Plain {
        write!(text, " | relevance: {}", hit.level).expect("a String takes any text");
    }
    for (name, value) in place.belongs(hit) {
        if !value.is_empty() {
            write!(text, " | {name}: {}", line(value)).expect("a String takes any text");
        }
    }
    for (relation, others) in
        [("superseded by", &hit.superseded_by), ("contradicts", &hit.contradicts)]
    {
        for other in others {
            write!(text, "\n    {relation} {}", named(other)).expect("a String takes any text");
        }
    }
    if reader.explain {
        write!(
            text,
            "\n    {} | rank {} | {}",
            arms(hit).join(", "),
            two_digits(hit.rank),
            hit.uri
        )
        .expect("a String takes any text");
    }
    text
}

fn hit_fields(
    hit: &HitView,
    reader: &ModelReader,
    preview: String,
    place: &HitPlace<'_>,
) -> Map<String, Value> {
    let mut fields = Map::new();
    put(&mut fields, "id", hit.id);
    put(&mut fields, "type", field(&hit.kind));
    put(&mut fields, "title", field(&excerpt::title(&hit.title)));
    put(&mut fields, "text", preview);
    put(&mut fields, "date", dated(hit));
    match place.shape {
        Shape::Plain => put(&mut fields, "relevance", hit.level.as_str()),
        Shape::Ranked => put(&mut fields, "rank", rounded(hit.rank)),
    }
    for (name, value) in place.belongs(hit) {
        put(&mut fields, name, field(value));
    }
    put(&mut fields, "state", state(hit));
    put(&mut fields, "mark", marks(hit));
    let named = |others: &[NamedView]| others.iter().map(named).collect::<Vec<_>>();
    put(&mut fields, "superseded_by", named(&hit.superseded_by));
    put(&mut fields, "contradicts", named(&hit.contradicts));
    if reader.explain {
        let why = json!({"rank": rounded(hit.rank), "arms": arms(hit), "uri": hit.uri});
        put(&mut fields, "explain", why);
    }
    fields
}

/// When it happened, and since when it says what it says.
fn dated(hit: &HitView) -> String {
    let when = when(&hit.created_at, hit.happened_at.as_deref());
    let day = |text: &str| text.get(..10).unwrap_or(text).to_owned();
    match hit.revised_at.as_deref().map(day) {
        Some(revised) if !when.starts_with(&revised) => format!("{when}, revised {revised}"),
        _ => when,
    }
}

fn state(hit: &HitView) -> Option<String> {
    let replaced = hit.standing != "current" && !hit.standing.is_empty();
    if replaced { Some(hit.standing.clone()) } else { hit.status.clone() }
}

/// That it is a proposal, and whose words it is if it gives orders.
fn marks(hit: &HitView) -> Option<String> {
    let proposed = hit.proposed.then(|| PROPOSED_MARK.to_owned());
    let quoted = mark(&hit.by, hit.author, &[&hit.title, &hit.preview]);
    let said: Vec<String> = [proposed, quoted].into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join("; "))
}

fn named(other: &NamedView) -> String {
    format!("#{} {}", other.id, excerpt::title(&other.title))
}

/// What each arm that found it said.
fn arms(hit: &HitView) -> Vec<String> {
    let heard = hit.arms.iter().filter(|arm| arm.score > 0.0);
    heard.map(|arm| format!("{} {}", arm.arm, two_digits(arm.score))).collect()
}

fn two_digits(number: f64) -> String {
    format!("{number:.2}")
}

fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// What is said first if nothing that was found answers.
fn unanswered(found: &SearchAnswer) -> Option<&'static str> {
    let level = found.answerable.as_ref().map(|answerable| answerable.level.as_str())?;
    match (found.is_unanswered(), by_meaning_alone(found)) {
        (false, _) => None,
        (true, true) => Some(NOTHING_WORDED),
        (true, false) if level == "weak" => Some(NOTHING_SURE),
        (true, false) => Some(NOTHING),
    }
}

/// True if memories were found, but none by a word of the question.
fn by_meaning_alone(found: &SearchAnswer) -> bool {
    let worded = |arm: &ArmView| arm.arm == "words" && arm.score > 0.0;
    found.mode != "newest" && !found.hits.iter().flat_map(|hit| &hit.arms).any(worded)
}

/// A question as an answer repeats it: whoever asked knows the rest.
fn echoed(question: &str) -> String {
    match question.char_indices().nth(ECHO_CHARS) {
        Some((end, _)) => format!("{}…", line(&question[..end])),
        None => line(question),
    }
}
