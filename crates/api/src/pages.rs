//! Pages: questions that stand, answered from the memory, cited, kept current, in versions.

use serde::{Deserialize, Serialize};

use crate::bulletin::{ChangesView, RefusedView};

/// Pages of one actor.
pub const PAGES_MAX: usize = 64;
/// Characters of a page's name, and of its question.
pub const PAGE_NAME_MAX: usize = 48;
pub const PAGE_QUESTION_MAX: usize = 500;

/// Adds a page, or gives the one of that name another question, project or length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PageAddRequest {
    /// Small letters, digits and hyphens.
    pub name: String,
    /// What the page is to answer.
    pub question: String,
    /// Only memories of this project, of none, and what is personal; all projects if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Tokens of the page at most; 800 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageListRequest {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PageListAnswer {
    /// By name. Without their texts.
    pub pages: Vec<PageView>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageShowRequest {
    pub name: String,
    /// An earlier version; the current one if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The text as a prompt holds it: it ends with the sentence that it is data.
    pub as_prompt: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageHistoryRequest {
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PageHistoryAnswer {
    /// Newest first, without their texts.
    pub versions: Vec<PageView>,
}

/// Removes a page. `page_restore` brings it back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageRemoveRequest {
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageRestoreRequest {
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PageView {
    pub name: String,
    pub question: String,
    /// The memory that holds the question.
    pub id: u64,
    /// Empty for all projects.
    pub project: String,
    /// Tokens it may have.
    pub tokens_max: u32,
    /// Counts from 1; 0 if nothing was written yet.
    pub version: u64,
    /// Markdown; every line ends with the ids it comes from. Empty in lists.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    pub words: usize,
    /// Tokens it has.
    pub tokens: u32,
    pub generated_at: String,
    pub age_seconds: u64,
    /// `rules`, or the name of the model that wrote it.
    pub made_by: String,
    /// Why rules wrote it although a model was to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    pub cited: Vec<u64>,
    /// What is new compared with the version before.
    pub changes: ChangesView,
    /// Versions that are kept.
    pub versions: usize,
    /// Answers of a model that were not used, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedView>,
}
