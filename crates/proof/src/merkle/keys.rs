//! Where a memory's head and an edge sit in their trees.
//!
//! What must stay true: both maps are injective (the edge map as far as SHA-256 has no collisions),
//! ids made one after the other are neighbours, so recent writes share pages, and the things people
//! delegate — one type's memories, one source's edges — are each exactly one subtree, so that a
//! slice proof can show that the list is complete.

use super::bits::{TreeKey, TreePrefix};
use crate::digest::Digest;

/// The tree key of a memory: its type, the bit length of its id minus one, then the id's bits below
/// its leading one. Ids start at 1.
///
/// The length comes first so that a small store has a shallow tree: a 64-bit id with its leading
/// zeros would put every leaf behind fifty levels with nothing beside them.
pub fn head_key(type_code: u8, id: u64) -> TreeKey {
    let (length, below) = split_id(id);
    let mut key = [0; 32];
    key[0] = type_code;
    key[1] = length;
    key[2..10].copy_from_slice(&below.to_be_bytes());
    key
}

/// The tree key of an edge: the bit length of the source minus one, the source's bits below its
/// leading one, then bits of a hash over the whole edge.
pub fn edge_key(src: u64, relation: u8, dst: u64) -> TreeKey {
    let parts: [&[u8]; 3] = [&src.to_be_bytes(), &[relation], &dst.to_be_bytes()];
    let hash = Digest::of("cortex/edge-key/1", &parts);
    let source = edges_of_source(src);
    let mut key = shifted_right(&hash.0, source.bit_len());
    key.iter_mut().zip(source.key()).for_each(|(byte, prefix)| *byte |= prefix);
    key
}

/// All memories of one type.
pub fn heads_of_type(type_code: u8) -> TreePrefix {
    TreePrefix::of_byte(type_code)
}

/// All edges that leave one memory.
pub fn edges_of_source(src: u64) -> TreePrefix {
    let (length, below) = split_id(src);
    let mut key = [0; 32];
    key[0] = length;
    key[1..9].copy_from_slice(&below.to_be_bytes());
    TreePrefix::new(&key, 8 + usize::from(length)).expect("a length byte and at most 63 bits")
}

/// The bit length of an id minus one, and the bits below its leading one moved to the left.
fn split_id(id: u64) -> (u8, u64) {
    let length = id.checked_ilog2().expect("ids start at 1");
    let below = (id ^ 1 << length).checked_shl(64 - length).unwrap_or(0);
    (u8::try_from(length).expect("a u64 has at most 64 bits"), below)
}

fn shifted_right(bytes: &TreeKey, bits: usize) -> TreeKey {
    let (whole, part) = (bits / 8, bits % 8);
    let mut shifted = [0; 32];
    for at in whole..32 {
        let high = if at > whole { u16::from(bytes[at - whole - 1]) << 8 } else { 0 };
        let pair = high | u16::from(bytes[at - whole]);
        shifted[at] = (pair >> part).to_be_bytes()[1];
    }
    shifted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merkle::bits::{bit, shares};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn ids() -> impl Strategy<Value = u64> {
        prop_oneof![1..=200_u64, (0..64_u32, any::<u64>()).prop_map(|(s, n)| (n >> s).max(1))]
    }

    #[test]
    fn head_keys_are_what_the_format_says() {
        let key = |id| crate::digest::encode_hex(&head_key(3, id)[..11]);
        assert_eq!(key(1), "0300000000000000000000");
        assert_eq!(key(2), "0301000000000000000000");
        assert_eq!(key(3), "0301800000000000000000");
        assert_eq!(key(0x1_0001), "0310000100000000000000");
        assert_eq!(key(u64::MAX), "033ffffffffffffffffe00");
    }

    #[test]
    fn small_ids_have_distinct_head_keys_in_order() {
        let keys: Vec<_> = (1..5_000).map(|id| head_key(1, id)).collect();
        assert!(keys.is_sorted_by(|a, b| a < b));
        let all: BTreeSet<_> =
            (1..=9).flat_map(|t| (1..2_000).map(move |i| head_key(t, i))).collect();
        assert_eq!(all.len(), 9 * 1_999);
    }

    #[test]
    fn small_edges_have_distinct_keys() {
        let edge = |n: u64| edge_key(1 + n / 100, u8::try_from(n % 5).unwrap(), 1 + n % 100 / 5);
        assert_eq!((0..10_000).map(edge).collect::<BTreeSet<_>>().len(), 10_000);
    }

    proptest! {
        // kernel 55
        #[test]
        fn head_keys_are_injective_and_a_type_is_a_subtree(a in ids(), b in ids(), s in 1..=9_u8, t in 1..=9_u8) {
            prop_assert_eq!(head_key(s, a) == head_key(t, b), (s, a) == (t, b));
            prop_assert_eq!(heads_of_type(s).covers(&head_key(t, a)), s == t);
        }

        #[test]
        fn a_source_is_a_subtree_of_the_edges(a in ids(), b in ids(), rel in any::<u8>(), dst in ids()) {
            prop_assert!(edges_of_source(a).covers(&edge_key(a, rel, dst)));
            prop_assert_eq!(edges_of_source(a).covers(&edge_key(b, rel, dst)), a == b);
        }

        #[test]
        fn the_rest_of_an_edge_key_is_the_hash(src in ids(), rel in any::<u8>(), dst in ids()) {
            let hash = Digest::of("cortex/edge-key/1", &[&src.to_be_bytes(), &[rel], &dst.to_be_bytes()]);
            let (key, used) = (edge_key(src, rel, dst), edges_of_source(src).bit_len());
            prop_assert!((used..256).all(|i| bit(&key, i) == bit(&hash.0, i - used)));
            prop_assert!(shares(&key, edges_of_source(src).key(), used));
        }
    }
}
