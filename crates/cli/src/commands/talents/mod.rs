//! What acts: talents, thinking, facets, the chronicle, the bus and conversations.

pub(crate) mod bus;
pub(crate) mod chat;
pub(crate) mod chronicle;
pub(crate) mod facet;
pub(crate) mod talent;
pub(crate) mod think;
