//! Recall: finds the right memory, at once and offline.
//!
//! What users of this crate call:
//!
//! - [`RecallHook`] keeps every row current in the commit that changes a memory.
//! - [`search`] answers questions; [`similar`](search::similar) finds memories near a given one.
//! - [`language`] says in which language an actor is read; the crate `text` turns texts into terms and questions into
//!   clauses.
//! - [`entity_rows`] lists the files, packages, symbols and the like that memories name; the crate `text` finds them.
//! - [`embedding`] turns text into vectors with a model that is part of the program; [`models`] takes vectors of
//!   optional models, which are made outside (crate `embed`).
//! - [`evaluation`] measures how well searches do on a labelled set.
//!
//! What a memory becomes, from its text to what a search reads:
//!
//! - [`document`]: the words of a memory by field; `prepare`: all that a body alone decides, made before the commit.
//! - The crate `text`: the inverted index inside the actor's store. [`vectors`]: codes of vectors, and the scan over
//!   them.
//! - `passages`: vectors and tokens of a memory as rows; `doc_meta`: its session, its date, whether it is hidden;
//!   `segments`: where these rows lie.
//! - `columns`: what of the rows is kept in memory for searches; `model_codes`: the codes of an optional model beside
//!   them.
//!
//! What must stay true: every row follows from the journal and the bodies; ranking is a function of state, question and
//! clock; nothing here asks a network or opens a file.

mod columns;
mod doc_meta;
pub mod document;
pub mod embedding;
pub mod entity_rows;
mod error;
pub mod evaluation;
mod hook;
mod ids;
pub mod language;
mod model_codes;
pub mod models;
mod passages;
mod prepare;
pub mod ranker;
pub mod search;
mod segments;
mod token_bytes;
pub mod vectors;
mod word_terms;

pub use hook::RecallHook;
