//! The hand takes steps from the stage, by date, and asks the kernel for what is missing.
//!
//! Each step knows from the store whether it was done: by the idempotency key of its origin, or because the state is
//! already as asked. So a run that was killed is continued by running it again. Commands are committed together, in
//! groups; a step that needs the id of a memory in the group waits for the group's commit.

use std::collections::HashSet;

use kernel::command::{
    Command, Draft, EdgeDraft, HeadRevision, PromptDraft, Receipt, Removal, Revision, SessionClose,
    SessionDraft, Stamp, Touches,
};
use kernel::journal::{Access, HeadPatch, Payload};
use kernel::limits::TOUCHES_MAX;
use kernel::memory::{
    Body, Fields, Head, MemoryId, MemoryType, Millis, Pinned, Provenance, Relation, Salt, Scope,
    Source, Version, Visibility,
};
use kernel::{Cortex, Fault, Reading, Request};
use serde_json::Value;

use super::origin;
use super::record::{EdgeRecord, Forgotten, HeadRecord, Step, UsageRecord, VersionRecord};
use super::report::ImportReport;
use super::sink::memory_type;
use super::stage::{Stage, Staged};
use super::{Error, Progress, Result};
use crate::cli::fields;

/// Commands in one commit.
const GROUP_COMMANDS: usize = 1_024;
/// Bytes of text in one commit.
const GROUP_BYTES: usize = 8 * 1_048_576;
/// Steps read ahead from the stage; each may hold a mebibyte of text.
const STEPS_AHEAD: u32 = 32;

pub(super) struct Hand<'h> {
    pub(super) cortex: &'h Cortex,
    pub(super) stage: &'h Stage,
    pub(super) report: &'h mut ImportReport,
    pub(super) now: Millis,
    pub(super) by: &'h str,
    pub(super) salt: &'h dyn Fn() -> Result<Salt>,
    pub(super) dry: bool,
    /// `cortex:<store>:` of the store itself.
    pub(super) native: String,
    reading: Reading,
    group: Vec<Pending>,
    group_bytes: usize,
    /// Origins of memories and prompts in the group.
    waiting: HashSet<String>,
    /// Sessions started in the group or, in a dry run, before.
    sessions: HashSet<String>,
    touches: Vec<Access>,
    /// Entries before this would run backwards.
    floor: Millis,
}

struct Pending {
    what: String,
    request: Request,
    effect: Effect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    NewMemory { dated: bool },
    ChangedMemory,
    Version,
    Head,
    Forgotten,
    Edge { dated: bool },
    Prompt { dated: bool },
    Session { dated: bool },
    SessionEnd,
    Usage,
}

/// What the store has of an origin.
enum Place {
    /// The memory was born here.
    Native,
    /// It arrived with an earlier import; the entry that wrote it.
    Arrived(MemoryId),
    Absent,
}

impl<'h> Hand<'h> {
    pub(super) fn new(
        cortex: &'h Cortex,
        stage: &'h Stage,
        report: &'h mut ImportReport,
        (now, by): (Millis, &'h str),
        salt: &'h dyn Fn() -> Result<Salt>,
        dry: bool,
    ) -> Result<Hand<'h>> {
        let reading = cortex.read()?;
        let native = super::line::store_name(&reading)?
            .map_or_else(String::new, |store| format!("{}:{store}:", super::line::SYSTEM));
        let floor = reading.view().counters()?.at;
        Ok(Hand {
            cortex,
            stage,
            report,
            now,
            by,
            salt,
            dry,
            native,
            reading,
            group: Vec::new(),
            group_bytes: 0,
            waiting: HashSet::new(),
            sessions: HashSet::new(),
            touches: Vec::new(),
            floor,
        })
    }

    pub(super) fn run(mut self, progress: &mut Progress<'_>) -> Result<()> {
        let total = self.stage.total();
        let mut place = 0;
        loop {
            let steps = self.stage.next(place, STEPS_AHEAD)?;
            let Some(last) = steps.last() else { break };
            place = last.place;
            for staged in steps {
                match self.step(&staged) {
                    // What cannot be asked for is left out like what is refused.
                    Err(Error::Kernel(error)) if error.fault() == Fault::Caller => {
                        self.report.skipped.add(staged.what, error.to_string());
                    }
                    outcome => outcome?,
                }
            }
            progress(place.unsigned_abs().min(total), total);
        }
        self.touch()?;
        self.flush()
    }

