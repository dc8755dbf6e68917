//! What a save and an update can both say about a memory, besides its words.

use kernel::memory::{PinnedVersion, Provenance, Source};

use super::error::{Error, Result};
use super::parse;

/// A request with fields of its own, and those that saves and updates share. They stand side by side on the wire, and
/// unknown ones are refused, which flattened structs cannot do.
macro_rules! with_details {
    ($(#[$meta:meta])* pub struct $name:ident { $($own:tt)* }) => {
        $(#[$meta])*
        pub struct $name {
            $($own)*
            /// The caller's own word: decision, bugfix, pattern …
            #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
            pub kind: Option<String>,
            /// An update clears it with an empty text.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub project: Option<String>,
            /// `personal`; everything else is `project`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub scope: Option<String>,
            /// An update clears it with an empty text.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub topic_key: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            pub session_id: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            pub channel: Option<String>,
            /// private, scoped or public: what grants may show.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub visibility: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            pub importance: Option<f64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            pub confidence: Option<f64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            pub valid_from: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            pub valid_until: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            pub expires: Option<String>,
            /// user, derived, observed or imported.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub source: Option<String>,
            /// The model that wrote it, if one did.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub model: Option<String>,
            /// Its name where it was imported from.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub origin: Option<String>,
            /// `12#3`: memories it follows from.
            pub derived_from: Vec<String>,
            /// Fields of its type.
            pub fields: serde_json::Map<String, serde_json::Value>,
            /// The same as `name=value`, as people type them.
            pub field_texts: Vec<String>,
        }

        impl $name {
            /// Where it comes from.
            pub(super) fn provenance(&self) -> crate::ops::error::Result<kernel::memory::Provenance> {
                let mut made = crate::ops::details::provenance(
                    self.source.as_deref(),
                    &self.derived_from,
                )?;
                made.model.clone_from(&self.model);
                made.origin.clone_from(&self.origin);
                Ok(made)
            }
        }
    };
}
pub(super) use with_details;

/// What follows from other memories is derived, unless somebody says otherwise.
pub(super) fn provenance(source: Option<&str>, derived_from: &[String]) -> Result<Provenance> {
    let mut provenance = Provenance::user();
    provenance.derived_from =
        derived_from.iter().map(|text| pinned(text)).collect::<Result<_>>()?;
    if let Some(source) = source {
        provenance.source = Source::parse(source)?;
    } else if !derived_from.is_empty() {
        provenance.source = Source::Derived;
    }
    Ok(provenance)
}

/// `12#3`: a memory with its version, which must be there.
fn pinned(text: &str) -> Result<PinnedVersion> {
    let memory: parse::MemoryRef = text.parse().map_err(Error::from)?;
    let missing = || kernel::Error::invalid("derived_from", "name the version too, like 12#3");
    Ok(memory.pinned(|| Err(missing()))?)
}
