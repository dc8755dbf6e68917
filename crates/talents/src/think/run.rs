//! Doing what was planned: group by group, with a window of runs inside of each.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::done::{UnitDone, WorkDone};
use super::plan::{PlanContext, ThinkGroup, ThinkRequest, ThinkUnit, once_each, parts};
use super::report::{ThinkReport, UnitReport, UnitState};
use super::{RunEnd, RunLauncher, ThinkError, ThinkHooks, UnitOutput};
use crate::chronicle::segments;
use crate::layout::Layout;
use crate::names::{Day, Segment};
use crate::talent_files::TalentCatalog;

/// What a run may take beyond its own limit until its last event is here.
const GRACE: Duration = Duration::from_secs(30);

/// Works through what is asked, at most `jobs` runs at a time (0: all of a group at once). When `stop` becomes
/// true, nothing more is started and what runs is cancelled.
pub async fn run(
    layout: &Layout,
    catalog: &TalentCatalog,
    asked: &ThinkRequest,
    jobs: usize,
    runs: Arc<dyn RunLauncher>,
    hooks: Arc<dyn ThinkHooks>,
    stop: watch::Receiver<bool>,
) -> Result<ThinkReport, ThinkError> {
    let began = Instant::now();
    let phases = parts(layout, asked)?;
    let mut report = ThinkReport {
        day: asked.day.to_string(),
        problems: catalog.problems().iter().map(ToString::to_string).collect(),
        ..ThinkReport::default()
    };
    hooks.tell(json!({"event": "started", "day": report.day}));
    for segment in phases {
        let bench = PlanContext { layout, catalog, asked, segment };
        for priority in bench.priorities()? {
            if *stop.borrow() {
                break;
            }
            // Looked at now, not before: an earlier group may have written what this one depends on.
            let (group, problems) = bench.group(priority)?;
            report.problems.extend(problems);
            report.skipped.extend(group.skipped.iter().cloned());
            for (key, inputs) in &group.unnoted {
                let unit = UnitDone { inputs: inputs.clone(), ..UnitDone::default() };
                WorkDone::put(layout, asked.day, key.clone(), unit)?;
            }
            if group.units.is_empty() {
                continue;
            }
            let input = summary(layout, asked.day, segment)?;
            let key = segment.map(|segment| segment.to_string());
            hooks.tell(json!({
                "event": "group_started", "day": report.day, "segment": key, "priority": priority,
                "units": group.units.len(),
            }));
            let window =
                Window { bench: &bench, jobs, runs: &runs, hooks: &hooks, stop: stop.clone() };
            let done = window.work(group, &input).await;
            let failed = done
                .iter()
                .filter(|unit| !matches!(unit.state, UnitState::Finished | UnitState::Skipped))
                .count();
            hooks.tell(json!({
                "event": "group_completed", "day": report.day, "segment": key, "priority": priority,
                "failed": failed,
            }));
            report.units.extend(done);
        }
    }
    once_each(&mut report.problems);
    report.seconds = began.elapsed().as_secs_f64();
    hooks.tell(json!({
        "event": "completed", "day": report.day, "finished": report.finished(),
        "failed": report.failed().count(),
    }));
    Ok(report)
}

/// One line about how much there is of a day or segment.
fn summary(layout: &Layout, day: Day, segment: Option<Segment>) -> Result<String, ThinkError> {
    let all = match segment {
        Some(segment) => vec![segment],
        None => segments(layout, day)?,
    };
    let minutes = all.iter().map(|segment| segment.seconds()).sum::<u32>() / 60;
    Ok(match all.len() {
        0 => "no recordings".to_owned(),
        1 => format!("1 segment, about {minutes} minutes"),
        count => format!("{count} segments, about {minutes} minutes"),
    })
}

struct Window<'a> {
    bench: &'a PlanContext<'a>,
    jobs: usize,
    runs: &'a Arc<dyn RunLauncher>,
    hooks: &'a Arc<dyn ThinkHooks>,
    stop: watch::Receiver<bool>,
}

