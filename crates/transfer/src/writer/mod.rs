//! Takes steps out of the staging database, by date, and asks the kernel for what is missing.
//!
//! Each step knows from the store whether it was done: by the idempotency key of its origin, or because the state is
//! already as asked. So a run that was killed is continued by running it again. Commands are committed together, in
//! groups; a step that needs the id of a memory in the group waits for the group's commit.

mod conversion;
mod memories;
mod surroundings;

use std::collections::HashSet;

use kernel::command::{Command, PromptDraft, Receipt, SessionDraft, Stamp};
use kernel::journal::Access;
use kernel::memory::{MemoryId, Millis, Salt};
use kernel::{Cortex, KernelFault, Reading, Submission};

use crate::origin;
use crate::record::Step;
use crate::report;
use crate::staging::{StagedStep, StagingDatabase};
use crate::{Error, Result, TransferProgress};
use api::transfer::ImportReport;

/// Commands in one commit.
const GROUP_COMMANDS: usize = 1_024;
/// Bytes of text in one commit.
const GROUP_BYTES: usize = 8 * 1_048_576;
/// Steps read ahead from the staging database; each may hold a mebibyte of text.
const STEPS_AHEAD: u32 = 32;

pub(super) struct ImportWriter<'h> {
    cortex: &'h Cortex,
    staging: &'h StagingDatabase,
    report: &'h mut ImportReport,
    now: Millis,
    by: &'h str,
    run: Option<&'h str>,
    salt: &'h dyn Fn() -> Result<Salt>,
    dry: bool,
    /// `cortex:<store>:` of the store itself; an empty one has no name.
    native: Option<String>,
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
    request: Submission,
    effect: Effect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    NewMemory { dated: bool },
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
    /// It was born here.
    Native(MemoryId),
    /// It arrived with an earlier import; the entry that wrote it.
    Arrived(MemoryId),
    Absent,
}

