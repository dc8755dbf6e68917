//! A connection to one server: opened, asked which tools it has, asked to use one.
//!
//! What must stay true: every answer comes within its time; a program has a short environment and ends with its
//! connection; no key is in what is said about a failure.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use llm::models::KeyRef;
use rmcp::model::{CallToolRequestParams, JsonObject, Tool};
use rmcp::service::RunningService;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use super::settings::{EnvValue, ServerSettings};

/// Variables that a program gets without being named.
const KEPT: [&str; 6] = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "USER"];
const TOOLS_MAX: usize = 200;
/// A key is a line; what is larger is another file.
const KEY_BYTES_MAX: u64 = 8 * 1024;

/// A tool as its server tells it.
#[derive(Clone, Debug)]
pub(super) struct ServerTool {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) schema: Value,
    pub(super) is_read_only: bool,
}

pub(super) struct CallResult {
    pub(super) value: Value,
    pub(super) failed: bool,
}

pub(super) struct Connection {
    service: RunningService<RoleClient, ()>,
    /// Killed when the connection is dropped.
    _child: Option<Child>,
}

async fn within<T, E: std::fmt::Display>(
    patience: Duration,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, String> {
    match tokio::time::timeout(patience, work).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err(format!("did not answer within {} s", patience.as_secs())),
    }
}

/// What stands where a key is found.
fn key_of(key: &KeyRef, environment: &BTreeMap<String, String>) -> Result<String, String> {
    let found = match key {
        KeyRef::Env(name) => environment.get(name).cloned().ok_or(format!("{name} is not set"))?,
        KeyRef::File(path) => {
            let failed = |error: std::io::Error| format!("{}: {error}", path.display());
            if std::fs::metadata(path).map_err(failed)?.len() > KEY_BYTES_MAX {
                return Err(format!("{} is no key", path.display()));
            }
            std::fs::read_to_string(path).map_err(failed)?
        }
    };
    Ok(found.trim().to_owned())
}

impl Connection {
    pub(super) async fn open(
        name: &str,
        server: &ServerSettings,
        environment: &BTreeMap<String, String>,
    ) -> Result<Connection, String> {
        let patience = server.patience();
        if let Some(url) = &server.url {
            let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
            if let Some(key) = &server.key {
                config = config.auth_header(key_of(key, environment)?);
            }
            let transport = StreamableHttpClientTransport::from_config(config);
            let service = within(patience, ().serve(transport)).await?;
            return Ok(Connection { service, _child: None });
        }
        let Some(command) = &server.command else { return Err(format!("{name} has no command")) };
        let mut program = Command::new(command);
        program.args(&server.args).env_clear().kill_on_drop(true);
        for name in KEPT {
            if let Some(value) = environment.get(name) {
                program.env(name, value);
            }
        }
        for (name, value) in &server.env {
            match value {
                EnvValue::Plain(value) => program.env(name, value),
                EnvValue::Key(key) => program.env(name, key_of(key, environment)?),
            };
        }
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let started = program.spawn().map_err(|error| format!("{}: {error}", command.display()));
        let mut child = started?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("has no standard streams".to_owned());
        };
        let service = within(patience, ().serve((stdout, stdin))).await?;
        Ok(Connection { service, _child: Some(child) })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.service.is_transport_closed()
    }

    pub(super) async fn tools(&self, patience: Duration) -> Result<Vec<ServerTool>, String> {
        let tools: Vec<Tool> = within(patience, self.service.list_all_tools()).await?;
        let tool = |tool: Tool| ServerTool {
            name: tool.name.to_string(),
            description: tool.description.map(|text| text.to_string()).unwrap_or_default(),
            schema: Value::Object(tool.input_schema.as_ref().clone()),
            is_read_only: tool.annotations.and_then(|notes| notes.read_only_hint).unwrap_or(false),
        };
        Ok(tools.into_iter().take(TOOLS_MAX).map(tool).collect())
    }

    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
        patience: Duration,
    ) -> Result<CallResult, String> {
        let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let result = within(patience, self.service.call_tool(request)).await?;
        let failed = result.is_error.unwrap_or(false);
        let value = match result.structured_content {
            Some(value) if !value.is_null() => value,
            _ => texts(&serde_json::to_value(&result.content).unwrap_or_default()),
        };
        Ok(CallResult { value, failed })
    }
}

/// The texts of a result; of anything else only what it is.
fn texts(content: &Value) -> Value {
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let one = |block: &Value| match block["text"].as_str() {
        Some(text) => json!(text),
        None => json!({"left_out": block["type"]}),
    };
    match blocks {
        [only] => one(only),
        many => many.iter().map(one).collect(),
    }
}