impl Window<'_> {
    /// As one run ends the next begins; the group is done when all have ended.
    async fn work(&self, group: ThinkGroup, input: &str) -> Vec<UnitReport> {
        let jobs = if self.jobs == 0 { usize::MAX } else { self.jobs };
        let mut waiting: VecDeque<ThinkUnit> = group.units.into();
        let mut running: JoinSet<UnitReport> = JoinSet::new();
        let mut names = HashMap::new();
        let mut done = Vec::new();
        loop {
            while running.len() < jobs
                && !*self.stop.borrow()
                && let Some(unit) = waiting.pop_front()
            {
                let report = UnitReport::of(&unit, self.bench.segment);
                names.insert(running.spawn(self.one(unit, input)).id(), report);
            }
            match running.join_next_with_id().await {
                Some(Ok((_, mut report))) => {
                    self.note(&mut report);
                    done.push(report);
                }
                Some(Err(error)) => {
                    // A unit that broke is a unit that failed, not one that is forgotten.
                    if let Some(mut report) = names.remove(&error.id()) {
                        report.state = UnitState::Failed;
                        report.reason = Some(error.to_string());
                        done.push(report);
                    }
                }
                None => break,
            }
        }
        for unit in waiting {
            let mut report = UnitReport::of(&unit, self.bench.segment);
            report.state = UnitState::Cancelled;
            done.push(report);
        }
        done.sort_by(|a, b| (&a.talent, &a.facet).cmp(&(&b.talent, &b.facet)));
        done
    }

    /// Notes a unit that is done, at once: whoever dies next must not do it again.
    fn note(&self, report: &mut UnitReport) {
        if !matches!(report.state, UnitState::Finished | UnitState::Skipped) {
            return;
        }
        let unit = UnitDone {
            inputs: report.inputs.clone(),
            use_id: report.use_id.clone(),
            by_rules: false,
        };
        let (layout, day) = (self.bench.layout, self.bench.asked.day);
        if let Err(error) = WorkDone::put(layout, day, report.key.clone(), unit) {
            report.reason = Some(format!("not noted as done: {error}"));
        }
    }

    fn one(
        &self,
        unit: ThinkUnit,
        input: &str,
    ) -> impl Future<Output = UnitReport> + Send + 'static {
        let request = self.bench.request(&unit, input);
        let (runs, hooks, mut stop) =
            (Arc::clone(self.runs), Arc::clone(self.hooks), self.stop.clone());
        let (day, segment) = (self.bench.asked.day, self.bench.segment);
        let mut report = UnitReport::of(&unit, self.bench.segment);
        async move {
            let began = Instant::now();
            let about = json!({
                "name": report.talent, "facet": report.facet, "day": day.to_string(),
                "segment": report.segment, "priority": report.priority,
            });
            match runs.start(request).await {
                Err(why) => report.reason = Some(why),
                Ok(use_id) => {
                    tell(hooks.as_ref(), "talent_started", &about, json!({"use_id": use_id}));
                    let limit = Duration::from_secs(unit.timeout_seconds) + GRACE;
                    let ended = tokio::select! {
                        ended = runs.wait(&use_id, limit) => Some(ended),
                        () = stopped(&mut stop) => None,
                    };
                    if matches!(ended, None | Some(RunEnd::TimedOut)) {
                        // Nobody will look at it any more, and the next run must not find it still at work.
                        runs.cancel(&use_id).await;
                    }
                    report.use_id = Some(use_id.clone());
                    conclude(&mut report, ended);
                    if let Some(path) =
                        report.output_path.clone().filter(|_| report.state == UnitState::Finished)
                    {
                        let output = UnitOutput {
                            path,
                            use_id,
                            talent: unit.talent.clone(),
                            title: unit.title.clone(),
                            day,
                            segment,
                            facet: unit.facet.clone(),
                        };
                        let indexed = hooks.index(&output).await;
                        report.indexed = Some(indexed.is_ok());
                        report.reason = indexed
                            .err()
                            .map(|why| format!("not indexed: {why}"))
                            .or(report.reason);
                    }
                }
            }
            report.seconds = began.elapsed().as_secs_f64();
            let end =
                json!({"use_id": report.use_id, "state": report.state, "reason": report.reason});
            tell(hooks.as_ref(), "talent_completed", &about, end);
            report
        }
    }
}

fn conclude(report: &mut UnitReport, ended: Option<RunEnd>) {
    match ended {
        None => report.state = UnitState::Cancelled,
        Some(RunEnd::TimedOut) => {
            report.state = UnitState::TimedOut;
            report.reason = Some("timeout".into());
        }
        Some(RunEnd::Failed { error, code }) => {
            report.state = UnitState::Failed;
            report.reason = Some(if error.is_empty() { code.clone() } else { error });
            report.code = Some(code);
        }
        Some(RunEnd::Finished(finish)) => {
            report.output_path = finish.output_path;
            match finish.skipped {
                Some(why) => {
                    report.state = UnitState::Skipped;
                    report.reason = Some(why);
                }
                None => report.state = UnitState::Finished,
            }
        }
    }
}

fn tell(hooks: &dyn ThinkHooks, event: &str, about: &Value, more: Value) {
    let mut told = json!({"event": event});
    for part in [about.clone(), more] {
        if let Value::Object(fields) = part {
            for (key, value) in fields {
                told[&key] = value;
            }
        }
    }
    hooks.tell(told);
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // A sender that is gone can never say stop.
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}
