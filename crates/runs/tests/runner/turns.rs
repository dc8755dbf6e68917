//! Limits and turns with real processes.

use crate::support::ReceiptRun as _;
use api::run::RunReceipt;
use runs::runner::{RunSelector, RunnerSettings};
use serde_json::json;
use talents::bus::{BusFilter, Delivery};

use crate::support::{Home, PATIENCE, object, quick};

// execution 9.10: "200 queued runs with a limit of 8: never more than 8 children, order fair, all end"
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_runs_take_turns_eight_at_a_time() {
    let home = Home::new(RunnerSettings { runs_max: 8, ..quick() }).await;
    let mut bus = home.hub.subscribe(BusFilter::topic("cortex"));
    let here = home.folder.path().join("here");
    std::fs::create_dir(&here).expect("a folder");
    // Nobody ends before all have asked. Each says how many are there while it is.
    let all_asked = here.with_extension("asked");
    let script = format!(
        "cd {}; until [ -e {} ]; do sleep 0.02; done; : > $CORTEX_USE_ID; set -- *; say thinking \",\\\"here\\\":$#\"; \
         rm $CORTEX_USE_ID; finish",
        here.display(),
        all_asked.display()
    );
    let mut runs = Vec::new();
    let mut of_other = Vec::new();
    for index in 0..200 {
        // One caller asks for a hundred before the other asks for its first.
        let caller = if index < 100 { "greedy" } else { "late" };
        let request = object(json!({"env": {"DO": script}}));
        let receipt = home.runner.submit_fields(&request, caller).await;
        let run = receipt.run().expect("a run");
        if index >= 100 {
            of_other.push(run.clone());
        }
        runs.push(run);
        assert!(home.runner.status().running.len() <= 8);
    }
    std::fs::write(&all_asked, "").expect("a file");
    let waited = home.runner.wait(&runs, PATIENCE).await.expect("readable");
    assert_eq!(waited.ended.len(), 200);
    assert!(waited.ended.values().all(|end| end["event"] == "finish"));
    let mut order = Vec::new();
    let mut most = 0;
    while let Some(delivery) = bus.try_next() {
        let Delivery::Event(event) = delivery else { continue };
        match event.message.event() {
            "spawned" => order.push(event.message.use_id().expect("an id").to_owned()),
            "thinking" => {
                most = most
                    .max(event.message.get("here").and_then(serde_json::Value::as_u64).expect("n"));
            }
            _ => {}
        }
    }
    assert!((2..=8).contains(&most), "{most}");
    assert_eq!(order.len(), 200);
    // Eight of the first were under way when the second asked; from then on they take turns.
    let is_late = |run: &&String| of_other.iter().any(|other| other.as_str() == run.as_str());
    let of_late = order[8..68].iter().filter(is_late).count();
    assert!((25..=35).contains(&of_late), "{of_late} of 60");
    for run in &runs {
        home.log(run);
    }
    assert!(home.runner.doctor().await.expect("readable").is_empty());
}

#[tokio::test]
async fn the_queue_has_places_and_an_end() {
    let settings = RunnerSettings {
        runs_max: 3,
        queue_max: 2,
        provider_limits: [("slow".to_owned(), 1)].into(),
        ..quick()
    };
    let home = Home::new(settings).await;
    let wait = "while :; do sleep 0.05; done";
    let first = home.begin(json!({"name": "slow"}), wait).await;
    let second = home.ask(json!({"name": "slow", "env": {"DO": wait}})).await;
    assert!(matches!(second, RunReceipt::Queued { position: 1, .. }), "{second:?}");
    // Another provider is not held up.
    let third = home.ask(json!({"env": {"DO": wait}})).await;
    assert!(matches!(third, RunReceipt::Accepted { .. }), "{third:?}");
    let fourth = home.ask(json!({"name": "slow"})).await;
    assert!(matches!(fourth, RunReceipt::Queued { position: 2, .. }), "{fourth:?}");
    let fifth = home.ask(json!({"name": "slow"})).await;
    assert!(matches!(fifth, RunReceipt::Rejected { code: "queue_full", .. }), "{fifth:?}");
    let status = home.runner.status();
    assert_eq!((status.running.len(), status.queued.len()), (2, 2));
    // One that waits can be cancelled; the next moves up.
    let second = second.run().expect("a run");
    home.runner.cancel(&RunSelector::Run(second.clone()));
    assert_eq!(home.end_of(&second).await["reason"], "cancelled");
    assert_eq!(home.runner.status().queued[0].position, Some(1));
    home.runner.cancel(&RunSelector::Run(first));
    home.end_of(&fourth.run().expect("a run")).await;
    home.runner.shutdown().await;
}
