//! Recall as a journal hook: the rows of a memory are staged in the commit that writes it.
//!
//! | rows | what | module |
//! |---|---|---|
//! | `80` to `86` | the text index | `text` |
//! | `87` | codes, metadata and passages of memories in the open segment | `segments` |
//! | `90`, `93`, `94` | codes, metadata and passages of a memory | `segments` |
//! | `91`, `92` | the entities that memories name | `entity_rows` |
//! | `95` | the language | `language` |
//! | `96`, `97` | closed segments, and groups of levels | `segments` |
//!
//! What must stay true: all rows follow from the journal and the bodies, and none of them is part of a root. Forgotten
//! memories stay indexed, because they can be restored and because some questions include them; erased ones are gone
//! from every row.

use std::sync::Arc;

use kernel::Result;
use kernel::digest::Digest;
use kernel::hook::{HookRows, JournalHook, Prepare, RecordedEntry, SharedState};
use kernel::journal::{Payload, Restore, TombstoneMemory, UpdateHead};
use kernel::memory::{Head, MemoryId};
use kernel::store::View;

use crate::columns::{DocChange, IndexCache};
use crate::doc_meta::DocMeta;
use crate::document;
use crate::entity_rows::{self, EntityRows};
use crate::language;
use crate::prepare::{IndexedBody, Indexer, Preparer};
use crate::segments::{self, RowKind, SegmentPosition};
use crate::vectors::Code;
use text::analyze::{ANALYZER_VERSION, Analyzer, Language};
use text::index::{IndexSettings, MemtableHandle, TextIndex};

/// Changes with the terms of texts, and by 32 with what else the rows of a memory say: older rows are made again. It
/// was 32 while an erasure indexed all others anew.
const INDEX_VERSION: u32 = ANALYZER_VERSION + 64;

const OPENED: &str = "a hook is opened before it is used";

#[derive(Debug)]
pub struct RecallHook {
    settings: IndexSettings,
    /// The analyzer as of the last commit, to return to when a batch is aborted.
    committed: Analyzer,
    /// The analyzer as of the last entry.
    analyzer: Analyzer,
    /// Analyzes heads, and bodies that nobody prepared.
    indexer: Indexer,
    preparer: Arc<Preparer>,
    cache: Arc<IndexCache>,
    /// `None` until `open`.
    text: Option<TextIndex>,
    /// Memories that changed since the last commit.
    changes: Vec<DocChange>,
    /// The last entry seen.
    seq: u64,
    /// The last entry of the journal when the hook was opened.
    present: u64,
}

impl RecallHook {
    pub fn new() -> RecallHook {
        RecallHook::with_settings(IndexSettings::default())
    }

    /// A hook whose index is flushed at other points. They change rows and never an answer.
    pub fn with_settings(settings: IndexSettings) -> RecallHook {
        let analyzer = Analyzer::new(Language::None);
        let preparer = Preparer::new();
        RecallHook {
            settings: IndexSettings { analyzer: INDEX_VERSION, ..settings },
            committed: analyzer.clone(),
            analyzer,
            indexer: preparer.indexer(),
            preparer: Arc::new(preparer),
            cache: Arc::default(),
            text: None,
            changes: Vec::new(),
            seq: 0,
            present: 0,
        }
    }

    fn text(&mut self) -> &mut TextIndex {
        self.text.as_mut().expect(OPENED)
    }

    /// Indexes a memory; `is_new` if it was never there.
    fn put(
        &mut self,
        view: &View<'_>,
        head: &Head,
        body: &IndexedBody,
        is_new: bool,
        staged: &mut HookRows<'_>,
    ) -> Result<()> {
        let doc = head.id.get();
        let of_head = self.indexer.head(head);
        let [before, after] = &body.words;
        let (text, words) = (self.text.as_mut().expect(OPENED), [before, &of_head, after]);
        if is_new {
            text.add(view, doc, &words, staged)?;
            entity_rows::add(doc, &body.names, staged);
        } else {
            text.put(view, doc, &words, staged)?;
            entity_rows::put(view, doc, &body.names, staged)?;
        }
        staged.set(self.row(RowKind::Codes, doc), Some(body.codes_row.clone()));
        staged.set(self.row(RowKind::Passages, doc), Some(body.passages_row.clone()));
        self.put_meta(head, body.talk.as_deref(), Some(body.codes.clone()), staged);
        Ok(())
    }

