//! What each agent gets: which file, in which format, with which entries.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::agent::Agent;
use crate::hooks::EventName;
use crate::setup::entry::{Entry, SettingsFault};
use crate::setup::launch::{Launch, mark};
use crate::setup::places::Places;
use crate::setup::{json, toml, yaml};

/// Our name in every list of servers.
pub(super) const SERVER: &str = "cortex";
/// What one of the first lines of a file that is ours alone says.
pub(super) const SIGNATURE: &str = "Written by `cortex setup";
/// Lines of a file that are looked at for it.
const SIGNED_LINES: usize = 3;
/// How Claude Code names all tools of our server in its list of what needs no question.
const ALLOWED: &str = "mcp__cortex";
/// Seconds that Goose waits for a tool.
const GOOSE_SECONDS: u32 = 60;
/// The tools that set-up gives, for agents that want to know them one by one.
pub const CORE_TOOLS: [&str; 8] = [
    "mem_save",
    "mem_search",
    "mem_context",
    "mem_get_observation",
    "mem_timeline",
    "mem_session_summary",
    "mem_update",
    "mem_relate",
];
/// When to look and when to save, in the words of the plugin.
const SKILL: &str = include_str!("../../../../plugin/skills/memory/SKILL.md");
/// Events that settings subscribe to.
const SUBSCRIBED: [EventName; 7] = [
    EventName::SessionStart,
    EventName::PromptSubmit,
    EventName::PreTool,
    EventName::PreCompact,
    EventName::SessionEnd,
    EventName::SubagentStop,
    EventName::Stop,
];

/// One file and what belongs into it.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// The first that exists counts, or the first.
    pub candidates: Vec<PathBuf>,
    pub content: Content,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    Json(Vec<Entry>),
    Toml(Vec<Entry>),
    Yaml(Vec<Entry>),
    /// A file that is ours alone.
    Whole(String),
}

impl Content {
    pub(super) fn entries(&self) -> &[Entry] {
        match self {
            Content::Json(entries) | Content::Toml(entries) | Content::Yaml(entries) => entries,
            Content::Whole(_) => &[],
        }
    }

    pub(super) fn read(&self, text: &str) -> Result<Value, SettingsFault> {
        match self {
            Content::Json(_) => json::read(text),
            Content::Toml(_) => toml::read(text),
            Content::Yaml(entries) => yaml::read(text, entries),
            Content::Whole(_) => Ok(Value::from(text)),
        }
    }

    pub(super) fn add(&self, text: &str) -> Result<String, SettingsFault> {
        match self {
            Content::Json(entries) => json::add(text, entries),
            Content::Toml(entries) => toml::add(text, entries),
            Content::Yaml(entries) => yaml::add(text, entries),
            Content::Whole(whole) => {
                if text.is_empty() || is_signed(text) {
                    Ok(whole.clone())
                } else {
                    Err(SettingsFault::at(
                        text,
                        0,
                        "this file is not from cortex and would be lost",
                    ))
                }
            }
        }
    }

    pub(super) fn remove(&self, text: &str, made: &[Vec<String>]) -> Result<String, SettingsFault> {
        match self {
            Content::Json(entries) => json::remove(text, entries, made),
            Content::Toml(entries) => toml::remove(text, entries),
            Content::Yaml(entries) => yaml::remove(text, entries),
            Content::Whole(_) => Ok(if is_signed(text) { String::new() } else { text.to_owned() }),
        }
    }

    /// Containers that adding would make.
    pub(super) fn missing(&self, text: &str) -> Result<Vec<Vec<String>>, SettingsFault> {
        match self {
            Content::Json(entries) => json::missing(text, entries),
            Content::Toml(_) | Content::Yaml(_) | Content::Whole(_) => Ok(Vec::new()),
        }
    }

    /// Whether any of it is in the text.
    pub(super) fn is_in(&self, text: &str) -> Result<bool, SettingsFault> {
        if let Content::Whole(_) = self {
            return Ok(is_signed(text));
        }
        let settings = self.read(text)?;
        let entries = self.entries().iter().filter(|entry| !entry.is_required());
        Ok(entries.into_iter().any(|entry| entry.is_in(&settings)))
    }
}

/// Whether a file is ours alone.
fn is_signed(text: &str) -> bool {
    text.lines().take(SIGNED_LINES).any(|line| line.contains(SIGNATURE))
}

