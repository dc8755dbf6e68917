//! Every error code, once. A code is a name for programs; it never changes once released.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($($variant:ident $name:literal,)+) => {
        /// The name of an error, for programs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum ErrorCode {
            $(#[serde(rename = $name)] $variant,)+
            /// A code that this version of the program does not know; the message says what it means.
            #[serde(rename = "unknown_code", other)]
            UnknownCode,
        }

        impl ErrorCode {
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$variant,)+ ErrorCode::UnknownCode];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(ErrorCode::$variant => $name,)+
                    ErrorCode::UnknownCode => "unknown_code",
                }
            }

            /// The code that a lower layer names. Tests of the program see to it that every name is in the list.
            pub fn named(name: &str) -> ErrorCode {
                match name {
                    $($name => ErrorCode::$variant,)+
                    _ => ErrorCode::UnknownCode,
                }
            }
        }
    };
}

codes! {
    // About the request.
    BadActor "bad_actor",
    BadCursor "bad_cursor",
    BadJson "bad_json",
    BadName "bad_name",
    BadQuestion "bad_question",
    BadRequest "bad_request",
    BadSetting "bad_setting",
    BadUri "bad_uri",
    BudgetUnreachable "budget_unreachable",
    Empty "empty",
    Invalid "invalid",
    NoOp "no_op",
    NotComparable "not_comparable",
    SelfEdge "self_edge",
    TooBroad "too_broad",
    TooLarge "too_large",
    TooLong "too_long",
    TooMany "too_many",
    Unbounded "unbounded",
    UnknownField "unknown_field",
    UnknownType "unknown_type",
    Usage "usage",
    // About what is not there, or is no longer.
    Erased "erased",
    IdempotencyConflict "idempotency_conflict",
    NotFound "not_found",
    SessionEnded "session_ended",
    Tombstoned "tombstoned",
    VersionConflict "version_conflict",
    // About grants and rates.
    GrantRefused "grant_refused",
    OutsideGrant "outside_grant",
    PersonNeeded "person_needed",
    RateLimited "rate_limited",
    ToolRefused "tool_refused",
    TooManyCalls "too_many_calls",
    TooManyConnections "too_many_connections",
    // About the store.
    Behind "behind",
    Busy "busy",
    Closed "closed",
    Corrupt "corrupt",
    DiskFull "disk_full",
    LedgerAway "ledger_away",
    NonCanonical "non_canonical",
    Outdated "outdated",
    OutcomeUnknown "outcome_unknown",
    Overtaken "overtaken",
    Poisoned "poisoned",
    ProofRefused "proof_refused",
    RootMismatch "root_mismatch",
    Schema "schema",
    Stale "stale",
    Storage "storage",
    // About the machine and the program.
    Config "config",
    Internal "internal",
    Io "io",
    Other "other",
    ProjectsFile "projects_file",
    Settings "settings",
    // About HTTP.
    HostRefused "host_refused",
    MethodNotAllowed "method_not_allowed",
    NoQuery "no_query",
    NotReady "not_ready",
    OriginRefused "origin_refused",
    BadBody "bad_body",
    BadHeader "bad_header",
    BadId "bad_id",
    Exists "exists",
    NoRoute "no_route",
    RunEnded "run_ended",
    SlowBody "slow_body",
    TokenRefused "token_refused",
    // About the daemon.
    CallerGone "caller_gone",
    DaemonGone "daemon_gone",
    DaemonSlow "daemon_slow",
    DaemonStart "daemon_start",
    Deadline "deadline",
    HomeFolder "home_folder",
    NotRunning "not_running",
    NotServed "not_served",
    OtherVersion "other_version",
    PeerRefused "peer_refused",
    Served "served",
    SocketFolder "socket_folder",
    // About import and export.
    BadSource "bad_source",
    Foreign "foreign",
    // About the settings of agents.
    SettingsBroken "settings_broken",
    SettingsRestless "settings_restless",
    SettingsTooLarge "settings_too_large",
    LinesRefused "lines_refused",
    NoProjectSettings "no_project_settings",
    OutsideHome "outside_home",
    // About the past.
    PastAmbiguous "past_ambiguous",
    PastBusy "past_busy",
    PastDamaged "past_damaged",
    PastFile "past_file",
    PastInvalid "past_invalid",
    PastKey "past_key",
    PastNoResume "past_no_resume",
    PastReference "past_reference",
    PastSource "past_source",
    PastTombstone "past_tombstone",
    PastUnknown "past_unknown",
    // About embedders.
    CacheFull "cache_full",
    CacheIo "cache_io",
    CacheMismatch "cache_mismatch",
    EmbedderAnswer "embedder_answer",
    EmbedderDims "embedder_dims",
    EmbedderKeyMissing "embedder_key_missing",
    EmbedderKeyRefused "embedder_key_refused",
    EmbedderRefused "embedder_refused",
    EmbedderTimeout "embedder_timeout",
    EmbedderUnreachable "embedder_unreachable",
    EmbedderUnusable "embedder_unusable",
    InstallDownload "install_download",
    InstallIo "install_io",
    InstallPackage "install_package",
    ModelConfig "model_config",
    ModelDamaged "model_damaged",
    ModelDigest "model_digest",
    ModelMissing "model_missing",
    ModelTensorMissing "model_tensor_missing",
    ModelTensorShape "model_tensor_shape",
    ModelTooLarge "model_too_large",
    ModelUnreadable "model_unreadable",
    ModelVocabulary "model_vocabulary",
    // About the mind and its channels.
    AlreadyUndone "already_undone",
    ChannelBusy "channel_busy",
    ChannelRefused "channel_refused",
    ChannelUnreadable "channel_unreadable",
    JobRunning "job_running",
    KillSwitch "kill_switch",
    NotThatRun "not_that_run",
    OverMoney "over_money",
    OverPurpose "over_purpose",
    OverTokens "over_tokens",
    UnknownJob "unknown_job",
    UnknownProcess "unknown_process",
    UnknownRun "unknown_run",
    LogUnreadable "log_unreadable",
    // About the bus.
    ProtectedKey "protected_key",
    UnknownKey "unknown_key",
    BadValue "bad_value",
    BusIo "bus_io",
    IdTaken "id_taken",
    NoSuchRun "no_such_run",
    ProviderMismatch "provider_mismatch",
    TooManyClients "too_many_clients",
    TooManyReplays "too_many_replays",
    BusNotASocket "bus_not_a_socket",
    BusPathTooLong "bus_path_too_long",
    BusTaken "bus_taken",
    ConnectionLost "connection_lost",
    NoBus "no_bus",
    NoEvent "no_event",
    NoTract "no_tract",
    NotJson "not_json",
    NotObject "not_object",
    OutboxFull "outbox_full",
    NoAnswer "no_answer",
    // About talents, runs and services.
    BadEnv "bad_env",
    BrokenTalent "broken_talent",
    Cancelled "cancelled",
    ChatTimeout "chat_timeout",
    ChatUnreadable "chat_unreadable",
    ChatUnwritable "chat_unwritable",
    ContextUnreadable "context_unreadable",
    FacetExists "facet_exists",
    Killed "killed",
    LogFailed "log_failed",
    NoDay "no_day",
    NoFacet "no_facet",
    NoModel "no_model",
    NoOutput "no_output",
    NoProvider "no_provider",
    NoSegment "no_segment",
    NotConfined "not_confined",
    NotScheduled "not_scheduled",
    ProviderKeyInvalid "provider_key_invalid",
    ProviderLocked "provider_locked",
    ProviderQuotaExceeded "provider_quota_exceeded",
    ProviderResponseInvalid "provider_response_invalid",
    ProviderUnavailable "provider_unavailable",
    NetworkUnreachable "network_unreachable",
    QueueFull "queue_full",
    Reserved "reserved",
    RunLogs "run_logs",
    Schedule "schedule",
    ServiceTaken "service_taken",
    ShuttingDown "shutting_down",
    Stopping "stopping",
    TemplateFailed "template_failed",
    Unknown "unknown",
    UnknownService "unknown_service",
    UnknownSession "unknown_session",
    UnknownTalent "unknown_talent",
    UnknownZone "unknown_zone",
    Unread "unread",
    Unreadable "unreadable",
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ErrorCode {
    type Err = std::convert::Infallible;

    fn from_str(name: &str) -> Result<ErrorCode, Self::Err> {
        Ok(ErrorCode::named(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_keeps_its_name_on_the_wire() {
        for code in ErrorCode::ALL {
            let wire = serde_json::to_string(code).unwrap();
            assert_eq!(wire, format!("\"{code}\""));
            assert_eq!(serde_json::from_str::<ErrorCode>(&wire).unwrap(), *code);
            assert_eq!(ErrorCode::named(code.as_str()), *code);
        }
    }

    #[test]
    fn a_code_of_a_newer_program_is_read_as_unknown() {
        let read: ErrorCode = serde_json::from_str("\"made_next_year\"").unwrap();
        assert_eq!(read, ErrorCode::UnknownCode);
    }
}
