//! Every operation as one list: its name on the wire, its request, its answer.
//!
//! A request knows its answer ([`Operation`]), so that a client gets back what the operation returned. Whoever answers
//! operations matches on [`Call`], so that an operation without an answer does not compile.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{
    activity, admin, archive, attest, audit, auditor, backup, bulletin, bundle, capture, change,
    change_many, channel, compact, context, counts, find, grants, graph, health, history, hook,
    journal, mind, outputs, pages, past, projects, prompt, proof, read, run_spend, save, score,
    search, server_tools, session, settings, stats, talent_runs, telling, timeline, upkeep,
};

/// A request, and what it is answered with.
pub trait Operation: Serialize + Send + 'static {
    type Answer: Serialize + DeserializeOwned + Send + 'static;

    /// Its name on the wire.
    const NAME: &'static str;

    fn into_call(self) -> Call;
}

macro_rules! operations {
    ($($variant:ident $name:literal: $request:ty => $answer:ty;)+) => {
        /// Any operation with its request.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[allow(clippy::large_enum_variant, reason = "one at a time, on its way to be answered")]
        #[serde(tag = "op", content = "args")]
        pub enum Call {
            $(#[serde(rename = $name)] $variant($request),)+
        }

        /// The names of all operations.
        pub const NAMES: &[&str] = &[$($name),+];

        impl Call {
            /// The name of the operation on the wire.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Call::$variant(_) => $name,)+
                }
            }
        }

        $(impl Operation for $request {
            type Answer = $answer;
            const NAME: &'static str = $name;

            fn into_call(self) -> Call {
                Call::$variant(self)
            }
        })+
    };
}