/// Everything that `cortex setup` writes for an agent.
pub(super) fn targets(agent: Agent, places: &Places, launch: &Launch) -> Vec<Target> {
    let mut targets = vec![Target {
        candidates: places.servers.clone(),
        content: match agent {
            Agent::Codex => Content::Toml(vec![server(agent, launch)]),
            Agent::Goose => Content::Yaml(vec![server(agent, launch)]),
            _ => Content::Json(vec![server(agent, launch)]),
        },
    }];
    if let Some(file) = &places.hooks {
        let entries = hooks(agent, launch);
        match &mut targets[0] {
            Target { candidates, content: Content::Json(servers) }
                if candidates == std::slice::from_ref(file) =>
            {
                servers.extend(entries);
            }
            _ => targets
                .push(Target { candidates: vec![file.clone()], content: Content::Json(entries) }),
        }
    }
    if let Some(file) = &places.plugin {
        let content = Content::Whole(plugin(launch));
        targets.push(Target { candidates: vec![file.clone()], content });
    }
    if let Some(file) = &places.skill {
        let content = Content::Whole(skill(agent));
        targets.push(Target { candidates: vec![file.clone()], content });
    }
    targets
}

fn server(agent: Agent, launch: &Launch) -> Entry {
    let (program, arguments) = (&launch.program, launch.server_arguments());
    let plain = json!({ "command": program, "args": arguments });
    let typed = json!({ "type": "stdio", "command": program, "args": arguments });
    let with = |mut value: Value, name: &str, field: Value| {
        value[name] = field;
        value
    };
    match agent {
        Agent::ClaudeCode => Entry::own(&["mcpServers", SERVER], typed),
        Agent::VsCode => Entry::own(&["servers", SERVER], typed),
        Agent::Codex => {
            let approved = with(plain, "default_tools_approval_mode", json!("approve"));
            Entry::own(&["mcp_servers", SERVER], approved)
        }
        // Whoever sets up a memory wants it to be used: its tools ask no question.
        Agent::GeminiCli | Agent::QwenCode => {
            Entry::own(&["mcpServers", SERVER], with(plain, "trust", json!(true)))
        }
        Agent::Cline => {
            Entry::own(&["mcpServers", SERVER], with(plain, "autoApprove", json!(CORE_TOOLS)))
        }
        Agent::Roo => {
            Entry::own(&["mcpServers", SERVER], with(plain, "alwaysAllow", json!(CORE_TOOLS)))
        }
        Agent::CopilotCli => {
            let local =
                json!({ "type": "local", "command": program, "args": arguments, "tools": ["*"] });
            Entry::own(&["mcpServers", SERVER], local)
        }
        Agent::Zed => {
            Entry::own(&["context_servers", SERVER], with(plain, "source", json!("custom")))
        }
        Agent::Cursor | Agent::Windsurf | Agent::ClaudeDesktop | Agent::Continue => {
            Entry::own(&["mcpServers", SERVER], plain)
        }
        Agent::Goose => {
            let extension = json!({
                "enabled": true, "type": "stdio", "name": SERVER, "description": "Memory that outlives sessions",
                "cmd": program, "args": arguments, "envs": {}, "timeout": GOOSE_SECONDS,
            });
            Entry::own(&["extensions", SERVER], extension)
        }
        Agent::OpenCode => {
            let mut words = vec![program.clone()];
            words.extend(arguments);
            let local = json!({ "type": "local", "command": words, "enabled": true });
            Entry::own(&["mcp", SERVER], local)
        }
    }
}

fn hooks(agent: Agent, launch: &Launch) -> Vec<Entry> {
    let mut entries = Vec::new();
    if agent == Agent::Cursor {
        entries.push(Entry::required(&["version"], json!(1)));
    }
    for event in SUBSCRIBED {
        let Some(name) = event.wire_name(agent) else { continue };
        let line = launch.hook_line(event, agent);
        let seconds = event.limit_seconds();
        let mut value = match agent {
            Agent::Cursor => json!({ "command": line, "timeout": seconds }),
            Agent::GeminiCli => {
                let hook = json!({
                    "name": SERVER, "type": "command", "command": line, "timeout": seconds * 1000
                });
                json!({ "hooks": [hook] })
            }
            _ => {
                let hook = json!({ "type": "command", "command": line, "timeout": seconds });
                json!({ "hooks": [hook] })
            }
        };
        if let Some(matcher) = event.matcher(agent) {
            value["matcher"] = json!(matcher);
        }
        entries.push(Entry::element(&["hooks", name], value, mark(event, agent)));
    }
    if agent == Agent::ClaudeCode {
        let allowed = Value::from(ALLOWED);
        entries.push(Entry::element(&["permissions", "allow"], allowed, ALLOWED.to_owned()));
    }
    entries
}

/// The skill as an agent loads it: signed, and under a name that is ours.
fn skill(agent: Agent) -> String {
    let signature = format!(
        "---\n# {SIGNATURE} {agent}`; `cortex setup {agent} --remove` deletes it. Changes made here are lost.\n"
    );
    SKILL.replacen("---\n", &signature, 1).replacen("name: memory\n", "name: cortex-memory\n", 1)
}

fn plugin(launch: &Launch) -> String {
    let program = json!(launch.program).to_string();
    let options = json!(launch.globals).to_string();
    include_str!("opencode.js")
        .replace("\"@PROGRAM@\"", &program)
        .replace("[\"@OPTIONS@\"]", &options)
}
