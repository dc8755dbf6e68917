//! A daemon of the real program on a port of its own, and a service that speaks the protocol of chat completions.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub(crate) fn cortex(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cortex"));
    command
        .current_dir(home)
        .env("CORTEX_HOME", home)
        .env("HOME", home)
        .env("CORTEX_PORT", "0")
        .env_remove("CORTEX_ACTOR")
        .stdin(Stdio::null());
    command
}

pub(crate) struct Daemon<'h> {
    pub(crate) child: Child,
    home: &'h Path,
    pub(crate) address: String,
}

impl Daemon<'_> {
    pub(crate) fn start(home: &Path) -> Daemon<'_> {
        let mut child = cortex(home)
            .args(["serve", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let address = said["http"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
        Daemon { child, home, address }
    }

    pub(crate) fn raw(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n{}{headers}\r\n{body}",
            owner(self.home)
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let (status, body) = self.raw("GET", path, "", "");
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        let (status, body) = self.raw("POST", path, "", &body.to_string());
        assert!(status < 300, "{path}: {status} {body}");
        serde_json::from_str(&body).unwrap()
    }

    pub(crate) fn save(&self, title: &str, kind: &str) -> u64 {
        let body = json!({"title": title, "content": format!("About {title}."), "type": kind});
        self.post("/api/observations", &body)["id"].as_u64().unwrap()
    }

    /// Asks until it is so.
    pub(crate) fn until(&self, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + Duration::from_mins(1);
        loop {
            let value = self.get(path);
            if is_so(&value) {
                return value;
            }
            assert!(Instant::now() < end, "{path}: {value}");
        }
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Value {
        let output = cortex(self.home).args(arguments).arg("--json").output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        let _gone = cortex(self.home).arg("stop").output();
        let _gone = self.child.wait();
    }
}

/// A service that speaks the protocol of chat completions: each request is answered with what `answer` says of it. An
/// answer `CALL name {…}` uses a tool.
pub(crate) fn model(answer: impl Fn(&Value) -> String + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || serve(stream.unwrap(), answer.as_ref()));
        }
    });
    format!("http://{address}/v1")
}

fn serve(mut stream: TcpStream, answer: &dyn Fn(&Value) -> String) {
    let mut read = BufReader::new(stream.try_clone().unwrap());
    let mut length = 0;
    loop {
        let mut line = String::new();
        if read.read_line(&mut line).unwrap() == 0 {
            return;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    read.read_exact(&mut body).unwrap();
    let text = answer(&serde_json::from_slice(&body).unwrap());
    let (delta, finish_reason) =
        match text.strip_prefix("CALL ").and_then(|call| call.split_once(' ')) {
            Some((name, arguments)) => {
                let function = json!({"name": name, "arguments": arguments});
                let call =
                    json!({"index": 0, "id": "c1", "type": "function", "function": function});
                (json!({"tool_calls": [call]}), "tool_calls")
            }
            None => (json!({"content": text}), "stop"),
        };
    let chunk = json!({"model": "tiny", "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]});
    let usage = json!({"model": "tiny", "choices": [], "usage": {
        "prompt_tokens": 300, "completion_tokens": 20, "total_tokens": 320,
    }});
    let events = format!("data: {chunk}\n\ndata: {usage}\n\ndata: [DONE]\n\n");
    let length = events.len();
    // Whoever asked may be gone.
    let _gone = write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{events}"
    );
}

/// Makes the service the only provider; `more` is added to the file.
pub(crate) fn write_config(home: &Path, url: &str, more: &str) {
    let config = format!(
        "[providers]\ndefault = {{ provider = \"near\", model = \"tiny\" }}\n\
         [providers.endpoints.near]\nkind = \"openai\"\nbase_url = \"{url}\"\n\
         [providers.prices.tiny]\ninput = 1.0\noutput = 2.0\n{more}"
    );
    std::fs::write(home.join("cortex.toml"), config).unwrap();
}

/// Sends a request to a daemon that may die before it answers.
pub(crate) fn post_and_forget(address: &str, home: &Path, path: &str, body: &str) {
    let owner = owner(home);
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let sent = write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n{owner}\r\n{body}"
    );
    let mut text = String::new();
    let _broken = sent.and_then(|()| stream.read_to_string(&mut text));
}

/// The header that shows the owner of a home.
fn owner(home: &Path) -> String {
    let token = std::fs::read_to_string(home.join("token")).unwrap();
    format!("Authorization: Bearer {}\r\n", token.trim())
}
