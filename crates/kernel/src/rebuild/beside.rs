//! Making everything derived again in a file beside the live one, while others read and write.
//!
//! A `Remake` follows the journal with hooks of its own. When it has nearly caught up, the writer lets it do the rest
//! in its turn, compares the roots and puts the file in the place of the old one. What must stay true: the live store
//! is untouched until then, and for good if anything fails; a journal that gives another root than the one that was
//! told replaces nothing.

use proof::Digest;
use proof::actor::ActorName;
use proof::merkle::Roots;

use super::ScratchReader;
use super::read_ahead::{AheadEntry, read_ahead};
use super::replay::derived;
use crate::batch::{Hooks, ProgressFn};
use crate::birth::birth;
use crate::commitments::roots_at;
use crate::error::{Error, Result};
use crate::keys;
use crate::store::{
    FreshCopy, KeyRange, SCRUB_KEY, Side, Space, Storage, View, WriteSet, unscrubbed,
};

/// Entries that may be left for the writer's turn.
const TURN_ENTRIES_MAX: u64 = 128;
/// How often a remake that others outrun is taken up again, before they have to wait for it.
const ROUNDS_MAX: usize = 16;

/// What a rebuild came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RebuildReport {
    /// Journal entries.
    pub entries: u64,
    /// The root of what was made.
    pub root: Digest,
    /// False: what was derived before had another root, and was wrong.
    pub is_unchanged: bool,
}

/// A derived store on its way.
#[derive(Debug)]
pub(crate) struct Remake {
    actor: ActorName,
    copy: FreshCopy,
    hooks: Hooks,
    /// The last entry when it began: what was erased up to then is nowhere in it.
    began_at: u64,
    /// Entries that are derived.
    done: u64,
    has_loss: bool,
}

impl Remake {
    /// Begins, after whoever makes another. `hooks` are fresh ones.
    pub(crate) fn begin(storage: &dyn Storage, actor: &ActorName, hooks: Hooks) -> Result<Remake> {
        let (actor, copy) = (actor.clone(), storage.begin_copy()?);
        copy.commit(&birth(&actor))?;
        let began_at = last_seq(storage)?;
        let mut remake = Remake { actor, copy, hooks, began_at, done: 0, has_loss: false };
        let (truth, derived) = (storage.reader()?, remake.copy.reader()?);
        let beside = ScratchReader { truth: &*truth, derived: &*derived };
        let view = View::new(&beside, Side::A);
        remake.hooks.each(|hook| hook.open(&view))?;
        Ok(remake)
    }

    /// Derives entries up to `upto`, or up to the last one now.
    pub(crate) fn advance(
        &mut self,
        storage: &dyn Storage,
        upto: Option<u64>,
        progress: &mut ProgressFn<'_>,
    ) -> Result<()> {
        let total = last_seq(storage)?.min(upto.unwrap_or(u64::MAX));
        if self.done >= total {
            return Ok(());
        }
        let preparers = self.hooks.preparers();
        read_ahead(storage, &preparers, (self.done + 1, total), |entries| {
            while self.done < total {
                progress(self.done, total);
                self.take(storage, &entries.slice()?)?;
            }
            Ok(())
        })
    }

    /// Follows until little is left, or others were faster too often.
    pub(crate) fn follow(
        &mut self,
        storage: &dyn Storage,
        progress: &mut ProgressFn<'_>,
    ) -> Result<()> {
        for _ in 0..ROUNDS_MAX {
            self.advance(storage, None, progress)?;
            if last_seq(storage)? <= self.done + TURN_ENTRIES_MAX {
                break;
            }
        }
        // What is on disk now need not get there in the writer's turn.
        self.copy.settle()
    }

