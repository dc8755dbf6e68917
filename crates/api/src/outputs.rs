//! What talents wrote, found apart from memories.

use serde::{Deserialize, Serialize};

/// Which outputs of talents say something about a question. Without words: the newest.
#[derive(
    Clone,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
    utoipa::IntoParams,
)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct OutputsRequest {
    pub query: String,
    /// YYYYMMDD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub talent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facet: Option<String>,
    /// At most so many; 10 if absent, 100 at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct OutputsAnswer {
    pub query: String,
    /// How many there are, shown or not.
    pub matches: u64,
    /// The best first.
    pub outputs: Vec<OutputHit>,
}

/// Something that a talent wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct OutputHit {
    /// Its file, in the home.
    pub path: String,
    pub day: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facet: Option<String>,
    pub talent: String,
    /// The line that fits best.
    pub preview: String,
    pub score: u64,
}

/// An output that was just written is to be found from now on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OutputPutRequest {
    pub path: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputPutAnswer {
    pub path: String,
}
