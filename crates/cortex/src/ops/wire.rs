//! Every operation as one enum, for the socket and for whoever dispatches by name.
//!
//! A request knows its answer ([`Operation`]), so that a client gets back what the method would have returned.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Ops;
use super::caller::Caller;
use super::error::{Error, Result};
use super::{
    activity, archive, attest, audit, bundle, capture, change, context, grants, graph, health,
    projects, prompt,
};
use super::{admin, bulletin, channel, mind};
use super::{proof, read, save, score, search, session, stats, timeline};

/// A request, and what it is answered with.
pub trait Operation: Serialize + Send + 'static {
    type Answer: Serialize + DeserializeOwned + Send + 'static;

    /// Its name on the wire.
    const NAME: &'static str;

    fn run(self, ops: &Ops, caller: &Caller) -> Result<Self::Answer>;
    fn into_ask(self) -> Ask;
}

macro_rules! operations {
    ($($variant:ident $name:literal $method:ident: $request:ty => $answer:ty;)+) => {
        /// Anything that may be asked.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[allow(clippy::large_enum_variant, reason = "one at a time, on its way to be answered")]
        #[serde(tag = "op", content = "args")]
        pub enum Ask {
            $(#[serde(rename = $name)] $variant($request),)+
        }

        /// The names of all operations.
        pub const NAMES: &[&str] = &[$($name),+];

        impl Ops {
            /// Answers anything, as JSON.
            pub fn answer(&self, caller: &Caller, ask: Ask) -> Result<Value> {
                match ask {
                    $(Ask::$variant(request) => to_value(&self.$method(caller, request)?),)+
                }
            }
        }

        $(impl Operation for $request {
            type Answer = $answer;
            const NAME: &'static str = $name;

            fn run(self, ops: &Ops, caller: &Caller) -> Result<$answer> {
                ops.$method(caller, self)
            }

            fn into_ask(self) -> Ask {
                Ask::$variant(self)
            }
        })+
    };
}

operations! {
    Save "save" save: save::SaveRequest => save::SaveAnswer;
    Get "get" get: read::GetRequest => read::GetAnswer;
    List "list" list: read::ListRequest => read::ListAnswer;
    Update "update" update: change::UpdateRequest => change::ChangeAnswer;
    Delete "delete" delete: change::DeleteRequest => change::DeleteAnswer;
    Archive "archive" archive: change::ArchiveRequest => change::ChangeAnswer;
    Restore "restore" restore: change::RestoreRequest => change::ChangeAnswer;
    Pin "pin" pin: change::PinRequest => change::ChangeAnswer;
    Search "search" search: search::SearchRequest => search::SearchAnswer;
    Context "context" recent_context: context::ContextRequest => context::ContextAnswer;
    Bundle "bundle" bundle: bundle::BundleRequest => bundle::BundleAnswer;
    Timeline "timeline" timeline: timeline::TimelineRequest => timeline::TimelineAnswer;
    SessionStart "session_start" session_start: session::SessionStartRequest => session::SessionView;
    SessionEnd "session_end" session_end: session::SessionEndRequest => session::SessionView;
    SessionGet "session_get" session_get: session::SessionGetRequest => session::SessionView;
    SessionList "session_list" session_list: session::SessionListRequest => session::SessionListAnswer;
    SessionSummary "session_summary" session_summary: session::SummaryRequest => save::SaveAnswer;
    PromptSave "prompt_save" prompt_save: prompt::PromptSaveRequest => prompt::PromptView;
    PromptList "prompt_list" prompt_list: prompt::PromptListRequest => prompt::PromptListAnswer;
    Relate "relate" relate: graph::RelateRequest => graph::RelateAnswer;
    Unrelate "unrelate" unrelate: graph::UnrelateRequest => graph::UnrelateAnswer;
    Graph "graph" graph: graph::GraphRequest => graph::GraphAnswer;
    Score "score" score: score::ScoreRequest => score::ScoreAnswer;
    Stats "stats" stats: stats::StatsRequest => stats::StatsAnswer;
    Projects "projects" projects: stats::ProjectsRequest => stats::ProjectsAnswer;
    MergeProjects "merge_projects" merge_projects: projects::MergeRequest => projects::MergeAnswer;
    SeparateProject "separate_project" separate_project: projects::SeparateRequest => projects::SeparateAnswer;
    Entities "entities" entities: stats::EntitiesRequest => stats::EntitiesAnswer;
    EntityList "entity_list" entity_list: stats::EntityListRequest => stats::EntityListAnswer;
    Capture "capture" capture: capture::CaptureRequest => capture::CaptureAnswer;
    Suggest "suggest_topic_key" suggest: capture::SuggestRequest => capture::SuggestAnswer;
    Prove "prove" prove: proof::ProveRequest => proof::ProveAnswer;
    VerifyProof "verify_proof" verify_proof: proof::VerifyRequest => proof::VerifyAnswer;
    Grant "grant" grant: grants::GrantRequest => grants::GrantAnswer;
    GrantList "grant_list" grant_list: grants::GrantListRequest => grants::GrantListAnswer;
    Revoke "revoke" revoke: grants::RevokeRequest => grants::RevokeAnswer;
    Root "root" root: proof::RootRequest => proof::RootAnswer;
    Activity "activity" activity: activity::ActivityRequest => activity::ActivityAnswer;
    Attest "attest" attest: attest::AttestRequest => attest::AttestAnswer;
    Salience "salience" salience: attest::SalienceRequest => attest::SalienceAnswer;
    Health "health" health: health::HealthRequest => health::HealthAnswer;
    Audit "audit" audit: audit::AuditRequest => audit::AuditAnswer;
    Bulletin "bulletin" bulletin: bulletin::BulletinRequest => bulletin::BulletinAnswer;
    BulletinHistory "bulletin_history" bulletin_history: bulletin::BulletinHistoryRequest => bulletin::BulletinHistoryAnswer;
    MindJobs "mind_jobs" mind_jobs: mind::JobsRequest => mind::JobsAnswer;
    MindRun "mind_run" mind_run: mind::RunJobRequest => mind::RunAnswer;
    MindPause "mind_pause" mind_pause: mind::PauseJobRequest => mind::JobView;
    MindRuns "mind_runs" mind_runs: mind::RunsRequest => mind::RunsAnswer;
    MindShow "mind_show" mind_show: mind::ShowRunRequest => mind::RunView;
    MindUndo "mind_undo" mind_undo: mind::UndoRequest => mind::UndoAnswer;
    MindEvents "mind_events" mind_events: mind::ProcessEventsRequest => mind::ProcessEventsAnswer;
    MemoryRecall "memory_recall" memory_recall: mind::MemoryRecallRequest => mind::MemoryRecallAnswer;
    ToolAsk "tool_ask" tool_ask: mind::ToolAskRequest => mind::ToolAskAnswer;
    Budget "budget" budget: mind::BudgetRequest => mind::BudgetAnswer;
    Admin "admin" admin: admin::AdminRequest => admin::AdminAnswer;
    AdminQuestion "admin_question" admin_question: admin::AdminQuestionRequest => admin::AdminAnswer;
    ChannelSay "channel_say" channel_say: channel::ChannelSayRequest => channel::ChannelRunAnswer;
    ChannelBranch "channel_branch" channel_branch: channel::ChannelBranchRequest => channel::ChannelRunAnswer;
    ChannelWorker "channel_worker" channel_worker: channel::ChannelWorkerRequest => channel::ChannelRunAnswer;
    ChannelStop "channel_stop" channel_stop: channel::ChannelStopRequest => channel::ChannelStopAnswer;
    ChannelRemove "channel_remove" channel_remove: channel::ChannelRemoveRequest => channel::ChannelView;
    ChannelList "channel_list" channel_list: channel::ChannelListRequest => channel::ChannelListAnswer;
    ChannelGet "channel_get" channel_get: channel::ChannelGetRequest => channel::ChannelGetAnswer;
    Sweep "sweep" sweep: archive::SweepRequest => archive::SweepAnswer;
}

fn to_value(answer: &impl Serialize) -> Result<Value> {
    serde_json::to_value(answer).map_err(|error| Error::internal(error.to_string()))
}
