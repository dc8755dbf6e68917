//! SHA-256 of what must be known again: segments, sources, prompts, tombstones.

use sha2::{Digest as _, Sha256};

pub type Digest32 = [u8; 32];

/// The digest of parts, each with its length before it, so that no two lists of parts are the same bytes.
pub fn of(parts: &[&[u8]]) -> Digest32 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// The digest of bytes as they are: the name of a file.
pub fn of_bytes(bytes: &[u8]) -> Digest32 {
    Sha256::digest(bytes).into()
}

/// HMAC-SHA-256: without the key nobody can test a guess.
pub fn keyed(key: &Digest32, parts: &[&[u8]]) -> Digest32 {
    let mut pads = [[0x36_u8; 64], [0x5c_u8; 64]];
    for pad in &mut pads {
        pad.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
    }
    let inner = Sha256::new().chain_update(pads[0]).chain_update(of(parts)).finalize();
    Sha256::new().chain_update(pads[1]).chain_update(inner).finalize().into()
}

pub fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The first eight bytes as a number.
pub fn short(digest: &Digest32) -> u64 {
    digest[..8].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_together_and_keys_matter() {
        let digest = of(&[b"ab", b"c"]);
        assert_eq!(hex(&[0, 0x1f, 0xa0]), "001fa0");
        assert_ne!(digest, of(&[b"a", b"bc"]));
        assert_ne!(keyed(&[1; 32], &[b"a"]), keyed(&[2; 32], &[b"a"]));
        assert_eq!(short(&[1; 32]) >> 56, 1);
    }
}
