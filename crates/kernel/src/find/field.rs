//! The fields a filter may name, what kind each one is, and how to read it from a memory.
//!
//! The table is closed. A `data.` field belongs to one or more types, and may be of another kind in each (`strength` is
//! a word in a constraint and a ratio in a preference), so a name stands for all its rows.

use proof::memory::{
    Body, DecisionStatus, Fields, GoalStatus, Head, MemoryType, Millis, Outcome, Polarity, Scope,
    Source, Strength, Version, Visibility,
};

use super::predicate::FieldValue;

/// What can be compared with a field, and how.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Text,
    /// One of a closed list of words, in any case.
    Word(fn(&str) -> proof::Result<()>),
    Number,
    /// Parts per million; people write decimals.
    Ratio,
    Time,
    Flag,
    Texts,
    Ids,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    /// The type that has it; all of them if absent.
    pub(super) owner: Option<MemoryType>,
    pub(super) kind: Kind,
}

const fn all(name: &'static str, kind: Kind) -> Field {
    Field { name, owner: None, kind }
}

const fn of(owner: MemoryType, name: &'static str, kind: Kind) -> Field {
    Field { name, owner: Some(owner), kind }
}

/// Rows with the same name are neighbours.
static FIELDS: &[Field] = &[
    all("head.id", Kind::Number),
    all("head.type", Kind::Word(|text| MemoryType::parse(text).map(drop))),
    all("head.kind", Kind::Text),
    all("head.project", Kind::Text),
    all("head.scope", Kind::Word(|text| Scope::parse(text).map(drop))),
    all("head.visibility", Kind::Word(|text| Visibility::parse(text).map(drop))),
    all("head.pinned", Kind::Flag),
    all("head.archived", Kind::Flag),
    all("head.forgotten", Kind::Flag),
    all("head.session", Kind::Text),
    all("head.channel", Kind::Text),
    all("head.topic_key", Kind::Text),
    all("head.importance", Kind::Ratio),
    all("head.created", Kind::Time),
    all("head.updated", Kind::Time),
    all("head.version", Kind::Number),
    all("head.duplicates", Kind::Number),
    all("version.n", Kind::Number),
    all("version.created", Kind::Time),
    all("version.by", Kind::Text),
    all("version.confidence", Kind::Ratio),
    all("version.source", Kind::Word(|text| Source::parse(text).map(drop))),
    all("version.model", Kind::Text),
    all("version.valid_from", Kind::Time),
    all("version.valid_until", Kind::Time),
    all("version.expires", Kind::Time),
    all("data.title", Kind::Text),
    all("data.content", Kind::Text),
    of(MemoryType::Identity, "data.name", Kind::Text),
    of(MemoryType::Identity, "data.aliases", Kind::Texts),
    of(MemoryType::Identity, "data.role", Kind::Text),
    of(MemoryType::Goal, "data.status", Kind::Word(|text| GoalStatus::parse(text).map(drop))),
    of(
        MemoryType::Decision,
        "data.status",
        Kind::Word(|text| DecisionStatus::parse(text).map(drop)),
    ),
    of(MemoryType::Goal, "data.due", Kind::Time),
    of(MemoryType::Goal, "data.criteria", Kind::Texts),
    of(MemoryType::Preference, "data.topic", Kind::Text),
    of(MemoryType::Preference, "data.polarity", Kind::Word(|text| Polarity::parse(text).map(drop))),
    of(MemoryType::Preference, "data.strength", Kind::Ratio),
    of(MemoryType::Constraint, "data.strength", Kind::Word(|text| Strength::parse(text).map(drop))),
    of(MemoryType::Pattern, "data.strength", Kind::Ratio),
    of(MemoryType::Constraint, "data.trigger", Kind::Text),
    of(MemoryType::Decision, "data.rationale", Kind::Text),
    of(MemoryType::Decision, "data.alternatives", Kind::Texts),
    of(MemoryType::Fact, "data.subject", Kind::Text),
    of(MemoryType::Fact, "data.predicate", Kind::Text),
    of(MemoryType::Fact, "data.object", Kind::Text),
    of(MemoryType::Fact, "data.as_of", Kind::Time),
    of(MemoryType::Pattern, "data.coverage", Kind::Number),
    of(MemoryType::Pattern, "data.evidence", Kind::Ids),
    of(MemoryType::Event, "data.happened_at", Kind::Time),
    of(MemoryType::Event, "data.outcome", Kind::Word(|text| Outcome::parse(text).map(drop))),
    of(MemoryType::Event, "data.participants", Kind::Texts),
    of(MemoryType::ArtifactRef, "data.uri", Kind::Text),
    of(MemoryType::ArtifactRef, "data.digest", Kind::Text),
    of(MemoryType::ArtifactRef, "data.media_type", Kind::Text),
    of(MemoryType::ArtifactRef, "data.size", Kind::Number),
];

