//! Where a record comes from, and the keys by which the store remembers that it arrived.
//!
//! The kernel keeps one row per idempotency key for as long as the store lives. `import/<origin>` stands for the first
//! version of a memory; longer keys stand for what was done to it later. A key is at most 128 bytes, so a long origin
//! is shortened to a digest in keys, while the memory's provenance keeps it in full.

use kernel::Digest;
use kernel::digest::encode_hex;

/// Bytes of an origin that are used in keys as they are.
const PLAIN_BYTES_MAX: usize = 80;
/// Bytes of a digest that tell two things of one memory apart.
const SHORT_BYTES: usize = 8;
const PREFIX: &str = "import/";

/// `system:id`.
pub(super) fn origin(system: &str, id: &str) -> String {
    format!("{system}:{id}")
}

/// The key of the first version, and of a prompt.
pub(super) fn key(origin: &str) -> String {
    let plain = origin.len() <= PLAIN_BYTES_MAX && !origin.chars().any(char::is_control);
    if plain {
        return format!("{PREFIX}{origin}");
    }
    let system = origin.split(':').next().unwrap_or_default();
    let system: String = system.chars().filter(|c| !c.is_control()).take(16).collect();
    format!("{PREFIX}{system}:~{}", short(origin.as_bytes(), 16))
}

/// The key of a later version.
pub(super) fn version_key(origin: &str, version: &str) -> String {
    format!("{}#{version}", key(origin))
}

/// The key of a change to the head: one for each state that the origin had.
pub(super) fn head_key(origin: &str, head: &[u8]) -> String {
    format!("{}/head:{}", key(origin), short(head, SHORT_BYTES))
}

pub(super) fn forgotten_key(origin: &str) -> String {
    format!("{}/forgotten", key(origin))
}

pub(super) fn edge_key(from: &str, relation: &str, to: &str, weight: u32) -> String {
    let text = format!("{from}\n{relation}\n{to}\n{weight}");
    format!("{PREFIX}edge:{}", short(text.as_bytes(), 16))
}

/// The origin that the key of a first version stands for. A shortened one makes the same key again.
pub(super) fn of_key(key: &str) -> Option<&str> {
    key.strip_prefix(PREFIX)
}

/// Enough of a digest to tell texts apart.
pub(super) fn short(bytes: &[u8], length: usize) -> String {
    let digest = Digest::of("cortex/import/1", &[bytes]);
    encode_hex(&digest.as_bytes()[..length])
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::limits::NAME_BYTES_MAX;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_origin_makes_legal_keys_of_its_own(id in ".{0,300}", other in ".{0,300}") {
            let (one, two) = (origin("engram", &id), origin("engram", &other));
            for key in [key(&one), head_key(&one, b"x"), forgotten_key(&one), version_key(&one, "4294967295")] {
                prop_assert!(key.len() <= NAME_BYTES_MAX, "{key}");
                prop_assert!(!key.chars().any(char::is_control));
            }
            prop_assert_eq!(one == two, key(&one) == key(&two));
        }
    }

    #[test]
    fn a_key_gives_its_origin_back() {
        assert_eq!(of_key(&key("engram:obs-1")), Some("engram:obs-1"));
        let long = key(&origin("vault", &"x".repeat(500)));
        assert_eq!(key(of_key(&long).unwrap()), long);
        assert_eq!(of_key("something else"), None);
    }
}
