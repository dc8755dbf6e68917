//! The tools as scripted executables that print what the real ones print.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;
use tokio::sync::mpsc;

use super::super::{ChatMessage, OwnTools};
use super::*;

fn script(dir: &Path, name: &str, body: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn env() -> Env {
    let mut env: Env = Env::new();
    env.insert("PATH".into(), "/usr/bin:/bin".into());
    env.insert("ANTHROPIC_API_KEY".into(), "sk-secret".into());
    env.insert("ANTHROPIC_BASE_URL".into(), "http://x".into());
    env.insert("AWS_SECRET".into(), "no".into());
    env.insert("CORTEX_DAY".into(), "20250109".into());
    env
}

async fn run_with(
    dir: &Path,
    kind: ProviderKind,
    body: &str,
    call: ModelRequest,
    first_event: Duration,
) -> (Result<ModelReply, ProviderError>, Vec<ProviderEvent>) {
    let options = CliOptions {
        command: Some(script(dir, "tool", body)),
        env: env(),
        cwd: dir.to_owned(),
        scratch: dir.join("run"),
        confinement: None,
        key: None,
        first_event: Some(first_event),
        whole: Duration::from_secs(30),
    };
    let provider = CliProvider::new("tool", kind, options);
    let (events, mut seen) = mpsc::channel(1_000);
    let result = provider.turn(&call, events).await;
    let mut all = Vec::new();
    while let Ok(event) = seen.try_recv() {
        all.push(event);
    }
    (result, all)
}

async fn run(
    kind: ProviderKind,
    body: &str,
    call: ModelRequest,
) -> (Result<ModelReply, ProviderError>, Vec<ProviderEvent>) {
    let dir = tempfile::tempdir().unwrap();
    run_with(dir.path(), kind, body, call, Duration::from_secs(20)).await
}

fn call(session: Option<&str>) -> ModelRequest {
    ModelRequest {
        model: "m1".into(),
        system: "Be kind.".into(),
        messages: vec![ChatMessage::User { text: "What is up?".into() }],
        session: session.map(str::to_owned),
        own_tools: OwnTools::Read,
        ..ModelRequest::default()
    }
}

const CLAUDE: &str = r#"cat > prompt.txt; printf '%s\n' "$@" > args.txt; env > env.txt
echo '{"type":"system","subtype":"init","session_id":"s-1","model":"claude-x"}'
echo 'a line that is no event'
echo '{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"Hm."},{"type":"text",'\
'"text":"Let me look."}]}}'
echo '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file":"a"}}]}}'
echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"text of a"}]}}'
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"All is well."}]}}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"All is well.","session_id":"s-1",'\
'"num_turns":2,"total_cost_usd":0.0125,"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":7}}'"#;

#[tokio::test]
async fn claude_tells_its_story() {
    // execution R54, R69
    let dir = tempfile::tempdir().unwrap();
    let (reply, events) = run_with(
        dir.path(),
        ProviderKind::Claude,
        CLAUDE,
        call(Some("s-0")),
        Duration::from_secs(20),
    )
    .await;
    let reply = reply.unwrap();
    assert_eq!(reply.text, "All is well.", "only what comes after the last tool is the result");
    assert_eq!(reply.session.as_deref(), Some("s-1"));
    assert_eq!(
        (reply.usage.input_tokens, reply.usage.cached_tokens, reply.usage.requests),
        (15, 5, 2)
    );
    assert_eq!(reply.cost, Some(0.0125));
    let thought = |text: &str| {
        ProviderEvent::Thinking(super::super::Thought { text: text.into(), ..Default::default() })
    };
    assert_eq!(events[0], thought("Hm."));
    assert_eq!(events[1], thought("Let me look."), "text before a tool is thinking");
    assert!(
        matches!(&events[2], ProviderEvent::ToolStart { tool, call_id, .. } if tool == "Read" && call_id == "t1")
    );
    assert!(matches!(
        &events[3],
        ProviderEvent::ToolEnd { result, call_id, .. }
            if *result == json!("text of a") && call_id == "t1"
    ));
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    let args = read("args.txt");
    for part in [
        "--resume\ns-0\n",
        "--permission-mode\nplan\n",
        "--model\nm1\n",
        "--system-prompt\nBe kind.\n",
    ] {
        assert!(args.contains(part), "{args}");
    }
    assert_eq!(read("prompt.txt"), "What is up?");
    let env = read("env.txt");
    assert!(env.contains("CORTEX_DAY=20250109") && env.contains("ANTHROPIC_BASE_URL"));
    assert!(!env.contains("sk-secret") && !env.contains("AWS_SECRET"), "{env}");
}

