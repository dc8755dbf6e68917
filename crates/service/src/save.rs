//! Saving: redact, then update the topic's memory, count a repetition, or write a new one.
//!
//! What must stay true: nothing private is kept or echoed; a topic key has one live memory per project and scope; the
//! same thing saved again inside the window makes no second memory. Two saves of the same thing wait for each other,
//! all others share commits.

use api::ErrorCode;
use api::save::{EntityView, SaveAnswer, SaveRequest, SaveStatus};
use kernel::command::{Command, HeadRevision, Receipt, Revision};
use kernel::context::RuleAuthors;
use kernel::grants::Permission;
use kernel::journal::HeadPatch;
use kernel::memory::{Body, Fields, Head, MemoryId, Scope};
use kernel::{Cortex, Digest, Reading, ResolvedMemory, keys};

use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::normalized_save::NormalizedSave;
use crate::shared_actor::DecisionRule;
use crate::{ActorState, Service, views};
use intake::dedup::{SaveKey, fingerprint, normal_text};
use intake::topic;

/// How often a change is made again on top of somebody else's.
pub(super) const RACES_MAX: u32 = 8;

/// What an answer says besides what was saved: similar memories, a project that may be typed wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hints {
    All,
    None,
}

/// Files, symbols, packages … that a text names.
pub(super) fn entities(title: &str, content: &str) -> Vec<EntityView> {
    text::entities::extract(title, content)
        .into_iter()
        .map(|entity| EntityView { kind: entity.kind.name().to_owned(), value: entity.value })
        .collect()
}

impl Service {
    pub fn save(&self, caller: &Caller, request: SaveRequest) -> Result<SaveAnswer> {
        self.save_with(caller, request, Hints::All)
    }

    /// The same for a program that is told what was saved and no more: nobody waits for what is near it.
    pub fn save_unhinted(&self, caller: &Caller, request: SaveRequest) -> Result<SaveAnswer> {
        self.save_with(caller, request, Hints::None)
    }

    fn save_with(&self, caller: &Caller, request: SaveRequest, hints: Hints) -> Result<SaveAnswer> {
        if caller.delegate.is_some() {
            return self.save_within(caller, &request);
        }
        let rule = match request.topic_key {
            None => DecisionRule::MayBeOld,
            Some(_) => DecisionRule::MustHold,
        };
        self.by_copy_first(caller, rule, |caller| {
            let save = || self.again_if_damaged(caller, || self.save_once(caller, &request, hints));
            match save() {
                // The same request may have been answered on another way after its key was looked for. Who looks again
                // finds its answer, or that the key stands for something else.
                Err(error) if error.code() == ErrorCode::IdempotencyConflict => save(),
                answer => answer,
            }
        })
    }

    fn save_once(
        &self,
        caller: &Caller,
        request: &SaveRequest,
        hints: Hints,
    ) -> Result<SaveAnswer> {
        let mut cortex = self.cortex(caller)?;
        let state = self.state(&caller.actor);
        let mut normalized = self.normalized(caller, request)?;
        if let Some(answer) = self.saved_before(caller, &cortex, &normalized)? {
            return Ok(answer);
        }
        let project = normalized.draft.project.clone();
        let named = request.session_id.as_deref();
        normalized.draft.session = self.attach(
            caller,
            &cortex,
            &state,
            named,
            project.as_deref(),
            request.default_session,
        )?;
        let topic = normalized.draft.topic_key.as_deref().map(|key| {
            let project = project.as_deref().unwrap_or("");
            let name = [project, normalized.draft.scope.name(), key].join("\u{0}");
            Digest::of("cortex/topic/1", &[name.as_bytes()])
        });
        let alone = state.alone(topic.as_ref().unwrap_or(&normalized.digest));
        let (status, receipt) = match self.evolve(caller, &cortex, &normalized)? {
            Some(receipt) => receipt,
            None => match self.count_repetition(caller, &cortex, &state, &normalized)? {
                Some(outcome) => outcome,
                None => {
                    let command = Command::Write(Box::new(normalized.draft.clone()));
                    (SaveStatus::Created, self.submit(&cortex, caller.stamp()?, command)?)
                }
            },
        };
        drop(alone);
        if cortex.is_poisoned() {
            // It is saved, but what follows from it could not be written down. The actor is opened anew to be read,
            // which waits until nobody holds it.
            drop(cortex);
            cortex = self.cortex(caller)?;
        }
        let mut answer = self.save_answer(&cortex, status, &receipt, &normalized)?;
        if status == SaveStatus::Created && hints == Hints::All {
            // It is on disk; not to know what is near it is no failure of the save.
            answer.similar = self.near(&cortex, &answer).unwrap_or_default();
            // A name that was given may be typed wrong; one with an owner was made to tell repositories apart.
            if let Some(project) =
                project.as_ref().filter(|name| request.project.is_some() || name.contains('/'))
            {
                answer.project_note = self.project_note(&cortex.read()?, project)?;
            }
        }
        Ok(answer)
    }

