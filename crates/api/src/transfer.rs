//! Everything that is remembered, out as lines and in again, also from other memory tools.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct ExportRequest {
    /// Only this project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Forgotten memories too.
    pub all: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct ImportRequest {
    /// What it is, if it is not recognised: cortex, engram, go-cortex, claude-mem, server-memory or mem0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Project of what names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Count and check only; change nothing.
    pub dry_run: bool,
}
