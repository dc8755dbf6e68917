//! Recall as a journal hook: words and vectors of a memory are staged in the commit that writes it.
//!
//! Rows: the text index under its own prefixes, `0x90 | id` the passages of a memory: vectors and tokens,
//! `0x91` and `0x92` the entities it names. All of it follows
//! from the journal and the bodies; none of it is part of a root. Forgotten memories stay indexed, because they can be
//! restored and because some questions include them; erased ones are gone from every row.

use std::sync::Arc;

use kernel::Result;
use kernel::hook::{JournalHook, Recorded, Shared, Staged};
use kernel::journal::Payload;
use kernel::memory::{Body, Head, MemoryId};
use kernel::store::View;

use crate::analyze::{ANALYZER_VERSION, Analyzer, fold};
use crate::document::{document, happened, speakers};
use crate::embed::{DIMS, StaticEmbedder};
use crate::entities;
use crate::passages::{self, Passages, Said};
use crate::resident::{Change, Resident};
use crate::text::{Settings, TailHandle, TextIndex};
use crate::vectors::Coder;

/// Tokens kept per passage for late interaction. A passage of ordinary words has a third of them; what a longer one says
/// later is found by its words and its vector.
const TOKENS_MAX: usize = 512;

pub(crate) fn settings() -> Settings {
    Settings { analyzer: ANALYZER_VERSION, ..Settings::default() }
}

#[derive(Debug)]
pub struct RecallHook {
    analyzer: Analyzer,
    coder: Coder,
    resident: Arc<Resident>,
    /// `None` until `open`.
    text: Option<TextIndex>,
    /// Vectors that changed since the last commit.
    changes: Vec<Change>,
    /// The last entry seen.
    seq: u64,
    /// The last entry of the journal when the hook was opened.
    present: u64,
}

impl RecallHook {
    pub fn new(analyzer: Analyzer) -> RecallHook {
        RecallHook {
            analyzer,
            coder: Coder::new(DIMS),
            resident: Arc::default(),
            text: None,
            changes: Vec::new(),
            seq: 0,
            present: 0,
        }
    }

    fn text(&mut self) -> &mut TextIndex {
        self.text.as_mut().expect("a hook is opened before it is used")
    }

    fn put(
        &mut self,
        view: &View<'_>,
        head: &Head,
        body: &Body,
        staged: &mut Staged<'_>,
    ) -> Result<()> {
        let document = document(&self.analyzer, head, body);
        let doc = head.id.get();
        self.text().put(view, doc, &document.terms, staged)?;
        entities::rows::put(view, doc, &document.entities, staged)?;
        let passages = self.passages(&document.dense, body);
        staged.set(passages::key(doc), Some(passages.encode()));
        self.changes.push(Change { seq: self.seq, doc, codes: passages.codes });
        Ok(())
    }

    fn passages(&self, text: &str, body: &Body) -> Passages {
        let embedder = StaticEmbedder::shared();
        let parts = passages::cut(text).into_iter();
        let mut tokens: Vec<Vec<u32>> =
            parts.map(|part| embedder.table().token_ids(part)).collect();
        let whole = (tokens.len() > 1).then(|| embedder.embed_ids(&tokens.concat()));
        let each = tokens.iter().map(|tokens| embedder.embed_ids(tokens));
        let codes = whole.into_iter().chain(each).map(|vector| self.coder.code(&vector)).collect();
        for tokens in &mut tokens {
            tokens.truncate(TOKENS_MAX);
        }
        let speakers = speakers(body).iter().map(|name| fold(name)).collect();
        Passages { codes, said: Said { happened: happened(body), speakers, tokens } }
    }

    /// The memory as it is after this entry; nothing if its text was erased since.
    fn put_current(
        &mut self,
        view: &View<'_>,
        id: MemoryId,
        staged: &mut Staged<'_>,
    ) -> Result<()> {
        let head = view.required_head(id)?;
        let version = view.required_version(id, head.version)?;
        match view.body(&version)? {
            Some(body) => self.put(view, &head, &body, staged),
            None => Ok(()),
        }
    }
}

impl JournalHook for RecallHook {
    fn name(&self) -> &'static str {
        "recall"
    }

    fn open(&mut self, view: &View<'_>) -> Result<()> {
        self.seq = view.counters()?.size;
        self.present = view.last_seq()?;
        // While the index is made again its tails are of the past, without what was erased since: no reader may take them
        // for those of its own past.
        let rebuilding = self.seq < self.present;
        let tail = if rebuilding { TailHandle::default() } else { self.resident.tail.clone() };
        self.text = Some(TextIndex::open_with(view, settings(), tail)?);
        self.changes.clear();
        self.resident.restart(self.seq, self.present);
        Ok(())
    }

    fn entry(
        &mut self,
        view: &View<'_>,
        recorded: Recorded<'_>,
        staged: &mut Staged<'_>,
    ) -> Result<()> {
        self.seq = recorded.entry.seq;
        match recorded.payload {
            Payload::Write(_) => match MemoryId::new(recorded.entry.seq) {
                Some(id) => self.put_current(view, id, staged),
                None => Ok(()),
            },
            Payload::Update(update) => self.put_current(view, update.id, staged),
            // Tags, kind and topic key are words too.
            Payload::UpdateHead(update)
                if update.patch.tags.is_some()
                    || update.patch.kind.is_some()
                    || update.patch.topic_key.is_some() =>
            {
                self.put_current(view, update.id, staged)
            }
            Payload::Erase(erase) if view.head(erase.id)?.is_some() => {
                let doc = erase.id.get();
                self.text().erase(view, doc, staged)?;
                entities::rows::put(view, doc, &[], staged)?;
                staged.set(passages::key(doc), None);
                self.changes.push(Change { seq: self.seq, doc, codes: Vec::new() });
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn seal(&mut self, _: &View<'_>, _: &mut Staged<'_>) -> Result<()> {
        self.resident.announce(self.seq, self.changes.drain(..));
        Ok(())
    }

    fn committed(&mut self) {
        self.text().committed();
        if self.seq >= self.present {
            let tail = self.resident.tail.clone();
            self.text().publish_in(tail);
        }
        self.resident.committed(self.seq);
    }

    fn aborted(&mut self) {
        self.text().aborted();
        self.changes.clear();
        self.resident.aborted();
    }

    fn shared(&self) -> Option<Shared> {
        Some(Arc::<Resident>::clone(&self.resident))
    }
}