operations! {
    Save "save": save::SaveRequest => save::SaveAnswer;
    Get "get": read::GetRequest => read::GetAnswer;
    List "list": read::ListRequest => read::ListAnswer;
    Update "update": change::UpdateRequest => change::ChangeAnswer;
    Delete "delete": change::DeleteRequest => change::DeleteAnswer;
    Archive "archive": change::ArchiveRequest => change::ChangeAnswer;
    Restore "restore": change::RestoreRequest => change::ChangeAnswer;
    Confirm "confirm": change::ConfirmRequest => change::ConfirmAnswer;
    Pin "pin": change::PinRequest => change::ChangeAnswer;
    Search "search": search::SearchRequest => search::SearchAnswer;
    Context "context": context::ContextRequest => context::ContextAnswer;
    Bundle "bundle": bundle::BundleRequest => bundle::BundleAnswer;
    Timeline "timeline": timeline::TimelineRequest => timeline::TimelineAnswer;
    SessionStart "session_start": session::SessionStartRequest => session::SessionView;
    SessionEnd "session_end": session::SessionEndRequest => session::SessionView;
    SessionGet "session_get": session::SessionGetRequest => session::SessionView;
    SessionList "session_list": session::SessionListRequest => session::SessionListAnswer;
    SessionSummary "session_summary": session::SummaryRequest => save::SaveAnswer;
    PromptSave "prompt_save": prompt::PromptSaveRequest => prompt::PromptView;
    PromptList "prompt_list": prompt::PromptListRequest => prompt::PromptListAnswer;
    Relate "relate": graph::RelateRequest => graph::RelateAnswer;
    Unrelate "unrelate": graph::UnrelateRequest => graph::UnrelateAnswer;
    Graph "graph": graph::GraphRequest => graph::GraphAnswer;
    Score "score": score::ScoreRequest => score::ScoreAnswer;
    Stats "stats": stats::StatsRequest => stats::StatsAnswer;
    Projects "projects": stats::ProjectsRequest => stats::ProjectsAnswer;
    MergeProjects "merge_projects": projects::MergeRequest => projects::MergeAnswer;
    SeparateProject "separate_project": projects::SeparateRequest => projects::SeparateAnswer;
    Entities "entities": stats::EntitiesRequest => stats::EntitiesAnswer;
    EntityList "entity_list": stats::EntityListRequest => stats::EntityListAnswer;
    Capture "capture": capture::CaptureRequest => capture::CaptureAnswer;
    Suggest "suggest_topic_key": capture::SuggestRequest => capture::SuggestAnswer;
    Hook "hook": hook::HookRequest => hook::HookAnswer;
    Prove "prove": proof::ProveRequest => proof::ProveAnswer;
    VerifyProof "verify_proof": proof::VerifyRequest => proof::VerifyAnswer;
    Grant "grant": grants::GrantRequest => grants::GrantAnswer;
    GrantList "grant_list": grants::GrantListRequest => grants::GrantListAnswer;
    Revoke "revoke": grants::RevokeRequest => grants::RevokeAnswer;
    Root "root": proof::RootRequest => proof::RootAnswer;
    Activity "activity": activity::ActivityRequest => activity::ActivityAnswer;
    Attest "attest": attest::AttestRequest => attest::AttestAnswer;
    Salience "salience": attest::SalienceRequest => attest::SalienceAnswer;
    Health "health": health::HealthRequest => health::HealthAnswer;
    Audit "audit": audit::AuditRequest => audit::AuditAnswer;
    Bulletin "bulletin": bulletin::BulletinRequest => bulletin::BulletinAnswer;
    BulletinHistory "bulletin_history": bulletin::BulletinHistoryRequest => bulletin::BulletinHistoryAnswer;
    PageAdd "page_add": pages::PageAddRequest => pages::PageView;
    PageList "page_list": pages::PageListRequest => pages::PageListAnswer;
    PageShow "page_show": pages::PageShowRequest => pages::PageView;
    PageHistory "page_history": pages::PageHistoryRequest => pages::PageHistoryAnswer;
    PageRemove "page_remove": pages::PageRemoveRequest => pages::PageView;
    PageRestore "page_restore": pages::PageRestoreRequest => pages::PageView;
    MindJobs "mind_jobs": mind::JobsRequest => mind::JobsAnswer;
    MindRun "mind_run": mind::RunJobRequest => mind::RunAnswer;
    MindPause "mind_pause": mind::PauseJobRequest => mind::JobView;
    MindRuns "mind_runs": mind::RunsRequest => mind::RunsAnswer;
    MindShow "mind_show": mind::ShowRunRequest => mind::RunView;
    MindUndo "mind_undo": mind::UndoRequest => mind::UndoAnswer;
    MindDue "mind_due": mind::DueRequest => mind::DueAnswer;
    MindKeep "mind_keep": mind::KeepRequest => mind::KeepAnswer;
    MindReset "mind_reset": mind::ResetRequest => mind::ResetAnswer;
    MindEvents "mind_events": mind::ProcessEventsRequest => mind::ProcessEventsAnswer;
    MemoryRecall "memory_recall": mind::MemoryRecallRequest => mind::MemoryRecallAnswer;
    ToolAsk "tool_ask": mind::ToolAskRequest => mind::ToolAskAnswer;
    RunSpend "run_spend": run_spend::RunSpendRequest => run_spend::RunSpendAnswer;
    Outputs "outputs": outputs::OutputsRequest => outputs::OutputsAnswer;
    OutputPut "output_put": outputs::OutputPutRequest => outputs::OutputPutAnswer;
    ServerTools "server_tools": server_tools::ServerToolsRequest => server_tools::ServerToolsAnswer;
    ToolUse "tool_use": server_tools::ToolUseRequest => server_tools::ToolUseAnswer;
    Approvals "approvals": server_tools::ApprovalsRequest => server_tools::ApprovalsAnswer;
    Decide "decide": server_tools::DecideRequest => server_tools::ApprovalView;
    TalentRun "talent_run": talent_runs::TalentRunRequest => talent_runs::TalentRunAnswer;
    TalentRuns "talent_runs": talent_runs::TalentRunsRequest => talent_runs::TalentRunsAnswer;
    Budget "budget": mind::BudgetRequest => mind::BudgetAnswer;
    Admin "admin": admin::AdminRequest => admin::AdminAnswer;
    AdminQuestion "admin_question": admin::AdminQuestionRequest => admin::AdminAnswer;
    ChannelSay "channel_say": channel::ChannelSayRequest => channel::ChannelRunAnswer;
    ChannelBranch "channel_branch": channel::ChannelBranchRequest => channel::ChannelRunAnswer;
    ChannelWorker "channel_worker": channel::ChannelWorkerRequest => channel::ChannelRunAnswer;
    ChannelStop "channel_stop": channel::ChannelStopRequest => channel::ChannelStopAnswer;
    ChannelRemove "channel_remove": channel::ChannelRemoveRequest => channel::ChannelView;
    ChannelList "channel_list": channel::ChannelListRequest => channel::ChannelListAnswer;
    ChannelGet "channel_get": channel::ChannelGetRequest => channel::ChannelGetAnswer;
    Sweep "sweep": archive::SweepRequest => archive::SweepAnswer;
    SaveMany "save_many": save::SaveManyRequest => save::SaveManyAnswer;
    Find "find": find::FindRequest => find::FoundMemories;
    History "history": history::HistoryRequest => history::HistoryAnswer;
    Actors "actors": stats::ActorListRequest => stats::ActorListAnswer;
    Journal "journal": journal::JournalRequest => journal::JournalAnswer;
    JournalEntry "journal_entry": journal::JournalEntryRequest => journal::JournalEntry;
    ProveClaim "prove_claim": proof::ClaimRequest => proof::ClaimAnswer;
    Verify "verify": upkeep::VerifyStoreRequest => upkeep::VerifyStoreAnswer;
    Rebuild "rebuild": upkeep::RebuildRequest => upkeep::RebuildAnswer;
    Snapshot "snapshot": upkeep::SnapshotRequest => upkeep::SnapshotView;
    SnapshotList "snapshot_list": upkeep::SnapshotListRequest => upkeep::SnapshotListAnswer;
    Language "language": upkeep::LanguageRequest => upkeep::LanguageAnswer;
    LanguageList "language_list": upkeep::LanguageListRequest => upkeep::LanguageListAnswer;
    RawJournal "raw_journal": auditor::RawJournalRequest => auditor::RawJournalAnswer;
    SinceRoot "since_root": auditor::SinceRootRequest => auditor::SinceRootAnswer;
    Diff "diff": auditor::DiffRequest => auditor::DiffAnswer;
    Checkpoint "checkpoint": auditor::CheckpointRequest => auditor::CheckpointAnswer;
    Backup "backup": backup::BackupRequest => backup::BackupAnswer;
    RestoreBackup "restore_backup": backup::RestoreBackupRequest => backup::RestoreBackupAnswer;
    Salvage "salvage": backup::SalvageRequest => backup::ActorCopy;
    Compact "compact": compact::CompactContextRequest => compact::CompactContextAnswer;
    PastState "past_state": past::PastStateRequest => past::PastStateAnswer;
    PastRead "past_read": past::PastReadRequest => past::PastReadAnswer;
    PastSessions "past_sessions": past::PastSessionsRequest => past::PastSessionsAnswer;
    PastShow "past_show": past::PastShowRequest => past::PastShowAnswer;
    PastResume "past_resume": past::PastResumeRequest => past::PastResumeAnswer;
    PastSearch "past_search": past::PastSearchRequest => past::PastSearchAnswer;
    PastForget "past_forget": past::PastForgetRequest => past::PastForgetAnswer;
    PastRestore "past_restore": past::PastRestoreRequest => past::PastRestoreAnswer;
    PastTombstones "past_tombstones": past::PastTombstonesRequest => past::PastTombstonesAnswer;
    PastExclude "past_exclude": past::PastExcludeRequest => past::PastExcludeAnswer;
    PastCheck "past_check": past::PastCheckRequest => past::PastCheckAnswer;
    PastRebuild "past_rebuild": past::PastRebuildRequest => past::PastRebuildAnswer;
    PastWork "past_work": past::PastWorkRequest => past::PastWorkAnswer;
    PastReport "past_report": past::PastReportRequest => past::PastReportAnswer;
    PastKeep "past_keep": past::PastKeepRequest => past::PastKeepAnswer;
    PastHandOver "past_hand_over": past::PastHandOverRequest => past::PastHandOverAnswer;
    Counts "counts": counts::CountsRequest => counts::CountsAnswer;
    TagList "tag_list": counts::TagListRequest => counts::TagListAnswer;
    ChangeMany "change_many": change_many::ChangeManyRequest => change_many::ChangeManyAnswer;
    Tellings "tellings": telling::TellingsRequest => telling::TellingsAnswer;
    Settings "settings": settings::SettingsRequest => settings::SettingsAnswer;
    SetSetting "set_setting": settings::SetSettingRequest => settings::SetSettingAnswer;
}
