//! An actor seen twice: with what recall keeps in memory, and without. And a look at every moment of a commit.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use kernel::hook::JournalHook;
use kernel::memory::{Body, Event, Fields, MemoryType, Millis};
use kernel::store::{EngineOptions, FreshCopy, RedbStorage, Storage, StoreReader, WriteSet};
use kernel::{Cortex, HookFactory, Options, Reading, Result};
use recall::RecallHook;
use recall::search::{SearchOutcome, SearchQuery, search};
use testkit::Disk;
use testkit::build::{ada, at, body};
use text::analyze::{Analyzer, Language};
use text::index::IndexSettings;

pub(crate) fn analyzer() -> Analyzer {
    Analyzer::new(Language::English)
}

/// Hooks whose index is flushed, and whose rows are moved into blocks, after so many changes.
pub(crate) fn hooks_flushed_after(flush_docs: u32) -> HookFactory {
    let settings = IndexSettings { flush_docs, ..IndexSettings::default() };
    Arc::new(move || vec![Box::new(RecallHook::with_settings(settings)) as Box<dyn JournalHook>])
}

/// Where a commit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The hooks have sealed the batch; it is not in the store yet.
    Sealed,
    /// Readers see it; the hooks do not know yet.
    Durable,
    /// Readers see rows that were made again, as of the same entry; the hooks do not know yet.
    Swapped,
}

type Look = Box<dyn FnMut(Moment) -> Result<()> + Send>;

/// A store that lets somebody look before and after every commit, on the writer's own thread. An error fails the
/// commit.
pub(crate) struct Watched {
    inner: RedbStorage,
    look: Mutex<Option<Look>>,
    /// True: whoever wants to make everything again has to wait.
    is_held: Mutex<bool>,
    freed: Condvar,
}

impl std::fmt::Debug for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watched").finish_non_exhaustive()
    }
}

impl Watched {
    fn at(&self, moment: Moment) -> Result<()> {
        let mut look = self.look.lock().unwrap_or_else(PoisonError::into_inner);
        look.as_mut().map_or(Ok(()), |look| look(moment))
    }

    pub(crate) fn watch(&self, look: impl FnMut(Moment) -> Result<()> + Send + 'static) {
        *self.look.lock().unwrap() = Some(Box::new(look));
    }

    pub(crate) fn unwatch(&self) {
        *self.look.lock().unwrap() = None;
    }

    /// Lets nobody begin to make everything again, or everybody.
    pub(crate) fn hold(&self, is_held: bool) {
        *self.is_held.lock().unwrap() = is_held;
        self.freed.notify_all();
    }
}

impl Storage for Watched {
    fn reader(&self) -> Result<Box<dyn StoreReader + Send>> {
        self.inner.reader()
    }

    fn commit(&self, writes: &WriteSet) -> Result<()> {
        self.at(Moment::Sealed)?;
        self.inner.commit(writes)?;
        self.at(Moment::Durable)
    }

    fn begin_copy(&self) -> Result<FreshCopy> {
        let held = self.is_held.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.freed.wait_while(held, |is_held| *is_held));
        self.inner.begin_copy()
    }

    fn replace_by(&self, copy: FreshCopy) -> Result<()> {
        self.inner.replace_by(copy)?;
        self.at(Moment::Swapped)
    }

    fn rewrite(&self) -> Result<()> {
        self.inner.rewrite()
    }

    fn check(&self) -> Result<()> {
        self.inner.check()
    }

    fn size_bytes(&self) -> Result<u64> {
        self.inner.size_bytes()
    }

    fn close(&self) -> Result<()> {
        self.inner.close()
    }
}

/// The same store for a second look; closing it is left to the first.
#[derive(Debug)]
struct Second(Arc<Watched>);

impl Storage for Second {
    fn reader(&self) -> Result<Box<dyn StoreReader + Send>> {
        self.0.reader()
    }

    fn commit(&self, _: &WriteSet) -> Result<()> {
        unreachable!("the second look never writes")
    }

    fn begin_copy(&self) -> Result<FreshCopy> {
        unreachable!("the second look never writes")
    }

    fn replace_by(&self, _: FreshCopy) -> Result<()> {
        unreachable!("the second look never writes")
    }

    fn rewrite(&self) -> Result<()> {
        unreachable!("the second look never writes")
    }

    fn check(&self) -> Result<()> {
        self.0.check()
    }

    fn size_bytes(&self) -> Result<u64> {
        self.0.size_bytes()
    }

    fn close(&self) -> Result<()> {
        Ok(())
    }
}

/// One actor, open with recall's memory (`warm`) and without (`cold`).
#[derive(Clone)]
pub(crate) struct Twice {
    pub(crate) cold: Arc<Cortex>,
    pub(crate) warm: Arc<Cortex>,
    pub(crate) store: Arc<Watched>,
}

