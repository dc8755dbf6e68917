//! Every way in which a run can end, one clear terminal event each.

use crate::support::ReceiptRun as _;
use api::run::RunOutcome;
use std::time::{Duration, Instant};

use runs::runner::{RunSelector, Runner, RunnerParts, RunnerSettings, TalentProgram};
use serde_json::json;
use talents::bus::{BusFilter, Delivery};

use crate::support::{Home, PATIENCE, kinds, object, parts, processes_with, quick};

// execution R5, R6, R9-R13, R18, R20-R22, R60, R66, 9.14
#[tokio::test]
async fn a_run_is_on_disk_and_on_the_bus_in_the_same_order() {
    let home = Home::new(quick()).await;
    let mut bus = home.hub.subscribe(BusFilter::topic("cortex"));
    let script = r#"
        say start ',"model":"m1","provider":"p1"'
        say tool_start ',"tool":"t","call_id":"c1","args":{}'
        say tool_end ',"tool":"t","call_id":"c1","result":[1]'
        say finish ',"result":"done","usage":{"input_tokens":3},"cost":0.25,"cited":[7,9],"cli_session_id":"s1"'
    "#;
    let request = json!({"name": "chat", "prompt": "p", "day": "20250109", "chat_id": "c9"});
    let run = home.begin(request, script).await;
    let told = home.end_of(&run).await;
    let log = home.log(&run);
    assert_eq!(kinds(&log), ["request", "spawned", "start", "tool_start", "tool_end", "finish"]);
    assert_eq!(log.events[0]["ts"].to_string(), run.as_str()); // execution R24
    assert_eq!(&told, log.events.last().expect("an end"));

    // What was told is what was written, and when the end was told everything else was done.
    let mut on_bus = Vec::new();
    while let Some(Delivery::Event(event)) = bus.try_next() {
        if event.message.get("seq").is_some() {
            on_bus.push(event.message.run_event());
        }
    }
    assert_eq!(on_bus, log.events);
    let row = home.runner.row(&run).expect("in the index");
    assert_eq!((row.day.as_str(), row.model.as_deref()), ("20250109", Some("m1")));
    assert_eq!((row.tool_count, row.cost), (1, Some(0.25)));
    let index = home.folder.path().join("talents/20250109.jsonl");
    assert_eq!(std::fs::read_to_string(index).expect("an index").lines().count(), 1);
    let newest = home.folder.path().join("talents/chat.log");
    assert_eq!(
        std::fs::read_link(newest).expect("a link"),
        std::path::Path::new(&format!("chat/{run}.jsonl"))
    );
    let seen = home.witness.0.lock().expect("no panic");
    assert_eq!(seen.len(), 1);
    assert_eq!(
        (seen[0].outcome, &seen[0].cited),
        (RunOutcome::Finished, &vec![json!(7), json!(9)])
    );
}

// execution 2.5, 9.5, R17, R68: "A talent that prints garbage, dies, forks, ignores SIGTERM: one clear terminal event"
#[tokio::test]
async fn whatever_a_talent_does_its_run_has_one_clear_end() {
    let home = Home::new(quick()).await;
    let cases: [(&str, &str, &str); 12] = [
        ("finish", "finish", ""),
        ("exit 3", "error", "no_finish"),
        ("exit 0", "error", "no_finish"),
        ("kill -9 $$", "error", "no_finish"),
        (r"printf '5\n[1]\nnull\n\377\376\n\0\nwords\n'; finish", "finish", ""),
        ("printf '{\"event\":\"finish\",\"result\":\"no newline\"}'", "finish", ""),
        ("say error ',\"error\":\"first\",\"terminal\":false'; finish", "finish", ""),
        ("say error ',\"error\":\"mine\",\"reason\":\"own\"'; exit 1", "error", "own"),
        ("finish; finish; say error; echo more", "finish", ""),
        ("exec 0<&-; finish", "finish", ""),
        ("say request; say spawned ',\"pid\":1'; finish", "finish", ""),
        ("printf '{\"event\":\"finish\"'; exit 7", "error", "no_finish"),
    ];
    for (script, event, reason) in cases {
        let log = home.run(script).await;
        let end = log.events.last().expect("an end");
        assert_eq!(end["event"], event, "{script}: {end:?}");
        if !reason.is_empty() {
            assert_eq!(end["reason"], reason, "{script}: {end:?}");
        }
    }
    assert!(home.runner.doctor().await.expect("readable").is_empty());
}

// execution R17, 2.6, 9.20
#[tokio::test]
async fn standard_error_is_in_the_trace_and_in_a_file_both_bounded() {
    let settings = RunnerSettings { stderr_tail_bytes: 100, stderr_file_bytes: 1_000, ..quick() };
    let home = Home::new(settings).await;
    let log = home
        .run("i=0; while [ $i -lt 300 ]; do echo \"line $i\" >&2; i=$((i+1)); done; exit 3")
        .await;
    let end = log.events.last().expect("an end");
    let trace = end["trace"].as_str().expect("a trace");
    assert!(trace.ends_with("line 299") && trace.len() <= 100, "{trace}");
    assert_eq!(end["exit_code"], 3);
    let note = &log.events[log.events.len() - 2];
    assert_eq!((&note["event"], &note["stream"]), (&json!("info"), &json!("stderr")));
    let file = format!("talents/default/{}.stderr", end["use_id"].as_str().expect("an id"));
    let kept = std::fs::read_to_string(home.folder.path().join(file)).expect("kept");
    assert!(kept.starts_with("line 0\n") && kept.ends_with("[the rest was not kept]\n"));
    assert!(kept.len() < 1_100);
}

