//! Reads what is new: one thread reads and cleans, the other numbers, packs and counts words.
//!
//! What must stay true: sources are taken in one order, newest first, whatever the threads do, so the same disk gives
//! the same past; every slice is made durable at once; a source that cannot be read is named and costs nothing else.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use serde::Serialize;

use crate::assembler::{Assembler, AssemblerParts};
use crate::catalog::{CatalogChange, SourceRow, TurnCursor};
use crate::error::{Error, Result};
use crate::exclusion::Exclusion;
use crate::limits::{FRESH_FOLDER_MS, SLICE_BYTES};
use crate::slice::SliceOutcome;
use crate::source_file::{self, SourceEnd, SourceStart};
use crate::store::{OpenWork, Past};
use crate::sweep::{self, SourcePlan};
use crate::tombstones::{TombstoneSet, Tombstones};
use crate::words::WordsBuilder;
use transcripts::cleaner::{EventSink, PastEvent};
use transcripts::counts::ReadCounts;
use transcripts::readers::{self, OwnLines, PastReader};
use transcripts::session::{PastAgent, SessionInfo};
use transcripts::surroundings::PastSurroundings;

/// Events that are handed over together.
const BATCH_EVENTS: usize = 64;
/// Batches that wait between the threads.
const BATCHES_MAX: usize = 16;

/// What is to be read.
#[derive(Clone, Debug, Default)]
pub struct ReadScope {
    /// All agents if there are none.
    pub agents: Vec<PastAgent>,
    /// Sources that changed since then.
    pub since: Option<i64>,
    /// One file, of the agent that is named or in our own lines.
    pub path: Option<PathBuf>,
    /// Only sources that are known and had changed since then, and new ones in folders that changed just now.
    pub known_since: Option<i64>,
    /// Only says what would be read.
    pub dry_run: bool,
}

/// What a reading needs of the world.
#[allow(missing_debug_implementations)]
pub struct ReadWorld<'w> {
    pub surroundings: &'w PastSurroundings,
    pub exclusion: &'w Exclusion,
    pub tombstones: &'w dyn Tombstones,
    pub now: i64,
    /// Hears how many bytes of how many were read.
    pub progress: &'w mut dyn FnMut(u64, u64),
}

/// What a reading gave.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ReadOutcome {
    pub agents: BTreeMap<&'static str, ReadCounts>,
    /// Agents whose records this build does not know well any more.
    pub drift: Vec<&'static str>,
    pub sessions: u64,
    pub turns: u64,
    /// Sources that are new or changed, and their bytes; with `dry_run` nothing of them was read.
    pub changed_files: u64,
    pub changed_bytes: u64,
}

enum Message {
    Start(SourceStart),
    Events(Vec<PastEvent>),
    End(Result<Box<SourceEnd>>),
}

/// Sends events to the other thread, several at a time.
struct EventSender {
    batch: Vec<PastEvent>,
    to: SyncSender<Message>,
    is_heard: bool,
}

impl EventSink for EventSender {
    fn take(&mut self, event: PastEvent) {
        self.batch.push(event);
        if self.batch.len() >= BATCH_EVENTS {
            self.flush();
        }
    }
}

impl EventSender {
    fn flush(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        self.send(Message::Events(batch));
    }

    fn send(&mut self, message: Message) {
        // The other side is gone only if it failed; it has the error then.
        self.is_heard &= self.to.send(message).is_ok();
    }
}

/// What is left of a reading that goes in steps, so that others can ask in between.
#[allow(missing_debug_implementations)]
pub struct ReadPlan {
    sources: VecDeque<SourcePlan>,
    outcome: ReadOutcome,
    bytes_done: u64,
    scope: ReadScope,
    /// What the reading itself made known was added.
    is_extended: bool,
}

impl ReadPlan {
    pub fn is_done(&self) -> bool {
        self.sources.is_empty()
    }

    /// Bytes that were read, and bytes in all.
    pub fn progress(&self) -> (u64, u64) {
        (self.bytes_done, self.outcome.changed_bytes)
    }

