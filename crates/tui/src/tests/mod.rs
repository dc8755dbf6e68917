//! Goal: what people see and what their keys do. Method: the real state machine and views over real operations in a
//! temporary home, with a clock and chance that stand still; drawings are kept as snapshots.

#![allow(clippy::unwrap_used)]

mod behaviour;
mod rig;
mod screens;
