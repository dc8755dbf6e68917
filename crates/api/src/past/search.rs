//! Have we dealt with this before? Turns that answer a question.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PastSearchRequest {
    pub query: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// A folder or one above it; `*` and `**` stand for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The name of a project: the last part of a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// `AGENT:SESSION`: only its turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Also commands, outputs, edits, summaries, and what agents told each other.
    pub work: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastSearchAnswer {
    pub query: String,
    /// Best first.
    pub past: Vec<PastHit>,
    /// Turns that have a word of the question.
    pub matches: u64,
    /// Bytes that agents wrote and nobody has read yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread_bytes: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastHit {
    /// `AGENT:SESSION#TURN`.
    #[serde(rename = "ref")]
    pub reference: String,
    pub agent: String,
    pub session: String,
    pub turn: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Whose words the preview is made of.
    pub role: String,
    pub preview: String,
    /// The beginning of what was asked in the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The beginning of the last answer of the turn, where the preview is not of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<String>,
    /// What was said in the turn; of a long one the part around the preview.
    pub text: String,
    /// True if the text is only a part.
    pub cut: bool,
    /// The command that goes on with the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// How many of the files of the turn changed since, where that can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_since: Option<String>,
    /// current, undone or rejected.
    pub standing: String,
    /// When and why what was decided in this session was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<String>,
    /// Memories that were made of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<u64>,
    /// Its source is gone: this is the only copy.
    pub kept_only_here: bool,
    /// What each arm said of it.
    pub arms: Vec<PastArm>,
}

/// How well a turn does by one measure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastArm {
    /// words, meaning, interaction, session, date or entities.
    pub arm: String,
    pub rank: usize,
    /// Thousandths of the best.
    pub score: u64,
}
