//! Placeholder until the salience branch is merged.
use minicbor::{Decode, Encode};
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Weights {
    #[n(0)]
    pub recency: u32,
}
impl Weights {
    pub fn cold() -> Weights {
        Weights { recency: 250_000_000 }
    }
}
