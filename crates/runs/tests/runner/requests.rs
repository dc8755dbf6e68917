//! Asking for runs: ids, refusals, the bus, and following a run.

use crate::support::ReceiptRun as _;
use api::run::{RunReceipt, RunRequest};
use std::sync::Arc;

use runs::bus_server::BusServer;
use runs::runner::RunFollower;
use serde_json::{Value, json};
use talents::bus::{BusClient, BusClientEvent, BusClientSettings, BusFilter, BusMessage, ask_once};
use talents::clock::SystemJitter;
use talents::{Layout, UseId};

use crate::support::{Home, PATIENCE, kinds, object, quick};

fn code(receipt: &RunReceipt) -> &str {
    match receipt {
        RunReceipt::Rejected { code, .. } => code,
        _ => "",
    }
}

// execution 9.4, 9.6, 9.7
#[tokio::test]
async fn an_id_is_one_run_for_ever() {
    let home = Home::new(quick()).await;
    let request = || json!({"use_id": "1700000000000", "prompt": "a", "env": {"DO": "finish"}});
    let first = home.ask(request()).await;
    let run = UseId::parse("1700000000000").expect("an id");
    assert_eq!(first, RunReceipt::Accepted { use_id: run.to_string(), replayed: false });
    home.end_of(&run).await;
    let again = home.ask(request()).await;
    assert_eq!(again, RunReceipt::Accepted { use_id: run.to_string(), replayed: true });
    assert_eq!(
        code(&home.ask(json!({"use_id": "1700000000000", "prompt": "b"})).await),
        "id_taken"
    );
    let elsewhere = json!({"use_id": "1700000000000", "prompt": "a", "name": "chat"});
    assert_eq!(code(&home.ask(elsewhere).await), "id_taken");
    assert_eq!(home.runner.status().counters.started, 1);
    assert_eq!(code(&home.ask(json!({"name": "missing"})).await), "unknown_talent");
    assert_eq!(code(&home.ask(json!({"name": "../x"})).await), "bad_name");
    assert_eq!(code(&home.ask(json!({"use_id": "99999999999999999999"})).await), "bad_name");
    assert_eq!(code(&home.ask(json!({"use_id": "01700000000000"})).await), "bad_name");
    assert!(!home.folder.path().join("talents/missing").exists());
}

// execution 2.3, 9.6: at the same moment, from many sides
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ids_are_never_given_twice() {
    let home = Home::new(quick()).await;
    let mut asked = Vec::new();
    for caller in 0..40 {
        let runner = home.runner.clone();
        asked.push(tokio::spawn(async move {
            let request = json!({"env": {"DO": "finish"}});
            runner.submit_fields(&crate::support::object(request), &caller.to_string()).await.run()
        }));
    }
    let mut runs = Vec::new();
    for asked in asked {
        runs.push(asked.await.expect("no panic").expect("a run"));
    }
    let waited = home.runner.wait(&runs, PATIENCE).await.expect("readable");
    assert_eq!(waited.ended.len(), 40);
}

// execution 2.3: ids that clients brought from the future are stepped over
#[tokio::test]
async fn an_id_of_ours_that_somebody_used_is_exchanged_for_the_next() {
    let home = Home::new(quick()).await;
    let later = jiff::Timestamp::now().as_millisecond() + 3_600_000;
    let script = json!({"DO": "finish"});
    let brought = home.ask(json!({"use_id": later.to_string(), "env": script})).await;
    home.end_of(&brought.run().expect("a run")).await;
    // A new runner on the same home goes on behind the newest it knows.
    let parts = crate::support::parts(home.folder.path(), quick(), Arc::new(()));
    let (runner, _) = runs::runner::Runner::start(parts).await.expect("a runner");
    let next =
        runner.submit_fields(&object(json!({"env": script})), "test").await.run().expect("a run");
    assert_eq!(next.to_string(), (later + 1).to_string());
    runner.wait(&[next], PATIENCE).await.expect("readable");
    // The first runner does not know that one, and its own next id is free or stepped over.
    let mine = home.begin(json!({"use_id": (later + 2).to_string()}), "finish").await;
    home.end_of(&mine).await;
    home.run("finish").await;
}

