//! The mind against a real store: an actor on a simulated disk with the recall hook.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod bulletin;
mod forgetting;
mod maintenance;
mod mind;
mod pages;
mod patterns;
mod store;
mod trust;
