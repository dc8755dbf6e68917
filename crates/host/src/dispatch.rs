//! Every call answered: by the service if the memory is all it needs, by the host if it needs more.

use api::{Call, Operation};
use serde_json::value::{RawValue, to_raw_value};
use service::Caller;
use service::error::{Error, Result};

use crate::home::Host;

/// An operation that a host can answer.
pub trait HostOperation: Operation {
    fn run(self, host: &Host, caller: &Caller) -> Result<Self::Answer>;
}

macro_rules! answered {
    ($($variant:ident $by:ident $method:ident: $request:ty;)+) => {
        impl Host {
            /// Answers any call, as the bytes that go over a wire.
            pub fn answer(&self, caller: &Caller, call: Call) -> Result<Box<RawValue>> {
                match call {
                    $(Call::$variant(request) => raw(&request.run(self, caller)?),)+
                }
            }
        }

        $(impl HostOperation for $request {
            fn run(self, host: &Host, caller: &Caller) -> Result<Self::Answer> {
                let noted = host.note(caller, &self);
                let answer = observed(Self::NAME, caller, || answered!(@$by host).$method(caller, self));
                let answer = answer.inspect_err(|error| host.service.distrust(caller, error))?;
                if let Some(noted) = noted {
                    host.told(caller, Self::NAME, noted, &answer);
                }
                Ok(answer)
            }
        })+
    };
    (@host $host:ident) => { $host };
    (@service $host:ident) => { $host.service };
    (@agents $host:ident) => { $host.agents };
}

