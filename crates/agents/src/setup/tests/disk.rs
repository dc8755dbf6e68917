//! Real files: copies, links, permissions, folders, and nothing left behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;
use crate::setup::launch::Program;
use crate::setup::run::{Action, FileOutcome, SetupJob, remove, set_up};
use crate::setup::{SetupError, states};

struct Machine {
    folder: TempDir,
    at: Surroundings,
    program: Program,
}

impl Machine {
    fn new() -> Machine {
        let folder = TempDir::new().unwrap();
        let home = folder.path().join("home");
        let project = folder.path().join("project");
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(&project).unwrap();
        let variables = BTreeMap::new();
        let at = Surroundings { system: System::Linux, home, project, variables };
        let program = Program { running: std::env::current_exe().unwrap(), on_path: None };
        Machine { folder, at, program }
    }

    fn job<'a>(
        &'a self,
        home: &'a Path,
        agent: Agent,
        scope: Scope,
        dry_run: bool,
    ) -> SetupJob<'a> {
        SetupJob {
            agent,
            scope,
            surroundings: &self.at,
            program: &self.program,
            home,
            globals: Vec::new(),
            tools: "core".into(),
            dry_run,
        }
    }

    fn cortex(&self) -> PathBuf {
        self.at.home.join(".cortex")
    }

    fn set_up(&self, agent: Agent, scope: Scope) -> Vec<FileOutcome> {
        set_up(&self.job(&self.cortex(), agent, scope, false)).unwrap()
    }

    fn remove(&self, agent: Agent, scope: Scope) -> Vec<FileOutcome> {
        remove(&self.job(&self.cortex(), agent, scope, false)).unwrap()
    }

    /// Every file and folder, with what is in it.
    fn everything(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.folder.path().to_owned()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    found.insert(path.clone(), None);
                    open.push(path);
                } else {
                    found.insert(path.clone(), Some(fs::read(&path).unwrap()));
                }
            }
        }
        found
    }
}

fn every() -> impl Iterator<Item = (Agent, Scope)> {
    let all = Agent::ALL.into_iter();
    all.flat_map(|agent| [(agent, Scope::User), (agent, Scope::Project)]).filter(
        |(agent, scope)| {
            use Agent as A;
            let only_user = [A::Windsurf, A::CopilotCli, A::Cline, A::ClaudeDesktop, A::Goose];
            *scope == Scope::User || !only_user.contains(agent)
        },
    )
}

#[test]
fn nothing_is_left_of_any_agent_on_an_empty_machine() {
    for (agent, scope) in every() {
        let machine = Machine::new();
        let before = machine.everything();
        let made = machine.set_up(agent, scope);
        assert!(made.iter().all(|file| file.action == Action::Created), "{agent}");
        let after = machine.everything();
        let again = machine.set_up(agent, scope);
        assert!(again.iter().all(|file| file.action == Action::Unchanged), "{agent}");
        assert_eq!(machine.everything(), after);
        assert!(machine.remove(agent, scope).iter().all(|file| file.action == Action::Deleted));
        assert_eq!(machine.everything(), before, "{agent}");
    }
}

#[test]
fn all_agents_together_come_and_go_in_any_order() {
    for reversed in [false, true] {
        let machine = Machine::new();
        fs::write(machine.at.home.join(".claude.json"), "{\"numStartups\": 3}").unwrap();
        let before = machine.everything();
        let mut all: Vec<_> = every().collect();
        for (agent, scope) in &all {
            machine.set_up(*agent, *scope);
        }
        if reversed {
            all.reverse();
        }
        for (agent, scope) in &all {
            machine.remove(*agent, *scope);
        }
        assert_eq!(machine.everything(), before);
    }
}

#[test]
fn a_copy_is_kept_once_and_goes_with_the_rest() {
    let machine = Machine::new();
    let settings = machine.at.home.join(".claude.json");
    fs::write(&settings, "{}").unwrap();
    let copy = machine.at.home.join(".claude.json.before-cortex");
    let outcome = machine.set_up(Agent::ClaudeCode, Scope::User);
    assert_eq!(outcome[0].copy.as_deref(), Some(copy.as_path()));
    assert_eq!(fs::read_to_string(&copy).unwrap(), "{}");
    // Another program moves in; the copy stays the one from before the first change.
    fs::write(&settings, fs::read_to_string(&settings).unwrap().replace("stdio", "other")).unwrap();
    machine.set_up(Agent::ClaudeCode, Scope::User);
    assert_eq!(fs::read_to_string(&copy).unwrap(), "{}");
    machine.remove(Agent::ClaudeCode, Scope::User);
    assert!(!copy.exists());
}

