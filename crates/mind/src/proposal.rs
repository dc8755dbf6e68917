//! What the mind would like to change: plain data with a reason, carried out the way any client's change is.
//!
//! A dry run is a plan that nobody submits. What must stay true: a plan without proposals journals nothing; every
//! entry of a run carries the run's name, so that it can be listed and undone; a refused step is reported and does
//! not stop the others.

use kernel::command::{
    Command, Draft, EdgeDraft, EdgeRemoval, HeadRevision, MindRunDraft, Receipt, Removal, Revision,
    Stamp, Touches,
};
use kernel::journal::{Access, HeadPatch, MindRunPhase};
use kernel::memory::{MemoryId, Millis, PinnedVersion, Relation, Salt};
use serde::Serialize;

/// Name under which the mind writes.
pub const BY: &str = "mind";
/// Weight of an edge that says two memories say the same.
const SAME: u32 = 1_000_000;

/// One change, whole or not at all as far as the kernel lets it: later steps are not tried when an earlier one is
/// refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryAction {
    /// The memory is forgotten softly and can be restored.
    Forget(PinnedVersion),
    Archive(PinnedVersion),
    /// Two memories become one new one, and both are forgotten.
    Merge {
        draft: Box<Draft>,
        parents: [PinnedVersion; 2],
        access: Option<(u32, Millis)>,
    },
    /// Others say the same as `canonical`: each points to it and is forgotten.
    Consolidate {
        canonical: PinnedVersion,
        duplicates: Vec<PinnedVersion>,
    },
    /// A new memory, with an edge to each that it rests on.
    Remember {
        draft: Box<Draft>,
        evidence: Vec<MemoryId>,
    },
    /// A new version, with edges to what it rests on now.
    Revise {
        revision: Box<Revision>,
        evidence: Vec<MemoryId>,
    },
    Restore(MemoryId),
    RemoveEdge {
        src: MemoryId,
        relation: Relation,
        dst: MemoryId,
    },
}

impl MemoryAction {
    /// A word for counting.
    pub fn name(&self) -> &'static str {
        match self {
            MemoryAction::Forget(_) => "forget",
            MemoryAction::Archive(_) => "archive",
            MemoryAction::Merge { .. } => "merge",
            MemoryAction::Consolidate { .. } => "consolidate",
            MemoryAction::Remember { .. } => "remember",
            MemoryAction::Revise { .. } => "revise",
            MemoryAction::Restore(_) => "restore",
            MemoryAction::RemoveEdge { .. } => "remove edge",
        }
    }

    /// Memories it is about.
    pub fn about(&self) -> Vec<u64> {
        match self {
            MemoryAction::Forget(one) | MemoryAction::Archive(one) => vec![one.id.get()],
            MemoryAction::Merge { parents, .. } => parents.iter().map(|one| one.id.get()).collect(),
            MemoryAction::Consolidate { canonical, duplicates } => {
                let all = std::iter::once(canonical).chain(duplicates);
                all.map(|one| one.id.get()).collect()
            }
            MemoryAction::Remember { evidence, .. } => evidence.iter().map(|id| id.get()).collect(),
            MemoryAction::Revise { revision, .. } => vec![revision.id.get()],
            MemoryAction::Restore(id) => vec![id.get()],
            MemoryAction::RemoveEdge { src, dst, .. } => vec![src.get(), dst.get()],
        }
    }

    /// The title of the text it writes, if it writes one.
    pub fn title(&self) -> Option<&str> {
        match self {
            MemoryAction::Merge { draft, .. } | MemoryAction::Remember { draft, .. } => {
                Some(&draft.body.title)
            }
            MemoryAction::Revise { revision, .. } => Some(&revision.body.title),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    pub action: MemoryAction,
    /// For people; goes into the journal.
    pub reason: String,
}

/// Something only a person should decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    pub about: Vec<u64>,
    pub reason: String,
}

/// A memory that is about to be put away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DueMemory {
    pub id: u64,
    pub version: u32,
    /// Days that count and are left; 0: the next run puts it away.
    pub days_left: i64,
    pub reason: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MindPlan {
    pub job: String,
    pub proposals: Vec<Proposal>,
    pub suggestions: Vec<Suggestion>,
    /// Memories looked at.
    pub examined: usize,
    /// Changes and comparisons that did not fit into this run.
    pub left: usize,
    /// Suggestions beyond those that are listed.
    pub unsaid: usize,
    /// What is about to be put away, the next first.
    pub due: Vec<DueMemory>,
    /// Memories that are due beyond those that are listed.
    pub due_unsaid: usize,
    /// The run that this plan undoes.
    pub undoes: Option<String>,
}