    /// The sources of one step: some bytes, but one source at least.
    fn next_sources(&mut self, bytes: u64) -> Vec<SourcePlan> {
        let (mut taken, mut sum) = (Vec::new(), 0);
        while let Some(source) = self.sources.pop_front() {
            sum += new_bytes(&source);
            taken.push(source);
            if sum >= bytes {
                break;
            }
        }
        self.bytes_done += sum;
        taken
    }
}

impl Past {
    /// Reads everything that is new.
    pub fn read(&mut self, scope: &ReadScope, world: &mut ReadWorld<'_>) -> Result<ReadOutcome> {
        let mut plan = self.plan(scope, world)?;
        while !plan.is_done() && !scope.dry_run {
            self.read_step(&mut plan, world, u64::MAX)?;
        }
        Ok(self.outcome(plan))
    }

    /// Finds out what is new, and reads nothing of it yet.
    pub fn plan(&mut self, scope: &ReadScope, world: &ReadWorld<'_>) -> Result<ReadPlan> {
        self.recover(world.tombstones)?;
        let mut outcome = ReadOutcome::default();
        let sources = VecDeque::from(self.plans(scope, world, &mut outcome)?);
        outcome.changed_files = sources.len() as u64;
        outcome.changed_bytes = sources.iter().map(new_bytes).sum();
        for source in sources.iter().filter(|_| scope.dry_run) {
            let counts = outcome.agents.entry(source.reader.agent().name()).or_default();
            counts.files += 1;
            counts.bytes += new_bytes(source);
        }
        Ok(ReadPlan { sources, outcome, bytes_done: 0, scope: scope.clone(), is_extended: false })
    }

    /// Reads so many bytes of what a plan names, newest sources first. What was read is durable and can be found.
    pub fn read_step(
        &mut self,
        plan: &mut ReadPlan,
        world: &mut ReadWorld<'_>,
        bytes: u64,
    ) -> Result<()> {
        let mut sources = plan.next_sources(bytes);
        // Somebody else may have read on since the plan was made.
        for source in &mut sources {
            source.before = self.catalog.sources.get(&*source.path.to_string_lossy()).cloned();
        }
        sources.retain(|source| !source.is_read());
        if sources.is_empty() {
            return Ok(());
        }
        self.begin(OpenWork::Writing)?;
        let outcome = self.read_all(&sources, world, &mut plan.outcome);
        if outcome.is_err() {
            // The error to report is the one that came first; what is on disk is whole in any case.
            let _ = self.take_back();
        }
        outcome?;
        self.end()?;
        if plan.is_done() && !plan.is_extended {
            plan.is_extended = true;
            self.extend(plan, world)?;
        }
        Ok(())
    }

    /// Adds to a plan what lies in folders that the reading itself made known.
    fn extend(&self, plan: &mut ReadPlan, world: &ReadWorld<'_>) -> Result<()> {
        let in_folders = readers::all().into_iter().filter(|reader| {
            let agent = reader.agent();
            let agents = &plan.scope.agents;
            reader.file_in_folders().is_some() && (agents.is_empty() || agents.contains(&agent))
        });
        let agents: Vec<PastAgent> = in_folders.map(PastReader::agent).collect();
        let is_whole = plan.scope.path.is_none() && plan.scope.known_since.is_none();
        if agents.is_empty() || !is_whole {
            return Ok(());
        }
        let scope = ReadScope { agents, ..plan.scope.clone() };
        // What cannot be read was counted when the plan was made.
        let found = self.plans(&scope, world, &mut ReadOutcome::default())?;
        plan.outcome.changed_files += found.len() as u64;
        plan.outcome.changed_bytes += found.iter().map(new_bytes).sum::<u64>();
        plan.sources.extend(found);
        Ok(())
    }

    /// Goes back to what is durable after a reading that failed. What it wrote and nobody names is removed: perhaps it
    /// was room that was missing, and without it what was read before can still be asked.
    fn take_back(&mut self) -> Result<()> {
        self.load()?;
        self.remove_strays()?;
        self.end()?;
        self.load()
    }

