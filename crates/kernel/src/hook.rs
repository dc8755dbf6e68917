//! The journal hook: how layers above the kernel derive state inside the kernel's own commit.
//!
//! A hook is called for every entry, live and on rebuild, and stages rows under its own key prefixes. What it stages
//! commits with the entry or not at all. A hook that keeps state in memory brings it up to date in `committed`, which
//! runs before anybody is told that the write succeeded, and forgets what it staged in `aborted`.
//!
//! Work that a body alone decides need not be done by the writer: a hook hands out a `Prepare`, which callers use on
//! their own threads before their turn comes. What must stay true: it saves time and changes no row. An entry that
//! comes without what was prepared, on a rebuild or because the caller is gone, gives the same rows.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use proof::journal::{Entry, Payload};
use proof::memory::{Body, SealedBody};

use crate::apply::EntryChanges;
use crate::error::Result;
use crate::store::View;

/// One entry on its way into the store.
#[derive(Clone, Copy, Debug)]
pub struct RecordedEntry<'a> {
    pub entry: &'a Entry,
    pub entry_bytes: &'a [u8],
    pub payload: &'a Payload,
    /// The body beside the entry; `None` if it has none or, on rebuild, if it was erased since.
    pub sealed: Option<&'a SealedBody>,
    /// What the kernel itself derives from the entry.
    pub changes: &'a EntryChanges,
    /// What was prepared from the body beside the entry. Each hook knows its own by its type.
    pub prepared: &'a [PreparedBody],
}

/// What a hook's `Prepare` made of a body.
pub type PreparedBody = Box<dyn Any + Send>;

/// The part of a hook's work that depends on a body alone. Used by many threads at once.
pub trait Prepare: Send + Sync + fmt::Debug {
    fn prepare(&self, body: &Body) -> PreparedBody;
}

pub trait JournalHook: Send + fmt::Debug {
    /// A name for error messages.
    fn name(&self) -> &'static str;

    /// Starts from the state that `view` shows: at open, before a rebuild (then it is empty) and when a rebuild goes
    /// on.
    ///
    /// Rows that another version of the program made, and that this one does not read, are `Error::Outdated`:
    /// everything derived is then made again from the journal, and the hook is opened anew. Damage is `Error::Corrupt`,
    /// and stays.
    fn open(&mut self, view: &View<'_>) -> Result<()>;

    /// Called for each entry after the kernel's own changes for it are staged; `view` includes them. An error aborts
    /// the whole batch.
    fn entry(
        &mut self,
        view: &View<'_>,
        recorded: RecordedEntry<'_>,
        staged: &mut HookRows<'_>,
    ) -> Result<()>;

    /// Called once before the commit: the last chance to stage.
    fn seal(&mut self, view: &View<'_>, staged: &mut HookRows<'_>) -> Result<()>;

    /// The batch is durable.
    fn committed(&mut self);

    /// The batch is gone; nothing staged since the last `committed` exists.
    fn aborted(&mut self);

    /// What the hook keeps in memory for readers. Every `Reading` of the open actor can get at it.
    fn shared(&self) -> Option<SharedState> {
        None
    }

    /// True if rows of it hold the texts of many memories at once, as a dictionary does. After an erasure they may keep
    /// something of the erased text, and differ from what a rebuild gives, until everything derived was made again;
    /// what the hook shows readers must be without it at once.
    fn mixes_texts(&self) -> bool {
        false
    }

    /// What callers prepare with before the writer is asked.
    fn preparer(&self) -> Option<Arc<dyn Prepare>> {
        None
    }
}

/// State in memory that a hook keeps up to date and readers look at. It may be ahead of a reading or behind it: whoever
/// uses it must check which state it shows.
pub type SharedState = Arc<dyn Any + Send + Sync>;

/// Rows of a hook in the order in which it set them; `None` deletes.
pub(crate) type StagedRows = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// Where a hook puts its rows: the derived space of the side being written. What is set later replaces what was set
/// before.
#[derive(Debug)]
pub struct HookRows<'a> {
    rows: &'a mut StagedRows,
}

impl<'a> HookRows<'a> {
    pub(crate) fn new(rows: &'a mut StagedRows) -> HookRows<'a> {
        HookRows { rows }
    }

    pub fn set(&mut self, key: Vec<u8>, value: Option<Vec<u8>>) {
        self.rows.push((key, value));
    }
}
