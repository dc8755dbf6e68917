//! How work ended and what it relied on; and what that taught salience.

use kernel::Digest;
use kernel::command::{Attestation, Command};
use kernel::grants::Permission;
use kernel::journal::Payload;
use kernel::journal::Weights;
use kernel::memory::{MemoryId, Outcome, PinnedVersion};
use serde::{Deserialize, Serialize};

use super::Ops;
use super::caller::Caller;
use super::error::{Error, Result};

/// Lessons one answer lists.
pub const LESSONS_MAX: usize = 200;
/// Entries looked at for them, the newest. Attestations are rare among other entries; without this bound a question for a
/// few lessons could read a whole journal.
const ENTRIES_MAX: u64 = 100_000;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AttestRequest {
    /// Name of the intent.
    pub intent: String,
    /// success, failure or partial.
    pub outcome: String,
    /// Memories it relied on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cite: Vec<Citation>,
    /// Memories it was shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retrieved: Vec<u64>,
    /// Why it ended so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Digest of the context it started from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Citation {
    pub id: u64,
    /// As it is now, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct AttestAnswer {
    pub intent: String,
    pub outcome: String,
    pub seq: u64,
    pub at: String,
    /// How many memories were cited.
    pub cited: usize,
    pub skipped: Vec<Skipped>,
    /// Whether the weights moved.
    pub learned: bool,
}

/// A memory that could not be cited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Skipped {
    pub id: u64,
    pub reason: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SalienceRequest {
    /// Lessons, the newest; 10 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SalienceAnswer {
    pub weights: WeightsView,
    /// What they were before anything was learned.
    pub at_first: WeightsView,
    /// Newest first.
    pub lessons: Vec<Lesson>,
}

/// How much each factor counts in salience. The sum is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct WeightsView {
    pub recency: f64,
    pub access: f64,
    pub citation: f64,
    pub importance: f64,
    pub similarity: f64,
}

/// What an attestation taught.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Lesson {
    pub seq: u64,
    pub at: String,
    pub intent: String,
    pub outcome: String,
    /// How many memories it relied on.
    pub cited: usize,
    pub before: WeightsView,
    pub after: WeightsView,
    /// Why nothing was learned, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

impl WeightsView {
    pub fn of(weights: &Weights) -> WeightsView {
        let part = |parts: u32| f64::from(parts) / 1_000_000_000.0;
        WeightsView {
            recency: part(weights.recency()),
            access: part(weights.access()),
            citation: part(weights.citation()),
            importance: part(weights.importance()),
            similarity: part(weights.similarity()),
        }
    }

    /// By name.
    pub fn parts(&self) -> [(&'static str, f64); 5] {
        [
            ("recency", self.recency),
            ("access", self.access),
            ("citation", self.citation),
            ("importance", self.importance),
            ("similarity", self.similarity),
        ]
    }
}

impl Ops {
    pub fn attest(&self, caller: &Caller, request: AttestRequest) -> Result<AttestAnswer> {
        let outcome = Outcome::parse(&request.outcome)?;
        let bundle = request.bundle.as_deref().map(str::parse::<Digest>).transpose()?;
        let cortex = self.opened(caller)?;
        let reading = cortex.read()?;
        let view = reading.view();
        let mut cited = Vec::new();
        for Citation { id, version } in &request.cite {
            let id = memory(*id)?;
            // One that is not there is the kernel's to skip, with a reason.
            let current = view.head(id)?.map_or(1, |head| head.version);
            cited.push(PinnedVersion { id, version: version.unwrap_or(current) });
        }
        let retrieved = request.retrieved.iter().map(|id| memory(*id)).collect::<Result<_>>()?;
        let before = view.weights()?;
        drop(reading);
        let (intent, reason) = (request.intent.clone(), request.reason);
        let attestation = Attestation { intent, outcome, reason, cited, retrieved, bundle };
        let command = Command::Attest(attestation);
        let receipt = self.change(caller, &cortex, command, Permission::Attest)?;
        let skipped: Vec<Skipped> = receipt
            .skipped
            .iter()
            .map(|(id, reason)| Skipped { id: id.get(), reason: reason.to_string() })
            .collect();
        Ok(AttestAnswer {
            intent: request.intent,
            outcome: outcome.name().to_owned(),
            seq: receipt.seq,
            at: receipt.at.rfc3339(),
            cited: request.cite.len().saturating_sub(skipped.len()),
            skipped,
            learned: cortex.read()?.view().weights()? != before,
        })
    }

    /// The weights of salience, and what moved them.
    pub fn salience(&self, caller: &Caller, request: SalienceRequest) -> Result<SalienceAnswer> {
        let limit = request.limit.unwrap_or(10);
        if limit > LESSONS_MAX {
            return Err(Error::invalid("limit", format!("must be at most {LESSONS_MAX}")));
        }
        let (_, reading) = self.reading(caller)?;
        let view = reading.view();
        let size = view.counters()?.size;
        let mut lessons = Vec::new();
        for seq in (1..=size).rev().take(usize::try_from(ENTRIES_MAX).unwrap_or(usize::MAX)) {
            if lessons.len() == limit {
                break;
            }
            let Some(entry) = view.entry(seq)? else { continue };
            let Payload::LearnWeights(learned) = entry.payload()? else { continue };
            let attested = view.entry(learned.attest_seq)?;
            let Some(Payload::Attest(attest)) = attested.map(|a| a.payload()).transpose()? else {
                continue;
            };
            lessons.push(Lesson {
                seq: learned.attest_seq,
                at: entry.at.rfc3339(),
                intent: attest.intent,
                outcome: attest.outcome.name().to_owned(),
                cited: attest.cited.len(),
                before: WeightsView::of(&learned.previous),
                after: WeightsView::of(&learned.next),
                skipped: learned.skipped,
            });
        }
        Ok(SalienceAnswer {
            weights: WeightsView::of(&view.weights()?),
            at_first: WeightsView::of(&Weights::default()),
            lessons,
        })
    }
}

fn memory(id: u64) -> Result<MemoryId> {
    MemoryId::new(id).ok_or_else(|| Error::invalid("id", "memories are numbered from 1"))
}
