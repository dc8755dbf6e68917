//! Goal: an optional model judges the memories that have a vector of it, and nothing else changes. Method: a real actor
//! on a simulated disk, a real cache in a folder, vectors made by hand: each direction is a meaning.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::sync::Arc;

use embed::{EmbeddingCache, forget_everywhere};
use kernel::command::Revision;
use kernel::memory::MemoryType;
use kernel::{Cortex, Options};
use recall::RecallHook;
use recall::embedding::Embedding;
use recall::models::{self, MemoryVectors, TextPart};
use recall::search::{
    Arm, ArmWeights, ModelQuestion, SearchOutcome, SearchQuery, question_text, search,
};
use tempfile::TempDir;
use testkit::Disk;
use testkit::build::{ada, at, body, fact, id, removal, salt, stamp};

const MODEL: &str = "made-by-hand/1";
const DIMS: usize = 8;

fn open(disk: &Disk) -> Cortex {
    let hooks = Arc::new(|| -> Vec<Box<dyn kernel::hook::JournalHook>> {
        vec![Box::new(RecallHook::new())]
    });
    Cortex::open_on(disk.medium(), &ada(), Options { hooks, ..Options::default() }).unwrap()
}

/// A meaning, with a little of another.
fn direction(main: usize, other: usize) -> Embedding {
    let mut raw = [0i64; DIMS];
    raw[other] = 3;
    raw[main] = 10;
    Embedding::from_sums(&raw)
}

const TEXTS: [&str; 6] = [
    "the harbour was full of ships",
    "a recipe for bread with rye",
    "the engine needs new oil",
    "rain fell on the mountain path",
    "the violin was out of tune",
    "the committee voted on the budget",
];

/// A question for which meaning decides.
fn asked(text: &str, model: Option<ModelQuestion>) -> SearchQuery {
    let weights = ArmWeights::parse("meaning=1000,interaction=0").unwrap();
    SearchQuery { model, weights, ..SearchQuery::new(text, 10) }
}

struct World {
    cortex: Cortex,
    folder: TempDir,
}

impl World {
    fn new() -> World {
        let cortex = open(&Disk::new());
        for (n, text) in (1..).zip(TEXTS) {
            cortex.write(stamp(n), fact(n.unsigned_abs(), text, "")).unwrap();
        }
        World { cortex, folder: tempfile::tempdir().unwrap() }
    }

    fn cache(&self) -> EmbeddingCache {
        EmbeddingCache::open(self.folder.path(), MODEL, DIMS).unwrap()
    }

    /// Puts vectors of some memories into the cache: memory n means n.
    fn embed(&self, ids: &[u64]) {
        let reading = self.cortex.read().unwrap();
        let vectors: Vec<(TextPart, Embedding)> = ids
            .iter()
            .map(|n| {
                let memory = reading.resolve_version(id(*n), None).unwrap();
                let meaning = usize::try_from(*n).unwrap();
                (TextPart::whole(memory.version.body_hash), direction(meaning, 0))
            })
            .collect();
        self.cache().put_many(&vectors).unwrap();
    }

    fn ask(&self, text: &str, vector: Option<Embedding>) -> SearchOutcome {
        let reading = self.cortex.read().unwrap();
        if vector.is_some() {
            models::load(&reading, MODEL, || Ok(self.cache())).unwrap();
        }
        let model = vector.map(|vector| ModelQuestion { model: MODEL.into(), vector });
        let query = asked(text, model);
        search(&reading, None, &query, at(1_000)).unwrap()
    }

    fn first(&self, text: &str, vector: Option<Embedding>) -> u64 {
        self.ask(text, vector).hits[0].id.get()
    }

    fn made(n: u64, version: u32, meaning: usize) -> MemoryVectors {
        MemoryVectors { id: id(n), version, vectors: vec![direction(meaning, 0)] }
    }
}

/// What the meaning arm says of a memory.
fn meaning(answer: &SearchOutcome, n: u64) -> (usize, u64) {
    let hit = answer.hits.iter().find(|hit| hit.id == id(n)).unwrap();
    let arm = hit.arms.iter().find(|arm| arm.arm == Arm::Meaning).unwrap();
    (arm.rank, arm.score)
}

