//! A server on loopback that answers with recorded bytes, in pieces, slowly, or not at all.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What the server does with one request.
#[derive(Clone, Debug)]
pub(crate) enum Act {
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

pub(crate) struct Server {
    pub(crate) base: String,
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Serves the acts one after the other; the last one again and again.
    pub(crate) async fn start(acts: Vec<Act>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
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
        Server { base, requests }
    }

    pub(crate) fn body(&self, place: usize) -> serde_json::Value {
        let request = self.requests.lock().unwrap()[place].clone();
        serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    pub(crate) fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

async fn serve(mut socket: TcpStream, act: Act, seen: Arc<Mutex<Vec<String>>>) {
    let request = read_request(&mut socket).await;
    seen.lock().unwrap().push(request);
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    match act {
        Act::Answer(status, headers, body) => {
            let text = format!(
                "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            socket.write_all(text.as_bytes()).await.unwrap();
        }
        Act::Stream(body, size) => {
            socket.write_all(head.as_bytes()).await.unwrap();
            for piece in body.as_bytes().chunks(size) {
                chunk(&mut socket, piece).await;
            }
            socket.write_all(b"0\r\n\r\n").await.unwrap();
        }
        Act::Cut(body) => {
            socket.write_all(head.as_bytes()).await.unwrap();
            chunk(&mut socket, body.as_bytes()).await;
        }
        Act::Stall(body) => {
            socket.write_all(head.as_bytes()).await.unwrap();
            chunk(&mut socket, body.as_bytes()).await;
            std::future::pending::<()>().await;
        }
        Act::Silent => std::future::pending::<()>().await,
    }
}

async fn chunk(socket: &mut TcpStream, piece: &[u8]) {
    let mut bytes = format!("{:x}\r\n", piece.len()).into_bytes();
    bytes.extend_from_slice(piece);
    bytes.extend_from_slice(b"\r\n");
    socket.write_all(&bytes).await.unwrap();
    socket.flush().await.unwrap();
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
                .map_or(0, |length| length.trim().parse::<usize>().unwrap());
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
pub(crate) fn impatient() -> crate::providers::Patience {
    crate::providers::Patience {
        connect: Duration::from_secs(5),
        first_byte: Duration::from_millis(1_500),
        idle: Duration::from_millis(700),
        whole: Duration::from_secs(20),
        attempts: 3,
        first_pause: Duration::from_millis(5),
        longest_pause: Duration::from_millis(2_500),
    }
}
