//! Where operations meet the chosen embedder: questions get their vector of it, and memories theirs in the background.

use std::sync::Arc;

use api::{ErrorCode, Fault};
use kernel::memory::Millis;
use recall::search::SearchQuery;

use crate::embedders::EmbedError;
use crate::embedders::active::{ActiveEmbedder, OpenEmbedder, QuestionContext};
use crate::error::{Error, Result};
use crate::{Caller, Service};

impl Service {
    /// Gives the query its question in the chosen model, if one is chosen. What is returned says why that could not be:
    /// the search then goes on with the built-in model.
    pub(crate) fn ask_model(
        &self,
        caller: &Caller,
        query: &mut SearchQuery,
        context: QuestionContext<'_>,
    ) -> Option<String> {
        let folder = self.home.actor_folder(&caller.actor);
        self.embedders.as_ref().and_then(|embedders| embedders.ask(query, &folder, context))
    }

    /// The embedder that is chosen now; `None` for the built-in model.
    pub fn embedder(&self) -> std::result::Result<Option<Arc<OpenEmbedder>>, Arc<EmbedError>> {
        self.embedders.as_ref().map_or(Ok(None), ActiveEmbedder::ready)
    }

    pub fn embedders(&self) -> Option<&ActiveEmbedder> {
        self.embedders.as_ref()
    }

    /// Gives memories that are new or changed their vectors of the chosen model. Returns how many.
    pub fn embed_new(&self, now: Millis) -> Result<u64> {
        let failed = |error: &EmbedError| {
            Error::new(ErrorCode::named(error.code()), Fault::Server, error.to_string())
        };
        let Some(embedders) = &self.embedders else { return Ok(0) };
        let ready = embedders.ready();
        let news = embedders.background.is_news(ready.as_ref().err().map(|error| &**error));
        match ready {
            Ok(Some(ready)) => {
                embedders.background.run(&self.home, &ready, now).map_err(|error| failed(&error))
            }
            Err(error) if news => Err(failed(&error)),
            Ok(None) | Err(_) => Ok(0),
        }
    }

    /// Vectors that are being made in the background are the last ones.
    pub fn end_embedding(&self) {
        if let Some(embedders) = &self.embedders {
            embedders.background.end();
        }
    }
}
