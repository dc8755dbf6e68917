//! What think did, as data.

use api::ErrorCode;
use serde::Serialize;

use super::done;
use super::plan::{SkippedUnit, ThinkUnit};
use crate::names::Segment;

#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UnitState {
    Finished,
    /// The run itself had nothing to do.
    Skipped,
    Failed,
    TimedOut,
    /// The run was not taken.
    NotStarted,
    Cancelled,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnitReport {
    pub talent: String,
    pub facet: Option<String>,
    pub segment: Option<String>,
    pub priority: i64,
    pub use_id: Option<String>,
    pub state: UnitState,
    /// Why it failed or was skipped.
    pub reason: Option<String>,
    pub output_path: Option<String>,
    /// Whether the output is in the memory; nothing if there was none.
    pub indexed: Option<bool>,
    pub seconds: f64,
    /// The code of its failure.
    #[serde(skip)]
    pub(super) code: Option<String>,
    /// Its place in what is noted of the day, and the digest of its sources.
    #[serde(skip)]
    pub(super) key: String,
    #[serde(skip)]
    pub(super) inputs: String,
}

impl UnitReport {
    pub(super) fn of(unit: &ThinkUnit, of: Option<Segment>) -> UnitReport {
        let segment = of.map(|segment| segment.to_string());
        UnitReport {
            key: done::key(of, unit.facet.as_ref(), &unit.talent),
            inputs: unit.inputs.clone(),
            talent: unit.talent.to_string(),
            facet: unit.facet.as_ref().map(ToString::to_string),
            segment,
            priority: unit.priority,
            code: None,
            use_id: None,
            state: UnitState::NotStarted,
            reason: None,
            output_path: None,
            indexed: None,
            seconds: 0.0,
        }
    }

    /// `name/facet (why)`, for people.
    pub fn label(&self) -> String {
        self.named("")
    }

    /// The same among those of a whole day: `name/facet of 10:00 (why)`.
    pub fn label_in_day(&self) -> String {
        let clock =
            |segment: &String| Some(format!(" of {}:{}", segment.get(..2)?, segment.get(2..4)?));
        self.named(&self.segment.as_ref().and_then(clock).unwrap_or_default())
    }

    fn named(&self, when: &str) -> String {
        let facet = self.facet.as_ref().map(|facet| format!("/{facet}")).unwrap_or_default();
        let why = self.reason.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        format!("{}{facet}{when}{why}", self.talent)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ThinkReport {
    pub day: String,
    pub units: Vec<UnitReport>,
    /// What was not started at all.
    pub skipped: Vec<SkippedUnit>,
    pub problems: Vec<String>,
    pub seconds: f64,
}

impl ThinkReport {
    pub fn failed(&self) -> impl Iterator<Item = &UnitReport> {
        self.units
            .iter()
            .filter(|unit| !matches!(unit.state, UnitState::Finished | UnitState::Skipped))
    }

    pub fn finished(&self) -> usize {
        self.units.iter().filter(|unit| unit.state == UnitState::Finished).count()
    }

    /// All that failed did so because of what a model answered: another try asks the same of the same model.
    pub fn only_answers_failed(&self) -> bool {
        let of_answer = |unit: &UnitReport| {
            unit.code.as_deref() == Some(ErrorCode::ProviderResponseInvalid.as_str())
        };
        !self.is_well() && self.failed().all(of_answer)
    }

    /// Nothing failed.
    pub fn is_well(&self) -> bool {
        self.failed().next().is_none()
    }
}
