//! `claude -p` with JSON lines.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::super::anthropic::usage;
use super::super::{ModelRequest, OwnTools};
use super::{CliTranscript, Dialect, SERVER};

/// One argument of a command has a largest size; a longer system text goes before the prompt.
const ARGUMENT_BYTES_MAX: usize = 100 * 1024;

pub(super) struct Claude;

impl Dialect for Claude {
    fn command(&self) -> &'static str {
        "claude"
    }

    fn own_variables(&self) -> &'static [&'static str] {
        &["ANTHROPIC_", "CLAUDE_"]
    }

    /// Otherwise it would hide the talent's few tools behind a search.
    fn variables(&self) -> &'static [(&'static str, &'static str)] {
        &[("ENABLE_TOOL_SEARCH", "false")]
    }

    fn takes_system(&self, call: &ModelRequest) -> bool {
        call.system.len() <= ARGUMENT_BYTES_MAX
    }

    fn args(&self, call: &ModelRequest, _: Option<&PathBuf>) -> Vec<OsString> {
        let mut args: Vec<OsString> =
            ["-p", "--output-format", "stream-json", "--verbose"].map(Into::into).into();
        let (mode, tools) = match call.own_tools {
            OwnTools::Write => ("acceptEdits", "Read,Grep,Glob,Edit,Write,Bash"),
            OwnTools::Read => ("plan", "Read,Grep,Glob"),
            OwnTools::None => ("plan", ""),
        };
        // Of its own tools it has these and no others, whatever else it would offer.
        args.extend(["--tools", tools, "--permission-mode", mode].map(Into::into));
        let own = tools.split(',').filter(|tool| !tool.is_empty()).map(str::to_owned);
        let served = call.server.iter().flat_map(|server| &server.tools);
        let served = served.map(|tool| format!("mcp__{SERVER}__{tool}"));
        let allowed: Vec<String> = own.chain(served).collect();
        if !allowed.is_empty() {
            args.extend(["--allowedTools".into(), allowed.join(",").into()]);
        }
        // Strict: what the person has set up for himself is not the talent's. His hooks would be programs, too.
        args.extend(
            ["--strict-mcp-config", "--settings", r#"{"disableAllHooks":true}"#].map(Into::into),
        );
        if let Some(server) = &call.server {
            let servers = json!({"mcpServers": {SERVER: {
                "command": server.command, "args": server.args,
            }}});
            args.extend(["--mcp-config".into(), servers.to_string().into()]);
        }
        args.extend(["--model".into(), OsString::from(&call.model)]);
        if !call.system.is_empty() && self.takes_system(call) {
            args.extend(["--system-prompt".into(), OsString::from(&call.system)]);
        }
        if let Some(session) = &call.session {
            args.extend(["--resume".into(), OsString::from(session)]);
        }
        args
    }

    fn line(&self, line: &Value, transcript: &mut CliTranscript) {
        match line["type"].as_str().unwrap_or_default() {
            "system" if line["subtype"] == "init" => {
                transcript.session = line["session_id"].as_str().map(str::to_owned);
                transcript.model = line["model"].as_str().map(str::to_owned);
            }
            "assistant" => {
                // What another agent says is for the one that sent it, and no part of the answer.
                let of_another = line["parent_tool_use_id"].is_string();
                for block in line["message"]["content"].as_array().into_iter().flatten() {
                    let text = |key: &str| block[key].as_str().unwrap_or_default();
                    match block["type"].as_str().unwrap_or_default() {
                        "text" if of_another => transcript.thinking(text("text")),
                        "text" => transcript.text(text("text")),
                        "thinking" => transcript.thinking(text("thinking")),
                        "tool_use" => {
                            transcript.tool_start(text("id"), text("name"), block["input"].clone());
                            if let Some(agent) = block["input"]["subagent_type"].as_str() {
                                transcript.hand_over(text("id"), agent);
                            }
                        }
                        _ => {}
                    }
                }
            }
            "user" => {
                for block in line["message"]["content"].as_array().into_iter().flatten() {
                    if block["type"] == "tool_result" {
                        let id = block["tool_use_id"].as_str().unwrap_or_default();
                        let result = if block["is_error"] == true {
                            json!({"error": block["content"]})
                        } else {
                            block["content"].clone()
                        };
                        transcript.tool_end(id, result);
                    }
                }
            }
            "result" => {
                if let Some(session) = line["session_id"].as_str() {
                    transcript.session = Some(session.to_owned());
                }
                transcript.usage = usage(&line["usage"]);
                transcript.usage.requests = line["num_turns"].as_u64().unwrap_or(1);
                transcript.cost = line["total_cost_usd"].as_f64();
                let told = line["result"].as_str().unwrap_or_default();
                if line["is_error"] == true
                    || line["subtype"].as_str().is_some_and(|word| word != "success")
                {
                    let kind = line["subtype"].as_str().unwrap_or("error");
                    transcript.error =
                        Some(if told.is_empty() { kind.to_owned() } else { told.to_owned() });
                } else if !transcript.has_text() {
                    transcript.text(told);
                }
            }
            _ => {}
        }
    }
}