    fn step(&mut self, staged: &Staged) -> Result<()> {
        let at = staged.at;
        match &staged.step {
            Step::SessionStart { session, project, directory, agent } => {
                let draft = SessionDraft {
                    session: session.clone(),
                    project: project.clone(),
                    directory: directory.clone(),
                    agent: agent.clone(),
                };
                self.session_start(staged, draft)
            }
            Step::First { origin, head, early, frozen, version } => {
                let late_head = if *early { Some(head.early()) } else { None };
                match self.place(origin)? {
                    Place::Absent => {
                        self.write(staged, origin, late_head.as_ref().unwrap_or(head), version)
                    }
                    Place::Native => self.unchanged(),
                    Place::Arrived(_) if *frozen => self.unchanged(),
                    Place::Arrived(id) => self.compare(staged, (id, origin), head, *early, version),
                }
            }
            Step::Later { origin, n, version } => self.later(staged, origin, *n, version),
            Step::Head { origin, head } => self.head(staged, origin, head),
            Step::Forget { origin, forgotten } => self.forget(staged, origin, forgotten),
            Step::Edge(edge) => self.edge(staged, edge),
            Step::Prompt { origin, session, project, text } => {
                if self.waiting.contains(origin) || self.done(&origin::key(origin))? {
                    self.report.prompts.unchanged += 1;
                    return Ok(());
                }
                let draft = PromptDraft {
                    session: session.clone(),
                    project: project.clone(),
                    text: text.clone(),
                    salt: (self.salt)()?,
                };
                self.waiting.insert(origin.clone());
                let effect = Effect::Prompt { dated: at.is_some() };
                self.push(staged, Command::Prompt(draft), Some(origin::key(origin)), None, effect)
            }
            Step::SessionEnd { session, summary } => {
                self.session_end(staged, session, summary.as_ref())
            }
            Step::Usage { origin, usage } => self.usage(origin, *usage),
        }
    }

    // ---- memories ----

    fn write(
        &mut self,
        staged: &Staged,
        origin: &str,
        head: &HeadRecord,
        version: &VersionRecord,
    ) -> Result<()> {
        if self.dry && !self.stage.plan(origin)? {
            return self.unchanged();
        }
        let body = self.body(memory_type(head), version)?;
        let mut draft = Draft::new(body, (self.salt)()?);
        draft.kind.clone_from(&head.kind);
        draft.project.clone_from(&head.project);
        draft.scope = scope(head)?;
        draft.visibility = visibility(head)?;
        draft.pinned = head.pinned;
        draft.tags.clone_from(&head.tags);
        draft.topic_key.clone_from(&head.topic_key);
        draft.session.clone_from(&head.session);
        draft.channel.clone_from(&head.channel);
        draft.importance = head.importance;
        draft.provenance = self.provenance(version)?;
        draft.confidence = version.confidence.unwrap_or(draft.confidence);
        draft.valid_from = self.valid_from(version);
        draft.valid_until = version.valid_until.map(Millis);
        draft.expires = version.expires.map(Millis);
        self.waiting.insert(origin.to_owned());
        let effect = Effect::NewMemory { dated: version.created.is_some() };
        let command = Command::Write(Box::new(draft));
        self.push(staged, command, Some(origin::key(origin)), version.by.clone(), effect)
    }

