//! `cortex search --in past` and `--in all`: turns of the past, alone or after memories.

use api::past::{PastSearchAnswer, PastSearchRequest};
use api::render::people::{self, HitDetail};

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;

/// Hits of the past beside memories.
const BESIDE_MAX: usize = 5;

/// Where a question is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SearchPlace {
    Memory,
    Past,
    All,
}

/// Answers with turns of the past alone.
pub(crate) fn alone(
    request: PastSearchRequest,
    detail: HitDetail,
    (inv, out): (&Invocation, &mut Output),
) -> CommandResult {
    catch_up(inv, out);
    out.answer(&inv.ask(request)?, |answer| people::past_found(answer, detail))
}

/// Turns of the past beside memories; none if nothing of it was ever read. A turn whose memory stands there already is
/// not told again.
pub(crate) fn beside(
    request: PastSearchRequest,
    memories: &[u64],
    inv: &Invocation,
    out: &Output,
) -> CommandResult<Option<PastSearchAnswer>> {
    // Whoever acts under a grant learns nothing of the past.
    if inv.caller().delegate.is_some() || !inv.agents().has_past() {
        return Ok(None);
    }
    catch_up(inv, out);
    let limit = request.limit.map(|limit| limit.min(BESIDE_MAX));
    let mut answer: PastSearchAnswer = inv.ask(PastSearchRequest { limit, ..request })?;
    answer.past.retain(|hit| !hit.kept.iter().any(|id| memories.contains(id)));
    Ok(Some(answer))
}

/// Reads a little of what is new, if no daemon does it all the time. What fails here is told by `cortex past read`.
fn catch_up(inv: &Invocation, out: &Output) {
    if !inv.is_own() || !inv.agents().has_past() {
        return;
    }
    match inv.agents().past_catch_up(inv.caller(), &inv.variables_of_agents()) {
        Ok(0) => {}
        Ok(left) => {
            out.say(format_args!(
                "{} MB are not read yet; `cortex past read` reads them",
                left >> 20
            ));
        }
        Err(error) => out.say(format_args!("what is new was not read: {error}")),
    }
}