    /// A delegate's save: a new memory as its grant allows it. What else is there is not looked at, so that the answer
    /// tells nothing of it.
    fn save_within(&self, caller: &Caller, request: &SaveRequest) -> Result<SaveAnswer> {
        let cortex = self.opened(caller)?;
        let mut normalized = self.normalized(caller, request)?;
        normalized.draft.session.clone_from(&request.session_id);
        let command = Command::Write(Box::new(normalized.draft.clone()));
        let receipt = self.change(caller, &cortex, command, Permission::Write)?;
        let status = if receipt.replayed { SaveStatus::Replayed } else { SaveStatus::Created };
        self.save_answer(&cortex, status, &receipt, &normalized)
    }

    /// The answer to a request that was made before under the same key. A key that stood for something else is refused.
    fn saved_before(
        &self,
        caller: &Caller,
        cortex: &Cortex,
        normalized: &NormalizedSave,
    ) -> Result<Option<SaveAnswer>> {
        let Some(key) = &caller.idempotency_key else { return Ok(None) };
        let Some(kept) = caller.journaled_key(Some(key)) else { return Ok(None) };
        let reading = cortex.read()?;
        let Some(record) = reading.view().idempotency(&kept)? else { return Ok(None) };
        let conflict = || Error::from(kernel::Error::IdempotencyConflict(key.clone()));
        let (Some(id), Some(version)) = (record.id, record.version) else { return Err(conflict()) };
        let before = reading.resolve_version(id, Some(version))?;
        // Nobody can say what was asked after the text was erased; the key still stands for its answer.
        let same = before.body.as_ref().is_none_or(|body| {
            body.title == normalized.draft.body.title
                && normal_text(&body.content) == normal_text(&normalized.draft.body.content)
        });
        if !same {
            return Err(conflict());
        }
        let receipt = Receipt {
            seq: record.seq,
            at: record.at,
            kind: kernel::journal::EntryKind::Write,
            id: Some(id),
            version: Some(version),
            changed: true,
            replayed: true,
            skipped: Vec::new(),
        };
        self.save_answer(cortex, SaveStatus::Replayed, &receipt, normalized).map(Some)
    }

    /// The next version of the memory that the topic key names, if there is one.
    fn evolve(
        &self,
        caller: &Caller,
        cortex: &Cortex,
        normalized: &NormalizedSave,
    ) -> Result<Option<(SaveStatus, Receipt)>> {
        let draft = &normalized.draft;
        let Some(key) = draft.topic_key.as_deref() else { return Ok(None) };
        for _ in 0..RACES_MAX {
            let reading = cortex.read()?;
            let found = topic_head(&reading, draft.project.as_deref(), draft.scope, key)?;
            let Some(head) = found else { return Ok(None) };
            let current = reading.resolve_version(head.id, None)?;
            let mut typed = Fields::empty(head.memory_type);
            if draft.body.fields.memory_type() == head.memory_type {
                typed.clone_from(&draft.body.fields);
            } else if let Some(body) = &current.body {
                // A memory keeps its shape; the caller's word for it may change.
                typed.clone_from(&body.fields);
            }
            let body = Body { fields: typed, ..draft.body.clone() };
            let repeated = current.body.as_ref() == Some(&body)
                && head.kind == normalized.kind
                && !vouches(caller, &current);
            let patch = HeadPatch {
                kind: Some(normalized.kind.clone()),
                session: draft.session.clone(),
                tags: (!draft.tags.is_empty()).then(|| draft.tags.clone()),
                pinned: draft.pinned.then_some(true),
                importance: draft.importance,
                duplicates: repeated.then_some(head.duplicates.saturating_add(1)),
                ..HeadPatch::default()
            };
            let (status, command) = if repeated {
                let expected = Some(head.version);
                let change = HeadRevision { id: head.id, expected, patch, reason: None };
                (SaveStatus::Duplicate, Command::UpdateHead(change))
            } else {
                let mut revision = Revision::new(head.id, Some(head.version), body, draft.salt);
                revision.provenance = draft.provenance.clone();
                revision.confidence = draft.confidence;
                revision.valid_from = draft.valid_from;
                revision.valid_until = draft.valid_until;
                revision.expires = draft.expires;
                revision.patch = patch;
                (SaveStatus::Updated, Command::Update(Box::new(revision)))
            };
            match self.submit(cortex, caller.stamp()?, command) {
                // Somebody changed it meanwhile, through another interface.
                Err(error)
                    if error.code() == ErrorCode::VersionConflict
                        || error.code() == ErrorCode::Tombstoned => {}
                outcome => return Ok(Some((status, outcome?))),
            }
        }
        Err(kernel::Error::Busy.into())
    }

