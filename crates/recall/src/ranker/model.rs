//! The file of a model, numbers little-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 4 | `CXRK` |
//! | 2 | version of this format, u16 |
//! | 2 | version of the features, u16 |
//! | 2 | count of features, u16 |
//! | 4 | what a thousandth of the fused score is worth, i32 |
//! | | trees, see `trees` |
//! | | relevance, see `relevance` |

use super::bytes::ModelBytes;
use super::features::{FEATURES, FEATURES_VERSION};
use super::relevance::Relevance;
use super::trees::Trees;

const MAGIC: &[u8; 4] = b"CXRK";
const FORMAT: u16 = 1;

#[derive(Debug)]
pub(super) struct Model {
    /// What a thousandth of the fused score is worth.
    pub(super) base: i64,
    pub(super) trees: Trees,
    pub(super) relevance: Relevance,
}

impl Model {
    /// `None` for a file of another version, of other features, or with bytes missing or left over.
    pub(super) fn parse(bytes: &[u8]) -> Option<Model> {
        let mut rest = ModelBytes::new(bytes.strip_prefix(MAGIC)?);
        let versions = [rest.u16()?, rest.u16()?, rest.u16()?];
        if versions != [FORMAT, FEATURES_VERSION, u16::try_from(FEATURES).ok()?] {
            return None;
        }
        let base = i64::from(rest.i32()?);
        let (trees, relevance) = (Trees::parse(&mut rest)?, Relevance::parse(&mut rest)?);
        rest.is_empty().then_some(Model { base, trees, relevance })
    }
}
