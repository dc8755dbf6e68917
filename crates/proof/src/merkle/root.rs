//! The overall root: one digest over the journal and the current state.
//!
//! What must stay true: the actor and the journal's size are part of it, so that a root cannot be
//! shown for another actor or for another moment, and every part has a fixed width or a length
//! before it.

use minicbor::{Decode, Encode};

use crate::digest::Digest;

/// The rules by which the roots below it are made; a new kind of root needs a new number.
pub const SCHEMA: u32 = 1;
/// SHA-256 throughout.
pub const HASH_SUITE: u8 = 1;

/// The roots after `size` journal entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Roots {
    #[n(0)]
    pub size: u64,
    #[n(1)]
    pub journal: Digest,
    #[n(2)]
    pub heads: Digest,
    #[n(3)]
    pub edges: Digest,
}

impl Roots {
    /// The digest that commits to all of it.
    pub fn overall(&self, actor: &str) -> Digest {
        let actor_len = u8::try_from(actor.len()).expect("an actor's name has at most 64 bytes");
        Digest::of(
            "cortex/root/1",
            &[
                &SCHEMA.to_be_bytes(),
                &[HASH_SUITE, actor_len],
                actor.as_bytes(),
                &self.size.to_be_bytes(),
                &self.journal.0,
                &self.heads.0,
                &self.edges.0,
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec;

    fn roots() -> Roots {
        Roots { size: 7, journal: Digest([1; 32]), heads: Digest([2; 32]), edges: Digest([3; 32]) }
    }

    // kernel 56
    #[test]
    fn every_part_changes_the_overall_root() {
        let base = roots().overall("ada");
        assert_eq!(base, roots().overall("ada"));
        assert_ne!(base, roots().overall("adb"));
        let other = Digest([9; 32]);
        for changed in [
            Roots { size: 8, ..roots() },
            Roots { journal: other, ..roots() },
            Roots { heads: other, ..roots() },
            Roots { edges: other, ..roots() },
            Roots { heads: roots().edges, edges: roots().heads, ..roots() },
        ] {
            assert_ne!(base, changed.overall("ada"), "{changed:?}");
        }
    }

    // kernel 56
    #[test]
    fn the_preimage_is_what_the_format_says() {
        let mut bytes = vec![0, 0, 0, 1, 1, 3];
        bytes.extend(b"ada");
        bytes.extend(7_u64.to_be_bytes());
        bytes.extend([[1; 32], [2; 32], [3; 32]].concat());
        assert_eq!(roots().overall("ada"), Digest::of("cortex/root/1", &[&bytes]));
    }

    // kernel 57
    #[test]
    fn roots_survive_their_encoding() {
        let bytes = codec::encode(&roots());
        assert_eq!(codec::decode::<Roots>("roots", &bytes).unwrap(), roots());
    }
}
