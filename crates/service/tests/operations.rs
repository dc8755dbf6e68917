//! Goal: operations behave as agents are promised, over a real store.
//! Method: each through `Service` with a clock that the test moves, in a temporary folder.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use api::Fault;
use api::archive::SweepRequest;
use api::change::{ArchiveRequest, DeleteRequest, PinRequest, RestoreRequest, UpdateRequest};
use api::context::ContextRequest;
use api::graph::{GraphRequest, RelateRequest, UnrelateRequest};
use api::projects::MergeRequest;
use api::prompt::{PromptListRequest, PromptSaveRequest};
use api::proof::ProveRequest;
use api::read::{GetRequest, ListRequest};
use api::save::{SaveAnswer, SaveRequest, SaveStatus};
use api::score::ScoreRequest;
use api::search::SearchRequest;
use api::session::{SessionEndRequest, SessionListRequest, SessionStartRequest, SummaryRequest};
use api::stats::{ProjectsRequest, StatsRequest};
use api::timeline::TimelineRequest;
use kernel::actor::ActorName;
use kernel::memory::Millis;
use service::{Caller, Environment, Result, Service, Settings, SystemEnvironment};
use tempfile::TempDir;

const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

/// A clock that moves when it is told to.
#[derive(Debug)]
struct Clock(AtomicI64);

impl Environment for Clock {
    fn now(&self) -> Result<Millis> {
        Ok(Millis(self.0.load(Ordering::SeqCst)))
    }

    fn fill(&self, bytes: &mut [u8]) -> Result<()> {
        SystemEnvironment.fill(bytes)
    }
}

struct Bench {
    _folder: TempDir,
    ops: Service,
    clock: Arc<Clock>,
    caller: Caller,
}

impl Bench {
    fn new() -> Bench {
        let folder = TempDir::new().unwrap();
        let ops = Service::new(folder.path(), Settings::default(), Duration::ZERO);
        let clock = Arc::new(Clock(AtomicI64::new(1_790_000_000_000)));
        let mut caller = Caller::new(ActorName::parse("default").unwrap(), "ada");
        caller.environment = Arc::clone(&clock) as Arc<dyn Environment>;
        Bench { _folder: folder, ops, clock, caller }
    }

    fn pass(&self, span: i64) {
        self.clock.0.fetch_add(span, Ordering::SeqCst);
    }

    fn save(&self, request: SaveRequest) -> SaveAnswer {
        self.ops.save(&self.caller, request).unwrap()
    }

    fn score(&self, id: u64) -> f64 {
        let fades = mind::settings::CortexSettings::default();
        self.ops.score(&self.caller, ScoreRequest { id }, &fades).unwrap().score
    }

    fn found(&self, query: &str) -> Vec<u64> {
        let request =
            SearchRequest { query: query.into(), quiet: true, ..SearchRequest::default() };
        self.ops.search(&self.caller, request).unwrap().hits.iter().map(|hit| hit.id).collect()
    }
}

fn note(kind: &str, title: &str, content: &str) -> SaveRequest {
    SaveRequest {
        title: title.into(),
        content: content.into(),
        kind: Some(kind.into()),
        default_session: true,
        ..SaveRequest::default()
    }
}

fn keyed(key: &str, project: &str, content: &str) -> SaveRequest {
    SaveRequest {
        topic_key: Some(key.into()),
        project: Some(project.into()),
        ..note("architecture", "JWT auth middleware", content)
    }
}

