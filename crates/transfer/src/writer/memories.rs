//! Memories: written, compared with what arrived before, changed, forgotten, counted.

use kernel::Submission;
use kernel::command::{Command, Draft, HeadRevision, Removal, Revision, Stamp, Touches};
use kernel::journal::{Access, HeadPatch, Payload};
use kernel::limits::TOUCHES_MAX;
use kernel::memory::{Body, Head, MemoryId, Millis, Version};

use crate::Result;
use crate::normalize::memory_type;
use crate::origin;
use crate::record::{ForgottenRecord, HeadRecord, UsageRecord, VersionRecord};
use crate::report;
use crate::staging::StagedStep;
use crate::writer::conversion::{json_of, patch_of, scope, visibility};
use crate::writer::{Effect, ImportWriter, Pending, Place};
use service::fields;

impl ImportWriter<'_> {
    pub(super) fn write(
        &mut self,
        staged: &StagedStep,
        origin: &str,
        head: &HeadRecord,
        version: &VersionRecord,
    ) -> Result<()> {
        if self.dry && !self.staging.plan(origin)? {
            self.unchanged();
            return Ok(());
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
        self.push(staged, command, Some(origin::key(origin)), version.by.as_ref(), effect)
    }

    /// A memory that arrived before: is it still what its origin says?
    pub(super) fn compare(
        &mut self,
        staged: &StagedStep,
        (id, origin): (MemoryId, &str),
        head: &HeadRecord,
        early: bool,
        version: &VersionRecord,
    ) -> Result<()> {
        let now_here = self.reading.view().required_head(id)?;
        let last = self.last_arrived(id, origin)?;
        let Some(stored) = self.reading.view().body(&last)? else {
            report::left_out(&mut self.report.skipped, &*staged.what, "it was erased here");
            return Ok(());
        };
        // A memory keeps its type for life, whatever the origin calls it now.
        let body = self.body_as(now_here.memory_type, memory_type(head), version)?;
        let same_version = stored == body
            && last.expires == version.expires.map(Millis)
            && last.valid_until == version.valid_until.map(Millis);
        let patch = patch_of(head)?;
        if same_version && (early || self.head_arrived(&now_here, origin, head, &patch)?) {
            self.unchanged();
            return Ok(());
        }
        if now_here.tombstone.is_some() {
            report::left_out(
                &mut self.report.skipped,
                &*staged.what,
                "it changed at its origin but is forgotten here",
            );
            return Ok(());
        }
        // A change is dated by its arrival. It must not push the dates of new memories aside, so it comes after them.
        if !staged.last_chance {
            return self.staging.put_off(staged);
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
        self.push(staged, command, Some(key), version.by.as_ref(), Effect::Version)
    }

    /// A memory that was exported to where somebody may have edited it: words or fields that no version has are a new
    /// one.
    pub(super) fn edited(
        &mut self,
        staged: &StagedStep,
        id: MemoryId,
        head: &HeadRecord,
        version: &VersionRecord,
    ) -> Result<()> {
        let view = self.reading.view();
        let now_here = view.required_head(id)?;
        let current = view.required_version(id, now_here.version)?;
        let Some(stored) = view.body(&current)? else {
            report::left_out(&mut self.report.skipped, &*staged.what, "it was erased here");
            return Ok(());
        };
        let mut body = self.body_as(now_here.memory_type, memory_type(head), version)?;
        // A copy of before there were fields says nothing of them.
        let mut typed = stored.fields;
        if now_here.memory_type == memory_type(head) {
            fields::set_json(&mut typed, &version.fields)?;
        }
        body.fields = typed;
        for before in self.reading.view().versions(id)? {
            let before = self.reading.view().body(&before)?;
            if before.is_some_and(|it| {
                it.title == body.title
                    && it.fields == body.fields
                    && reads_alike(&it.content, &body.content)
            }) {
                self.unchanged();
                return Ok(());
            }
        }
        if now_here.tombstone.is_some() {
            let reason = "it was edited but is forgotten here";
            report::left_out(&mut self.report.skipped, &*staged.what, reason);
            return Ok(());
        }
        if !staged.last_chance {
            return self.staging.put_off(staged);
        }
        self.report.memories.changed += 1;
        let mut revision = Revision::new(id, None, body, (self.salt)()?);
        revision.provenance = self.provenance(version)?;
        revision.confidence = current.confidence;
        revision.valid_from = current.valid_from;
        revision.valid_until = current.valid_until;
        revision.expires = current.expires;
        let Body { title, content, fields } = &revision.body;
        let edit = format!("{title}\n{content}\n{}", fields::to_json(fields));
        let edit = origin::short(edit.as_bytes(), 8);
        let key = origin::version_key(&origin::origin("edit", &id.get().to_string()), &edit);
        let command = Command::Update(Box::new(revision));
        self.push(staged, command, Some(key), version.by.as_ref(), Effect::Version)
    }

    /// The newest version that an import made.
    pub(super) fn last_arrived(&self, id: MemoryId, origin: &str) -> Result<Version> {
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
    pub(super) fn head_arrived(
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

    pub(super) fn later(
        &mut self,
        staged: &StagedStep,
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
        self.push(staged, command, Some(key), version.by.as_ref(), Effect::Version)
    }

    pub(super) fn head(
        &mut self,
        staged: &StagedStep,
        origin: &str,
        head: &HeadRecord,
    ) -> Result<()> {
        let key = origin::head_key(origin, &json_of(head));
        let Some(id) = self.arrived(staged, origin)? else { return Ok(()) };
        let here = self.reading.view().required_head(id)?;
        if here.tombstone.is_some() || self.done(&key)? {
            return Ok(());
        }
        let revision = HeadRevision { id, expected: None, patch: patch_of(head)?, reason: None };
        self.push(staged, Command::UpdateHead(revision), Some(key), None, Effect::Head)
    }

    pub(super) fn forget(
        &mut self,
        staged: &StagedStep,
        origin: &str,
        forgotten: &ForgottenRecord,
    ) -> Result<()> {
        let key = origin::forgotten_key(origin);
        let Some(id) = self.arrived(staged, origin)? else {
            self.report.forgotten += u64::from(self.dry && self.staging.is_planned(origin)?);
            return Ok(());
        };
        let here = self.reading.view().required_head(id)?;
        // Restored by hand after it arrived: that stands.
        if here.tombstone.is_some() || self.done(&key)? {
            return Ok(());
        }
        let removal = Removal { id, expected: None, reason: forgotten.reason.clone() };
        let by = forgotten.by.as_ref();
        self.push(staged, Command::Tombstone(removal), Some(key), by, Effect::Forgotten)
    }

    pub(super) fn usage(&mut self, origin: &str, usage: UsageRecord) -> Result<()> {
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

    pub(super) fn touch(&mut self) -> Result<()> {
        if self.touches.is_empty() {
            return Ok(());
        }
        let touches = Touches { accesses: std::mem::take(&mut self.touches), ..Touches::default() };
        let stamp = Stamp::new(self.now, self.by);
        let request = Submission { stamp, command: Command::Touch(touches), authority: None };
        self.group.push(Pending { what: "uses".into(), request, effect: Effect::Usage });
        self.flush()
    }
}

/// True if two texts differ in nothing but the white space at the ends of lines, which editors change.
fn reads_alike(one: &str, two: &str) -> bool {
    one.trim().lines().map(str::trim_end).eq(two.trim().lines().map(str::trim_end))
}
