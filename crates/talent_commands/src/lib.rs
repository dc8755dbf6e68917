//! The commands about what acts: talents, thinking, facets, the chronicle, the bus and conversations.
//!
//! They are processes of their own rather than questions about a home, so they name what they start. What must stay
//! true: what a talent may do is decided in `talents` and `runs`, not here.

pub mod bus;
pub mod chat;
pub mod chronicle;
pub mod facet;
pub mod talent;
pub mod think;
