//! How people write memories, times, ratios and kinds, and how records are shown: the words of the service, so that
//! every interface has the same.

use recall::embedding::{Embedder as _, StaticEmbedder};

pub use kernel::context::RuleAuthors;
pub use kernel::uri::Uri;
pub use service::auditor::checkpoint::check_note;
pub use service::grant_file::write_secret;
pub use service::normalized_save::normal_kind;
pub use service::parse::{MemoryRef, from_ppm, ratio};
pub use service::views::{edge_view, memory as memory_view};
pub use text::analyze::ANALYZER_VERSION;

/// The name of the model of meaning that every build has.
pub fn built_in_model() -> String {
    StaticEmbedder::shared().model().to_owned()
}
