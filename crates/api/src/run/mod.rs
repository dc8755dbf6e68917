//! Runs of talents: how one is asked for, what it reports while it goes on, and what is known of it afterwards.
//!
//! `request` is the request with all its keys and bounds, `receipt` its answer, `event` what is on the wire and in
//! run logs, `payload` what the events of each kind carry, `record` what lists and the index show.

mod event;
mod payload;
mod receipt;
mod record;
mod request;
mod value;

pub use event::{RunEvent, RunEventKind};
pub use payload::{
    AgentPayload, ErrorPayload, FallbackPayload, FinishPayload, InfoPayload, MaxTurnsPayload,
    ProgressPayload, RunPayload, SpawnPayload, StartPayload, TextPayload, ThinkingPayload,
    ToolBudgetPayload, ToolEndPayload, ToolStartPayload, UsagePayload, WarningPayload,
};
pub use receipt::{RunReceipt, RunRejection};
pub use record::{LiveRun, RunList, RunOutcome, RunQuery, RunRecord, RunScope, RunStatus};
pub use request::{DEFAULT_TALENT, REQUEST_BYTES_MAX, RunRequest, RunRequestError};
pub use value::{OutputFormat, RunEnvironment, RunTier, SPAN_MAX, is_conversation_id};
