//! Words: from texts to terms, and the inverted index that lies inside an actor's own store.
//!
//! [`analyze`] folds, splits and stems the words of a text, in the language it is read in, and makes clauses of a
//! question; [`written_date`] reads dates and who speaks at the head of a text, [`entities`] the files, packages and
//! symbols that it names. [`index`] keeps which memory has which terms, in rows that change in the commit that changes
//! the memory, and scores them in integers. `recall` puts both together with vectors and what is named; `past` uses the
//! same words for what agents wrote down.
//!
//! What must stay true: the same text gives the same terms on every machine, and the same changes give the same rows.

pub mod analyze;
pub mod bytes;
pub mod entities;
pub mod index;
pub mod written_date;
