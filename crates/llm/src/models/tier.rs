//! How capable a model is to be: 1 pro, 2 flash, 3 lite.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Tier {
    Pro,
    #[default]
    Flash,
    Lite,
}

impl Tier {
    pub fn number(self) -> u8 {
        match self {
            Tier::Pro => 1,
            Tier::Flash => 2,
            Tier::Lite => 3,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Tier::Pro => "pro",
            Tier::Flash => "flash",
            Tier::Lite => "lite",
        }
    }

    pub fn parse(text: &str) -> Option<Tier> {
        match text {
            "1" | "pro" => Some(Tier::Pro),
            "2" | "flash" => Some(Tier::Flash),
            "3" | "lite" => Some(Tier::Lite),
            _ => None,
        }
    }

    /// A tier as a number or as a word.
    pub fn from_value(value: &Value) -> Option<Tier> {
        match value {
            Value::Number(number) => Tier::parse(&number.to_string()),
            Value::String(text) => Tier::parse(text),
            _ => None,
        }
    }

    /// The next more capable one.
    pub fn above(self) -> Option<Tier> {
        match self {
            Tier::Pro => None,
            Tier::Flash => Some(Tier::Pro),
            Tier::Lite => Some(Tier::Flash),
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.number(), self.name())
    }
}

impl Serialize for Tier {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.number())
    }
}

impl<'de> Deserialize<'de> for Tier {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tier, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Tier::from_value(&value).ok_or_else(|| {
            D::Error::custom(format!("tier is {value}, not 1 (pro), 2 (flash) or 3 (lite)"))
        })
    }
}
