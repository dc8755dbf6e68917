//! Conversations that Cortex keeps: said to, looked at, branched, given workers. Only for the owner; the models are
//! asked by runs of talents, so a daemon must be there.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelSayRequest {
    /// Its name; it is made if it is not there.
    pub channel: String,
    pub message: String,
    /// True for a channel that others read: nothing private reaches it. Counts when the channel is made.
    pub shared: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Variables for the process that asks the model; their values are kept nowhere.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub env: Map<String, Value>,
}

/// A run was started for a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ChannelRunAnswer {
    pub channel: String,
    /// The run that answers; its events are on the bus and in `/api/runs`.
    pub use_id: String,
    /// What was said as it is kept, without what must not be kept.
    pub message: String,
    /// What was taken out of it. Empty if nothing was.
    pub redacted: String,
}

#[derive(Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelBranchRequest {
    pub channel: String,
    /// What the branch is to think about.
    pub description: String,
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub env: Map<String, Value>,
}

#[derive(Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelWorkerRequest {
    pub channel: String,
    /// What the worker is to do. It knows nothing else.
    pub task: String,
    /// The talent that does it; `default` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub talent: Option<String>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub env: Map<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelStopRequest {
    pub channel: String,
}

/// Runs that were asked to stop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ChannelStopAnswer {
    pub cancelled: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelRemoveRequest {
    pub channel: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelListRequest {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ChannelListAnswer {
    pub channels: Vec<ChannelView>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelGetRequest {
    pub channel: String,
    /// The newest so many messages; 50 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ChannelView {
    pub channel: String,
    pub shared: bool,
    pub created_at: String,
    pub last_at: String,
    /// Messages in the context now; older ones became memories and a note.
    pub messages: usize,
    pub tokens: u32,
    pub is_answering: bool,
    /// Branches that think.
    pub branches: Vec<String>,
    /// Why the last turn was not answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ChannelGetAnswer {
    #[serde(flatten)]
    pub view: ChannelView,
    /// Oldest first.
    pub said: Vec<SaidView>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SaidView {
    pub number: u64,
    /// user, assistant or note.
    pub by: String,
    pub text: String,
    pub at: String,
}

/// The names of variables: their values are keys.
fn masked(env: &Map<String, Value>) -> Vec<&str> {
    env.keys().map(String::as_str).collect()
}

impl fmt::Debug for ChannelSayRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelSayRequest")
            .field("channel", &self.channel)
            .field("message", &self.message)
            .field("shared", &self.shared)
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("env", &masked(&self.env))
            .finish()
    }
}

impl fmt::Debug for ChannelBranchRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelBranchRequest")
            .field("channel", &self.channel)
            .field("description", &self.description)
            .field("env", &masked(&self.env))
            .finish()
    }
}

impl fmt::Debug for ChannelWorkerRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelWorkerRequest")
            .field("channel", &self.channel)
            .field("task", &self.task)
            .field("talent", &self.talent)
            .field("env", &masked(&self.env))
            .finish()
    }
}
