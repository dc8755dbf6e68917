//! Where readers put what they find: it is made legal, checked, taken apart into steps and staged.
//!
//! What a reader says is judged here once, so that a dry run names the same rows as the run itself.

use kernel::limits::CONTENT_BYTES_MAX;
use kernel::memory::{Fields, MemoryType, Millis};
use serde_json::{Value, json};

use crate::clean;
use crate::record::{
    EdgeRecord, ForgottenRecord, HeadRecord, MemoryRecord, PromptRecord, SessionRecord, Step,
    UsageRecord, VersionRecord,
};
use crate::report;
use crate::staging::StagingDatabase;
use crate::{Result, TransferProgress};
use api::transfer::ImportReport;
use intake::project::name::from_given;
use intake::redactor::{Redactor, check_something_left};
use service::fields;

pub(super) struct Normalizer<'s> {
    pub(super) staging: &'s StagingDatabase,
    pub(super) report: &'s mut ImportReport,
    /// For records that name none.
    pub(super) project: Option<String>,
    /// Secrets are masked; private blocks go in any case.
    pub(super) mask_secrets: bool,
    /// Names are kept as they are: they come from a store like ours.
    pub(super) verbatim: bool,
    pub(super) progress: &'s mut TransferProgress<'s>,
}

/// How a memory stands to its origin and to what may be here already.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    /// The rest of its head comes later.
    pub(super) early: bool,
    /// The origin never changes a version.
    pub(super) frozen: bool,
    /// It was exported from a store of ours.
    pub(super) is_copy: bool,
}

/// What follows the versions of a memory.
#[derive(Debug, Default)]
pub(super) struct Rest {
    pub(super) head: HeadRecord,
    /// When its last version was made.
    pub(super) last: Option<i64>,
    /// When its head was changed after that.
    pub(super) updated: Option<i64>,
    pub(super) forgotten: Option<ForgottenRecord>,
    pub(super) usage: Option<UsageRecord>,
}

