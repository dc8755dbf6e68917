//! How work ended and what it relied on; and what that taught salience.

use serde::{Deserialize, Serialize};

/// Lessons one answer lists.
pub const LESSONS_MAX: usize = 200;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AttestRequest {
    /// Name of the intent.
    pub intent: String,
    /// success, failure or partial.
    pub outcome: String,
    /// Memories it relied on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cite: Vec<Citation>,
    /// Memories it was shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retrieved: Vec<u64>,
    /// Why it ended so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Digest of the context it started from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Citation {
    pub id: u64,
    /// As it is now, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct AttestAnswer {
    pub intent: String,
    pub outcome: String,
    pub seq: u64,
    pub at: String,
    /// How many memories were cited.
    pub cited: usize,
    pub skipped: Vec<SkippedCitation>,
    /// Whether the weights moved.
    pub learned: bool,
}

/// A memory that could not be cited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = Skipped)]
pub struct SkippedCitation {
    pub id: u64,
    pub reason: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SalienceRequest {
    /// Lessons, the newest; 10 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SalienceAnswer {
    pub weights: WeightsView,
    /// What they were before anything was learned.
    pub at_first: WeightsView,
    /// Newest first.
    pub lessons: Vec<Lesson>,
}

/// How much each factor counts in salience. The sum is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct WeightsView {
    pub recency: f64,
    pub access: f64,
    pub citation: f64,
    pub importance: f64,
    pub similarity: f64,
}

/// What an attestation taught.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Lesson {
    pub seq: u64,
    pub at: String,
    pub intent: String,
    pub outcome: String,
    /// How many memories it relied on.
    pub cited: usize,
    pub before: WeightsView,
    pub after: WeightsView,
    /// Why nothing was learned, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

impl WeightsView {
    /// By name.
    pub fn parts(&self) -> [(&'static str, f64); 5] {
        [
            ("recency", self.recency),
            ("access", self.access),
            ("citation", self.citation),
            ("importance", self.importance),
            ("similarity", self.similarity),
        ]
    }
}
