//! What is asked of the mind and how it answers: jobs, runs, undo, readiness, budget, `memory_recall`.

pub mod budget;
pub mod jobs;
pub mod recall;

pub use budget::{BudgetAnswer, BudgetRequest, LedgerView, PurposeView, SpentDay, SpentSum};
pub use jobs::*;
pub use recall::{MemoryRecallAnswer, MemoryRecallRequest, RecalledView};
