//! What `--json` prints where no operation has a shape for it.

use api::proof::RootRequest;
use serde::Serialize;

use crate::failure::CommandResult;
use crate::invocation::Invocation;

/// The answer of an operation that changed something, with the root that followed.
#[derive(Debug, Serialize)]
pub(crate) struct WithRoot<'a, T> {
    #[serde(flatten)]
    answer: &'a T,
    root: String,
}

impl<'a, T> WithRoot<'a, T> {
    pub(crate) fn of(inv: &Invocation, answer: &'a T) -> CommandResult<WithRoot<'a, T>> {
        Ok(WithRoot { answer, root: inv.ask(RootRequest {})?.root })
    }
}
