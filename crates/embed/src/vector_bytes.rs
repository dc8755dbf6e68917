//! The bytes of an embedding in a cache file: version, dims as u16, then i16 values, all little-endian.
//!
//! The full i16 values and not the i8 codes: codes, sketches and their rotation can then change without embedding
//! again.

use recall::embedding::Embedding;

const VERSION: u8 = 1;
const HEADER: usize = 3;

/// Why bytes are no embedding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum VectorBytesError {
    #[error("vector row: unknown version {0}")]
    Version(u8),
    #[error("vector row: {0} bytes are not what its header says")]
    Size(usize),
    #[error("vector row: the values are not of unit length")]
    Length,
}

pub(crate) fn encode(embedding: &Embedding) -> Vec<u8> {
    let values = embedding.values();
    let mut out = Vec::with_capacity(HEADER + values.len() * 2);
    out.push(VERSION);
    // An embedding has at most `DIMS_MAX` dimensions, which fit.
    out.extend(u16::try_from(values.len()).unwrap_or(u16::MAX).to_le_bytes());
    out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    out
}

pub(crate) fn decode(bytes: &[u8]) -> Result<Embedding, VectorBytesError> {
    let Some((header, body)) = bytes.split_first_chunk::<HEADER>() else {
        return Err(VectorBytesError::Size(bytes.len()));
    };
    if header[0] != VERSION {
        return Err(VectorBytesError::Version(header[0]));
    }
    let dims = usize::from(u16::from_le_bytes([header[1], header[2]]));
    let (values, rest) = body.as_chunks::<2>();
    if values.len() != dims || !rest.is_empty() {
        return Err(VectorBytesError::Size(bytes.len()));
    }
    let values = values.iter().map(|bytes| i16::from_le_bytes(*bytes)).collect();
    Embedding::from_unit_values(values).ok_or(VectorBytesError::Length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rising(dims: usize) -> Embedding {
        let last = i64::try_from(dims).unwrap();
        Embedding::from_sums(&(1..=last).collect::<Vec<i64>>())
    }

    #[test]
    fn comes_back() {
        for dims in [1, 16, 256, 384] {
            let e = rising(dims);
            let bytes = encode(&e);
            assert_eq!(bytes.len(), 3 + dims * 2);
            assert_eq!(decode(&bytes), Ok(e));
        }
        assert_eq!(decode(&encode(&Embedding::zero(8))), Ok(Embedding::zero(8)));
    }

    #[test]
    fn damage_is_named() {
        let mut bytes = encode(&rising(4));
        assert_eq!(decode(&bytes[..bytes.len() - 1]), Err(VectorBytesError::Size(bytes.len() - 1)));
        assert_eq!(decode(&[]), Err(VectorBytesError::Size(0)));
        assert_eq!(decode(&[1, 1, 0, 5, 0]), Err(VectorBytesError::Length));
        bytes[0] = 9;
        assert_eq!(decode(&bytes), Err(VectorBytesError::Version(9)));
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
