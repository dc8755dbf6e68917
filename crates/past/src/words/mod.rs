//! The words of the past: an index over segments that can be made again from segments alone.
//!
//! `builder` counts the words of turns with the analyzer and the integer scores of `recall`; `part` is a file of the
//! index and never changes; `merge` joins parts and leaves out what is gone; `table` says which document belongs to
//! which turn; `query` ranks turns by their words, `sketches` finds those of a like meaning.
//!
//! What must stay true: a document is what one segment holds of one turn, so the documents that count follow from the
//! segments that count, and an index that was made anew answers the same. There are no floats. Filters apply before
//! anything is counted, so what is not shown changes no score.

mod builder;
mod merge;
mod part;
mod query;
mod sketches;
mod table;
mod varint;

pub(crate) use builder::WordsBuilder;
pub(crate) use merge::{due, merged};
pub(crate) use part::{Part, SegmentName, name_of};
pub(crate) use query::{WordRanking, WordsQuestion, rank};
pub(crate) use sketches::{Nearness, near};
pub(crate) use table::{TableTurn, TurnFilter, TurnTable};

pub(crate) const FOLDER: &str = "index";
