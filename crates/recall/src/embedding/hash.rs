//! A model for tests: each word is a pseudo-random direction. It knows nothing, so only equal words are near.

use super::{Embedder, Embedding};

#[derive(Debug)]
pub(crate) struct HashEmbedder {
    dims: usize,
}

impl HashEmbedder {
    pub(crate) fn new(dims: usize) -> HashEmbedder {
        HashEmbedder { dims }
    }
}

impl Embedder for HashEmbedder {
    fn model(&self) -> &'static str {
        "hash-for-tests"
    }

    fn dims(&self) -> usize {
        self.dims
    }

    fn embed(&self, text: &str) -> Embedding {
        let mut sums = vec![0i64; self.dims];
        for word in text.split_whitespace() {
            let mut state =
                word.bytes().fold(7u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
            for sum in &mut sums {
                state =
                    state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                *sum += state.cast_signed() >> 40;
            }
        }
        Embedding::from_sums(&sums)
    }
}
