//! What `cortex doctor` says of the past: how much there is, and whether agents write what this build knows.
//!
//! What must stay true: a home that never read the past has nothing here; drift is a warning, because what was read
//! stays.

use std::path::Path;

use api::past::{PastDrift, PastStateAnswer};

use crate::commands::setup::doctor::DoctorReport;

/// Whether anything was ever read.
pub(super) fn is_there(folder: &Path) -> bool {
    folder.join("past").join("catalog.log").exists()
}

pub(super) fn examine(answer: api::Result<PastStateAnswer>, report: &mut DoctorReport) {
    let state = match answer {
        Ok(state) => state,
        Err(error) => return report.refused("past", &error),
    };
    let (sessions, turns, agents) = (state.sessions, state.turns, state.agents.len());
    report.ok("past", format!("{turns} turns in {sessions} sessions of {agents} agents"));
    for drift in &state.drift {
        let remedy =
            format!("`cortex past report {}` shows the shapes, without values", drift.agent);
        report.warn("past", told(drift), &remedy);
    }
}

fn told(drift: &PastDrift) -> String {
    let version = drift.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    format!(
        "{}{version} writes what this build does not know: {} of {} records in {} files, {} files without a prompt",
        drift.agent, drift.unknown, drift.records, drift.files, drift.silent_files
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    // past 68
    #[test]
    fn drift_is_told_with_agent_version_and_counts() {
        let drift = PastDrift {
            agent: "codex".to_owned(),
            version: Some("9.0".to_owned()),
            files: 2,
            records: 10,
            unknown: 7,
            silent_files: 1,
        };
        let state = PastStateAnswer { drift: vec![drift], ..PastStateAnswer::default() };
        let mut report = DoctorReport { ok: true, checks: Vec::new() };
        examine(Ok(state), &mut report);
        assert!(report.ok && report.checks.len() == 2);
        let said = &report.checks[1].says;
        assert!(said.contains("codex 9.0") && said.contains("7 of 10 records"), "{said}");
    }
}
