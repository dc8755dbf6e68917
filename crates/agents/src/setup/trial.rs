//! The server of tools, started as an agent starts it, to see that it answers.
//!
//! What must stay true: the server that is tried does not outlive the try.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

/// How long a server that is tried may take to list its tools.
const TRY_LIMIT: Duration = Duration::from_secs(30);

/// How many tools the server lists; an error says in words why none.
pub fn listed_tools(program: &Path, home: &Path, cwd: &Path, tools: &str) -> Result<usize, String> {
    let mut child = Command::new(program)
        .arg("--home")
        .arg(home)
        .args(["mcp", &format!("--tools={tools}")])
        .current_dir(cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("the server could not be started: {error}"))?;
    let found = talk(&mut child);
    drop(child.stdin.take());
    // It ends with its input; one that does not must not outlive this.
    let _ = child.kill();
    let _ = child.wait();
    found
}

fn talk(child: &mut Child) -> Result<usize, String> {
    let (Some(input), Some(output)) = (child.stdin.as_mut(), child.stdout.take()) else {
        return Err("the server has no pipes".to_owned());
    };
    let initialize = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "cortex-init", "version": "1"},
        },
    });
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let failed = |error: std::io::Error| format!("the server did not listen: {error}");
    for message in [initialize, ready, list] {
        writeln!(input, "{message}").map_err(failed)?;
    }
    input.flush().map_err(failed)?;
    let (send, heard) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            if message["id"] == 2 {
                // Nobody waits any more if it took too long.
                let _ = send.send(message);
                return;
            }
        }
    });
    let answer = heard.recv_timeout(TRY_LIMIT).map_err(|_| "the server listed no tools in time")?;
    let tools = answer["result"]["tools"].as_array().map_or(0, Vec::len);
    if tools == 0 {
        Err(format!("the server listed no tools: {}", answer["error"]))
    } else {
        Ok(tools)
    }
}
