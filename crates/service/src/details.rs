//! Where a memory comes from, as saves and updates say it.

use api::author::Author;
use kernel::memory::{PinnedVersion, Provenance, Source};

use crate::error::{Error, Result};
use crate::parse;

/// What a request says about where a memory comes from.
pub(crate) struct ProvenanceRequest<'a> {
    /// Through whose door it comes.
    pub(crate) author: Author,
    pub(crate) source: Option<&'a str>,
    pub(crate) derived_from: &'a [String],
    pub(crate) model: Option<&'a String>,
    pub(crate) origin: Option<&'a String>,
}

impl ProvenanceRequest<'_> {
    /// What follows from other memories is derived, and what an agent writes is observed, unless somebody says
    /// otherwise. That a person said it is for persons to say.
    pub(crate) fn provenance(&self) -> Result<Provenance> {
        let mut provenance = Provenance::user();
        provenance.derived_from =
            self.derived_from.iter().map(|text| pinned(text)).collect::<Result<_>>()?;
        if let Some(source) = self.source {
            provenance.source = Source::parse(source)?;
        } else if !self.derived_from.is_empty() {
            provenance.source = Source::Derived;
        }
        if provenance.source == Source::User && !self.author.is_person() {
            provenance.source = match self.author {
                Author::Web | Author::Import => Source::Imported,
                Author::Agent | Author::Person => Source::Observed,
            };
        }
        provenance.model = self.model.cloned();
        provenance.origin = self.origin.cloned();
        Ok(provenance)
    }
}

/// `12#3`: a memory with its version, which must be there.
fn pinned(text: &str) -> Result<PinnedVersion> {
    let memory: parse::MemoryRef = text.parse().map_err(Error::from)?;
    let missing = || kernel::Error::invalid("derived_from", "name the version too, like 12#3");
    Ok(memory.pinned(|| Err(missing()))?)
}