impl MindPlan {
    pub fn is_empty(&self) -> bool {
        self.proposals.is_empty()
    }

    /// How many of each.
    pub fn counts(&self) -> Vec<(&'static str, usize)> {
        let mut counts: Vec<(&'static str, usize)> = Vec::new();
        for proposal in &self.proposals {
            let name = proposal.action.name();
            match counts.iter_mut().find(|(known, _)| *known == name) {
                Some((_, count)) => *count += 1,
                None => counts.push((name, 1)),
            }
        }
        counts
    }

    /// One line per change, for a dry run and for the log.
    pub fn report(&self, title: &dyn Fn(u64) -> Option<String>) -> String {
        let named = |id: &u64| match title(*id) {
            Some(title) => format!("#{id} {title:?}"),
            None => format!("#{id}"),
        };
        let ids = |about: &[u64]| about.iter().map(named).collect::<Vec<String>>().join(", ");
        let proposed = match self.proposals.len() {
            1 => "1 change proposed".to_owned(),
            count => format!("{count} changes proposed"),
        };
        let looked = match self.examined {
            1 => "1 memory looked at".to_owned(),
            count => format!("{count} memories looked at"),
        };
        let mut lines = vec![format!(
            "{}: {proposed}, {} suggested, {looked}",
            self.job,
            self.suggestions.len()
        )];
        for Proposal { action, reason } in &self.proposals {
            let (name, about) = (action.name(), ids(&action.about()));
            let title = action.title().map(|title| format!("{title:?}"));
            let what = [about, title.unwrap_or_default()];
            let what: Vec<&str> =
                what.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
            lines.push(format!("{name} {}: {reason}", what.join(" as ")));
        }
        for Suggestion { about, reason } in &self.suggestions {
            lines.push(format!("suggested for {}: {reason}", ids(about)));
        }
        for due in self.due.iter().filter(|due| due.days_left > 0) {
            let (what, days) = (named(&due.id), due.days_left);
            let days = match days {
                1 => "1 active day".to_owned(),
                days => format!("{days} active days"),
            };
            lines.push(format!("in {days} forget {what}: {}", due.reason));
        }
        if self.due_unsaid > 0 {
            lines.push(format!("{} more are about to be put away", self.due_unsaid));
        }
        if self.unsaid > 0 {
            lines.push(format!("{} more suggestions", self.unsaid));
        }
        if self.left > 0 {
            lines.push(format!("{} more wait for the next run", self.left));
        }
        lines.join("\n")
    }
}

/// What came of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanOutcome {
    pub run: String,
    /// Of each change that was made: word, memories it is about, the memory it made.
    pub done: Vec<(&'static str, Vec<u64>, Option<u64>)>,
    /// What the kernel refused, and why: somebody changed it in between.
    pub refused: Vec<(Proposal, kernel::Error)>,
}

impl PlanOutcome {
    pub fn summary(&self) -> String {
        match (self.done.len(), self.refused.len()) {
            (0, 0) => "nothing to do".to_owned(),
            (1, 0) => "1 change".to_owned(),
            (done, 0) => format!("{done} changes"),
            (done, refused) => format!("{done} changes, {refused} refused"),
        }
    }
}

/// How a command reaches the kernel: as the caller submits commands.
pub type Submit<'a> = &'a mut dyn FnMut(Stamp, Command) -> kernel::Result<Receipt>;

/// Submits a plan, step by step, in the name of `run`. `salt` gives random bytes for each new text.
///
/// Fails only if the run itself cannot be journaled; then nothing was changed.
pub fn carry_out(
    plan: &MindPlan,
    run: &str,
    now: Millis,
    salt: &mut dyn FnMut() -> Salt,
    submit: Submit<'_>,
) -> kernel::Result<PlanOutcome> {
    let mut outcome = PlanOutcome { run: run.to_owned(), ..PlanOutcome::default() };
    if plan.is_empty() {
        return Ok(outcome);
    }
    let stamp = || Stamp { run: Some(run.to_owned()), ..Stamp::new(now, BY) };
    let phase = |phase, reason: String| {
        let draft = MindRunDraft {
            run: run.to_owned(),
            job: plan.job.clone(),
            phase,
            reason: Some(reason),
        };
        Command::MindRun(draft)
    };
    let counts: Vec<String> = plan.counts().iter().map(|(name, n)| format!("{n} {name}")).collect();
    submit(stamp(), phase(MindRunPhase::Started, counts.join(", ")))?;
    for proposal in &plan.proposals {
        match step(proposal, &mut |command| submit(stamp(), command), salt) {
            Ok(made) => {
                let made = made.map(MemoryId::get);
                outcome.done.push((proposal.action.name(), proposal.action.about(), made));
            }
            Err(error) => outcome.refused.push((proposal.clone(), error)),
        }
    }
    if let Some(undone) = &plan.undoes {
        let draft = MindRunDraft {
            run: undone.clone(),
            job: plan.job.clone(),
            phase: MindRunPhase::Undone,
            reason: Some(format!("by {run}")),
        };
        let stamp = Stamp { run: Some(undone.clone()), ..Stamp::new(now, BY) };
        submit(stamp, Command::MindRun(draft))?;
    }
    submit(stamp(), phase(MindRunPhase::Finished, outcome.summary()))?;
    Ok(outcome)
}

/// The commands of one proposal. Returns the memory it made.
fn step(
    Proposal { action, reason }: &Proposal,
    submit: &mut dyn FnMut(Command) -> kernel::Result<Receipt>,
    salt: &mut dyn FnMut() -> Salt,
) -> kernel::Result<Option<MemoryId>> {
    let removal = |one: &PinnedVersion, reason: &str| Removal {
        id: one.id,
        expected: Some(one.version),
        reason: reason.to_owned(),
    };
    match action {
        MemoryAction::Forget(one) => {
            submit(Command::Tombstone(removal(one, reason)))?;
            Ok(None)
        }
        MemoryAction::Archive(one) => {
            let patch = HeadPatch { archived: Some(true), ..HeadPatch::default() };
            let (id, expected, reason) = (one.id, Some(one.version), Some(reason.clone()));
            submit(Command::UpdateHead(HeadRevision { id, expected, patch, reason }))?;
            Ok(None)
        }
        MemoryAction::Merge { draft, parents, access } => {
            let draft = Box::new(Draft { salt: salt(), ..(**draft).clone() });
            let made = submit(Command::Write(draft))?.id;
            let Some(id) = made else { return Ok(None) };
            for parent in parents {
                let (relation, dst, weight) = (Relation::Supersedes, parent.id, SAME);
                submit(Command::AddEdge(EdgeDraft { src: id, relation, dst, weight }))?;
            }
            if let Some((count, at)) = *access {
                let accesses = vec![Access { id, count, at }];
                submit(Command::Touch(Touches { accesses, ..Touches::default() }))?;
            }
            for parent in parents {
                submit(Command::Tombstone(removal(parent, &format!("{reason}; now #{id}"))))?;
            }
            Ok(made)
        }
        MemoryAction::Consolidate { canonical, duplicates } => {
            for duplicate in duplicates {
                let (src, relation, dst) = (duplicate.id, Relation::Updates, canonical.id);
                submit(Command::AddEdge(EdgeDraft { src, relation, dst, weight: SAME }))?;
                submit(Command::Tombstone(removal(duplicate, reason)))?;
            }
            Ok(None)
        }
        MemoryAction::Remember { draft, evidence } => {
            let draft = Box::new(Draft { salt: salt(), ..(**draft).clone() });
            let made = submit(Command::Write(draft))?.id;
            if let Some(id) = made {
                rest_on(id, evidence, submit)?;
            }
            Ok(made)
        }
        MemoryAction::Revise { revision, evidence } => {
            let revision = Box::new(Revision { salt: salt(), ..(**revision).clone() });
            let id = revision.id;
            submit(Command::Update(revision))?;
            rest_on(id, evidence, submit)?;
            Ok(None)
        }
        MemoryAction::Restore(id) => {
            let removal = Removal { id: *id, expected: None, reason: reason.clone() };
            submit(Command::Restore(removal))?;
            Ok(None)
        }
        MemoryAction::RemoveEdge { src, relation, dst } => {
            let (src, relation, dst) = (*src, *relation, *dst);
            submit(Command::RemoveEdge(EdgeRemoval {
                src,
                relation,
                dst,
                reason: reason.clone(),
            }))?;
            Ok(None)
        }
    }
}

/// Edges to the evidence. A memory that was forgotten in the meantime stays evidence in the text.
fn rest_on(
    src: MemoryId,
    evidence: &[MemoryId],
    submit: &mut dyn FnMut(Command) -> kernel::Result<Receipt>,
) -> kernel::Result<()> {
    for dst in evidence.iter().copied().filter(|dst| *dst != src) {
        let (relation, weight) = (Relation::References, SAME);
        match submit(Command::AddEdge(EdgeDraft { src, relation, dst, weight })) {
            Ok(_) | Err(kernel::Error::Tombstoned(_) | kernel::Error::Erased(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