/// All rows of a full name; none if there is no such field.
pub(super) fn rows(name: &str) -> &'static [Field] {
    let Some(start) = FIELDS.iter().position(|field| field.name == name) else { return &[] };
    let len = FIELDS[start..].iter().take_while(|field| field.name == name).count();
    &FIELDS[start..start + len]
}

/// The full name for what people type: the head first, then the version, then the body.
pub(super) fn full_name(typed: &str) -> Option<&'static str> {
    let named = |name: &str| rows(name).first().map(|field| field.name);
    if typed.contains('.') {
        return named(typed);
    }
    ["head", "version", "data"].into_iter().find_map(|part| named(&format!("{part}.{typed}")))
}

/// The shortest name that reads back as `full`.
pub(super) fn typed_name(full: &str) -> &str {
    match full.split_once('.') {
        Some((_, bare)) if full_name(bare) == Some(full) => bare,
        _ => full,
    }
}

/// Names of all fields, as people type them.
pub fn field_names() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = FIELDS.iter().map(|field| typed_name(field.name)).collect();
    names.dedup();
    names
}

/// A memory as a filter sees it. The body is absent when it was erased or is not needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    pub(super) head: &'a Head,
    pub(super) version: &'a Version,
    pub(super) body: Option<&'a Body>,
    /// Forgotten at the time the find looks at.
    pub(super) forgotten: bool,
}

/// What a field holds in one memory.
#[derive(Debug)]
pub(super) enum FieldContent<'a> {
    Nothing,
    Text(&'a str),
    Word(&'a str),
    Number(i128),
    Time(Millis),
    Flag(bool),
    Texts(&'a [String]),
    Numbers(Vec<i128>),
}

impl FieldContent<'_> {
    /// Equal to the value or, for a list, containing it. A value of another kind is never equal.
    pub(super) fn is(&self, value: &FieldValue) -> bool {
        match (self, value) {
            (FieldContent::Text(held), FieldValue::Text(text)) => held == text,
            (FieldContent::Word(held), FieldValue::Text(text)) => held.eq_ignore_ascii_case(text),
            (FieldContent::Texts(held), FieldValue::Text(text)) => held.contains(text),
            (FieldContent::Number(held), FieldValue::Number(number)) => *held == number.get(),
            (FieldContent::Numbers(held), FieldValue::Number(number)) => {
                held.contains(&number.get())
            }
            (FieldContent::Time(held), FieldValue::Time(time)) => held == time,
            (FieldContent::Flag(held), FieldValue::Flag(flag)) => held == flag,
            _ => false,
        }
    }

    pub(super) fn order(&self, value: &FieldValue) -> Option<std::cmp::Ordering> {
        match (self, value) {
            (FieldContent::Text(held), FieldValue::Text(text)) => Some((*held).cmp(text.as_str())),
            (FieldContent::Number(held), FieldValue::Number(number)) => {
                Some(held.cmp(&number.get()))
            }
            (FieldContent::Time(held), FieldValue::Time(time)) => Some(held.cmp(time)),
            _ => None,
        }
    }

    pub(super) fn any_text(&self, mut test: impl FnMut(&str) -> bool) -> bool {
        match self {
            FieldContent::Text(text) | FieldContent::Word(text) => test(text),
            FieldContent::Texts(texts) => texts.iter().any(|text| test(text)),
            _ => false,
        }
    }
}

impl<'a> Subject<'a> {
    pub(super) fn held(&self, name: &str) -> FieldContent<'a> {
        let (head, version) = (self.head, self.version);
        match name {
            "head.id" => FieldContent::Number(head.id.get().into()),
            "head.type" => FieldContent::Word(head.memory_type.name()),
            "head.kind" => FieldContent::Text(&head.kind),
            "head.project" => text(head.project.as_ref()),
            "head.scope" => FieldContent::Word(head.scope.name()),
            "head.visibility" => FieldContent::Word(head.visibility.name()),
            "head.pinned" => FieldContent::Flag(head.pinned),
            "head.archived" => FieldContent::Flag(head.archived),
            "head.forgotten" => FieldContent::Flag(self.forgotten),
            "head.session" => text(head.session.as_ref()),
            "head.channel" => text(head.channel.as_ref()),
            "head.topic_key" => text(head.topic_key.as_ref()),
            "head.importance" => FieldContent::Number(head.importance.into()),
            "head.created" => FieldContent::Time(head.created),
            "head.updated" => FieldContent::Time(head.updated),
            "head.version" => FieldContent::Number(head.version.into()),
            "head.duplicates" => FieldContent::Number(head.duplicates.into()),
            "version.n" => FieldContent::Number(version.n.into()),
            "version.created" => FieldContent::Time(version.created),
            "version.by" => FieldContent::Text(&version.by),
            "version.confidence" => FieldContent::Number(version.confidence.into()),
            "version.source" => FieldContent::Word(version.provenance.source.name()),
            "version.model" => text(version.provenance.model.as_ref()),
            "version.valid_from" => time(version.valid_from),
            "version.valid_until" => time(version.valid_until),
            "version.expires" => time(version.expires),
            _ => self.body.map_or(FieldContent::Nothing, |body| held_in_body(body, name)),
        }
    }
}