// execution R24: the seed's request has a `ts` and no id; its number is the name of the file
#[tokio::test]
async fn the_time_that_a_sender_puts_on_a_request_is_its_id() {
    let home = Home::new(quick()).await;
    let request =
        || json!({"event": "request", "ts": 1_234_567_890_123_u64, "env": {"DO": "finish"}});
    let first = home.ask(request()).await.run().expect("a run");
    assert_eq!(first.as_str(), "1234567890123");
    home.end_of(&first).await;
    assert!(home.folder.path().join("talents/default/1234567890123.jsonl").exists());
    // Somebody else at the same moment is another run.
    let second = home.ask(request()).await.run().expect("a run");
    assert_ne!(first, second);
    home.end_of(&second).await;
    assert_eq!(home.log(&second).events[0]["ts"].to_string(), second.as_str());
}

// execution R16, R19, R23, R86: the process gets the request as it stands in the log, one line and then the end of
// its input
#[tokio::test]
async fn the_request_goes_to_the_process_as_it_is() {
    let home = Home::new(quick()).await;
    let script = r#"rest=$(cat); printf '{"event":"got","line":%s,"rest":"%s"}\n' "$request" "$rest"; finish"#;
    let request = json!({
        "event": "request", "prompt": "Say \"hi\" to all 👋", "facet": "work", "day": "20250109",
        "provider": "openai", "refresh": true, "span": ["120000_300", "120500_300"],
    });
    let log = home.run_with(request, script).await;
    let got = log.events.iter().find(|event| event.name() == "got").expect("told");
    assert_eq!((&got["rest"], &got["line"]["event"]), (&json!(""), &json!("request")));
    let mut first = log.events[0].clone().into_fields();
    first.remove("seq");
    assert_eq!(got["line"], Value::Object(first));
    // Nothing else that is said to the runner asks for a run.
    let runs = home.runner.status().counters.started;
    home.hub.publish(BusMessage::new("cortex", "finish").with("name", "default"));
    assert_eq!(home.runner.status().counters.started, runs);
}

// execution R103: what the daemon has in its environment, its processes have; where the home is, they are told
#[tokio::test]
async fn processes_have_a_short_environment_and_know_their_home() {
    let home = Home::new(quick()).await;
    let log = home.run("echo \"$PATH\"; echo \"$CORTEX_HOME\"; pwd; finish").await;
    let said: Vec<&str> =
        log.events.iter().filter_map(|event| event.get("message")?.as_str()).collect();
    let own = std::env::var("PATH").expect("a path");
    let folder = home.folder.path().to_str().expect("text");
    assert_eq!(said, [own.as_str(), folder, folder]);
    // F4: of this process, which plays the daemon, they have nothing else.
    let log = home.run("env | sed 's/=.*//' | sort | tr '\\n' ' '; echo; finish").await;
    let said = log.events.iter().find_map(|event| event.get("message")?.as_str());
    let names = "CORTEX_DAY CORTEX_HOME CORTEX_USE_ID DO FROM_BOTH FROM_TALENT PATH PWD ";
    assert_eq!(
        said.map(|said| said.replace("SHLVL ", "").replace("_ ", "")).as_deref(),
        Some(names)
    );
}

// F4: the runner is the one place that decides, whoever asks
#[tokio::test]
async fn a_variable_that_nobody_declared_is_refused() {
    let home = Home::new(quick()).await;
    for name in ["LD_PRELOAD", "PATH", "UNKNOWN", "https_proxy"] {
        let asked = home.ask(json!({"env": {"DO": "finish", name: "x"}})).await;
        assert_eq!(code(&asked), "bad_env", "{name}");
        let taken_away = home.ask(json!({"env": {"DO": "finish", name: null}})).await;
        assert_eq!(code(&taken_away), "bad_env", "{name}");
    }
    assert_eq!(home.runner.status().counters.started, 0);
}

