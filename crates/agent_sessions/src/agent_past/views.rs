//! What the past answers, in the words of `api`.

use std::path::Path;

use api::past::{
    PastAgentState, PastArm, PastDrift, PastHit, PastItemView, PastReadAnswer, PastReadCounts,
    PastResumeAnswer, PastSessionView, PastSessionsAnswer, PastShowAnswer, PastStateAnswer,
    PastTurnView,
};
use kernel::memory::Millis;
use past::{
    AgentDrift, PastContents, ReadOutcome, ResumeCommand, SessionList, SessionState, TurnHit,
    TurnList, TurnRecord,
};
use transcripts::counts::ReadCounts;
use transcripts::session::{ItemBody, PastItem, SessionKind};

/// A time that a record has.
pub(super) fn moment(at: i64) -> Option<String> {
    (at != 0).then(|| Millis(at).rfc3339())
}

/// The name of a project: the last part of its folder.
pub(super) fn project_of(folder: Option<&str>) -> Option<String> {
    let name = Path::new(folder?).file_name()?;
    Some(name.to_string_lossy().into_owned())
}

pub(super) fn state(contents: PastContents, drift: &[AgentDrift]) -> PastStateAnswer {
    let mut answer = PastStateAnswer {
        segments: contents.segments,
        bytes: contents.bytes,
        drift: drift.iter().map(drift_view).collect(),
        ..PastStateAnswer::default()
    };
    for (name, share) in contents.agents {
        answer.sessions += share.sessions + share.children;
        answer.turns += share.turns;
        answer.kept_only_here += share.kept_only_here;
        let agent = PastAgentState {
            sessions: share.sessions,
            children: share.children,
            turns: share.turns,
            bytes: share.bytes,
            sources: share.sources,
            kept_only_here: share.kept_only_here,
            masked: share.masked,
            newest: moment(share.newest),
        };
        answer.agents.insert(name.to_owned(), agent);
    }
    answer
}

fn drift_view(drift: &AgentDrift) -> PastDrift {
    PastDrift {
        agent: drift.agent.name().to_owned(),
        version: drift.version.clone(),
        files: drift.files,
        records: drift.records,
        unknown: drift.unknown,
        silent_files: drift.silent_files,
    }
}

pub(super) fn read(outcome: ReadOutcome, dry_run: bool) -> PastReadAnswer {
    let agents = outcome.agents.into_iter();
    PastReadAnswer {
        agents: agents
            .filter(|(_, counts)| *counts != ReadCounts::default())
            .map(|(name, counts)| (name.to_owned(), counts_view(counts)))
            .collect(),
        drift: outcome.drift.iter().map(|name| (*name).to_owned()).collect(),
        sessions: outcome.sessions,
        turns: outcome.turns,
        changed_files: outcome.changed_files,
        changed_bytes: outcome.changed_bytes,
        dry_run,
    }
}

fn counts_view(counts: ReadCounts) -> PastReadCounts {
    PastReadCounts {
        files: counts.files,
        bytes: counts.bytes,
        records: counts.records,
        prompts: counts.prompts,
        items: counts.items,
        copies: counts.copies,
        skipped: counts.skipped,
        malformed: counts.malformed,
        too_large: counts.too_large,
        unknown: counts.unknown,
        masked: counts.masked.into_iter().map(|(kind, n)| (kind.to_owned(), n)).collect(),
        noise: counts.noise,
        echoes: counts.echoes,
        forgotten: counts.forgotten,
        unreadable: counts.unreadable,
    }
}

pub(super) fn sessions(list: SessionList) -> PastSessionsAnswer {
    PastSessionsAnswer {
        sessions: list.sessions.into_iter().map(session).collect(),
        left_out: list.left_out,
    }
}

pub(super) fn session(state: SessionState) -> PastSessionView {
    let info = state.info;
    PastSessionView {
        reference: state.reference,
        agent: info.agent.name().to_owned(),
        session: info.id,
        title: info.title,
        folder: info.folder,
        branch: info.branch,
        version: info.version,
        parent: info.parent,
        child: info.kind == SessionKind::Child,
        started_at: moment(info.started),
        updated_at: moment(info.updated),
        turns: state.turns,
        items: state.items,
        bytes: state.bytes,
        kept_only_here: state.is_kept_only_here,
    }
}

