//! Against a real server on a real socket of this machine.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::Value;

use super::*;

enum Reply {
    Answer(u16, &'static str, String),
    /// The request is read and never answered.
    Silence,
}

struct Server {
    url: String,
    requests: Receiver<(String, Value)>,
    /// Connections that wait for an answer that does not come.
    _silent: Receiver<TcpStream>,
}

/// Answers one request after the other; the last reply is repeated.
fn serve(replies: Vec<fn(&Value) -> Reply>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (seen, requests) = channel();
    let (keep, silent) = channel();
    std::thread::spawn(move || {
        for n in 0.. {
            let Ok((stream, _)) = listener.accept() else { return };
            let reply = replies[n.min(replies.len() - 1)];
            if answer(stream, reply, &seen, &keep).is_none() {
                return;
            }
        }
    });
    Server { url, requests, _silent: silent }
}

/// `None` when the test is over.
fn answer(
    mut stream: TcpStream,
    reply: fn(&Value) -> Reply,
    seen: &Sender<(String, Value)>,
    keep: &Sender<TcpStream>,
) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap() == 0 {
            return Some(());
        }
    }
    let lower = head.to_lowercase();
    let length = lower.split("content-length: ").nth(1).unwrap().lines().next().unwrap();
    let mut body = vec![0; length.trim().parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let reply = reply(&body);
    seen.send((head, body)).ok()?;
    match reply {
        Reply::Answer(status, headers, body) => {
            let length = body.len();
            let head = format!("HTTP/1.1 {status} x\r\n{headers}content-length: {length}\r\n");
            let whole = format!("{head}connection: close\r\n\r\n{body}");
            // The client may have gone away in the middle of a large answer.
            let _ = stream.write_all(whole.as_bytes());
        }
        Reply::Silence => keep.send(stream).ok()?,
    }
    Some(())
}

fn vectors(body: &Value, dims: usize) -> Reply {
    let texts = body["input"].as_array().unwrap();
    let rows = texts.iter().enumerate().rev().map(|(index, text)| {
        let mut embedding = vec![json!(0.5); dims];
        embedding[0] = json!(text.as_str().unwrap().len());
        json!({"object": "embedding", "index": index, "embedding": embedding})
    });
    let answer = json!({"object": "list", "data": rows.collect::<Vec<_>>(), "model": "m"});
    Reply::Answer(200, "content-type: application/json\r\n", answer.to_string())
}

fn good(body: &Value) -> Reply {
    vectors(body, 4)
}

