//! Recall fails only where the store beneath it fails, or on a question no search can be made of.

pub(crate) use kernel::{Error, Result};
