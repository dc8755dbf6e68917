//! Goal: what the kernel cannot know by itself reaches its ranking, and what it has learned reaches the answers.
//! Method: the operations of a service over a fresh home, with a clock that stands still.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use api::attest::{AttestRequest, Citation, SalienceRequest, WeightsView};
use api::bundle::BundleRequest;
use api::context::ContextRequest;
use api::find::FindRequest;
use api::read::GetRequest;
use api::save::{SaveAnswer, SaveRequest};
use api::score::ScoreRequest;
use api::search::SearchRequest;
use kernel::actor::ActorName;
use kernel::memory::Millis;
use proptest::prelude::*;
use service::{Caller, FixedEnvironment, Service, Settings};
use tempfile::TempDir;

struct Home {
    _folder: TempDir,
    ops: Service,
    caller: Caller,
}

impl Home {
    fn new() -> Home {
        let folder = TempDir::new().unwrap();
        let ops = Service::new(folder.path(), Settings::default(), Duration::ZERO);
        let mut caller = Caller::new(ActorName::parse("default").unwrap(), "ada");
        caller.environment =
            Arc::new(FixedEnvironment::new(Some(Millis(1_790_000_000_000)), Some(1)));
        Home { _folder: folder, ops, caller }
    }

    fn save(&self, kind: &str, title: &str, content: &str) -> SaveAnswer {
        let request = SaveRequest {
            title: title.into(),
            content: content.into(),
            kind: Some(kind.into()),
            ..SaveRequest::default()
        };
        self.ops.save(&self.caller, request).unwrap()
    }

    fn important(&self, title: &str, importance: f64) -> u64 {
        let request = SaveRequest {
            title: title.into(),
            importance: Some(importance),
            ..SaveRequest::default()
        };
        self.ops.save(&self.caller, request).unwrap().id
    }

    fn found(&self, query: &str) -> Vec<u64> {
        let request =
            SearchRequest { query: query.into(), quiet: true, ..SearchRequest::default() };
        self.ops.search(&self.caller, request).unwrap().hits.iter().map(|hit| hit.id).collect()
    }

    fn found_about(&self, about: &str) -> Vec<(u64, f64)> {
        let request = FindRequest {
            memory_types: vec!["Fact".into()],
            about: Some(about.into()),
            limit: Some(10),
            ..FindRequest::default()
        };
        let found = self.ops.find(&self.caller, request).unwrap();
        found.items.iter().map(|item| (item.id, item.score)).collect()
    }

    /// Intents that relied on `cited` and not on `seen`, and went well.
    fn teach(&self, cited: u64, seen: u64) {
        for n in 0..30 {
            let request = AttestRequest {
                intent: format!("work-{n}"),
                outcome: "success".into(),
                cite: vec![Citation { id: cited, version: None }],
                retrieved: vec![cited, seen],
                ..AttestRequest::default()
            };
            self.ops.attest(&self.caller, request).unwrap();
        }
    }
}

// kernel 2
#[test]
fn a_word_that_names_no_type_is_told_and_a_known_one_is_not() {
    let home = Home::new();
    let saved = home.save("banana", "Yellow", "It is yellow");
    assert_eq!(saved.memory_type, "Fact");
    assert!(saved.type_note.contains("\"banana\" names none of the types"), "{saved:?}");
    assert!(saved.type_note.contains("decision, architecture"), "words are named: {saved:?}");
    assert_eq!(home.save("bugfix", "Green", "It is green").type_note, "");
    let typed = SaveRequest {
        title: "Blue".into(),
        memory_type: Some("Goal".into()),
        kind: Some("banana".into()),
        ..SaveRequest::default()
    };
    assert_eq!(home.ops.save(&home.caller, typed).unwrap().type_note, "");
}

// kernel 43
#[test]
fn a_find_that_names_neither_type_nor_tag_says_that_it_looked_through_all() {
    let home = Home::new();
    home.save("bugfix", "Fixed the cache", "It was stale");
    let find = |request: FindRequest| {
        home.ops.find(&home.caller, FindRequest { limit: Some(5), ..request }).unwrap()
    };
    assert!(find(FindRequest::default()).all_types);
    let by_condition =
        FindRequest { conditions: vec!["importance>=0.1".into()], ..FindRequest::default() };
    assert!(find(by_condition).all_types);
    let by_type = FindRequest { memory_types: vec!["Fact".into()], ..FindRequest::default() };
    assert!(!find(by_type).all_types);
    let by_tag = FindRequest { tags: vec!["x".into()], ..FindRequest::default() };
    assert!(!find(by_tag).all_types);
}