    /// What a reading came to, and what there is now.
    pub fn outcome(&self, plan: ReadPlan) -> ReadOutcome {
        let mut outcome = plan.outcome;
        outcome.sessions = self.catalog.sessions.len() as u64;
        outcome.turns = self.catalog.sessions.values().map(|row| u64::from(row.turns)).sum();
        let drifted = outcome.agents.iter().filter(|(_, counts)| counts.has_drifted());
        outcome.drift = drifted.map(|(agent, _)| *agent).collect();
        outcome
    }

    fn plans(
        &self,
        request: &ReadScope,
        world: &ReadWorld<'_>,
        answer: &mut ReadOutcome,
    ) -> Result<Vec<SourcePlan>> {
        let surroundings = world.surroundings;
        let mut plans = Vec::new();
        if let Some(path) = &request.path {
            let reader: &'static dyn PastReader = match request.agents.first() {
                Some(agent) => readers::of(*agent).ok_or(Error::Invalid {
                    field: "agent",
                    problem: format!("sessions of {} cannot be read yet", agent.name()),
                })?,
                None => &OwnLines,
            };
            let data = std::fs::metadata(path).map_err(|error| Error::file(path, error))?;
            if !data.is_file() {
                return Err(Error::Invalid {
                    field: "path",
                    problem: "is no regular file".to_owned(),
                });
            }
            let found = vec![(path.clone(), sweep::stamp(path, &data))];
            plans.extend(sweep::plan(reader, found, &self.catalog.sources, request.since));
            return Ok(plans);
        }
        if let Some(since) = request.known_since {
            let sources = &self.catalog.sources;
            plans.extend(sweep::grown(sources, since));
            let fresh = world.now.saturating_sub(FRESH_FOLDER_MS);
            for reader in readers::all() {
                let roots = reader.roots(surroundings);
                plans.extend(sweep::newcomers(reader, &roots, sources, fresh));
            }
            sweep::newest_first(&mut plans);
            return Ok(plans);
        }
        for reader in readers::all() {
            if request.agents.is_empty() || request.agents.contains(&reader.agent()) {
                let counts = answer.agents.entry(reader.agent().name()).or_default();
                let mut roots = reader.roots(surroundings);
                if let Some(file) = reader.file_in_folders() {
                    let folders = self.catalog.sessions.values().filter_map(|row| {
                        row.info.folder.as_deref().filter(|folder| Path::new(folder).is_absolute())
                    });
                    let folders: BTreeSet<&str> = folders.collect();
                    roots.extend(folders.into_iter().map(|folder| Path::new(folder).join(file)));
                }
                let found = sweep::find(reader, &roots, counts);
                plans.extend(sweep::plan(reader, found, &self.catalog.sources, request.since));
            }
        }
        sweep::newest_first(&mut plans);
        Ok(plans)
    }

    fn read_all(
        &mut self,
        plans: &[SourcePlan],
        world: &mut ReadWorld<'_>,
        answer: &mut ReadOutcome,
    ) -> Result<()> {
        let (to, from) = sync_channel(BATCHES_MAX);
        let now = world.now;
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut sender = EventSender { batch: Vec::new(), to, is_heard: true };
                for plan in plans {
                    let start = source_file::start(plan);
                    let shown = match &start {
                        SourceStart::Anew => SourceStart::Anew,
                        SourceStart::On(row) => SourceStart::On(row.clone()),
                    };
                    sender.send(Message::Start(shown));
                    let end = source_file::read(plan, &start, now, &mut sender);
                    sender.flush();
                    sender.send(Message::End(end.map(Box::new)));
                    if !sender.is_heard {
                        return;
                    }
                }
            });
            self.assemble_all(plans, &from, world, answer)
        })
    }

    fn assemble_all(
        &mut self,
        plans: &[SourcePlan],
        from: &Receiver<Message>,
        world: &mut ReadWorld<'_>,
        answer: &mut ReadOutcome,
    ) -> Result<()> {
        let tombstones = TombstoneSet::of(world.tombstones);
        let has_marker = |path: &Path| path.is_file();
        let exclusion = world.exclusion;
        let is_excluded = |info: &SessionInfo| exclusion.covers(info, &has_marker);
        let total = plans.iter().map(new_bytes).sum();
        let (mut done, mut in_slice) = (0_u64, 0_u64);
        let mut builder = WordsBuilder::new(self.analyzer.clone());
        let mut slice = SliceOutcome::default();
        for plan in plans {
            let counts = answer.agents.entry(plan.reader.agent().name()).or_default();
            let parts = AssemblerParts {
                catalog: &mut self.catalog,
                disk: &*self.disk,
                tombstones: &tombstones,
                is_excluded: &is_excluded,
                observer: &mut builder,
                slice: &mut slice,
                counts,
            };
            match one_source(plan, from, parts)? {
                Ok((cursor, end)) => {
                    counts.add(&end.counts);
                    let mut row = source_row(plan, cursor, *end);
                    scrub(&mut row, &tombstones);
                    let change = CatalogChange::Source(Box::new(row));
                    self.catalog.apply(change.clone());
                    slice.changes.push(change);
                }
                Err(error) => counts.unreadable.push(error.to_string()),
            }
            let bytes = new_bytes(plan);
            done += bytes;
            in_slice += bytes;
            if in_slice >= SLICE_BYTES || builder.is_full() {
                self.commit(&mut slice, &mut builder)?;
                in_slice = 0;
                (world.progress)(done, total);
            }
        }
        self.commit(&mut slice, &mut builder)?;
        (world.progress)(done, total);
        Ok(())
    }
}

