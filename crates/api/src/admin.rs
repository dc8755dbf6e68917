//! Admin chat: what an administrator types, answered from the operations; by a model only what no rule understands.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Bytes of one message.
pub const MESSAGE_BYTES_MAX: usize = 16_384;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AdminRequest {
    /// Whose memory is meant; the caller's if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    pub message: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct AdminAnswer {
    pub agent_id: String,
    /// For people.
    pub response: String,
    /// What the message was understood as.
    #[schema(value_type = Object)]
    pub asked: Value,
    /// The same as data: what the operation answered.
    #[schema(value_type = Object)]
    pub data: Value,
}
