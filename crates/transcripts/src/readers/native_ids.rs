//! Ids for records that have none: what was said, by whom, for which time in its session.
//!
//! What must stay true: two stores of one session give the same thing the same id, whatever order they are read in; the
//! same words twice are two things.

use std::collections::HashMap;

use crate::digests;

#[derive(Debug, Default)]
pub(super) struct NativeIds {
    session: String,
    met: HashMap<u64, u32>,
}

impl NativeIds {
    pub(super) fn new(session: &str) -> NativeIds {
        NativeIds { session: session.to_owned(), met: HashMap::new() }
    }

    pub(super) fn of(&mut self, role: &str, text: &str) -> String {
        let parts = [role.as_bytes(), self.session.as_bytes(), text.trim().as_bytes()];
        let digest = digests::short(&digests::of(&parts));
        let time = self.met.entry(digest).or_default();
        *time += 1;
        format!("{digest:016x}.{time}")
    }
}