    /// A memory that arrived before: is it still what its origin says?
    fn compare(
        &mut self,
        staged: &Staged,
        (id, origin): (MemoryId, &str),
        head: &HeadRecord,
        early: bool,
        version: &VersionRecord,
    ) -> Result<()> {
        let now_here = self.reading.view().required_head(id)?;
        let last = self.last_arrived(id, origin)?;
        let Some(stored) = self.reading.view().body(&last)? else {
            self.report.skipped.add(&*staged.what, "it was erased here");
            return Ok(());
        };
        // A memory keeps its type for life, whatever the origin calls it now.
        let body = self.body_as(now_here.memory_type, memory_type(head), version)?;
        let same_version = stored == body
            && last.expires == version.expires.map(Millis)
            && last.valid_until == version.valid_until.map(Millis);
        let patch = patch_of(head)?;
        if same_version {
            if early || self.head_arrived(&now_here, origin, head, &patch)? {
                return self.unchanged();
            }
        }
        if now_here.tombstone.is_some() {
            self.report
                .skipped
                .add(&*staged.what, "it changed at its origin but is forgotten here");
            return Ok(());
        }
        // A change is dated by its arrival. It must not push the dates of new memories aside, so it comes after them.
        if !staged.last_chance {
            return self.stage.put_off(staged);
        }
        self.report.memories.changed += 1;
        if same_version {
            let key = origin::head_key(origin, &json_of(head));
            let revision = HeadRevision { id, expected: None, patch, reason: None };
            return self.push(staged, Command::UpdateHead(revision), Some(key), None, Effect::Head);
        }
        let mut revision = Revision::new(id, None, body, (self.salt)()?);
        revision.provenance = self.provenance(version)?;
        revision.confidence = version.confidence.unwrap_or(revision.confidence);
        revision.valid_from = self.valid_from(version);
        revision.valid_until = version.valid_until.map(Millis);
        revision.expires = version.expires.map(Millis);
        revision.patch = if early { HeadPatch::default() } else { patch };
        let key = origin::version_key(origin, &(now_here.version + 1).to_string());
        self.waiting.insert(origin.to_owned());
        let command = Command::Update(Box::new(revision));
        self.push(staged, command, Some(key), version.by.clone(), Effect::ChangedMemory)
    }

    /// The newest version that an import made.
    fn last_arrived(&self, id: MemoryId, origin: &str) -> Result<Version> {
        let view = self.reading.view();
        let key = origin::key(origin);
        for version in view.versions(id)?.into_iter().rev() {
            let entry = view.entry(version.seq)?;
            let made_by = entry.and_then(|entry| entry.idempotency).map(|made| made.key);
            if made_by.is_some_and(|made_by| made_by.starts_with(&key)) {
                return Ok(version);
            }
        }
        Ok(view.required_version(id, 1)?)
    }

    /// True if this state of the head arrived before, with the memory or later.
    fn head_arrived(
        &self,
        here: &Head,
        origin: &str,
        head: &HeadRecord,
        patch: &HeadPatch,
    ) -> Result<bool> {
        if self.done(&origin::head_key(origin, &json_of(head)))? {
            return Ok(true);
        }
        let view = self.reading.view();
        let Some(entry) = view.entry(here.id.get())? else { return Ok(false) };
        let Payload::Write(made) = entry.payload()? else { return Ok(false) };
        let text = |wanted: &Option<String>, made: &Option<String>| {
            wanted.as_deref().unwrap_or_default() == made.as_deref().unwrap_or_default()
        };
        Ok(patch.kind.as_ref().is_none_or(|kind| *kind == made.kind)
            && text(&patch.project, &made.project)
            && text(&patch.topic_key, &made.topic_key)
            && text(&patch.session, &made.session)
            && text(&patch.channel, &made.channel)
            && patch.scope == Some(made.scope)
            && patch.visibility == Some(made.visibility)
            && patch.pinned == Some(made.pinned)
            && patch.tags.as_ref() == Some(&made.tags)
            && patch.importance.is_none_or(|ppm| ppm == made.importance)
            && !head.archived
            && head.duplicates == 0)
    }

    fn later(
        &mut self,
        staged: &Staged,
        origin: &str,
        n: u32,
        version: &VersionRecord,
    ) -> Result<()> {
        let key = origin::version_key(origin, &n.to_string());
        let Some(id) = self.arrived(staged, origin)? else { return Ok(()) };
        if self.done(&key)? {
            return Ok(());
        }
        let here = self.reading.view().required_head(id)?;
        let body = self.body(here.memory_type, version)?;
        let mut revision = Revision::new(id, None, body, (self.salt)()?);
        revision.provenance = self.provenance(version)?;
        revision.confidence = version.confidence.unwrap_or(revision.confidence);
        revision.valid_from = self.valid_from(version);
        revision.valid_until = version.valid_until.map(Millis);
        revision.expires = version.expires.map(Millis);
        self.waiting.insert(origin.to_owned());
        let command = Command::Update(Box::new(revision));
        self.push(staged, command, Some(key), version.by.clone(), Effect::Version)
    }

    fn head(&mut self, staged: &Staged, origin: &str, head: &HeadRecord) -> Result<()> {
        let key = origin::head_key(origin, &json_of(head));
        let Some(id) = self.arrived(staged, origin)? else { return Ok(()) };
        let here = self.reading.view().required_head(id)?;
        if here.tombstone.is_some() || self.done(&key)? {
            return Ok(());
        }
        let revision = HeadRevision { id, expected: None, patch: patch_of(head)?, reason: None };
        self.push(staged, Command::UpdateHead(revision), Some(key), None, Effect::Head)
    }

