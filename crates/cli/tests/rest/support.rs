//! The real program on a port of its own, and a client of a few lines that writes what it likes to the socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) fn cortex(home: &Path, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cortex"));
    command
        .current_dir(home)
        .env("CORTEX_HOME", home)
        .env("HOME", home)
        .env("CORTEX_PORT", "0")
        .env_remove("CORTEX_ACTOR")
        .envs(variables.iter().copied())
        .stdin(Stdio::null());
    command
}

pub(crate) struct Daemon {
    pub(crate) child: Child,
    pub(crate) home: TempDir,
    pub(crate) said: Value,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {:?}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

impl Daemon {
    pub(crate) fn start(variables: &[(&str, &str)]) -> Daemon {
        let home = TempDir::new().unwrap();
        let mut serve = cortex(home.path(), variables);
        serve.args(["serve", "--json"]);
        Daemon::spawn(home, &mut serve)
    }

    /// A daemon that may have this many files open.
    pub(crate) fn start_limited(files: u64) -> Daemon {
        let home = TempDir::new().unwrap();
        let program = cortex(home.path(), &[]).get_program().to_owned();
        let mut shell = Command::new("sh");
        shell
            .current_dir(home.path())
            .env("CORTEX_HOME", home.path())
            .env("HOME", home.path())
            .env("CORTEX_PORT", "0")
            .args(["-c", &format!("ulimit -n {files}; exec \"$0\" serve --json")])
            .arg(program);
        Daemon::spawn(home, &mut shell)
    }

    fn spawn(home: TempDir, command: &mut Command) -> Daemon {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"));
        Daemon { child, home, said }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.said["http"].as_str().unwrap().strip_prefix("http://").unwrap().parse().unwrap()
    }

    /// Sends bytes and reads the answer to its end.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(2))).unwrap();
        stream.write_all(bytes).unwrap();
        let mut text = Vec::new();
        stream.read_to_end(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// The header that shows the owner.
    pub(crate) fn owner(&self) -> String {
        let token = std::fs::read_to_string(self.home.path().join("token")).unwrap();
        format!("Authorization: Bearer {}\r\n", token.trim())
    }

    /// Sends a request as the owner, unless it shows something else.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
        if headers.contains("Authorization: ") || headers.contains("Cookie: ") {
            return self.send_bare(method, path, headers, body);
        }
        self.send_bare(method, path, &format!("{headers}{}", self.owner()), body)
    }

    /// Sends a request that shows nothing.
    pub(crate) fn send_bare(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
        let length = body.len();
        let mut bytes = format!(
            "{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
        )
        .into_bytes();
        bytes.extend_from_slice(body);
        self.raw(&bytes)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, "Host: localhost\r\n", b"")
    }

    pub(crate) fn with(&self, method: &str, path: &str, body: &Value) -> Answer {
        let headers = "Host: localhost\r\nContent-Type: application/json\r\n";
        self.send(method, path, headers, body.to_string().as_bytes())
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.with("POST", path, body)
    }

    pub(crate) fn save(&self, title: &str, kind: &str) -> u64 {
        let body = json!({"title": title, "content": format!("about {title}"), "type": kind});
        let answer = self.post("/api/observations", &body);
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.json()["id"].as_u64().unwrap()
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Value {
        let output = cortex(self.home.path(), &[]).args(arguments).arg("--json").output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _stopped = cortex(self.home.path(), &[]).arg("stop").output();
        let _gone = self.child.kill();
        let _waited = self.child.wait();
    }
}

pub(crate) fn problem(answer: &Answer, status: u16, code: &str) {
    assert_eq!(answer.status, status, "{}", answer.body);
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    let body = answer.json();
    assert_eq!((&body["status"], &body["code"]), (&json!(status), &json!(code)), "{body}");
    assert_eq!(body["error"], body["detail"]);
    assert!(body["type"].is_string() && body["title"].is_string(), "{body}");
}
