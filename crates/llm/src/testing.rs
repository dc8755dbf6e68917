//! A server on loopback that answers with recorded bytes, in pieces, slowly, or not at all.
//!
//! It exists for tests, of this crate and of those that ask models (feature `testing`); it panics where a test has
//! to fail.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// One whole turn with a thought, a text and a call of `memory_recall`, as each service sends it.
pub const ANTHROPIC: &str = include_str!("../recordings/anthropic.sse");
pub const GOOGLE: &str = include_str!("../recordings/google.sse");
pub const OPENAI: &str = include_str!("../recordings/openai.sse");

const EXPECTED: &str = "a connection on loopback and a request that is HTTP";

/// What the server does with one request.
#[derive(Clone, Debug)]
pub enum ServerAct {
    /// Status, extra header lines, body.
    Answer(u16, String, String),
    /// 200 and an event stream in pieces of so many bytes.
    Stream(String, usize),
    /// The beginning of a stream, then the connection is cut.
    Cut(String),
    /// The beginning of a stream, then nothing.
    Stall(String),
    /// Not even a status.
    Silent,
}

/// A server on loopback.
#[derive(Debug)]
pub struct FakeServer {
    pub base: String,
    pub requests: Arc<Mutex<Vec<String>>>,
}

impl FakeServer {
    /// Serves the acts one after the other; the last one again and again.
    pub async fn start(acts: Vec<ServerAct>) -> FakeServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect(EXPECTED);
        let base = format!("http://{}", listener.local_addr().expect(EXPECTED));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        tokio::spawn(async move {
            let mut served = 0;
            while let Ok((socket, _)) = listener.accept().await {
                let act = acts[served.min(acts.len() - 1)].clone();
                served += 1;
                tokio::spawn(serve(socket, act, Arc::clone(&seen)));
            }
        });
        FakeServer { base, requests }
    }

    pub fn body(&self, place: usize) -> serde_json::Value {
        let request = self.requests.lock().expect(EXPECTED)[place].clone();
        serde_json::from_str(request.split_once("\r\n\r\n").expect(EXPECTED).1).expect(EXPECTED)
    }

    pub fn count(&self) -> usize {
        self.requests.lock().expect(EXPECTED).len()
    }
}

async fn serve(mut socket: TcpStream, act: ServerAct, seen: Arc<Mutex<Vec<String>>>) {
    let request = read_request(&mut socket).await;
    seen.lock().expect(EXPECTED).push(request);
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    match act {
        ServerAct::Answer(status, headers, body) => {
            let text = format!(
                "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\
                 connection: close\r\n\r\n{body}",
                body.len()
            );
            socket.write_all(text.as_bytes()).await.expect(EXPECTED);
        }
        ServerAct::Stream(body, size) => {
            socket.write_all(head.as_bytes()).await.expect(EXPECTED);
            for piece in body.as_bytes().chunks(size) {
                chunk(&mut socket, piece).await;
            }
            socket.write_all(b"0\r\n\r\n").await.expect(EXPECTED);
        }
        ServerAct::Cut(body) => {
            socket.write_all(head.as_bytes()).await.expect(EXPECTED);
            chunk(&mut socket, body.as_bytes()).await;
        }
        ServerAct::Stall(body) => {
            socket.write_all(head.as_bytes()).await.expect(EXPECTED);
            chunk(&mut socket, body.as_bytes()).await;
            std::future::pending::<()>().await;
        }
        ServerAct::Silent => std::future::pending::<()>().await,
    }
}

async fn chunk(socket: &mut TcpStream, piece: &[u8]) {
    let mut bytes = format!("{:x}\r\n", piece.len()).into_bytes();
    bytes.extend_from_slice(piece);
    bytes.extend_from_slice(b"\r\n");
    socket.write_all(&bytes).await.expect(EXPECTED);
    socket.flush().await.expect(EXPECTED);
}

async fn read_request(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut piece = [0_u8; 4_096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned)
                })
                .map_or(0, |length| length.trim().parse::<usize>().expect(EXPECTED));
            if body.len() >= length {
                return text;
            }
        }
        match socket.read(&mut piece).await {
            Ok(0) | Err(_) => return text,
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
        }
    }
}

/// Limits for tests: pauses of milliseconds, and no wait that a test would feel.
pub fn impatient() -> crate::providers::HttpLimits {
    crate::providers::HttpLimits {
        connect: Duration::from_secs(5),
        first_byte: Duration::from_millis(1_500),
        idle: Duration::from_millis(700),
        whole: Duration::from_secs(20),
        retry: crate::retry::RetryPolicy {
            attempts: 3,
            first_pause: Duration::from_millis(5),
            longest_pause: Duration::from_millis(2_500),
        },
    }
}