impl Normalizer<'_> {
    /// A row that cannot be kept.
    pub(super) fn skip(&mut self, what: impl Into<String>, reason: impl Into<String>) {
        report::left_out(&mut self.report.skipped, what, reason);
    }

    /// The source breaks off; what comes before is taken.
    pub(super) fn breaks_off(&mut self, place: impl Into<String>) {
        self.report.incomplete.get_or_insert(place.into());
    }

    /// A line that is no JSON: if only its end is missing, the source breaks off there.
    pub(super) fn bad_line(&mut self, n: u64, what: &str, error: &serde_json::Error) {
        self.skip(format!("line {n}"), format!("{what}: {error}"));
        if error.is_eof() {
            self.breaks_off(format!("line {n} ends in the middle"));
        }
    }

    /// A memory of another tool, with one version. `what` names it in the report. False: it was left out.
    pub(super) fn memory(&mut self, what: &str, record: MemoryRecord) -> Result<bool> {
        let MemoryRecord { origin, mut head, mut version, updated, forgotten, usage, is_copy } =
            record;
        self.tidy_head(&mut head);
        let Some((title, content)) =
            clean::title_and_content(Some(&version.title), &version.content)
        else {
            self.skip(what, "it has neither title nor text");
            return Ok(false);
        };
        (version.title, version.content) = (title, content);
        version.source = Some("imported".into());
        version.origin = Some(origin.clone());
        version.valid_from = version.valid_from.or(version.created);
        if !is_copy {
            date_events(&head, &mut version);
        }
        let last = version.created;
        let updated = updated.filter(|updated| Some(*updated) > last);
        let rest = Rest { head: head.clone(), last, updated, forgotten, usage };
        let standing = Standing { early: updated.is_some(), frozen: false, is_copy };
        if !self.first(what, &origin, head, standing, version)? {
            return Ok(false);
        }
        self.rest(what, &origin, rest)?;
        Ok(true)
    }

    /// The first version. False: it was left out, and so must be what follows.
    pub(super) fn first(
        &mut self,
        what: &str,
        origin: &str,
        head: HeadRecord,
        standing: Standing,
        mut version: VersionRecord,
    ) -> Result<bool> {
        if !self.tidy_version(what, memory_type(&head), &mut version) {
            return Ok(false);
        }
        let kind = head.kind.clone();
        let kind = kind.unwrap_or_else(|| memory_type(&head).default_kind().to_owned());
        *self.report.found.entry(kind).or_default() += 1;
        let (origin, at) = (origin.to_owned(), version.created);
        self.staging.push(
            at,
            what,
            &Step::First {
                origin,
                head: Box::new(head),
                early: standing.early,
                frozen: standing.frozen,
                is_copy: standing.is_copy,
                version: Box::new(version),
            },
        )?;
        Ok(true)
    }

    /// A version after the first.
    pub(super) fn later(
        &mut self,
        what: &str,
        origin: &str,
        memory_type: MemoryType,
        n: u32,
        mut version: VersionRecord,
    ) -> Result<()> {
        if self.tidy_version(what, memory_type, &mut version) {
            let (origin, at) = (origin.to_owned(), version.created);
            self.staging.push(at, what, &Step::Later { origin, n, version: Box::new(version) })?;
        }
        Ok(())
    }

    /// Head, forgetting and use.
    pub(super) fn rest(&mut self, what: &str, origin: &str, rest: Rest) -> Result<()> {
        let Rest { head, last, updated, forgotten, usage } = rest;
        let origin = || origin.to_owned();
        if updated.is_some() || head.archived || head.duplicates > 0 {
            self.staging.push(
                updated.or(last),
                what,
                &Step::Head { origin: origin(), head: Box::new(head) },
            )?;
        }
        if let Some(forgotten) = forgotten {
            let at = forgotten.at.or(updated).or(last);
            self.staging.push(at, what, &Step::Forget { origin: origin(), forgotten })?;
        }
        if let Some(usage) = usage.filter(|usage| usage.accesses > 0) {
            // Uses are compared with what the store counts, when everything else is there.
            self.staging.push(None, what, &Step::Usage { origin: origin(), usage })?;
        }
        Ok(())
    }

    pub(super) fn edge(&mut self, what: &str, edge: EdgeRecord) -> Result<()> {
        self.staging.push(edge.at, what, &Step::Edge(edge))
    }

    pub(super) fn session(&mut self, what: &str, record: SessionRecord) -> Result<()> {
        let Some(session) = clean::name(&record.session) else {
            self.skip(what, "the session has no name");
            return Ok(());
        };
        let project = self.project_of(record.project.as_ref());
        let directory = record.directory.as_deref().and_then(clean::field);
        let agent = record.agent.as_deref().and_then(clean::name);
        let ends = record.ended.is_some() || record.summary.is_some();
        let is_past = !self.verbatim && !ends;
        let start =
            Step::SessionStart { session: session.clone(), project, directory, agent, is_past };
        self.staging.push(record.started, what, &start)?;
        if ends {
            let summary = record.summary.map(|text| self.redacted(&text.replace('\0', "")));
            if summary.as_ref().is_some_and(|text| text.len() > CONTENT_BYTES_MAX) {
                self.skip(what, too_large("the summary"));
                return Ok(());
            }
            let ended = record.ended.max(record.started);
            self.staging.push(ended, what, &Step::SessionEnd { session, summary })?;
        }
        Ok(())
    }

    pub(super) fn prompt(&mut self, what: &str, record: PromptRecord) -> Result<()> {
        let text = self.redacted(&record.text.replace('\0', ""));
        if text.trim().is_empty() {
            self.skip(what, "the prompt is empty");
            return Ok(());
        }
        if text.len() > CONTENT_BYTES_MAX {
            self.skip(what, too_large("the prompt"));
            return Ok(());
        }
        let session = record.session.as_deref().and_then(clean::name);
        let project = self.project_of(record.project.as_ref());
        let step = Step::Prompt { origin: record.origin, session, project, text };
        self.staging.push(record.at, what, &step)
    }

    /// Names of projects in the spelling that saves use.
    fn project_of(&self, project: Option<&String>) -> Option<String> {
        let spelled = |name: &String| {
            let normal = from_given(name).filter(|_| !self.verbatim);
            normal.or_else(|| clean::name(name))
        };
        project.and_then(spelled).or_else(|| self.project.clone())
    }

    /// Makes every name of a head legal.
    pub(super) fn tidy_head(&mut self, head: &mut HeadRecord) {
        head.kind = head.kind.as_deref().and_then(clean::kind);
        head.project = self.project_of(head.project.as_ref());
        head.session = head.session.as_deref().and_then(clean::name);
        head.channel = head.channel.as_deref().and_then(clean::name);
        head.topic_key = head.topic_key.as_deref().and_then(clean::topic_key);
        // A name that holds a secret is no name.
        let mut screen = Redactor::new(self.mask_secrets);
        head.topic_key = head.topic_key.take().and_then(|key| screen.name(&key));
        let (tags, left_out) = clean::tags(screen.tags(&head.tags));
        self.report.redacted += u64::from(!screen.report().is_clean());
        head.tags = tags;
        self.report.tags_left_out += left_out as u64;
    }

    /// Redacts, and refuses what the kernel would refuse.
    fn tidy_version(
        &mut self,
        what: &str,
        memory_type: MemoryType,
        version: &mut VersionRecord,
    ) -> bool {
        version.title = self.redacted(&version.title);
        version.content = self.redacted(&version.content);
        for value in version.fields.values_mut() {
            if let Value::String(text) = value {
                *text = self.redacted(text);
            }
        }
        let nothing =
            |text: &str| text.trim().is_empty() || check_something_left("text", text).is_err();
        if nothing(&version.title) && nothing(&version.content) {
            self.skip(what, "nothing is left of it but private text");
            return false;
        }
        version.by = version.by.as_deref().and_then(clean::name);
        version.model = version.model.as_deref().and_then(clean::name);
        if version.content.len() > CONTENT_BYTES_MAX {
            self.skip(what, too_large("the content"));
            return false;
        }
        if let Err(error) = fields::set_json(&mut Fields::empty(memory_type), &version.fields) {
            self.skip(what, error.to_string());
            return false;
        }
        true
    }

    fn redacted(&mut self, text: &str) -> String {
        let mut screen = Redactor::new(self.mask_secrets);
        let text = screen.text(text);
        self.report.redacted += u64::from(!screen.report().is_clean());
        text
    }
}

/// The type a head asks for.
pub(super) fn memory_type(head: &HeadRecord) -> MemoryType {
    head.memory_type
        .as_deref()
        .and_then(MemoryType::from_name)
        .or_else(|| head.kind.as_deref().map(MemoryType::of_kind))
        .unwrap_or(MemoryType::Fact)
}

/// An event happened when its origin says it was written down, unless that says otherwise.
fn date_events(head: &HeadRecord, version: &mut VersionRecord) {
    if memory_type(head) == MemoryType::Event
        && let Some(created) = version.created
    {
        let happened = json!(Millis(created).rfc3339());
        version.fields.entry("happened_at").or_insert(happened);
    }
}

fn too_large(what: &str) -> String {
    format!("{what} has more than {CONTENT_BYTES_MAX} bytes")
}
