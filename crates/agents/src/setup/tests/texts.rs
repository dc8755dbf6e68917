//! Before and after, for texts as people and programs write them.

use serde_json::json;

use super::*;
use crate::setup::entry::{Entry, SettingsFault};
use crate::setup::{json, toml};

fn server() -> Content {
    let value = json!({ "command": "cortex", "args": ["mcp"] });
    Content::Json(vec![Entry::own(&["mcpServers", "cortex"], value)])
}

fn codex() -> Content {
    let value = json!({ "command": "cortex", "args": ["mcp"] });
    Content::Toml(vec![Entry::own(&["mcp_servers", "cortex"], value)])
}

#[track_caller]
fn check(content: &Content, before: &str, after: &str) {
    assert_eq!(check_laws(content, Some(before)), after);
}

#[test]
fn an_empty_file() {
    let after = "{\n  \"mcpServers\": {\n    \"cortex\": {\n      \"command\": \"cortex\",\n      \"args\": [\n        \
                 \"mcp\"\n      ]\n    }\n  }\n}\n";
    check(&server(), "", after);
    check(&server(), "\n", &format!("\n{after}"));
    check(&server(), "{}\n", after);
    check(&server(), "{ }\n", after);
    check(&server(), "\u{feff}", &format!("\u{feff}{after}"));
    check(&server(), "// only a remark", &format!("// only a remark\n{after}"));
    assert_eq!(check_laws(&server(), None), after);
}

#[test]
fn other_servers_stay_as_they_are() {
    let before = r#"{
  // my servers
  "mcpServers": {
    "files": { "command": "npx", "args": ["-y", "files"] }, // keep
    "web": {
      "url": "http://localhost:1/mcp"
    } // last one
  },
  "theme": "dark"
}
"#;
    let after = r#"{
  // my servers
  "mcpServers": {
    "files": { "command": "npx", "args": ["-y", "files"] }, // keep
    "web": {
      "url": "http://localhost:1/mcp"
    }, // last one
    "cortex": {
      "command": "cortex",
      "args": [
        "mcp"
      ]
    }
  },
  "theme": "dark"
}
"#;
    check(&server(), before, after);
}

#[test]
fn trailing_commas_tabs_and_windows_lines() {
    let before = "{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {},\r\n\t},\r\n}";
    let after = "{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {},\r\n\t\t\"cortex\": {\r\n\t\t\t\"command\": \"cortex\",\r\n\
                 \t\t\t\"args\": [\r\n\t\t\t\t\"mcp\"\r\n\t\t\t]\r\n\t\t},\r\n\t},\r\n}";
    check(&server(), before, after);
}

