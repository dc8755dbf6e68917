//! A turn that becomes a memory, and work that another agent takes over.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PastKeepRequest {
    /// A turn.
    #[serde(rename = "ref")]
    pub reference: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The kind of the memory; decision unless another is named.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// accepted, rejected or superseded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Kept in place of the text of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastKeepAnswer {
    pub id: u64,
    #[serde(rename = "ref")]
    pub reference: String,
    pub title: String,
    /// The digest of the text of the turn as it is stored.
    pub digest: String,
    /// True: it had been kept before and is a new version now.
    pub updated: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PastHandOverRequest {
    #[serde(rename = "ref")]
    pub reference: String,
    /// The agent that takes over.
    pub to: String,
}

/// What another agent needs to go on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastHandOverAnswer {
    #[serde(rename = "ref")]
    pub reference: String,
    pub to: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The brief, in quotations with citations.
    pub brief: String,
    pub tokens: u32,
    /// The command that starts the agent with the brief, where one can be given a prompt.
    pub words: Vec<String>,
}