#[tokio::test]
async fn work_that_claude_gives_to_another_agent_is_told_and_is_no_answer() {
    // execution R65
    let body = r#"cat > /dev/null
echo '{"type":"system","subtype":"init","session_id":"s-1","model":"claude-x"}'
echo '{"type":"assistant","parent_tool_use_id":null,"message":{"content":[{"type":"tool_use","id":"t1",'\
'"name":"Agent","input":{"subagent_type":"Explore","prompt":"Look."}}]}}'
echo '{"type":"assistant","parent_tool_use_id":"t1","message":{"content":[{"type":"text","text":"I found a."}]}}'
echo '{"type":"user","parent_tool_use_id":null,"message":{"content":[{"type":"tool_result","tool_use_id":"t1",'\
'"content":"a"}]}}'
echo '{"type":"assistant","parent_tool_use_id":null,"message":{"content":[{"type":"text","text":"It is a."}]}}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"It is a.","session_id":"s-1"}'"#;
    let (reply, events) = run(ProviderKind::Claude, body, call(None)).await;
    assert_eq!(reply.unwrap().text, "It is a.");
    let kinds: Vec<String> = events
        .iter()
        .map(|event| match event {
            ProviderEvent::ToolStart { tool, .. } => format!("start {tool}"),
            ProviderEvent::ToolEnd { tool, .. } => format!("end {tool}"),
            ProviderEvent::Agent(agent) => format!("agent {}", agent.as_deref().unwrap_or("-")),
            ProviderEvent::Thinking(thought) => format!("thinking {}", thought.text),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(
        kinds,
        ["start Agent", "agent Explore", "thinking I found a.", "end Agent", "agent -"]
    );
}

#[tokio::test]
async fn codex_tells_its_story() {
    let body = r#"cat > /dev/null; printf '%s ' "$@" > args.txt
echo '{"type":"thread.started","thread_id":"th-9"}'
echo '{"type":"turn.started"}'
echo '{"type":"item.completed","item":{"id":"i0","type":"reasoning","text":"Thinking."}}'
echo '{"type":"item.started","item":{"id":"i1","type":"command_execution","command":"ls","status":"in_progress"}}'
echo '{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"ls","aggregated_output":"a",'\
'"exit_code":0}}'
echo '{"type":"item.completed","item":{"id":"i2","type":"agent_message","text":"One file."}}'
echo '{"type":"turn.completed","usage":{"input_tokens":20,"cached_input_tokens":4,"output_tokens":3}}'"#;
    let dir = tempfile::tempdir().unwrap();
    let limit = Duration::from_secs(20);
    let (reply, events) =
        run_with(dir.path(), ProviderKind::Codex, body, call(Some("th-8")), limit).await;
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.session.as_deref()), ("One file.", Some("th-9")));
    assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (20, 3));
    assert_eq!(events.len(), 3);
    assert!(
        matches!(&events[2], ProviderEvent::ToolEnd { result, .. } if result["exit_code"] == 0)
    );
    let args = std::fs::read_to_string(dir.path().join("args.txt")).unwrap();
    assert_eq!(args, "exec --json --skip-git-repo-check -s read-only -m m1 resume th-8 - ");
}

#[tokio::test]
async fn gemini_tells_its_story() {
    let body = r#"cat > prompt.txt; printf '%s ' "$@" > args.txt; env > env.txt
while [ $# -gt 0 ]; do [ "$1" = --policy ] && cp "$2" policy.txt; shift; done
echo '{"type":"init","session_id":"g-1","model":"gemini-x"}'
echo '{"type":"message","role":"user","content":"What is up?"}'
echo '{"type":"tool_use","tool_name":"read_file","tool_id":"r1","parameters":{"path":"a"}}'
echo '{"type":"tool_result","tool_id":"r1","status":"success","output":"text"}'
echo '{"type":"message","role":"assistant","content":"Quite ","delta":true}'
echo '{"type":"message","role":"assistant","content":"fine.","delta":true}'
echo '{"type":"result","status":"success","stats":{"total_tokens":9,"input_tokens":6,"output_tokens":3,"cached":1}}'"#;
    let dir = tempfile::tempdir().unwrap();
    let limit = Duration::from_secs(20);
    let (reply, _) = run_with(dir.path(), ProviderKind::Gemini, body, call(None), limit).await;
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.session.as_deref()), ("Quite fine.", Some("g-1")));
    assert_eq!(reply.usage.total_tokens, 9);
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    assert!(read("policy.txt").contains("deny"));
    assert!(read("env.txt").contains("GEMINI_CLI_TRUST_WORKSPACE=true"));
    assert_eq!(read("prompt.txt"), "Be kind.\n\nWhat is up?");
}