    fn forget(&mut self, staged: &Staged, origin: &str, forgotten: &Forgotten) -> Result<()> {
        let key = origin::forgotten_key(origin);
        let Some(id) = self.arrived(staged, origin)? else {
            self.report.forgotten += u64::from(self.dry && self.stage.is_planned(origin)?);
            return Ok(());
        };
        let here = self.reading.view().required_head(id)?;
        // Restored by hand after it arrived: that stands.
        if here.tombstone.is_some() || self.done(&key)? {
            return Ok(());
        }
        let removal = Removal { id, expected: None, reason: forgotten.reason.clone() };
        let by = forgotten.by.clone();
        self.push(staged, Command::Tombstone(removal), Some(key), by, Effect::Forgotten)
    }

    fn usage(&mut self, origin: &str, usage: UsageRecord) -> Result<()> {
        let Place::Arrived(id) = self.place(origin)? else { return Ok(()) };
        let counted = self.reading.view().usage(id)?.accesses;
        let missing = usage.accesses.saturating_sub(counted);
        if missing > 0 && !self.dry {
            let count = u32::try_from(missing).unwrap_or(u32::MAX);
            let at = Millis(usage.last_access.unwrap_or(self.now.get()).min(self.now.get()));
            self.touches.push(Access { id, count, at });
            if self.touches.len() == TOUCHES_MAX {
                self.touch()?;
            }
        }
        Ok(())
    }

    fn touch(&mut self) -> Result<()> {
        if self.touches.is_empty() {
            return Ok(());
        }
        let touches = Touches { accesses: std::mem::take(&mut self.touches), grants: Vec::new() };
        let stamp = Stamp::new(self.now, self.by);
        let request = Request { stamp, command: Command::Touch(touches), authority: None };
        self.group.push(Pending { what: "uses".into(), request, effect: Effect::Usage });
        self.flush()
    }

    // ---- edges and sessions ----

    fn edge(&mut self, staged: &Staged, edge: &EdgeRecord) -> Result<()> {
        let key = origin::edge_key(&edge.from, &edge.relation, &edge.to, edge.weight);
        if self.done(&key)? {
            self.report.edges.unchanged += 1;
            return Ok(());
        }
        let (from, to) = (self.named(&edge.from)?, self.named(&edge.to)?);
        let (Some(src), Some(dst)) = (from, to) else {
            if self.dry && self.planned_end(&edge.from)? && self.planned_end(&edge.to)? {
                self.report.edges.new += 1;
            } else if staged.last_chance {
                let missing = if from.is_none() { &edge.from } else { &edge.to };
                let reason = format!("it points to {missing:?}, which is not here");
                self.report.skipped.add(&*staged.what, reason);
            } else {
                self.stage.put_off(staged)?;
            }
            return Ok(());
        };
        let relation = Relation::parse(&edge.relation)?;
        let draft = EdgeDraft { src, relation, dst, weight: edge.weight };
        let effect = Effect::Edge { dated: staged.at.is_some() };
        self.push(staged, Command::AddEdge(draft), Some(key), edge.by.clone(), effect)
    }

    fn planned_end(&mut self, name: &str) -> Result<bool> {
        let origin = self.stage.origin_of(name)?.unwrap_or_else(|| name.to_owned());
        Ok(self.stage.is_planned(&origin)? || self.named(name)?.is_some())
    }

    fn session_start(&mut self, staged: &Staged, draft: SessionDraft) -> Result<()> {
        let there = self.reading.view().session(&draft.session)?.is_some();
        if there || !self.sessions.insert(draft.session.clone()) {
            self.report.sessions.unchanged += 1;
            return Ok(());
        }
        let effect = Effect::Session { dated: staged.at.is_some() };
        self.push(staged, Command::SessionStart(draft), None, None, effect)
    }

    fn session_end(
        &mut self,
        staged: &Staged,
        session: &str,
        summary: Option<&String>,
    ) -> Result<()> {
        let here = self.reading.view().session(session)?;
        if here.is_some_and(|here| here.ended.is_some()) || self.dry {
            return Ok(());
        }
        let close = SessionClose {
            session: session.to_owned(),
            summary: summary.cloned(),
            salt: (self.salt)()?,
        };
        self.push(staged, Command::SessionEnd(close), None, None, Effect::SessionEnd)
    }

