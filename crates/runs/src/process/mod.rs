//! What the talent process does: requests in as JSON lines, events out as JSON lines.
//!
//! For each request: prepare (talent, model, sources, instructions), validate, run turns with tools, write the
//! output, finish. What must stay true: each request ends with exactly one `finish` or `error`; the output is on
//! disk before `finish` is said; events are whole lines, also when the process is told to stop; whatever was read
//! from the memory is in `cited`.

mod calls;
mod chats;
mod context;
mod error;
mod events;
mod fallback;
mod finish;
mod first_call;
mod handover;
mod parts;
mod prepare;
mod relay;
mod request;
mod room;
mod schema;
mod talent_tools;
mod toolbox;
mod tools;
mod turns;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use api::run::{FinishPayload, RunEvent, RunEventKind, StartPayload};
use jiff::Zoned;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

pub use chats::{Chat, Chats};
pub use context::{Context, Speaker, Utterance};
pub use error::RunError;
pub use request::TalentRequest;
pub use schema::validate;
pub use talent_tools::{CITED, TalentTools};
pub use toolbox::{Blame, NoTools, Spending, ToolAnswer, ToolError, ToolScene, Toolbox};
pub use tools::ChronicleTools;

use self::events::{Events, writer};
use self::prepare::{Step, prepare};
use self::toolbox::Citations;
use self::turns::RunScene;
use llm::line_codec::LineReader;
use llm::models::Resolver;
use llm::providers::Providers;
use talents::chronicle::write_atomic;
use talents::layout::Layout;
use talents::talent_files::{TIMEOUT_SECONDS, TalentCatalog, ToolGrant};

/// One request; a prompt with a whole book in it fits.
const REQUEST_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The time, in the user's zone.
pub trait ZonedClock: Send + Sync {
    fn now(&self) -> Zoned;
}

impl<F: Fn() -> Zoned + Send + Sync> ZonedClock for F {
    fn now(&self) -> Zoned {
        self()
    }
}

/// All that runs need from outside.
#[derive(Clone)]
pub struct TalentProcess {
    pub layout: Layout,
    pub catalog: Arc<TalentCatalog>,
    pub resolver: Resolver,
    pub providers: Arc<dyn Providers>,
    /// The memory's tools. Those of the chronicle are always there.
    pub toolbox: Arc<dyn Toolbox>,
    pub clock: Arc<dyn ZonedClock>,
    /// Tell what would be done and call no model.
    pub dry_run: bool,
}

impl fmt::Debug for TalentProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").field("layout", &self.layout).finish_non_exhaustive()
    }
}

/// How the requests of one process ended.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ProcessSummary {
    pub finished: usize,
    pub failed: usize,
}

impl TalentProcess {
    /// Reads requests until the input ends or `stop` becomes true; a request that is under way then ends with an error.
    pub async fn run(
        &self,
        input: impl AsyncRead + Unpin,
        output: impl AsyncWrite + Unpin + Send + 'static,
        mut stop: watch::Receiver<bool>,
    ) -> io::Result<ProcessSummary> {
        let (events, written) = writer(output);
        let mut lines = LineReader::new(input, REQUEST_BYTES_MAX);
        let mut summary = ProcessSummary::default();
        loop {
            let line = tokio::select! {
                line = lines.next() => line?,
                () = stopped(&mut stop) => break,
            };
            let Some(line) = line else { break };
            let ended = match line.text() {
                Ok(text) if text.trim().is_empty() => continue,
                Ok(text) => self.one(&text, &events, &mut stop).await,
                Err(bytes) => {
                    let why =
                        format!("the request has {bytes} bytes; {REQUEST_BYTES_MAX} are the most");
                    self.fail(&events, None, &RunError::request(why), &[], None).await
                }
            };
            match ended {
                Ok(true) => summary.finished += 1,
                Ok(false) => summary.failed += 1,
                // Nobody reads what is said: there is no use in going on.
                Err(_) => break,
            }
        }
        drop(events);
        written.await.map_err(io::Error::other)??;
        Ok(summary)
    }

