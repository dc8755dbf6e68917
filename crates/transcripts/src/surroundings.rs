//! Where a reader looks: the person's home, the variables that agents heed, the system. All of it comes in.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// The systems whose folders differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostSystem {
    Linux,
    MacOs,
    Windows,
}

#[derive(Clone, Debug)]
pub struct PastSurroundings {
    pub home: PathBuf,
    pub system: HostSystem,
    pub variables: BTreeMap<String, String>,
}

/// Variables that say where agents keep their files.
pub const VARIABLES: [&str; 19] = [
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "FLATPAK_XDG_DATA_HOME",
    "OPENCODE_DB",
    "CURSOR_CONFIG_DIR",
    "COPILOT_HOME",
    "CLINE_SESSION_DATA_DIR",
    "CLINE_DATA_DIR",
    "CLINE_DIR",
    "GOOSE_PATH_ROOT",
    "AIDER_CHAT_HISTORY_FILE",
    "QWEN_RUNTIME_DIR",
    "QWEN_HOME",
    "PI_CODING_AGENT_DIR",
    "APPDATA",
    "LOCALAPPDATA",
];

impl PastSurroundings {
    /// A person's home without any variable.
    pub fn of_home(home: impl Into<PathBuf>) -> PastSurroundings {
        PastSurroundings {
            home: home.into(),
            system: HostSystem::Linux,
            variables: BTreeMap::new(),
        }
    }

    /// The folder that a variable names, if it is set and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<PathBuf> {
        self.variables.get(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// The folder that a variable names, or one in the home.
    pub(crate) fn variable_or(&self, name: &str, in_home: &str) -> PathBuf {
        self.variable(name).unwrap_or_else(|| self.home.join(in_home))
    }

    /// `$XDG_DATA_HOME`, also on systems that do not know it, because agents use it there.
    pub(crate) fn data(&self) -> PathBuf {
        self.variable_or("XDG_DATA_HOME", ".local/share")
    }

    /// Where applications keep their settings and the like.
    pub(crate) fn application_config(&self) -> PathBuf {
        match self.system {
            HostSystem::Linux => self.variable_or("XDG_CONFIG_HOME", ".config"),
            HostSystem::MacOs | HostSystem::Windows => self.application_data(),
        }
    }

    /// Where applications keep their data.
    pub(crate) fn application_data(&self) -> PathBuf {
        match self.system {
            HostSystem::Linux => self.data(),
            HostSystem::MacOs => self.home.join("Library").join("Application Support"),
            HostSystem::Windows => self.variable_or("APPDATA", "AppData/Roaming"),
        }
    }

    /// The folders `User` of the editors that extensions run in.
    pub(crate) fn editors(&self) -> Vec<PathBuf> {
        let config = self.application_config();
        let hosts = ["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"];
        let mut users: Vec<PathBuf> =
            hosts.iter().map(|host| config.join(host).join("User")).collect();
        users.push(self.home.join(".vscode-server").join("data").join("User"));
        users
    }
}
