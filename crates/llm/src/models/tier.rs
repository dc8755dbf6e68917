//! How capable a model is to be: 1 pro, 2 flash, 3 lite.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ModelTier {
    Pro,
    #[default]
    Flash,
    Lite,
}

impl ModelTier {
    pub fn number(self) -> u8 {
        match self {
            ModelTier::Pro => 1,
            ModelTier::Flash => 2,
            ModelTier::Lite => 3,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            ModelTier::Pro => "pro",
            ModelTier::Flash => "flash",
            ModelTier::Lite => "lite",
        }
    }

    pub fn parse(text: &str) -> Option<ModelTier> {
        match text {
            "1" | "pro" => Some(ModelTier::Pro),
            "2" | "flash" => Some(ModelTier::Flash),
            "3" | "lite" => Some(ModelTier::Lite),
            _ => None,
        }
    }

    /// A tier as a number or as a word.
    pub fn from_value(value: &Value) -> Option<ModelTier> {
        match value {
            Value::Number(number) => ModelTier::parse(&number.to_string()),
            Value::String(text) => ModelTier::parse(text),
            _ => None,
        }
    }

    /// The next more capable one.
    pub fn above(self) -> Option<ModelTier> {
        match self {
            ModelTier::Pro => None,
            ModelTier::Flash => Some(ModelTier::Pro),
            ModelTier::Lite => Some(ModelTier::Flash),
        }
    }
}

impl fmt::Display for ModelTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.number(), self.name())
    }
}

impl Serialize for ModelTier {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.number())
    }
}

impl<'de> Deserialize<'de> for ModelTier {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ModelTier, D::Error> {
        let value = Value::deserialize(deserializer)?;
        ModelTier::from_value(&value).ok_or_else(|| {
            D::Error::custom(format!("tier is {value}, not 1 (pro), 2 (flash) or 3 (lite)"))
        })
    }
}
