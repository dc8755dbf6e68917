//! What judges meaning: models, language, and how well search does with them.

mod calibration;
pub(crate) mod eval;
pub(crate) mod language;
pub(crate) mod model;
mod model_check;
