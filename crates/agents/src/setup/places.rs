//! Where each agent keeps its settings: a pure function of the surroundings.
//!
//! Nothing here looks at a disk. Where an agent reads several files, all of them are named in the order in which it
//! prefers them, and the caller takes the first that exists.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::agent::Agent;

/// The kind of system, as far as it decides where settings are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    Linux,
    MacOs,
    Windows,
}

impl System {
    /// The one this program was built for.
    pub fn current() -> System {
        if cfg!(windows) {
            System::Windows
        } else if cfg!(target_os = "macos") {
            System::MacOs
        } else {
            System::Linux
        }
    }
}

/// For whom the settings hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Everything this user does.
    User,
    /// One project folder; the files may be shared with others who work on it.
    Project,
}

impl Scope {
    pub fn name(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
        }
    }
}

/// The variables that say where programs and settings are.
const VARIABLES: [&str; 10] = [
    "APPDATA",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "COPILOT_HOME",
    "GEMINI_CLI_HOME",
    "GOOSE_PATH_ROOT",
    "HOME",
    "PATH",
    "QWEN_HOME",
    "XDG_CONFIG_HOME",
];

/// What is known about the machine and the user.
#[derive(Clone, Debug)]
pub struct Surroundings {
    pub system: System,
    /// The user's home folder.
    pub home: PathBuf,
    /// The folder that project settings are for.
    pub project: PathBuf,
    pub variables: BTreeMap<String, String>,
}

impl Surroundings {
    /// Does a variable of this name say where anything is?
    pub fn reads(name: &str) -> bool {
        VARIABLES.contains(&name)
    }

    /// The options that say whose memory it is, where that is not the default.
    pub fn options(&self, cortex_home: &Path, actor: Option<&str>) -> Vec<String> {
        let mut options = Vec::new();
        if cortex_home != self.home.join(".cortex") {
            options.extend(["--home".to_owned(), cortex_home.display().to_string()]);
        }
        if let Some(actor) = actor {
            options.extend(["--actor".to_owned(), actor.to_owned()]);
        }
        options
    }