// execution R55, 9.19
#[tokio::test]
async fn a_session_stays_with_its_provider() {
    let home = Home::new(quick()).await;
    let script = r#"say start ',"provider":"anthropic"'; say finish ',"cli_session_id":"sess-1"'"#;
    home.run(script).await;
    let other = json!({"session_id": "sess-1", "provider": "openai"});
    assert_eq!(code(&home.ask(other).await), "provider_mismatch");
    let log = home.run_with(json!({"session_id": "sess-1"}), "finish").await;
    assert_eq!(log.events[0]["provider"], "anthropic");
}

// execution R4, R8, R14, 9.3, 9.4: over the socket, with a replay that begins in the middle and misses nothing
#[tokio::test]
async fn a_client_asks_for_a_run_and_follows_it() {
    let home = Home::new(quick()).await;
    let layout = Layout::new(home.folder.path());
    let server = BusServer::start(home.hub.clone(), layout.clone(), &layout.bus_socket())
        .await
        .expect("a bus");
    let settings = BusClientSettings { name: "tester".to_owned(), ..BusClientSettings::default() };
    let (client, mut inbox) = BusClient::start(server.path(), settings, Arc::new(SystemJitter));
    client.subscribe(BusFilter::all());
    let gate = home.folder.path().join("gate");
    let script = format!(
        "i=0; while [ $i -lt 100 ]; do say thinking \",\\\"n\\\":$i\"; i=$((i+1)); done; \
         while ! [ -e {} ]; do sleep 0.01; done; \
         while [ $i -lt 200 ]; do say thinking \",\\\"n\\\":$i\"; i=$((i+1)); done; finish",
        gate.display()
    );
    let request = object(json!({"prompt": "p", "env": {"DO": script}}));
    let request = RunRequest::from_fields(&request).expect("a request");
    let answer = client.request_run(request, PATIENCE).await.expect("an answer");
    assert_eq!(answer["state"], "accepted");
    let run = answer["use_id"].as_str().expect("an id").to_owned();
    let message = |incoming| match incoming {
        Some(BusClientEvent::Message(message)) => Some(message),
        Some(_) => None,
        None => panic!("the client ended"),
    };
    // Some of it was heard live before the replay is asked for.
    loop {
        let heard = message(inbox.recv().await);
        if heard.is_some_and(|heard| heard.get("n") == Some(&json!(50))) {
            break;
        }
    }
    let replay = BusMessage::new("callosum", "replay").with("use_id", run.as_str());
    client.ask(replay, PATIENCE).await.expect("a replay");
    std::fs::write(&gate, "").expect("a file");
    let mut seqs = Vec::new();
    loop {
        let Some(heard) = message(inbox.recv().await) else { continue };
        if heard.event() == "replayed" {
            break;
        }
        // What was on its way when the replay began is told apart by its place.
        match heard.get("seq").and_then(Value::as_u64) {
            Some(0) => seqs = vec![0],
            Some(seq) => seqs.push(seq),
            None => {}
        }
    }
    // request, spawned, 200 thoughts, finish
    assert_eq!(seqs, (0..203).collect::<Vec<u64>>());
    let cancel = BusMessage::new("cortex", "cancel").with("use_id", "12");
    let answer = client.ask(cancel, PATIENCE).await.expect("an answer");
    assert_eq!(answer["cancelled"], json!([]));
    let unknown = BusMessage::new("callosum", "replay").with("use_id", "12");
    client.ask(unknown, PATIENCE).await.expect("taken");
    loop {
        let heard = message(inbox.recv().await);
        if heard.is_some_and(|heard| heard.get("code") == Some(&json!("no_such_run"))) {
            break;
        }
    }
    // Without staying: an answer, a refusal, and no bus.
    let status = ask_once(server.path(), BusMessage::new("callosum", "status"), PATIENCE).await;
    assert!(status.expect("a status")["clients"].is_array());
    let forged = ask_once(server.path(), BusMessage::new("cortex", "finish"), PATIENCE).await;
    assert_eq!(forged.expect_err("forged").code(), "reserved");
    let path = server.path().to_owned();
    server.stop().await.expect("stopped");
    let nobody = ask_once(&path, BusMessage::new("callosum", "status"), PATIENCE).await;
    assert_eq!(nobody.expect_err("gone").code(), "no_bus");
}