fn held_in_body<'a>(body: &'a Body, name: &str) -> FieldContent<'a> {
    match (name, &body.fields) {
        ("data.title", _) => FieldContent::Text(&body.title),
        ("data.content", _) => FieldContent::Text(&body.content),
        ("data.name", Fields::Identity(f)) => text(f.name.as_ref()),
        ("data.aliases", Fields::Identity(f)) => FieldContent::Texts(&f.aliases),
        ("data.role", Fields::Identity(f)) => text(f.role.as_ref()),
        ("data.status", Fields::Goal(f)) => FieldContent::Word(f.status.name()),
        ("data.due", Fields::Goal(f)) => time(f.due),
        ("data.criteria", Fields::Goal(f)) => FieldContent::Texts(&f.criteria),
        ("data.topic", Fields::Preference(f)) => text(f.topic.as_ref()),
        ("data.polarity", Fields::Preference(f)) => FieldContent::Word(f.polarity.name()),
        ("data.strength", Fields::Preference(f)) => number(f.strength),
        ("data.strength", Fields::Constraint(f)) => FieldContent::Word(f.strength.name()),
        ("data.strength", Fields::Pattern(f)) => number(f.strength),
        ("data.trigger", Fields::Constraint(f)) => text(f.trigger.as_ref()),
        ("data.rationale", Fields::Decision(f)) => text(f.rationale.as_ref()),
        ("data.alternatives", Fields::Decision(f)) => FieldContent::Texts(&f.alternatives),
        ("data.status", Fields::Decision(f)) => FieldContent::Word(f.status.name()),
        ("data.subject", Fields::Fact(f)) => text(f.subject.as_ref()),
        ("data.predicate", Fields::Fact(f)) => text(f.predicate.as_ref()),
        ("data.object", Fields::Fact(f)) => text(f.object.as_ref()),
        ("data.as_of", Fields::Fact(f)) => time(f.as_of),
        ("data.coverage", Fields::Pattern(f)) => number(f.coverage),
        ("data.evidence", Fields::Pattern(f)) => {
            FieldContent::Numbers(f.evidence.iter().map(|id| id.get().into()).collect())
        }
        ("data.happened_at", Fields::Event(f)) => time(f.happened_at),
        ("data.outcome", Fields::Event(f)) => {
            f.outcome.map_or(FieldContent::Nothing, |outcome| FieldContent::Word(outcome.name()))
        }
        ("data.participants", Fields::Event(f)) => FieldContent::Texts(&f.participants),
        ("data.uri", Fields::ArtifactRef(f)) => text(f.uri.as_ref()),
        ("data.digest", Fields::ArtifactRef(f)) => text(f.digest.as_ref()),
        ("data.media_type", Fields::ArtifactRef(f)) => text(f.media_type.as_ref()),
        ("data.size", Fields::ArtifactRef(f)) => number(f.size),
        _ => FieldContent::Nothing,
    }
}

fn text(text: Option<&String>) -> FieldContent<'_> {
    text.map_or(FieldContent::Nothing, |text| FieldContent::Text(text))
}

fn number(number: Option<impl Into<i128>>) -> FieldContent<'static> {
    number.map_or(FieldContent::Nothing, |number| FieldContent::Number(number.into()))
}

fn time(time: Option<Millis>) -> FieldContent<'static> {
    time.map_or(FieldContent::Nothing, FieldContent::Time)
}
