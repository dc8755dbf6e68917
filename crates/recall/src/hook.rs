//! Recall as a journal hook: words and vectors of a memory are staged in the commit that writes it.
//!
//! Rows: the text index under its own prefixes, `0x90 | id` the vector of a memory, `0x91 | id` its tokens. All of it follows
//! from the journal and the bodies; none of it is part of a root. Forgotten memories stay indexed, because they can be
//! restored and because some questions include them; erased ones are gone from every row.

use kernel::Result;
use kernel::hook::{JournalHook, Recorded, Staged};
use kernel::journal::Payload;
use kernel::memory::{Body, Head, MemoryId};
use kernel::store::View;

use crate::analyze::{ANALYZER_VERSION, Analyzer};
use crate::document::document;
use crate::embed::{Embedder, StaticEmbedder};
use crate::text::{Settings, TailHandle, TextIndex};
use crate::vectors;

/// Tokens kept per memory for late interaction. What comes later in a long text is found by its words and its vector.
const TOKENS_MAX: usize = 512;

pub(crate) fn vector_key(id: u64) -> Vec<u8> {
    [&[0x90][..], &id.to_be_bytes()].concat()
}

pub(crate) fn tokens_key(id: u64) -> Vec<u8> {
    [&[0x91][..], &id.to_be_bytes()].concat()
}

pub(crate) fn settings() -> Settings {
    Settings { analyzer: ANALYZER_VERSION, ..Settings::default() }
}

#[derive(Debug)]
pub struct RecallHook {
    analyzer: Analyzer,
    /// `None` until `open`.
    text: Option<TextIndex>,
}

impl RecallHook {
    pub fn new(analyzer: Analyzer) -> RecallHook {
        RecallHook { analyzer, text: None }
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
        let id = head.id.get();
        self.text().put(view, id, &document.terms, staged)?;
        let embedder = StaticEmbedder::shared();
        let mut tokens = embedder.table().token_ids(&document.dense);
        let vector = embedder.embed(&document.dense);
        tokens.truncate(TOKENS_MAX);
        staged.set(vector_key(id), Some(vectors::encode(&vector)));
        let bytes = tokens.iter().flat_map(|t| u16::try_from(*t).unwrap_or(u16::MAX).to_be_bytes());
        staged.set(tokens_key(id), Some(bytes.collect()));
        Ok(())
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
        self.text = Some(TextIndex::open_with(view, settings(), TailHandle::default())?);
        Ok(())
    }

    fn entry(
        &mut self,
        view: &View<'_>,
        recorded: Recorded<'_>,
        staged: &mut Staged<'_>,
    ) -> Result<()> {
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
                let id = erase.id.get();
                self.text().erase(view, id, staged)?;
                staged.set(vector_key(id), None);
                staged.set(tokens_key(id), None);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn seal(&mut self, _: &View<'_>, _: &mut Staged<'_>) -> Result<()> {
        Ok(())
    }

    fn committed(&mut self) {
        self.text().committed();
    }

    fn aborted(&mut self) {
        self.text().aborted();
    }
}