// Q5
#[test]
fn a_save_says_who_took_part_and_when() {
    let bench = Bench::new();
    let told = |request: SaveRequest| SaveRequest {
        participants: vec!["Ada".into(), " ".into()],
        happened_at: Some("2023-05-08".into()),
        ..request
    };
    let event = bench.save(told(SaveRequest { kind: None, ..note("", "Moved", "To Lyon") }));
    assert_eq!(event.memory_type, "Event");
    assert_eq!(bench.save(told(note("bugfix", "Fixed", "a race"))).memory_type, "Event");
    let request =
        SearchRequest { query: "What did Ada do in May 2023?".into(), ..SearchRequest::default() };
    let hits = bench.ops.search(&bench.caller, request).unwrap().hits;
    let hit = hits.iter().find(|hit| hit.id == event.id).unwrap();
    assert!(hit.happened_at.as_deref().is_some_and(|at| at.starts_with("2023-05-08")));
    let refused = bench.ops.save(&bench.caller, told(note("decision", "Use tabs", "x")));
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("participants") && refused.contains("Event"), "{refused}");
    let dated =
        SaveRequest { happened_at: Some("2023-05-08".into()), ..note("decision", "Use tabs", "x") };
    assert_eq!(bench.save(dated.clone()).memory_type, "Decision");
    let bad = SaveRequest { happened_at: Some("May".into()), ..dated };
    assert!(bench.ops.save(&bench.caller, bad).is_err());
}

// agent-memory 1, 3, 4, 5, 6, 9, 44, 77, 78, 169
#[test]
fn a_save_is_found_at_once_and_says_what_it_made() {
    let bench = Bench::new();
    let saved = bench.save(note(
        "bugfix",
        "Fixed N+1 in UserList",
        "**What**: one query\n**Why**: slow\n**Where**: src/users/list.rs\n**Learned**: preload",
    ));
    assert_eq!((saved.status, saved.version), (SaveStatus::Created, 1));
    assert_eq!(saved.kind, "bugfix");
    assert!(saved.entities.iter().any(|e| e.kind == "file" && e.value == "src/users/list.rs"));
    assert!(!saved.suggested_topic_key.is_empty());
    assert_eq!(bench.found("why was the user list slow"), [saved.id]);
    let get = GetRequest { id: saved.id, ..GetRequest::default() };
    let memory = bench.ops.get(&bench.caller, get).unwrap().memory;
    assert!(memory.content.ends_with("preload"));
    // 0.5 + 0.3 for a fix; the access just noted counts 0.1 and is recent.
    assert!((bench.score(saved.id) - 1.4).abs() < 1e-9);
}

// agent-memory 53, 54, 55, and for every type
#[test]
fn the_same_save_inside_the_window_is_counted_not_stored() {
    let bench = Bench::new();
    let first = bench.save(note("decision", "Same", "Same  Body"));
    bench.pass(15 * MINUTE);
    let again = bench.save(note("decision", "Same", "same body"));
    assert_eq!((again.id, again.status), (first.id, SaveStatus::Duplicate));
    // Another kind, title or project is another memory.
    assert_ne!(bench.save(note("bugfix", "Same", "same body")).id, first.id);
    assert_ne!(bench.save(note("decision", "Other", "same body")).id, first.id);
    let elsewhere =
        SaveRequest { project: Some("web".into()), ..note("decision", "Same", "same body") };
    assert_ne!(bench.save(elsewhere).id, first.id);
    bench.pass(MINUTE);
    let later = bench.save(note("decision", "Same", "same body"));
    assert_eq!(later.status, SaveStatus::Created);
    let get = GetRequest { id: first.id, ..GetRequest::default() };
    assert_eq!(bench.ops.get(&bench.caller, get).unwrap().memory.duplicates, 1);
}

// A second process, or the same after a restart, has the same window.
#[test]
fn the_window_outlives_the_process() {
    let folder = TempDir::new().unwrap();
    let caller = Caller::new(ActorName::parse("default").unwrap(), "ada");
    let first = {
        let ops = Service::new(folder.path(), Settings::default(), Duration::ZERO);
        ops.save(&caller, note("decision", "Same", "body")).unwrap()
    };
    let ops = Service::new(folder.path(), Settings::default(), Duration::ZERO);
    let again = ops.save(&caller, note("decision", "Same", "body")).unwrap();
    assert_eq!((again.id, again.status), (first.id, SaveStatus::Duplicate));
}

