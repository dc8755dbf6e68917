//! Which provider and which model a run uses, and why.
//!
//! There is one resolver. Everything that names a model asks it, so what `explain` prints is what a run does.

mod resolve;
mod settings;
mod table;
mod tier;
mod window;

pub use resolve::{ChoiceLayer, ChoiceReason, ModelChoice, ModelQuery, NoModelError, Resolver};
pub use settings::{
    ContextRule, DefaultRule, EndpointSettings, KeyRef, PriceSettings, ProviderKind,
    ProviderSettings,
};
pub use table::{BUILT_IN, BuiltInProvider, built_in};
pub use tier::ModelTier;
pub use window::{WINDOW_UNKNOWN, beginning, estimate, window};
