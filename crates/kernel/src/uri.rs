//! `cortex://<actor>/<Type>/<id>#<version>`: the only way to write down a memory.
//!
//! The version is always there and always a number. A floating reference would let the same text mean different things
//! later, so `#latest` is refused at parse like every other malformed version.

use std::fmt;
use std::str::FromStr;

use proof::actor::ActorName;
use proof::memory::{MemoryId, MemoryType};

use crate::error::{Error, Result};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Uri {
    pub actor: ActorName,
    pub memory_type: MemoryType,
    pub id: MemoryId,
    pub version: u32,
}

const SCHEME: &str = "cortex://";

impl FromStr for Uri {
    type Err = Error;

    fn from_str(text: &str) -> Result<Uri> {
        // A URI far longer than any legal one is cut in the message, which is for people.
        let shown: String = text.chars().take(160).collect();
        let bad = |reason: &'static str| Error::BadUri { uri: shown.clone(), reason };
        let rest = text.strip_prefix(SCHEME).ok_or_else(|| bad("must start with cortex://"))?;
        let (path, version) = rest.split_once('#').ok_or_else(|| bad("the version is missing"))?;
        let mut parts = path.split('/');
        let (Some(actor), Some(type_name), Some(id), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(bad("expected actor/Type/id"));
        };
        if version == "latest" {
            return Err(bad("#latest is not a version; name the version you mean"));
        }
        Ok(Uri {
            actor: ActorName::parse(actor).map_err(|_| bad("bad actor name"))?,
            memory_type: MemoryType::from_name(type_name).ok_or_else(|| bad("unknown type"))?,
            id: decimal(id).and_then(MemoryId::new).ok_or_else(|| bad("bad id"))?,
            version: decimal(version)
                .and_then(|n| u32::try_from(n).ok())
                .ok_or_else(|| bad("the version must be a positive decimal number"))?,
        })
    }
}

/// A positive decimal number in its only spelling: no sign, no leading zero, nothing behind it.
fn decimal(text: &str) -> Option<u64> {
    let canonical = !text.is_empty()
        && text.len() <= 20
        && text.bytes().all(|b| b.is_ascii_digit())
        && !text.starts_with('0');
    canonical.then(|| text.parse().ok()).flatten()
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}/{}#{}", self.actor, self.memory_type.name(), self.id, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_uri_reads_back_as_itself(code in 1u8..=9, id in 1u64.., version in 1u32..) {
            let uri = Uri {
                actor: ActorName::parse("ada").unwrap(),
                memory_type: MemoryType::from_code(code).unwrap(),
                id: MemoryId::new(id).unwrap(),
                version,
            };
            prop_assert_eq!(uri.to_string().parse::<Uri>().unwrap(), uri);
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in ".{0,200}") {
            // Whether the text is a URI does not matter here, only that the parser answers.
            let _ = text.parse::<Uri>();
        }
    }

    // kernel 68, kernel 10
    #[test]
    fn malformed_uris_are_refused() {
        for bad in [
            "cortex://ada/Fact/1#latest",
            "cortex://ada/Fact/1",
            "cortex://ada/Fact/1#",
            "cortex://ada/Fact/1#0",
            "cortex://ada/Fact/1#-1",
            "cortex://ada/Fact/1#+1",
            "cortex://ada/Fact/1#01",
            "cortex://ada/Fact/1#1x",
            "cortex://ada/Fact/1#1 ",
            "cortex://ada/Fact/1#1#1",
            "cortex://ada/Fact/1#0x1",
            "cortex://ada/Fact/1#4294967296",
            "cortex://ada/Fact/0#1",
            "cortex://ada/Fact/18446744073709551616#1",
            "cortex://ada/Belief/1#1",
            "cortex://ada/fact/1#1",
            "cortex://../Fact/1#1",
            "cortex://ada/x/Fact/1#1",
            "http://ada/Fact/1#1",
            "",
        ] {
            let error = bad.parse::<Uri>().unwrap_err();
            assert_eq!(error.code(), "bad_uri", "{bad}");
        }
    }
}