#[test]
fn a_model_finds_what_words_do_not() {
    let world = World::new();
    world.embed(&[1, 2, 3, 4, 5, 6]);
    let question = "who plays music";
    let answer = world.ask(question, Some(direction(4, 1)));
    assert_eq!((answer.hits[0].id, answer.by_model), (id(4), 6));
    assert!(answer.hits.iter().all(|hit| hit.by_model));
    assert_eq!(meaning(&answer, 4), (1, 1_000_000));
    // The question alone decides: without its vector, or with one of another model, nothing is different.
    let plain = world.ask(question, None);
    assert_eq!(plain.by_model, 0);
    let reading = world.cortex.read().unwrap();
    let vector = direction(4, 1);
    for (model, vector) in [
        ("another", vector),
        (MODEL, Embedding::zero(DIMS)),
        (MODEL, Embedding::from_sums(&[1, 2])),
    ] {
        let model = Some(ModelQuestion { model: model.into(), vector });
        let query = asked(question, model);
        assert_eq!(search(&reading, None, &query, at(1_000)).unwrap(), plain);
    }
}

#[test]
fn a_half_filled_cache_lifts_and_sinks_nobody() {
    let world = World::new();
    let question = "violin";
    let before = world.ask(question, None);
    assert_eq!(before.hits[0].id, id(5));
    // Vectors of three that have nothing to do with the question: the one without a vector stays first, by its meaning
    // too.
    world.embed(&[1, 2, 3]);
    let half = world.ask(question, Some(direction(5, 0)));
    assert_eq!((half.hits[0].id, half.by_model), (id(5), 3));
    assert_eq!(meaning(&half, 5).0, 1);
    let judged: Vec<u64> =
        half.hits.iter().filter(|hit| hit.by_model).map(|hit| hit.id.get()).collect();
    assert_eq!(judged.len(), 3);
    assert!(judged.iter().all(|n| *n <= 3));
    // The others keep their order.
    let order = |answer: &SearchOutcome| {
        let ids = answer.hits.iter().map(|hit| hit.id.get());
        let mut ids: Vec<u64> = ids.filter(|n| *n > 3).collect();
        ids.sort_by_key(|n| meaning(answer, *n).0);
        ids
    };
    assert_eq!(order(&half), order(&before));
}

#[test]
fn vectors_that_come_later_count_at_once_and_only_for_their_version() {
    let world = World::new();
    world.embed(&[1, 2]);
    let question = "something about nothing here";
    assert_eq!(world.ask(question, Some(direction(6, 0))).by_model, 2);
    let reading = world.cortex.read().unwrap();
    let made: Vec<MemoryVectors> = (3..=6u8).map(|n| World::made(n.into(), 1, n.into())).collect();
    models::remember(&reading, "another", &made);
    assert_eq!(world.ask(question, Some(direction(6, 0))).by_model, 2);
    models::remember(&reading, MODEL, &made);
    let answer = world.ask(question, Some(direction(6, 0)));
    assert_eq!((answer.hits[0].id, answer.by_model), (id(6), 6));

    // A new text has no vector yet; one of the old text must not speak for it.
    let update = body(MemoryType::Fact, "a poem about lakes", "");
    world.cortex.update(stamp(20), Revision::new(id(6), None, update, salt(30))).unwrap();
    let answer = world.ask(question, Some(direction(6, 0)));
    assert!(answer.hits.iter().all(|hit| hit.by_model != (hit.id == id(6))));
    // A reader of before still sees the old text, judged by its own vector.
    let vector = direction(6, 0);
    let query = asked(question, Some(ModelQuestion { model: MODEL.into(), vector }));
    let earlier = search(&reading, None, &query, at(1_000)).unwrap();
    assert_eq!((earlier.hits[0].id, earlier.by_model), (id(6), 6));
    models::remember(&world.cortex.read().unwrap(), MODEL, &[World::made(6, 2, 7)]);
    assert_eq!(world.first(question, Some(direction(7, 0))), 6);
}

