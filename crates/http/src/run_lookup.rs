//! Runs as routes name them: the runner if there is one, the id in a path, and the answer about a run that is unknown.
//!
//! Both `runs` and `events` stand on this module, so it uses neither.

use std::sync::Arc;

use api::ErrorCode;
use axum::http::StatusCode;
use daemon::talents_host::TalentsHost;
use talents::UseId;

use crate::App;
use crate::problem::Problem;

/// What runs talents here, or the answer that nothing does.
pub(super) fn talents_host(app: &App) -> Result<&Arc<TalentsHost>, Problem> {
    app.talents_host.as_ref().ok_or_else(|| {
        let message = "talents cannot run here";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, ErrorCode::NotServed, message)
            .with_hint("`cortex status` says why")
    })
}

pub(super) fn run_id(text: &str) -> Result<UseId, Problem> {
    UseId::parse(text)
        .map_err(|error| Problem::bad(ErrorCode::named(error.code()), error.to_string()))
}

pub(super) fn no_run(run: &UseId) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, ErrorCode::NoSuchRun, format!("there is no run {run}"))
}
