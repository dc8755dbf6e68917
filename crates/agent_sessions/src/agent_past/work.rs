//! What was done in the past: fixes, habits, traces of files, friction; and the shapes of records.

use api::past::{
    PastFix, PastFriction, PastHabit, PastRemoval, PastReportAnswer, PastReportRequest, PastShape,
    PastTrace, PastWorkAnswer, PastWorkKind, PastWorkRequest,
};
use past::{FileQuestion, Past, WorkScope};

use super::questions::time;
use super::reading::surroundings;
use super::views::{moment, project_of};
use super::{agent_named, folders_of, refused};
use crate::AgentSessions;
use service::caller::Caller;
use service::error::{Error, Result};

const LIMIT: usize = 10;
const LIMIT_MAX: usize = 100;
/// Bytes of an error or a log that are looked at.
const TEXT_BYTES_MAX: usize = 1 << 20;

impl AgentSessions {
    pub fn past_work(&self, caller: &Caller, request: PastWorkRequest) -> Result<PastWorkAnswer> {
        let limit = request.limit.unwrap_or(LIMIT);
        if limit == 0 || limit > LIMIT_MAX {
            return Err(Error::invalid("limit", format!("must lie between 1 and {LIMIT_MAX}")));
        }
        if request.text.trim().is_empty() && request.about != PastWorkKind::Friction {
            return Err(Error::invalid("text", "name an error, words of a command, or a file"));
        }
        if request.text.len() > TEXT_BYTES_MAX {
            return Err(api::Error::too_large("text", request.text.len(), TEXT_BYTES_MAX).into());
        }
        let folder = request.project.as_deref().and_then(|project| {
            let is_pattern = project.contains('/') || project.len() > 1 && project.contains('*');
            if is_pattern { Some(project.to_owned()) } else { folders_of(project) }
        });
        let since = time(request.since.as_deref())?;
        let scope = WorkScope { folder, since, limit, turns: None };
        let answer = self.ask_past(caller, |past| answered(past, &request, &scope))?;
        Ok(answer.unwrap_or_default())
    }

    pub fn past_report(
        &self,
        caller: &Caller,
        request: PastReportRequest,
    ) -> Result<PastReportAnswer> {
        let owner = self.past_owner(caller)?;
        let agent = agent_named(&request.agent)?;
        let report =
            past::shapes(agent, &surroundings(&owner, &request.variables)?).map_err(refused)?;
        let shape =
            |count: past::ShapeCount| PastShape { shape: count.shape, records: count.records };
        Ok(PastReportAnswer {
            agent: request.agent,
            files: report.files,
            shapes: report.shapes.into_iter().map(shape).collect(),
        })
    }
}

fn answered(
    past: &Past,
    request: &PastWorkRequest,
    scope: &WorkScope,
) -> past::Result<PastWorkAnswer> {
    let mut answer = PastWorkAnswer::default();
    match request.about {
        PastWorkKind::Error => {
            answer.fixes = past.fixes(&request.text, scope)?.into_iter().map(fix).collect();
        }
        PastWorkKind::Command => {
            answer.habits = past.habits(&request.text, scope)?.into_iter().map(habit).collect();
        }
        PastWorkKind::File => {
            let asked = file(request);
            answer.traces = past.traces(&asked, scope)?.into_iter().map(trace).collect();
            if !asked.lines.is_empty() && answer.traces.iter().all(|trace| trace.lines.is_empty()) {
                answer.note =
                    Some("no recorded edit can be shown to have written these lines".to_owned());
            }
        }
        PastWorkKind::Friction => {
            answer.friction = past.friction(scope)?.into_iter().map(friction).collect();
        }
        PastWorkKind::Removed => {
            let removals = past.removals(&file(request), scope)?;
            answer.removed = removals.into_iter().map(removal).collect();
        }
    }
    Ok(answer)
}

fn file(request: &PastWorkRequest) -> FileQuestion {
    let first = request.lines.map_or(1, |(first, _)| first);
    FileQuestion {
        path: request.text.clone(),
        former: request.former.clone(),
        lines: (first..).zip(request.content.iter().cloned()).collect(),
    }
}

fn fix(fix: past::ErrorFix) -> PastFix {
    PastFix {
        error: fix.error,
        steps: fix.steps,
        sessions: fix.sessions,
        confirmed: fix.is_confirmed,
        refs: fix.references,
        at: moment(fix.at),
    }
}

fn habit(habit: past::CommandHabit) -> PastHabit {
    PastHabit {
        line: habit.line,
        sessions: habit.sessions,
        succeeded: habit.succeeded,
        failed: habit.failed,
        project: project_of(habit.folder.as_deref()),
        reference: habit.reference,
        at: moment(habit.at),
    }
}

fn trace(trace: past::FileTrace) -> PastTrace {
    PastTrace {
        role: trace.role.name().to_owned(),
        path: trace.path,
        reference: trace.reference,
        at: moment(trace.at),
        prompt: trace.prompt,
        outcome: trace.outcome,
        lines: trace.lines,
        undone: trace.is_undone,
    }
}

fn friction(error: past::ErrorRecurrence) -> PastFriction {
    PastFriction {
        error: error.error,
        sessions: error.sessions,
        times: error.times,
        first_at: moment(error.first_at),
        last_at: moment(error.last_at),
        refs: error.references,
    }
}

fn removal(removal: past::SpanRemoval) -> PastRemoval {
    PastRemoval {
        path: removal.path,
        text: removal.text,
        reference: removal.reference,
        at: moment(removal.at),
        cut: removal.is_cut,
    }
}
