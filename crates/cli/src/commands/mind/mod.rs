//! What goes on by itself: jobs and their budget, bulletins, salience, outcomes and compaction.

pub(crate) mod admin;
pub(crate) mod attest;
pub(crate) mod bulletin;
pub(crate) mod compact;
pub(crate) mod jobs;
pub(crate) mod page;
pub(crate) mod salience;