answered! {
    Save service save: api::save::SaveRequest;
    Get service get: api::read::GetRequest;
    List service list: api::read::ListRequest;
    Update service update: api::change::UpdateRequest;
    Delete host delete: api::change::DeleteRequest;
    Archive service archive: api::change::ArchiveRequest;
    Restore service restore: api::change::RestoreRequest;
    Confirm service confirm: api::change::ConfirmRequest;
    Pin service pin: api::change::PinRequest;
    Search service search: api::search::SearchRequest;
    Context service recent_context: api::context::ContextRequest;
    Bundle service bundle: api::bundle::BundleRequest;
    Timeline service timeline: api::timeline::TimelineRequest;
    SessionStart host session_start: api::session::SessionStartRequest;
    SessionEnd service session_end: api::session::SessionEndRequest;
    SessionGet service session_get: api::session::SessionGetRequest;
    SessionList service session_list: api::session::SessionListRequest;
    SessionSummary service session_summary: api::session::SummaryRequest;
    PromptSave service prompt_save: api::prompt::PromptSaveRequest;
    PromptList service prompt_list: api::prompt::PromptListRequest;
    Relate service relate: api::graph::RelateRequest;
    Unrelate service unrelate: api::graph::UnrelateRequest;
    Graph service graph: api::graph::GraphRequest;
    Score host score: api::score::ScoreRequest;
    Stats service stats: api::stats::StatsRequest;
    Projects service projects: api::stats::ProjectsRequest;
    MergeProjects service merge_projects: api::projects::MergeRequest;
    SeparateProject service separate_project: api::projects::SeparateRequest;
    Entities service entities: api::stats::EntitiesRequest;
    EntityList service entity_list: api::stats::EntityListRequest;
    Capture service capture: api::capture::CaptureRequest;
    Suggest service suggest: api::capture::SuggestRequest;
    Hook host hook: api::hook::HookRequest;
    Prove service prove: api::proof::ProveRequest;
    VerifyProof service verify_proof: api::proof::VerifyRequest;
    Grant service grant: api::grants::GrantRequest;
    GrantList service grant_list: api::grants::GrantListRequest;
    Revoke service revoke: api::grants::RevokeRequest;
    Root service root: api::proof::RootRequest;
    Activity service activity: api::activity::ActivityRequest;
    Attest service attest: api::attest::AttestRequest;
    Salience service salience: api::attest::SalienceRequest;
    Health service health: api::health::HealthRequest;
    Audit service audit: api::audit::AuditRequest;
    Bulletin host bulletin: api::bulletin::BulletinRequest;
    BulletinHistory host bulletin_history: api::bulletin::BulletinHistoryRequest;
    PageAdd host page_add: api::pages::PageAddRequest;
    PageList host page_list: api::pages::PageListRequest;
    PageShow host page_show: api::pages::PageShowRequest;
    PageHistory host page_history: api::pages::PageHistoryRequest;
    PageRemove host page_remove: api::pages::PageRemoveRequest;
    PageRestore host page_restore: api::pages::PageRestoreRequest;
    MindJobs host mind_jobs: api::mind::JobsRequest;
    MindRun host mind_run: api::mind::RunJobRequest;
    MindPause host mind_pause: api::mind::PauseJobRequest;
    MindRuns host mind_runs: api::mind::RunsRequest;
    MindShow host mind_show: api::mind::ShowRunRequest;
    MindUndo host mind_undo: api::mind::UndoRequest;
    MindDue host mind_due: api::mind::DueRequest;
    MindKeep host mind_keep: api::mind::KeepRequest;
    MindReset host mind_reset: api::mind::ResetRequest;
    MindEvents host mind_events: api::mind::ProcessEventsRequest;
    MemoryRecall host memory_recall: api::mind::MemoryRecallRequest;
    ToolAsk host tool_ask: api::mind::ToolAskRequest;
    RunSpend host run_spend: api::run_spend::RunSpendRequest;
    Outputs host outputs: api::outputs::OutputsRequest;
    OutputPut host output_put: api::outputs::OutputPutRequest;
    ServerTools host server_tools: api::server_tools::ServerToolsRequest;
    ToolUse host tool_use: api::server_tools::ToolUseRequest;
    Approvals host approvals: api::server_tools::ApprovalsRequest;
    Decide host decide: api::server_tools::DecideRequest;
    TalentRun host talent_run: api::talent_runs::TalentRunRequest;
    TalentRuns host talent_runs: api::talent_runs::TalentRunsRequest;
    Budget host budget: api::mind::BudgetRequest;
    Admin host admin: api::admin::AdminRequest;
    AdminQuestion host admin_question: api::admin::AdminQuestionRequest;
    ChannelSay host channel_say: api::channel::ChannelSayRequest;
    ChannelBranch host channel_branch: api::channel::ChannelBranchRequest;
    ChannelWorker host channel_worker: api::channel::ChannelWorkerRequest;
    ChannelStop host channel_stop: api::channel::ChannelStopRequest;
    ChannelRemove host channel_remove: api::channel::ChannelRemoveRequest;
    ChannelList host channel_list: api::channel::ChannelListRequest;
    ChannelGet host channel_get: api::channel::ChannelGetRequest;
    Sweep service sweep: api::archive::SweepRequest;
    SaveMany service save_many: api::save::SaveManyRequest;
    Find service find: api::find::FindRequest;
    History service history: api::history::HistoryRequest;
    Actors service actors: api::stats::ActorListRequest;
    Journal service journal: api::journal::JournalRequest;
    JournalEntry service journal_entry: api::journal::JournalEntryRequest;
    ProveClaim service prove_claim: api::proof::ClaimRequest;
    Verify service verify: api::upkeep::VerifyStoreRequest;
    Rebuild service rebuild: api::upkeep::RebuildRequest;
    Snapshot service snapshot: api::upkeep::SnapshotRequest;
    SnapshotList service snapshot_list: api::upkeep::SnapshotListRequest;
    Language service language: api::upkeep::LanguageRequest;
    LanguageList service language_list: api::upkeep::LanguageListRequest;
    RawJournal service raw_journal: api::auditor::RawJournalRequest;
    SinceRoot service since_root: api::auditor::SinceRootRequest;
    Diff service diff: api::auditor::DiffRequest;
    Checkpoint service checkpoint: api::auditor::CheckpointRequest;
    Backup service backup: api::backup::BackupRequest;
    RestoreBackup service restore_backup: api::backup::RestoreBackupRequest;
    Salvage service salvage: api::backup::SalvageRequest;
    Compact service compact: api::compact::CompactContextRequest;
    PastState agents past_state: api::past::PastStateRequest;
    PastRead agents past_read: api::past::PastReadRequest;
    PastSessions agents past_sessions: api::past::PastSessionsRequest;
    PastShow agents past_show: api::past::PastShowRequest;
    PastResume agents past_resume: api::past::PastResumeRequest;
    PastSearch agents past_search: api::past::PastSearchRequest;
    PastForget agents past_forget: api::past::PastForgetRequest;
    PastRestore agents past_restore: api::past::PastRestoreRequest;
    PastTombstones agents past_tombstones: api::past::PastTombstonesRequest;
    PastExclude agents past_exclude: api::past::PastExcludeRequest;
    PastCheck agents past_check: api::past::PastCheckRequest;
    PastRebuild agents past_rebuild: api::past::PastRebuildRequest;
    PastWork agents past_work: api::past::PastWorkRequest;
    PastReport agents past_report: api::past::PastReportRequest;
    PastKeep agents past_keep: api::past::PastKeepRequest;
    PastHandOver agents past_hand_over: api::past::PastHandOverRequest;
    Counts service counts: api::counts::CountsRequest;
    TagList service tag_list: api::counts::TagListRequest;
    ChangeMany service change_many: api::change_many::ChangeManyRequest;
    Tellings host tellings: api::telling::TellingsRequest;
    Settings host settings: api::settings::SettingsRequest;
    SetSetting host set_setting: api::settings::SetSettingRequest;
}

/// Runs an operation inside a span that names it, whose memory it is about and who asks; tells what went wrong here.
fn observed<T>(name: &str, caller: &Caller, run: impl FnOnce() -> Result<T>) -> Result<T> {
    let span = tracing::info_span!("operation", op = name, actor = %caller.actor, by = caller.by);
    let _span = span.entered();
    let started = std::time::Instant::now();
    let outcome = run();
    let micros = started.elapsed().as_micros();
    match &outcome {
        Ok(_) => tracing::debug!(micros, "answered"),
        Err(error) if error.fault() == api::Fault::Server => {
            tracing::warn!(micros, code = %error.code(), "failed: {error}");
        }
        // What a caller did wrong may quote what it said.
        Err(error) => tracing::debug!(micros, code = %error.code(), "refused"),
    }
    outcome
}

fn raw(answer: &impl serde::Serialize) -> Result<Box<RawValue>> {
    to_raw_value(answer).map_err(|error| Error::internal(error.to_string()))
}
