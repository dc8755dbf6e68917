//! The cortex hook: looks over the shoulder of every run and passes on what it sees. It never alters or stops what it
//! watches.

use std::sync::mpsc::SyncSender;

use crate::supervision::{ProcessEvent, ProcessId};
use api::admin::ProcessKind;

/// What the watched run does next: the hook only ever says to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookAction {
    Continue,
}

/// Watches one run. If the queue is full, what is seen is dropped rather than the run held up.
#[derive(Clone, Debug)]
pub struct CortexHook {
    pub agent_id: String,
    pub process: ProcessId,
    pub event_tx: SyncSender<ProcessEvent>,
}

impl CortexHook {
    pub fn on_completion_start(&self) -> HookAction {
        self.tell(ProcessEvent::CompletionStarted { process: self.process.clone() })
    }

    pub fn on_completion_response(&self, tokens: u64) -> HookAction {
        self.tell(ProcessEvent::CompletionEnded { process: self.process.clone(), tokens })
    }

    pub fn on_tool_start(&self, tool_name: &str) -> HookAction {
        let (process, tool_name) = (self.process.clone(), tool_name.to_owned());
        self.tell(ProcessEvent::ToolStarted { process, tool_name })
    }

    /// `result` counts as a failure if it is a JSON object with `success` or `ok` false, or with `error`; `broken` if
    /// the tool would have failed whatever it was asked.
    pub fn on_tool_result(&self, tool_name: &str, result: &str, broken: bool) -> HookAction {
        let (process, tool_name) = (self.process.clone(), tool_name.to_owned());
        let error = failure(result);
        self.tell(ProcessEvent::ToolCompleted { process, tool_name, error, broken })
    }

    /// What the process does now, for whoever watches it. A channel says it by answering.
    pub fn on_status(&self, channel_id: Option<&str>, status: &str) -> HookAction {
        let (id, status) = (self.process.id.clone(), status.to_owned());
        match self.process.kind {
            ProcessKind::Channel => HookAction::Continue,
            ProcessKind::Branch => {
                let channel_id = channel_id.unwrap_or_default().to_owned();
                self.tell(ProcessEvent::BranchStatus { branch_id: id, channel_id, status })
            }
            ProcessKind::Worker => {
                let channel_id = channel_id.map(str::to_owned);
                self.tell(ProcessEvent::WorkerStatus { worker_id: id, channel_id, status })
            }
        }
    }

    /// The process waits for its turn.
    pub fn on_queued(&self) -> HookAction {
        self.tell(ProcessEvent::Queued { process: self.process.clone() })
    }

    fn tell(&self, event: ProcessEvent) -> HookAction {
        match self.event_tx.try_send(event) {
            Ok(()) | Err(_) => HookAction::Continue,
        }
    }
}

/// Results longer than this are not looked into.
const RESULT_BYTES_MAX: usize = 16_384;

/// Why a tool failed, as far as its result tells.
pub fn failure(result: &str) -> Option<String> {
    if result.len() > RESULT_BYTES_MAX {
        return None;
    }
    let value: serde_json::Value = serde_json::from_str(result).ok()?;
    let object = value.as_object()?;
    let said = |key: &str| object.get(key).and_then(serde_json::Value::as_bool) == Some(false);
    let error = object.get("error").filter(|error| !error.is_null() && **error != false);
    if error.is_none() && !said("success") && !said("ok") {
        return None;
    }
    let text = error.or_else(|| object.get("message"));
    Some(text.map_or_else(
        || "failed".to_owned(),
        |text| text.as_str().map_or_else(|| text.to_string(), str::to_owned),
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    // mind 106-110
    #[test]
    fn it_sees_everything_and_always_says_continue() {
        let (event_tx, events) = sync_channel(2);
        let process = ProcessId::worker("w1");
        let hook = CortexHook { agent_id: "ada".into(), process, event_tx };
        assert_eq!(hook.on_completion_response(12), HookAction::Continue);
        let result = r#"{"success": false, "error": "no such host"}"#;
        assert_eq!(hook.on_tool_result("web_fetch", result, true), HookAction::Continue);
        // The queue is full: the run goes on all the same.
        assert_eq!(hook.on_tool_start("web_fetch"), HookAction::Continue);
        assert!(matches!(events.recv().unwrap(), ProcessEvent::CompletionEnded { tokens: 12, .. }));
        let ProcessEvent::ToolCompleted { error, broken, .. } = events.recv().unwrap() else {
            panic!()
        };
        assert_eq!((error.as_deref(), broken), (Some("no such host"), true));
        drop(events);
        assert_eq!(hook.on_completion_start(), HookAction::Continue);
    }

    #[test]
    fn a_result_fails_only_if_it_says_so() {
        assert_eq!(failure("plain text about an error"), None);
        assert_eq!(failure(r#"{"ok": true, "error": null}"#), None);
        assert_eq!(failure(r#"{"ok": false}"#).as_deref(), Some("failed"));
        assert_eq!(failure(r#"{"error": {"code": 7}}"#).as_deref(), Some(r#"{"code":7}"#));
    }
}
