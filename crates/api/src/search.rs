//! Search: a question in ordinary words. Titles and previews; the whole text is another step.

use serde::{Deserialize, Serialize};

use crate::author::Author;

/// Hits that are shown however little they say.
const NEAREST_MAX: usize = 3;
/// Thousandths of relevance below which a hit says nothing beside one that answers. Of 384 questions to the development
/// sets that were answered, none has its answer only below.
const RELEVANCE_SHOWN: u16 = 5;

#[expect(clippy::struct_excessive_bools, reason = "wishes that do not depend on each other")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SearchRequest {
    pub query: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Any of them, besides `type`.
    pub kinds: Vec<String>,
    pub memory_types: Vec<String>,
    /// `all` for every project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// True: without a project, the one that the caller works in and what is personal.
    pub default_project: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// All of them.
    pub tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
    pub include_forgotten: bool,
    pub include_archived: bool,
    /// True: also what was put away by itself. What somebody forgot on purpose stays out.
    pub put_away: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// True: each hit says what moved it.
    pub explain: bool,
    /// True: looking is not using.
    pub quiet: bool,
    /// What is near this memory by meaning, instead of what the words say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similar_to: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SearchAnswer {
    pub query: String,
    /// The project that was asked about; empty if all were.
    #[serde(default)]
    pub project: String,
    /// Best first.
    pub hits: Vec<HitView>,
    /// Whether anything found answers the question; absent where nothing was asked in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answerable: Option<AnswerableView>,
    /// Memories that were looked at.
    pub candidates: usize,
    /// Which arms found something: `text`, or `text + vectors`; `newest` for a question without words.
    pub mode: String,
    /// Memories that were put away by themselves and would have been among the hits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub put_away: Vec<u64>,
    /// What there is in other projects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
    /// The optional model that judged meaning, where memories have a vector of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Candidates whose meaning that model judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_model: Option<usize>,
    /// Why the chosen model did not; what did not fit; that the question asks for more than hits can show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl SearchAnswer {
    /// Whether a question was asked in words and nothing that was found answers it.
    pub fn is_unanswered(&self) -> bool {
        let level = self.answerable.as_ref().map(|answerable| answerable.level.as_str());
        matches!(level, Some("nothing" | "weak"))
    }

    /// How many of the hits, from the first on, are shown to a reader: where nothing answers, the nearest few say all
    /// there is to say; where something does, what hardly can is left out.
    pub fn worth_showing(&self, explain: bool) -> usize {
        let all = self.hits.len();
        if self.answerable.is_none() || explain {
            return all;
        }
        let may_answer = self.hits.iter().rposition(|hit| hit.relevance >= RELEVANCE_SHOWN);
        match (self.is_unanswered(), may_answer) {
            (false, Some(last)) => all.min(NEAREST_MAX.max(last + 1)),
            _ => all.min(NEAREST_MAX),
        }
    }

    /// How many memories that were put away by themselves would have been found, and which.
    pub fn put_away_note(&self) -> Option<String> {
        let ids: Vec<String> = self.put_away.iter().map(|id| format!("#{id}")).collect();
        match ids.len() {
            0 => None,
            1 => Some(format!("1 that was put away matches ({})", ids[0])),
            count => Some(format!("{count} that were put away match ({})", ids.join(", "))),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct HitView {
    pub id: u64,
    pub title: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub memory_type: String,
    pub project: String,
    pub scope: String,
    pub session_id: String,
    pub topic_key: String,
    pub created_at: String,
    pub updated_at: String,
    /// When it happened, where that is not when it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub happened_at: Option<String>,
    /// Since when it says what it says, where it said something else before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revised_at: Option<String>,
    pub uri: String,
    /// At most 300 characters around the best passage.
    pub preview: String,
    /// True if there is more to read.
    pub cut: bool,
    /// How likely it answers, 0 to 1; of memories like another one how near they are.
    pub rank: f64,
    /// The same in thousandths: a number means the same for every question and store.
    #[serde(default)]
    pub relevance: u16,
    /// The same in a word: strong, likely or weak. Empty where nothing was asked in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub level: String,
    /// What the full text costs.
    pub tokens: u32,
    /// current, superseded …
    pub standing: String,
    /// What became of a decision or a goal, where it is not accepted or active: rejected, done …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    pub pinned: bool,
    /// What replaces it.
    pub superseded_by: Vec<NamedView>,
    /// What it contradicts or is contradicted by.
    pub contradicts: Vec<NamedView>,
    /// Who wrote its current version.
    #[serde(default)]
    pub by: String,
    #[serde(default)]
    pub author: Author,
    /// A rule or preference that no person stated or confirmed.
    #[serde(default)]
    pub proposed: bool,
    pub arms: Vec<ArmView>,
    /// What of the ranker's features moved it most, the most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<ReasonView>,
}

/// Whether what was found answers the question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct AnswerableView {
    /// strong, likely, weak or nothing.
    pub level: String,
    /// Thousandths.
    pub probability: u16,
}

/// A feature that the ranker looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ReasonView {
    pub feature: String,
    pub value: i32,
    /// What most candidates of the question have.
    pub typical: i32,
    /// By how much it moved the hit, up or down.
    pub moved: i64,
}

/// Another memory that a hit points at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct NamedView {
    pub id: u64,
    pub title: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ArmView {
    pub arm: String,
    pub rank: usize,
    pub score: f64,
    pub weight: f64,
    /// The optional model that said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}
