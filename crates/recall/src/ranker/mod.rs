//! The ranker: an order learned from labelled sets, over what the arms say.

mod features;

pub use features::{FEATURES, FEATURES_VERSION, Feature, Signals};
