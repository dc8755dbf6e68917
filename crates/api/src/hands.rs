//! What runs ask of the daemon while they go on, and what talents wrote.
//!
//! `run_spend` is asked before each request to a model; outputs are found apart from memories.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// May a run go on with so much in all, what it has spent included?
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunSpendRequest {
    pub run: String,
    pub tokens: u64,
    /// With fewer than these the next request makes no sense.
    pub tokens_min: u64,
    pub micro_dollars: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSpendAnswer {
    /// Tokens that it may have in all.
    pub granted: u64,
    /// Why it may have none of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// Which outputs of talents say something about a question. Without words: the newest.
#[derive(
    Clone,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
    utoipa::IntoParams,
)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct OutputsRequest {
    pub query: String,
    /// YYYYMMDD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub talent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facet: Option<String>,
    /// At most so many; 10 if absent, 100 at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct OutputsAnswer {
    pub query: String,
    /// How many there are, shown or not.
    pub matches: u64,
    /// The best first.
    pub outputs: Vec<OutputHit>,
}

/// Something that a talent wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct OutputHit {
    /// Its file, in the home.
    pub path: String,
    pub day: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facet: Option<String>,
    pub talent: String,
    /// The line that fits best.
    pub preview: String,
    pub score: u64,
}

/// An output that was just written is to be found from now on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OutputPutRequest {
    pub path: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputPutAnswer {
    pub path: String,
}

/// Which tools of other servers a talent may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerToolsRequest {
    pub talent: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerToolsAnswer {
    pub tools: Vec<ServerToolView>,
    /// Servers that could not be asked, and why.
    pub problems: Vec<String>,
}

/// A tool of another server: `SERVER__TOOL`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerToolView {
    pub name: String,
    pub description: String,
    pub schema: Value,
    /// It may change something.
    pub writes: bool,
}

/// Uses a tool of another server for a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolUseRequest {
    pub run: String,
    pub tool: String,
    pub args: Value,
    /// The approval that was waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolUseState {
    #[default]
    Done,
    /// A person is asked; ask again with the approval.
    Pending,
    Denied,
    /// Nobody said anything in time.
    Expired,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolUseAnswer {
    pub state: ToolUseState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// What the tool gave.
    pub value: Value,
    /// The tool says that it failed.
    pub failed: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    #[default]
    Pending,
    Approved,
    Denied,
}

/// A call of a tool that waits for a person.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ApprovalView {
    pub id: String,
    pub run: String,
    pub talent: String,
    pub tool: String,
    pub args: Value,
    /// When it was asked for, in milliseconds since 1970.
    pub at: i64,
    pub state: ApprovalState,
}

impl ApprovalView {
    /// Whether it is for exactly this call.
    pub fn is_for(&self, asked: &ToolUseRequest) -> bool {
        self.run == asked.run && self.tool == asked.tool && self.args == asked.args
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApprovalsRequest {}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ApprovalsAnswer {
    /// Oldest first.
    pub approvals: Vec<ApprovalView>,
}

/// Says yes or no to a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DecideRequest {
    pub id: String,
    pub approve: bool,
}

/// Asks for a run of a talent, and waits a while for its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TalentRunRequest {
    /// The talent; the default one if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub prompt: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facet: Option<String>,
    /// At most so long; 60 if absent, 300 at most. The run goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_seconds: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TalentRunAnswer {
    pub run: String,
    /// What it came to; absent if it goes on or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Why there is no result yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Which runs of talents there were, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TalentRunsRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// At most so many; 10 if absent, 100 at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TalentRunsAnswer {
    pub runs: Vec<TalentRunView>,
    pub total: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TalentRunView {
    pub run: String,
    pub name: String,
    /// running, finished, skipped or failed.
    pub state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    pub tokens: u64,
    /// In US dollars, if somebody knows the price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}
