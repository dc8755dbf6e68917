//! Where tools get their answers: whoever answers calls, asked on a thread that may block.

use std::sync::Arc;

use api::{Error, Handle, Operation, Result};

/// Answers the calls of one agent.
#[derive(Clone, Debug)]
pub struct Backend(pub Arc<dyn Handle>);

impl Backend {
    /// Whose memory it is.
    pub(super) fn actor(&self) -> &str {
        self.0.actor()
    }

    /// Runs an operation on a thread that may block.
    pub(crate) async fn ask<R: Operation>(&self, request: R) -> Result<R::Answer> {
        let handle = Arc::clone(&self.0);
        let work = tokio::task::spawn_blocking(move || api::ask(&*handle, request)).await;
        work.unwrap_or_else(|error| Err(Error::internal(error.to_string())))
    }
}