    fn position(&self) -> SegmentPosition {
        SegmentPosition::new(self.seq, self.settings.flush_docs)
    }

    /// The key under which this entry writes a row of a memory.
    fn row(&self, kind: RowKind, doc: u64) -> Vec<u8> {
        self.position().key(kind, doc)
    }

    /// Writes the metadata of a memory as of this entry, and notes the change for searches.
    fn put_meta(
        &mut self,
        head: &Head,
        talk: Option<&str>,
        codes: Option<Vec<Code>>,
        staged: &mut HookRows<'_>,
    ) {
        let (seq, doc, meta) = (self.seq, head.id.get(), DocMeta::of(head, talk));
        staged.set(self.row(RowKind::Meta, doc), meta.as_ref().map(DocMeta::encode));
        self.changes.push(DocChange { seq, doc, codes, meta });
    }

    /// Reads every text in another language from now on.
    fn speak(
        &mut self,
        view: &View<'_>,
        language: Language,
        staged: &mut HookRows<'_>,
    ) -> Result<()> {
        staged.set(language::key(), Some(language::encode(language)));
        self.read_in(Analyzer::new(language));
        for doc in self.text().clear(view, staged)? {
            let Some(id) = MemoryId::new(doc) else { continue };
            let head = view.required_head(id)?;
            let version = view.required_version(id, head.version)?;
            if let Some(body) = view.body(&version)? {
                let ([before, after], _) = self.indexer.words(&body);
                let of_head = self.indexer.head(&head);
                self.text().put(view, doc, &[&before, &of_head, &after], staged)?;
            }
        }
        Ok(())
    }

    fn read_in(&mut self, analyzer: Analyzer) {
        self.indexer.read_in(&analyzer);
        self.preparer.read_in(&analyzer);
        self.analyzer = analyzer;
    }

    /// The memory as it is after this entry; nothing if its text was erased since.
    fn put_current(
        &mut self,
        view: &View<'_>,
        id: MemoryId,
        staged: &mut HookRows<'_>,
    ) -> Result<()> {
        let head = view.required_head(id)?;
        let version = view.required_version(id, head.version)?;
        if let Some(body) = view.body(&version)? {
            let made = self.indexer.make(&body);
            self.put(view, &head, &made, false, staged)?;
        }
        Ok(())
    }

    /// The memory as this entry wrote it; nothing if its text was erased since. The body beside the entry is the one
    /// that counts from here on, so it need not be looked for.
    fn put_written(
        &mut self,
        view: &View<'_>,
        recorded: RecordedEntry<'_>,
        id: MemoryId,
        hash: Digest,
        staged: &mut HookRows<'_>,
    ) -> Result<()> {
        let Some(sealed) = recorded.sealed else { return Ok(()) };
        let head = view.required_head(id)?;
        let is_new = id.get() == recorded.entry.seq;
        if let Some(made) = IndexedBody::find(recorded.prepared, &self.analyzer) {
            return self.put(view, &head, made, is_new, staged);
        }
        let body = sealed.open_checked(&format!("body {}", recorded.entry.seq), hash)?;
        let made = self.indexer.make(&body);
        self.put(view, &head, &made, is_new, staged)
    }
}

/// The talk that a memory is of, whose text is not at hand.
fn talk_of(view: &View<'_>, head: &Head) -> Result<Option<String>> {
    if head.session.is_some() || head.erased {
        return Ok(None);
    }
    let version = view.required_version(head.id, head.version)?;
    Ok(view.body(&version)?.as_ref().and_then(document::talk))
}