/// Takes one source from the other thread. The outer error is of the store, the inner one of the source.
fn one_source(
    plan: &SourcePlan,
    from: &Receiver<Message>,
    parts: AssemblerParts<'_>,
) -> Result<Result<(TurnCursor, Box<SourceEnd>)>> {
    let lost = || Error::source(&plan.path, "its reader ended early");
    let Ok(Message::Start(start)) = from.recv() else { return Err(lost()) };
    let name = plan.path.to_string_lossy();
    let mut assembler = match &start {
        SourceStart::Anew => {
            // A log that was read before and does not go on from there was cut off or replaced.
            let is_replaced = plan.before.is_some() && plan.reader.grows(&plan.path);
            Assembler::new(parts, &name, TurnCursor::Before, None, true).of_replaced(is_replaced)
        }
        SourceStart::On(row) => {
            Assembler::new(parts, &name, row.cursor.clone(), row.memory.session.as_ref(), false)
        }
    };
    loop {
        match from.recv() {
            Ok(Message::Events(events)) => {
                for event in events {
                    assembler.take(event);
                }
            }
            Ok(Message::End(end)) => {
                // What was read before an error is kept: the source is read anew the next time, and matched.
                let cursor = assembler.finish()?;
                return Ok(end.map(|end| (cursor, end)));
            }
            Ok(Message::Start(_)) | Err(_) => return Err(lost()),
        }
    }
}

fn source_row(plan: &SourcePlan, cursor: TurnCursor, end: SourceEnd) -> SourceRow {
    let before = plan.before.as_ref().filter(|_| !end.is_anew);
    let mut tally = before.and_then(|row| row.tally.clone()).unwrap_or_default();
    tally.add(&end.counts);
    SourceRow {
        path: plan.path.to_string_lossy().into_owned(),
        agent: plan.reader.agent(),
        stamp: plan.stamp,
        offset: end.offset,
        head: end.head,
        tail: end.tail,
        version: plan.reader.version(),
        memory: end.memory,
        cursor,
        prompts: end.counts.prompts + before.map_or(0, |row| row.prompts),
        tally: Some(tally),
    }
}

/// Of a session that was forgotten, in whole or in part, nothing but its id is remembered.
pub(crate) fn scrub(row: &mut SourceRow, tombstones: &TombstoneSet) {
    if let Some(info) = row.memory.session.as_mut().filter(|_| !tombstones.is_empty()) {
        info.title = None;
        if tombstones.has_session(&info.key()) {
            info.folder = None;
            info.branch = None;
        }
    }
}

fn new_bytes(plan: &SourcePlan) -> u64 {
    let grows = plan.reader.grows(&plan.path);
    let before = plan.before.as_ref().filter(|_| grows).map_or(0, |row| row.offset);
    plan.stamp.size.saturating_sub(before)
}
