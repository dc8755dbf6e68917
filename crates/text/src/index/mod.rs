//! The text index: an inverted index in the derived space of the actor's own store, changed inside the actor's own
//! commits.
//!
//! It owns the rows under `0x80..=0x86` (see `rows`). Its input are terms, made elsewhere; a document is the current
//! version of one memory, named by the memory's id.
//!
//! What must stay true:
//!
//! - Rows are a function of the sequence of changes alone, never of how they were grouped into commits: flushes and
//!   merges happen inside `put`, at counted changes. A rebuild therefore writes the same bytes.
//! - Scores are a function of the live documents alone: lengths are measured against frozen references, and the
//!   document frequency is the exact live one. Flush and merge points change neither scores nor order.
//! - Everything is integer arithmetic, and ties go to the smaller id.
//! - A search sees one commit: the memtable in memory is used only if it belongs to the commit that the view shows;
//!   otherwise the memtable is read from the view.
//! - After `erase` nothing finds the document. Words that only it had stay in rows until everything is made again.

mod block;
mod by_term;
mod lists;
mod matches;
mod memtable;
mod merge;
mod meta;
mod pending;
mod posting_rows;
mod rows;
mod score;
mod search;
mod term_ids;
#[cfg(test)]
mod tests;
mod text_index;
mod words;

pub use matches::{WordMatch, WordMatches};
pub use memtable::MemtableHandle;
pub use meta::{FLUSH_DOCS, IndexSettings};
pub use score::log2;
pub use score::{FIELDS, FieldWeight, FieldWeights, TextField, idf, impact};
pub use search::{DocFilter, DocScores, TextSearch};
pub use text_index::TextIndex;
pub use words::{TermCounter, TermCounts};