// kernel 31, 49: the fifth factor comes from outside of the kernel
#[test]
fn what_is_near_in_meaning_counts_in_finds_and_contexts() {
    let home = Home::new();
    let cake = home.save("discovery", "Cake recipe", "Bake flour, sugar and eggs in the oven").id;
    let keys = home.save("discovery", "Key rotation", "Signing keys are rotated every month").id;
    let one = home.found_about("rotate the signing keys");
    let other = home.found_about("baking a cake in the oven");
    assert_eq!(one.first().map(|(id, _)| *id), Some(keys), "{one:?}");
    assert_eq!(other.first().map(|(id, _)| *id), Some(cake), "{other:?}");
    let score = |found: &[(u64, f64)], id: u64| {
        found.iter().find(|(found, _)| *found == id).map_or(0.0, |(_, score)| *score)
    };
    assert!(score(&one, keys) > score(&other, keys), "{one:?} {other:?}");

    let bundle = |about: &str| {
        let request = BundleRequest { about: Some(about.into()), ..BundleRequest::default() };
        home.ops.bundle(&home.caller, request).unwrap()
    };
    let first = |about: &str| bundle(about).relevant[0].uri.clone();
    assert!(first("rotate the signing keys").contains(&format!("/{keys}#")));
    assert!(first("baking a cake in the oven").contains(&format!("/{cake}#")));
}

// kernel 53
#[test]
fn what_was_learned_never_puts_a_worse_answer_before_a_better_one() {
    let home = Home::new();
    let better = home.important("The release train leaves on Tuesday", 0.5);
    let worse = home.important("A train", 1.0);
    home.teach(worse, better);
    assert_eq!(home.found("release train Tuesday").first(), Some(&better));
}

// serving S16, S17; agent-memory 30, 43
#[test]
fn standing_in_a_list_is_no_access_and_lifts_no_score() {
    let home = Home::new();
    let id = home.save("decision", "Fonts", "The brand uses one font for everything").id;
    let score = || {
        let fades = mind::settings::CortexSettings::default();
        home.ops.score(&home.caller, ScoreRequest { id }, &fades).unwrap()
    };
    let before = score();
    for n in 0..10 {
        let query = format!("zzyzx qwfp {n} font");
        let request = SearchRequest { query, ..SearchRequest::default() };
        assert_eq!(home.ops.search(&home.caller, request).unwrap().hits.len(), 1);
    }
    home.ops.recent_context(&home.caller, ContextRequest::default()).unwrap();
    let after = score();
    assert_eq!((after.score, after.salience), (before.score, before.salience));
    assert_eq!((after.access_count, after.last_accessed), (0, None));
    assert_eq!((before.shown, after.shown), (0, 11));
    // Who asks for one memory uses it: +0.1 for the access, +0.5 because it was just now.
    home.ops.get(&home.caller, GetRequest { id, ..GetRequest::default() }).unwrap();
    let opened = score();
    assert_eq!((opened.access_count, opened.shown), (1, 11));
    assert!((opened.score - before.score - 0.6).abs() < 1e-9, "{before:?} {opened:?}");
}

// T13: what says nothing about use teaches nothing
proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn noise_leaves_the_weights_where_they_were(
        runs in proptest::collection::vec((0_usize..3, proptest::collection::vec(0_usize..12, 0..12)), 30..60),
    ) {
        let home = Home::new();
        let ids: Vec<u64> = (0_u32..12)
            .map(|n| home.important(&format!("Note {n} about nothing"), f64::from(n) / 12.0))
            .collect();
        for (number, (outcome, places)) in runs.into_iter().enumerate() {
            let request = AttestRequest {
                intent: format!("talent/noise/{number}"),
                outcome: ["success", "partial", "failure"][outcome].into(),
                retrieved: places.into_iter().map(|place| ids[place]).collect(),
                ..AttestRequest::default()
            };
            home.ops.attest(&home.caller, request).unwrap();
        }
        let now = home.ops.salience(&home.caller, SalienceRequest::default()).unwrap();
        let (weights, first) = (parts(&now.weights), parts(&now.at_first));
        for (weight, before) in weights.into_iter().zip(first) {
            prop_assert!((weight - before).abs() <= before / 100.0, "{:?}", now.weights);
        }
    }
}

fn parts(weights: &WeightsView) -> [f64; 5] {
    [weights.recency, weights.access, weights.citation, weights.importance, weights.similarity]
}

// T13: evidence moves them, and in the right direction
#[test]
fn what_work_relied_on_raises_the_weight_of_what_set_it_apart() {
    let home = Home::new();
    let important = home.important("The release train leaves on Tuesday", 1.0);
    let faint = home.important("A train was seen", 0.0);
    let weights = || home.ops.salience(&home.caller, SalienceRequest::default()).unwrap().weights;
    let before = weights();
    home.teach(important, faint);
    let after = weights();
    assert!(after.importance > before.importance * 1.01, "{before:?} {after:?}");
    let away = Home::new();
    let important = away.important("The release train leaves on Tuesday", 1.0);
    let faint = away.important("A train was seen", 0.0);
    for n in 0..30 {
        let request = AttestRequest {
            intent: format!("work-{n}"),
            outcome: "failure".into(),
            cite: vec![Citation { id: important, version: None }],
            retrieved: vec![important, faint],
            ..AttestRequest::default()
        };
        away.ops.attest(&away.caller, request).unwrap();
    }
    let misled = away.ops.salience(&away.caller, SalienceRequest::default()).unwrap().weights;
    assert!(misled.importance < before.importance, "{before:?} {misled:?}");
}
