//! The index as a hook of the real kernel, on a simulated disk.

use std::sync::Arc;

use kernel::Result;
use kernel::command::{Removal, Revision};
use kernel::hook::{HookRows, JournalHook, RecordedEntry};
use kernel::journal::Payload;
use kernel::memory::{Body, MemoryId, MemoryType};
use kernel::store::{EngineOptions, RedbStorage, View};
use kernel::{Cortex, Options, birth};
use testkit::Disk;
use testkit::build::{ada, body, fact, salt, stamp};

use super::harness::words;
use crate::index::{IndexSettings, MemtableHandle, TextField, TextIndex, TextSearch};

#[derive(Debug)]
struct TextHook {
    handle: MemtableHandle,
    index: Option<TextIndex>,
}

fn terms(body: &Body) -> Vec<(TextField, String)> {
    let split = |field, text: &str| {
        text.split(' ').map(move |word| (field, word.to_owned())).collect::<Vec<_>>()
    };
    [split(TextField::TITLE, &body.title), split(TextField::CONTENT, &body.content)].concat()
}

impl JournalHook for TextHook {
    fn name(&self) -> &'static str {
        "text"
    }

    fn open(&mut self, view: &View<'_>) -> Result<()> {
        let settings = IndexSettings { flush_docs: 5, ..IndexSettings::default() };
        self.index = Some(TextIndex::open_with(view, settings, self.handle.clone())?);
        Ok(())
    }

    fn entry(
        &mut self,
        view: &View<'_>,
        r: RecordedEntry<'_>,
        staged: &mut HookRows<'_>,
    ) -> Result<()> {
        let index = self.index.as_mut().unwrap();
        let id = match r.payload {
            Payload::Write(_) => r.entry.seq,
            Payload::Update(update) => update.id.get(),
            Payload::Erase(erase) => return index.erase(view, erase.id.get(), staged),
            _ => return Ok(()),
        };
        // Only the body of the entry itself can be read, live, on rebuild and in a verification.
        let Some(sealed) = r.sealed else { return Ok(()) };
        index.put(view, id, &[&words(&terms(&sealed.open()?))], staged)
    }

    fn mixes_texts(&self) -> bool {
        true
    }

    fn seal(&mut self, _: &View<'_>, _: &mut HookRows<'_>) -> Result<()> {
        Ok(())
    }

    fn committed(&mut self) {
        self.index.as_mut().unwrap().committed();
    }

    fn aborted(&mut self) {
        self.index.as_mut().unwrap().aborted();
    }
}

fn open(disk: &Disk) -> (Cortex, MemtableHandle) {
    let handle = MemtableHandle::default();
    let shared = handle.clone();
    let hooks = move || {
        let hook = TextHook { handle: shared.clone(), index: None };
        vec![Box::new(hook) as Box<dyn JournalHook>]
    };
    let options = Options { hooks: Arc::new(hooks), ..Options::default() };
    (Cortex::open_on(disk.medium(), &ada(), options).unwrap(), handle)
}

fn ask(cortex: &Cortex, handle: &MemtableHandle, word: &str) -> Vec<(u64, u64)> {
    let reading = cortex.read().unwrap();
    let view = reading.view();
    let search = TextSearch::new(&view, handle).unwrap();
    search.top_k(&[(word.to_owned(), 1)], 10, &|_| true, &[]).unwrap()
}

fn ids(found: &[(u64, u64)]) -> Vec<u64> {
    found.iter().map(|(doc, _)| *doc).collect()
}

fn assert_clean(cortex: &Cortex) {
    let engine = EngineOptions::default();
    let scratch = RedbStorage::open(Disk::new().medium(), engine, || birth(&ada())).unwrap();
    let report = cortex.verify_with(&scratch, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{:#?}", report.problems);
}

fn removal(id: MemoryId) -> Removal {
    Removal { id, expected: None, reason: "test".into() }
}

#[test]
fn the_index_lives_in_the_kernel() {
    let disk = Disk::new();
    let (cortex, handle) = open(&disk);
    let mut written = Vec::new();
    for n in 0..23u64 {
        let word = if n % 2 == 0 { "even" } else { "odd" };
        let draft = fact(n, &format!("number {n}"), &format!("this is {word} and secret{n}"));
        written.push(cortex.write(stamp(n.cast_signed()), draft).unwrap().id.unwrap());
    }
    assert_eq!(ask(&cortex, &handle, "even").len(), 10);
    assert_eq!(ids(&ask(&cortex, &handle, "secret7")), [written[7].get()]);

    let text = body(MemoryType::Fact, "number seven", "replaced");
    let revision = Revision::new(written[7], None, text, salt(100));
    cortex.update(stamp(100), revision).unwrap();
    assert!(ask(&cortex, &handle, "secret7").is_empty());
    assert_eq!(ids(&ask(&cortex, &handle, "replaced")), [written[7].get()]);
    assert_eq!(ids(&ask(&cortex, &handle, "secret8")), [written[8].get()]);
    assert_clean(&cortex);

    // Reopen: the memtable comes from the store.
    let before = ask(&cortex, &handle, "odd");
    drop(cortex);
    let (cortex, handle) = open(&disk);
    assert_eq!(ask(&cortex, &handle, "odd"), before);
    cortex.rebuild(Box::new(|_, _| {})).unwrap();
    assert_eq!(ask(&cortex, &handle, "odd"), before);
    assert_clean(&cortex);

    // An erased memory is gone from the index, its words from the file, and a rebuild agrees.
    cortex.erase(stamp(104), removal(written[3])).unwrap();
    assert!(ask(&cortex, &handle, "secret3").is_empty());
    assert!(cortex.wait_for_scrub(std::time::Duration::from_mins(1)));
    let file = disk.bytes();
    let holds = |word: &[u8]| file.windows(word.len()).any(|window| window == word);
    assert!(holds(b"secret5"));
    assert!(!holds(b"secret3"));
    assert_clean(&cortex);
    let draft = fact(200, "after", "the erasure secret200");
    let last = cortex.write(stamp(105), draft).unwrap().id.unwrap();
    assert_eq!(ids(&ask(&cortex, &handle, "secret200")), [last.get()]);
    let before = ask(&cortex, &handle, "odd");
    cortex.rebuild(Box::new(|_, _| {})).unwrap();
    assert_eq!(ask(&cortex, &handle, "odd"), before);
    assert_clean(&cortex);
}
