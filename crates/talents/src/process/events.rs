//! Events as lines. One task writes, so a line is never cut, whoever is cancelled meanwhile.

use std::io;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::ZonedClock;

/// Lines that wait for the reader.
const WAITING_MAX: usize = 256;

/// The other end has gone.
#[derive(Debug)]
pub(super) struct OutputClosed;

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

    /// Says one event. Fields without a value are left out.
    pub(super) async fn emit(&self, event: &str, fields: Value) -> Result<(), OutputClosed> {
        let mut line = json!({"event": event});
        if let Some((use_id, clock)) = &self.run {
            line["ts"] = json!(clock.now().timestamp().as_millisecond());
            line["use_id"] = json!(use_id);
        }
        if let Value::Object(fields) = fields {
            for (key, value) in fields {
                if !value.is_null() || key == "cost" {
                    line[&key] = value;
                }
            }
        }
        // JSON escapes control characters, so the only line end is ours.
        self.lines.send(format!("{line}\n")).await.map_err(|_| OutputClosed)
    }
}
