//! think: works through a day or a segment with the talents that are scheduled for it.
//!
//! `plan` says what would be done, as data; `run` does it through a `Runs`, which starts runs and waits for their
//! ends. What must stay true: groups run one after the other in the order of their priority, units of a group
//! beside each other; which facets a segment is about is read again before each group, because a talent of an
//! earlier group writes it; one unit that fails hides no other; a wait is never shorter than the run it waits for;
//! what was done with the sources as they are is not done again (`done`).

mod brief;
mod done;
mod plan;
mod report;
mod run;

use std::time::Duration;

use api::run::{FinishPayload, RunRequest};
use serde_json::Value;
use thiserror::Error;

pub use brief::brief_by_rules;
pub use plan::{
    SkippedUnit, ThinkGroup, ThinkPhase, ThinkPlan, ThinkRequest, ThinkUnit, ThinkWork, plan,
};
pub use report::{ThinkReport, UnitReport, UnitState};
pub use run::run;

use crate::chronicle::ChronicleError;
use crate::names::{Day, TalentName};
use crate::talent_files::TalentError;
use llm::providers::BoxFuture;

#[derive(Debug, Error)]
pub enum ThinkError {
    #[error("there is nothing in the chronicle for {0}")]
    NoDay(Day),
    #[error("there is no segment {segment} on {day}")]
    NoSegment { day: Day, segment: String },
    #[error("the talent {name} has no {schedule}")]
    NotScheduled { name: TalentName, schedule: &'static str },
    #[error(transparent)]
    Talent(#[from] TalentError),
    #[error(transparent)]
    Chronicle(#[from] ChronicleError),
}

impl ThinkError {
    pub fn code(&self) -> &'static str {
        match self {
            ThinkError::NoDay(_) => "no_day",
            ThinkError::NoSegment { .. } => "no_segment",
            ThinkError::NotScheduled { .. } => "not_scheduled",
            ThinkError::Talent(error) => error.code(),
            ThinkError::Chronicle(error) => error.code(),
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEnd {
    /// What the `finish` event carries.
    Finished(Box<FinishPayload>),
    /// The words and the code of the `error` event.
    Failed { error: String, code: String },
    /// No end was seen in time.
    TimedOut,
}

/// Starts runs and waits for them.
pub trait RunLauncher: Send + Sync {
    /// Gives the id of the run, or says why it was not taken.
    fn start(&self, request: RunRequest) -> BoxFuture<'_, Result<String, String>>;

    /// Waits for the last event of a run. The limit counts from when the run really began, not from when it was queued.
    fn wait<'a>(&'a self, use_id: &'a str, limit: Duration) -> BoxFuture<'a, RunEnd>;

    /// Ends a run that nobody waits for any more.
    fn cancel<'a>(&'a self, use_id: &'a str) -> BoxFuture<'a, ()>;
}

/// What others want to know while think works.
pub trait ThinkHooks: Send + Sync {
    /// An event of the topic `think`, with its `event`.
    fn tell(&self, event: Value);

    /// An output was written: put it into the memory. An error is told in the report.
    fn index<'a>(&'a self, output: &'a UnitOutput) -> BoxFuture<'a, Result<(), String>>;
}

/// An output that was just written.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitOutput {
    pub path: String,
    pub use_id: String,
    pub talent: TalentName,
    pub title: String,
    pub day: Day,
    pub segment: Option<crate::names::Segment>,
    pub facet: Option<crate::names::Facet>,
}

#[cfg(test)]
mod tests;
