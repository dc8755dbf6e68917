//! Readers never wait, and the log of processes goes on over restarts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use api::DEFAULT_ACTOR;
use api::change::DeleteRequest;
use api::prompt::PromptSaveRequest;
use api::save::SaveRequest;
use kernel::actor::ActorName;
use kernel::memory::Millis;
use mind::MindEvent;
use mind::audience::Audience;
use mind::bulletin::ModelUse;
use mind::supervision::ProcessEvent;
use service::{Caller, Service, Settings};
use tempfile::TempDir;

use crate::home::Host;

fn here(home: &TempDir) -> (Arc<Host>, Caller) {
    let wait = std::time::Duration::from_secs(5);
    let service = Service::new(home.path(), Settings::default(), wait);
    let host = Host::new(service, std::collections::BTreeMap::new());
    let caller = Caller::new(ActorName::parse(DEFAULT_ACTOR).unwrap(), "test");
    (Arc::new(host), caller)
}

// mind 7-10; issue 6: 10,000 readers of the bulletin during a refresh never block
#[test]
fn ten_thousand_readers_do_not_wait_for_a_refresh() {
    let home = TempDir::new().unwrap();
    let (host, caller) = here(&home);
    let save = |title: &str| {
        let request = SaveRequest {
            title: title.to_owned(),
            kind: Some("decision".to_owned()),
            content: "It is decided.".to_owned(),
            ..SaveRequest::default()
        };
        host.service.save(&caller, request).unwrap();
    };
    save("Use tabs");
    let refresh = || {
        let request = api::mind::RunJobRequest { job: "bulletin".into(), dry_run: false };
        host.mind_run(&caller, request).unwrap();
    };
    refresh();
    let actor_mind = host.actor_mind(&caller).unwrap();
    let read = AtomicUsize::new(0);
    // A refresh that never ends: everything that a refresh holds is held.
    let part = actor_mind.slot();
    let writing = crate::mind_host::lock(&actor_mind.writing);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..1_250 {
                    let actor_mind = host.actor_mind(&caller).unwrap();
                    let bulletin = actor_mind.published().get(&Audience::Owner).unwrap();
                    assert!(bulletin.text.contains("Use tabs"));
                    read.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(read.load(Ordering::Relaxed), 10_000);
    drop((part, writing));
    // While bulletins are published, every reader sees a whole one.
    let before = actor_mind.published().get(&Audience::Owner).unwrap().number;
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut last = before;
                    while last < before + 3 {
                        let bulletin = actor_mind.published().get(&Audience::Owner).unwrap();
                        assert!(bulletin.number >= last && bulletin.text.contains("Use tabs"));
                        last = bulletin.number;
                    }
                })
            })
            .collect();
        for day in ["Mondays", "Tuesdays", "Wednesdays"] {
            save(&format!("Ship on {day}"));
            refresh();
        }
        for reader in readers {
            reader.join().unwrap();
        }
    });
}

// section 11, point 11: whoever runs is told that a tool is left alone, and what is wrong with it
#[test]
fn a_run_is_told_that_a_tool_is_left_alone() {
    let home = TempDir::new().unwrap();
    let (host, caller) = here(&home);
    host.service.cortex(&caller).unwrap();
    let ask = |tool: &str| {
        let request = api::mind::ToolAskRequest { tool: tool.to_owned() };
        host.tool_ask(&caller, request).unwrap().left_alone
    };
    for _ in 0..3 {
        assert_eq!(ask("web_fetch"), None);
        host.observe(
            &caller,
            ProcessEvent::ToolCompleted {
                process: mind::supervision::ProcessId::worker("1"),
                tool_name: "web_fetch".to_owned(),
                error: Some("no network".to_owned()),
                broken: true,
            },
        );
    }
    assert!(ask("web_fetch").unwrap().contains("no network"));
    assert_eq!(ask("memory_recall"), None);
}

// What goes with a request holds keys: they are in no text that is made for a log.
#[test]
fn keys_of_services_are_masked() {
    use api::channel::{ChannelBranchRequest, ChannelSayRequest, ChannelWorkerRequest};
    let env: serde_json::Map<_, _> =
        [("OPENAI_API_KEY".to_owned(), serde_json::json!("sk-secret"))].into_iter().collect();
    let shown = format!(
        "{:?} {:?} {:?}",
        ChannelSayRequest { env: env.clone(), ..Default::default() },
        ChannelBranchRequest { env: env.clone(), ..Default::default() },
        ChannelWorkerRequest { env, ..Default::default() },
    );
    assert!(shown.contains("OPENAI_API_KEY") && !shown.contains("sk-secret"), "{shown}");
}

#[test]
fn contexts_of_actors_do_not_meet() {
    use crate::channels::{context_of, part_of};
    let actor = |name: &str| ActorName::parse(name).unwrap();
    let own = context_of(&actor(DEFAULT_ACTOR), "main-turn-3");
    assert_eq!(own, "main-turn-3");
    let ada = context_of(&actor("ada"), "main-turn-3");
    let eve = context_of(&actor("eve"), "main-turn-3");
    assert!(ada != eve && ada != own && api::run::is_conversation_id(&ada), "{ada} {eve}");
    assert_eq!(part_of(&actor("ada"), &ada), "main-turn-3");
    assert_eq!(part_of(&actor(DEFAULT_ACTOR), &own), "main-turn-3");
}