pub(crate) fn hooks() -> HookFactory {
    Arc::new(|| vec![Box::new(RecallHook::new()) as Box<dyn JournalHook>])
}

impl Twice {
    pub(crate) fn open(disk: &Disk) -> Twice {
        Twice::open_with(disk, hooks())
    }

    pub(crate) fn open_with(disk: &Disk, hooks: HookFactory) -> Twice {
        let engine = EngineOptions::default();
        let inner = RedbStorage::open(disk.medium(), engine, || kernel::birth(&ada())).unwrap();
        let store = Arc::new(Watched {
            inner,
            look: Mutex::default(),
            is_held: Mutex::default(),
            freed: Condvar::new(),
        });
        let options = Options { hooks, ..Options::default() };
        let storage = Arc::<Watched>::clone(&store);
        let warm = Arc::new(Cortex::with_storage(storage, &ada(), options).unwrap());
        let second = Arc::new(Second(Arc::clone(&store)));
        let cold = Cortex::with_storage(second, &ada(), Options::default()).unwrap();
        Twice { cold: Arc::new(cold), warm, store }
    }

    /// Waits until what was erased is gone from every row.
    #[track_caller]
    pub(crate) fn scrubbed(&self) {
        let is_done = self.warm.wait_for_scrub(Duration::from_mins(5));
        assert!(is_done, "{:?}", self.warm.scrub_state());
    }

    /// Both give the same answers; returns them.
    #[track_caller]
    pub(crate) fn agree(&self, when: &str) -> Vec<SearchOutcome> {
        let cold = answers(&self.cold.read().unwrap());
        assert_same(&answers(&self.warm.read().unwrap()), &cold, when);
        cold
    }
}

/// Questions of every kind.
pub(crate) const QUESTIONS: [&str; 14] = [
    "which database keeps the memory",
    "kittens asleep on the sofa",
    "\"signing key\"",
    "rotat*",
    "key -database",
    "what happened in May 2023",
    "What did Ann say about hiking?",
    "where did Bob go",
    "src/auth.rs",
    "Anmeldung mit Umlauten",
    "数据库",
    "zebra",
    "deploy on fridays or tuesdays",
    "the",
];

pub(crate) fn ask(reading: &Reading, query: &SearchQuery) -> SearchOutcome {
    search(reading, None, query, at(1_000_000)).unwrap()
}

pub(crate) fn answers(reading: &Reading) -> Vec<SearchOutcome> {
    QUESTIONS.iter().map(|text| ask(reading, &SearchQuery::new(*text, 20))).collect()
}

pub(crate) fn ids(answer: &SearchOutcome) -> Vec<u64> {
    answer.hits.iter().map(|hit| hit.id.get()).collect()
}

/// Compared in full, told in short.
#[track_caller]
pub(crate) fn assert_same(found: &[SearchOutcome], expected: &[SearchOutcome], when: &str) {
    for ((found, expected), question) in found.iter().zip(expected).zip(QUESTIONS) {
        let short = |answer: &SearchOutcome| -> Vec<(u64, u64)> {
            answer.hits.iter().map(|hit| (hit.id.get(), hit.score)).collect()
        };
        assert_eq!(short(found), short(expected), "{when}: {question}");
        assert!(found == expected, "{when}: {question}: same hits, told differently");
    }
}

/// What turn `n` of a varied history says.
pub(crate) fn turn(n: u64) -> Body {
    let day = i64::try_from(n).unwrap();
    let said = |who: &str, text: &str| Body {
        title: who.into(),
        content: format!("{text} ({n})"),
        fields: Fields::Event(Event {
            happened_at: Some(Millis(1_683_504_000_000 + day * 86_400_000)),
            outcome: None,
            participants: vec![who.into()],
        }),
    };
    let fact = |title: &str, text: &str| body(MemoryType::Fact, title, &format!("{text} ({n})"));
    match n % 8 {
        0 => said("Ann", "I went hiking in the mountains and saw a zebra."),
        1 => said("Bob", "The cat slept on the couch all day long."),
        2 => fact("Use redb as the database", "One file keeps the memory of an actor."),
        3 => fact("The signing key rotates", "Run scripts/rotate-key.sh, see src/auth.rs."),
        4 => fact("Deploys go out on Fridays", "Nobody works on the weekend."),
        5 => fact("Die Anmeldung schlägt fehl", "Umlaute im Passwort, siehe src/auth.rs."),
        6 => fact("数据库迁移需要停机", "周五晚上执行。"),
        _ => said("Bob", "We went to the sea on Tuesday."),
    }
}
