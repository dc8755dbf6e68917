//! The end of a run: the event that says why, and everything that follows it.

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use api::run::{RunEvent, RunEventKind};

use super::RunnerStep;
use super::owner::{Order, Owner};
use talents::bus::{BusMessage, RUN_TOPIC};

/// Why a run ended.
#[derive(Debug)]
pub(super) enum End {
    /// The process said so itself.
    Reported(RunEvent),
    Ordered(Order),
    TimedOut,
    NotStarted(io::Error),
    /// The log cannot be written.
    LogFailed(String),
}

impl Owner {
    pub(super) fn no_finish(&self, exit: Option<ExitStatus>, trace: &str) -> RunEvent {
        use std::os::unix::process::ExitStatusExt;
        let how = match exit {
            Some(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("exited with code {code}"),
                (None, Some(signal)) => format!("was killed by signal {signal}"),
                (None, None) => "ended".to_owned(),
            },
            None => "was lost".to_owned(),
        };
        let text = format!("the talent process {how} without a finish");
        self.error("no_finish", &text, exit, trace)
    }

    pub(super) fn terminal(&self, end: End, exit: Option<ExitStatus>, trace: &str) -> RunEvent {
        match end {
            End::Reported(event) => event,
            End::Ordered(Order::Cancel) => {
                self.error("cancelled", "the run was cancelled", exit, trace)
            }
            End::Ordered(Order::Shutdown) => {
                self.error("shutdown", "the daemon stopped while the run went on", exit, trace)
            }
            End::TimedOut => {
                let seconds = self.shared.timeout(&self.request, &self.facts).as_secs_f64();
                let text = format!("the run took longer than {seconds} seconds");
                self.error("timeout", &text, exit, trace)
            }
            End::NotStarted(error) => {
                let path = self.shared.program.path.display();
                self.error("spawn_failed", &format!("cannot start {path}: {error}"), exit, trace)
            }
            End::LogFailed(why) => self.error(
                "log_failed",
                &format!("the run log cannot be written: {why}"),
                exit,
                trace,
            ),
        }
    }

    fn error(&self, reason: &str, text: &str, exit: Option<ExitStatus>, trace: &str) -> RunEvent {
        let mut event = RunEvent::new(RunEventKind::Error);
        event.set("error", text);
        event.set("reason", reason);
        if !trace.is_empty() {
            event.set("trace", trace);
        }
        if let Some(code) = exit.and_then(|status| status.code()) {
            event.set("exit_code", code);
        }
        // The process could not say what it had read; its tools did.
        if !self.tally.cited().is_empty() {
            event.set("cited", self.tally.cited());
        }
        self.stamp.complete(event, self.shared.millis())
    }

    /// Writes and tells the end.
    pub(super) async fn conclude(self, mut terminal: RunEvent, took: Duration, late: u64) {
        let Owner { shared, stamp, mut log, mut tally, .. } = self;
        shared.counters.late_lines.fetch_add(late, Ordering::Relaxed);
        let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        terminal.set("duration_ms", took);
        if terminal.get("usage").is_none()
            && let Some((usage, cost)) = tally.spent()
        {
            terminal.set("usage", usage);
            terminal.set("cost", cost);
        }
        if late > 0 {
            terminal.set("late_lines", late);
        }
        let at_work = Arc::clone(&shared);
        let run = stamp.use_id.clone();
        // Syncing blocks.
        let told = tokio::task::spawn_blocking(move || {
            let written = log.append(terminal.clone()).and_then(|event| log.sync().map(|()| event));
            at_work.probe(RunnerStep::TerminalAppended);
            match written {
                Ok(event) => {
                    tally.see(&event);
                    at_work.settle(&tally, &stamp.use_id, move || log.close());
                    event
                }
                // The bus still tells the end; the log is ended by the recovery of the next start.
                Err(_) => {
                    at_work.counters.log_failures.fetch_add(1, Ordering::Relaxed);
                    terminal
                }
            }
        })
        .await;
        shared.leave(&run);
        if let Ok(event) = told {
            shared.hub.publish(BusMessage::new(RUN_TOPIC, "").and(event.into_fields()));
        }
        shared.probe(RunnerStep::Told);
    }
}
