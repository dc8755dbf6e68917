//! Talents: Markdown files that say what a run is to do, and with what.
//!
//! A talent is a JSON frontmatter (`front`, read by `keys`) and a body that is a template (`template`). Those in
//! the binary and those the user wrote stand on one `Shelf`; a user's file stands before a built-in of the same
//! name. One bad file costs only itself: its name answers with the file, the line and the reason, and all others go
//! on. What must stay true: a broken override never lets the built-in run in its place, because the user may have
//! written it to switch that talent off.

mod builtin;
mod catalog;
mod file;
mod front;
mod instructions;
mod keys;
mod problem;
mod template;
pub mod text;

pub use api::run::OutputFormat;
pub use catalog::{TalentCatalog, TalentError};
pub use front::{Frontmatter, Load, TalentSchedule, ToolGrant, Want};
pub use instructions::{InstructionNote, Instructions, Scene};
pub use problem::{ProblemSeverity, TalentProblem};
pub use template::{RenderError, VARIABLES};

use crate::names::TalentName;

/// How long a run lasts if neither request nor talent says.
pub const TIMEOUT_SECONDS: u64 = 600;

/// Who wrote a talent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TalentSource {
    /// It is in the binary.
    System,
    /// It is a file in the home.
    User,
}

impl TalentSource {
    pub fn as_str(self) -> &'static str {
        match self {
            TalentSource::System => "system",
            TalentSource::User => "user",
        }
    }
}

/// What a talent does: one answer from its sources, or a loop with tools.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TalentKind {
    /// Writes an output and has no tools.
    Generator,
    /// Answers a prompt, with tools if it has some.
    Agent,
}

impl TalentKind {
    /// The word of the seed's `type`.
    pub fn as_str(self) -> &'static str {
        match self {
            TalentKind::Generator => "generate",
            TalentKind::Agent => "cogitate",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Talent {
    pub name: TalentName,
    pub source: TalentSource,
    pub front: Frontmatter,
    /// The template, as it stands in the file.
    pub body: String,
    /// The line of its file on which the body begins, for messages.
    pub body_line: usize,
}

impl Talent {
    /// What models are chosen by: `talent.{source}.{name}`.
    pub fn context(&self) -> String {
        format!("talent.{}.{}", self.source.as_str(), self.name)
    }

    pub fn kind(&self) -> TalentKind {
        self.front.kind()
    }

    pub fn title(&self) -> &str {
        self.front.title.as_deref().unwrap_or(self.name.as_str())
    }
}
