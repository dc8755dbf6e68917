//! Where the command line meets everything behind it: the only modules, beside `invocation`, `failure`, `process` and
//! the list of commands, that know whether an answer comes from this process or from elsewhere.
//!
//! Commands see [`api`], their [`crate::invocation::Invocation`] and what is here. What must stay true: nothing here
//! decides or prints; it hands a request to whoever answers it.

pub(crate) mod evaluation;
pub(crate) mod grants;
pub(crate) mod ledger;
pub(crate) mod streams;
pub(crate) mod words;
