//! What was done in the past: fixes, habits, edits, friction; and the shapes of records that nobody knows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What is asked of the work of the past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PastWorkKind {
    /// What fixed this error.
    #[default]
    Error,
    /// How this is done here.
    Command,
    /// Why this file is so.
    File,
    /// What went wrong again and again.
    Friction,
    /// What edits took out of this file.
    Removed,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PastWorkRequest {
    pub about: PastWorkKind,
    /// The error or a whole log, words of a command, or the path of a file.
    pub text: String,
    /// Lines of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    /// The text of those lines as they are now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<String>,
    /// Names that the file had before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<String>,
    /// The name of a project, or a folder: its own work comes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Only the list that was asked for has something in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastWorkAnswer {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixes: Vec<PastFix>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub habits: Vec<PastHabit>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<PastTrace>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub friction: Vec<PastFriction>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<PastRemoval>,
    /// What cannot be told, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// An error, and what made it go away.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastFix {
    /// The line of the error, as it was met last.
    pub error: String,
    /// The commands, and files that were edited, after which it did not return.
    pub steps: Vec<String>,
    /// Sessions in which the same helped.
    pub sessions: u64,
    /// More than one session, or a rare word of the error in the step.
    pub confirmed: bool,
    pub refs: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// A command that is used here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastHabit {
    /// The newest line that succeeded.
    pub line: String,
    pub sessions: u64,
    pub succeeded: u64,
    pub failed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(rename = "ref")]
    pub reference: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// Where a file was edited, read or spoken of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastTrace {
    /// edit, read or mention.
    pub role: String,
    pub path: String,
    #[serde(rename = "ref")]
    pub reference: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// What was asked in the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The end of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Lines of the range that this edit wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<u32>,
    pub undone: bool,
}

/// An error that came back in several sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastFriction {
    pub error: String,
    pub sessions: u64,
    pub times: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_at: Option<String>,
    pub refs: Vec<String>,
}

/// Text that an edit took out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastRemoval {
    pub path: String,
    pub text: String,
    #[serde(rename = "ref")]
    pub reference: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// True if the edit took out more than was kept.
    pub cut: bool,
}

/// What the records of an agent look like: names of keys and kinds of values, never a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PastReportRequest {
    pub agent: String,
    /// As in reading.
    pub variables: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastReportAnswer {
    pub agent: String,
    pub files: u64,
    /// The most frequent first.
    pub shapes: Vec<PastShape>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastShape {
    pub shape: String,
    pub records: u64,
}
