//! think against runs that are scripted, on a real chronicle.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::run::{FinishPayload, RunRequest};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};

use super::*;
use crate::chronicle::{FacetFile, add_facet};
use crate::layout::Layout;
use crate::names::{Facet, Segment};
use crate::talent_files::TalentCatalog;

/// Runs that end as told, write what they are told, and keep the order in which things happened.
#[derive(Default)]
struct Fake {
    log: Mutex<Vec<String>>,
    requests: Mutex<Vec<Value>>,
    /// By talent: what its run ends with, if not with a plain finish.
    ends: BTreeMap<&'static str, RunEnd>,
    refuse: &'static str,
    /// Talent -> (file, text) it writes.
    writes: Mutex<BTreeMap<&'static str, (std::path::PathBuf, &'static str)>>,
    running: Mutex<(usize, usize)>,
    /// Runs of these talents wait for a permit, if there is such a gate.
    gate: Option<(&'static [&'static str], Semaphore)>,
}

impl Fake {
    fn note(&self, text: String) {
        self.log.lock().unwrap().push(text);
    }

    fn request(&self, use_id: &str) -> Value {
        self.requests.lock().unwrap()[use_id.parse::<usize>().unwrap()].clone()
    }

    fn label(request: &Value) -> String {
        let facet = request["facet"].as_str().map(|facet| format!("/{facet}")).unwrap_or_default();
        format!("{}{facet}", request["name"].as_str().unwrap())
    }
}

impl RunLauncher for Fake {
    fn start(&self, request: RunRequest) -> BoxFuture<'_, Result<String, String>> {
        let request = json!(request);
        Box::pin(async move {
            if request["name"] == self.refuse {
                return Err("the queue is full".into());
            }
            self.note(format!("start {}", Fake::label(&request)));
            let mut running = self.running.lock().unwrap();
            running.0 += 1;
            running.1 = running.1.max(running.0);
            let mut requests = self.requests.lock().unwrap();
            requests.push(request);
            Ok((requests.len() - 1).to_string())
        })
    }

    fn wait<'a>(&'a self, use_id: &'a str, limit: Duration) -> BoxFuture<'a, RunEnd> {
        Box::pin(async move {
            let request = self.request(use_id);
            if let Some((held, gate)) = &self.gate
                && held.contains(&request["name"].as_str().unwrap())
            {
                gate.acquire().await.unwrap().forget();
            }
            for _ in 0..5 {
                tokio::task::yield_now().await;
            }
            let name = request["name"].as_str().unwrap();
            let write = self.writes.lock().unwrap().get(name).cloned();
            if let Some((path, text)) = write {
                fs::write(path, text).unwrap();
            }
            self.running.lock().unwrap().0 -= 1;
            self.note(format!("end {}", Fake::label(&request)));
            assert_eq!(limit.as_secs(), request["timeout_seconds"].as_u64().unwrap() + 30);
            let path = request["output"]
                .as_str()
                .map(|ending| format!("/out/{}.{ending}", Fake::label(&request)));
            self.ends.get(name).cloned().unwrap_or(RunEnd::Finished(Box::new(FinishPayload {
                result: Some("x".to_owned()),
                output_path: path,
                ..FinishPayload::default()
            })))
        })
    }

    fn cancel<'a>(&'a self, use_id: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move { self.note(format!("cancel {}", Fake::label(&self.request(use_id)))) })
    }
}

#[derive(Default)]
struct Heard {
    events: Mutex<Vec<Value>>,
    indexed: Mutex<Vec<UnitOutput>>,
}

impl ThinkHooks for Heard {
    fn tell(&self, event: Value) {
        self.events.lock().unwrap().push(event);
    }

    fn index<'a>(&'a self, output: &'a UnitOutput) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            self.indexed.lock().unwrap().push(output.clone());
            Ok(())
        })
    }
}

const SEGMENT: &str = "120000_300";

