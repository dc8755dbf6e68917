//! Operations that need more than the memory: the mind, conversations, the administrator, and erasing everywhere.

pub mod admin;
pub mod bulletin;
pub mod channel;
mod memories;
pub mod mind;
