//! Where the command line meets everything behind it: the only modules, beside `invocation`, `failure`, `process` and
//! the list of commands, that know whether an answer comes from this process or from elsewhere.
//!
//! Commands see [`api`], their [`crate::invocation::Invocation`] and what is here. What must stay true: nothing here
//! decides or prints; it hands a request to whoever answers it.

pub mod evaluation;
pub mod grants;
pub mod ledger;
pub mod streams;
pub mod words;