    /// Counts the save on the memory that says the same, if one was saved inside the window. A person who says what
    /// somebody proposed confirms it.
    fn count_repetition(
        &self,
        caller: &Caller,
        cortex: &Cortex,
        state: &ActorState,
        normalized: &NormalizedSave,
    ) -> Result<Option<(SaveStatus, Receipt)>> {
        let reading = cortex.read()?;
        let now = caller.now()?;
        let recent =
            self.with_tail(state, &reading, now, |tail| tail.recent(&normalized.digest))?;
        let Some(id) = recent else { return Ok(None) };
        let current = reading.resolve_version(id, None)?;
        let head = &current.head;
        let Some(body) = current.body.as_ref().filter(|_| views::is_live(head)) else {
            return Ok(None);
        };
        // It may have been changed since.
        let now_says = fingerprint(&SaveKey {
            project: head.project.as_deref(),
            scope: head.scope,
            kind: &head.kind,
            title: &body.title,
            content: &body.content,
        });
        if now_says != normalized.digest || head.topic_key != normalized.draft.topic_key {
            return Ok(None);
        }
        if vouches(caller, &current) {
            let receipt = self.vouched(caller, cortex, &current, body.clone())?;
            return Ok(Some((SaveStatus::Updated, receipt)));
        }
        let duplicates = Some(head.duplicates.saturating_add(1));
        let patch = HeadPatch { duplicates, ..HeadPatch::default() };
        let change = HeadRevision { id, expected: None, patch, reason: None };
        let receipt = self.submit(cortex, caller.stamp()?, Command::UpdateHead(change))?;
        Ok(Some((SaveStatus::Duplicate, receipt)))
    }

    fn save_answer(
        &self,
        cortex: &Cortex,
        status: SaveStatus,
        receipt: &Receipt,
        normalized: &NormalizedSave,
    ) -> Result<SaveAnswer> {
        let reading = cortex.read()?;
        let id = receipt.id.ok_or_else(|| Error::internal("a save names its memory"))?;
        let head = reading.view().required_head(id)?;
        let version = receipt.version.unwrap_or(head.version);
        let proposed = match reading.view().version(id, version)? {
            Some(version) => self.rule_authors().is_proposed(&head, &version),
            None => false,
        };
        let Body { title, content, .. } = &normalized.draft.body;
        let suggested = match &head.topic_key {
            Some(_) => String::new(),
            None => topic::suggest(&normalized.kind, title, content).unwrap_or_default(),
        };
        Ok(SaveAnswer {
            id: id.get(),
            uri: reading.uri(&head, version).to_string(),
            title: title.clone(),
            memory_type: head.memory_type.name().to_owned(),
            version,
            status,
            suggested_topic_key: suggested,
            entities: entities(title, content),
            redacted: normalized.redacted.clone(),
            cleaned: normalized.cleaned.clone(),
            similar: Vec::new(),
            project_note: String::new(),
            type_note: normalized.type_note.clone(),
            seq: receipt.seq,
            created_at: head.created.rfc3339(),
            at: receipt.at.rfc3339(),
            changed: receipt.changed,
            proposed,
            project: head.project.unwrap_or_default(),
            scope: head.scope.name().to_owned(),
            session_id: head.session.unwrap_or_default(),
            topic_key: head.topic_key.unwrap_or_default(),
            kind: head.kind,
        })
    }
}

/// True if a person says what somebody else proposed.
fn vouches(caller: &Caller, current: &ResolvedMemory) -> bool {
    caller.author.is_person() && RuleAuthors::Persons.is_proposed(&current.head, &current.version)
}

/// The live memory of a topic key; the newest, should there be several.
fn topic_head(
    reading: &Reading,
    project: Option<&str>,
    scope: Scope,
    key: &str,
) -> Result<Option<Head>> {
    let view = reading.view();
    let mut ids: Vec<MemoryId> = Vec::new();
    view.scan_index(&keys::by_topic_key(project, scope, key), None, true, &mut |id| {
        ids.push(id);
        Ok(std::ops::ControlFlow::Continue(()))
    })?;
    for id in ids {
        let head = view.required_head(id)?;
        if views::is_live(&head) {
            return Ok(Some(head));
        }
    }
    Ok(None)
}