impl Default for RecallHook {
    fn default() -> RecallHook {
        RecallHook::new()
    }
}

impl JournalHook for RecallHook {
    fn name(&self) -> &'static str {
        "recall"
    }

    fn open(&mut self, view: &View<'_>) -> Result<()> {
        self.seq = view.counters()?.size;
        self.present = view.last_seq()?;
        // While the index is rebuilt, its memtables are those of earlier entries, without texts that were erased since.
        // A search of the index before it must not take them for its own, so they are published nowhere.
        let rebuilding = self.seq < self.present;
        let memtable =
            if rebuilding { MemtableHandle::default() } else { self.cache.memtable.clone() };
        self.text = Some(TextIndex::open_with(view, self.settings, memtable)?);
        self.read_in(language::analyzer(view)?);
        self.committed = self.analyzer.clone();
        self.changes.clear();
        self.cache.restart(view.generation(), (self.seq, self.present));
        Ok(())
    }

    fn entry(
        &mut self,
        view: &View<'_>,
        recorded: RecordedEntry<'_>,
        staged: &mut HookRows<'_>,
    ) -> Result<()> {
        self.seq = recorded.entry.seq;
        let erased = match recorded.payload {
            Payload::Erase(erase) => Some(erase.id.get()),
            _ => None,
        };
        segments::close(view, self.position(), erased, staged)?;
        match recorded.payload {
            Payload::Write(write) => match MemoryId::new(recorded.entry.seq) {
                Some(id) => self.put_written(view, recorded, id, write.body_hash, staged),
                None => Ok(()),
            },
            Payload::Update(update) => {
                self.put_written(view, recorded, update.id, update.body_hash, staged)
            }
            // Tags, kind and topic key are words too.
            Payload::UpdateHead(update)
                if update.patch.tags.is_some()
                    || update.patch.kind.is_some()
                    || update.patch.topic_key.is_some() =>
            {
                self.put_current(view, update.id, staged)
            }
            Payload::UpdateHead(UpdateHead { id, .. })
            | Payload::Tombstone(TombstoneMemory { id, .. })
            | Payload::Restore(Restore { id, .. }) => {
                let head = view.required_head(*id)?;
                let talk = talk_of(view, &head)?;
                self.put_meta(&head, talk.as_deref(), None, staged);
                Ok(())
            }
            Payload::Erase(erase) => match view.head(erase.id)? {
                Some(head) => {
                    let doc = erase.id.get();
                    self.text().erase(view, doc, staged)?;
                    entity_rows::put(view, doc, &EntityRows::default(), staged)?;
                    segments::erase(view, doc, staged)?;
                    staged.set(self.row(RowKind::Codes, doc), None);
                    staged.set(self.row(RowKind::Passages, doc), None);
                    self.put_meta(&head, None, Some(Vec::new()), staged);
                    Ok(())
                }
                None => Ok(()),
            },
            Payload::Migration(migration) => match language::changed_by(migration) {
                Some(language) => self.speak(view, language?, staged),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn seal(&mut self, _: &View<'_>, _: &mut HookRows<'_>) -> Result<()> {
        self.cache.announce(self.seq, self.changes.drain(..));
        Ok(())
    }

    fn committed(&mut self) {
        self.text().committed();
        self.committed = self.analyzer.clone();
        if self.seq >= self.present {
            let memtable = self.cache.memtable.clone();
            self.text().publish_in(memtable);
        }
        self.cache.committed(self.seq);
    }

    fn aborted(&mut self) {
        self.text().aborted();
        self.read_in(self.committed.clone());
        self.changes.clear();
        self.cache.aborted();
    }

    fn shared(&self) -> Option<SharedState> {
        Some(Arc::<IndexCache>::clone(&self.cache))
    }

    fn mixes_texts(&self) -> bool {
        true
    }

    fn preparer(&self) -> Option<Arc<dyn Prepare>> {
        Some(Arc::<Preparer>::clone(&self.preparer))
    }
}
