//! The memory bulletin: what matters now, as the mind published it last.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "four wishes that do not depend on each other")]
pub struct BulletinRequest {
    /// owner or shared; owner if absent. What is private is never in the shared one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
    /// Look at the memories again first.
    pub refresh: bool,
    /// With the memories it comes from and what changed since the one before.
    pub explain: bool,
    /// Only what is published already; nothing is gathered.
    pub published: bool,
    /// The bulletin of this project: gathered from its memories, those of none, and what is personal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// With what changed since the last session of this agent in the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The text as a prompt holds it: it ends with the sentence that it is data.
    pub as_prompt: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct BulletinAnswer {
    /// Absent if none was made yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bulletin: Option<BulletinView>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct BulletinView {
    /// Counts from 1.
    pub number: u64,
    pub audience: String,
    /// Markdown; every line ends with the ids it comes from.
    pub text: String,
    pub words: usize,
    pub generated_at: String,
    pub age_seconds: u64,
    /// `rules`, or the name of the model that wrote it.
    pub made_by: String,
    /// Why rules wrote it although a model was to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// The run that made it.
    pub run: String,
    /// Hash of the memories it was made of.
    pub inputs: String,
    /// Journal entries at the time.
    pub size: u64,
    pub cited: Vec<u64>,
    /// What is new compared with the one before.
    pub changes: ChangesView,
    /// The project it is about; empty for all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub project: String,
    /// Only if asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceView>,
    /// Answers of a model that were not used, newest first; only if asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedView>,
}

/// An answer of a model that was not used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RefusedView {
    pub at: String,
    pub model: String,
    pub reason: String,
    /// Its beginning.
    pub text: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ChangesView {
    pub added: Vec<u64>,
    pub removed: Vec<u64>,
    pub revised: Vec<u64>,
}

/// A memory that the bulletin cites.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SourceView {
    pub id: u64,
    /// The version that was read.
    pub version: u32,
    /// The version there is now.
    pub now_version: u32,
    #[serde(rename = "type")]
    pub kind: String,
    pub memory_type: String,
    pub created_at: String,
    pub title: String,
    /// The section it stands in.
    pub section: String,
    /// True if it was forgotten since.
    pub forgotten: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct BulletinHistoryRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
    /// 20 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct BulletinHistoryAnswer {
    /// Newest first.
    pub bulletins: Vec<BulletinView>,
    pub total: usize,
}