pub(super) fn turns(list: TurnList) -> PastShowAnswer {
    PastShowAnswer {
        session: session(list.session),
        turns: list.turns.into_iter().map(turn).collect(),
        left_out: list.left_out,
    }
}

fn turn(record: TurnRecord) -> PastTurnView {
    PastTurnView {
        reference: record.reference,
        turn: record.turn,
        at: moment(record.at),
        undone: record.is_undone,
        kept: Vec::new(),
        items: record.items.into_iter().map(item).collect(),
    }
}

fn item(item: PastItem) -> PastItemView {
    let role = item.body.role().to_owned();
    let view = PastItemView { role, ..PastItemView::default() };
    let cut = |text: &String, bytes: u64| (bytes > text.len() as u64).then_some(bytes);
    match item.body {
        ItemBody::Prompt { text, bytes }
        | ItemBody::Answer { text, bytes }
        | ItemBody::Summary { text, bytes } => {
            PastItemView { bytes: cut(&text, bytes), text, ..view }
        }
        ItemBody::Command { line } => PastItemView { text: line, ..view },
        ItemBody::Read { path } => PastItemView { path: Some(path), ..view },
        ItemBody::Edit { path, removed, added } => {
            PastItemView { path: Some(path), removed: Some(removed), text: added, ..view }
        }
        ItemBody::Output { head, tail, error, bytes, exit } => PastItemView {
            bytes: cut(&head, bytes),
            text: head,
            tail: Some(tail).filter(|tail| !tail.is_empty()),
            error,
            exit,
            ..view
        },
        ItemBody::Note { text } => PastItemView { text, ..view },
        ItemBody::Tool { name, input } => PastItemView { path: Some(name), text: input, ..view },
    }
}

pub(super) fn resume(command: ResumeCommand) -> PastResumeAnswer {
    PastResumeAnswer {
        reference: command.reference,
        folder: command.folder,
        words: command.words,
        line: command.line,
    }
}

pub(super) fn hit(hit: TurnHit, resume: Option<String>) -> PastHit {
    let standing = if hit.is_undone { "undone" } else { "current" };
    PastHit {
        changed_since: changed_since(&hit),
        reference: hit.reference,
        agent: hit.agent.name().to_owned(),
        session: hit.session,
        turn: hit.turn,
        title: hit.title,
        project: project_of(hit.folder.as_deref()),
        folder: hit.folder,
        at: moment(hit.at),
        role: hit.role.to_owned(),
        preview: hit.preview,
        prompt: hit.prompt,
        answered: hit.answered,
        text: hit.text,
        cut: hit.is_cut,
        resume,
        standing: standing.to_owned(),
        rejected: None,
        kept: Vec::new(),
        kept_only_here: hit.is_kept_only_here,
        arms: hit.arms.iter().map(arm).collect(),
    }
}

fn arm(said: &past::TurnArm) -> PastArm {
    PastArm { arm: said.arm.to_owned(), rank: said.rank, score: said.score }
}

/// How many files of a turn are newer than it. Nothing where none is, because that proves nothing.
fn changed_since(hit: &TurnHit) -> Option<String> {
    let base = hit.folder.as_deref().map(Path::new);
    let changed = hit.files.iter().filter(|path| {
        let path = base.map_or_else(|| Path::new(path).to_owned(), |base| base.join(path));
        let modified = std::fs::metadata(path).and_then(|data| data.modified()).ok();
        let since = modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        since.is_some_and(|since| i64::try_from(since.as_millis()).is_ok_and(|at| at > hit.at))
    });
    let count = changed.count();
    match (count, hit.files.len()) {
        (0, _) => None,
        (1, 1) => Some("its file changed since".to_owned()),
        (count, all) => Some(format!("{count} of {all} files changed since")),
    }
}
