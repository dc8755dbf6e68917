//! What a talent is told of the memory before it asks: the mind's bulletin, as far as the run may know it.

use api::bulletin::BulletinRequest;
use api::bundle::BundleRequest;
use talents::Facet;

use crate::talents_host::toolbox::{ABOUT, MemoryTools};

impl MemoryTools {
    /// What matters now, as the mind published it, each line marked as a quotation. A run for a facet gets the lines
    /// that come from memories it may know of.
    pub(super) async fn published(&self, facet: Option<&Facet>) -> Option<String> {
        let request = BulletinRequest {
            project: facet.map(ToString::to_string),
            ..BulletinRequest::default()
        };
        // A run without a bulletin is still a run; the tools will say what is wrong with the memory.
        let bulletin = self.memory.ask("talent", request).await.ok()?.bulletin?;
        let lines =
            bulletin.text.lines().skip(2).map(str::trim_end).filter(|line| !line.is_empty());
        let quoted: Vec<String> = lines.map(|line| format!("> {line}")).collect();
        (!quoted.is_empty()).then(|| format!("({ABOUT})\n{}", quoted.join("\n")))
    }

    /// What an intent should know before it starts.
    pub(super) async fn bundled(
        &self,
        facet: Option<&Facet>,
        about: Option<&str>,
    ) -> Option<String> {
        let request = BundleRequest {
            project: facet.map(ToString::to_string),
            about: about.map(str::to_owned),
            ..BundleRequest::default()
        };
        // The run says that it cannot start without it; why is told by the first tool of the memory it tries.
        Some(self.memory.ask("talent", request).await.ok()?.text)
    }
}
