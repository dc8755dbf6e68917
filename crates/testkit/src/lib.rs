//! Test support: a simulated disk that can lose power, short ways to make drafts and stamps, odd questions, and
//! texts that are hostile.

pub mod build;
pub mod disk;
pub mod history;
pub mod hostile;
mod image;
pub mod ledger;
pub mod questions;

pub use disk::{Disk, DiskFault};
pub use image::PowerCut;
