//! How an agent starts Cortex: the program, its arguments, and the same as one line for a shell.

use std::path::{Path, PathBuf};

use crate::agent::Agent;
use crate::hooks::EventName;
use crate::setup::places::{Scope, System};

/// What is written into settings so that an agent can start Cortex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Launch {
    /// `cortex`, or the absolute path of the program.
    pub program: String,
    /// Options that say whose memory it is, if that is not the default.
    pub globals: Vec<String>,
    /// Which tools agents get.
    pub tools: String,
    pub system: System,
}

/// Where the running program is, and where a shell would find it.
#[derive(Clone, Debug)]
pub struct Program {
    pub running: PathBuf,
    /// The entry on PATH that leads to the running program. A link is kept as it is: it survives upgrades.
    pub on_path: Option<PathBuf>,
}

impl Program {
    /// The word to write down. Programs on PATH are named without their folder, so that settings can be shared and
    /// survive upgrades; a desktop often starts its programs without the shell's PATH, so those get the folder too.
    pub(crate) fn written(&self, agent: Agent, scope: Scope) -> String {
        let path = match &self.on_path {
            Some(_) if scope == Scope::Project || !agent.is_desktop() => Path::new("cortex"),
            Some(found) => found,
            None => &self.running,
        };
        path.display().to_string()
    }
}

impl Launch {
    /// The arguments of the MCP server.
    pub(super) fn server_arguments(&self) -> Vec<String> {
        let mut arguments = vec!["mcp".to_owned(), format!("--tools={}", self.tools)];
        arguments.extend(self.globals.iter().cloned());
        arguments
    }

    /// The words that run one hook.
    pub(super) fn hook_words(&self, event: EventName, agent: Agent) -> Vec<String> {
        let mut words = vec![self.program.clone()];
        words.extend(["hook", event.name(), "--agent", agent.name()].map(str::to_owned));
        words.extend(self.globals.iter().cloned());
        words
    }

    /// The same as one line, for agents that hand it to a shell.
    pub(super) fn hook_line(&self, event: EventName, agent: Agent) -> String {
        let words = self.hook_words(event, agent);
        let quoted = words.iter().map(|word| quote(word, self.system));
        quoted.collect::<Vec<_>>().join(" ")
    }
}

/// What every hook line of ours contains and nobody else's does, wherever the program is.
pub(super) fn mark(event: EventName, agent: Agent) -> String {
    format!(" hook {} --agent {}", event.name(), agent.name())
}

/// One word as a shell reads it.
fn quote(word: &str, system: System) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=,:@%+".contains(c);
    match system {
        _ if !word.is_empty() && word.chars().all(plain) => word.to_owned(),
        System::Windows => {
            if !word.is_empty() && word.chars().all(|c| plain(c) || c == '\\') {
                word.to_owned()
            } else {
                // A Windows path cannot contain a double quote.
                format!("\"{word}\"")
            }
        }
        System::Linux | System::MacOs => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(program: &str, globals: &[&str], system: System) -> Launch {
        let globals = globals.iter().map(|word| (*word).to_owned()).collect();
        Launch { program: program.into(), globals, tools: "agent".into(), system }
    }

    #[test]
    fn lines_survive_a_shell() {
        let line = |program, globals: &[&str], system| {
            launch(program, globals, system).hook_line(EventName::SessionEnd, Agent::Codex)
        };
        let tail = "hook session-end --agent codex";
        assert_eq!(line("cortex", &[], System::Linux), format!("cortex {tail}"));
        assert_eq!(line("/a b/c'd", &[], System::MacOs), format!(r"'/a b/c'\''d' {tail}"));
        assert_eq!(
            line(r"C:\x\cortex.exe", &[], System::Windows),
            format!(r"C:\x\cortex.exe {tail}")
        );
        assert_eq!(
            line(r"C:\My Tools\cortex.exe", &["--home", r"D:\m m"], System::Windows),
            format!(r#""C:\My Tools\cortex.exe" {tail} --home "D:\m m""#)
        );
    }

    #[test]
    fn every_line_carries_its_mark() {
        for agent in Agent::ALL {
            for event in EventName::ALL {
                let line =
                    launch("/a b/c", &["--home", "/x"], System::Linux).hook_line(event, agent);
                assert!(line.contains(&mark(event, agent)));
            }
        }
    }

    #[test]
    fn a_desktop_gets_the_folder_and_a_shared_file_does_not() {
        let running = PathBuf::from("/opt/cortex/bin/cortex");
        let found = Program { running: running.clone(), on_path: Some("/usr/bin/cortex".into()) };
        assert_eq!(found.written(Agent::Codex, Scope::User), "cortex");
        assert_eq!(found.written(Agent::Cursor, Scope::User), "/usr/bin/cortex");
        assert_eq!(found.written(Agent::Cursor, Scope::Project), "cortex");
        let hidden = Program { running, on_path: None };
        assert_eq!(hidden.written(Agent::Codex, Scope::User), "/opt/cortex/bin/cortex");
    }
}