    fn take(&mut self, storage: &dyn Storage, slice: &[AheadEntry]) -> Result<()> {
        let (truth, made) = (storage.reader()?, self.copy.reader()?);
        let beside = ScratchReader { truth: &*truth, derived: &*made };
        let mut staged = derived(&beside, Side::A, &mut self.hooks, slice)?;
        self.has_loss |= staged.has_loss;
        self.done += slice.len() as u64;
        let first = slice.first().map_or(self.done, |entry| entry.seq);
        let (from, to) = (keys::entry(first), Some(keys::entry(self.done + 1)));
        let range = KeyRange { from, to, reverse: false };
        storage.rows()?.scan(Space::Truth, &range, &mut |key, value| {
            staged.rows.put(Space::Truth, key.to_vec(), value.to_vec());
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        for seq in staged.erased {
            staged.rows.delete(Space::Truth, keys::body(seq));
        }
        self.copy.commit(&staged.rows)?;
        self.hooks.committed();
        Ok(())
    }

    fn roots(&self) -> Result<Roots> {
        let reader = self.copy.reader()?;
        roots_at(&View::new(&*reader, Side::A), self.done)
    }

    /// Derives the last entries and takes the place of the live store, on whose `live` side the state is. Nobody writes
    /// meanwhile.
    pub(crate) fn finish(mut self, storage: &dyn Storage, live: Side) -> Result<RebuildReport> {
        self.advance(storage, None, &mut |_, _| {})?;
        let made = self.roots()?;
        let root = made.overall(self.actor.as_str());
        let is_unchanged = match told_roots(storage, live) {
            Ok(told) => {
                let before = told.overall(self.actor.as_str());
                // What was derived may be wrong. What was journaled may not have changed.
                if (told.size, told.journal) != (made.size, made.journal)
                    || self.has_loss && before != root
                {
                    return Err(gives_another(root, before));
                }
                before == root
            }
            // The state that is to be replaced does not read.
            Err(Error::Corrupt { .. } | Error::NonCanonical { .. }) => false,
            Err(error) => return Err(error),
        };
        self.replace(storage)?;
        Ok(RebuildReport { entries: made.size, root, is_unchanged })
    }

    fn replace(self, storage: &dyn Storage) -> Result<()> {
        // What was erased while this was made may be in rows of it, and in pages that nobody reads.
        let erased_by = unscrubbed(&*storage.rows()?)?;
        if let Some(seq) = erased_by.filter(|seq| *seq > self.began_at) {
            let mut rows = WriteSet::new();
            rows.put(Space::Engine, SCRUB_KEY.to_vec(), seq.to_be_bytes().to_vec());
            self.copy.commit(&rows)?;
        }
        self.copy.settle()?;
        storage.replace_by(self.copy)
    }
}

/// The same for rows that another version of the program made. Nobody is there to judge what comes out, so it becomes
/// live only if it has the root of what is there: a journal that no longer gives its own state is damaged, and stays as
/// it is.
pub(crate) fn renew(
    storage: &dyn Storage,
    live: Side,
    mut remake: Remake,
    progress: &mut ProgressFn<'_>,
) -> Result<()> {
    // After a crash the journal is ahead of what was derived from it: compared is what both have.
    let told = told_roots(storage, live)?;
    remake.advance(storage, Some(told.size), progress)?;
    let (before, found) =
        (told.overall(remake.actor.as_str()), remake.roots()?.overall(remake.actor.as_str()));
    if found != before {
        return Err(gives_another(found, before));
    }
    remake.advance(storage, None, progress)?;
    let total = remake.done;
    remake.replace(storage)?;
    progress(total, total);
    Ok(())
}

fn gives_another(found: Digest, before: Digest) -> Error {
    Error::corrupt("journal", format!("gives the root {found}, the state has {before}"))
}

fn told_roots(storage: &dyn Storage, live: Side) -> Result<Roots> {
    let reader = storage.reader()?;
    let view = View::new(&*reader, live);
    roots_at(&view, view.counters()?.size)
}

fn last_seq(storage: &dyn Storage) -> Result<u64> {
    let reader = storage.reader()?;
    View::new(&*reader, Side::A).last_seq()
}
