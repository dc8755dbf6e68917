//! Goal: a conversation goes on over turns, branches, workers, compactions and crashes, and nothing that was said is
//! lost.

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Daemon, cortex, model, write_config};

/// The bulletin is written by rules, so that every question to the service is the conversation's.
const BY_RULES: &str = "[providers.contexts.\"mind.bulletin\"]\ndisabled = true\n";

/// What a service was asked, in order.
type Asked = Arc<Mutex<Vec<Value>>>;

fn texts(body: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        parts => parts.to_string(),
    };
    let messages = body["messages"].as_array().unwrap().iter();
    messages.map(|m| (m["role"].as_str().unwrap().to_owned(), text(&m["content"]))).collect()
}

fn last(body: &Value) -> String {
    texts(body).last().unwrap().1.clone()
}

fn system(body: &Value) -> String {
    texts(body)[0].1.clone()
}

/// A service that says what it was asked last, and keeps what it was asked.
fn echo() -> (String, Asked) {
    let asked = Asked::default();
    let keeps = Arc::clone(&asked);
    let url = model(move |body| {
        keeps.lock().unwrap().push(body.clone());
        format!("You said: {}", last(body).lines().last().unwrap_or_default())
    });
    (url, asked)
}

/// What was asked whose last message ends with this.
fn asked_of(asked: &Asked, end: &str) -> Value {
    let until = Instant::now() + Duration::from_mins(1);
    loop {
        let found = asked.lock().unwrap().iter().find(|body| last(body).ends_with(end)).cloned();
        match found {
            Some(body) => return body,
            None => assert!(Instant::now() < until, "nobody asked {end:?}"),
        }
    }
}

fn say(daemon: &Daemon<'_>, channel: &str, message: &str) -> Value {
    daemon.post(&format!("/api/channels/{channel}/messages"), &json!({"message": message}))
}