    /// One request from its line to its last event; true if it finished well.
    async fn one(
        &self,
        line: &str,
        events: &Events,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<bool, events::OutputClosedError> {
        let now = self.clock.now();
        let request = match TalentRequest::parse(line, &now) {
            Ok(request) => request,
            Err(refused) => {
                let (use_id, error) = (refused.use_id.as_deref(), &refused.error);
                return self.fail(events, use_id, error, &[], None).await;
            }
        };
        let events = events.of_run(request.use_id.as_str(), Arc::clone(&self.clock));
        let limit = self.limit(&request);
        let cited = Citations::default();
        let work = tokio::time::timeout(limit, self.work(&request, &events, &cited));
        let result = tokio::select! {
            result = work => result.unwrap_or_else(|_| Err(RunError::timeout(limit))),
            () = stopped(stop) => Err(RunError::cancelled()),
        };
        match result {
            Ok(finish) => events.emit(finish).await.map(|()| true),
            Err(RunError::Unread) => Err(events::OutputClosedError),
            // What it read before it failed has its part in the failure.
            Err(error) => {
                let partial = self.keep_partial(&request, &error);
                self.fail(&events, None, &error, &cited.all(), partial).await
            }
        }
    }

    /// A little less than the runner's own limit, so that the process can still say what happened.
    fn limit(&self, request: &TalentRequest) -> Duration {
        let talent =
            self.catalog.find(&request.name).ok().and_then(|talent| talent.front.timeout_seconds);
        let seconds = request.timeout_seconds.or(talent).unwrap_or(TIMEOUT_SECONDS);
        Duration::from_secs(if seconds > 20 { seconds - 2 } else { seconds })
    }

    async fn work(
        &self,
        request: &TalentRequest,
        events: &Events,
        cited: &Citations,
    ) -> Result<FinishPayload, RunError> {
        let name = request.name.as_str();
        match prepare(self, request, ToolGrant::Write).await? {
            Step::Skip(reason) => {
                Ok(FinishPayload { name: Some(name.to_owned()), ..nothing_done(&reason) })
            }
            Step::Reuse { text, path } => Ok(FinishPayload {
                result: Some(text),
                reused: Some(true),
                output_path: Some(path),
                cited: Some(Vec::new()),
                ..FinishPayload::default()
            }),
            Step::Go(prepared) if self.dry_run => {
                let mut event = RunEvent::new(RunEventKind::DryRun);
                if let Value::Object(fields) = prepared.describe() {
                    event.fields_mut().extend(fields);
                }
                events.emit_event(event).await?;
                Ok(nothing_done("dry_run"))
            }
            Step::Go(prepared) => {
                let start = StartPayload {
                    name: Some(name.to_owned()),
                    model: Some(prepared.choice.model.clone()),
                    provider: Some(prepared.choice.provider.clone()),
                    tier: Some(prepared.choice.tier.number()),
                    prompt: request.prompt.clone(),
                    session_id: request.session_id.clone(),
                    chat_id: request.chat_id.clone(),
                };
                events.emit(start).await?;
                let scene = RunScene { process: self, request, prepared: &prepared, events, cited };
                let done = turns::run(scene).await?;
                finish::finish(self, request, &prepared, done, events).await
            }
        }
    }

    /// Keeps what there was of an answer that broke off, beside the notes on parts.
    fn keep_partial(&self, request: &TalentRequest, error: &RunError) -> Option<PathBuf> {
        let text = error.partial();
        if text.trim().is_empty() {
            return None;
        }
        let path = self.layout.parts(request.day).join(format!("{}.partial.md", request.use_id));
        write_atomic(&path, text.as_bytes()).ok().map(|()| path)
    }

    async fn fail(
        &self,
        events: &Events,
        use_id: Option<&str>,
        error: &RunError,
        cited: &[u64],
        partial: Option<PathBuf>,
    ) -> Result<bool, events::OutputClosedError> {
        let mut payload = error.payload(&self.clock.now());
        payload.partial_path = partial.map(|path| path.display().to_string());
        payload.cited = (!cited.is_empty()).then(|| cited.to_vec());
        let mut event = RunEvent::of(&payload);
        if let Some(use_id) = use_id {
            event.set("use_id", use_id);
        }
        events.emit_event(event).await.map(|()| false)
    }
}

/// The end of a run that had nothing to do.
fn nothing_done(why: &str) -> FinishPayload {
    FinishPayload {
        result: Some(String::new()),
        skipped: Some(why.to_owned()),
        ..FinishPayload::default()
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // A sender that is gone can never say stop.
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Becomes true when the process is told to end. For the outermost edge.
pub fn stop_on_signals() -> io::Result<watch::Receiver<bool>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        // Nobody listens any more: the process ends anyway.
        let _ = sender.send(true);
    });
    Ok(receiver)
}

#[cfg(test)]
mod tests;
