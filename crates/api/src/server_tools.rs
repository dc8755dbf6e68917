//! Tools of other servers that talents use, and the calls of them that wait for a person.

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
