//! How a tool is started: which program, what it sees of the environment, what is written down for it, what it is
//! asked.
//!
//! What must stay true: a tool sees only the variables on the list, and no key unless the settings say so.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;
use tokio::process::{Child, Command};

use super::super::{ChatMessage, Env, ModelRequest, ProviderError, ReasonCode};
use super::{CliProvider, TOOLS_VARIABLE};
use crate::files::write_atomic;

/// Files that are there for as long as a tool runs.
#[derive(Default)]
pub(super) struct ToolFiles {
    policy: Option<PathBuf>,
    /// A script that becomes the server of the talent's tools.
    tools: Option<PathBuf>,
}

impl Drop for ToolFiles {
    fn drop(&mut self) {
        for path in self.policy.iter().chain(&self.tools) {
            // They hold no secret; a leftover does no harm.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl CliProvider {
    pub(super) fn program(&self) -> PathBuf {
        self.options.command.clone().unwrap_or_else(|| self.dialect.command().into())
    }

    /// The folder that is the tool's alone, if it is held in.
    fn scratch(&self) -> Option<&PathBuf> {
        self.options.confinement.as_ref().and_then(|confinement| confinement.scratch.as_ref())
    }

    fn environment(&self) -> Env {
        let plain = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "LANG", "TZ"];
        let starts = ["LC_", "XDG_", "CORTEX_"];
        let key_names = ["API_KEY", "TOKEN", "SECRET"];
        let own = self.dialect.own_variables();
        let mut env: Env = self
            .options
            .env
            .iter()
            .filter(|(name, _)| {
                let listed = plain.contains(&name.as_str())
                    || starts.iter().chain(own).any(|start| name.starts_with(start));
                // The tool has its own login; a key is only given if the settings say so.
                listed && !key_names.iter().any(|part| name.contains(part))
            })
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        for (name, value) in self.dialect.variables() {
            env.insert((*name).to_owned(), (*value).to_owned());
        }
        if let Some(scratch) = self.scratch() {
            // A tool that writes where everybody does would be refused there.
            for name in ["TMPDIR", "CLAUDE_CODE_TMPDIR"] {
                env.insert(name.to_owned(), scratch.display().to_string());
            }
        }
        if let Some((name, key)) = &self.options.key {
            env.insert(name.clone(), key.clone());
        }
        env
    }

    pub(super) fn prompt(&self, call: &ModelRequest) -> String {
        let mut parts = Vec::new();
        if !self.dialect.takes_system(call) && !call.system.is_empty() && call.session.is_none() {
            parts.push(call.system.as_str());
        }
        for message in &call.messages {
            if let ChatMessage::User { text } = message {
                parts.push(text);
            }
        }
        parts.join("\n\n")
    }

    pub(super) fn papers(&self, call: &ModelRequest) -> Result<ToolFiles, ProviderError> {
        let mut papers = ToolFiles::default();
        if let Some(text) = self.dialect.policy(call) {
            papers.policy = Some(self.paper("policy", "toml", &text)?);
        }
        if let Some((file, ours)) = self.dialect.workspace()
            && let Some(server) = &call.server
        {
            let words = std::iter::once(server.command.to_string_lossy().into_owned())
                .chain(server.args.iter().cloned());
            let quoted: Vec<String> =
                words.map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
            let script = format!("exec {}\n", quoted.join(" "));
            papers.tools = Some(self.paper("tools", "sh", &script)?);
            self.settle(file, ours)?;
        }
        Ok(papers)
    }

    /// Puts what is ours into a file of settings; what others wrote there stays.
    fn settle(&self, file: &str, ours: Value) -> Result<(), ProviderError> {
        let path = self.options.cwd.join(file);
        let failed = |why: String| {
            let message = format!("{}: {why}", path.display());
            ProviderError::new(ReasonCode::Unknown, message)
        };
        let before = match std::fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Value::Null,
            Err(error) => return Err(failed(error.to_string())),
        };
        let mut after = before.clone();
        lay(&mut after, ours);
        if after == before {
            return Ok(());
        }
        write_atomic(&path, format!("{after:#}\n").as_bytes())
            .map_err(|error| failed(error.to_string()))
    }

    fn paper(&self, what: &str, ending: &str, text: &str) -> Result<PathBuf, ProviderError> {
        let name = format!("cortex-{what}-{}-{}.{ending}", self.name, std::process::id());
        let folder = self.scratch().unwrap_or(&self.options.scratch);
        let path = folder.join(name);
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
        written.map_err(|error| {
            let message = format!("the {what} file cannot be written: {error}");
            ProviderError::new(ReasonCode::Unknown, message)
        })?;
        Ok(path)
    }

    pub(super) fn spawn(
        &self,
        call: &ModelRequest,
        papers: &ToolFiles,
    ) -> Result<Child, ProviderError> {
        let program = self.program();
        // A folder must be there before it can be granted.
        for folder in self.scratch().into_iter().chain([&self.options.cwd]) {
            std::fs::create_dir_all(folder).map_err(|error| {
                let message = format!("{} cannot be made: {error}", folder.display());
                ProviderError::new(ReasonCode::Unknown, message)
            })?;
        }
        let words =
            self.options.confinement.iter().flat_map(|confinement| confinement.launcher.iter());
        let mut words = words.map(OsString::as_os_str).chain([program.as_os_str()]);
        let mut command = Command::new(words.next().unwrap_or(program.as_os_str()));
        command
            .args(words)
            .args(self.dialect.args(call, papers.policy.as_ref()))
            .env_clear()
            .envs(self.environment())
            .envs(papers.tools.iter().map(|path| (TOOLS_VARIABLE, path)))
            .current_dir(&self.options.cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command.spawn().map_err(|error| {
            let message = format!("{} cannot be started: {error}", program.display());
            ProviderError::new(ReasonCode::Unavailable, message)
        })
    }
}

/// Lays a value over another: objects key by key, anything else as a whole.
fn lay(below: &mut Value, over: Value) {
    match over {
        Value::Object(over) => {
            if !below.is_object() {
                *below = Value::Object(serde_json::Map::new());
            }
            for (key, value) in over {
                lay(&mut below[key.as_str()], value);
            }
        }
        over => *below = over,
    }
}