    fn variable(&self, name: &str) -> Option<PathBuf> {
        debug_assert!(Surroundings::reads(name), "{name} is not among the variables");
        self.variables.get(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// Folders to look for programs in.
    pub(crate) fn path(&self) -> Vec<PathBuf> {
        let path = self.variables.get("PATH").map(String::as_str).unwrap_or_default();
        std::env::split_paths(path).filter(|folder| folder.is_absolute()).collect()
    }

    /// Where desktop programs keep user data.
    fn application_data(&self) -> PathBuf {
        match self.system {
            System::Linux => {
                self.variable("XDG_CONFIG_HOME").unwrap_or_else(|| self.home.join(".config"))
            }
            System::MacOs => self.home.join("Library").join("Application Support"),
            System::Windows => self
                .variable("APPDATA")
                .unwrap_or_else(|| self.home.join("AppData").join("Roaming")),
        }
    }
}

/// The files of one agent in one scope. Two roles may share a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Places {
    /// Where MCP servers are listed; the first that exists counts, or the first.
    pub servers: Vec<PathBuf>,
    /// Where hooks are listed, if the agent has hooks in a settings file.
    pub hooks: Option<PathBuf>,
    /// A file that is ours alone, if the agent loads plugins from a folder.
    pub plugin: Option<PathBuf>,
    /// Where the agent looks for skills, if it knows any: the file that says when to look and when to save.
    pub skill: Option<PathBuf>,
    /// A folder that exists once the agent has been used.
    pub folder: PathBuf,
}

/// The places of an agent, or nothing if it has no settings of that scope.
pub(super) fn places(agent: Agent, scope: Scope, at: &Surroundings) -> Option<Places> {
    let project = |folder: &str| at.project.join(folder);
    let both = |folder: PathBuf, servers: &str, hooks: Option<&str>| Places {
        servers: vec![folder.join(servers)],
        hooks: hooks.map(|name| folder.join(name)),
        plugin: None,
        skill: None,
        folder,
    };
    let with_skill = |places: Places| Places { skill: Some(skill(&places.folder)), ..places };
    Some(match (agent, scope) {
        (Agent::ClaudeCode, Scope::User) => {
            let moved = at.variable("CLAUDE_CONFIG_DIR");
            let folder = moved.clone().unwrap_or_else(|| at.home.join(".claude"));
            let state = moved.as_deref().unwrap_or(&at.home);
            Places {
                servers: vec![state.join(".claude.json")],
                hooks: Some(folder.join("settings.json")),
                plugin: None,
                skill: Some(skill(&folder)),
                folder,
            }
        }
        (Agent::ClaudeCode, Scope::Project) => Places {
            servers: vec![project(".mcp.json")],
            hooks: Some(project(".claude").join("settings.json")),
            plugin: None,
            skill: Some(skill(&project(".claude"))),
            folder: project(".claude"),
        },
        (Agent::Codex, Scope::User) => {
            let folder = at.variable("CODEX_HOME").unwrap_or_else(|| at.home.join(".codex"));
            with_skill(both(folder, "config.toml", Some("hooks.json")))
        }
        (Agent::Codex, Scope::Project) => {
            both(project(".codex"), "config.toml", Some("hooks.json"))
        }
        (Agent::GeminiCli, Scope::User) => {
            let home = at.variable("GEMINI_CLI_HOME").unwrap_or_else(|| at.home.clone());
            with_skill(both(home.join(".gemini"), "settings.json", Some("settings.json")))
        }
        (Agent::GeminiCli, Scope::Project) => {
            both(project(".gemini"), "settings.json", Some("settings.json"))
        }
        (Agent::OpenCode, Scope::User) => {
            // OpenCode follows XDG on every system, also where others do not.
            let config = at.variable("XDG_CONFIG_HOME").unwrap_or_else(|| at.home.join(".config"));
            opencode(&config.join("opencode"), &config.join("opencode"))
        }
        (Agent::OpenCode, Scope::Project) => opencode(&at.project, &project(".opencode")),
        (Agent::Cursor, Scope::User) => {
            both(at.home.join(".cursor"), "mcp.json", Some("hooks.json"))
        }
        (Agent::Cursor, Scope::Project) => both(project(".cursor"), "mcp.json", Some("hooks.json")),
        (Agent::VsCode, Scope::User) => {
            both(at.application_data().join("Code").join("User"), "mcp.json", None)
        }
        (Agent::VsCode, Scope::Project) => both(project(".vscode"), "mcp.json", None),
        (Agent::Windsurf, Scope::User) => {
            both(at.home.join(".codeium").join("windsurf"), "mcp_config.json", None)
        }
        (Agent::CopilotCli, Scope::User) => {
            let folder = at.variable("COPILOT_HOME").unwrap_or_else(|| at.home.join(".copilot"));
            both(folder, "mcp-config.json", None)
        }
        (Agent::Zed, Scope::User) => {
            // Zed follows XDG on macOS too.
            let folder = match at.system {
                System::Windows => at.application_data().join("Zed"),
                System::Linux | System::MacOs => {
                    let config = at.variable("XDG_CONFIG_HOME");
                    config.unwrap_or_else(|| at.home.join(".config")).join("zed")
                }
            };
            both(folder, "settings.json", None)
        }
        (Agent::Zed, Scope::Project) => both(project(".zed"), "settings.json", None),
        (Agent::Cline, Scope::User) => {
            both(extension(at, "saoudrizwan.claude-dev"), "cline_mcp_settings.json", None)
        }
        (Agent::Roo, Scope::User) => {
            both(extension(at, "rooveterinaryinc.roo-cline"), "mcp_settings.json", None)
        }
        (Agent::Roo, Scope::Project) => both(project(".roo"), "mcp.json", None),
        (Agent::Continue, Scope::User) => continue_in(&at.home),
        (Agent::Continue, Scope::Project) => continue_in(&at.project),
        (Agent::ClaudeDesktop, Scope::User) => {
            both(at.application_data().join("Claude"), "claude_desktop_config.json", None)
        }
        (Agent::QwenCode, Scope::User) => {
            let folder = at.variable("QWEN_HOME").unwrap_or_else(|| at.home.join(".qwen"));
            with_skill(both(folder, "settings.json", None))
        }
        (Agent::Goose, Scope::User) => both(goose(at), "config.yaml", None),
        (Agent::QwenCode, Scope::Project) => both(project(".qwen"), "settings.json", None),
        (
            Agent::Windsurf
            | Agent::CopilotCli
            | Agent::Cline
            | Agent::ClaudeDesktop
            | Agent::Goose,
            Scope::Project,
        ) => return None,
    })
}

/// The settings of an extension of VS Code.
fn extension(at: &Surroundings, name: &str) -> PathBuf {
    let user = at.application_data().join("Code").join("User");
    user.join("globalStorage").join(name).join("settings")
}

/// Goose follows XDG on macOS too.
fn goose(at: &Surroundings) -> PathBuf {
    if let Some(root) = at.variable("GOOSE_PATH_ROOT") {
        return root.join("config");
    }
    match at.system {
        System::Windows => at.application_data().join("Block").join("goose").join("config"),
        System::Linux | System::MacOs => {
            let config = at.variable("XDG_CONFIG_HOME");
            config.unwrap_or_else(|| at.home.join(".config")).join("goose")
        }
    }
}

/// Continue reads every file of a folder, so ours is one of its own.
fn continue_in(above: &Path) -> Places {
    let folder = above.join(".continue");
    Places {
        servers: vec![folder.join("mcpServers").join("cortex.json")],
        hooks: None,
        plugin: None,
        skill: None,
        folder,
    }
}

/// Our skill below the folder of an agent that knows skills.
fn skill(folder: &Path) -> PathBuf {
    folder.join("skills").join("cortex-memory").join("SKILL.md")
}

fn opencode(settings: &Path, folder: &Path) -> Places {
    Places {
        servers: vec![settings.join("opencode.jsonc"), settings.join("opencode.json")],
        hooks: None,
        plugin: Some(folder.join("plugins").join("cortex.js")),
        skill: Some(skill(folder)),
        folder: folder.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(system: System, variables: &[(&str, &str)]) -> Surroundings {
        let variables = variables.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        Surroundings { system, home: "/h".into(), project: "/p".into(), variables }
    }

    #[track_caller]
    fn check(agent: Agent, scope: Scope, at: &Surroundings, servers: &str, hooks: Option<&str>) {
        let places = places(agent, scope, at).unwrap();
        assert_eq!(places.servers[0], Path::new(servers));
        assert_eq!(places.hooks.as_deref(), hooks.map(Path::new));
    }

    #[test]
    fn user_settings_on_linux() {
        let at = at(System::Linux, &[]);
        let settings = Some("/h/.claude/settings.json");
        check(Agent::ClaudeCode, Scope::User, &at, "/h/.claude.json", settings);
        let hooks = Some("/h/.codex/hooks.json");
        check(Agent::Codex, Scope::User, &at, "/h/.codex/config.toml", hooks);
        let settings = "/h/.gemini/settings.json";
        check(Agent::GeminiCli, Scope::User, &at, settings, Some(settings));
        check(Agent::OpenCode, Scope::User, &at, "/h/.config/opencode/opencode.jsonc", None);
        let hooks = Some("/h/.cursor/hooks.json");
        check(Agent::Cursor, Scope::User, &at, "/h/.cursor/mcp.json", hooks);
        check(Agent::VsCode, Scope::User, &at, "/h/.config/Code/User/mcp.json", None);
        check(Agent::Windsurf, Scope::User, &at, "/h/.codeium/windsurf/mcp_config.json", None);
    }

    #[test]
    fn project_settings() {
        let at = at(System::Linux, &[]);
        let settings = Some("/p/.claude/settings.json");
        check(Agent::ClaudeCode, Scope::Project, &at, "/p/.mcp.json", settings);
        let hooks = Some("/p/.codex/hooks.json");
        check(Agent::Codex, Scope::Project, &at, "/p/.codex/config.toml", hooks);
        check(Agent::OpenCode, Scope::Project, &at, "/p/opencode.jsonc", None);
        check(Agent::VsCode, Scope::Project, &at, "/p/.vscode/mcp.json", None);
        assert_eq!(places(Agent::Windsurf, Scope::Project, &at), None);
    }

    // S25
    #[test]
    fn more_agents() {
        let linux = at(System::Linux, &[]);
        for (agent, file) in [
            (Agent::CopilotCli, "/h/.copilot/mcp-config.json"),
            (Agent::Zed, "/h/.config/zed/settings.json"),
            (Agent::Continue, "/h/.continue/mcpServers/cortex.json"),
            (Agent::ClaudeDesktop, "/h/.config/Claude/claude_desktop_config.json"),
            (Agent::QwenCode, "/h/.qwen/settings.json"),
            (Agent::Goose, "/h/.config/goose/config.yaml"),
            (
                Agent::Cline,
                "/h/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            ),
            (
                Agent::Roo,
                "/h/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            ),
        ] {
            check(agent, Scope::User, &linux, file, None);
        }
        let mac = at(System::MacOs, &[]);
        let file = "/h/Library/Application Support/Claude/claude_desktop_config.json";
        check(Agent::ClaudeDesktop, Scope::User, &mac, file, None);
        check(Agent::Zed, Scope::User, &mac, "/h/.config/zed/settings.json", None);
        assert_eq!(places(Agent::Cline, Scope::Project, &linux), None);
    }

    #[test]
    fn agents_that_were_moved_by_a_variable() {
        let at = at(
            System::Linux,
            &[
                ("CLAUDE_CONFIG_DIR", "/c"),
                ("CODEX_HOME", "/x"),
                ("GEMINI_CLI_HOME", "/g"),
                ("XDG_CONFIG_HOME", "/xdg"),
            ],
        );
        let settings = Some("/c/settings.json");
        check(Agent::ClaudeCode, Scope::User, &at, "/c/.claude.json", settings);
        check(Agent::Codex, Scope::User, &at, "/x/config.toml", Some("/x/hooks.json"));
        let settings = "/g/.gemini/settings.json";
        check(Agent::GeminiCli, Scope::User, &at, settings, Some(settings));
        check(Agent::OpenCode, Scope::User, &at, "/xdg/opencode/opencode.jsonc", None);
        check(Agent::VsCode, Scope::User, &at, "/xdg/Code/User/mcp.json", None);
    }

    #[test]
    fn macos_and_windows() {
        let mac = at(System::MacOs, &[("XDG_CONFIG_HOME", "/xdg")]);
        let file = "/h/Library/Application Support/Code/User/mcp.json";
        check(Agent::VsCode, Scope::User, &mac, file, None);
        let windows = at(System::Windows, &[("APPDATA", "/roaming")]);
        check(Agent::VsCode, Scope::User, &windows, "/roaming/Code/User/mcp.json", None);
        let windows = at(System::Windows, &[]);
        let file = "/h/AppData/Roaming/Code/User/mcp.json";
        check(Agent::VsCode, Scope::User, &windows, file, None);
    }
}