#[test]
fn a_copy_of_somebody_else_is_not_overwritten() {
    let machine = Machine::new();
    fs::write(machine.at.home.join(".claude.json"), "{}").unwrap();
    let theirs = machine.at.home.join(".claude.json.before-cortex");
    fs::write(&theirs, "old").unwrap();
    let outcome = machine.set_up(Agent::ClaudeCode, Scope::User);
    let ours = machine.at.home.join(".claude.json.before-cortex-2");
    assert_eq!(outcome[0].copy.as_deref(), Some(ours.as_path()));
    machine.remove(Agent::ClaudeCode, Scope::User);
    assert_eq!(fs::read_to_string(&theirs).unwrap(), "old");
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let machine = Machine::new();
    let real = machine.folder.path().join("dotfiles.json");
    fs::write(&real, "{}").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    let link = machine.at.home.join(".claude.json");
    symlink(&real, &link).unwrap();
    let outcome = machine.set_up(Agent::ClaudeCode, Scope::User);
    assert!(link.is_symlink());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&real), 0o600);
    assert_eq!(mode(outcome[0].copy.as_ref().unwrap()), 0o600);
    assert!(fs::read_to_string(&real).unwrap().contains("cortex"));
    machine.remove(Agent::ClaudeCode, Scope::User);
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "{}");
    // A link that leads nowhere is not replaced.
    fs::remove_file(&real).unwrap();
    let job = machine.cortex();
    assert!(set_up(&machine.job(&job, Agent::ClaudeCode, Scope::User, false)).is_err());
    assert!(link.is_symlink());
}

#[test]
fn one_broken_file_stops_all_of_them() {
    let machine = Machine::new();
    fs::create_dir(machine.at.home.join(".claude")).unwrap();
    fs::write(machine.at.home.join(".claude/settings.json"), "{\n  \"hooks\": oops\n}\n").unwrap();
    let before = machine.everything();
    let home = machine.cortex();
    let job = machine.job(&home, Agent::ClaudeCode, Scope::User, false);
    let error = set_up(&job).unwrap_err();
    let SetupError::Broken { fault, .. } = &error else { panic!("{error}") };
    assert_eq!((fault.line, fault.column), (2, 12));
    assert_eq!(machine.everything(), before);
    // Bytes that are no text are refused as well.
    fs::write(machine.at.home.join(".claude.json"), b"{\"a\": \"\xff\"}").unwrap();
    assert!(matches!(set_up(&job).unwrap_err(), SetupError::NotText { place: 7, .. }));
}

#[test]
fn a_dry_run_shows_everything_and_touches_nothing() {
    let machine = Machine::new();
    fs::write(machine.at.home.join(".claude.json"), "{\n  \"a\": 1\n}\n").unwrap();
    let before = machine.everything();
    let home = machine.cortex();
    let outcome = set_up(&machine.job(&home, Agent::ClaudeCode, Scope::User, true)).unwrap();
    assert_eq!(machine.everything(), before);
    let diff = outcome[0].diff.as_ref().unwrap();
    assert!(diff.contains("-  \"a\": 1\n+  \"a\": 1,\n+  \"mcpServers\": {\n"), "{diff}");
    assert!(outcome[1].diff.as_ref().unwrap().starts_with("--- /dev/null\n"));
    machine.set_up(Agent::ClaudeCode, Scope::User);
    let after = machine.everything();
    let outcome = remove(&machine.job(&home, Agent::ClaudeCode, Scope::User, true)).unwrap();
    assert!(outcome[1].diff.as_ref().unwrap().contains("+++ /dev/null\n"));
    assert_eq!(machine.everything(), after);
}

#[test]
fn removing_works_without_the_record() {
    let machine = Machine::new();
    fs::write(machine.at.home.join(".claude.json"), "{\n  \"a\": 1\n}\n").unwrap();
    machine.set_up(Agent::ClaudeCode, Scope::User);
    fs::remove_file(machine.cortex().join("setup.json")).unwrap();
    machine.remove(Agent::ClaudeCode, Scope::User);
    let left = fs::read_to_string(machine.at.home.join(".claude.json")).unwrap();
    assert_eq!(left, "{\n  \"a\": 1,\n  \"mcpServers\": {\n  }\n}\n");
}

#[test]
fn the_list_tells_how_each_agent_stands() {
    let machine = Machine::new();
    let state = |agent: Agent| {
        let all = states(&machine.at);
        all.into_iter().find(|state| state.agent == agent && state.scope == Scope::User).unwrap()
    };
    let codex = state(Agent::Codex);
    assert!(!codex.installed && !codex.configured && codex.healthy.is_none());
    for agent in Agent::ALL {
        machine.set_up(agent, Scope::User);
        let state = state(agent);
        // S25: what we wrote ourselves does not make an agent installed.
        assert!(!state.installed && state.configured && state.complete, "{state:?}");
        assert_eq!(state.healthy, Some(true), "{state:?}");
    }
    // The program moves away.
    let settings = machine.at.home.join(".codex/config.toml");
    let text = fs::read_to_string(&settings).unwrap();
    let running = machine.program.running.display().to_string();
    fs::write(&settings, text.replace(&running, "/gone/cortex")).unwrap();
    let codex = state(Agent::Codex);
    assert_eq!((codex.healthy, codex.program.as_deref()), (Some(false), Some("/gone/cortex")));
    // Hooks disappear; the tools are still there.
    fs::remove_file(machine.at.home.join(".claude/settings.json")).unwrap();
    let claude = state(Agent::ClaudeCode);
    assert!(claude.configured && !claude.complete);
    fs::write(&settings, "oops").unwrap();
    assert!(state(Agent::Codex).problem.unwrap().contains("line 1, column"));
}
