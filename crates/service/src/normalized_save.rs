//! A request to save, in the kernel's words: private blocks and secrets taken out, every field checked and in normal
//! form.

use api::save::SaveRequest;
use kernel::Digest;
use kernel::command::Draft;
use kernel::memory::{Body, Fields, KINDS, MemoryType, Millis, PAGE_KIND, Scope, Visibility};
use serde_json::Value;

use crate::caller::Caller;
use crate::details::ProvenanceRequest;
use crate::error::Result;
use crate::{Service, fields, parse};
use intake::cleaner::IntakeCleaner;
use intake::dedup::{SaveKey, fingerprint};
use intake::redactor::Redactor;
use intake::{bounds, title, topic, words};

/// A save with all its words made fit to be kept.
pub(super) struct NormalizedSave {
    pub(super) draft: Draft,
    pub(super) kind: String,
    pub(super) digest: Digest,
    pub(super) redacted: String,
    /// What was changed so that it could be kept.
    pub(super) cleaned: String,
    /// Why it is a Fact, if its word names no type.
    pub(super) type_note: String,
}

impl Service {
    /// The memory that a request would write, for callers that commit many together.
    pub fn draft(&self, caller: &Caller, request: &SaveRequest) -> Result<Draft> {
        let mut draft = self.normalized(caller, request)?.draft;
        draft.session.clone_from(&request.session_id);
        Ok(draft)
    }

    /// The request in the kernel's words, redacted and in normal form.
    pub(super) fn normalized(
        &self,
        caller: &Caller,
        request: &SaveRequest,
    ) -> Result<NormalizedSave> {
        let kind = request.kind.as_deref().map(normal_kind);
        let in_company = !request.participants.is_empty();
        let (memory_type, type_note) = match (&request.memory_type, &kind) {
            (Some(name), _) => (MemoryType::parse(name)?, String::new()),
            (None, kind) if in_company && kind.as_deref().is_none_or(is_fact) => {
                (MemoryType::Event, String::new())
            }
            (None, Some(kind)) => (MemoryType::of_kind(kind), type_note(kind)),
            (None, None) => (MemoryType::Fact, String::new()),
        };
        let (mut screen, mut cleaner) = (self.screen(), IntakeCleaner::default());
        let content = cleaner.text(screen.text(&request.content));
        let (title, whole_title) = match request.title.trim() {
            "" => (title::from_content(&content)?, None),
            given => cleaner.title(screen.text(given)),
        };
        let content = IntakeCleaner::under(content, whole_title);
        bounds::check_title(&title)?;
        let mut typed = Fields::empty(memory_type);
        let mut given = request.fields.clone();
        given.values_mut().for_each(|value| clean_value(value, &mut screen));
        fields::set_json(&mut typed, &given)?;
        let texts: Vec<String> = request.field_texts.iter().map(|text| screen.text(text)).collect();
        fields::set_all(&mut typed, &texts)?;
        let happened_at = happening(&mut typed, request, &mut screen)?;
        let kind = kind.unwrap_or_else(|| memory_type.default_kind().to_owned());
        let body = Body { title, content, fields: typed };
        let mut draft = Draft::new(body, caller.salt()?);
        draft.kind = Some(kind.clone());
        draft.project = self.claimed_project(caller, request.project.as_deref());
        draft.scope = scope_of(request.scope.as_deref());
        if let Some(visibility) = &request.visibility {
            draft.visibility = Visibility::parse(visibility)?;
        }
        draft.pinned = request.pinned;
        draft.tags = screen.tags(&request.tags);
        let key = request.topic_key.as_deref().and_then(|key| screen.name(key));
        draft.topic_key = key.as_deref().and_then(topic::normalize);
        draft.channel.clone_from(&request.channel);
        draft.importance =
            request.importance.map(|n| parse::ratio_of("importance", n)).transpose()?;
        if let Some(confidence) = request.confidence {
            draft.confidence = parse::ratio_of("confidence", confidence)?;
        }
        let time = |text: &Option<String>| text.as_deref().map(parse::time).transpose();
        draft.valid_from = time(&request.valid_from)?.or(happened_at);
        draft.valid_until = time(&request.valid_until)?;
        draft.expires = time(&request.expires)?;
        draft.provenance = ProvenanceRequest {
            author: caller.author,
            source: request.source.as_deref(),
            derived_from: &request.derived_from,
            model: request.model.as_ref(),
            origin: request.origin.as_ref(),
        }
        .provenance()?;
        let digest = fingerprint(&SaveKey {
            project: draft.project.as_deref(),
            scope: draft.scope,
            kind: &kind,
            title: &draft.body.title,
            content: &draft.body.content,
        });
        let redacted = screen.report().note().unwrap_or_default();
        let cleaned = cleaner.told();
        Ok(NormalizedSave { draft, kind, digest, redacted, cleaned, type_note })
    }

    /// What every text passes before it is kept.
    pub fn screen(&self) -> Redactor {
        Redactor::new(self.settings.redact_secrets)
    }
}

fn is_fact(kind: &str) -> bool {
    MemoryType::of_kind(kind) == MemoryType::Fact
}

/// Puts who took part and when into the fields of the type. A time that the type has no field for is given back: it is
/// since when the memory holds.
fn happening(
    typed: &mut Fields,
    request: &SaveRequest,
    screen: &mut Redactor,
) -> Result<Option<Millis>> {
    let at = request.happened_at.as_deref().map(parse::time).transpose()?;
    let names = request.participants.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
    let names: Vec<String> = names.map(|name| screen.text(name)).collect();
    match typed {
        Fields::Event(event) => {
            event.participants.extend(names);
            event.happened_at = at.or(event.happened_at);
            Ok(None)
        }
        Fields::Fact(fact) if names.is_empty() => {
            fact.as_of = at.or(fact.as_of);
            Ok(None)
        }
        _ if names.is_empty() => Ok(at),
        other => {
            let reason = format!(
                "a {} has none; leave the type out, say `Event`, or name who in the content, like `Ada: …`",
                other.memory_type().name()
            );
            Err(kernel::Error::invalid("participants", reason).into())
        }
    }
}

/// A word that is in no table makes a Fact; whoever saved it is told, because it may be a type typed wrong.
fn type_note(kind: &str) -> String {
    if KINDS.iter().any(|(known, _)| *known == kind) {
        return String::new();
    }
    let words: Vec<&str> =
        KINDS.map(|(word, _)| word).into_iter().filter(|word| *word != PAGE_KIND).collect();
    let words = words.join(", ");
    format!("{kind:?} names none of the types, so this is a Fact; words that do: {words}")
}

/// `personal` stays, everything else is `project`.
pub(super) fn scope_of(text: Option<&str>) -> Scope {
    match text.map(str::trim) {
        Some(scope) if scope.eq_ignore_ascii_case("personal") => Scope::Personal,
        _ => Scope::Project,
    }
}

/// The caller's word as a slug: `Bug Fix` is `bug-fix`. One that is too long is left for the kernel to refuse.
pub fn normal_kind(kind: &str) -> String {
    words::kind(kind)
}

/// Redacts every text inside a value.
pub(super) fn clean_value(value: &mut Value, screen: &mut Redactor) {
    match value {
        Value::String(text) => *text = screen.text(text),
        Value::Array(items) => items.iter_mut().for_each(|item| clean_value(item, screen)),
        Value::Object(items) => items.values_mut().for_each(|item| clean_value(item, screen)),
        _ => {}
    }
}