#[tokio::test]
async fn a_tool_that_says_nothing_is_started_once_more() {
    let dir = tempfile::tempdir().unwrap();
    let silent_once = format!("if [ -e been ]; then {CLAUDE}\nelse touch been; exec sleep 60; fi");
    let first = Duration::from_millis(700);
    let (reply, _) =
        run_with(dir.path(), ProviderKind::Claude, &silent_once, call(None), first).await;
    assert_eq!(reply.unwrap().text, "All is well.");
    let (reply, _) = run_with(
        dir.path(),
        ProviderKind::Claude,
        "echo x >> count; exec sleep 60",
        call(None),
        first,
    )
    .await;
    assert_eq!(reply.unwrap_err().reason, ReasonCode::Timeout);
    assert_eq!(std::fs::read_to_string(dir.path().join("count")).unwrap(), "x\nx\n");
}

#[tokio::test]
async fn an_exit_with_text_is_a_warning_and_without_text_an_error() {
    let line =
        r#"echo '{"type":"assistant","message":{"content":[{"type":"text","text":"Half."}]}}'"#;
    let (reply, events) =
        run(ProviderKind::Claude, &format!("{line}; echo oops >&2; exit 3"), call(None)).await;
    assert_eq!(reply.unwrap().text, "Half.");
    assert!(matches!(&events[0], ProviderEvent::Warning { stderr, .. } if stderr == "oops"));
    let (reply, _) =
        run(ProviderKind::Codex, "echo 'You hit your usage limit' >&2; exit 1", call(None)).await;
    let error = reply.unwrap_err();
    assert_eq!(error.code(), "provider_quota_exceeded");
    assert_eq!(error.trace.as_deref(), Some("You hit your usage limit"));
    let (reply, _) = run(ProviderKind::Gemini, "exit 0", call(None)).await;
    assert_eq!(reply.unwrap_err().code(), "no_output");
    let failed = r#"echo '{"type":"result","subtype":"success","is_error":true,"result":"Not logged in"}'; exit 1"#;
    let (reply, _) = run(ProviderKind::Claude, failed, call(None)).await;
    assert_eq!(reply.unwrap_err().code(), "provider_key_invalid");
}

#[tokio::test]
async fn a_line_without_measure_ends_only_its_tool() {
    let body = r#"echo '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Read",'\
'"input":{}}]}}'
printf '{"type":"user","message":"'; head -c 2000000 /dev/zero | tr '\0' x; echo '"}'
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"Done."}]}}'"#;
    let (reply, events) = run(ProviderKind::Claude, body, call(None)).await;
    assert_eq!(reply.unwrap().text, "Done.");
    assert!(matches!(&events[1], ProviderEvent::ToolEnd { result, .. }
        if result["error"].as_str().unwrap().contains("too large")));
}

#[tokio::test]
async fn a_tool_that_is_not_there_is_named() {
    let options = CliOptions {
        command: Some("/nowhere/claude".into()),
        env: env(),
        cwd: "/".into(),
        scratch: "/nowhere".into(),
        confinement: None,
        key: None,
        first_event: None,
        whole: Duration::from_secs(5),
    };
    let (events, _seen) = mpsc::channel(1);
    let error = CliProvider::new("claude", ProviderKind::Claude, options)
        .turn(&call(None), events)
        .await
        .unwrap_err();
    assert!(error.message.contains("/nowhere/claude cannot be started"), "{error}");
}

