//! The frontmatter of a talent, as plain data; `keys` reads it.

use api::run::OutputFormat;
use std::collections::BTreeMap;

use serde_json::Value;

use super::TalentKind;
use crate::confine::FileGrant;
use crate::triggers::Trigger;
use llm::models::ModelTier;

/// When a talent is started by itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TalentSchedule {
    Daily,
    Segment,
}

impl TalentSchedule {
    pub fn as_str(self) -> &'static str {
        match self {
            TalentSchedule::Daily => "daily",
            TalentSchedule::Segment => "segment",
        }
    }
}

/// What a run's tools may do with the memory. A request can never change it.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum ToolGrant {
    None,
    #[default]
    Read,
    Write,
}

/// Whether a source is given to the run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Want {
    #[default]
    No,
    Yes,
    /// Without it the run is skipped.
    Required,
}

/// Which sources of the day or segment are put before the instructions.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Load {
    pub transcripts: Want,
    pub percepts: Want,
    /// Outputs of other talents.
    pub talents: Want,
    /// Only these, if there are some; each with its own wish.
    pub only_talents: BTreeMap<String, Want>,
}

#[allow(clippy::struct_excessive_bools, reason = "each is a key of the file")]
#[derive(Clone, Debug, Default)]
pub struct Frontmatter {
    pub title: Option<String>,
    pub description: Option<String>,
    pub schedule: Option<TalentSchedule>,
    /// The clock or an event that starts it.
    pub trigger: Option<Trigger>,
    /// A start by the clock waits up to so long.
    pub jitter_seconds: u32,
    /// The clock and events start it no more often.
    pub runs_per_day_max: u32,
    pub priority: Option<i64>,
    pub multi_facet: bool,
    pub always: bool,
    pub disabled: bool,
    pub output: Option<OutputFormat>,
    /// Absent: no tools, which together with `output` makes a generator.
    pub tools: Option<Vec<String>>,
    pub grant: ToolGrant,
    /// A command line tool may change files. A request can never change it.
    pub write: bool,
    pub provider: Option<String>,
    pub tier: Option<ModelTier>,
    pub model: Option<String>,
    pub max_output_tokens: Option<u32>,
    pub thinking_budget: Option<u32>,
    pub timeout_seconds: Option<u64>,
    pub max_turns: Option<u32>,
    pub tool_budget: Option<u32>,
    /// A JSON Schema, or the name of a file that holds one until the catalog has read it.
    pub schema: Option<Value>,
    pub load: Option<Load>,
    /// `None` as a value takes a variable away.
    pub env: BTreeMap<String, Option<String>>,
    /// What the run reaches beyond the usual.
    pub reach: FileGrant,
}

impl Frontmatter {
    pub fn kind(&self) -> TalentKind {
        if self.output.is_some() && self.tools.is_none() {
            TalentKind::Generator
        } else {
            TalentKind::Agent
        }
    }

    /// What is loaded: as written, else the transcripts for a generator and nothing for an agent.
    pub fn sources(&self) -> Load {
        self.load.clone().unwrap_or_else(|| match self.kind() {
            TalentKind::Generator => Load { transcripts: Want::Yes, ..Load::default() },
            TalentKind::Agent => Load::default(),
        })
    }
}
