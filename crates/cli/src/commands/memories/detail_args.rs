//! Options that `save` and `update` share: what is kept in a memory's head, and what is kept with a version.

use clap::Args;
use proof::memory::{Scope, Visibility};

use crate::failure::CommandResult;
use crate::wiring::words::{self, from_ppm, normal_kind};

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
    /// Operations forgive what agents write; at a terminal a word that is none is a typing error.
    pub(crate) fn check(&self) -> CommandResult {
        self.scope.as_deref().map(Scope::parse).transpose()?;
        self.visibility.as_deref().map(Visibility::parse).transpose()?;
        if self.kind.as_deref().is_some_and(|kind| normal_kind(kind) != kind) {
            return Err(api::Error::invalid("kind", "use a-z, 0-9, _ and - only").into());
        }
        Ok(())
    }

    pub(crate) fn tags(&self) -> Vec<String> {
        let tags = self.tags.iter().map(|tag| tag.trim()).filter(|tag| !tag.is_empty());
        tags.map(Into::into).collect()
    }

    /// The tags, if there were any; `--tag ""` alone clears them all.
    pub(crate) fn given_tags(&self) -> Option<Vec<String>> {
        (!self.tags.is_empty()).then(|| self.tags())
    }
}

#[derive(Args, Debug, Clone, Default)]
pub(crate) struct VersionFieldArgs {
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

/// A ratio as it was typed, for a request.
pub(crate) fn ratio(field: &'static str, text: Option<&String>) -> CommandResult<Option<f64>> {
    Ok(text.map(|text| words::ratio(field, text)).transpose()?.map(from_ppm))
}

/// A request of this type with what both groups of options say, and nothing else.
macro_rules! details {
    ($request:ident, $head:expr, $version:expr) => {{
        let (head, version) = (&$head, &$version);
        head.check()?;
        $request {
            kind: head.kind.clone(),
            project: head.project.clone(),
            scope: head.scope.clone(),
            visibility: head.visibility.clone(),
            topic_key: head.topic_key.clone(),
            session_id: head.session.clone(),
            channel: head.channel.clone(),
            importance: $crate::commands::memories::detail_args::ratio(
                "importance",
                head.importance.as_ref(),
            )?,
            confidence: $crate::commands::memories::detail_args::ratio(
                "confidence",
                version.confidence.as_ref(),
            )?,
            valid_from: version.valid_from.clone(),
            valid_until: version.valid_until.clone(),
            expires: version.expires.clone(),
            source: version.source.clone(),
            derived_from: version.derived_from.clone(),
            field_texts: version.fields.clone(),
            ..$request::default()
        }
    }};
}
