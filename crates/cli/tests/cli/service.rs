//! A service on loopback that speaks the chat completions protocol: it gives the answers it was told to, and keeps what
//! it was asked.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::Home;

/// One turn of the model.
#[derive(Clone, Debug)]
pub(crate) enum Turn {
    Says(&'static str),
    Calls(&'static str, Value),
    /// Says a word so many times, each in a piece of its own.
    Pieces(usize),
    /// Begins to answer and never goes on.
    Hangs,
    /// Answers with this status and no model.
    Refuses(u16),
}

pub(crate) struct Service {
    address: String,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Service {
    /// Serves until the test ends; a turn that nobody wrote down says "nothing more".
    pub(crate) fn start(turns: &[Turn]) -> Service {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let mut turns: std::collections::VecDeque<Turn> = turns.iter().cloned().collect();
        std::thread::spawn(move || {
            let mut hanging = Vec::new();
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                let turn = turns.pop_front().unwrap_or(Turn::Says("nothing more"));
                hanging.extend(answer(stream, &turn, &seen));
            }
        });
        Service { address, asked }
    }

    /// Makes it the one provider of a home, for talents: the daemon's own bulletin would take their turns.
    pub(crate) fn serve(&self, home: &Home) {
        let text = format!(
            "[providers]\ndefault = {{ provider = \"local\", tier = 2 }}\n[providers.models.local]\n\"1\" = \"tiny\"\n\
             [providers.endpoints.local]\nkind = \"openai\"\nbase_url = \"{}\"\n\
             [exec]\nenv = [\"MY_KEY\"]\n[defaults.budget]\nbulletin_tokens_per_day = 0\n",
            self.address
        );
        std::fs::write(home.path().join("cortex.toml"), text).unwrap();
    }

    /// The bodies of all requests so far.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }
}

/// Reads one request and answers it; a connection that hangs is given back, so that it stays open.
fn answer(stream: TcpStream, turn: &Turn, seen: &Mutex<Vec<Value>>) -> Option<TcpStream> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        let lower = line.to_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    seen.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
    let (delta, stop) = match turn {
        Turn::Refuses(status) => return refuse(reader.into_inner(), *status),
        Turn::Says(text) => (json!({"content": text}), "stop"),
        Turn::Pieces(_) => (json!({"content": ""}), "stop"),
        Turn::Hangs => (json!({"content": "Well"}), ""),
        Turn::Calls(tool, args) => {
            let call = json!({"index": 0, "id": "call_1", "type": "function",
                "function": {"name": tool, "arguments": args.to_string()}});
            (json!({"tool_calls": [call]}), "tool_calls")
        }
    };
    let mut stream = reader.into_inner();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let first = json!({"model": "tiny-1", "choices": [{"index": 0, "delta": delta}]});
    stream.write_all(format!("{head}data: {first}\n\n").as_bytes()).unwrap();
    if let Turn::Pieces(count) = turn {
        let piece = json!({"choices": [{"index": 0, "delta": {"content": "word "}}]});
        for _ in 0..*count {
            stream.write_all(format!("data: {piece}\n\n").as_bytes()).unwrap();
        }
    }
    if stop.is_empty() {
        return Some(stream);
    }
    let last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": stop}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}});
    stream.write_all(format!("data: {last}\n\ndata: [DONE]\n\n").as_bytes()).unwrap();
    None
}

fn refuse(mut stream: TcpStream, status: u16) -> Option<TcpStream> {
    let body = r#"{"error":{"message":"not now","type":"refused"}}"#;
    let head = format!(
        "HTTP/1.1 {status} No\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    None
}
