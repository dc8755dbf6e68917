//! The weights of salience, as the journal records them.
//!
//! They always sum to exactly [`WEIGHT_SUM`] and each stays within [`WEIGHT_FLOOR`] and [`WEIGHT_CAP`]: weights that
//! break this cannot be built or decoded.

use minicbor::decode::Error as DecodeError;
use minicbor::encode::{Error as EncodeError, Write};
use minicbor::{Decode, Decoder, Encode, Encoder};

use crate::error::{Error, Result};

/// What all five weights sum to.
pub const WEIGHT_SUM: u32 = 1_000_000_000;

/// No weight is smaller: a factor that is switched off can never earn its way back.
pub const WEIGHT_FLOOR: u32 = WEIGHT_SUM / 50;

/// No weight is larger: one factor alone must not decide a ranking.
pub const WEIGHT_CAP: u32 = WEIGHT_SUM / 5 * 3;

/// How much each factor counts, in parts of [`WEIGHT_SUM`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights([u32; 5]);

impl Weights {
    /// What an actor starts with, before any outcome is known.
    pub const fn cold() -> Weights {
        Weights([250_000_000, 150_000_000, 300_000_000, 200_000_000, 100_000_000])
    }

    /// Weights for recency, access, citation, importance and similarity, in this order.
    pub fn new(parts: [u32; 5]) -> Result<Weights> {
        if parts.iter().any(|part| !(WEIGHT_FLOOR..=WEIGHT_CAP).contains(part)) {
            return Err(Error::invalid("weights", "each must be from 2 % to 60 %"));
        }
        // Five capped parts stay below 2^32, so the sum cannot wrap.
        if parts.iter().sum::<u32>() != WEIGHT_SUM {
            return Err(Error::invalid("weights", "they must sum to exactly 1000000000 parts"));
        }
        Ok(Weights(parts))
    }

    /// The parts in the order of [`Weights::new`].
    pub const fn parts(&self) -> [u32; 5] {
        self.0
    }

    pub const fn recency(&self) -> u32 {
        self.0[0]
    }

    pub const fn access(&self) -> u32 {
        self.0[1]
    }

    pub const fn citation(&self) -> u32 {
        self.0[2]
    }

    pub const fn importance(&self) -> u32 {
        self.0[3]
    }

    pub const fn similarity(&self) -> u32 {
        self.0[4]
    }
}

impl Default for Weights {
    fn default() -> Weights {
        Weights::cold()
    }
}

impl<C> Encode<C> for Weights {
    fn encode<W: Write>(
        &self,
        e: &mut Encoder<W>,
        ctx: &mut C,
    ) -> std::result::Result<(), EncodeError<W::Error>> {
        self.0.encode(e, ctx)
    }
}

impl<'b, C> Decode<'b, C> for Weights {
    fn decode(d: &mut Decoder<'b>, ctx: &mut C) -> std::result::Result<Self, DecodeError> {
        let at = d.position();
        Weights::new(<[u32; 5]>::decode(d, ctx)?).map_err(|e| DecodeError::message(e).at(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec;

    #[test]
    fn cold_weights_are_the_documented_ones() {
        // kernel 49, 50
        assert_eq!(
            Weights::cold().parts(),
            [250_000_000, 150_000_000, 300_000_000, 200_000_000, 100_000_000]
        );
        assert_eq!(Weights::new(Weights::cold().parts()).unwrap(), Weights::default());
        let cold = Weights::cold();
        let named = [cold.recency(), cold.access(), cold.citation(), cold.importance()];
        assert_eq!(
            (named, cold.similarity()),
            ([25, 15, 30, 20].map(|p| p * 10_000_000), 100_000_000)
        );
    }

    #[test]
    fn weights_round_trip_and_bad_ones_are_refused() {
        let bytes = codec::encode(&Weights::cold());
        assert_eq!(codec::decode::<Weights>("weights", &bytes).unwrap(), Weights::cold());
        for bad in [
            [250_000_000, 150_000_000, 300_000_000, 200_000_000, 100_000_001],
            [WEIGHT_CAP + 1, 100_000_000, 100_000_000, 100_000_000, 99_999_999],
            [WEIGHT_FLOOR - 1, 280_000_001, 300_000_000, 200_000_000, 200_000_000],
            [u32::MAX; 5],
        ] {
            assert!(Weights::new(bad).is_err(), "{bad:?}");
            assert!(codec::decode::<Weights>("weights", &codec::encode(&bad)).is_err(), "{bad:?}");
        }
    }
}