// execution 9.20: a 50 MB line, and events that are only large
#[tokio::test]
async fn large_lines_are_cut_and_say_so() {
    let home = Home::new(RunnerSettings { event_bytes_max: 2_000, ..quick() }).await;
    let script = r#"
        head -c 50000000 /dev/zero | tr '\0' x; echo
        printf '{"event":"thinking","summary":"'; head -c 100000 /dev/zero | tr '\0' y; echo '"}'
        finish
    "#;
    let log = home.run(script).await;
    assert_eq!(kinds(&log), ["request", "spawned", "info", "thinking", "finish"]);
    assert_eq!(log.events[2]["truncated"], 50_000_000);
    assert!(log.events[3]["truncated"].as_u64().expect("a size") > 100_000);
    for event in &log.events[1..] {
        assert!(event.line().len() < 2_100);
    }
}

// execution 9.5: late output is dropped and counted; nobody waits for a process that holds a pipe
#[tokio::test]
async fn what_comes_after_the_end_is_late_and_leftovers_do_not_delay_it() {
    let home = Home::new(quick()).await;
    let asked = Instant::now();
    let log = home.run("sleep 30 & finish; echo late; echo later").await;
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    assert_eq!(log.events.last().expect("an end")["late_lines"], 2);
    assert_eq!(home.runner.status().counters.late_lines, 2);
    // The sleeper went with its group.
    assert!(processes_with(&home.folder.path().to_string_lossy()).is_empty());
    // Told its end, but does not leave.
    let log = home.run("trap '' TERM; finish; sleep 30").await;
    assert_eq!(log.events.last().expect("an end")["event"], "finish");
    assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
}

// execution 2.7, 9.11
#[tokio::test]
async fn time_and_cancel_end_a_group_that_does_not_want_to() {
    let home = Home::new(quick()).await;
    let stubborn = "trap '' TERM; (trap '' TERM; sleep 30) & while :; do sleep 0.05; done";
    let log = home.run_with(json!({"timeout_seconds": 0.2}), stubborn).await;
    let end = log.events.last().expect("an end");
    assert_eq!((&end["event"], &end["reason"]), (&json!("error"), &json!("timeout")));

    let mut bus = home.hub.subscribe(BusFilter::topic("cortex"));
    let parent = home.begin(json!({"name": "chat"}), stubborn).await;
    let child = home.begin(json!({"name": "helper", "parent": parent.as_str()}), stubborn).await;
    let below = home.begin(json!({"name": "helper", "parent": child.as_str()}), stubborn).await;
    let mut begun = 0;
    while begun < 3 {
        if let Delivery::Event(event) = bus.next().await {
            begun += usize::from(event.message.event() == "spawned");
        }
    }
    assert_eq!(
        home.runner.cancel(&RunSelector::Parent(parent.clone())),
        [child.clone(), below.clone()]
    );
    for run in [&child, &below] {
        assert_eq!(home.end_of(run).await["reason"], "cancelled");
    }
    let name = talents::TalentName::parse("chat").expect("a name");
    assert_eq!(home.runner.cancel(&RunSelector::Talent(name)), std::slice::from_ref(&parent));
    assert_eq!(home.end_of(&parent).await["reason"], "cancelled");
    assert!(home.runner.cancel(&RunSelector::Run(parent)).is_empty());
    assert!(processes_with(&home.folder.path().to_string_lossy()).is_empty());
    assert_eq!(home.witness.0.lock().expect("no panic")[1].outcome, RunOutcome::Cancelled);
}

// F8: whoever makes a session of his own does not outlive the run, whether it is cancelled or ends well
#[tokio::test]
async fn a_session_of_its_own_is_no_way_out() {
    let home = Home::new(quick()).await;
    let leaves = "setsid sh -c 'trap \"\" TERM HUP; sleep 300' > /dev/null 2>&1 & say gone";
    let log = home.run(&format!("{leaves}; finish")).await;
    assert_eq!(log.events.last().expect("an end")["event"], "finish");
    assert!(processes_with(&home.folder.path().to_string_lossy()).is_empty());
    let mut bus = home.hub.subscribe(BusFilter::topic("cortex"));
    let run = home
        .begin(json!({}), &format!("trap '' TERM; {leaves}; while :; do sleep 0.05; done"))
        .await;
    while !matches!(bus.next().await, Delivery::Event(event) if event.message.event() == "gone") {}
    home.runner.cancel(&RunSelector::Run(run.clone()));
    assert_eq!(home.end_of(&run).await["reason"], "cancelled");
    assert!(processes_with(&home.folder.path().to_string_lossy()).is_empty());
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_an_end_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let parts = RunnerParts {
        program: TalentProgram { path: "/no/such/program".into(), ..TalentProgram::default() },
        ..parts(folder.path(), quick(), std::sync::Arc::new(()))
    };
    let layout = parts.layout.clone();
    let (runner, _) = Runner::start(parts).await.expect("a runner");
    let run = runner.submit_fields(&object(json!({})), "test").await.run().expect("a run");
    let waited = runner.wait(std::slice::from_ref(&run), PATIENCE).await.expect("readable");
    assert_eq!(waited.ended[&run]["reason"], "spawn_failed");
    crate::support::check_log(&layout, &run);
}

