//! Tree keys as strings of bits, most significant bit first.
//!
//! What must stay true: a `TreePrefix` has no bit set behind its length, so that equal prefixes are
//! equal values.

use crate::error::{Error, Result};

/// A position among the leaves of a tree.
pub type TreeKey = [u8; 32];

/// How many bits a key has, and so how deep a tree can be.
pub const KEY_BITS: usize = 256;

pub(super) fn bit(key: &TreeKey, index: usize) -> bool {
    key[index / 8] >> (7 - index % 8) & 1 == 1
}

/// True when the first `bits` bits of both keys are equal.
pub(super) fn shares(a: &TreeKey, b: &TreeKey, bits: usize) -> bool {
    let (whole, rest) = (bits / 8, bits % 8);
    a[..whole] == b[..whole] && (rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0)
}

/// The keys that start with given bits: one subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreePrefix {
    bits: TreeKey,
    len: usize,
}

impl TreePrefix {
    /// The empty prefix: the whole tree.
    pub const ALL: TreePrefix = TreePrefix { bits: [0; 32], len: 0 };

    /// The first `len` bits of `key`.
    pub fn new(key: &TreeKey, len: usize) -> Result<TreePrefix> {
        if len > KEY_BITS {
            return Err(Error::invalid("prefix", format!("{len} bits; a key has {KEY_BITS}")));
        }
        let mut bits = [0; 32];
        bits[..len / 8].copy_from_slice(&key[..len / 8]);
        if !len.is_multiple_of(8) {
            bits[len / 8] = key[len / 8] & !(0xff >> (len % 8));
        }
        Ok(TreePrefix { bits, len })
    }

    /// All keys whose first byte is `byte`.
    pub const fn of_byte(byte: u8) -> TreePrefix {
        let mut bits = [0; 32];
        bits[0] = byte;
        TreePrefix { bits, len: 8 }
    }

    /// The prefix with zero bits behind it.
    pub fn key(&self) -> &TreeKey {
        &self.bits
    }

    /// How many bits are fixed.
    pub fn bit_len(&self) -> usize {
        self.len
    }

    pub fn covers(&self, key: &TreeKey) -> bool {
        shares(&self.bits, key, self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_covers_exactly_the_keys_that_start_with_it() {
        let mut key = [0xa5; 32];
        for len in 0..=KEY_BITS {
            let prefix = TreePrefix::new(&key, len).unwrap();
            assert!(prefix.covers(&key));
            assert_eq!(TreePrefix::new(prefix.key(), len).unwrap(), prefix);
            for flipped in [0, len.saturating_sub(1), len.min(255), 255] {
                key[flipped / 8] ^= 0x80 >> (flipped % 8);
                assert_eq!(prefix.covers(&key), flipped >= len, "bit {flipped} of {len}");
                key[flipped / 8] ^= 0x80 >> (flipped % 8);
            }
        }
        assert!(TreePrefix::new(&key, 257).is_err());
        assert_eq!(TreePrefix::of_byte(0xa5), TreePrefix::new(&key, 8).unwrap());
    }

    #[test]
    fn bits_count_from_the_most_significant() {
        let mut key = [0; 32];
        key[1] = 0x40;
        assert_eq!((0..KEY_BITS).filter(|&i| bit(&key, i)).collect::<Vec<_>>(), [9]);
    }
}