#[test]
fn one_line_stays_one_line() {
    let cortex = r#""cortex":{"command":"cortex","args":["mcp"]}"#;
    check(&server(), r#"{"a":1}"#, &format!(r#"{{"a":1,"mcpServers":{{{cortex}}}}}"#));
    check(
        &server(),
        r#"{ "mcpServers": {"a":{}}, "b": 2 }"#,
        &format!(r#"{{ "mcpServers": {{"a":{{}},{}}}, "b": 2 }}"#, cortex.replacen(':', ": ", 1)),
    );
}

#[test]
fn an_empty_list_of_servers_with_a_remark_in_it() {
    let before = "{\n    \"mcpServers\": {\n        // none yet\n    }\n}\n";
    let after = "{\n    \"mcpServers\": {\n        // none yet\n        \"cortex\": {\n            \"command\": \
                 \"cortex\",\n            \"args\": [\n                \"mcp\"\n            ]\n        }\n    }\n}\n";
    check(&server(), before, after);
}

#[test]
fn an_old_path_is_corrected_and_what_a_person_added_stays() {
    let before = r#"{
  "mcpServers": {
    "cortex": { "command": "/old/cortex", "args": ["mcp"], "env": { "A": "1" }, "trust": true }
  }
}
"#;
    let step = adding(&server(), Some(before), None).unwrap().unwrap();
    assert_eq!(step.text, before.replace("/old/cortex", "cortex"));
    // It was there before, and yet removing takes it out: who removes Cortex wants it gone.
    let back = removing(&server(), &step.text, Some(&step.trace)).unwrap();
    assert_eq!(back.as_deref(), Some("{\n  \"mcpServers\": {\n  }\n}\n"));
}

#[test]
fn a_server_on_the_network_becomes_a_local_one() {
    let before = r#"{"mcpServers":{"cortex":{"url":"http://127.0.0.1:7438/mcp"}}}"#;
    let step = adding(&server(), Some(before), None).unwrap().unwrap();
    assert_eq!(step.text, r#"{"mcpServers":{"cortex":{"command":"cortex","args":["mcp"]}}}"#);
}

#[test]
fn hooks_join_the_hooks_of_others() {
    let content = &content_of(Agent::ClaudeCode, "cortex")[1];
    let before = r#"{
  "hooks": {
    "SessionStart": [
      { "matcher": "startup", "hooks": [{ "type": "command", "command": "date" }] }
    ],
    "Notification": []
  }
}
"#;
    let text = check_laws(content, Some(before));
    let settings = content.read(&text).unwrap();
    assert_eq!(settings["hooks"]["SessionStart"][0]["matcher"], "startup");
    let ours = &settings["hooks"]["SessionStart"][1]["hooks"][0]["command"];
    assert_eq!(ours, "cortex hook session-start --agent claude-code");
    assert_eq!(settings["hooks"]["Notification"], json!([]));
    // Another path, and a timeout that somebody set: only the path is corrected.
    let edited = text.replace("\"cortex hook", "\"/old/cortex hook").replace(": 10", ": 99");
    let step = adding(content, Some(&edited), None).unwrap().unwrap();
    assert_eq!(step.text, text.replace(": 10", ": 99"));
}

#[test]
fn edits_in_between_stay() {
    let before = "{\n  \"a\": 1\n}\n";
    let step = adding(&server(), Some(before), None).unwrap().unwrap();
    let remove = |text: &str| removing(&server(), text, Some(&step.trace)).unwrap().unwrap();
    // Before, after, around: the words of the change are still there.
    let edited = step.text.replace("\"a\": 1", "\"z\": [],\n  \"a\": 1");
    assert_eq!(remove(&edited), "{\n  \"z\": [],\n  \"a\": 1\n}\n");
    let edited = format!("// mine\n{}", step.text);
    assert_eq!(remove(&edited), format!("// mine\n{before}"));
    // Inside what we made: the container stays for what is in it now.
    let edited = step.text.replace("\"cortex\": {", "\"mine\": {},\n    \"cortex\": {");
    assert_eq!(remove(&edited), "{\n  \"a\": 1,\n  \"mcpServers\": {\n    \"mine\": {}\n  }\n}\n");
    // Written anew by a program with its own layout.
    let value: serde_json::Value = serde_json::from_str(&step.text).unwrap();
    assert_eq!(remove(&value.to_string()), "{\"a\":1}");
}

#[test]
fn a_new_path_after_edits_keeps_them_and_can_still_be_undone() {
    let before = "{\n  \"a\": 1\n}\n";
    let [old, new] = ["/old/cortex", "/new/cortex"].map(|program| {
        let value = json!({ "command": program, "args": ["mcp"] });
        Content::Json(vec![Entry::own(&["mcpServers", "cortex"], value)])
    });
    let first = adding(&old, Some(before), None).unwrap().unwrap();
    let edited = first.text.replace("\"a\": 1", "\"a\": 2");
    let second = adding(&new, Some(&edited), Some(&first.trace)).unwrap().unwrap();
    assert!(second.text.contains("/new/cortex") && !second.text.contains("/old/cortex"));
    let back = removing(&new, &second.text, Some(&second.trace)).unwrap();
    assert_eq!(back.as_deref(), Some("{\n  \"a\": 2\n}\n"));
}

#[test]
fn a_file_that_was_made_goes_even_after_a_program_wrote_it_anew() {
    for agent in Agent::ALL {
        for content in content_of(agent, "cortex") {
            let Content::Json(_) = content else { continue };
            let step = adding(&content, None, None).unwrap().unwrap();
            let anew = content.read(&step.text).unwrap().to_string();
            assert_eq!(removing(&content, &anew, Some(&step.trace)).unwrap(), None, "{agent}");
        }
    }
}

#[test]
fn broken_settings_are_refused_with_the_place() {
    let fault = |text: &str| json::add(text, &[]).unwrap_err();
    assert_eq!((fault("{\n  \"a\": \n}").line, fault("{\n  \"a\": \n}").column), (3, 1));
    assert_eq!(fault("{ \"a\": 1 \"b\": 2 }").column, 9);
    assert_eq!(fault("[]").message, "settings are an object, and this is none");
    assert!(json::add("{'a': 1}", &[]).is_err() && json::add("{a: 1}", &[]).is_err());
    let wrong: SettingsFault = server().add("{\n  \"mcpServers\": []\n}").unwrap_err();
    assert_eq!((wrong.line, wrong.column), (2, 17));
    let fault = toml::read("a = 1\nb = [1,\n").unwrap_err();
    assert_eq!(fault.line, 2);
    let wrong = codex().add("mcp_servers = 3\n").unwrap_err();
    assert_eq!((wrong.line, wrong.column), (1, 15));
}

#[test]
fn toml_tables() {
    let ours = "[mcp_servers.cortex]\ncommand = \"cortex\"\nargs = [\"mcp\"]\n";
    check(&codex(), "", ours);
    check(&codex(), "model = \"x\" # mine", &format!("model = \"x\" # mine\n\n{ours}"));
    let before = "# c\r\n[mcp_servers.a] # y\r\ncommand = 'b'\r\n\r\n[z]\r\nq=1\r\n";
    check(&codex(), before, &format!("{before}\r\n{}", ours.replace('\n', "\r\n")));
    check(&codex(), "\u{feff}a = 1\n", &format!("\u{feff}a = 1\n\n{ours}"));
    check(
        &codex(),
        "mcp_servers = { a = { command = 'x' } }\n",
        "mcp_servers = { a = { command = 'x' }, cortex = { command = \"cortex\", args = [\"mcp\"] } }\n",
    );
    check(
        &codex(),
        "mcp_servers = {}\n",
        "mcp_servers = { cortex = { command = \"cortex\", args = [\"mcp\"] } }\n",
    );
}

#[test]
fn toml_entries_with_an_old_path_or_missing_fields() {
    let step = |before: &str| {
        let step = adding(&codex(), Some(before), None).unwrap().unwrap();
        assert!(adding(&codex(), Some(&step.text), None).unwrap().is_none());
        step.text
    };
    assert_eq!(
        step("[mcp_servers.cortex] # c\ncommand = '/old' # d\nstartup_timeout_sec = 5\n"),
        "[mcp_servers.cortex] # c\nargs = [\"mcp\"]\ncommand = \"cortex\" # d\nstartup_timeout_sec = 5\n"
    );
    assert_eq!(
        step("mcp_servers.cortex.command = '/old'\n"),
        "mcp_servers.cortex.command = \"cortex\"\nmcp_servers.cortex.args = [\"mcp\"]\n"
    );
    assert_eq!(
        step("[mcp_servers]\ncortex = { command = '/old' }\n"),
        "[mcp_servers]\ncortex = { command = \"cortex\", args = [\"mcp\"] }\n"
    );
    assert_eq!(
        step("[mcp_servers.cortex]\nurl = 'http://x'\n\n[b]\n"),
        "\n[b]\n\n[mcp_servers.cortex]\ncommand = \"cortex\"\nargs = [\"mcp\"]\n"
    );
}

#[test]
fn toml_is_cleaned_by_meaning_when_there_is_no_record() {
    let clean = |text: &str| removing(&codex(), text, None).unwrap().unwrap();
    assert_eq!(
        clean(
            "a = 1\n\n[mcp_servers.cortex]\ncommand = 'x'\n[mcp_servers.cortex.env]\nK = '1'\n\n# b\n[b]\n"
        ),
        "a = 1\n\n# b\n[b]\n"
    );
    assert_eq!(clean("mcp_servers.cortex.command = 'x'\na = 1\n"), "a = 1\n");
    assert_eq!(
        clean("mcp_servers = { cortex = { command = 'x' }, b = {} }\n"),
        "mcp_servers = { b = {} }\n"
    );
    assert_eq!(
        clean("mcp_servers = { b = {}, cortex = { command = 'x' } }\n"),
        "mcp_servers = { b = {} }\n"
    );
    assert_eq!(clean("[mcp_servers]\ncortex = { command = 'x' }\n"), "[mcp_servers]\n");
    assert_eq!(clean("a = 1\n"), "a = 1\n");
}

#[test]
fn every_agent_gets_what_it_reads() {
    let mut all = String::new();
    for agent in Agent::ALL {
        for content in content_of(agent, "/opt/my tools/cortex") {
            if let Content::Whole(text) = &content {
                // S24: a plugin that starts us, or a skill that says when to look and to save.
                let is_plugin = text.contains("const PROGRAM = \"/opt/my tools/cortex\";")
                    && text.contains("const OPTIONS = [];");
                let is_skill = text.starts_with("---\n# Written by `cortex setup")
                    && text.contains("\nname: cortex-memory\n");
                assert!(is_plugin || is_skill, "{text}");
                assert_eq!(removing(&content, text, None).unwrap(), None);
                assert!(adding(&content, Some("mine"), None).is_err());
                continue;
            }
            all.extend([format!("==== {agent}\n"), check_laws(&content, None)]);
        }
    }
    insta::assert_snapshot!(all);
}

// agent-memory 137
#[test]
fn the_plugin_says_what_a_set_up_says() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plugin");
    let read = |name: &str| {
        let text = std::fs::read_to_string(format!("{folder}/{name}")).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()
    };
    let [server, hooks, _skill] = &content_of(Agent::ClaudeCode, "cortex")[..] else { panic!() };
    let set_up = server.read(&server.add("").unwrap()).unwrap();
    assert_eq!(read(".mcp.json"), set_up);
    let set_up = hooks.read(&hooks.add("").unwrap()).unwrap();
    assert_eq!(read("hooks/hooks.json")["hooks"], set_up["hooks"]);
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(read(".claude-plugin/plugin.json")["version"], version);
    assert_eq!(read("../.claude-plugin/marketplace.json")["plugins"][0]["version"], version);
}
