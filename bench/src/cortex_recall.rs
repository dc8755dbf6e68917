//! Cortex as its users have it: memories saved through the ordinary commands with recall on, questions through `search`.
//!
//! The only place of the bench that opens an actor with recall and that calls `search`.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use kernel::actor::ActorName;
use kernel::command::{Command, Draft, Stamp};
use kernel::memory::{Body, Event, Fields, MemoryType, Millis, Salt};
use kernel::store::KeyRange;
use kernel::{Cortex, Options, Reading, Submission};
use recall::RecallHook;
use text::analyze::{ANALYZER_VERSION, Analyzer, Language};
use recall::search::{ArmWeights, SearchOutcome, SearchQuery, search};
use text::index::{IndexSettings, MemtableHandle, TextIndex, TextSearch};
use serde_json::{Value, json};

use crate::Outcome;
use crate::corpus::Memory;
use crate::engine::Engine;

/// The inverted index alone: the ids of the best ten, which is what the other engines give.
pub const INDEX: &str = "words index";
/// A whole answer by words alone, with heads, bodies and previews.
pub const TEXT: &str = "text recall";
/// A whole answer with every arm.
pub const HYBRID: &str = "hybrid recall";

/// What rows of recall are, by the first byte of their keys.
const ROWS: [(&str, std::ops::RangeInclusive<u8>); 2] =
    [("text", 0x80..=0x86), ("passages", 0x87..=0x97)];

pub fn analyzer() -> Analyzer {
    Analyzer::new(Language::English)
}

pub fn open(folder: &Path) -> Outcome<Cortex> {
    let hooks: kernel::HookFactory = Arc::new(|| vec![Box::new(RecallHook::new())]);
    let options = Options { hooks, ..Options::default() };
    Ok(Cortex::open(folder, &ActorName::parse("bench")?, options)?)
}

/// When questions are asked: after every memory of the bench. Before a memory holds, search does not show it.
const NOW: Millis = Millis(2_000_000_000_000);

/// The one call of `search`.
pub fn recall(reading: &Reading, query: &SearchQuery) -> Outcome<SearchOutcome> {
    Ok(search(reading, None, query, NOW)?)
}

/// The default weights with only some arms left; `keep` gets the place of an arm in `Arm::ALL`.
pub fn only(keep: impl Fn(usize) -> bool) -> ArmWeights {
    let mut weights = ArmWeights::default();
    for (place, weight) in weights.0.iter_mut().enumerate() {
        if !keep(place) {
            *weight = 0;
        }
    }
    weights
}

/// The words of a question as the index takes them, all weighing one.
pub fn terms(question: &str) -> Vec<(String, u32)> {
    analyzer().question(question).terms.into_iter().map(|term| (term, 16)).collect()
}

/// The inverted index as of `reading`. Its tail is read once, as a process that stays open has it in memory.
pub fn tail(reading: &Reading) -> Outcome<MemtableHandle> {
    let settings = IndexSettings { analyzer: ANALYZER_VERSION, ..IndexSettings::default() };
    Ok(TextIndex::open_with(&reading.view(), settings, MemtableHandle::default())?.handle())
}

pub fn request(memory: Memory) -> Submission {
    let mut fields = Fields::empty(memory.memory_type);
    if memory.memory_type == MemoryType::Event {
        let participants = memory.speaker.into_iter().collect();
        fields = Fields::Event(Event { happened_at: Some(memory.at), outcome: None, participants });
    }
    let mut salt = [0; 16];
    salt[..8].copy_from_slice(&memory.number.to_be_bytes());
    let body = Body { title: memory.title, content: memory.content, fields };
    let mut draft = Draft::new(body, Salt(salt));
    draft.project = Some(memory.project);
    draft.session = Some(memory.session);
    draft.tags = memory.tags;
    draft.tags.sort_unstable();
    draft.tags.dedup();
    let stamp = Stamp::new(memory.at, "bench");
    Submission { stamp, command: Command::Write(Box::new(draft)), authority: None }
}

pub struct CortexRecall {
    cortex: Cortex,
    tail: MemtableHandle,
}

impl Engine for CortexRecall {
    const WAYS: &'static [&'static str] = &[INDEX, TEXT, HYBRID];

    fn create(folder: &Path) -> Outcome<CortexRecall> {
        CortexRecall::open(folder)
    }

    fn open(folder: &Path) -> Outcome<CortexRecall> {
        let cortex = open(folder)?;
        let tail = tail(&cortex.read()?)?;
        Ok(CortexRecall { cortex, tail })
    }

    fn add(&mut self, memories: Vec<Memory>) -> Outcome<()> {
        let numbers: Vec<u64> = memories.iter().map(|memory| memory.number).collect();
        let requests = memories.into_iter().map(request).collect();
        for (number, receipt) in numbers.into_iter().zip(self.cortex.submit_bulk(requests)?) {
            let id = receipt?.id.map(kernel::memory::MemoryId::get);
            assert_eq!(id, Some(number + 1), "ids follow the numbers");
        }
        Ok(())
    }

    fn ask(&mut self, way: &str, question: &str) -> Outcome<Vec<u64>> {
        let reading = self.cortex.read()?;
        if way == INDEX {
            let view = reading.view();
            let search = TextSearch::new(&view, &self.tail)?;
            let found = search.top_k(&terms(question), 10, &|_| true, &[])?;
            return Ok(found.into_iter().map(|(id, _)| id - 1).collect());
        }
        let mut query = SearchQuery::new(question, 10);
        if way == TEXT {
            query.weights = only(|place| place == 0);
        }
        Ok(recall(&reading, &query)?.hits.iter().map(|hit| hit.id.get() - 1).collect())
    }

    /// Bytes of the rows of recall, keys included.
    fn extra(&mut self) -> Outcome<Value> {
        let reading = self.cortex.read()?;
        let mut sizes = serde_json::Map::new();
        for (name, prefixes) in ROWS {
            let mut bytes = 0;
            for prefix in prefixes {
                reading.view().scan(&KeyRange::prefix(&[prefix]), &mut |key, value| {
                    bytes += (key.len() + value.len()) as u64;
                    Ok(ControlFlow::Continue(()))
                })?;
            }
            sizes.insert(name.to_owned(), json!(bytes));
        }
        Ok(Value::Object(sizes))
    }

    /// Without closing: the next open finds what a kill leaves.
    fn leave(self) {
        std::process::exit(0);
    }
}
