//! What happens to a text before it becomes a memory.
//!
//! - [`redactor`]: private blocks out, secrets masked (both by the crate `redact`), a report that holds no values.
//! - [`project`]: which project a request belongs to; names, aliases, similar names.
//! - [`topic`]: topic keys, normal and suggested; [`title`]: a title from the content.
//! - [`words`]: the caller's word for what a memory is.
//! - [`cleaner`]: characters that cannot be kept, titles of many lines.
//! - [`dedup`]: when two saves are the same save; [`bounds`]: what is too long.
//! - [`capture`]: learnings in an agent's output.
//!
//! The order of a save: `Redactor::text` on every text, `IntakeCleaner`, `bounds`, `topic::normalize`,
//! `dedup::fingerprint`. Must stay true: pure functions; the file system comes in as a
//! [`project::file_system::Tree`], time as an argument; nothing is cut in silence.

pub mod bounds;
pub mod capture;
pub mod cleaner;
pub mod dedup;
pub mod project;
pub mod redactor;
pub mod title;
pub mod topic;
pub mod words;