// agent-memory 58, 59, 103, 104, 105; history is kept
#[test]
fn a_topic_key_has_one_memory_per_project_and_scope() {
    let bench = Bench::new();
    let first = bench.save(keyed(" Architecture/Auth Model ", "web", "sessions"));
    assert_eq!(first.topic_key, "architecture/auth-model");
    assert_eq!(first.suggested_topic_key, "");
    let second = bench.save(keyed("architecture/auth-model", "web", "tokens"));
    assert_eq!((second.id, second.version, second.status), (first.id, 2, SaveStatus::Updated));
    let other_project = bench.save(keyed("architecture/auth-model", "api", "tokens"));
    assert_ne!(other_project.id, first.id);
    let personal = SaveRequest {
        scope: Some("personal".into()),
        ..keyed("architecture/auth-model", "web", "tokens")
    };
    assert_ne!(bench.save(personal).id, first.id);
    assert_ne!(bench.save(keyed("architecture/other", "web", "tokens!")).id, first.id);
    let get = GetRequest { id: first.id, history: true, ..GetRequest::default() };
    let got = bench.ops.get(&bench.caller, get).unwrap();
    assert_eq!(got.memory.content, "tokens");
    assert_eq!(
        got.history.iter().map(|v| v.content.as_str()).collect::<Vec<_>>(),
        ["sessions", "tokens"]
    );
    // The same words again are no new version, and another kind keeps the shape.
    let same = bench.save(keyed("architecture/auth-model", "web", "tokens"));
    assert_eq!((same.version, same.status), (2, SaveStatus::Duplicate));
    let kind =
        SaveRequest { kind: Some("bugfix".into()), ..keyed("architecture/auth-model", "web", "x") };
    let kind = bench.save(kind);
    assert_eq!(
        (kind.id, kind.kind.as_str(), kind.memory_type.as_str()),
        (first.id, "bugfix", "Decision")
    );
    // A forgotten memory is not written to.
    let delete = DeleteRequest { id: first.id, ..DeleteRequest::default() };
    bench.ops.delete(&bench.caller, delete).unwrap();
    assert_ne!(bench.save(keyed("architecture/auth-model", "web", "new")).id, first.id);
}

#[test]
fn saves_of_the_same_thing_at_once_make_one_memory() {
    let bench = Bench::new();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let (ops, caller) = (&bench.ops, &bench.caller);
            scope.spawn(move || {
                for _ in 0..5 {
                    ops.save(caller, keyed("topic/one", "web", &format!("from {n}"))).unwrap();
                    ops.save(caller, note("decision", "Same", "body")).unwrap();
                }
            });
        }
    });
    let list = bench.ops.list(&bench.caller, ListRequest::default()).unwrap();
    assert_eq!(list.total, 2, "{:?}", list.memories.iter().map(|m| &m.title).collect::<Vec<_>>());
}

#[test]
fn a_retry_with_the_same_key_returns_the_first_answer() {
    let bench = Bench::new();
    let mut caller = bench.caller.clone();
    caller.idempotency_key = Some("k-1".into());
    let first = bench.ops.save(&caller, note("decision", "Once", "body")).unwrap();
    bench.pass(DAY);
    let again = bench.ops.save(&caller, note("decision", "Once", "body")).unwrap();
    assert_eq!((again.id, again.status), (first.id, SaveStatus::Replayed));
    let other = bench.ops.save(&caller, note("decision", "Other", "body")).unwrap_err();
    assert_eq!((other.code().as_str(), other.fault()), ("idempotency_conflict", Fault::Conflict));
    let list = bench.ops.list(&bench.caller, ListRequest::default()).unwrap();
    assert_eq!(list.total, 1);
}

