//! Who shows a token of a grant is a delegate: every operation is signed with the key that the token stands for, which
//! never leaves this machine, and judged by the grants in the journal, as it is on the command line.

use std::sync::Arc;

use proof::actor::ActorName;

use api::author::Author;
use service::{Caller, Delegate};

/// The delegate as one who asks: under its own name, for the memory its grant is about.
pub(super) fn caller(delegate: &Arc<Delegate>) -> service::Result<Caller> {
    let mut caller = Caller::new(ActorName::parse(delegate.actor())?, delegate.name());
    caller.delegate = Some(Arc::clone(delegate));
    caller.author = Author::Agent;
    Ok(caller)
}
