//! The owner of one run: the only task that writes its log and tells its events, from waiting to the end.
//!
//! Theory of operation. The owner waits for its turn or for an order to end. It starts the process, writes the
//! request to its standard input, and then hears five things in one place: lines, standard error, the timer,
//! orders, the exit. The first of them that means an end decides the end; what the process prints afterwards is
//! late, is counted and goes nowhere. All that the run started is gone before the end is written. Then, in this
//! order: the last line is durable, observers know, the index has it, the log has its final name, the slot is free,
//! and the bus tells the end. Whoever hears the end finds all of that.

use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use api::run::{InfoPayload, RunEvent, RunEventKind};
use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdout};
use tokio::sync::{oneshot, watch};

use super::ending::End;
use super::log::event::{Stamp, info};
use super::log::tally::Tally;
use super::log::write::RunLogWriter;
use super::process::{self, Identity};
use super::request::ValidRequest;
use super::shared::RunnerContext;
use super::stderr::Stderr;
use super::{Facts, RunnerStep};
use llm::line_codec::{BoundedLine, LineReader};
use talents::bus::{BusMessage, RUN_TOPIC};

/// How long pipes may stay silent after the process has ended before nothing more is expected of them.
const DRAIN_SILENCE: Duration = Duration::from_millis(200);
/// How long pipes are read after the exit before what the process left behind is ended.
const DRAIN_BEFORE_KILL: Duration = Duration::from_secs(1);
/// How long, and how much, is read after that. What was in a pipe at the exit is less than any pipe holds, and a
/// busy machine must not cost a run its end; only a process that left its group can still write.
const DRAIN_MAX: Duration = Duration::from_secs(30);
const DRAIN_BYTES_MAX: usize = 8 << 20;
/// How long a killed process may take to be gone.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// What somebody told a run to do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Order {
    Cancel,
    Shutdown,
}

/// How far the process is on its way out, and so what the timer means.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Stage {
    /// It may go on until its time is up.
    Going,
    /// The end is known; it may leave by itself until it is asked to.
    Leaving,
    /// It was asked to leave, and is killed next.
    Terminated,
    Killed,
}

/// One run and everything that belongs to it.
pub(super) struct Owner {
    pub(super) shared: Arc<RunnerContext>,
    pub(super) request: ValidRequest,
    pub(super) facts: Facts,
    pub(super) stamp: Stamp,
    pub(super) log: RunLogWriter,
    pub(super) tally: Tally,
    pub(super) orders: watch::Receiver<Option<Order>>,
    pub(super) turn: oneshot::Receiver<()>,
}

/// The process of a run and its pipes.
struct Running {
    child: Child,
    pgid: i32,
    stdout: Option<LineReader<ChildStdout>>,
    stderr: Option<LineReader<ChildStderr>>,
    kept: Stderr,
    end: Option<End>,
    late: u64,
    left_out: u64,
}

impl Owner {
    pub(super) async fn run(mut self) {
        let begun = Instant::now();
        let order = tokio::select! {
            biased;
            order = next_order(&mut self.orders) => Some(order),
            _ = &mut self.turn => None,
        };
        let (terminal, late) = match order {
            Some(order) => (self.terminal(End::Ordered(order), None, ""), 0),
            None => self.attend().await,
        };
        self.conclude(terminal, begun.elapsed(), late).await;
    }

