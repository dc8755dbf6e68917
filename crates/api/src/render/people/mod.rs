//! Answers as text for people, on a terminal or in the admin chat: whole lines, each with its line break.
//!
//! - `memories`: what was found, and what is around it.
//! - `lists`: sessions, prompts, projects, what happened, what needs attention.
//! - `mind`: jobs, runs, the bulletin, what models cost.
//! - `pages`: questions that stand. `past`, `past_work`: what coding agents wrote down and did.
//! - `changes`: what became of a change.
//!
//! What must stay true: text of memories passes `untrusted`, because it draws on a terminal, and agents read terminals
//! too; where a hint proposes something, it names the command.

mod changes;
mod lists;
mod memories;
mod mind;
mod pages;
mod past;
mod past_work;
mod words;

pub use changes::{
    archived, beside_save, confirmed, deleted, prompt_kept, related, restored, saved,
    session_ended, session_started, unrelated, updated,
};
pub use lists::{
    activity, approvals, audit, conversations, merged, projects, prompts, separated, session,
    sessions, swept, talent_runs,
};
pub use memories::{
    HitDetail, entities, found, listed, scored, table, timeline, tree, whereabouts,
};
pub use mind::{
    budget, bulletin, bulletin_explained, bulletins, due, jobs, kept, paused, ran, reset, run,
    runs, undone,
};
pub use pages::{page, page_history, page_removed, pages};
pub use past::{
    past_checked, past_forgotten, past_found, past_read, past_sessions, past_shown, past_state,
    past_tombstones,
};
pub use past_work::{past_card, past_shapes, past_work};
