//! What is taken out of a text before anybody stores it: [`private`] blocks, and [`secrets`].
//!
//! One table of secrets for memories (`service`) and for the past (`past`). What must stay true: pure functions, linear
//! in the text; every doubt hides more, never less; doing it twice changes nothing; counts hold kinds, never values.

pub mod private;
pub mod secrets;
