//! Digests that become names and marks: short, in hexadecimal, of a list of texts.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// A digest over texts in their order; the length of each counts, so that no two lists are the same by accident.
#[derive(Clone, Debug, Default)]
pub struct TextDigest(Sha256);

impl TextDigest {
    pub fn add(&mut self, text: &str) {
        self.0.update((text.len() as u64).to_be_bytes());
        self.0.update(text);
    }

    /// The first bytes of it, in hexadecimal.
    pub fn hex(self, bytes: usize) -> String {
        let mut out = String::new();
        for byte in self.0.finalize().iter().take(bytes) {
            // Writing into a String cannot fail.
            let _ = write!(out, "{byte:02x}");
        }
        out
    }
}