fn too_many(_: &Value) -> Reply {
    Reply::Answer(429, "retry-after: 0\r\n", r#"{"error": {"message": "slow  down"}}"#.into())
}

fn unavailable(_: &Value) -> Reply {
    Reply::Answer(503, "", "<html>busy</html>".into())
}

fn embedder(server: &Server, key: Option<&str>) -> HttpEmbedder {
    let variable = key.map(|_| "KEY");
    let settings = HttpEmbedderSettings::new(&server.url, "m", 4, variable).unwrap();
    let policy = EmbedRetryPolicy {
        connect: Duration::from_secs(5),
        answer: Duration::from_millis(300),
        attempts: 3,
        first_pause: Duration::from_millis(1),
        longest_pause: Duration::from_millis(5),
    };
    HttpEmbedder::new(settings, key.map(str::to_owned), policy).unwrap()
}

fn expected(text: &str) -> Embedding {
    #[expect(clippy::cast_precision_loss, reason = "texts of a few bytes")]
    let length = text.len() as f32;
    Embedding::from_floats(&[length, 0.5, 0.5, 0.5])
}

#[test]
fn vectors_come_in_the_order_of_the_texts() {
    let server = serve(vec![good]);
    let embedder = embedder(&server, Some("secret"));
    let texts = ["a", "bb", "", "cccc"];
    let got = embedder.embed_many(&texts).unwrap();
    assert_eq!(got[0], expected("a"));
    assert_eq!(got[1], expected("bb"));
    assert!(got[2].is_zero());
    assert_eq!(got[3], expected("cccc"));
    let (head, body) = server.requests.recv().unwrap();
    assert!(head.starts_with("POST /v1/embeddings HTTP/1.1"), "{head}");
    assert!(head.to_lowercase().contains("authorization: bearer secret"));
    assert_eq!(body, json!({"model": "m", "input": ["a", "bb", "cccc"]}));
    assert!(!format!("{embedder:?}").contains("secret"));
    assert_eq!(embedder.probe().unwrap(), 4);
    assert!(embedder.embed_many(&[]).unwrap().is_empty());
}

#[test]
fn many_texts_go_in_batches_and_long_ones_are_cut() {
    let server = serve(vec![good]);
    let embedder = embedder(&server, None);
    let long = "é".repeat(TEXT_BYTES_MAX);
    let mut texts = vec!["x"; 150];
    texts.push(&long);
    let got = embedder.embed_many(&texts).unwrap();
    assert_eq!(got.len(), 151);
    assert_eq!(got[150], expected(&long[..TEXT_BYTES_MAX]));
    let sizes: Vec<usize> = server
        .requests
        .try_iter()
        .map(|(_, body)| body["input"].as_array().unwrap().len())
        .collect();
    assert_eq!(sizes, [64, 64, 23]);
}

#[test]
fn a_busy_service_is_asked_again() {
    let server = serve(vec![too_many, unavailable, good]);
    let got = embedder(&server, None).embed_many(&["abc"]).unwrap();
    assert_eq!(got, [expected("abc")]);
    assert_eq!(server.requests.try_iter().count(), 3);
}

#[test]
fn patience_ends() {
    let server = serve(vec![too_many]);
    let error = embedder(&server, None).embed_many(&["abc"]).unwrap_err();
    assert!(
        matches!(&error, HttpError::Status { status: 429, complaint, .. } if complaint == "slow down")
    );
    assert_eq!(server.requests.try_iter().count(), 3);
}

#[test]
fn a_silent_service_times_out() {
    let server = serve(vec![|_| Reply::Silence]);
    let error = embedder(&server, None).embed_many(&["abc"]).unwrap_err();
    assert_eq!(error.code(), "embedder_timeout", "{error}");
    assert_eq!(server.requests.try_iter().count(), 3);
}

#[test]
fn what_cannot_help_is_not_repeated() {
    for (reply, code) in [
        (
            (|_| Reply::Answer(401, "", "{\"error\": \"no key\"}".into())) as fn(&Value) -> Reply,
            "embedder_key_refused",
        ),
        (|_| Reply::Answer(400, "", "bad".into()), "embedder_refused"),
        (
            |_| Reply::Answer(302, "location: http://127.0.0.1:9/\r\n", String::new()),
            "embedder_refused",
        ),
        (|body| vectors(body, 5), "embedder_dims"),
        (|_| Reply::Answer(200, "", "not json".into()), "embedder_answer"),
        (|_| Reply::Answer(200, "", "{\"data\": []}".into()), "embedder_answer"),
        (
            |_| {
                Reply::Answer(
                    200,
                    "",
                    r#"{"data": [{"index": 7, "embedding": [1, 2, 3, 4]}]}"#.into(),
                )
            },
            "embedder_answer",
        ),
        (
            |_| Reply::Answer(200, "", " ".repeat(ANSWER_EXTRA + 4_096 * NUMBER_BYTES + 1)),
            "embedder_answer",
        ),
    ] {
        let server = serve(vec![reply]);
        let error = embedder(&server, Some("secret")).embed_many(&["abc"]).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(!error.to_string().contains("secret"));
        assert_eq!(server.requests.try_iter().count(), 1, "{code}");
    }
}

#[test]
fn nobody_there() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = serve(vec![good]);
    let nobody = Server { url: format!("http://127.0.0.1:{port}/v1"), ..server };
    let error = embedder(&nobody, None).embed_many(&["abc"]).unwrap_err();
    assert_eq!(error.code(), "embedder_unreachable", "{error}");
}
