//! Counters of what was asked, in the text format of Prometheus.
//!
//! Labels come from a closed set (route templates, known methods), so that nobody can make the list grow.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use api::health::LedgerCheckView;
use axum::http::{Method, StatusCode};

use daemon::talents_host::RunCounts;
use host::operations::mind::MindCounts;

/// Upper bounds of the durations that are told apart, in milliseconds.
const BOUNDS_MS: [u64; 9] = [1, 5, 10, 25, 50, 100, 250, 1_000, 5_000];

#[derive(Debug)]
pub(super) struct Metrics {
    started: Instant,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    requests: BTreeMap<(&'static str, String, u16), u64>,
    within: [u64; BOUNDS_MS.len()],
    total: u64,
    time: Duration,
}

impl Metrics {
    pub(super) fn new(started: Instant) -> Metrics {
        Metrics { started, counts: Mutex::default() }
    }

    pub(super) fn count(&self, method: &Method, route: &str, status: StatusCode, took: Duration) {
        let method = match method.as_str() {
            "GET" => "GET",
            "HEAD" => "HEAD",
            "POST" => "POST",
            "PUT" => "PUT",
            "PATCH" => "PATCH",
            "DELETE" => "DELETE",
            _ => "other",
        };
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.requests.entry((method, route.to_owned(), status.as_u16())).or_default() += 1;
        for (within, bound) in counts.within.iter_mut().zip(BOUNDS_MS) {
            *within += u64::from(took <= Duration::from_millis(bound));
        }
        counts.total += 1;
        counts.time += took;
    }

    pub(super) fn text(&self, open_actors: usize) -> String {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        let mut line = |args: std::fmt::Arguments<'_>| {
            writeln!(text, "{args}").expect("a String takes any text");
        };
        line(format_args!("# HELP cortex_build_info The version that runs."));
        line(format_args!("# TYPE cortex_build_info gauge"));
        line(format_args!("cortex_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION")));
        line(format_args!("# HELP cortex_uptime_seconds Since HTTP is served."));
        line(format_args!("# TYPE cortex_uptime_seconds gauge"));
        line(format_args!("cortex_uptime_seconds {}", self.started.elapsed().as_secs()));
        line(format_args!("# HELP cortex_open_actors Memories that are open."));
        line(format_args!("# TYPE cortex_open_actors gauge"));
        line(format_args!("cortex_open_actors {open_actors}"));
        line(format_args!("# HELP cortex_http_requests_total Requests answered."));
        line(format_args!("# TYPE cortex_http_requests_total counter"));
        for ((method, route, status), count) in &counts.requests {
            line(format_args!(
                "cortex_http_requests_total{{method=\"{method}\",route=\"{route}\",status=\"{status}\"}} {count}"
            ));
        }
        line(format_args!("# HELP cortex_http_request_duration_seconds Until the answer began."));
        line(format_args!("# TYPE cortex_http_request_duration_seconds histogram"));
        for (within, bound) in counts.within.iter().zip(BOUNDS_MS) {
            let bound = Duration::from_millis(bound).as_secs_f64();
            line(format_args!(
                "cortex_http_request_duration_seconds_bucket{{le=\"{bound}\"}} {within}"
            ));
        }
        let (total, time) = (counts.total, counts.time.as_secs_f64());
        line(format_args!("cortex_http_request_duration_seconds_bucket{{le=\"+Inf\"}} {total}"));
        line(format_args!("cortex_http_request_duration_seconds_sum {time}"));
        line(format_args!("cortex_http_request_duration_seconds_count {total}"));
        text
    }
}

