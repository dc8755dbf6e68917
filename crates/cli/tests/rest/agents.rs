//! The tools of agents at `/mcp`.

use serde_json::{Value, json};

use crate::support::{Answer, Daemon, problem};

/// One message over `/mcp`, as a client of a revision sends it.
pub(crate) fn rpc(daemon: &Daemon, more: &str, message: &Value) -> Answer {
    let headers = format!(
        "Host: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{more}"
    );
    daemon.send("POST", "/mcp", &headers, message.to_string().as_bytes())
}

#[test]
fn agents_find_their_tools_over_http() {
    let daemon = Daemon::start(&[]);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }});
    problem(&rpc(&daemon, "Origin: http://evil.example\r\n", &hello), 403, "origin_refused");
    // F5: another port of this machine is another origin.
    let other = rpc(&daemon, "Origin: http://localhost:3000\r\n", &hello);
    problem(&other, 403, "origin_refused");
    let said = rpc(&daemon, "Origin: http://localhost\r\n", &hello);
    assert_eq!((said.status, said.header("mcp-session-id")), (200, None), "{}", said.body);
    assert_eq!(said.header("content-type"), Some("application/json"));
    let info = &said.json()["result"];
    assert_eq!(info["protocolVersion"], "2025-11-25");
    assert!(info["instructions"].as_str().unwrap().contains("mem_session_summary"), "{info}");

    let send = |id: u64, method: &str, params: &Value| {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let answer = rpc(&daemon, "Mcp-Protocol-Version: 2025-11-25\r\n", &message);
        assert_eq!(answer.status, 200, "{method}: {}", answer.body);
        answer.json()["result"].clone()
    };
    let heard = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(rpc(&daemon, "Mcp-Protocol-Version: 2025-11-25\r\n", &heard).status, 202);
    let tools = send(2, "tools/list", &json!({}))["tools"].clone();
    assert!(tools.as_array().unwrap().iter().any(|tool| tool["name"] == "mem_search_hybrid"));
    let save = json!({
        "name": "mem_save", "arguments": {"title": "over http", "content": "works"},
    });
    let saved = send(3, "tools/call", &save);
    assert_eq!(saved["isError"], false, "{saved}");
    let id = saved["structuredContent"]["id"].as_u64().unwrap();
    // What an agent cannot do is said in words it can read, and the connection goes on.
    let wrong = send(4, "tools/call", &json!({"name": "mem_save", "arguments": {"title": "x"}}));
    assert_eq!(wrong["isError"], true, "{wrong}");
    let uri = format!("cortex://memory/{id}");
    let read = send(5, "resources/read", &json!({"uri": uri}));
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("works"), "{read}");
    let topic = json!({"name": "recall", "arguments": {"topic": "caches"}});
    assert!(send(6, "prompts/get", &topic).to_string().contains("caches"));
    // Programs see what agents saved.
    assert_eq!(daemon.get("/api/observations").json()[0]["title"], "over http");
    assert_eq!(daemon.get("/mcp").status, 405);
}

#[test]
fn agents_of_the_revision_without_sessions_find_the_same_tools() {
    let daemon = Daemon::start(&[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let send = |method: &str, name: Option<&str>, mut params: Value| {
        params["_meta"] = meta.clone();
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let name = name.map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
        let headers = format!("Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}");
        rpc(&daemon, &headers, &message)
    };
    let found = send("server/discover", None, json!({}));
    assert_eq!(found.status, 200, "{}", found.body);
    assert!(found.body.contains("2026-07-28") && found.body.contains("mem_save"), "{}", found.body);
    let listed = send("tools/list", None, json!({}));
    assert_eq!(listed.json()["result"]["tools"].as_array().unwrap().len(), 19);
    let save = json!({"name": "mem_save", "arguments": {"title": "no session", "content": "fine"}});
    let saved = send("tools/call", Some("mem_save"), save);
    assert_eq!(saved.json()["result"]["isError"], false, "{}", saved.body);
    assert_eq!(daemon.get("/api/observations").json()[0]["title"], "no session");
}