// agent-memory 11, 12, 16, 79, 80, 85, 86
#[test]
fn saves_find_the_session_they_belong_to() {
    let bench = Bench::new();
    let (ops, caller) = (&bench.ops, &bench.caller);
    let unframed =
        bench.save(SaveRequest { project: Some("web".into()), ..note("manual", "a", "a") });
    assert_eq!(unframed.session_id, "manual-save-web");
    assert_eq!(bench.save(note("manual", "b", "b")).session_id, "manual-save");
    let start = |id: &str| SessionStartRequest {
        id: id.into(),
        project: Some("web".into()),
        ..SessionStartRequest::default()
    };
    assert!(ops.session_start(caller, start("s-1")).unwrap().changed);
    assert!(!ops.session_start(caller, start("s-1")).unwrap().changed);
    ops.session_start(caller, start("s-2")).unwrap();
    let attached =
        bench.save(SaveRequest { project: Some("web".into()), ..note("manual", "c", "c") });
    assert_eq!(attached.session_id, "s-2");
    let named = SaveRequest { session_id: Some("s-1".into()), ..note("manual", "d", "d") };
    assert_eq!(bench.save(named).session_id, "s-1");
    let summary = SummaryRequest {
        content: "## Goal\nShip".into(),
        project: Some("web".into()),
        ..SummaryRequest::default()
    };
    let summary = ops.session_summary(caller, summary).unwrap();
    assert_eq!(
        (summary.kind.as_str(), summary.title.as_str()),
        ("session_summary", "Session summary: web")
    );
    assert_eq!(summary.session_id, "s-2");
    let end = SessionEndRequest { id: "s-2".into(), summary: Some("done".into()) };
    let ended = ops.session_end(caller, end.clone()).unwrap();
    assert!(ended.ended_at.is_some());
    assert_eq!(ended.summary.as_deref(), Some("done"));
    // Ending it again is no mistake, as the tool promises; a summary that would be lost is.
    let again = ops.session_end(caller, end.clone()).unwrap();
    assert_eq!((again.changed, &again.ended_at), (false, &ended.ended_at));
    let silent = SessionEndRequest { summary: None, ..end.clone() };
    assert!(!ops.session_end(caller, silent).unwrap().changed);
    let other = SessionEndRequest { summary: Some("more".into()), ..end };
    assert_eq!(ops.session_end(caller, other).unwrap_err().fault(), Fault::Conflict);
    let unknown = SessionEndRequest { id: "nobody".into(), summary: None };
    assert_eq!(ops.session_end(caller, unknown).unwrap_err().fault(), Fault::Missing);
    assert!(!ops.session_start(caller, start("s-2")).unwrap().changed);
    // The newest that lives is s-1 now.
    let attached =
        bench.save(SaveRequest { project: Some("web".into()), ..note("manual", "e", "e") });
    assert_eq!(attached.session_id, "s-1");
    let live = SessionListRequest {
        live: true,
        project: Some("web".into()),
        ..SessionListRequest::default()
    };
    let ids: Vec<String> =
        ops.session_list(caller, live).unwrap().sessions.into_iter().map(|s| s.id).collect();
    assert_eq!(ids, ["s-1", "manual-save-web"]);
    let context = ops.recent_context(caller, ContextRequest::default()).unwrap();
    assert!(
        context.text.contains("**s-2** (web, 2026-09-21, ended, 2 memories) — done"),
        "{}",
        context.text
    );
    assert!(context.text.contains("## Recent Observations"));
}

