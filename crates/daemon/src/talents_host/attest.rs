//! What a run that has ended teaches the memory: a run is an intent, and its end is attested with what it relied on.
//!
//! A run that ended is no evidence that what it read was of use. What it relied on is what its answer names, as `[#12]`
//! or as a URI; only then its success teaches anything. A failure has many causes and teaches nothing; whoever knows
//! better attests. Of a run that teaches nothing nothing is journaled: its own log has what it read and how it ended.
//!
//! What must stay true: at most one attestation per run, however often a daemon that dies is told of the same end; a
//! failure to attest is counted and in the log, and costs the run nothing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use api::attest::{AttestRequest, Citation};
use api::run::RunOutcome;
use api::{ErrorCode, Result};
use kernel::limits::CITATIONS_MAX;
use runs::runner::{EndedRun, RunObserver};
use serde_json::Value;
use service::Caller;

use host::Host;
use host::channels::actor_of;

/// Who attests.
const BY: &str = "runner";

#[derive(Debug)]
pub(super) struct Attester {
    host: Arc<Host>,
    finished: AtomicU64,
    skipped: AtomicU64,
    failed: AtomicU64,
    cancelled: AtomicU64,
    failures: AtomicU64,
}

impl Attester {
    pub(super) fn new(host: Arc<Host>) -> Attester {
        Attester {
            host,
            finished: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            cancelled: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        }
    }

    pub(super) fn ended(&self) -> [(&'static str, u64); 4] {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        [
            ("finished", count(&self.finished)),
            ("skipped", count(&self.skipped)),
            ("failed", count(&self.failed)),
            ("cancelled", count(&self.cancelled)),
        ]
    }

    pub(super) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    fn attest(&self, run: &EndedRun, request: AttestRequest) -> Result<()> {
        let mut caller = Caller::new(actor_of(&run.request)?, BY);
        caller.idempotency_key = Some(format!("talent-run/{}", run.use_id));
        match self.host.service.attest(&caller, request) {
            // It was attested before, and a memory it cites has changed since.
            Err(error) if error.code() == ErrorCode::IdempotencyConflict => Ok(()),
            attested => Ok(attested.map(drop)?),
        }
    }
}

impl RunObserver for Attester {
    fn ended(&self, run: &EndedRun) {
        let counter = match run.outcome {
            RunOutcome::Finished => &self.finished,
            RunOutcome::Skipped => &self.skipped,
            RunOutcome::Failed => &self.failed,
            RunOutcome::Cancelled => &self.cancelled,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        let of_channel = actor_of(&run.request)
            .and_then(|actor| self.host.run_ended(&Caller::new(actor, BY), run));
        if let Err(error) = of_channel {
            tracing::warn!("the end of run {}: {} ({})", run.use_id, error, error.code());
        }
        let Some(request) = attestation(run) else { return };
        let intent = request.intent.clone();
        if let Err(error) = self.attest(run, request) {
            self.failures.fetch_add(1, Ordering::Relaxed);
            tracing::warn!("{intent} is not attested: {} ({})", error.message, error.code);
        }
    }
}

/// What is attested of a run; nothing of one that says nothing about a memory.
fn attestation(run: &EndedRun) -> Option<AttestRequest> {
    let id = |cited: &Value| cited.as_u64().or_else(|| cited.as_str()?.parse().ok());
    let mut retrieved: Vec<u64> = run.cited.iter().filter_map(id).filter(|id| *id > 0).collect();
    retrieved.truncate(CITATIONS_MAX);
    let named = named(run.result.as_deref().unwrap_or_default());
    let cite = retrieved.iter().filter(|id| named.contains(id));
    let mut cite: Vec<Citation> = cite.map(|id| Citation { id: *id, version: None }).collect();
    if run.outcome != RunOutcome::Finished || cite.is_empty() {
        return None;
    }
    if cite.len() > CITATIONS_MAX {
        tracing::warn!(
            "run {} cites {} memories; the first {CITATIONS_MAX} are attested",
            run.use_id,
            cite.len()
        );
        cite.truncate(CITATIONS_MAX);
    }
    let reason = run.record.error_message.as_deref().or(run.record.reason.as_deref());
    let reason: Option<String> =
        reason.map(|text| text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect());
    Some(AttestRequest {
        intent: format!("talent/{}/{}", run.name, run.use_id),
        outcome: "success".to_owned(),
        cite,
        retrieved,
        reason: reason.filter(|text| !text.trim().is_empty()),
        ..AttestRequest::default()
    })
}

/// The memories that an answer names: `#12`, `[#12, #40]` or `cortex://actor/Type/12#3`.
fn named(answer: &str) -> BTreeSet<u64> {
    let number = |text: &str| {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u64>().ok()
    };
    let marked = answer.match_indices('#').filter_map(|(at, _)| {
        // What follows the number of a URI is its version.
        let before = answer[..at].chars().next_back();
        let stands_alone = before.is_none_or(|c| !c.is_alphanumeric() && c != '/');
        number(&answer[at + 1..]).filter(|_| stands_alone)
    });
    let addresses = answer.split("cortex://").skip(1).filter_map(|rest| {
        let path = rest.split(char::is_whitespace).next().unwrap_or_default();
        number(path.split('/').nth(2)?)
    });
    marked.chain(addresses).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // T13
    #[test]
    fn only_what_an_answer_names_is_cited() {
        assert_eq!(named("We use redb."), BTreeSet::new());
        assert_eq!(named("We use redb [#12], see #40 and [#7, #8]."), [7, 8, 12, 40].into());
        assert_eq!(named("cortex://me/Decision/9#3 says so"), [9].into());
        assert_eq!(named("C#7 is a language, issue/#5 a link, # a mark"), BTreeSet::new());
    }
}
