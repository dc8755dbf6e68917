//! Events of runs as lines for people.

use std::time::Duration;

use api::run::{RunEvent, RunEventKind};
use serde_json::{Value, json};

/// What a person should see of an event: one line; nothing for what only programs want.
pub fn summary(event: &RunEvent) -> Option<String> {
    let text = |key: &str| event.text(key).unwrap_or_default();
    let line = match event.kind() {
        RunEventKind::Spawned => format!("process {}", event.get("pid").unwrap_or(&json!("?"))),
        RunEventKind::Start => format!("{} of {}", text("model"), text("provider")),
        RunEventKind::Thinking => format!("thinks: {}", text("summary")),
        RunEventKind::ToolStart => {
            let args = event.get("args").map(Value::to_string).unwrap_or_default();
            format!("tool {} {args}", text("tool"))
        }
        RunEventKind::ToolEnd => {
            let failed = event.get("result").and_then(|result| result.get("error")).is_some();
            let how = if failed { "failed" } else { "answered" };
            let took = event.get("duration_ms").and_then(Value::as_u64).map(Duration::from_millis);
            let took = took.map(|took| format!(" after {:.1} s", took.as_secs_f64()));
            format!("tool {} {how}{}", text("tool"), took.unwrap_or_default())
        }
        RunEventKind::Progress => {
            let number = |key: &str| event.get(key).and_then(Value::as_u64).unwrap_or_default();
            let again = event.get("reused").and_then(Value::as_bool).unwrap_or_default();
            let level = if number("level") > 1 { " of the notes" } else { "" };
            let before = if again { ", as it was read before" } else { "" };
            format!("read part {} of {}{level}{before}", number("part"), number("parts"))
        }
        RunEventKind::TalentUpdated => format!("{} goes on", text("agent")),
        RunEventKind::Warning => format!("warning: {}", text("message")),
        RunEventKind::Fallback => format!("goes on with {} of {}", text("model"), text("provider")),
        RunEventKind::Info => text("message").to_owned(),
        RunEventKind::Error if !event.is_terminal() => format!("error: {}", text("error")),
        _ => return None,
    };
    let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    Some(shortened(line.trim(), 200))
}

fn shortened(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
