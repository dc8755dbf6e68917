//! How work ended and what it relied on; and what that taught salience.

use api::attest::{
    AttestAnswer, AttestRequest, Citation, LESSONS_MAX, Lesson, SalienceAnswer, SalienceRequest,
    SkippedCitation, WeightsView,
};
use kernel::Digest;
use kernel::command::{Attestation, Command};
use kernel::grants::Permission;
use kernel::journal::{Payload, Weights};
use kernel::memory::{MemoryId, Outcome, PinnedVersion};

use crate::Service;
use crate::caller::Caller;
use crate::error::{Error, Result};

/// Entries looked at for them, the newest. Attestations are rare among other entries; without this bound a question for
/// a few lessons could read a whole journal.
const ENTRIES_MAX: u64 = 100_000;

/// The weights as an answer shows them.
pub fn weights_view(weights: &Weights) -> WeightsView {
    let part = |parts: u32| f64::from(parts) / 1_000_000_000.0;
    WeightsView {
        recency: part(weights.recency()),
        access: part(weights.access()),
        citation: part(weights.citation()),
        importance: part(weights.importance()),
        similarity: part(weights.similarity()),
    }
}

impl Service {
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
        let skipped: Vec<SkippedCitation> = receipt
            .skipped
            .iter()
            .map(|(id, reason)| SkippedCitation { id: id.get(), reason: reason.to_string() })
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
                before: weights_view(&learned.previous),
                after: weights_view(&learned.next),
                skipped: learned.skipped,
            });
        }
        Ok(SalienceAnswer {
            weights: weights_view(&view.weights()?),
            at_first: weights_view(&Weights::default()),
            lessons,
        })
    }
}

fn memory(id: u64) -> Result<MemoryId> {
    MemoryId::new(id).ok_or_else(|| Error::invalid("id", "memories are numbered from 1"))
}
