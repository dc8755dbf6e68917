//! Options that `save` and `update` share: what is kept in a memory's head, and what is kept with a version.

use clap::Args;
use kernel::Result;
use kernel::command::{Draft, Revision};
use kernel::journal::HeadPatch;
use kernel::memory::{Pinned, Provenance, Scope, Source, Visibility};

use super::parse::{self, MemoryRef};
use crate::ops::save::{SaveRequest, normal_kind};

#[derive(Args, Debug, Clone, Default)]
pub(crate) struct HeadArgs {
    /// Your word for what it is: bugfix, decision, todo, rule …
    #[arg(long, value_name = "WORD")]
    pub(crate) kind: Option<String>,
    /// Project it belongs to
    #[arg(long, value_name = "NAME")]
    pub(crate) project: Option<String>,
    /// project, or personal for what holds across projects
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    /// private, scoped or public: what grants may show
    #[arg(long, value_name = "WHO")]
    pub(crate) visibility: Option<String>,
    /// Tag; repeat or separate with commas
    #[arg(long = "tag", value_name = "TAG", value_delimiter = ',')]
    pub(crate) tags: Vec<String>,
    /// Key of the topic it is the current word on
    #[arg(long, value_name = "KEY")]
    pub(crate) topic_key: Option<String>,
    /// Session it was made in
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Channel it came from
    #[arg(long, value_name = "NAME")]
    pub(crate) channel: Option<String>,
    /// From 0 to 1 [default: the type's own]
    #[arg(long, value_name = "RATIO")]
    pub(crate) importance: Option<String>,
}

impl HeadArgs {
    /// What is given here, as changes to a head.
    pub(crate) fn patch(&self) -> Result<HeadPatch> {
        Ok(HeadPatch {
            kind: self.kind.clone(),
            project: self.project.clone(),
            scope: self.scope.as_deref().map(Scope::parse).transpose()?,
            visibility: self.visibility.as_deref().map(Visibility::parse).transpose()?,
            tags: (!self.tags.is_empty()).then(|| self.tags()),
            topic_key: self.topic_key.clone(),
            session: self.session.clone(),
            channel: self.channel.clone(),
            importance: self.importance()?,
            ..HeadPatch::default()
        })
    }

    /// What is given here, as part of a save.
    pub(crate) fn request(&self, save: SaveRequest) -> Result<SaveRequest> {
        // Wrong words are refused here, where their names are the flags'.
        self.patch()?;
        if self.kind.as_deref().is_some_and(|kind| normal_kind(kind) != kind) {
            return Err(kernel::Error::invalid("kind", "use a-z, 0-9, _ and - only"));
        }
        Ok(SaveRequest {
            kind: self.kind.clone(),
            project: self.project.clone(),
            scope: self.scope.clone(),
            visibility: self.visibility.clone(),
            tags: self.tags(),
            topic_key: self.topic_key.clone(),
            session_id: self.session.clone(),
            channel: self.channel.clone(),
            importance: self.importance()?.map(parse::from_ppm),
            ..save
        })
    }

    pub(crate) fn fill(&self, draft: &mut Draft) -> Result<()> {
        let patch = self.patch()?;
        draft.kind = patch.kind;
        draft.project = patch.project;
        draft.scope = patch.scope.unwrap_or(draft.scope);
        draft.visibility = patch.visibility.unwrap_or(draft.visibility);
        draft.tags = patch.tags.unwrap_or_default();
        draft.topic_key = patch.topic_key;
        draft.session = patch.session;
        draft.channel = patch.channel;
        draft.importance = patch.importance;
        Ok(())
    }

    /// `--tag ""` alone clears all tags.
    fn tags(&self) -> Vec<String> {
        self.tags
            .iter()
            .map(|tag| tag.trim())
            .filter(|tag| !tag.is_empty())
            .map(Into::into)
            .collect()
    }

    fn importance(&self) -> Result<Option<u32>> {
        self.importance.as_deref().map(|text| parse::ratio("importance", text)).transpose()
    }
}