    // ---- what the store has ----

    fn place(&mut self, origin: &str) -> Result<Place> {
        if self.waiting.contains(origin) {
            self.flush()?;
        }
        if !self.native.is_empty()
            && let Some(id) = origin.strip_prefix(&self.native)
        {
            let id = id.parse().ok().and_then(MemoryId::new);
            let here = id.map(|id| self.reading.view().head(id)).transpose()?.flatten();
            return Ok(if here.is_some() { Place::Native } else { Place::Absent });
        }
        let record = self.reading.view().idempotency(&origin::key(origin))?;
        Ok(record.and_then(|record| record.id).map_or(Place::Absent, Place::Arrived))
    }

    /// The memory that arrived from an origin; nothing is done to one that was born here or was left out.
    fn arrived(&mut self, staged: &Staged, origin: &str) -> Result<Option<MemoryId>> {
        match self.place(origin)? {
            Place::Arrived(id) => Ok(Some(id)),
            Place::Absent if !self.dry => {
                self.report.skipped.add(&*staged.what, "the memory it belongs to was left out");
                Ok(None)
            }
            Place::Native | Place::Absent => Ok(None),
        }
    }

    /// A memory by its origin or by another name.
    fn named(&mut self, name: &str) -> Result<Option<MemoryId>> {
        let origin = self.stage.origin_of(name)?.unwrap_or_else(|| name.to_owned());
        Ok(match self.place(&origin)? {
            Place::Arrived(id) => Some(id),
            Place::Native => origin
                .strip_prefix(&self.native)
                .and_then(|id| id.parse().ok())
                .and_then(MemoryId::new),
            Place::Absent => None,
        })
    }

    fn done(&self, key: &str) -> Result<bool> {
        Ok(self.reading.view().idempotency(key)?.is_some())
    }

    fn unchanged(&mut self) -> Result<()> {
        self.report.memories.unchanged += 1;
        Ok(())
    }

    // ---- from records to the kernel's words ----

    fn body(&mut self, memory_type: MemoryType, version: &VersionRecord) -> Result<Body> {
        let mut wanted = version.fields.clone();
        if let Some(Value::Array(evidence)) = wanted.get_mut("evidence") {
            let names = std::mem::take(evidence);
            for name in names {
                let name = name.as_str().map_or_else(|| name.to_string(), str::to_owned);
                match self.named(&name)? {
                    Some(id) => evidence.push(id.get().into()),
                    None => self.report.references_left_out += 1,
                }
            }
        }
        let mut typed = Fields::empty(memory_type);
        fields::set_json(&mut typed, &wanted)?;
        let (title, content) = (version.title.clone(), version.content.clone());
        Ok(Body { title, content, fields: typed })
    }

    /// A body of the type a memory has; the fields of another type do not fit it.
    fn body_as(
        &mut self,
        here: MemoryType,
        wanted: MemoryType,
        version: &VersionRecord,
    ) -> Result<Body> {
        if here == wanted {
            return self.body(here, version);
        }
        let bare = VersionRecord { fields: serde_json::Map::new(), ..version.clone() };
        self.body(here, &bare)
    }

    fn provenance(&mut self, version: &VersionRecord) -> Result<Provenance> {
        let source = version.source.as_deref().map_or(Ok(Source::Imported), Source::parse)?;
        let mut derived_from = Vec::new();
        for reference in &version.derived_from {
            let (name, n) = reference.rsplit_once('#').unwrap_or((reference, "1"));
            let pinned = match (self.named(name)?, n.parse::<u32>()) {
                (Some(id), Ok(version)) => Some(Pinned { id, version }),
                _ => None,
            };
            let there = match pinned {
                Some(pinned) => self.reading.view().version(pinned.id, pinned.version)?.is_some(),
                None => false,
            };
            match pinned.filter(|_| there) {
                Some(pinned) => derived_from.push(pinned),
                None => self.report.references_left_out += 1,
            }
        }
        Ok(Provenance {
            source,
            derived_from,
            model: version.model.clone(),
            origin: version.origin.clone(),
        })
    }

    /// When it became true; what the journal cannot keep as the date of making is kept here.
    fn valid_from(&self, version: &VersionRecord) -> Option<Millis> {
        let older = version.created.filter(|created| *created < self.floor.get());
        let kept = version.valid_from.or(older)?;
        version.valid_until.is_none_or(|until| kept < until).then_some(Millis(kept))
    }

