//! `codex exec --json`.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::super::{ModelRequest, OwnTools};
use super::{CliTranscript, Dialect, SERVER};

pub(super) struct Codex;

/// Every tool it brings, switched off by the name it has in its settings.
const NO_TOOLS: &[&str] = &[
    "features.shell_tool=false",
    "features.unified_exec=false",
    "features.apply_patch_freeform=false",
    "include_apply_patch_tool=false",
    "tools.view_image=false",
    "tools.web_search=false",
    "web_search=\"disabled\"",
    "features.multi_agent=false",
    "features.apps=false",
];

impl Dialect for Codex {
    fn command(&self) -> &'static str {
        "codex"
    }

    fn own_variables(&self) -> &'static [&'static str] {
        &["OPENAI_", "CODEX_"]
    }

    fn args(&self, call: &ModelRequest, _: Option<&PathBuf>) -> Vec<OsString> {
        let sandbox =
            if call.own_tools == OwnTools::Write { "workspace-write" } else { "read-only" };
        let mut args: Vec<OsString> =
            ["exec", "--json", "--skip-git-repo-check", "-s", sandbox, "-m"].map(Into::into).into();
        args.push(OsString::from(&call.model));
        if call.own_tools == OwnTools::None {
            args.extend(NO_TOOLS.iter().flat_map(|setting| ["-c", *setting]).map(Into::into));
        }
        if let Some(server) = &call.server {
            let settings = [
                ("command", json!(server.command)),
                ("args", json!(server.args)),
                ("enabled_tools", json!(server.tools)),
            ];
            // Texts and lists of texts are written the same in JSON and in TOML.
            for (key, value) in settings {
                args.extend(["-c".into(), format!("mcp_servers.{SERVER}.{key}={value}").into()]);
            }
        }
        if let Some(session) = &call.session {
            args.extend(["resume".into(), OsString::from(session)]);
        }
        args.push("-".into());
        args
    }

    fn line(&self, line: &Value, transcript: &mut CliTranscript) {
        let item = &line["item"];
        let id = item["id"].as_str().unwrap_or_default();
        let text = |key: &str| item[key].as_str().unwrap_or_default();
        match line["type"].as_str().unwrap_or_default() {
            "thread.started" => transcript.session = line["thread_id"].as_str().map(str::to_owned),
            "item.started" => start(id, item, transcript),
            "item.completed" => match text("type") {
                "agent_message" => transcript.text(text("text")),
                "reasoning" => transcript.thinking(text("text")),
                "error" => transcript.thinking(text("message")),
                _ => {
                    if !transcript.is_open(id) {
                        start(id, item, transcript);
                    }
                    transcript.tool_end(id, result(item));
                }
            },
            "turn.completed" => {
                let number = |key: &str| line["usage"][key].as_u64().unwrap_or_default();
                let usage = &mut transcript.usage;
                usage.input_tokens += number("input_tokens");
                usage.cached_tokens += number("cached_input_tokens");
                usage.output_tokens += number("output_tokens");
                usage.reasoning_tokens += number("reasoning_output_tokens");
                usage.total_tokens = usage.input_tokens + usage.output_tokens;
                usage.requests += 1;
            }
            "turn.failed" => {
                let told = line["error"]["message"].as_str().unwrap_or("the turn failed");
                transcript.error = Some(told.to_owned());
            }
            // Codex tells about its own retries this way, too; only a failed turn is an end.
            "error" => transcript.thinking(line["message"].as_str().unwrap_or_default()),
            _ => {}
        }
    }
}

fn start(id: &str, item: &Value, transcript: &mut CliTranscript) {
    let args = match item["type"].as_str().unwrap_or_default() {
        "command_execution" => json!({"command": item["command"]}),
        "mcp_tool_call" => item["arguments"].clone(),
        "web_search" => json!({"query": item["query"]}),
        "file_change" => json!({"changes": item["changes"]}),
        _ => return,
    };
    let tool = match item["type"].as_str() {
        Some("mcp_tool_call") => item["tool"].as_str().unwrap_or("mcp_tool_call"),
        other => other.unwrap_or_default(),
    };
    transcript.tool_start(id, tool, args);
}

fn result(item: &Value) -> Value {
    match item["type"].as_str().unwrap_or_default() {
        "command_execution" => {
            json!({"output": item["aggregated_output"], "exit_code": item["exit_code"]})
        }
        "mcp_tool_call" if !item["error"].is_null() => json!({"error": item["error"]}),
        "mcp_tool_call" => item["result"].clone(),
        _ => json!({"status": item["status"]}),
    }
}
