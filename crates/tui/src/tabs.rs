//! What each tab holds: its answers, what is selected, what is on its way.

use crate::ask::{Load, StatusView};
use crate::input::Input;
use crate::list::{List, Memories, Sessions};
use api::activity::{ActivityAnswer, EntryView};
use api::hands::{ApprovalState, ApprovalView, ApprovalsAnswer};
use api::search::{SearchAnswer, SearchRequest};
use api::stats::{ProjectsAnswer, StatsAnswer};

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