    // ---- groups ----

    fn push(
        &mut self,
        staged: &Staged,
        command: Command,
        key: Option<String>,
        by: Option<String>,
        effect: Effect,
    ) -> Result<()> {
        if self.dry {
            self.waiting.clear();
            self.count(effect, None, staged.at);
            return Ok(());
        }
        // A date in the future would drag every later entry there.
        let past = staged.at.filter(|at| *at <= self.now.get() && !staged.last_chance);
        let at = past.map_or(self.now, Millis);
        let mut stamp = Stamp::new(at, by.as_deref().unwrap_or(self.by));
        stamp.idempotency_key = key;
        self.group_bytes += command.content_bytes();
        let request = Request { stamp, command, authority: None };
        self.group.push(Pending { what: staged.what.clone(), request, effect });
        if self.group.len() >= GROUP_COMMANDS || self.group_bytes >= GROUP_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Commits the group. What the kernel refuses is left out and named; a failing store ends the import.
    fn flush(&mut self) -> Result<()> {
        if self.group.is_empty() {
            return Ok(());
        }
        let group = std::mem::take(&mut self.group);
        self.group_bytes = 0;
        let mut asked = Vec::with_capacity(group.len());
        let mut requests = Vec::with_capacity(group.len());
        for pending in group {
            asked.push((pending.what, pending.effect, pending.request.stamp.at));
            requests.push(pending.request);
        }
        let answers = self.cortex.submit_bulk(requests)?;
        for ((what, effect, at), answer) in asked.into_iter().zip(answers) {
            match answer {
                Ok(receipt) => self.count(effect, Some(&receipt), Some(at.get())),
                Err(error) if error.fault() == Fault::Store => return Err(error.into()),
                Err(error) => self.report.skipped.add(what, error.to_string()),
            }
        }
        self.waiting.clear();
        self.sessions.clear();
        self.reading = self.cortex.read()?;
        Ok(())
    }

    fn count(&mut self, effect: Effect, receipt: Option<&Receipt>, at: Option<i64>) {
        // In a dry run nobody knows what the journal will say; its last entry does.
        let kept = receipt.map_or(at.is_some_and(|at| at >= self.floor.get()), |receipt| {
            at == Some(receipt.at.get())
        });
        let dates = &mut self.report.dates;
        match effect {
            Effect::NewMemory { dated } => {
                self.report.memories.new += 1;
                match (dated, kept) {
                    (false, _) => dates.absent += 1,
                    (true, true) => dates.as_created += 1,
                    (true, false) => dates.as_valid_from += 1,
                }
            }
            Effect::Version => self.report.versions += 1,
            Effect::Forgotten => self.report.forgotten += 1,
            Effect::Edge { dated } => {
                self.report.edges.new += 1;
                dates.lost += u64::from(dated && !kept);
            }
            Effect::Prompt { dated } => {
                self.report.prompts.new += 1;
                dates.lost += u64::from(dated && !kept);
            }
            Effect::Session { dated } => {
                self.report.sessions.new += 1;
                dates.lost += u64::from(dated && !kept);
            }
            Effect::ChangedMemory => self.report.versions += 1,
            Effect::Head | Effect::SessionEnd | Effect::Usage => {}
        }
    }
}

fn json_of(head: &HeadRecord) -> Vec<u8> {
    serde_json::to_vec(head).expect("a record of texts and numbers is JSON")
}

fn scope(head: &HeadRecord) -> Result<Scope> {
    Ok(head.scope.as_deref().map_or(Ok(Scope::Project), Scope::parse)?)
}

fn visibility(head: &HeadRecord) -> Result<Visibility> {
    Ok(head.visibility.as_deref().map_or(Ok(Visibility::Scoped), Visibility::parse)?)
}

/// The whole head as a change: what is absent is cleared.
fn patch_of(head: &HeadRecord) -> Result<HeadPatch> {
    let text = |text: &Option<String>| Some(text.clone().unwrap_or_default());
    Ok(HeadPatch {
        kind: head.kind.clone(),
        project: text(&head.project),
        scope: Some(scope(head)?),
        visibility: Some(visibility(head)?),
        pinned: Some(head.pinned),
        archived: Some(head.archived),
        tags: Some(head.tags.clone()),
        topic_key: text(&head.topic_key),
        session: text(&head.session),
        channel: text(&head.channel),
        importance: head.importance,
        duplicates: Some(head.duplicates),
    })
}
