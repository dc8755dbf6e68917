//! What can be set, what it is set to, and where that came from.

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SettingsRequest {}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SettingsAnswer {
    /// The file of this home; it need not be there.
    pub path: String,
    pub settings: Vec<SettingView>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SettingView {
    pub key: String,
    #[schema(value_type = Value)]
    pub value: Value,
    #[schema(value_type = Value)]
    pub default: Value,
    /// `default`, the path of the file, or the name of the variable.
    pub origin: String,
    /// The variable that overrides the file.
    pub variable: String,
    pub about: String,
    /// What a value may be, in words.
    pub expects: String,
}

/// Sets one value in the file of the home. Values of variables win over it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SetSettingRequest {
    pub key: String,
    /// As it would stand in a variable; absent takes the key out of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SetSettingAnswer {
    /// As it is now.
    pub setting: SettingView,
    /// What the file said before, as text; absent if it said nothing. Setting it again takes the change back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    pub changed: bool,
    /// When it counts.
    pub note: String,
}
