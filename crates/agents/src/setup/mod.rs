//! `cortex setup`: tells an agent about Cortex, and takes it back without a trace.
//!
//! `places` knows the files of each agent, `launch` how they start us, `recipe` what goes into which file. `json` and
//! `toml` edit texts, `plan` decides one file's next text and keeps a trace of it. All of that is pure. `files` and
//! `record` touch the disk, `run` puts it together, `state` looks at what is there, `trial` starts the server as an
//! agent does, `advice` says what a person has to do besides.
//!
//! What must stay true: a byte that is not ours is never changed; a file that cannot be read is left alone; setting up
//! twice changes nothing; removing gives back the bytes, files and folders from before.

mod advice;
mod change;
mod entry;
mod files;
mod json;
mod json_text;
mod launch;
mod places;
mod plan;
mod recipe;
mod record;
mod run;
mod state;
#[cfg(test)]
mod tests;
mod toml;
mod trial;
mod yaml;

pub use advice::{ABSENT, advice};
pub use files::SetupError;
pub use launch::Program;
pub use places::{Scope, Surroundings, System};
pub use recipe::CORE_TOOLS;
pub use run::{Action, FileOutcome, SetupJob, remove, set_up};
pub use state::{AgentState, states};
pub use trial::listed_tools;
