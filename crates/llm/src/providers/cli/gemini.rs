//! `gemini` with JSON lines.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::super::{ModelRequest, OwnTools};
use super::{CliTranscript, Dialect, SERVER, TOOLS_VARIABLE};

pub(super) struct Gemini;

/// What a run that only reads may not use. Without a policy, a tool that nobody approves would hang the run.
const READ_ONLY: &str = r#"[[rule]]
toolName = ["run_shell_command", "write_file", "replace", "save_memory"]
decision = "deny"
priority = 900
"#;

/// What a run without tools may not use: anything.
const NOTHING: &str = r#"[[rule]]
toolName = "*"
decision = "deny"
priority = 950
"#;

/// No server has this name.
const NO_SERVER: &str = "cortex-none";

impl Dialect for Gemini {
    fn command(&self) -> &'static str {
        "gemini"
    }

    fn own_variables(&self) -> &'static [&'static str] {
        &["GEMINI_", "GOOGLE_"]
    }

    /// In a folder that nobody has called trusted it would ask before everything.
    fn variables(&self) -> &'static [(&'static str, &'static str)] {
        &[("GEMINI_CLI_TRUST_WORKSPACE", "true")]
    }

    fn args(&self, call: &ModelRequest, policy: Option<&PathBuf>) -> Vec<OsString> {
        let mut args: Vec<OsString> =
            ["--output-format", "stream-json", "--approval-mode", "yolo", "-m"]
                .map(Into::into)
                .into();
        args.push(OsString::from(&call.model));
        if let Some(policy) = policy {
            args.extend(["--policy".into(), policy.into()]);
        }
        // A name that no server has: what the person has set up for himself is not the talent's.
        let server = if call.server.is_some() { SERVER } else { NO_SERVER };
        args.extend(["--allowed-mcp-server-names", server].map(Into::into));
        if let Some(session) = &call.session {
            args.extend(["--resume".into(), OsString::from(session)]);
        }
        args
    }

    fn policy(&self, call: &ModelRequest) -> Option<String> {
        match call.own_tools {
            OwnTools::None => Some(NOTHING.to_owned()),
            OwnTools::Read => Some(READ_ONLY.to_owned()),
            OwnTools::Write => None,
        }
    }

    /// It takes settings of the system only from root, and those of the person are not ours to change.
    fn workspace(&self) -> Option<(&'static str, Value)> {
        let script = format!("${{{TOOLS_VARIABLE}}}");
        let server = json!({"command": "/bin/sh", "args": [script], "trust": true});
        Some((".gemini/settings.json", json!({"mcpServers": {SERVER: server}})))
    }

    fn line(&self, line: &Value, transcript: &mut CliTranscript) {
        let text = |key: &str| line[key].as_str().unwrap_or_default();
        match text("type") {
            "init" => {
                transcript.session = line["session_id"].as_str().map(str::to_owned);
                transcript.model = line["model"].as_str().map(str::to_owned);
            }
            "message" if line["role"] == "assistant" => {
                if line["delta"] == true {
                    transcript.text_piece(text("content"));
                } else {
                    transcript.text(text("content"));
                }
            }
            "tool_use" => {
                transcript.tool_start(
                    text("tool_id"),
                    text("tool_name"),
                    line["parameters"].clone(),
                );
            }
            "tool_result" => {
                let result = if line["status"] == "error" {
                    json!({"error": line["error"], "output": line["output"]})
                } else {
                    line["output"].clone()
                };
                transcript.tool_end(text("tool_id"), result);
            }
            "result" => {
                let stats = &line["stats"];
                let number = |key: &str| stats[key].as_u64().unwrap_or_default();
                let usage = &mut transcript.usage;
                usage.input_tokens = number("input_tokens");
                usage.output_tokens = number("output_tokens");
                usage.cached_tokens = number("cached");
                usage.total_tokens = usage.input_tokens + usage.output_tokens;
                if line["status"] == "error" {
                    let told = line["error"]["message"].as_str().unwrap_or("the run failed");
                    transcript.error = Some(told.to_owned());
                }
            }
            _ => {}
        }
    }
}