// agent-memory 18-27, 33, 88, 89, 163-165
#[test]
fn edges_count_walk_and_go() {
    let bench = Bench::new();
    let (ops, caller) = (&bench.ops, &bench.caller);
    let ids: Vec<u64> = (0..12)
        .map(|n| bench.save(note("manual", &format!("note {n}"), &format!("n {n}"))).id)
        .collect();
    let edge = |from: usize, to: usize, relation: &str| RelateRequest {
        from_obs_id: ids[from],
        to_obs_id: ids[to],
        relation_type: relation.into(),
        weight: None,
    };
    for (n, relation) in
        ["references", "relates_to", "follows", "supersedes", "contradicts"].iter().enumerate()
    {
        assert!(ops.relate(caller, edge(n, n + 1, relation)).unwrap().changed);
    }
    for n in 5..11 {
        ops.relate(caller, edge(n, n + 1, "follows")).unwrap();
    }
    // A circle ends.
    ops.relate(caller, edge(11, 0, "follows")).unwrap();
    let unknown = ops.relate(caller, edge(0, 1, "likes")).unwrap_err();
    assert!(
        unknown.to_string().contains("references, relates_to, follows, supersedes, contradicts")
    );
    assert_eq!(ops.relate(caller, edge(0, 0, "follows")).unwrap_err().code().as_str(), "self_edge");
    for weight in [0.0, -1.0, 10.5, f64::NAN] {
        let heavy = RelateRequest { weight: Some(weight), ..edge(0, 1, "references") };
        assert_eq!(ops.relate(caller, heavy).unwrap_err().fault(), Fault::Caller);
    }
    let heavy = RelateRequest { weight: Some(10.0), ..edge(0, 2, "references") };
    let heavy = ops.relate(caller, heavy).unwrap();
    assert!((heavy.edge.weight - 10.0).abs() < 1e-9);
    let walk = |depth| {
        let graph = GraphRequest { id: ids[0], depth: Some(depth), ..GraphRequest::default() };
        ops.graph(caller, graph)
    };
    assert_eq!(walk(1).unwrap().nodes.len(), 3);
    assert_eq!(walk(10).unwrap().nodes.len(), 11);
    for depth in [0, 11] {
        assert!(walk(depth).unwrap_err().to_string().contains("between 1 and 10"));
    }
    // 0.5 and one incoming edge.
    assert!((bench.score(ids[1]) - 0.7).abs() < 1e-9);
    assert!((bench.score(ids[0]) - 0.7).abs() < 1e-9, "outgoing edges do not count");
    let gone = UnrelateRequest { edge_id: heavy.edge.id, ..UnrelateRequest::default() };
    ops.unrelate(caller, gone.clone()).unwrap();
    assert_eq!(ops.unrelate(caller, gone).unwrap_err().fault(), Fault::Missing);
    assert_eq!(walk(1).unwrap().nodes.len(), 2);
}

// agent-memory 56, 57, 93, 96, 173, 83
#[test]
fn what_is_put_away_is_out_of_sight_and_comes_back() {
    let bench = Bench::new();
    let (ops, caller) = (&bench.ops, &bench.caller);
    let id = bench.save(note("manual", "Rotate the signing key", "every ninety days")).id;
    let other = bench.save(note("manual", "Unrelated", "words")).id;
    ops.relate(
        caller,
        RelateRequest {
            from_obs_id: other,
            to_obs_id: id,
            relation_type: "references".into(),
            weight: None,
        },
    )
    .unwrap();
    let hidden = || {
        assert!(!bench.found("rotate the signing key").contains(&id));
        let graph = GraphRequest { id: other, ..GraphRequest::default() };
        assert!(ops.graph(caller, graph).unwrap().nodes.is_empty());
        let timeline = TimelineRequest { id: other, ..TimelineRequest::default() };
        assert!(ops.timeline(caller, timeline).unwrap().before.is_empty());
        let context = ops.recent_context(caller, ContextRequest::default()).unwrap();
        assert!(!context.text.contains("Rotate"), "{}", context.text);
        assert_eq!(ops.list(caller, ListRequest::default()).unwrap().total, 1);
    };
    ops.archive(caller, ArchiveRequest { id, reason: None }).unwrap();
    hidden();
    let archived = ListRequest { archived: true, ..ListRequest::default() };
    assert_eq!(ops.list(caller, archived).unwrap().total, 1);
    assert!(
        ops.restore(caller, RestoreRequest { id, ..RestoreRequest::default() }).unwrap().changed
    );
    assert!(bench.found("rotate the signing key").contains(&id));
    ops.delete(caller, DeleteRequest { id, ..DeleteRequest::default() }).unwrap();
    hidden();
    let get = GetRequest { id, ..GetRequest::default() };
    assert_eq!(ops.get(caller, get.clone()).unwrap_err().fault(), Fault::Missing);
    let twice = ops.delete(caller, DeleteRequest { id, ..DeleteRequest::default() });
    assert_eq!(twice.unwrap_err().fault(), Fault::Missing);
    ops.restore(caller, RestoreRequest { id, ..RestoreRequest::default() }).unwrap();
    let update =
        UpdateRequest { id, content: Some("every sixty days".into()), ..UpdateRequest::default() };
    let updated = ops.update(caller, update).unwrap();
    assert_eq!(
        (updated.memory.version, updated.memory.title.as_str()),
        (2, "Rotate the signing key")
    );
    assert_eq!(
        ops.update(caller, UpdateRequest { id, ..UpdateRequest::default() })
            .unwrap_err()
            .code()
            .as_str(),
        "no_op"
    );
    ops.delete(caller, DeleteRequest { id, hard: true, ..DeleteRequest::default() }).unwrap();
    let gone = GetRequest { include_put_away: true, ..get };
    assert!(ops.get(caller, gone).unwrap().memory.erased);
    assert_eq!(
        ops.restore(caller, RestoreRequest { id, ..RestoreRequest::default() })
            .unwrap_err()
            .code()
            .as_str(),
        "erased"
    );
}

