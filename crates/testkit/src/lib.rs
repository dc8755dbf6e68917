//! Test support: a simulated disk that can lose power, and short ways to make drafts and stamps.

pub mod build;
pub mod disk;
pub mod history;

pub use disk::{Disk, PowerCut};