// agent-memory: an erased memory leaves nothing behind, in memory and in the cache.
#[test]
fn an_erased_memory_is_reached_by_no_vector() {
    let world = World::new();
    world.embed(&[1, 2, 3, 4, 5, 6]);
    let question = "something about nothing here";
    assert_eq!(world.first(question, Some(direction(2, 0))), 2);
    let hash = world.cortex.read().unwrap().resolve_version(id(2), None).unwrap().version.body_hash;
    world.cortex.erase(stamp(20), removal(2)).unwrap();
    let gone = |answer: &SearchOutcome| {
        answer.by_model == 5 && answer.hits.iter().all(|hit| hit.id != id(2))
    };
    assert!(gone(&world.ask(question, Some(direction(2, 0)))));
    // One that was being made while the memory was erased comes too late.
    models::remember(&world.cortex.read().unwrap(), MODEL, &[World::made(2, 1, 2)]);
    assert!(gone(&world.ask(question, Some(direction(2, 0)))));
    // What the cache still holds belongs to nobody.
    world.cortex.rebuild(Box::new(|_, _| {})).unwrap();
    assert!(world.cache().contains(&hash));
    assert!(gone(&world.ask(question, Some(direction(2, 0)))));
    assert_eq!(forget_everywhere(world.folder.path(), &[hash]).unwrap(), 1);
    assert!(!world.cache().contains(&hash));
}

#[test]
fn a_long_text_is_as_near_as_its_nearest_passage() {
    let cortex = open(&Disk::new());
    let sentence = "This sentence says the same as all the others do.";
    cortex.write(stamp(1), fact(1, "long", &[sentence; 40].join(" "))).unwrap();
    cortex.write(stamp(2), fact(2, "short", "Nothing of that.")).unwrap();
    let world = World { cortex, folder: tempfile::tempdir().unwrap() };
    let reading = world.cortex.read().unwrap();
    let memory = reading.resolve_version(id(1), None).unwrap();
    let texts = models::texts(memory.body.as_ref().unwrap());
    assert_eq!(texts.len(), 6);
    let made = models::vectors((0..6).map(|n| direction(n, 7)).collect());
    assert_eq!((made.len(), &made[1]), (7, &direction(0, 7)), "the whole, then its passages");
    assert!((0..6).all(|n| made[0].dot(&direction(n, 7)) > 0));
    assert_eq!(models::vectors(vec![direction(1, 2)]), [direction(1, 2)]);
    assert_eq!(models::texts(&body(MemoryType::Fact, "short", "Nothing of that.")).len(), 1);
    let part = |n| TextPart { body: memory.version.body_hash, n };
    let vectors: Vec<_> = (1..=6u8).map(|n| (part(n), direction(n.into(), 0))).collect();
    let other = reading.resolve_version(id(2), None).unwrap().version.body_hash;
    world.cache().put_many(&vectors).unwrap();
    world.cache().put_many(&[(TextPart::whole(other), direction(0, 2))]).unwrap();
    // Without the whole it counts as not embedded.
    assert_eq!(world.ask("what is it", Some(direction(4, 0))).by_model, 1);
    world.cache().put_many(&[(part(0), direction(7, 0))]).unwrap();
    drop(reading);
    world.cortex.rebuild(Box::new(|_, _| {})).unwrap();
    for meaning in [4, 7] {
        let answer = world.ask("what is it", Some(direction(meaning, 0)));
        assert_eq!((answer.by_model, answer.hits[0].id), (2, id(1)));
        assert!(answer.hits[0].by_model);
    }
}

#[test]
fn a_model_is_asked_without_names_and_exclusions() {
    use kernel::command::Draft;
    use kernel::memory::{Body, Event, Fields};
    let cortex = open(&Disk::new());
    let fields = Fields::Event(Event { participants: vec!["Melanie".into()], ..Event::default() });
    let said = Body { title: "Melanie".into(), content: "I painted a lake.".into(), fields };
    cortex.write(stamp(1), Draft::new(said, salt(1))).unwrap();
    let reading = cortex.read().unwrap();
    let text = |question: &str| {
        let query = SearchQuery::new(question, 10);
        question_text(&reading, None, &query, at(1_000)).unwrap()
    };
    assert_eq!(text("When did Melanie paint a lake?"), "When did paint a lake?");
    assert_eq!(text("What is Melanie's lake -sunrise"), "What is lake");
    assert_eq!(text("Does Caroline paint?"), "Does Caroline paint?");
    assert_eq!(text("melanie"), "");
}
