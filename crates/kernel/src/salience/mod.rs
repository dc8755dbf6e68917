//! What a memory is worth now: the factors, their weights, how weights learn and how importance fades.
//!
//! Everything here is a pure function of its arguments in integer arithmetic. The clock is a parameter and there are no
//! floats, so a replay on another machine ranks the same memories in the same order.
//!
//! - `fixed`: exponentials and logarithms in fixed point.
//! - `factors`: a memory's signals, the five factors made of them, and the score.
//! - `learner`: how an outcome moves the weights.
//! - `importance`: the additive 0 to 5 score of an observation.
//! - `decay`: how importance fades when a memory is not used.

mod decay;
mod factors;
mod fixed;
mod importance;
mod learner;

pub use decay::{DecayPolicy, decayed_importance};
pub use factors::{Factors, PINNED_FLOOR, Signals, factors, pinned_floor, salience, score};
pub use fixed::{Ppm, WHOLE};
pub use importance::importance_score;
pub use learner::{LearningOutcome, SkipReason, WeightUpdate, learn};

/// One day in milliseconds, the unit of every clock value in the kernel.
pub const DAY_MS: i64 = 86_400_000;
