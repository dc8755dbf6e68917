//! `cortex setup` as people use it.

use std::fs;
use std::path::PathBuf;

use crate::support::{Home, Ran};

// agent-memory 135

/// The program, with a user's home folder and nothing of the machine's own settings.
fn run(home: &Home, words: &[&str]) -> Ran {
    let output = home
        .command()
        .env("HOME", home.path())
        .env("PATH", "")
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("CLAUDE_CONFIG_DIR")
        .env_remove("CODEX_HOME")
        .env_remove("GEMINI_CLI_HOME")
        .args(words)
        .output()
        .unwrap();
    Ran {
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code().unwrap(),
    }
}

fn files(home: &Home) -> Vec<PathBuf> {
    let mut names: Vec<_> =
        fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

#[test]
fn setting_up_and_removing_leaves_no_trace() {
    let home = Home::new();
    let config = home.path().join(".codex/config.toml");
    fs::create_dir(home.path().join(".codex")).unwrap();
    fs::write(&config, "# mine\r\nmodel = \"x\"\r\n").unwrap();
    let before = files(&home);
    let up = run(&home, &["setup", "codex"]).ok();
    assert!(up.out.contains("changed ") && up.out.contains("config.toml.before-cortex"), "{up:?}");
    let text = fs::read_to_string(&config).unwrap();
    // This home is not the default one, so the settings name it.
    let folder = home.path().display().to_string();
    assert!(
        text.contains(&format!("args = [\"mcp\", \"--tools=core\", \"--home\", \"{folder}\"]"))
    );
    let program = env!("CARGO_BIN_EXE_cortex");
    assert!(text.contains(&format!("command = \"{program}\"")));
    let hooks = fs::read_to_string(home.path().join(".codex/hooks.json")).unwrap();
    assert!(hooks.contains("hook session-start --agent codex --home"));
    assert!(run(&home, &["setup", "codex"]).ok().out.contains("nothing to change"));
    run(&home, &["setup", "codex", "--remove"]).ok();
    assert_eq!(fs::read_to_string(&config).unwrap(), "# mine\r\nmodel = \"x\"\r\n");
    assert_eq!(files(&home), before);
    assert_eq!(fs::read_dir(home.path().join(".codex")).unwrap().count(), 1);
    assert!(run(&home, &["setup", "codex", "--remove"]).ok().out.contains("does not know Cortex"));
}

#[test]
fn a_dry_run_prints_a_diff_and_writes_nothing() {
    let home = Home::new();
    let ran = run(&home, &["setup", "windsurf", "--dry-run"]).ok();
    assert!(ran.out.starts_with("--- /dev/null\n+++ "), "{ran:?}");
    assert!(ran.out.contains("+    \"cortex\": {\n"), "{ran:?}");
    assert_eq!(files(&home), Vec::<PathBuf>::new());
    let json = run(&home, &["setup", "windsurf", "--dry-run", "--json"]).ok().json();
    assert_eq!(json["files"][0]["action"], "created");
    assert!(json["files"][0]["diff"].as_str().unwrap().contains("mcpServers"));
}

#[test]
fn the_list_is_text_or_json() {
    let home = Home::new();
    let ran = run(&home, &["setup"]).ok();
    assert_eq!(ran.out.lines().count(), 15);
    assert!(ran.out.starts_with("claude-code  user     not installed"), "{ran:?}");
    run(&home, &["setup", "cursor"]).ok();
    let ran = run(&home, &["setup", "--list", "--json"]).ok();
    let line = ran.out.lines().find(|line| line.contains("\"cursor\"")).unwrap();
    let state: serde_json::Value = serde_json::from_str(line).unwrap();
    // S25: settings that wait for an agent do not make it installed.
    for (name, wanted) in [("installed", false), ("configured", true), ("complete", true)] {
        assert_eq!(state[name], wanted, "{name}: {line}");
    }
    assert_eq!(state["healthy"], true);
}

#[test]
fn a_broken_file_is_named_with_its_place_and_left_alone() {
    let home = Home::new();
    fs::create_dir(home.path().join(".gemini")).unwrap();
    let settings = home.path().join(".gemini/settings.json");
    fs::write(&settings, "{\n  \"a\": [1,\n}\n").unwrap();
    let error = run(&home, &["setup", "gemini-cli", "--json"]).ends(2).error();
    assert_eq!(error["code"], "settings_broken");
    assert!(error["message"].as_str().unwrap().contains("line 3, column 1"), "{error}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), "{\n  \"a\": [1,\n}\n");
    assert_eq!(files(&home), [home.path().join(".gemini")]);
}

#[test]
fn a_project_has_its_own_settings_if_the_agent_reads_such() {
    let home = Home::new();
    run(&home, &["setup", "vscode", "--project"]).ok();
    assert!(home.path().join(".vscode/mcp.json").exists());
    let error = run(&home, &["setup", "windsurf", "--project", "--json"]).ends(2).error();
    assert_eq!(error["code"], "no_project_settings");
    run(&home, &["setup", "notepad"]).ends(2);
    run(&home, &["setup", "--remove"]).ends(2);
}

#[test]
fn any_agent_can_be_told_when_to_look_and_when_to_save() {
    let home = Home::new();
    let ran = run(&home, &["setup", "--instructions"]).ok();
    assert!(ran.out.starts_with("# Memory\n"), "{ran:?}");
    for word in ["mem_context", "mem_save", "mem_session_summary", "supersedes", "sub-agent"] {
        assert!(ran.out.contains(word), "{word}: {}", ran.out);
    }
    assert!(ran.err.contains("\"args\":[\"mcp\",\"--tools=core\"]"), "{}", ran.err);
    let json = run(&home, &["setup", "--instructions", "--json"]).ok().json();
    assert_eq!(json["instructions"].as_str().unwrap(), ran.out.trim_end());
    let command = json["mcp_servers"]["cortex"]["command"].as_str().unwrap();
    assert_eq!(command, env!("CARGO_BIN_EXE_cortex"));
    run(&home, &["setup", "claude-code", "--instructions"]).ends(2);
    assert!(files(&home).is_empty(), "nothing is written");
}

// S22, S25: where there is nothing to do, that is said, and nobody is asked.
#[test]
fn init_on_a_machine_without_agents_says_so() {
    let home = Home::new();
    let said = run(&home, &["init"]).ok();
    assert!(said.out.starts_with("No agent that Cortex knows is installed here."), "{said:?}");
    assert!(said.err.contains("cortex setup --instructions"), "{said:?}");
    let json = run(&home, &["init", "--yes", "--json"]).ok().json();
    assert_eq!(json["done"], serde_json::Value::Null, "{json}");
}

// S22, S34: what did not work is named, and the command does not end as if it had.
#[test]
fn init_that_could_not_import_everything_ends_with_an_error() {
    let home = Home::new();
    fs::create_dir_all(home.path().join(".engram")).unwrap();
    fs::write(home.path().join(".engram/engram.db"), "no database").unwrap();
    let ran = run(&home, &["init", "--yes"]).ends(1);
    assert!(ran.out.contains("engram: not imported"), "{ran:?}");
    assert!(ran.err.contains("1 of these did not work"), "{ran:?}");
}

// S22, S23, S24, S25
#[test]
fn init_connects_what_is_there_tries_it_and_takes_it_back() {
    let home = Home::new();
    let claude = home.path().join(".claude");
    fs::create_dir_all(claude.join("projects/-src-web")).unwrap();
    let settings = claude.join("settings.json");
    fs::write(&settings, "{\n\t\"permissions\": { \"allow\": [\"Bash(ls)\"] }\n}\n").unwrap();
    let record = "{\"type\":\"user\",\"uuid\":\"u\",\"sessionId\":\"s9\",\"cwd\":\"/src/web\",\
                  \"timestamp\":\"2026-03-04T10:00:00.000Z\",\"message\":{\"role\":\"user\",\
                  \"content\":\"Why does the gateway drop refunds?\"}}\n\
                  {\"type\":\"assistant\",\"uuid\":\"v\",\"parentUuid\":\"u\",\"sessionId\":\"s9\",\
                  \"cwd\":\"/src/web\",\"timestamp\":\"2026-03-04T10:00:05.000Z\",\"message\":{\
                  \"role\":\"assistant\",\"content\":[{\"type\":\"text\",\
                  \"text\":\"The retry queue drops them after a minute.\"}]}}\n";
    fs::write(claude.join("projects/-src-web/s9.jsonl"), record).unwrap();
    let before = fs::read_to_string(&settings).unwrap();
    let there = files(&home);
    let plan = run(&home, &["init", "--dry-run"]).ok().out;
    assert_eq!(files(&home), there, "a plan leaves nothing behind");
    assert!(plan.contains("claude-code     ~/.claude.json, ~/.claude/settings.json"), "{plan}");
    assert!(plan.contains("Not installed, left alone: codex, gemini-cli"), "{plan}");
    assert!(plan.lines().count() <= 6, "one glance: {plan}");
    // past 73: what was found, how long it takes, and that the agent would delete it
    assert!(plan.contains("claude-code     1 file, less than 1 MB; it deletes"), "{plan}");
    assert!(plan.contains("after 30 days (cleanupPeriodDays)"), "{plan}");
    assert!(plan.contains("To read in a few seconds"), "{plan}");
    let without = run(&home, &["init", "--dry-run", "--past", "no"]).ok().out;
    assert!(!without.contains("To read"), "{without}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), before);
    // Where nobody can be asked, nobody agreed.
    let asked = run(&home, &["init"]).ok();
    assert!(asked.err.contains("Nothing was changed"), "{asked:?}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), before);
    let done = run(&home, &["init", "--yes", "--json"]).ok().json();
    let connected = done["done"]["agents"].as_array().unwrap();
    assert_eq!(connected.len(), 1, "{done}");
    assert_eq!(
        (&connected[0]["agent"], &connected[0]["tools"]),
        (&"claude-code".into(), &8.into())
    );
    assert_eq!(done["done"]["histories"]["sessions"], 1, "{done}");
    // It ends with a question from this person's own history, and its answer.
    assert_eq!(done["done"]["question"], "Why does the gateway drop refunds?", "{done}");
    assert!(done["done"]["answer"].as_str().unwrap().contains("retry queue"), "{done}");
    let written = fs::read_to_string(&settings).unwrap();
    assert!(written.contains("\"mcp__cortex\"") && written.contains("\"Bash(ls)\""), "{written}");
    assert!(written.contains("hook stop --agent claude-code"), "{written}");
    let skill = claude.join("skills/cortex-memory/SKILL.md");
    assert!(fs::read_to_string(&skill).unwrap().contains("name: cortex-memory"));
    let removed = run(&home, &["init", "--remove", "--yes"]).ok();
    assert!(removed.err.contains("What was read of agents stays in"), "{removed:?}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), before);
    assert!(!claude.join("skills").exists() && !home.path().join(".claude.json").exists());
}
