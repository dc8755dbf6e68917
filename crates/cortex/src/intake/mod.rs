//! What happens to a text before it becomes a memory.
//!
//! - [`screen`]: private blocks out ([`private`]), secrets masked ([`secrets`]), a report that holds no values.
//! - [`project`]: which project a request belongs to; names, aliases, similar names.
//! - [`topic`]: topic keys, normal and suggested; [`title`]: a title from the content.
//! - [`words`]: the caller's word for what a memory is.
//! - [`dedup`]: when two saves are the same save; [`bounds`]: what is too long.
//! - [`capture`]: learnings in an agent's output; [`summary`]: the parts of a session summary.
//!
//! The order of a save: `Screen::text` on every text, `bounds`, `topic::normalize`, `dedup::fingerprint`. Must stay true:
//! pure functions; the file system comes in as a [`project::tree::Tree`], time as an argument; nothing is cut in silence.

pub(crate) mod bounds;
pub(crate) mod capture;
pub(crate) mod dedup;
pub(crate) mod private;
pub(crate) mod project;
pub(crate) mod screen;
pub(crate) mod secrets;
pub(crate) mod summary;
pub(crate) mod title;
pub(crate) mod topic;
pub(crate) mod words;
