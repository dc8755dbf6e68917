//! Nearest vectors by a flat scan over codes: a sketch of signs picks candidates, small integers rank them.
//!
//! Owns the columns in memory (`Codes`), the sketch, and the bytes a store row holds. What must stay true: the answer
//! is a function of the set of (document, embedding), the query and the filter. The order of changes never shows, ties
//! go to the lower document, and a filter is exact: nothing it refuses is returned, nothing it accepts is crowded out
//! by what it refuses.

mod code;
mod codes;
mod level_store;
mod scan;
mod sketch;
mod sums;

pub(crate) use code::Heads;
pub use code::{Code, Coder};
pub(crate) use codes::GroupSource;
pub use codes::{Codes, EXACT_UP_TO, VectorHit};
pub(crate) use level_store::VECTORS_IN_GROUP;
