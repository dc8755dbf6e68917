//! Operations that need more than the memory: the mind, conversations, the administrator, and erasing everywhere.

#![allow(
    clippy::needless_pass_by_value,
    reason = "all operations have one shape: a method that takes who asks and a request of its own"
)]

pub mod admin;
pub mod bulletin;
pub mod channel;
mod memories;
pub mod mind;
mod pages;
mod run_requests;
mod runs;
mod settings;
mod tellings;
mod tools;
