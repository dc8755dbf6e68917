//! The memory that two become: everything either of them said, under the more important one's title.

use kernel::command::Draft;
use kernel::find::MemoryRow;
use kernel::limits::{CONTENT_BYTES_MAX, TAGS_MAX};
use kernel::memory::{Body, Fields, Millis, PinnedVersion, Provenance, Salt, Source, Usage};
use text::analyze::fold;

/// One of the two memories that are merged.
#[derive(Clone, Copy)]
pub(super) struct MergeParent<'a> {
    pub(super) row: &'a MemoryRow,
    pub(super) body: &'a Body,
}

/// The draft of the merged memory; the salt comes when it is written.
pub(super) fn draft(older: MergeParent<'_>, newer: MergeParent<'_>) -> Draft {
    // Of two that say the same the longer one says more; of equals the newer one says it as it is now.
    let length = |body: &Body| body.title.len() + body.content.len();
    let (lead, other) =
        if length(older.body) > length(newer.body) { (older, newer) } else { (newer, older) };
    let (one, two) = (&lead.row.head, &other.row.head);
    let mut tags: Vec<String> = one.tags.iter().chain(&two.tags).cloned().collect();
    tags.sort();
    tags.dedup();
    tags.truncate(TAGS_MAX);
    let pin = |row: &MemoryRow| PinnedVersion { id: row.head.id, version: row.head.version };
    let (first, second) = (&older.row.version, &newer.row.version);
    Draft {
        kind: Some(one.kind.clone()),
        project: one.project.clone(),
        scope: one.scope,
        visibility: one.visibility,
        tags,
        topic_key: one.topic_key.clone().or_else(|| two.topic_key.clone()),
        session: None,
        channel: one.channel.clone().or_else(|| two.channel.clone()),
        importance: Some(one.importance.max(two.importance)),
        provenance: Provenance {
            source: Source::Derived,
            derived_from: vec![pin(older.row), pin(newer.row)],
            model: None,
            origin: None,
        },
        confidence: first.confidence.max(second.confidence),
        valid_from: Some(begin(first).min(begin(second))),
        valid_until: later(first.valid_until, second.valid_until),
        expires: later(first.expires, second.expires),
        ..Draft::new(body(lead.body, other.body), Salt::NONE)
    }
}

/// Accesses of both, so that the merged memory does not fade as if it were new or unused.
pub(super) fn access(a: &Usage, b: &Usage) -> Option<(u32, Millis)> {
    let count = u32::try_from(a.accesses.saturating_add(b.accesses)).unwrap_or(u32::MAX);
    let last = a.last_access.max(b.last_access)?;
    (count > 0).then_some((count, last))
}

fn begin(version: &kernel::memory::Version) -> Millis {
    version.valid_from.unwrap_or(version.created)
}

/// The later end; none if either has none.
fn later(a: Option<Millis>, b: Option<Millis>) -> Option<Millis> {
    a.zip(b).map(|(a, b)| a.max(b))
}

/// The lead's text, and the lines of the other that are not in it.
fn body(lead: &Body, other: &Body) -> Body {
    let known = fold(&format!("{}\n{}", lead.title, lead.content));
    let has = |line: &str| line.trim().is_empty() || known.contains(fold(line).trim());
    let more: Vec<&str> = other.content.lines().filter(|line| !has(line)).collect();
    let more = more.join("\n");
    let content = match (lead.content.is_empty(), more.is_empty()) {
        (_, true) => lead.content.clone(),
        (true, false) => more,
        // Both parents stay readable, so what does not fit is not lost.
        (false, false) if lead.content.len() + more.len() + 2 > CONTENT_BYTES_MAX => {
            lead.content.clone()
        }
        (false, false) => format!("{}\n\n{more}", lead.content),
    };
    Body { title: lead.title.clone(), content, fields: fields(&lead.fields, &other.fields) }
}

/// Fields that only the other has are taken over.
fn fields(lead: &Fields, other: &Fields) -> Fields {
    fn or<T: Clone>(a: Option<&T>, b: Option<&T>) -> Option<T> {
        a.or(b).cloned()
    }
    fn both(a: &[String], b: &[String]) -> Vec<String> {
        let mut all = a.to_vec();
        all.extend(b.iter().filter(|item| !a.contains(item)).cloned());
        all.truncate(kernel::limits::FIELD_ITEMS_MAX);
        all
    }
    let mut merged = lead.clone();
    match (&mut merged, other) {
        (Fields::Goal(a), Fields::Goal(b)) => {
            (a.due, a.criteria) =
                (or(a.due.as_ref(), b.due.as_ref()), both(&a.criteria, &b.criteria));
        }
        (Fields::Preference(a), Fields::Preference(b)) => {
            (a.topic, a.strength) =
                (or(a.topic.as_ref(), b.topic.as_ref()), a.strength.max(b.strength));
        }
        (Fields::Constraint(a), Fields::Constraint(b)) => {
            a.trigger = or(a.trigger.as_ref(), b.trigger.as_ref());
        }
        (Fields::Decision(a), Fields::Decision(b)) => {
            a.rationale = or(a.rationale.as_ref(), b.rationale.as_ref());
            a.alternatives = both(&a.alternatives, &b.alternatives);
        }
        (Fields::Fact(a), Fields::Fact(b)) => {
            a.subject = or(a.subject.as_ref(), b.subject.as_ref());
            a.predicate = or(a.predicate.as_ref(), b.predicate.as_ref());
            a.object = or(a.object.as_ref(), b.object.as_ref());
            a.as_of = a.as_of.max(b.as_of);
        }
        (Fields::Pattern(a), Fields::Pattern(b)) => {
            a.strength = a.strength.max(b.strength);
            a.coverage = a.coverage.max(b.coverage);
            a.evidence.extend(&b.evidence);
            a.evidence.sort_unstable();
            a.evidence.dedup();
            a.evidence.truncate(kernel::limits::FIELD_ITEMS_MAX);
        }
        (Fields::Event(a), Fields::Event(b)) => {
            a.happened_at = or(a.happened_at.as_ref(), b.happened_at.as_ref());
            a.outcome = or(a.outcome.as_ref(), b.outcome.as_ref());
            a.participants = both(&a.participants, &b.participants);
        }
        (Fields::ArtifactRef(a), Fields::ArtifactRef(b)) => {
            a.uri = or(a.uri.as_ref(), b.uri.as_ref());
            a.digest = or(a.digest.as_ref(), b.digest.as_ref());
            a.media_type = or(a.media_type.as_ref(), b.media_type.as_ref());
            a.size = or(a.size.as_ref(), b.size.as_ref());
        }
        _ => {}
    }
    merged
}