/// A home with only the talents that a test names.
struct Home {
    _dir: tempfile::TempDir,
    layout: Layout,
    catalog: TalentCatalog,
}

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn home(talents: &[(&str, &str)], facets: &[(&str, bool)], active: &str) -> Home {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::new(dir.path());
    for name in ["activity", "facets", "decisions", "followups", "daily_brief", "knowledge"] {
        put(
            dir.path(),
            &format!("talent/{name}.md"),
            "{\n\"output\": \"md\"\n}\nnot scheduled here",
        );
    }
    for (name, front) in talents {
        put(dir.path(), &format!("talent/{name}.md"), &format!("{{\n{front}\n}}\nDo it."));
    }
    for (name, muted) in facets {
        let file = FacetFile { muted: *muted, ..FacetFile::default() };
        add_facet(&layout, &Facet::parse(name).unwrap(), &file).unwrap();
    }
    put(dir.path(), &format!("chronicle/20250109/{SEGMENT}/note.txt"), "Words.");
    if !active.is_empty() {
        put(dir.path(), &format!("chronicle/20250109/{SEGMENT}/facets.json"), active);
    }
    let catalog = TalentCatalog::open(&layout.talents());
    Home { _dir: dir, layout, catalog }
}

fn asked(work: ThinkWork) -> ThinkRequest {
    ThinkRequest {
        day: Day::parse("20250109").unwrap(),
        work,
        facet: None,
        talent: None,
        refresh: false,
    }
}

fn segment() -> ThinkWork {
    ThinkWork::Segment(Segment::parse(SEGMENT).unwrap())
}

async fn think(
    home: &Home,
    asked: &ThinkRequest,
    jobs: usize,
    fake: &Arc<Fake>,
) -> (ThinkReport, Arc<Heard>) {
    let heard = Arc::new(Heard::default());
    let (_keep, stop) = watch::channel(false);
    let runs = Arc::clone(fake) as Arc<dyn RunLauncher>;
    let hooks = Arc::clone(&heard) as Arc<dyn ThinkHooks>;
    let report = run(&home.layout, &home.catalog, asked, jobs, runs, hooks, stop).await.unwrap();
    (report, heard)
}

fn log(fake: &Fake) -> Vec<String> {
    fake.log.lock().unwrap().clone()
}

fn place(log: &[String], text: &str) -> usize {
    log.iter().position(|line| line == text).unwrap_or_else(|| panic!("{text} in {log:?}"))
}

#[tokio::test]
async fn groups_run_in_order_and_their_units_beside_each_other() {
    // execution R94, R96, R113, R115, R116, R117
    let daily = |priority: u32| {
        format!("\"schedule\": \"daily\", \"output\": \"md\", \"priority\": {priority}")
    };
    let (ten, forty) = (daily(10), daily(40));
    let home = home(&[("late", &forty), ("one", &ten), ("two", &ten), ("three", &ten)], &[], "");
    let fake = Arc::new(Fake::default());
    let (report, heard) = think(&home, &asked(ThinkWork::Daily), 0, &fake).await;
    let log = log(&fake);
    for early in ["one", "two", "three"] {
        assert!(place(&log, &format!("end {early}")) < place(&log, "start late"), "{log:?}");
    }
    assert_eq!(fake.running.lock().unwrap().1, 3, "the units of a group run together");
    assert_eq!((report.finished(), report.is_well()), (4, true));
    assert_eq!(heard.indexed.lock().unwrap().len(), 4, "each output is indexed");
    let events = heard.events.lock().unwrap();
    let told: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(
        (told[0], told[1], *told.last().unwrap()),
        ("started", "group_started", "completed")
    );
    let request = fake.request("0");
    assert_eq!(
        (request["day"].as_str(), request["schedule"].as_str()),
        (Some("20250109"), Some("daily"))
    );
    assert!(request.get("prompt").is_none(), "a generator needs no prompt");
}

