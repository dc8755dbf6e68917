//! What `--json` prints where no operation has a shape for it.

use api::proof::RootRequest;
use serde::Serialize;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;

/// The answer of an operation that changed something, with the root that followed.
#[derive(Debug, Serialize)]
pub struct WithRoot<'a, T> {
    #[serde(flatten)]
    answer: &'a T,
    root: String,
}

impl<'a, T> WithRoot<'a, T> {
    pub fn of(inv: &Invocation, answer: &'a T) -> CommandResult<WithRoot<'a, T>> {
        Ok(WithRoot { answer, root: inv.ask(RootRequest {})?.root })
    }
}

/// The answer of a change: with the root that followed if it is JSON, else the lines that a rendering made of it.
pub fn changed<A: Serialize>(
    answer: &A,
    inv: &Invocation,
    out: &mut Output,
    render: impl FnOnce(&A) -> String,
) -> CommandResult {
    if out.is_json() { out.object(&WithRoot::of(inv, answer)?) } else { out.text(render(answer)) }
}
