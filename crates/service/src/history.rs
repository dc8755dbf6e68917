//! All versions of one memory.

use api::history::{HistoryAnswer, HistoryRequest, HistoryVersion};
use api::read::GetRequest;
use kernel::memory::Millis;

use crate::Service;
use crate::caller::Caller;
use crate::error::Result;
use crate::parse::from_ppm;
use crate::read::memory_id;

impl Service {
    pub fn history(&self, caller: &Caller, request: HistoryRequest) -> Result<HistoryAnswer> {
        let id = memory_id(request.id)?;
        // Reading the current version first gives one answer to the question who may see this memory.
        let current = GetRequest {
            id: request.id,
            include_put_away: true,
            quiet: true,
            ..GetRequest::default()
        };
        self.get(caller, current)?;
        let cortex = self.opened(caller)?;
        let reading = cortex.read()?;
        let view = reading.view();
        let head = view.required_head(id)?;
        let time = |time: Option<Millis>| time.map(Millis::rfc3339);
        let mut versions = Vec::new();
        for version in view.versions(id)? {
            versions.push(HistoryVersion {
                version: version.n,
                uri: reading.uri(&head, version.n).to_string(),
                title: view.body(&version)?.map(|body| body.title),
                kind: head.kind.clone(),
                memory_type: head.memory_type.name().to_owned(),
                project: head.project.clone().unwrap_or_default(),
                created_at: version.created.rfc3339(),
                confidence: from_ppm(version.confidence),
                source: version.provenance.source.name().to_owned(),
                valid_from: time(version.valid_from),
                valid_until: time(version.valid_until),
                expires: time(version.expires),
                seq: version.seq,
                by: version.by,
            });
        }
        Ok(HistoryAnswer { versions })
    }
}
