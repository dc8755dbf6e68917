//! What each tab holds: its answers, what is selected, what is on its way.

use crate::ask::{Load, StatusView};
use crate::input::Input;
use crate::list::{List, Memories, Sessions};
use crate::search_line;
use api::activity::{ActivityAnswer, EntryView};
use api::audit::{AuditAnswer, ExampleView, FindingView};
use api::channel::{ChannelListAnswer, ChannelView};
use api::mind::{JobView, JobsAnswer, RunLineView, RunsAnswer};
use api::search::{SearchAnswer, SearchRequest};
use api::server_tools::{ApprovalState, ApprovalView, ApprovalsAnswer};
use api::stats::{ProjectsAnswer, StatsAnswer};
use api::talent_runs::{TalentRunView, TalentRunsAnswer};

/// The conversation that is begun where there is none.
const FIRST_CHANNEL: &str = "main";
/// Hits of a search.
const HITS_MAX: usize = 50;

#[derive(Debug, Default)]
pub(super) struct Home {
    pub(super) stats: Load<StatsAnswer>,
    pub(super) status: Load<StatusView>,
    /// Calls of tools that wait for a person, and what was said to the last one.
    pub(super) approvals: Load<ApprovalsAnswer>,
    pub(super) decision: Load<ApprovalView>,
    pub(super) recent: Memories,
    pub(super) sessions: Sessions,
    pub(super) on_sessions: bool,
}

impl Home {
    /// The call that has waited longest for a yes or no.
    pub(super) fn waiting_call(&self) -> Option<&ApprovalView> {
        let calls = &self.approvals.value()?.approvals;
        calls.iter().find(|call| call.state == ApprovalState::Pending)
    }
}

#[derive(Debug, Default)]
pub(super) struct Search {
    pub(super) input: Input,
    /// Keys go into the line.
    pub(super) typing: bool,
    /// Only in this project.
    pub(super) project: Option<String>,
    pub(super) load: Load<SearchAnswer>,
    pub(super) list: List,
    /// What is on its way.
    pub(super) asked: SearchRequest,
    /// What the answer in sight was asked for.
    pub(super) shown: SearchRequest,
}

impl Search {
    /// What the line asks for; `None` while it says nothing.
    pub(super) fn wanted(&self) -> Option<SearchRequest> {
        let request = search_line::read(self.input.text())?;
        Some(SearchRequest {
            project: request.project.clone().or_else(|| self.project.clone()),
            limit: Some(HITS_MAX),
            quiet: true,
            ..request
        })
    }
}

#[derive(Debug, Default)]
pub(super) struct Projects {
    pub(super) load: Load<ProjectsAnswer>,
    pub(super) list: List,
}

#[derive(Debug, Default)]
pub(super) struct Archive {
    pub(super) archived: Memories,
    pub(super) forgotten: Memories,
    pub(super) on_forgotten: bool,
}

impl Archive {
    pub(super) fn shown(&self) -> &Memories {
        if self.on_forgotten { &self.forgotten } else { &self.archived }
    }

    pub(super) fn shown_mut(&mut self) -> &mut Memories {
        if self.on_forgotten { &mut self.forgotten } else { &mut self.archived }
    }
}

/// Conversations that Cortex keeps.
#[derive(Debug, Default)]
pub(super) struct Chat {
    pub(super) load: Load<ChannelListAnswer>,
    pub(super) list: List,
}

impl Chat {
    pub(super) fn rows(&self) -> &[ChannelView] {
        self.load.value().map_or(&[], |answer| &answer.channels)
    }

    /// The conversation that is meant; a first one where there is none.
    pub(super) fn selected(&self) -> &str {
        self.rows().get(self.list.selected).map_or(FIRST_CHANNEL, |channel| &channel.channel)
    }
}

#[derive(Debug, Default)]
pub(super) struct Feed {
    pub(super) poll: Load<ActivityAnswer>,
    /// Newest first.
    pub(super) entries: Vec<EntryView>,
    /// Entries of the journal that were seen; none before the first answer.
    pub(super) size: Option<u64>,
    /// Entries up to this one were there when the interface started.
    pub(super) old: u64,
    pub(super) list: List,
}

/// What tends the memory: its jobs, what needs attention, what was changed, and what talents did.
#[derive(Debug, Default)]
pub(super) struct Mind {
    pub(super) jobs: Load<JobsAnswer>,
    pub(super) audit: Load<AuditAnswer>,
    pub(super) changes: Load<RunsAnswer>,
    pub(super) runs: Load<TalentRunsAnswer>,
    pub(super) list: List,
}

/// One line of it.
#[derive(Clone, Copy, Debug)]
pub(super) enum MindRow<'a> {
    Head(&'static str),
    Job(&'a JobView),
    Finding(&'a FindingView),
    Example(&'a ExampleView),
    Change(&'a RunLineView),
    Run(&'a TalentRunView),
    /// What a part has to say when it has no lines.
    Words(&'static str),
}

impl Mind {
    pub(super) fn rows(&self) -> Vec<MindRow<'_>> {
        let mut rows = vec![MindRow::Head("Jobs")];
        rows.extend(
            self.jobs.value().into_iter().flat_map(|answer| &answer.jobs).map(MindRow::Job),
        );
        rows.push(MindRow::Head("Needs attention"));
        let findings = self.audit.value().map_or(&[][..], |answer| &answer.findings[..]);
        for finding in findings {
            rows.push(MindRow::Finding(finding));
            rows.extend(finding.examples.iter().map(MindRow::Example));
        }
        if self.audit.value().is_some() && findings.is_empty() {
            rows.push(MindRow::Words("Nothing: no copies, contradictions, secrets or leftovers."));
        }
        rows.push(MindRow::Head("What it changed; `cortex mind undo RUN` takes a run back"));
        let changes = self.changes.value().map_or(&[][..], |answer| &answer.runs[..]);
        rows.extend(changes.iter().map(MindRow::Change));
        if self.changes.value().is_some() && changes.is_empty() {
            rows.push(MindRow::Words("Nothing yet."));
        }
        rows.push(MindRow::Head("Runs of talents"));
        let runs = self.runs.value().map_or(&[][..], |answer| &answer.runs[..]);
        rows.extend(runs.iter().map(MindRow::Run));
        if self.runs.value().is_some() && runs.is_empty() {
            rows.push(MindRow::Words("None yet. `cortex talent run NAME` starts one."));
        }
        rows
    }

    /// The memory that the selected line is about.
    pub(super) fn memory(&self) -> Option<(u64, String)> {
        match self.rows().get(self.list.selected)? {
            MindRow::Example(example) => Some((*example.ids.first()?, example.title.clone())),
            _ => None,
        }
    }
}
