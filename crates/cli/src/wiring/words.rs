//! How people write memories, times, ratios and kinds, and how records are shown: the words of the service, so that
//! every interface has the same.

use recall::embedding::{Embedder as _, StaticEmbedder};

pub(crate) use kernel::context::RuleAuthors;
pub(crate) use kernel::uri::Uri;
pub(crate) use recall::analyze::ANALYZER_VERSION;
pub(crate) use service::auditor::checkpoint::check_note;
pub(crate) use service::fields::to_json as fields_view;
pub(crate) use service::grant_file::write_secret;
pub(crate) use service::normalized_save::normal_kind;
pub(crate) use service::parse::{MemoryRef, from_ppm, ratio};
pub(crate) use service::views::{edge_view, pinned};

/// The name of the model of meaning that every build has.
pub(crate) fn built_in_model() -> String {
    StaticEmbedder::shared().model().to_owned()
}
