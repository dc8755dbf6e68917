//! Nodes: the real program in a home of its own, and a client of a few lines.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// How long a client waits for anything.
const PATIENCE: Duration = Duration::from_secs(20);

/// The program, with none of the surroundings of whoever runs the tests.
pub(crate) fn program(home: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cortex"));
    for (name, _) in
        std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CORTEX_"))
    {
        command.env_remove(name);
    }
    command.env("CORTEX_HOME", home.path()).env("HOME", home.path());
    command
}

/// Runs a command to its end and reads its JSON.
pub(crate) fn run(home: &TempDir, arguments: &[&str]) -> Value {
    let output = program(home).args(arguments).arg("--json").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Makes the ledger; returns the administrator's token.
pub(crate) fn init(url: &str) -> String {
    let home = TempDir::new().unwrap();
    run(&home, &["ledger", "init", url])["token"].as_str().unwrap().to_owned()
}

#[derive(Debug)]
pub(crate) struct Node {
    child: Child,
    pub(crate) home: TempDir,
    pub(crate) port: u16,
    url: String,
    settings: Vec<(String, String)>,
}

impl Node {
    pub(crate) fn start(url: &str, settings: &[(&str, &str)]) -> Node {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let settings: Vec<_> = settings.iter().map(owned).collect();
        let (home, port) = (TempDir::new().unwrap(), super::postgres::free_port());
        let child = spawn(&home, port, url, &settings);
        Node { child, home, port, url: url.to_owned(), settings }
    }

    /// The same program without a ledger: its actors are its own. Returns its token, too.
    pub(crate) fn alone() -> (Node, String) {
        let node = Node::start("", &[]);
        let said = program(&node.home).arg("token").output().unwrap();
        let token = String::from_utf8(said.stdout).unwrap().trim().to_owned();
        (node, token)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent =
            Command::new("kill").arg(format!("-{name}")).arg(self.pid().to_string()).status();
        assert!(sent.unwrap().success());
    }

    /// Ends it without a chance to do anything.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again, with the same home at the same port.
    pub(crate) fn resume(&mut self) {
        self.child = spawn(&self.home, self.port, &self.url, &self.settings);
    }

    pub(crate) fn ask(&self, request: &Asked<'_>) -> Result<Reply, String> {
        ask(self.port, request)
    }

    /// The same; an answer that is not a success is a failure.
    pub(crate) fn get(&self, token: &str, path: &str) -> Value {
        let reply = self.ask(&Asked { token, path, ..Asked::default() }).unwrap();
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        reply.body
    }

    /// A number that it tells of itself.
    pub(crate) fn metric(&self, token: &str, name: &str) -> u64 {
        let (text, start) = (self.get(token, "/metrics"), format!("{name} "));
        let value = text.as_str().unwrap().lines().find_map(|line| line.strip_prefix(&*start));
        value.map_or(0, |value| value.parse().unwrap())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // One that has ended already is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(home: &TempDir, port: u16, url: &str, settings: &[(String, String)]) -> Child {
    let ledger = ["--ledger", url];
    let mut child = program(home)
        .arg("serve")
        .args(ledger.iter().filter(|_| !url.is_empty()))
        .env("CORTEX_PORT", port.to_string())
        .envs(settings.iter().cloned())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains("serves"), "{said}");
    child
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    /// As what the node is addressed, if not by its address.
    pub(crate) host: Option<&'a str>,
    pub(crate) token: &'a str,
    pub(crate) actor: Option<&'a str>,
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) body: Option<&'a Value>,
}

impl Default for Asked<'_> {
    fn default() -> Self {
        Asked {
            method: "GET",
            path: "/",
            host: None,
            token: "",
            actor: None,
            headers: &[],
            body: None,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| &**value)
    }
}

/// Asks once. An error says that there was no answer, and nothing about what happened.
pub(crate) fn ask(port: u16, asked: &Asked<'_>) -> Result<Reply, String> {
    let told = |error: std::io::Error| error.to_string();
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(2)).map_err(told)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(told)?;
    stream.write_all(written(asked, "close").as_bytes()).map_err(told)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).map_err(told)?;
    let text = String::from_utf8_lossy(&answer);
    let (head, body) = text.split_once("\r\n\r\n").ok_or("no answer")?;
    reply(head, body)
}

/// A connection that stays, as those of programs do.
#[derive(Debug)]
pub(crate) struct Line(BufReader<TcpStream>);

impl Line {
    pub(crate) fn open(port: u16) -> Line {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Line(BufReader::new(stream))
    }

    /// Asks what is answered with a body of a length that is told.
    pub(crate) fn ask(&mut self, asked: &Asked<'_>) -> Reply {
        self.0.get_mut().write_all(written(asked, "keep-alive").as_bytes()).unwrap();
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(self.0.read_line(&mut head).unwrap(), 0, "the connection was closed");
        }
        let lower = head.to_ascii_lowercase();
        let length = lower.lines().find_map(|line| line.strip_prefix("content-length:")).unwrap();
        let mut body = vec![0; length.trim().parse().unwrap()];
        self.0.read_exact(&mut body).unwrap();
        reply(head.trim_end(), &String::from_utf8_lossy(&body)).unwrap()
    }
}

fn written(asked: &Asked<'_>, connection: &str) -> String {
    let body = asked.body.map(ToString::to_string).unwrap_or_default();
    let mut head = format!(
        "{} {} HTTP/1.1\r\nHost: {}\r\nConnection: {connection}\r\nContent-Length: {}\r\n",
        asked.method,
        asked.path,
        asked.host.unwrap_or("127.0.0.1"),
        body.len()
    );
    let token = format!("Bearer {}", asked.token);
    let mut headers: Vec<(&str, &str)> = asked.headers.to_vec();
    if !asked.token.is_empty() {
        headers.push(("Authorization", &token));
    }
    if asked.body.is_some() {
        headers.push(("Content-Type", "application/json"));
    }
    headers.extend(asked.actor.map(|actor| ("X-Cortex-Actor", actor)));
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    format!("{head}\r\n{body}")
}

fn reply(head: &str, body: &str) -> Result<Reply, String> {
    let mut lines = head.lines();
    let status =
        lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).ok_or("no status")?;
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    };
    let headers: Vec<(String, String)> = lines.filter_map(header).collect();
    let is_chunked =
        headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    let body = if is_chunked { unchunked(body) } else { body.to_owned() };
    // An answer that was cut off is none.
    let length =
        headers.iter().find(|(name, _)| name == "content-length").map(|(_, value)| value.clone());
    if length.is_some_and(|length| length != body.len().to_string()) {
        return Err("the answer was cut off".to_owned());
    }
    Ok(Reply { status, headers, body: serde_json::from_str(&body).unwrap_or(Value::String(body)) })
}

fn unchunked(mut text: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = text.split_once("\r\n") {
        let Ok(size) = usize::from_str_radix(size.trim(), 16) else { break };
        if size == 0 || rest.len() < size {
            break;
        }
        whole.push_str(&rest[..size]);
        text = rest[size..].trim_start_matches("\r\n");
    }
    whole
}