// execution 9.3: a follower that is far too slow still gets everything, from the log
#[tokio::test]
async fn a_slow_follower_misses_nothing() {
    let home = Home::new(quick()).await;
    let script =
        "i=0; while [ $i -lt 5000 ]; do say thinking \",\\\"n\\\":$i\"; i=$((i+1)); done; finish";
    let run = home.begin(json!({}), script).await;
    let mut follow = RunFollower::new(&home.hub, &home.layout, &run, None);
    let first = follow.next().await.expect("readable").expect("an event");
    assert_eq!(first.seq, 0);
    // The queue of 2,000 has long overflowed when the second is read.
    home.end_of(&run).await;
    let mut next = 1;
    while let Some(event) = follow.next().await.expect("readable") {
        assert_eq!(event.seq, next);
        next += 1;
    }
    assert_eq!(next, 5_003);
    let mut rest = RunFollower::new(&home.hub, &home.layout, &run, Some(5_000));
    assert_eq!(rest.next().await.expect("readable").expect("an event").seq, 5_001);
    let log = home.log(&run);
    assert_eq!(kinds(&log).len(), 5_003);
    let nobody = UseId::parse("5").expect("an id");
    let mut lost = RunFollower::new(&home.hub, &home.layout, &nobody, None);
    assert_eq!(lost.next().await.expect_err("unknown").kind(), std::io::ErrorKind::NotFound);
    let waited = home.runner.wait(std::slice::from_ref(&nobody), PATIENCE).await.expect("readable");
    assert!(waited.unknown.contains(&nobody));
}

// execution 9.3, 9.4: the end of a run whose log could not be written is only on the bus
#[tokio::test]
async fn a_follower_hears_an_end_that_is_in_no_log() {
    let home = Home::new(quick()).await;
    let run = home.begin(json!({}), "sleep 60").await;
    let mut follow = RunFollower::new(&home.hub, &home.layout, &run, None);
    for seq in 0..2 {
        let event = follow.next().await.expect("readable").expect("an event");
        assert_eq!(event.seq, seq);
    }
    let end = BusMessage::new("cortex", "error")
        .with("use_id", run.as_str())
        .with("reason", "log_failed");
    home.hub.publish(end);
    let event = follow.next().await.expect("readable").expect("an event");
    assert_eq!(event.event["reason"], "log_failed");
    assert_eq!(follow.next().await.expect("readable"), None);
    home.runner.shutdown().await;
}

// execution 9.3: a replay that failed takes no later event away
#[tokio::test]
async fn a_run_that_begins_after_its_replay_failed_is_heard() {
    let home = Home::new(quick()).await;
    let layout = Layout::new(home.folder.path());
    let server = BusServer::start(home.hub.clone(), layout.clone(), &layout.bus_socket())
        .await
        .expect("a bus");
    let settings = BusClientSettings { name: "tester".to_owned(), ..BusClientSettings::default() };
    let (client, mut inbox) = BusClient::start(server.path(), settings, Arc::new(SystemJitter));
    let replay = BusMessage::new("callosum", "replay").with("use_id", "1700000000000");
    client.ask(replay, PATIENCE).await.expect("taken");
    let mut failed = false;
    loop {
        let BusClientEvent::Message(heard) = inbox.recv().await.expect("a client") else {
            continue;
        };
        if heard.get("code") == Some(&json!("no_such_run")) {
            failed = true;
            home.begin(json!({"use_id": "1700000000000"}), "finish").await;
        } else if heard.event() == "finish" {
            break;
        }
    }
    assert!(failed);
    server.stop().await.expect("stopped");
}
