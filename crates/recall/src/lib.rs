//! Recall: finds the right memory, at once, offline.
//!
//! - [`analyze`]: text into terms, questions into clauses.
//! - [`entities`]: files, packages, symbols and the like that a text names.
//! - [`embedding`]: text into vectors, with a model that is part of the program.
//! - [`models`]: vectors of optional models, made outside.
//! - [`vectors`]: codes of vectors and the scan over them.
//! - [`text`]: the inverted index inside the actor's store.
//! - [`document`]: what of a memory can be found; [`language`]: in which language it is read.
//! - `prepare`: all that a body alone decides, made before the commit; [`hook`]: keeps every row current in the commit that
//!   changes a memory.
//! - `passages`: a memory's vectors and tokens as rows; `doc_meta`: its session, its date, whether it is out of sight;
//!   `columns`: what of them is kept in memory for searches.
//! - [`search`]: questions answered; [`measure`]: how well; [`labelled`]: by which questions and answers.
//!
//! What must stay true: every row follows from the journal and the bodies; ranking is a function of (state, question, now).

pub mod analyze;
mod columns;
mod doc_meta;
pub mod document;
pub mod embedding;
pub mod entities;
pub mod error;
pub mod evaluation;
pub mod hook;
mod ids;
pub mod language;
mod model_codes;
pub mod models;
mod passages;
mod prepare;
pub mod search;
mod segments;
pub mod text;
pub mod vectors;
mod word_terms;

pub use hook::RecallHook;
