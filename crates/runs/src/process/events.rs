//! Events as lines. One task writes, so a line is never cut, whoever is cancelled meanwhile.

use std::io;
use std::sync::Arc;

use api::run::{RunEvent, RunPayload, WarningPayload};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::ZonedClock;

/// Lines that wait for the reader.
const WAITING_MAX: usize = 256;

/// The other end has gone.
#[derive(Debug)]
pub(super) struct OutputClosedError;

#[derive(Clone)]
pub(super) struct Events {
    lines: mpsc::Sender<String>,
    run: Option<(String, Arc<dyn ZonedClock>)>,
}

/// The way to an output, and the task that writes to it.
pub(super) fn writer(
    mut output: impl AsyncWrite + Unpin + Send + 'static,
) -> (Events, JoinHandle<io::Result<()>>) {
    let (lines, mut waiting) = mpsc::channel::<String>(WAITING_MAX);
    let task = tokio::spawn(async move {
        while let Some(line) = waiting.recv().await {
            output.write_all(line.as_bytes()).await?;
            output.flush().await?;
        }
        Ok(())
    });
    (Events { lines, run: None }, task)
}

impl Events {
    pub(super) fn of_run(&self, use_id: &str, clock: Arc<dyn ZonedClock>) -> Events {
        Events { lines: self.lines.clone(), run: Some((use_id.to_owned(), clock)) }
    }

    /// Says what an event of this kind carries.
    pub(super) async fn emit<P: RunPayload>(&self, payload: P) -> Result<(), OutputClosedError> {
        self.emit_event(RunEvent::of(&payload)).await
    }

    /// Says that something is not as it should be, and that the run goes on.
    pub(super) async fn warn(&self, message: &str) -> Result<(), OutputClosedError> {
        self.emit(WarningPayload { message: Some(message.to_owned()), stderr: None }).await
    }

    /// Says one event. Fields without a value are left out; only a cost that nobody knows is null.
    pub(super) async fn emit_event(&self, given: RunEvent) -> Result<(), OutputClosedError> {
        let mut event = RunEvent::default();
        event.set("event", given.name());
        if let Some((use_id, clock)) = &self.run {
            event.set("ts", clock.now().timestamp().as_millisecond());
            event.set("use_id", use_id.as_str());
        }
        for (key, value) in given.into_fields() {
            if !value.is_null() || key == "cost" {
                event.set(&key, value);
            }
        }
        // JSON escapes control characters, so the only line end is ours.
        self.lines.send(format!("{}\n", event.line())).await.map_err(|_| OutputClosedError)
    }
}