impl<'h> ImportWriter<'h> {
    pub(super) fn new(
        cortex: &'h Cortex,
        staging: &'h StagingDatabase,
        report: &'h mut ImportReport,
        (now, by, run): (Millis, &'h str, Option<&'h str>),
        salt: &'h dyn Fn() -> Result<Salt>,
        dry: bool,
    ) -> Result<ImportWriter<'h>> {
        let reading = cortex.read()?;
        let store = crate::export_line::store_name(&reading)?;
        let native = store.map(|store| format!("{}:{store}:", crate::export_line::SYSTEM));
        let floor = reading.view().counters()?.at;
        Ok(ImportWriter {
            cortex,
            staging,
            report,
            now,
            by,
            run,
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

    pub(super) fn run(mut self, progress: &mut TransferProgress<'_>) -> Result<()> {
        let total = self.staging.total();
        let mut place = 0;
        loop {
            let steps = self.staging.next(place, STEPS_AHEAD)?;
            let Some(last) = steps.last() else { break };
            place = last.place;
            for staged in steps {
                match self.step(&staged) {
                    // What cannot be asked for is left out like what is refused.
                    Err(Error::Kernel(error)) if error.fault() == KernelFault::Caller => {
                        report::left_out(&mut self.report.skipped, staged.what, error.to_string());
                    }
                    outcome => outcome?,
                }
            }
            progress(place.unsigned_abs().min(total), total);
        }
        self.touch()?;
        self.flush()
    }

    fn step(&mut self, staged: &StagedStep) -> Result<()> {
        match &staged.step {
            Step::SessionStart { session, project, directory, agent, is_past } => {
                let draft = SessionDraft {
                    session: session.clone(),
                    project: project.clone(),
                    directory: directory.clone(),
                    agent: agent.clone(),
                };
                self.session_start(staged, draft, *is_past)
            }
            Step::First { origin, head, early, frozen, is_copy, version } => {
                let late_head = if *early { Some(head.early()) } else { None };
                match self.place(origin)? {
                    Place::Absent => {
                        self.write(staged, origin, late_head.as_ref().unwrap_or(head), version)
                    }
                    Place::Native(id) if !*frozen => self.edited(staged, id, head, version),
                    Place::Native(_) => {
                        self.unchanged();
                        Ok(())
                    }
                    Place::Arrived(_) if *frozen => {
                        self.unchanged();
                        Ok(())
                    }
                    Place::Arrived(id) if *is_copy => self.edited(staged, id, head, version),
                    Place::Arrived(id) => self.compare(staged, (id, origin), head, *early, version),
                }
            }
            Step::Later { origin, n, version } => self.later(staged, origin, *n, version),
            Step::Head { origin, head } => self.head(staged, origin, head),
            Step::Forget { origin, forgotten } => self.forget(staged, origin, forgotten),
            Step::Edge(edge) => self.edge(staged, edge),
            Step::Prompt { origin, session, project, text } => {
                let draft = PromptDraft {
                    session: session.clone(),
                    project: project.clone(),
                    text: text.clone(),
                    salt: (self.salt)()?,
                };
                self.prompt(staged, origin, draft)
            }
            Step::SessionEnd { session, summary } => {
                self.session_end(staged, session, summary.as_ref())
            }
            Step::Usage { origin, usage } => self.usage(origin, *usage),
        }
    }

    // ---- what the store has ----

    fn place(&mut self, origin: &str) -> Result<Place> {
        if self.waiting.contains(origin) {
            self.flush()?;
        }
        if let Some(id) = self.native_number(origin).and_then(MemoryId::new) {
            let here = self.reading.view().head(id)?.is_some();
            return Ok(if here { Place::Native(id) } else { Place::Absent });
        }
        let record = self.reading.view().idempotency(&origin::key(origin))?;
        Ok(record.and_then(|record| record.id).map_or(Place::Absent, Place::Arrived))
    }

    /// The memory that arrived from an origin; nothing is done to one that was born here or was left out.
    fn arrived(&mut self, staged: &StagedStep, origin: &str) -> Result<Option<MemoryId>> {
        match self.place(origin)? {
            Place::Arrived(id) => Ok(Some(id)),
            Place::Absent if !self.dry => {
                report::left_out(
                    &mut self.report.skipped,
                    &*staged.what,
                    "the memory it belongs to was left out",
                );
                Ok(None)
            }
            Place::Native(_) | Place::Absent => Ok(None),
        }
    }

    /// The origin that a name stands for; it may be one itself.
    fn origin_of(&self, name: &str) -> Result<String> {
        Ok(self.staging.origin_of(name)?.unwrap_or_else(|| name.to_owned()))
    }

    /// A memory by its origin or by another name.
    fn named(&mut self, name: &str) -> Result<Option<MemoryId>> {
        let origin = self.origin_of(name)?;
        Ok(match self.place(&origin)? {
            Place::Native(id) | Place::Arrived(id) => Some(id),
            Place::Absent => None,
        })
    }

    /// The number that something has in this store, if it was born here.
    fn native_number(&self, origin: &str) -> Option<u64> {
        let native = self.native.as_deref()?;
        origin.strip_prefix(native)?.parse().ok()
    }

    fn done(&self, key: &str) -> Result<bool> {
        Ok(self.reading.view().idempotency(key)?.is_some())
    }

    fn unchanged(&mut self) {
        self.report.memories.unchanged += 1;
    }

    // ---- groups ----

    fn push(
        &mut self,
        staged: &StagedStep,
        command: Command,
        key: Option<String>,
        by: Option<&String>,
        effect: Effect,
    ) -> Result<()> {
        if self.dry {
            self.waiting.clear();
            self.count(effect, None, staged.at);
            return Ok(());
        }
        // What is dated never comes before the last entry; a date in the future would drag every later one there.
        let past = staged.at.filter(|at| *at <= self.now.get() && !staged.last_chance);
        // Behind an entry of a clock that was ahead nothing keeps its date: what follows is of now.
        let at = past.filter(|_| self.floor <= self.now).map_or(self.now, Millis);
        let mut stamp = Stamp::new(at, by.map_or(self.by, String::as_str));
        stamp.is_dated = at != self.now;
        stamp.idempotency_key = key;
        stamp.run = self.run.map(str::to_owned);
        self.group_bytes += command.content_bytes();
        let request = Submission { stamp, command, authority: None };
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
                Err(error) if error.fault() == KernelFault::Server => return Err(error.into()),
                Err(error) => report::left_out(&mut self.report.skipped, what, error.to_string()),
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
        // The same thing twice in one group: the second was answered with the first.
        if receipt.is_some_and(|receipt| receipt.replayed) {
            return;
        }
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
            // The state was as asked already.
            Effect::Edge { .. } if receipt.is_some_and(|receipt| !receipt.changed) => {
                self.report.edges.unchanged += 1;
            }
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
            Effect::Head | Effect::SessionEnd | Effect::Usage => {}
        }
    }
}