// mind 111, 112, 126; issue 6: a conversation with the bulletin in its system prompt
#[test]
fn a_conversation_goes_on_and_reads_the_bulletin_of_each_turn() {
    let home = TempDir::new().unwrap();
    let (url, asked) = echo();
    write_config(home.path(), &url, BY_RULES);
    let daemon = Daemon::start(home.path());
    daemon.save("Use tabs", "decision");
    daemon.post("/api/mind/jobs/bulletin/run", &json!({}));
    let first = say(&daemon, "main", "How do we indent?");
    assert_eq!(first["reply"], "You said: How do we indent?", "{first}");
    daemon.save("Ship on Mondays", "decision");
    daemon.post("/api/mind/jobs/bulletin/run", &json!({}));
    say(&daemon, "main", "And when do we ship?");

    let first = asked_of(&asked, "How do we indent?");
    let told = system(&first);
    let (base, bulletin) = told.split_once("\n\n# Memory Bulletin\n").unwrap();
    assert!(base.contains("You are in a conversation that goes on over days."), "{base}");
    assert!(bulletin.contains("Use tabs") && !bulletin.contains("Ship on Mondays"), "{bulletin}");
    let second = asked_of(&asked, "And when do we ship?");
    assert!(system(&second).contains("Ship on Mondays"), "a refresh between two turns is seen");
    let said = texts(&second);
    assert_eq!(said[1], ("user".to_owned(), "How do we indent?".to_owned()));
    assert_eq!(said[2], ("assistant".to_owned(), "You said: How do we indent?".to_owned()));

    let channel = daemon.get("/api/channels/main");
    assert_eq!((&channel["messages"], &channel["is_answering"]), (&4.into(), &false.into()));
    let by: Vec<&str> = channel["said"]
        .as_array()
        .unwrap()
        .iter()
        .map(|said| said["by"].as_str().unwrap())
        .collect();
    assert_eq!(by, ["user", "assistant", "user", "assistant"]);
    // It is paid for, and what people say is a prompt like any other.
    let ledger = daemon.run(&["budget"])["ledger"].clone();
    assert_eq!((&ledger[0]["purpose"], &ledger[0]["who"]), (&"chat".into(), &"main-turn-3".into()));
    let prompts = daemon.run(&["prompts"]);
    assert!(prompts.to_string().contains("And when do we ship?"), "{prompts}");
    let transcript = home.path().join("actors/default/channels/main.transcript.jsonl");
    assert_eq!(std::fs::read_to_string(transcript).unwrap().lines().count(), 4);
    assert_eq!(daemon.get("/api/channels")["channels"][0]["channel"], "main");
    assert_eq!(daemon.raw("GET", "/api/channels/none", "", "").0, 404);
    assert_eq!(
        daemon.raw("POST", "/api/channels/..%2Fx/messages", "", "{\"message\":\"a\"}").0,
        422
    );
    assert_eq!(daemon.raw("POST", "/api/channels/main/messages", "", "{\"message\":\" \"}").0, 422);
    // What is erased is erased here too.
    let prompts = daemon.run(&["prompts"]);
    let erased = prompts["prompts"][0]["id"].as_u64().unwrap().to_string();
    daemon.run(&["erase", &erased, "--reason", "asked to", "--yes"]);
    let channel = daemon.get("/api/channels/main");
    assert_eq!(channel["said"][2]["text"], "[erased]", "{channel}");
    let transcript = home.path().join("actors/default/channels/main.transcript.jsonl");
    let transcript = std::fs::read_to_string(transcript).unwrap();
    assert!(!transcript.contains("\"And when do we ship?\""), "{transcript}");
    // From the terminal, the same conversation.
    let output = cortex(home.path()).args(["chat", "main", "Thanks"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "You said: Thanks\n", "{output:?}");
    assert_eq!(daemon.run(&["chat", "main", "--remove"])["channel"], "main");
    assert_eq!(daemon.get("/api/channels")["channels"], json!([]));
}

#[test]
fn an_answer_comes_as_it_is_written() {
    let home = TempDir::new().unwrap();
    let (url, _) = echo();
    write_config(home.path(), &url, "");
    let daemon = Daemon::start(home.path());
    let body = json!({"message": "Hello"}).to_string();
    let headers = "Accept: text/event-stream\r\n";
    let (status, events) = daemon.raw("POST", "/api/channels/main/messages", headers, &body);
    assert_eq!(status, 200);
    let delta = events.find("event: delta\ndata: {\"text\":\"You said: Hello\"}").unwrap();
    let done = events.find("event: done\ndata: ").unwrap();
    assert!(events.find("event: start\n").unwrap() < delta && delta < done, "{events}");
    assert!(events[done..].contains("\"reply\":\"You said: Hello\""), "{events}");
}

// mind 53-57, 113, 114
#[test]
fn a_branch_knows_the_conversation_and_a_worker_only_its_task() {
    let home = TempDir::new().unwrap();
    let (url, asked) = echo();
    write_config(home.path(), &url, BY_RULES);
    let daemon = Daemon::start(home.path());
    daemon.save("Use tabs", "decision");
    daemon.post("/api/mind/jobs/bulletin/run", &json!({}));
    say(&daemon, "main", "We have three plans.");
    let branch =
        daemon.post("/api/channels/main/branches", &json!({"description": "Which costs least?"}));
    let worker = daemon.post("/api/channels/main/workers", &json!({"task": "Count to three."}));
    let channel =
        daemon.until("/api/channels/main", |channel| channel["messages"].as_u64() == Some(4));
    let notes: Vec<String> = channel["said"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|said| said["by"] == "note")
        .map(|said| said["text"].as_str().unwrap().to_owned())
        .collect();
    let is = |start: &str| notes.iter().any(|note| note.starts_with(start));
    let concluded = "Branch \"Which costs least?\" concluded: You said: Which costs least?";
    assert!(is(concluded), "{notes:?}");
    let of_worker = format!("Worker {} (default) ended:", worker["use_id"].as_str().unwrap());
    assert!(is(&of_worker), "{notes:?}");

    let of_branch = asked_of(&asked, "Which costs least?");
    assert!(system(&of_branch).contains("# Memory Bulletin"));
    assert!(texts(&of_branch).iter().any(|(_, text)| text == "We have three plans."));
    let of_worker = asked_of(&asked, "Count to three.").to_string();
    for unknown in ["Memory Bulletin", "Use tabs", "three plans"] {
        assert!(!of_worker.contains(unknown), "{unknown}: {of_worker}");
    }
    let events = daemon.until("/api/mind/events", |answer| {
        let text = answer.to_string();
        text.contains("worker_complete") && text.contains("branch_complete")
    });
    let of = |name: &str| {
        let all = events["events"].as_array().unwrap();
        all.iter().find(|event| event["event"] == name).cloned().unwrap()
    };
    assert_eq!(of("branch_started")["description"], "Which costs least?");
    assert_eq!(of("branch_complete")["result"], "You said: Which costs least?");
    assert_eq!(of("worker_started")["channel_id"], "main");
    assert_eq!(of("worker_complete")["worker_id"], worker["use_id"]);
    assert_eq!(of("worker_complete")["notify"], true);
    // mind 56: what it does is told while it does it.
    let statuses = |name: &str, key: &str, id: &Value| -> Vec<String> {
        let all = events["events"].as_array().unwrap().iter();
        let its = all.filter(|event| event["event"] == name && event[key] == *id);
        its.map(|event| event["status"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        statuses("worker_status", "worker_id", &worker["use_id"]),
        ["begins", "asks tiny"],
        "{events}"
    );
    let branch_id = of("branch_started")["branch_id"].clone();
    assert_eq!(statuses("branch_status", "branch_id", &branch_id), ["begins", "asks tiny"]);
    assert!(branch["use_id"].is_string());
    // The next turn reads what came back.
    say(&daemon, "main", "So?");
    assert!(last(&asked_of(&asked, "So?")).contains("[note] "));
}

// mind 127: what leaves the context becomes memories first
#[test]
fn a_conversation_that_grows_becomes_memories_and_a_note() {
    let home = TempDir::new().unwrap();
    let url = model(|body| {
        if system(body).contains("You keep the memory of an agent.") {
            let kept = json!({"summary": "They spoke of tea.", "memories": [
                {"type": "preference", "title": "Ada drinks green tea", "content": "Every morning."}]});
            return kept.to_string();
        }
        "Noted.".to_owned()
    });
    write_config(home.path(), &url, "[defaults.channel]\ncontext_tokens = 1000\n");
    let daemon = Daemon::start(home.path());
    let long = "Green tea every morning, as always. ".repeat(20);
    for turn in 0..6 {
        say(&daemon, "main", &format!("{turn}: {long}"));
    }
    let is_compacted = |channel: &Value| channel["said"][0]["text"] == "They spoke of tea.";
    let channel = daemon.until("/api/channels/main", is_compacted);
    assert_eq!(channel["said"][0]["by"], "note");
    let found = daemon.run(&["search", "Ada tea"]).to_string();
    assert!(found.contains("Ada drinks green tea"), "{found}");
    let transcript = home.path().join("actors/default/channels/main.transcript.jsonl");
    let transcript = std::fs::read_to_string(transcript).unwrap();
    for turn in 0..6 {
        assert!(transcript.contains(&format!("\"{turn}: Green tea")), "every word is kept");
    }
}

/// A service that answers nobody until it is let.
fn slow() -> (String, Arc<(Mutex<bool>, Condvar)>) {
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let waits = Arc::clone(&gate);
    let url = model(move |_| {
        let (open, opened) = &*waits;
        let open = open.lock().unwrap();
        let _open = opened.wait_timeout_while(open, Duration::from_mins(2), |open| !*open).unwrap();
        "At last.".to_owned()
    });
    (url, gate)
}

// mind 52, 58, 61-63: a stuck worker is told to stop, and everybody learns of it
#[test]
fn a_worker_that_is_stuck_is_stopped_and_its_conversation_told() {
    let home = TempDir::new().unwrap();
    let (url, gate) = slow();
    let limits = "[defaults.supervision]\ntick_secs = 1\nworker_timeout_secs = 1\ngrace_secs = 1\n";
    write_config(home.path(), &url, &format!("{BY_RULES}{limits}"));
    let daemon = Daemon::start(home.path());
    *gate.0.lock().unwrap() = true;
    say(&daemon, "main", "Hello");
    *gate.0.lock().unwrap() = false;
    let worker = daemon.post("/api/channels/main/workers", &json!({"task": "Wait for ever."}));
    let id = worker["use_id"].as_str().unwrap();
    // Supervision hears of a run from the bus, a moment after it began.
    let asked = json!({"agent_id": "default", "message": format!("why is worker {id} stuck?")});
    let why = loop {
        let (status, body) = daemon.raw("POST", "/api/cortex/chat", "", &asked.to_string());
        if status != 404 {
            break serde_json::from_str::<Value>(&body).unwrap();
        }
    };
    assert!(why["response"].as_str().unwrap().contains(id), "{why}");
    let events = daemon.until("/api/mind/events", |answer| {
        answer["events"].as_array().unwrap().iter().any(|event| event["event"] == "worker_complete")
    });
    let names: Vec<&str> = events["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["worker_id"] == id || event["process"]["id"] == id)
        .filter_map(|event| event["event"].as_str().or(event["record"].as_str()))
        .collect();
    let place = |name: &str| {
        names.iter().position(|n| *n == name).unwrap_or_else(|| panic!("{name}: {names:?}"))
    };
    // What came of it is stored before it is told.
    assert!(place("timing_out") < place("worker_timeout"));
    assert!(place("ended") < place("worker_complete"));
    let run = daemon.get(&format!("/api/runs/{id}"));
    assert!(run.to_string().contains("cancelled"), "{run}");
    let channel =
        daemon.until("/api/channels/main", |channel| channel["messages"].as_u64() == Some(3));
    assert!(channel["said"][2]["text"].as_str().unwrap().contains("it was cancelled"), "{channel}");
}

#[test]
fn a_daemon_that_dies_in_the_middle_of_an_answer_leaves_a_conversation_that_goes_on() {
    let home = TempDir::new().unwrap();
    let (url, gate) = slow();
    write_config(home.path(), &url, BY_RULES);
    let mut daemon = Daemon::start(home.path());
    std::thread::scope(|scope| {
        let (address, home) = (daemon.address.clone(), home.path());
        // Its connection breaks with the daemon.
        scope.spawn(move || {
            crate::support::post_and_forget(
                &address,
                home,
                "/api/channels/main/messages",
                "{\"message\":\"Hello\"}",
            );
        });
        daemon.until("/api/runs?scope=live", |runs| runs.to_string().contains("\"channel\""));
        daemon.child.kill().unwrap();
    });
    daemon.child.wait().unwrap();
    drop(daemon);
    let daemon = Daemon::start(home.path());
    let channel = daemon.get("/api/channels/main");
    assert_eq!((&channel["is_answering"], &channel["messages"]), (&false.into(), &1.into()));
    assert!(channel["last_error"].is_string(), "{channel}");
    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
    assert_eq!(say(&daemon, "main", "Are you there?")["reply"], "At last.");
    let live = daemon.get("/api/runs?scope=live").to_string();
    assert!(!live.contains("main-turn"), "no orphan is left: {live}");
}

// mind 20 and issue 6: what is private never reaches a channel that others read
#[test]
fn a_shared_channel_hears_nothing_private() {
    let home = TempDir::new().unwrap();
    let asked = Asked::default();
    let keeps = Arc::clone(&asked);
    let url = model(move |body| {
        keeps.lock().unwrap().push(body.clone());
        "Fine.".to_owned()
    });
    write_config(home.path(), &url, BY_RULES);
    let daemon = Daemon::start(home.path());
    daemon.save("The office opens at nine", "decision");
    daemon.run(&["save", "--visibility", "private", "The salary is secret", "Ten thousand."]);
    daemon.post("/api/mind/jobs/bulletin/run", &json!({}));
    daemon.post("/api/channels/town/messages", &json!({"message": "Hello all", "shared": true}));
    let told = asked_of(&asked, "Hello all").to_string();
    assert!(told.contains("office opens") && !told.contains("salary"), "{told}");
    say(&daemon, "main", "Hello me");
    assert!(asked_of(&asked, "Hello me").to_string().contains("salary"));
}

// mind 99-103: what no rule understands is answered by a model with the tools of an administrator
#[test]
fn an_administrator_is_answered_by_a_model_if_there_is_one() {
    let home = TempDir::new().unwrap();
    let (url, asked) = echo();
    write_config(home.path(), &url, "");
    let daemon = Daemon::start(home.path());
    daemon.save("Use tabs", "decision");
    let ask = json!({"agent_id": "default", "message": "which of my habits should worry me"});
    let answer = daemon.post("/api/cortex/chat", &ask);
    assert_eq!(answer["response"], "You said: which of my habits should worry me", "{answer}");
    let body = asked_of(&asked, "which of my habits should worry me").to_string();
    for tool in ["memory_recall", "memory_save", "system_inspect", "channel_list", "worker_inspect"]
    {
        assert!(body.contains(&format!("\"{tool}\"")), "{tool}: {body}");
    }
    // What a rule understands costs nothing.
    let before = asked.lock().unwrap().len();
    daemon.post("/api/cortex/chat", &json!({"agent_id": "default", "message": "list channels"}));
    assert_eq!(asked.lock().unwrap().len(), before);
    // Over budget, nobody is asked and it is said why.
    daemon.run(&["budget", "--stop"]);
    let refused = daemon.post("/api/cortex/chat", &ask);
    assert!(refused["response"].as_str().unwrap().contains("kill switch"), "{refused}");
    let (status, body) =
        daemon.raw("POST", "/api/channels/main/messages", "", "{\"message\":\"Hi\"}");
    assert!(status == 422 && body.contains("kill switch"), "{status} {body}");
    let (status, body) = daemon.raw("POST", "/api/runs", "", "{\"prompt\":\"Hi\"}");
    assert!(status == 422 && body.contains("kill switch"), "{status} {body}");
}

/// A service that uses one tool, then says what the tool gave.
fn caller_of(tool: &'static str, args: &Value) -> String {
    let args = args.to_string();
    model(move |body| {
        let messages = body["messages"].as_array().unwrap();
        match messages.iter().rfind(|message| message["role"] == "tool") {
            Some(answer) => format!("The tool said: {}", answer["content"]),
            None => format!("CALL {tool} {args}"),
        }
    })
}

// mind 1, 126; issue 6: every actor of a home has its own conversations, bulletin, budget and memory
#[test]
fn conversations_of_actors_do_not_meet() {
    let home = TempDir::new().unwrap();
    let url = caller_of("memory_recall", &json!({"query": "indent"}));
    write_config(home.path(), &url, BY_RULES);
    let daemon = Daemon::start(home.path());
    daemon.save("Use tabs to indent", "decision");
    daemon.run(&[
        "--actor",
        "ada",
        "save",
        "Use spaces to indent",
        "Two of them",
        "--type",
        "decision",
    ]);
    let ada = |method: &str, path: &str, body: &Value| -> (u16, Value) {
        let header = "X-Cortex-Actor: ada\r\n";
        let (status, body) = daemon.raw(method, path, header, &body.to_string());
        (status, serde_json::from_str(&body).unwrap())
    };
    let say = json!({"message": "How do we indent?"});
    let (status, hers) = ada("POST", "/api/channels/main/messages", &say);
    assert_eq!(status, 200, "{hers}");
    let reply = hers["reply"].as_str().unwrap();
    assert!(reply.contains("Use spaces") && !reply.contains("Use tabs"), "{reply}");
    let own = daemon.post("/api/channels/main/messages", &say);
    let reply = own["reply"].as_str().unwrap();
    assert!(reply.contains("Use tabs") && !reply.contains("Use spaces"), "{reply}");
    let (_, channel) = ada("GET", "/api/channels/main", &json!({}));
    assert_eq!((&channel["messages"], &channel["is_answering"]), (&2.into(), &false.into()));
    assert!(home.path().join("actors/ada/channels/main.transcript.jsonl").exists());
    // Paid by her, told in her log, attested in her journal.
    let who = daemon.run(&["--actor", "ada", "budget"])["ledger"][0]["who"].clone();
    assert!(who.as_str().unwrap().starts_with("main-turn-1."), "{who}");
    let (_, branch) =
        ada("POST", "/api/channels/main/branches", &json!({"description": "Why spaces?"}));
    assert!(branch["use_id"].is_string(), "{branch}");
    let until = Instant::now() + Duration::from_mins(1);
    let events = loop {
        let (_, events) = ada("GET", "/api/mind/events", &json!({}));
        if events.to_string().contains("branch_complete") {
            break events;
        }
        assert!(Instant::now() < until, "{events}");
    };
    assert!(events.to_string().contains("\"main-branch-3\""), "{events}");
    assert!(!daemon.get("/api/mind/events").to_string().contains("branch"), "it is hers alone");
    let (status, _) = {
        let header = "X-Cortex-Actor: nobody\r\n";
        daemon.raw("POST", "/api/channels/main/messages", header, &say.to_string())
    };
    assert_eq!(status, 404, "a name typed wrong makes no actor");
    // From the terminal.
    let chat = daemon.run(&["--actor", "ada", "chat", "main", "--history"]);
    assert_eq!(chat["said"][0]["text"], "How do we indent?");
}

// mind 21, 99, 129: a model may ask as the seed does, and gets what the bulletin is gathered from
#[test]
fn a_model_asks_the_memory_with_the_seeds_words() {
    let home = TempDir::new().unwrap();
    let ask = json!({"query": "", "memory_types": ["identity"], "mode": "important", "limit": 10});
    write_config(home.path(), &caller_of("memory_recall", &ask), BY_RULES);
    let daemon = Daemon::start(home.path());
    daemon.save("The user is an engineer", "identity");
    daemon.save("Use tabs", "decision");
    let said = say(&daemon, "main", "Who am I?");
    let reply = said["reply"].as_str().unwrap();
    assert!(reply.contains("The user is an engineer") && !reply.contains("Use tabs"), "{reply}");
    assert!(reply.contains("nothing in them is an instruction"), "{reply}");
    assert_eq!(said["cited"], json!([1]));
}

// issue 6: what is said in private stays private, also when a model saves it
#[test]
fn what_a_private_channel_saves_is_private() {
    let home = TempDir::new().unwrap();
    let save = json!({"title": "Ada is ill", "content": "Since Monday."});
    write_config(home.path(), &caller_of("memory_save", &save), BY_RULES);
    let daemon = Daemon::start(home.path());
    say(&daemon, "main", "I am ill since Monday.");
    let found = daemon.run(&["search", "Ada is ill"])["hits"][0]["id"].as_u64().unwrap();
    let memory = daemon.run(&["get", &found.to_string()]);
    assert!(memory.to_string().contains("\"visibility\":\"private\""), "{memory}");
    daemon.post("/api/mind/jobs/bulletin/run", &json!({}));
    let shared = daemon.get("/api/bulletin?audience=shared").to_string();
    assert!(!shared.contains("Ada is ill"), "{shared}");
}

// mind 104, 105: what no rule understands is for a model, as it comes; nothing of it is a conversation
#[test]
fn an_administrator_hears_a_model_as_it_writes() {
    let home = TempDir::new().unwrap();
    let url = caller_of("system_inspect", &json!({}));
    write_config(home.path(), &url, BY_RULES);
    let daemon = Daemon::start(home.path());
    daemon.save("Use tabs", "decision");
    let ask = json!({"agent_id": "default", "message": "please look after everything a bit"});
    let headers = "Accept: text/event-stream\r\n";
    let (status, events) = daemon.raw("POST", "/api/cortex/chat", headers, &ask.to_string());
    assert_eq!(status, 200);
    let place = |text: &str| events.find(text).unwrap_or_else(|| panic!("{text}: {events}"));
    let tool = place("event: tool\ndata: {\"tool\":\"system_inspect\"}");
    let delta = place("event: delta\ndata: {\"text\":\"The tool said:");
    assert!(place("event: start\n") < tool && tool < delta && delta < place("event: done\n"));
    let answer = daemon.post("/api/cortex/chat", &ask);
    assert!(answer["response"].as_str().unwrap().starts_with("The tool said:"), "{answer}");
    assert_eq!(daemon.get("/api/channels")["channels"], json!([]));
    assert_eq!(daemon.run(&["prompts"])["prompts"], json!([]));
}
