//! The terminal interface: looking through memories, and a few changes that can all be undone.
//!
//! [`state`] is a pure state machine: an event comes in, questions go out. [`view`] draws a state and changes nothing.
//! [`edge`] is the only part that knows terminal, clock and daemon. Questions are typed operations, asked through the
//! daemon like everybody's.
//!
//! What must stay true: drawing never waits for an answer; an answer to an outdated question changes nothing; the
//! terminal is given back on every way out; stored text cannot draw on the terminal.

mod answers;
mod ask;
mod edge;
mod hints;
mod input;
mod keys;
mod list;
mod mouse;
mod page;
mod screen;
mod search_line;
mod state;
mod tabs;
#[cfg(test)]
mod tests;
mod text;
mod view;

use std::sync::Arc;

pub use screen::TerminalScreen;
use view::theme::Theme;

use api::Result;
use client::pool::ClientPool;
use proof::memory::Millis;

/// What the interface needs of the program around it.
pub struct TuiSurroundings<'a> {
    /// The clock.
    pub now: &'a dyn Fn() -> Result<Millis>,
    /// Opens a memory in the person's editor and saves it; what went wrong, in words.
    pub edit: &'a dyn Fn(u64) -> Option<String>,
    /// Without colours.
    pub is_plain: bool,
}

impl std::fmt::Debug for TuiSurroundings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TuiSurroundings").field("is_plain", &self.is_plain).finish_non_exhaustive()
    }
}

/// Runs the interface until somebody ends it.
pub fn run(pool: ClientPool, around: &TuiSurroundings<'_>) -> Result<()> {
    let actor = api::Handle::actor(&pool).to_owned();
    edge::run(&Arc::new(pool), &actor, around, Theme { is_plain: around.is_plain })
}