#[test]
fn the_log_of_processes_goes_on_after_a_torn_line() {
    let home = TempDir::new().unwrap();
    let started = |id: &str| ProcessEvent::WorkerStarted {
        worker_id: id.to_owned(),
        channel_id: None,
        task: "t".to_owned(),
        started_at: 1,
    };
    let numbers = |host: &Host, caller: &Caller| -> Vec<u64> {
        let events = host.process_events(caller, 10).unwrap();
        events.iter().map(|event| event["seq"].as_u64().unwrap()).collect()
    };
    {
        let (host, caller) = here(&home);
        host.service.cortex(&caller).unwrap();
        host.observe(&caller, started("1"));
        host.observe(&caller, started("2"));
        assert_eq!(numbers(&host, &caller), [1, 2]);
        host.service.close(Millis(2)).unwrap();
    }
    let (host, caller) = here(&home);
    let folder = host.service.home().actor_folder(&caller.actor).join("process-events");
    let file = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let mut text = std::fs::read_to_string(&file).unwrap();
    text.push_str("{\"seq\":3,\"at_un");
    std::fs::write(&file, text).unwrap();
    host.observe(&caller, started("3"));
    assert_eq!(numbers(&host, &caller), [1, 2, 3]);
}

// Law 8: minds of actors that nobody uses any more are let go, and know what they knew when they are used again.
#[test]
fn minds_of_closed_actors_are_released() {
    let home = TempDir::new().unwrap();
    let (host, own) = here(&home);
    let ada = Caller { actor: ActorName::parse("ada").unwrap(), ..own.clone() };
    for caller in [&own, &ada] {
        let request = SaveRequest { title: "Use tabs".to_owned(), ..SaveRequest::default() };
        host.service
            .save(caller, SaveRequest { content: "Decided.".to_owned(), ..request })
            .unwrap();
        let request = api::mind::RunJobRequest { job: "bulletin".into(), dry_run: false };
        host.mind_run(caller, request).unwrap();
    }
    assert_eq!(host.minds.all().len(), 2);
    let held = host.actor_mind(&ada).unwrap();
    host.service.home().close_all();
    host.minds.release(|actor| *actor == own.actor);
    assert_eq!(host.minds.all().len(), 2, "somebody works with it");
    drop(held);
    host.minds.release(|actor| *actor == own.actor);
    let left: Vec<ActorName> = host.minds.all().iter().map(|one| one.actor.clone()).collect();
    assert_eq!(left, std::slice::from_ref(&own.actor));
    let again = host.actor_mind(&ada).unwrap();
    assert!(again.published().get(&Audience::Owner).is_some());
}

// house 6.3: the language that is set for an actor decides how its topics are counted
#[test]
fn the_mind_counts_topics_in_the_language_of_the_actor() {
    use kernel::command::{Command, Stamp};
    use text::analyze::Language;
    let home = TempDir::new().unwrap();
    let (host, caller) = here(&home);
    let cortex = host.service.cortex(&caller).unwrap();
    for number in 0..6 {
        let word = if number % 2 == 0 { "Datenbank" } else { "Datenbanken" };
        let content = format!("{word} {number}?");
        let request = PromptSaveRequest { content, ..PromptSaveRequest::default() };
        host.service.prompt_save(&caller, request).unwrap();
    }
    let proposals = || {
        let reading = cortex.read().unwrap();
        let actor_mind = host.actor_mind(&caller).unwrap();
        let now = caller.now().unwrap();
        host.patterns_plan(&actor_mind, &reading, now).unwrap().0.proposals.len()
    };
    assert_eq!(proposals(), 0, "in English these are two words");
    let change = recall::language::change(Language::English, Language::German);
    let stamp = Stamp::new(caller.now().unwrap(), "test");
    host.service.submit_plainly(&cortex, stamp, Command::Migration(change)).unwrap();
    assert_eq!(proposals(), 1);
}

// Found by `make torture`: the words of an erased memory stood in the file of the mind
#[test]
fn what_was_gathered_before_an_erasure_is_not_kept_after_it() {
    let home = TempDir::new().unwrap();
    let (host, caller) = here(&home);
    let request = SaveRequest {
        title: "Use canaries".to_owned(),
        kind: Some("decision".to_owned()),
        content: "They sing.".to_owned(),
        ..SaveRequest::default()
    };
    let id = host.service.save(&caller, request).unwrap().id;
    let actor_mind = host.actor_mind(&caller).unwrap();
    let erasures = actor_mind.erasures.load(Ordering::Acquire);
    let gathered = host.gather(&actor_mind, &Audience::Owner, &caller).unwrap();
    assert!(gathered.ids().contains(&id), "it was read");
    let request =
        DeleteRequest { id, hard: true, reason: Some("x".into()), ..DeleteRequest::default() };
    host.delete(&caller, request).unwrap();
    let event = MindEvent::Gathered {
        run: "r".to_owned(),
        audience: Audience::Owner,
        model: ModelUse::Never,
        outcome: Ok(gathered),
    };
    let told = actor_mind.handle_unless_erased(event, erasures, &caller).unwrap();
    assert!(told.is_none(), "it may hold what was erased");
    let run = api::mind::RunJobRequest { job: "bulletin".into(), dry_run: false };
    host.mind_run(&caller, run).unwrap();
    let folder = host.service.home().actor_folder(&caller.actor);
    let kept = std::fs::read_to_string(folder.join("mind.json")).unwrap();
    assert!(!kept.contains("canaries"), "{kept}");
}
