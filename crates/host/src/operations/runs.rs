//! Runs of talents for agents: one that is asked for, and those there were.

use std::time::Duration;

use api::run::{RunQuery, RunRecord, RunRequest, RunStatus};
use api::talent_runs::{
    TalentRunAnswer, TalentRunRequest, TalentRunView, TalentRunsAnswer, TalentRunsRequest,
};
use jiff::tz::TimeZone;
use runs::runner::log::index::RunIndex;
use serde_json::Value;
use service::Caller;
use service::error::{Error, Result};
use talents::Layout;

use crate::home::Host;

const WAIT_SECONDS: u64 = 60;
const WAIT_SECONDS_MAX: u64 = 300;
const RUNS: usize = 10;
const RUNS_MAX: usize = 100;

impl Host {
    pub fn talent_run(
        &self,
        caller: &Caller,
        request: TalentRunRequest,
    ) -> Result<TalentRunAnswer> {
        service::access::only_owner(caller, "run a talent")?;
        if request.prompt.trim().is_empty() {
            return Err(Error::invalid("prompt", "must say what is to be done".to_owned()));
        }
        let run = RunRequest {
            name: request.name,
            prompt: Some(request.prompt),
            facet: request.facet,
            actor: Some(caller.actor.as_str().to_owned()),
            ..RunRequest::default()
        };
        let runs = self.run_control()?;
        let run = runs.start(run, &caller.by)?;
        let wait = request.wait_seconds.unwrap_or(WAIT_SECONDS).min(WAIT_SECONDS_MAX);
        Ok(match runs.wait(&run, Duration::from_secs(wait)) {
            Ok(result) => TalentRunAnswer { run, result: Some(result), why: None },
            Err(why) => TalentRunAnswer { run, result: None, why: Some(why) },
        })
    }

    pub fn talent_runs(
        &self,
        caller: &Caller,
        request: TalentRunsRequest,
    ) -> Result<TalentRunsAnswer> {
        service::access::only_owner(caller, "see runs of talents")?;
        let limit = request.limit.unwrap_or(RUNS).clamp(1, RUNS_MAX);
        let live = self.run_control_if_there().map(|runs| runs.live()).unwrap_or_default();
        let mut runs: Vec<TalentRunView> = live
            .into_iter()
            .filter(|run| request.name.as_ref().is_none_or(|name| *name == run.talent))
            .map(|run| TalentRunView {
                run: run.use_id,
                name: run.talent,
                state: "running".to_owned(),
                ..TalentRunView::default()
            })
            .collect();
        let index = RunIndex::open(&Layout::new(self.folder()), TimeZone::system())
            .map_err(|error| Error::internal(format!("the index of runs: {error}")))?;
        let (ended, total) =
            index.page(&RunQuery { name: request.name, limit, ..RunQuery::default() });
        let total = total as u64 + runs.len() as u64;
        runs.extend(ended.into_iter().map(view));
        runs.truncate(limit);
        Ok(TalentRunsAnswer { runs, total })
    }
}

fn view(record: RunRecord) -> TalentRunView {
    let count = |key: &str| {
        record.usage.as_ref().and_then(|usage| usage.get(key)).and_then(Value::as_u64).unwrap_or(0)
    };
    let tokens = count("total_tokens").max(count("input_tokens") + count("output_tokens"));
    let (state, why) = match (record.status, record.skipped, record.error_message) {
        (RunStatus::Completed, Some(why), _) => ("skipped", Some(why)),
        (RunStatus::Completed, None, _) => ("finished", None),
        (RunStatus::Error, _, why) => ("failed", why),
    };
    let (state, cost) = (state.to_owned(), record.cost);
    TalentRunView { run: record.use_id, name: record.name, state, why, tokens, cost }
}
