//! What of a memory can be found: its words by field, and the text its vector is made of.
//!
//! A pure function of head and body. The same memory always gives the same document, live and on rebuild.

use kernel::memory::{Body, Fields, Head, Millis};

use text::analyze::{Analyzer, Lexicon, Memo};
use text::entities::{self, Entity};
use text::index::TextField;
use text::written_date::TextHead;

/// A memory as the indexes see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// All occurrences, by field; the numbers are those of the memo's lexicon.
    pub terms: Vec<(TextField, u32)>,
    /// What the vector is made of, see `dense`.
    pub dense: String,
    /// Files, symbols and the like that it names.
    pub entities: Vec<Entity>,
}

impl Document {
    /// All occurrences as text. The lexicon is that of the memo that the document was made with.
    pub fn words<'l>(&self, lexicon: &'l Lexicon) -> impl Iterator<Item = (TextField, &'l str)> {
        self.terms.iter().map(|(field, number)| (*field, lexicon.term(*number)))
    }
}

/// Words in the typed fields of a memory that say something.
fn typed_text(fields: &Fields) -> Vec<&str> {
    let mut words: Vec<Option<&String>> = Vec::new();
    match fields {
        Fields::Identity(f) => {
            words.extend([f.name.as_ref(), f.role.as_ref()]);
            words.extend(f.aliases.iter().map(Some));
        }
        Fields::Goal(f) => words.extend(f.criteria.iter().map(Some)),
        Fields::Preference(f) => words.push(f.topic.as_ref()),
        Fields::Constraint(f) => words.push(f.trigger.as_ref()),
        Fields::Decision(f) => {
            words.push(f.rationale.as_ref());
            words.extend(f.alternatives.iter().map(Some));
        }
        Fields::Fact(f) => {
            words.extend([f.subject.as_ref(), f.predicate.as_ref(), f.object.as_ref()]);
        }
        Fields::Pattern(_) | Fields::Event(_) => {}
        Fields::ArtifactRef(f) => words.extend([f.uri.as_ref(), f.media_type.as_ref()]),
    }
    words.into_iter().flatten().map(String::as_str).collect()
}

/// Who speaks in a memory: as its fields say, or else the head of its text.
pub fn speakers(body: &Body) -> Vec<String> {
    match &body.fields {
        Fields::Event(event) if !event.participants.is_empty() => event.participants.clone(),
        _ => TextHead::of(&body.content).speaker.into_iter().collect(),
    }
}

/// When what a memory says happened, if its fields or the head of its text say so.
pub fn happened(body: &Body) -> Option<Millis> {
    let told = match &body.fields {
        Fields::Event(event) => event.happened_at,
        Fields::Fact(fact) => fact.as_of,
        _ => None,
    };
    told.or_else(|| TextHead::of(&body.content).at)
}

/// The talk that a memory without a session is of: what people said on one day. Its name is none that a session has.
pub(crate) fn talk(body: &Body) -> Option<String> {
    let at = happened(body).filter(|_| !speakers(body).is_empty())?;
    Some(format!("{TALK}{}", at.date()))
}

/// What the name of a talk begins with.
const TALK: char = '\u{1}';

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// A date in the words of a question: `8 may 2023`.
fn date_words(at: Millis) -> String {
    let date = at.date();
    let mut parts = date.rsplitn(3, '-');
    let (day, month, year) = (parts.next(), parts.next(), parts.next());
    let month =
        month.and_then(|m| m.parse::<usize>().ok()).and_then(|m| MONTHS.get(m.wrapping_sub(1)));
    let day = day.map_or("", |day| day.trim_start_matches('0'));
    format!("{day} {} {}", month.copied().unwrap_or(""), year.unwrap_or(""))
}

/// Title and content as one text; a title that only repeats how the content begins says nothing new.
pub fn spoken(body: &Body) -> String {
    let title = body.title.trim().trim_end_matches(['…', '.']);
    let content = body.content.trim();
    let named = speakers(body).iter().any(|speaker| speaker == title);
    if content.is_empty() {
        title.to_owned()
    } else if named || content.starts_with(title) {
        content.to_owned()
    } else {
        format!("{title}. {content}")
    }
}

/// The names of the parts that agents are asked to write a memory in.
const PARTS: [&str; 4] = ["What", "Why", "Where", "Learned"];

/// A text without the names of its parts (`**What**: …`). Every memory that is written so has them, and with them in
/// its vector it would be near every other one.
fn unlabelled(mut text: String) -> String {
    for part in PARTS {
        for label in [format!("**{part}**:"), format!("**{part}:**")] {
            if text.contains(&label) {
                text = text.replace(&label, "");
            }
        }
    }
    text
}

/// What vectors are made of: what was said, without who said it and when, and without the form it was written in. A
/// function of the body alone.
pub fn dense(body: &Body) -> String {
    let mut dense = spoken(body);
    let head = TextHead::of(&body.content);
    if head.speaker.is_some() && dense == body.content.trim() {
        head.said(&body.content).clone_into(&mut dense);
    }
    for text in typed_text(&body.fields) {
        dense.push(' ');
        dense.push_str(text);
    }
    unlabelled(dense)
}

/// All occurrences of terms so far.
type Terms = Vec<(TextField, u32)>;

/// What is said: title, content and typed fields.
pub(crate) fn said_words(analyzer: &Analyzer, memo: &mut Memo, body: &Body, terms: &mut Terms) {
    let mut add = |field: TextField, text: &str| {
        analyzer.numbers(memo, text, |number| terms.push((field, number)));
    };
    let repeats = body.content.trim().starts_with(body.title.trim().trim_end_matches(['…', '.']));
    if !repeats {
        add(TextField::TITLE, &body.title);
    }
    add(TextField::CONTENT, &body.content);
    for text in typed_text(&body.fields) {
        add(TextField::CONTENT, text);
    }
}

/// What it was filed under.
pub(crate) fn head_words(analyzer: &Analyzer, memo: &mut Memo, head: &Head, terms: &mut Terms) {
    let mut add = |field: TextField, text: &str| {
        analyzer.numbers(memo, text, |number| terms.push((field, number)));
    };
    for tag in &head.tags {
        add(TextField::TAGS, tag);
    }
    add(TextField::TAGS, &head.kind);
    if let Some(topic_key) = &head.topic_key {
        add(TextField::TAGS, topic_key);
    }
}

/// Who speaks, when it happened, and what is named.
pub(crate) fn about_words(
    analyzer: &Analyzer,
    memo: &mut Memo,
    body: &Body,
    entities: &[Entity],
    terms: &mut Terms,
) {
    let mut add = |field: TextField, text: &str| {
        analyzer.numbers(memo, text, |number| terms.push((field, number)));
    };
    for speaker in speakers(body) {
        add(TextField::SPEAKER, &speaker);
    }
    if let Some(at) = happened(body) {
        add(TextField::DATE, &date_words(at));
    }
    for entity in entities {
        add(TextField::ENTITIES, &entity.value);
    }
}

/// The numbers of its terms last until the next document is made with the memo.
pub fn document(analyzer: &Analyzer, memo: &mut Memo, head: &Head, body: &Body) -> Document {
    memo.make_room();
    let mut terms = Vec::with_capacity(16 + body.content.len() / 6);
    let entities = entities::extract(&body.title, &body.content);
    said_words(analyzer, memo, body, &mut terms);
    head_words(analyzer, memo, head, &mut terms);
    about_words(analyzer, memo, body, &entities, &mut terms);
    Document { terms, dense: dense(body), entities }
}
