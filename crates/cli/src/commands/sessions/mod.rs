//! The frame of work: sessions, prompts, projects, and looking back along time.

pub(crate) mod browse;
pub(crate) mod session;