/// What runs of talents have to tell.
pub(super) fn of_talents(counts: &RunCounts) -> String {
    let runner = &counts.runner;
    let gauges = [
        ("cortex_runs_active", "Runs that go on.", runner.running.len() as u64),
        ("cortex_runs_queued", "Runs that wait.", runner.queued.len() as u64),
        ("cortex_bus_clients", "Processes connected to the bus.", counts.bus_clients as u64),
    ];
    let counters = [
        ("cortex_runs_started_total", "Runs whose process was started.", runner.counters.started),
        ("cortex_runs_rejected_total", "Requests that were not taken.", runner.counters.rejected),
        ("cortex_attest_failures_total", "Ends not attested.", counts.attest_failures),
        ("cortex_bus_messages_total", "Messages on the bus.", counts.bus.published),
        ("cortex_bus_dropped_total", "Messages that slow listeners lost.", counts.bus.dropped),
    ];
    let mut text = String::new();
    for (kind, values) in [("gauge", &gauges[..]), ("counter", &counters[..])] {
        for (name, about, value) in values {
            writeln!(text, "# HELP {name} {about}\n# TYPE {name} {kind}\n{name} {value}")
                .expect("a String takes any text");
        }
    }
    text.push_str("# HELP cortex_runs_ended_total Runs that ended, by how.\n");
    text.push_str("# TYPE cortex_runs_ended_total counter\n");
    for (outcome, count) in counts.ended {
        writeln!(text, "cortex_runs_ended_total{{outcome=\"{outcome}\"}} {count}")
            .expect("a String takes any text");
    }
    text
}

/// What the minds did. Their names are those of actors, jobs and purposes, none of which a request can make up.
pub(super) fn of_minds(counts: &MindCounts) -> String {
    let mut text = String::new();
    let kinds = [
        ("cortex_mind_job_runs_total", "counter", "Runs of a job that began.", &counts.job_runs),
        ("cortex_mind_job_failures", "gauge", "Failures of a job in a row.", &counts.job_failures),
        ("cortex_mind_job_running", "gauge", "1 while a job runs.", &counts.job_running),
        ("cortex_mind_job_paused", "gauge", "1 while a job is paused.", &counts.job_paused),
        ("cortex_mind_job_last_milliseconds", "gauge", "What its last run took.", &counts.job_took),
        ("cortex_mind_changes_total", "counter", "Memories changed by jobs.", &counts.changes),
        ("cortex_processes_stopped_total", "counter", "Stuck ones stopped.", &counts.stopped),
        ("cortex_bulletin_words", "gauge", "Words of the bulletin.", &counts.words),
        ("cortex_budget_microdollars_today", "gauge", "Spent this day.", &counts.micro_dollars),
        ("cortex_mind_warmup_state", "gauge", "1 for the state it is in.", &counts.warmup),
        ("cortex_mind_breaker_open", "gauge", "1 while it is left alone.", &counts.breakers),
        ("cortex_bulletin_age_seconds", "gauge", "Since memories were looked at.", &counts.age),
        ("cortex_budget_tokens_today", "gauge", "Tokens spent this UTC day.", &counts.tokens),
        ("cold_dispatch_total", "counter", "Begun before warm-up was complete.", &counts.cold),
    ];
    for (name, kind, about, samples) in kinds {
        writeln!(text, "# HELP {name} {about}\n# TYPE {name} {kind}")
            .expect("a String takes any text");
        for (labels, value) in samples {
            let labels: Vec<String> = labels
                .iter()
                .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
                .collect();
            writeln!(text, "{name}{{{}}} {value}", labels.join(","))
                .expect("a String takes any text");
        }
    }
    text
}

/// What the last reads of the ledgers came to.
pub(super) fn of_ledgers(checks: &[(String, LedgerCheckView)]) -> String {
    let mut text = String::new();
    type Count = fn(&LedgerCheckView) -> usize;
    let kinds: [(&str, &str, Count); 2] = [
        ("cortex_ledger_read_entries", "Entries in the last read of a ledger.", |check| {
            usize::try_from(check.entries).unwrap_or(usize::MAX)
        }),
        ("cortex_ledger_problems", "Damage found by it.", |check| check.problems.len()),
    ];
    for (name, about, value) in kinds {
        writeln!(text, "# HELP {name} {about}\n# TYPE {name} gauge")
            .expect("a String takes any text");
        for (actor, check) in checks {
            writeln!(text, "{name}{{actor=\"{actor}\"}} {}", value(check))
                .expect("a String takes any text");
        }
    }
    text
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