// execution 2.10: a stop ends all runs at once, those that wait included, and their ends are told
#[tokio::test]
async fn a_shutdown_ends_every_run() {
    let home = Home::new(RunnerSettings { runs_max: 2, ..quick() }).await;
    let mut runs = Vec::new();
    for _ in 0..5 {
        runs.push(home.begin(json!({}), "trap '' TERM; while :; do sleep 0.05; done").await);
    }
    assert_eq!(home.runner.shutdown().await, 0);
    for run in &runs {
        assert_eq!(home.log(run).events.last().expect("an end")["reason"], "shutdown");
    }
    let late = home.ask(json!({})).await;
    assert!(late.run().is_none(), "{late:?}");
    assert!(processes_with(&home.folder.path().to_string_lossy()).is_empty());
}

// execution R35, 9.8: values reach the process and nothing else
#[tokio::test]
async fn secrets_reach_the_process_and_no_file_or_line() {
    let home = Home::new(quick()).await;
    let mut bus = home.hub.subscribe(BusFilter::all());
    let script = r#"
        test "$API_KEY" = hunter2-hunter2 && echo matched
        echo "key: $API_KEY"; echo "key: $API_KEY" >&2
        printf '%s' "$request" | grep -c hunter2
        echo "$FROM_TALENT $FROM_BOTH ${GONE:-none} $CORTEX_DAY $CORTEX_FACET $CORTEX_USE_ID"
        say thinking ",\"summary\":\"it is $API_KEY\""
        finish
    "#;
    let request = json!({
        "day": "20250109", "facet": "work",
        "env": {"API_KEY": "hunter2-hunter2", "FROM_BOTH": "request", "GONE": null},
    });
    let log = home.run_with(request, script).await;
    let said: Vec<&str> =
        log.events.iter().filter_map(|event| event.get("message")?.as_str()).collect();
    assert_eq!(said[0], "matched");
    assert_eq!(said[1], "key: [env:API_KEY]");
    assert_eq!(said[2], "0", "the request on standard input has names only");
    let run = log.events[0]["use_id"].as_str().expect("an id");
    assert_eq!(said[3], format!("talent request none 20250109 work {run}")); // execution R100-R102
    while let Some(Delivery::Event(event)) = bus.try_next() {
        assert!(!event.line.contains("hunter2"), "{}", event.line);
    }
    let mut open = vec![home.folder.path().to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            match entry.file_type().expect("a type") {
                kind if kind.is_dir() => open.push(entry.path()),
                kind if kind.is_file() => {
                    let text = std::fs::read_to_string(entry.path()).expect("text");
                    assert!(!text.contains("hunter2"), "{}", entry.path().display());
                }
                _ => {}
            }
        }
    }
}

// issue 5: what a process read is known also if it did not live to say so
#[tokio::test]
async fn an_end_that_the_runner_writes_has_what_the_tools_gave() {
    let home = Home::new(quick()).await;
    let read = r#"say tool_end ',"tool":"memory_recall","call_id":"a","cited":[7,9]';
        say tool_end ',"tool":"memory_get","call_id":"b","cited":[9,11]'"#;
    let cases = [
        (json!({}), format!("{read}; kill -9 $$"), "no_finish", RunOutcome::Failed),
        (
            json!({"timeout_seconds": 0.5}),
            format!("{read}; sleep 60"),
            "timeout",
            RunOutcome::Failed,
        ),
        (json!({}), format!("{read}; say waits; sleep 60"), "cancelled", RunOutcome::Cancelled),
    ];
    for (request, script, reason, outcome) in cases {
        let mut heard = home.hub.subscribe(BusFilter::topic("cortex"));
        let run = home.begin(request, &script).await;
        if reason == "cancelled" {
            loop {
                let Delivery::Event(event) = heard.next().await else { panic!("dropped") };
                if event.message.event() == "waits" {
                    break;
                }
            }
            assert_eq!(home.runner.cancel(&RunSelector::Run(run.clone())).len(), 1);
        }
        let end = home.end_of(&run).await;
        assert_eq!((&end["reason"], &end["cited"]), (&json!(reason), &json!([7, 9, 11])));
        let seen = home.witness.0.lock().expect("no panic");
        let seen = seen.last().expect("observed");
        assert_eq!((seen.outcome, seen.cited.len()), (outcome, 3));
    }
}