// agent-memory 30, 32, 40, 43, 61, 122
#[test]
fn old_and_unused_is_archived_and_nothing_else() {
    let bench = Bench::new();
    let (ops, caller) = (&bench.ops, &bench.caller);
    let plain = bench.save(note("manual", "plain", "plain")).id;
    let used = bench.save(note("manual", "used", "used")).id;
    let decision = bench.save(note("decision", "decision", "decision")).id;
    let pinned = bench.save(note("manual", "pinned", "pinned")).id;
    ops.pin(caller, PinRequest { id: pinned, pinned: true }).unwrap();
    let topic = bench.save(keyed("config/x", "web", "x")).id;
    let (from, to) =
        (bench.save(note("manual", "f", "f")).id, bench.save(note("manual", "t", "t")).id);
    ops.relate(
        caller,
        RelateRequest {
            from_obs_id: from,
            to_obs_id: to,
            relation_type: "follows".into(),
            weight: None,
        },
    )
    .unwrap();
    let summary = SummaryRequest { content: "done".into(), ..SummaryRequest::default() };
    let summary = ops.session_summary(caller, summary).unwrap().id;
    for _ in 0..2 {
        ops.get(caller, GetRequest { id: used, ..GetRequest::default() }).unwrap();
    }
    bench.pass(89 * DAY);
    let sweep = |dry_run| {
        let answer = ops.sweep(caller, SweepRequest { dry_run }).unwrap();
        answer.archived.iter().map(|swept| swept.id).collect::<Vec<_>>()
    };
    assert!(sweep(false).is_empty());
    bench.pass(2 * DAY);
    let fresh = bench.save(note("manual", "fresh", "fresh")).id;
    assert_eq!(sweep(true), [plain]);
    assert_eq!(sweep(false), [plain]);
    assert!(sweep(false).is_empty());
    let live: Vec<u64> =
        ops.list(caller, ListRequest::default()).unwrap().memories.iter().map(|m| m.id).collect();
    for id in [used, decision, pinned, topic, from, to, summary, fresh] {
        assert!(live.contains(&id), "{id} of {live:?}");
    }
    assert!(!live.contains(&plain));
    assert!(
        ops.restore(caller, RestoreRequest { id: plain, ..RestoreRequest::default() })
            .unwrap()
            .changed
    );
}

