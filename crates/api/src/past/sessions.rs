//! Sessions of the past, their turns, and how to go on with one.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PastSessionsRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// A folder or one above it; `*` and `**` stand for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Also the sessions that agents led.
    pub children: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastSessionsAnswer {
    /// Newest first.
    pub sessions: Vec<PastSessionView>,
    /// How many more there are.
    pub left_out: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastSessionView {
    /// `AGENT:SESSION`.
    #[serde(rename = "ref")]
    pub reference: String,
    pub agent: String,
    pub session: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The session that led this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Another agent led it.
    pub child: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    pub turns: u32,
    pub items: u64,
    /// Bytes that it takes on disk.
    pub bytes: u64,
    /// Its source is gone: this is the only copy.
    pub kept_only_here: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PastShowRequest {
    /// A session, or a turn.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Turns before and after the one that is named.
    pub around: u32,
    /// Also commands, reads, edits and outputs.
    pub work: bool,
    /// The whole session, however long; without it the last turns.
    pub whole: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastShowAnswer {
    pub session: PastSessionView,
    pub turns: Vec<PastTurnView>,
    /// Turns that are not shown, because there are too many.
    pub left_out: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastTurnView {
    #[serde(rename = "ref")]
    pub reference: String,
    pub turn: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// It was taken back in its session.
    pub undone: bool,
    /// Memories that were made of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<u64>,
    pub items: Vec<PastItemView>,
}

/// One thing that was said or done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastItemView {
    /// prompt, answer, command, read, edit, output, summary, note or tool.
    pub role: String,
    /// What was said, the command, the output, or what an edit added.
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What an edit removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<String>,
    /// The end of an output whose middle was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<String>,
    /// What a command ended with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub error: bool,
    /// Bytes that the text had before it was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PastResumeRequest {
    #[serde(rename = "ref")]
    pub reference: String,
}

/// How a session goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastResumeAnswer {
    #[serde(rename = "ref")]
    pub reference: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The command as words.
    pub words: Vec<String>,
    /// One line for a shell, in the folder of the session.
    pub line: String,
}