#[tokio::test]
async fn the_window_slides() {
    let talents: Vec<(String, String)> = (0..6)
        .map(|number| {
            (
                format!("t{number}"),
                "\"schedule\": \"daily\", \"output\": \"md\", \"priority\": 1".to_owned(),
            )
        })
        .collect();
    let talents: Vec<(&str, &str)> =
        talents.iter().map(|(name, front)| (name.as_str(), front.as_str())).collect();
    let home = home(&talents, &[], "");
    let fake = Arc::new(Fake { gate: Some((&["t0"], Semaphore::new(0))), ..Fake::default() });
    let asked = asked(ThinkWork::Daily);
    let opening = async {
        // The others go on beside the one that is held.
        while fake.log.lock().unwrap().iter().filter(|line| line.starts_with("end")).count() < 5 {
            tokio::task::yield_now().await;
        }
        fake.gate.as_ref().unwrap().1.add_permits(1);
    };
    let both = async { tokio::join!(think(&home, &asked, 2, &fake), opening) };
    let ((report, _), ()) = tokio::time::timeout(Duration::from_secs(20), both).await.unwrap();
    assert_eq!((report.finished(), fake.running.lock().unwrap().1), (6, 2));
    assert_eq!(log(&fake).last().unwrap(), "end t0");
}

#[tokio::test]
async fn a_day_fans_out_over_the_facets_that_were_active() {
    // execution R97, R98, R99, R119-R124
    let front =
        "\"schedule\": \"daily\", \"priority\": 5, \"multi_facet\": true, \"output\": \"md\"";
    let always = format!("{front}, \"always\": true, \"tools\": [\"get_facet\"]");
    let active = r#"[{"facet":"work"},{"facet":"quiet"},{"facet":"ghost"}, 3]"#;
    let facets = [("work", false), ("home", false), ("quiet", true)];
    let home = home(&[("news", front), ("audit", &always)], &facets, active);
    let fake = Arc::new(Fake::default());
    let (report, heard) = think(&home, &asked(ThinkWork::Daily), 1, &fake).await;
    let mut started: Vec<String> =
        log(&fake).into_iter().filter(|line| line.starts_with("start")).collect();
    started.sort();
    assert_eq!(started, ["start audit/home", "start audit/work", "start news/work"]);
    let skipped: Vec<String> = report
        .skipped
        .iter()
        .filter(|skip| skip.talent.as_str() == "news")
        .map(|skip| format!("{} {}", skip.facet.as_deref().unwrap_or("-"), skip.reason))
        .collect();
    assert_eq!(skipped, ["ghost unknown_facet", "home not_active", "quiet muted"]);
    let paths: std::collections::BTreeSet<String> =
        heard.indexed.lock().unwrap().iter().map(|output| output.path.clone()).collect();
    assert_eq!(paths.len(), 3, "no output stands on another");
    let requests = fake.requests.lock().unwrap();
    let audit = requests.iter().find(|request| request["name"] == "audit").unwrap();
    assert!(audit["prompt"].as_str().unwrap().contains("get_facet(\"home\")"), "{audit}");
    assert_eq!(audit["facet"], "home");
    assert_eq!(audit["env"], Value::Null, "what stands in env is masked in paths");
    assert_eq!(report.problems.len(), 1, "the bad item is named: {:?}", report.problems);
}