// agent-memory 49, 50, 51, 52, 95
#[test]
fn disclosure_is_progressive() {
    let bench = Bench::new();
    let long = "The deploy failed because the certificate had expired. ".repeat(40);
    let ids: Vec<u64> = (0..7)
        .map(|n| bench.save(note("bugfix", &format!("Deploy {n}"), &format!("{n} {long}"))).id)
        .collect();
    let search = SearchRequest {
        query: "certificate expired".into(),
        limit: Some(1),
        ..SearchRequest::default()
    };
    let found = bench.ops.search(&bench.caller, search).unwrap();
    assert!(found.hits[0].preview.chars().count() <= 303 && found.hits[0].cut);
    let (before, after) = (Some(2), Some(2));
    let request = TimelineRequest { id: ids[3], before, after, ..TimelineRequest::default() };
    let timeline = bench.ops.timeline(&bench.caller, request).unwrap();
    let around: Vec<u64> = timeline.before.iter().chain(&timeline.after).map(|b| b.id).collect();
    assert_eq!(around, [ids[1], ids[2], ids[4], ids[5]]);
    // Who only looks leaves no trace; who reads it for an agent does.
    let accesses = |id: u64| {
        let get = GetRequest { id, quiet: true, ..GetRequest::default() };
        bench.ops.get(&bench.caller, get).unwrap().memory.accesses
    };
    let look = TimelineRequest { id: ids[0], quiet: true, ..TimelineRequest::default() };
    bench.ops.timeline(&bench.caller, look).unwrap();
    bench.ops.flush_actor(&bench.caller.actor, bench.caller.now().unwrap()).unwrap();
    assert_eq!((accesses(ids[0]), accesses(ids[3])), (0, 1));
    let get = GetRequest { id: ids[3], ..GetRequest::default() };
    let full = bench.ops.get(&bench.caller, get).unwrap();
    let text = |timeline: &api::timeline::TimelineAnswer| {
        timeline.before.iter().chain(&timeline.after).map(|b| b.preview.len()).sum::<usize>()
            + timeline.focus.preview.len()
    };
    assert!(found.hits[0].preview.len() < text(&timeline));
    assert!(text(&timeline) < full.memory.content.len());
    assert!(full.memory.content.ends_with("expired. "));
}

// agent-memory 60, 82, 94, 170, 171
#[test]
fn prompts_projects_scopes_and_odd_questions() {
    let bench = Bench::new();
    let (ops, caller) = (&bench.ops, &bench.caller);
    let prompt = PromptSaveRequest {
        content: "fix the login".into(),
        project: Some("Web".into()),
        default_session: true,
        ..PromptSaveRequest::default()
    };
    let saved = ops.prompt_save(caller, prompt).unwrap();
    assert_eq!((saved.project.as_str(), saved.session_id.as_str()), ("web", "manual-save-web"));
    let listed = ops.prompt_list(
        caller,
        PromptListRequest { query: Some("LOGIN".into()), ..PromptListRequest::default() },
    );
    assert_eq!(listed.unwrap().total, 1);
    bench.save(SaveRequest {
        project: Some("web".into()),
        ..note("manual", "login page", "in web")
    });
    bench.save(SaveRequest {
        scope: Some("personal".into()),
        ..note("preference", "tabs", "I like tabs")
    });
    let personal = ListRequest { scope: Some("personal".into()), ..ListRequest::default() };
    assert_eq!(ops.list(caller, personal).unwrap().total, 1);
    let elsewhere = SearchRequest {
        query: "login".into(),
        project: Some("nowhere".into()),
        ..SearchRequest::default()
    };
    let elsewhere = ops.search(caller, elsewhere).unwrap();
    assert!(elsewhere.hits.is_empty());
    assert!(elsewhere.elsewhere.unwrap().contains("web (1)"));
    for odd in
        ["", " \n", "*", "\"", "(", "AND", "🦀", "a\"b", "-", "NEAR(", &"word ".repeat(2_000)]
    {
        let request = SearchRequest { query: odd.into(), ..SearchRequest::default() };
        ops.search(caller, request).unwrap();
    }
    bench.save(SaveRequest {
        project: Some("site".into()),
        ..note("manual", "logo", "of the site")
    });
    let merged = MergeRequest { from: vec!["web".into()], to: "site".into(), dry_run: false };
    assert_eq!(ops.merge_projects(caller, merged).unwrap().moved, 1);
    let projects = ops.projects(caller, ProjectsRequest {}).unwrap().projects;
    assert_eq!(
        projects.iter().map(|p| (p.name.as_str(), p.memories)).collect::<Vec<_>>(),
        [("site", 2)]
    );
    let stats = ops.stats(caller, StatsRequest {}).unwrap();
    assert_eq!((stats.observations, stats.prompts, stats.sessions), (3, 1, 3));
    let proof = ops.prove(caller, ProveRequest { id: 3, snapshot: None }).unwrap();
    assert!(proof.exists && proof.bytes > 0);
}