#[derive(Args, Debug, Clone, Default)]
pub(crate) struct VersionArgs {
    /// Field of the type; repeat a name to make a list. A wrong name is answered with the right ones
    #[arg(long = "field", value_name = "NAME=VALUE")]
    pub(crate) fields: Vec<String>,
    /// How sure you are, from 0 to 1 [default: 1]
    #[arg(long, value_name = "RATIO")]
    pub(crate) confidence: Option<String>,
    /// When it became true (2026-01-31 or RFC 3339)
    #[arg(long, value_name = "TIME")]
    pub(crate) valid_from: Option<String>,
    /// When it stops being true
    #[arg(long, value_name = "TIME")]
    pub(crate) valid_until: Option<String>,
    /// When it is to be put away, true or not
    #[arg(long, value_name = "TIME")]
    pub(crate) expires: Option<String>,
    /// Where it comes from: user, derived, observed or imported [default: user]
    #[arg(long, value_name = "SOURCE")]
    pub(crate) source: Option<String>,
    /// Memory it was derived from; repeat for more
    #[arg(long, value_name = "ID#VERSION")]
    pub(crate) derived_from: Vec<String>,
}

impl VersionArgs {
    /// True if something is given that makes a new version.
    pub(crate) fn is_given(&self) -> bool {
        let times = [&self.confidence, &self.valid_from, &self.valid_until, &self.expires];
        !self.fields.is_empty()
            || !self.derived_from.is_empty()
            || self.source.is_some()
            || times.iter().any(|text| text.is_some())
    }

    pub(crate) fn fill(&self, draft: &mut Draft) -> Result<()> {
        let time = |text: &Option<String>| text.as_deref().map(parse::time).transpose();
        draft.provenance = self.provenance()?;
        if let Some(confidence) = &self.confidence {
            draft.confidence = parse::ratio("confidence", confidence)?;
        }
        draft.valid_from = time(&self.valid_from)?;
        draft.valid_until = time(&self.valid_until)?;
        draft.expires = time(&self.expires)?;
        Ok(())
    }

    /// What is given here, as part of a save.
    pub(crate) fn request(&self, save: SaveRequest) -> Result<SaveRequest> {
        self.provenance()?;
        let confidence = self.confidence.as_deref();
        let confidence = confidence.map(|text| parse::ratio("confidence", text)).transpose()?;
        Ok(SaveRequest {
            confidence: confidence.map(parse::from_ppm),
            valid_from: self.valid_from.clone(),
            valid_until: self.valid_until.clone(),
            expires: self.expires.clone(),
            source: self.source.clone(),
            derived_from: self.derived_from.clone(),
            field_texts: self.fields.clone(),
            ..save
        })
    }

    /// Replaces what is given here; the rest stays as the revision has it.
    pub(crate) fn revise(&self, revision: &mut Revision) -> Result<()> {
        revision.provenance = self.provenance()?;
        if let Some(confidence) = &self.confidence {
            revision.confidence = parse::ratio("confidence", confidence)?;
        }
        let times = [
            (&self.valid_from, &mut revision.valid_from),
            (&self.valid_until, &mut revision.valid_until),
            (&self.expires, &mut revision.expires),
        ];
        for (text, place) in times {
            match text.as_deref() {
                None => {}
                Some("") => *place = None,
                Some(text) => *place = Some(parse::time(text)?),
            }
        }
        Ok(())
    }

    fn provenance(&self) -> Result<Provenance> {
        let mut provenance = Provenance::user();
        if let Some(source) = &self.source {
            provenance.source = Source::parse(source)?;
        } else if !self.derived_from.is_empty() {
            provenance.source = Source::Derived;
        }
        provenance.derived_from =
            self.derived_from.iter().map(|text| pinned(text)).collect::<Result<_>>()?;
        Ok(provenance)
    }
}

/// A memory with its version, which must be there.
pub(crate) fn pinned(text: &str) -> Result<Pinned> {
    text.parse::<MemoryRef>()?
        .pinned(|| Err(kernel::Error::invalid("derived_from", "name the version too, like 12#3")))
}
