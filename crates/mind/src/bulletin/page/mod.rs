//! A page: a question that stands, answered from the memory, cited, in versions.
//!
//! - [`gather_page`]: what answers the question now. [`PageState`]: what was said, and whether it still holds.
//!
//! What must stay true: a new version is made only if a memory that the page speaks of changed, is gone or is linked
//! anew, if a new memory answers the question, or if the question is another one; what a model writes passes the checks
//! of the bulletin; a page never has more tokens than its definition allows.

mod gather;
mod state;

use serde::{Deserialize, Serialize};

pub use gather::gather_page;
pub use state::{PageBudget, PageState};

/// Tokens of a page whose definition names none.
pub const PAGE_TOKENS: u32 = 800;
/// The least and the most that a definition may name.
pub const PAGE_TOKENS_MIN: u32 = 100;
pub const PAGE_TOKENS_MAX: u32 = 4_000;
/// Earlier versions that are kept of each page.
pub const PAGE_VERSIONS_MAX: usize = 24;

/// What a page answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageSubject {
    pub name: String,
    pub question: String,
}
