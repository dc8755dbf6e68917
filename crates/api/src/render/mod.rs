//! Answers as text: one rendering of each for people, one for models. Pure functions of the answer.
//!
//! - [`model`]: what a model reads. Ids in every line, no more words than it takes; it names tools.
//! - [`people`]: what a person reads on a terminal or in the admin chat; it names commands.
//! - [`untrusted`]: what every piece of memory text passes on its way into either of them.
//! - [`tokens`]: what a text costs a model.
//! - [`quotation`]: who wrote a memory, and how orders in it are marked as somebody's words.
//!
//! What must stay true: a text is made of an answer and nothing else; no text of a memory stands in a rendering that
//! did not pass `untrusted`.

pub mod model;
pub mod people;
pub mod quotation;
pub mod tokens;
pub mod untrusted;