    /// Starts the process and hears it to its end; gives the event that ends the run.
    async fn attend(&mut self) -> (RunEvent, u64) {
        self.shared.probe(RunnerStep::BeforeSpawn);
        let env = self.shared.environment(&self.request, &self.facts, &self.stamp.use_id);
        let scratch = self.shared.layout.scratch(&self.stamp.use_id);
        // A folder must be there before it can be granted.
        let layout = &self.shared.layout;
        let spawned = [scratch.clone(), layout.chats(), layout.chronicle()]
            .iter()
            .try_for_each(std::fs::create_dir_all)
            .and_then(|()| process::spawn(&self.shared.program, self.shared.layout.home(), &env));
        let mut child = match spawned {
            Ok(child) => child,
            Err(error) => return (self.terminal(End::NotStarted(error), None, ""), 0),
        };
        self.shared.probe(RunnerStep::Spawned);
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let identity = child.id().and_then(Identity::of);
        let line_max = self.shared.settings.line_bytes_max;
        let mut running = Running {
            child,
            pgid: identity.as_ref().map_or(0, |identity| identity.pid),
            stdout: stdout.map(|pipe| LineReader::new(pipe, line_max)),
            stderr: stderr.map(|pipe| LineReader::new(pipe, line_max)),
            kept: Stderr::new(
                self.shared.layout.run_stderr(&self.stamp.name, &self.stamp.use_id),
                &self.shared.settings,
            ),
            end: None,
            late: 0,
            left_out: 0,
        };
        if let Some(identity) = identity {
            // The number is on disk before the process learns what to do.
            let event = self.stamp.complete(identity.event(), self.shared.millis());
            self.record(event, &mut running);
        }
        self.shared.probe(RunnerStep::PidLogged);
        let line = format!("{}\n", self.request.first_line(&self.stamp.use_id).line());
        let feeding = tokio::spawn(async move {
            if let Some(mut stdin) = stdin {
                // A process that does not want its request is judged by what it does, not by this.
                let _ = stdin.write_all(line.as_bytes()).await;
                // The same holds for its end: the pipe closes when it is dropped.
                let _ = stdin.shutdown().await;
            }
        });
        let exit = self.hear(&mut running).await;
        feeding.abort();
        self.drain(&mut running).await;
        // Nothing of the run is left that could use it; the next start removes what stays.
        let _ = std::fs::remove_dir_all(&scratch);
        if running.left_out > 0 {
            let text = format!("{} events were left out: the log is full", running.left_out);
            let event = self.stamp.complete(info(&text), self.shared.millis());
            self.write(event);
        }
        let trace = self.stamp.secrets.hide(&running.kept.tail()).into_owned();
        if running.kept.bytes() > 0 {
            let cut = running.kept.is_cut();
            let event = RunEvent::of(&InfoPayload {
                message: Some(trace.clone()),
                stream: Some("stderr".to_owned()),
                bytes: Some(running.kept.bytes()),
                kept_bytes: cut.then(|| running.kept.kept_bytes()),
                truncated: None,
            });
            let event = self.stamp.complete(event, self.shared.millis());
            self.write(event);
        }
        let end = running.end.take();
        let terminal = match end {
            Some(End::Reported(mut event)) => {
                let failed = exit.filter(|status| !status.success());
                if let Some(code) = failed.and_then(|status| status.code())
                    && event.get("exit_code").is_none()
                {
                    event.set("exit_code", code);
                }
                event
            }
            Some(end) => self.terminal(end, exit, &trace),
            None => self.no_finish(exit, &trace),
        };
        (terminal, running.late)
    }

    /// Hears the process until it is gone.
    async fn hear(&mut self, running: &mut Running) -> Option<ExitStatus> {
        let settings = &self.shared.settings;
        let exit_grace = Duration::from_millis(settings.exit_grace_ms);
        let stop_grace = Duration::from_millis(settings.stop_grace_ms);
        let timeout = self.shared.timeout(&self.request, &self.facts);
        let timer = tokio::time::sleep(timeout);
        tokio::pin!(timer);
        let mut stage = Stage::Going;
        loop {
            tokio::select! {
                exited = running.child.wait() => return exited.ok(),
                order = next_order(&mut self.orders), if running.end.is_none() => {
                    running.end = Some(End::Ordered(order));
                }
                () = &mut timer => match stage {
                    Stage::Going => running.end = Some(End::TimedOut),
                    Stage::Leaving => {
                        self.signal(running, Signal::TERM);
                        stage = Stage::Terminated;
                        timer.as_mut().reset(tokio::time::Instant::now() + stop_grace);
                    }
                    Stage::Terminated => {
                        self.kill(running).await;
                        stage = Stage::Killed;
                        timer.as_mut().reset(tokio::time::Instant::now() + KILL_PATIENCE);
                    }
                    // Killed, and still there: the kernel holds it. It ends when the kernel lets go; this run ends now.
                    Stage::Killed => return None,
                },
                frame = next_line(running.stdout.as_mut()), if running.stdout.is_some() => {
                    match frame {
                        Some(frame) => self.heard(&frame, running),
                        None => running.stdout = None,
                    }
                }
                frame = next_line(running.stderr.as_mut()), if running.stderr.is_some() => {
                    match frame {
                        Some(frame) => running.kept.take(&frame, &self.stamp.secrets),
                        None => running.stderr = None,
                    }
                }
            }
            if stage == Stage::Going
                && let Some(end) = &running.end
            {
                // Who told its end may leave by itself; who was ended is asked to leave at once.
                let wait =
                    if matches!(end, End::Reported(_)) { exit_grace } else { Duration::ZERO };
                stage = Stage::Leaving;
                timer.as_mut().reset(tokio::time::Instant::now() + wait);
            }
        }
    }

