//! Views: they draw the state and change nothing. Each returns what it drew where, so that the mouse finds it.

mod canvas;
mod chat;
mod frame;
mod home;
mod lists;
mod memory;
mod mind;
mod near;
mod search;
pub(super) mod theme;

pub(super) use frame::draw;
