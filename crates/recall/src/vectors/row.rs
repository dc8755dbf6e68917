//! The bytes of an embedding in the store: version, dims as u16, then i16 values, all little-endian.
//!
//! The full i16 values and not the i8 codes: codes, sketches and their rotation can then change without embedding again.

use crate::embed::Embedding;

const VERSION: u8 = 1;
const HEADER: usize = 3;

/// Why bytes are no embedding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    #[error("vector row: unknown version {0}")]
    Version(u8),
    #[error("vector row: {0} bytes are not what its header says")]
    Size(usize),
    #[error("vector row: the values are not of unit length")]
    Length,
}

pub fn encode(embedding: &Embedding) -> Vec<u8> {
    let values = embedding.values();
    let mut out = Vec::with_capacity(HEADER + values.len() * 2);
    out.push(VERSION);
    // An embedding has at most 512 dimensions.
    out.extend(u16::try_from(values.len()).unwrap_or(u16::MAX).to_le_bytes());
    out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    out
}

pub fn decode(bytes: &[u8]) -> Result<Embedding, RowError> {
    let Some((header, body)) = bytes.split_first_chunk::<HEADER>() else {
        return Err(RowError::Size(bytes.len()));
    };
    if header[0] != VERSION {
        return Err(RowError::Version(header[0]));
    }
    let dims = usize::from(u16::from_le_bytes([header[1], header[2]]));
    let (values, rest) = body.as_chunks::<2>();
    if values.len() != dims || !rest.is_empty() {
        return Err(RowError::Size(bytes.len()));
    }
    let values = values.iter().map(|bytes| i16::from_le_bytes(*bytes)).collect();
    Embedding::checked(values).ok_or(RowError::Length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::{Embedder, HashEmbedder};
    use proptest::prelude::*;

    #[test]
    fn comes_back() {
        for dims in [1, 16, 256, 384] {
            let e = HashEmbedder::new(dims).embed("two words");
            let bytes = encode(&e);
            assert_eq!(bytes.len(), 3 + dims * 2);
            assert_eq!(decode(&bytes), Ok(e));
        }
        assert_eq!(decode(&encode(&Embedding::zero(8))), Ok(Embedding::zero(8)));
    }

    #[test]
    fn damage_is_named() {
        let mut bytes = encode(&HashEmbedder::new(4).embed("word"));
        assert_eq!(decode(&bytes[..bytes.len() - 1]), Err(RowError::Size(bytes.len() - 1)));
        assert_eq!(decode(&[]), Err(RowError::Size(0)));
        assert_eq!(decode(&[1, 1, 0, 5, 0]), Err(RowError::Length));
        bytes[0] = 9;
        assert_eq!(decode(&bytes), Err(RowError::Version(9)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_come_back(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(e) = decode(&bytes) {
                prop_assert_eq!(encode(&e), bytes);
            }
        }
    }
}