// issue 5: the tools of the talent, and no others of the person's servers
#[tokio::test]
async fn each_tool_is_told_where_the_talents_tools_are() {
    let server = super::super::ToolServer {
        command: "/opt/cortex".into(),
        args: ["mcp", "--talent", "keeper"].map(str::to_owned).into(),
        tools: ["memory_recall", "get_facet"].map(str::to_owned).into(),
    };
    let keep = r#"cat > prompt.txt; printf '%s\n' "$@" > args.txt; env > env.txt
cp "${CORTEX_TOOLS:-/dev/null}" tools.txt; cp .gemini/settings.json settings.txt
echo '{"type":"init"}'"#;
    let told = async |kind| {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".gemini")).unwrap();
        let mine = "{\"mcpServers\": {\"mine\": {\"command\": \"x\"}}, \"theme\": \"dark\"}";
        std::fs::write(dir.path().join(".gemini/settings.json"), mine).unwrap();
        let call = ModelRequest { server: Some(server.clone()), ..call(None) };
        drop(run_with(dir.path(), kind, keep, call, Duration::from_secs(20)).await);
        let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
        let left = std::fs::read_dir(dir.path().join("run")).map_or(0, Iterator::count);
        assert_eq!(left, 0, "nothing is left behind");
        (read("args.txt"), ["env.txt", "tools.txt", "settings.txt"].map(read))
    };
    let (args, [env, ..]) = told(ProviderKind::Claude).await;
    assert!(args.contains("--tools\nRead,Grep,Glob\n"), "no shell, no other agents: {args}");
    assert!(env.contains("ENABLE_TOOL_SEARCH=false"), "{env}");
    let tools =
        "--allowedTools\nRead,Grep,Glob,mcp__cortex__memory_recall,mcp__cortex__get_facet\n";
    assert!(args.contains(tools), "{args}");
    assert!(args.contains("--strict-mcp-config\n"), "{args}");
    let config = args.split("--mcp-config\n").nth(1).unwrap();
    let config: Value = serde_json::from_str(config.lines().next().unwrap()).unwrap();
    assert_eq!(config["mcpServers"]["cortex"]["command"], "/opt/cortex");
    assert_eq!(config["mcpServers"]["cortex"]["args"][2], "keeper");
    let (args, _) = told(ProviderKind::Codex).await;
    assert!(args.contains("-c\nmcp_servers.cortex.command=\"/opt/cortex\"\n"), "{args}");
    let setting = args.lines().find(|line| line.contains("enabled_tools")).unwrap();
    let setting: toml::Value = toml::from_str(setting).unwrap();
    assert_eq!(setting["mcp_servers"]["cortex"]["enabled_tools"][1].as_str(), Some("get_facet"));
    let (args, [_, script, settings]) = told(ProviderKind::Gemini).await;
    assert!(args.contains("--allowed-mcp-server-names\ncortex\n"), "{args}");
    assert_eq!(script, "exec '/opt/cortex' 'mcp' '--talent' 'keeper'\n");
    let settings: Value = serde_json::from_str(&settings).unwrap();
    assert_eq!(settings["mcpServers"]["cortex"]["args"], json!(["${CORTEX_TOOLS}"]));
    assert_eq!(settings["mcpServers"]["mine"]["command"], "x", "what others wrote stays");
    assert_eq!(settings["theme"], "dark");
}

// F8: a generator has no tools, whatever the provider
#[tokio::test]
async fn without_leave_no_tool_has_tools() {
    let keep = r#"cat > /dev/null; printf '%s\n' "$@" > args.txt
while [ $# -gt 0 ]; do [ "$1" = --policy ] && cp "$2" policy.txt; shift; done
echo '{"type":"init"}'"#;
    let told = async |kind, file: &str| {
        let dir = tempfile::tempdir().unwrap();
        let call = ModelRequest { own_tools: OwnTools::None, ..call(None) };
        drop(run_with(dir.path(), kind, keep, call, Duration::from_secs(20)).await);
        std::fs::read_to_string(dir.path().join(file)).unwrap()
    };
    let args = told(ProviderKind::Claude, "args.txt").await;
    assert!(args.contains("--tools\n\n--permission-mode\nplan\n"), "{args}");
    assert!(args.contains("--strict-mcp-config\n") && args.contains("disableAllHooks"), "{args}");
    assert!(!args.contains("--allowedTools") && !args.contains("Read"), "{args}");
    let args = told(ProviderKind::Codex, "args.txt").await;
    for setting in
        ["features.shell_tool=false", "features.unified_exec=false", "tools.view_image=false"]
    {
        assert!(args.contains(&format!("-c\n{setting}\n")), "{args}");
    }
    assert!(args.contains("-s\nread-only\n"), "{args}");
    let policy = told(ProviderKind::Gemini, "policy.txt").await;
    let policy: toml::Value = toml::from_str(&policy).unwrap();
    assert_eq!(policy["rule"][0]["toolName"].as_str(), Some("*"));
    assert_eq!(policy["rule"][0]["decision"].as_str(), Some("deny"));
}

// F8: a tool that is held in is started through the program that does it, with a folder of its own
#[tokio::test]
async fn a_confined_tool_is_started_through_its_launcher() {
    let dir = tempfile::tempdir().unwrap();
    let scratch = dir.path().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let launcher = script(dir.path(), "launcher", "echo launched > launched.txt; exec \"$@\"");
    let options = CliOptions {
        command: Some(script(dir.path(), "tool", CLAUDE)),
        env: env(),
        cwd: dir.path().to_owned(),
        scratch: dir.path().join("run"),
        confinement: Some(ToolConfinement {
            launcher: vec![launcher.into()],
            scratch: Some(scratch.clone()),
        }),
        key: None,
        first_event: None,
        whole: Duration::from_secs(30),
    };
    let (events, _seen) = mpsc::channel(1_000);
    let reply =
        CliProvider::new("tool", ProviderKind::Claude, options).turn(&call(None), events).await;
    assert_eq!(reply.unwrap().text, "All is well.");
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    assert_eq!(read("launched.txt"), "launched\n");
    let env = read("env.txt");
    assert!(env.contains(&format!("TMPDIR={}\n", scratch.display())), "{env}");
    assert!(!dir.path().join("run").exists(), "nothing is written outside of its folder");
}