#[tokio::test]
async fn a_segments_facets_are_read_again_before_each_group() {
    // execution R125, R126, R128, R129
    let facets = "\"schedule\": \"segment\", \"priority\": 90, \"output\": \"json\"";
    let track =
        "\"schedule\": \"segment\", \"priority\": 95, \"output\": \"md\", \"multi_facet\": true";
    let early =
        "\"schedule\": \"segment\", \"priority\": 10, \"output\": \"md\", \"multi_facet\": true";
    let home = home(
        &[("facets", facets), ("track", track), ("early", early)],
        &[("work", false), ("quiet", true)],
        "",
    );
    let fake = Arc::new(Fake::default());
    let file = home.layout.day(asked(segment()).day).join(SEGMENT).join("facets.json");
    fake.writes.lock().unwrap().insert("facets", (file, r#"[{"facet":"work"},{"facet":"quiet"}]"#));
    let planned = plan(&home.layout, &home.catalog, &asked(segment())).unwrap();
    let last = planned.phases[0].groups.last().unwrap();
    assert_eq!(last.later, ["track"], "a plan says what it cannot know yet");
    let (report, _) = think(&home, &asked(segment()), 0, &fake).await;
    let started: Vec<String> =
        log(&fake).into_iter().filter(|line| line.starts_with("start")).collect();
    assert_eq!(started, ["start facets", "start track/work"]);
    assert!(report.is_well());
}

#[tokio::test]
async fn one_that_fails_hides_no_other() {
    let front = "\"schedule\": \"daily\", \"output\": \"md\", \"priority\": 1";
    let slow = "\"schedule\": \"daily\", \"output\": \"md\", \"priority\": 1, \"timeout\": 1200";
    let last = "\"schedule\": \"daily\", \"output\": \"md\", \"priority\": 2";
    let talents = [
        ("bad", front),
        ("full", front),
        ("good", front),
        ("slow", slow),
        ("thin", front),
        ("last", last),
    ];
    let home = home(&talents, &[], "");
    let fake = Arc::new(Fake {
        ends: BTreeMap::from([
            ("bad", RunEnd::Failed { error: "no".into(), code: "unknown".into() }),
            ("slow", RunEnd::TimedOut),
            (
                "thin",
                RunEnd::Finished(Box::new(FinishPayload {
                    skipped: Some("no_input".to_owned()),
                    ..FinishPayload::default()
                })),
            ),
        ]),
        refuse: "full",
        ..Fake::default()
    });
    let (report, heard) = think(&home, &asked(ThinkWork::Daily), 2, &fake).await;
    let states: Vec<(&str, UnitState)> =
        report.units.iter().map(|unit| (unit.talent.as_str(), unit.state)).collect();
    assert_eq!(
        states,
        [
            ("bad", UnitState::Failed),
            ("full", UnitState::NotStarted),
            ("good", UnitState::Finished),
            ("slow", UnitState::TimedOut),
            ("thin", UnitState::Skipped),
            ("last", UnitState::Finished),
        ]
    );
    assert!(log(&fake).contains(&"cancel slow".to_owned()), "who gives up cancels");
    assert!(!report.is_well());
    let failed: Vec<String> = report.failed().map(UnitReport::label).collect();
    assert_eq!(failed, ["bad (no)", "full (the queue is full)", "slow (timeout)"]);
    assert_eq!(heard.indexed.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn what_is_done_is_not_done_again_unless_asked() {
    let front = "\"schedule\": \"daily\", \"output\": \"md\", \"priority\": 1";
    let off = "\"schedule\": \"daily\", \"output\": \"md\", \"priority\": 1, \"disabled\": true";
    let home =
        home(&[("done", front), ("off", off), ("wrong", "\"schedule\": \"daily\"")], &[], "");
    put(home.layout.home(), "chronicle/20250109/talents/done.md", "Text");
    let fake = Arc::new(Fake::default());
    let (report, _) = think(&home, &asked(ThinkWork::Daily), 2, &fake).await;
    let skipped: Vec<(&str, &str)> =
        report.skipped.iter().map(|skip| (skip.talent.as_str(), skip.reason)).collect();
    assert_eq!(skipped, [("done", "already_complete"), ("off", "disabled")]);
    assert!(report.problems[0].contains("priority"), "execution R95: {:?}", report.problems);
    let again = ThinkRequest { refresh: true, ..asked(ThinkWork::Daily) };
    let (report, _) = think(&home, &again, 2, &fake).await;
    assert_eq!(report.finished(), 1);
    let planned = plan(&home.layout, &home.catalog, &again).unwrap();
    assert!(planned.units().next().unwrap().exists);
    let shown = serde_json::to_value(&planned).unwrap();
    assert_eq!(shown["phases"][0]["groups"][0]["units"][0]["talent"], "done");
}

#[tokio::test]
async fn all_of_a_day_is_its_segments_and_then_the_day() {
    let part = "\"schedule\": \"segment\", \"output\": \"md\", \"priority\": 50";
    let whole = "\"schedule\": \"daily\", \"output\": \"md\", \"priority\": 1";
    let home = home(&[("part", part), ("whole", whole)], &[], "");
    put(home.layout.home(), "chronicle/20250109/080000_60/note.txt", "Early.");
    let fake = Arc::new(Fake::default());
    let (report, _) = think(&home, &asked(ThinkWork::All), 2, &fake).await;
    let order: Vec<(&str, Option<&str>)> =
        report.units.iter().map(|unit| (unit.talent.as_str(), unit.segment.as_deref())).collect();
    assert_eq!(order, [("part", Some("080000_60")), ("part", Some(SEGMENT)), ("whole", None)]);
    let only =
        ThinkRequest { talent: Some(TalentName::parse("whole").unwrap()), ..asked(ThinkWork::All) };
    assert_eq!(plan(&home.layout, &home.catalog, &only).unwrap().units().count(), 1);
}

#[tokio::test]
async fn one_facet_or_one_talent_can_be_asked_for() {
    let front = "\"schedule\": \"daily\", \"priority\": 5, \"output\": \"md\"";
    let fan = format!("{front}, \"multi_facet\": true");
    let home = home(
        &[("plain", front), ("fan", &fan)],
        &[("work", false), ("home", false), ("off", true)],
        "",
    );
    let only = |facet: &str| ThinkRequest {
        facet: Some(Facet::parse(facet).unwrap()),
        ..asked(ThinkWork::Daily)
    };
    let planned = plan(&home.layout, &home.catalog, &only("home")).unwrap();
    let units: Vec<String> = planned.units().map(|unit| unit.talent.to_string()).collect();
    assert_eq!(units, ["fan"], "who asks for a facet gets it, active or not");
    assert_eq!(plan(&home.layout, &home.catalog, &only("off")).unwrap().units().count(), 0);
    let wrong =
        ThinkRequest { talent: Some(TalentName::parse("plain").unwrap()), ..asked(segment()) };
    assert_eq!(plan(&home.layout, &home.catalog, &wrong).unwrap_err().code(), "not_scheduled");
    let never = ThinkRequest { day: Day::parse("20240101").unwrap(), ..asked(ThinkWork::Daily) };
    assert_eq!(plan(&home.layout, &home.catalog, &never).unwrap_err().code(), "no_day");
}

#[tokio::test]
async fn being_told_to_stop_cancels_what_runs_and_starts_nothing_more() {
    let front = "\"schedule\": \"daily\", \"output\": \"md\", \"priority\": 1";
    let home = home(&[("one", front), ("two", front)], &[], "");
    let fake =
        Arc::new(Fake { gate: Some((&["one", "two"], Semaphore::new(0))), ..Fake::default() });
    let (say, stop) = watch::channel(false);
    let heard = Arc::new(Heard::default());
    let runs = Arc::clone(&fake) as Arc<dyn RunLauncher>;
    let hooks = Arc::clone(&heard) as Arc<dyn ThinkHooks>;
    let asked = asked(ThinkWork::Daily);
    let work = run(&home.layout, &home.catalog, &asked, 1, runs, hooks, stop);
    let stopping = async {
        while fake.requests.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        say.send(true).unwrap();
    };
    let (report, ()) = tokio::join!(work, stopping);
    let report = report.unwrap();
    assert_eq!(log(&fake), ["start one", "cancel one"]);
    assert!(report.units.iter().all(|unit| unit.state == UnitState::Cancelled));
    assert_eq!(report.units.len(), 2);
}