    fn signal(&self, running: &Running, signal: Signal) {
        if process::signal(running.pgid, signal).is_err() {
            self.shared.counters.signals_failed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Kills the process with all that descends from it.
    async fn kill(&self, running: &Running) {
        let leader = running.pgid;
        let killed = move || process::kill_tree(leader, KILL_PATIENCE);
        // It looks at all processes of the machine, which may take a while.
        if !tokio::task::spawn_blocking(killed).await.is_ok_and(|killed| killed.is_ok()) {
            self.shared.counters.signals_failed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Ends what left the group of the run and lost its parent.
    async fn end_strays(&self) {
        let (home, run) = (self.shared.layout.home().to_owned(), self.stamp.use_id.to_string());
        let ended = move || process::end_by_run(&home, &run, KILL_PATIENCE);
        if tokio::task::spawn_blocking(ended).await.is_err() {
            self.shared.counters.signals_failed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Reads what is left in the pipes after the exit, and ends whatever the process left behind.
    async fn drain(&mut self, running: &mut Running) {
        self.read_rest(running, DRAIN_BEFORE_KILL).await;
        self.end_strays().await;
        // A process that was left behind may hold the pipes open; it has no business any more.
        match process::end(running.pgid, KILL_PATIENCE).await {
            Ok(true) => {}
            Ok(false) | Err(_) => {
                self.shared.counters.signals_failed.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.read_rest(running, DRAIN_MAX).await;
    }

    async fn read_rest(&mut self, running: &mut Running, time_max: Duration) {
        let until = Instant::now() + time_max;
        let mut room = DRAIN_BYTES_MAX;
        while running.stdout.is_some() && Instant::now() < until && room > 0 {
            match tokio::time::timeout(DRAIN_SILENCE, next_line(running.stdout.as_mut())).await {
                Ok(Some(frame)) => {
                    room = room.saturating_sub(frame.bytes());
                    self.heard(&frame, running);
                }
                Ok(None) => running.stdout = None,
                Err(_) => break,
            }
        }
        while running.stderr.is_some() && Instant::now() < until && room > 0 {
            match tokio::time::timeout(DRAIN_SILENCE, next_line(running.stderr.as_mut())).await {
                Ok(Some(frame)) => {
                    room = room.saturating_sub(frame.bytes());
                    running.kept.take(&frame, &self.stamp.secrets);
                }
                Ok(None) => running.stderr = None,
                Err(_) => break,
            }
        }
    }

    /// One line of standard output.
    fn heard(&mut self, frame: &BoundedLine, running: &mut Running) {
        if running.end.is_some() {
            running.late += 1;
            return;
        }
        let event = self.stamp.hear(frame, self.shared.millis());
        if event.is_terminal() {
            running.end = Some(End::Reported(event));
        } else if event.kind() == RunEventKind::TextDelta {
            // A piece of an answer is for whoever watches; the log has the answer as a whole.
            self.shared.hub.publish(BusMessage::new(RUN_TOPIC, "").and(event.into_fields()));
        } else {
            self.record(event, running);
        }
    }

    /// Writes an event while the process runs; a log that cannot be written ends the run.
    fn record(&mut self, event: RunEvent, running: &mut Running) {
        if self.log.bytes() >= self.shared.settings.log_bytes_max {
            running.left_out += 1;
            self.tally.see_cited(&event);
            self.tally.see_usage(&event);
        } else if let Some(why) = self.write(event)
            && running.end.is_none()
        {
            running.end = Some(End::LogFailed(why));
        }
        self.shared.probe(RunnerStep::EventAppended);
    }

    /// The log first, then the bus. Gives the reason if the log could not be written.
    fn write(&mut self, event: RunEvent) -> Option<String> {
        match self.log.append(event) {
            Ok(event) => {
                self.tally.see(&event);
                self.shared.hub.publish(BusMessage::new(RUN_TOPIC, "").and(event.into_fields()));
                None
            }
            Err(error) => {
                self.shared.counters.log_failures.fetch_add(1, Ordering::Relaxed);
                Some(error.to_string())
            }
        }
    }
}

async fn next_order(orders: &mut watch::Receiver<Option<Order>>) -> Order {
    match orders.wait_for(Option::is_some).await {
        Ok(order) => order.unwrap_or(Order::Shutdown),
        // The runner is gone without a word.
        Err(_) => Order::Shutdown,
    }
}

/// The next line of a pipe; one that cannot be read any more has ended.
async fn next_line<R: AsyncRead + Unpin>(pipe: Option<&mut LineReader<R>>) -> Option<BoundedLine> {
    match pipe {
        Some(pipe) => pipe.next().await.ok().flatten(),
        None => None,
    }
}
