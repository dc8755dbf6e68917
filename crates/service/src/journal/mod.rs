//! The journal as the owner reads it: in pages, or one entry with everything it carries.
//!
//! What must stay true: a page looks at a bounded number of entries, also when few of them are of the kind that is
//! asked for; whoever follows `next` misses and doubles none.

mod entry_view;

use std::ops::ControlFlow;

use api::journal::{
    JOURNAL_PAGE_MAX, JournalAnswer, JournalEntry, JournalEntryRequest, JournalRequest,
};
use kernel::journal::{Entry, EntryKind};
use kernel::keys;
use kernel::store::{KeyRange, View};

use crate::Service;
use crate::access::only_owner;
use crate::activity;
use crate::caller::Caller;
use crate::error::{Error, Result};

/// Entries that one page looks at.
const LOOKED_AT_MAX: u64 = 8_192;
/// Bytes of entries after which a page is full.
const PAGE_BYTES_MAX: usize = 1_048_576;

impl Service {
    pub fn journal(&self, caller: &Caller, request: JournalRequest) -> Result<JournalAnswer> {
        only_owner(caller, "read the journal")?;
        let kind = request.kind.as_deref().map(EntryKind::parse).transpose()?;
        let cortex = self.opened(caller)?;
        let reading = cortex.read()?;
        let view = reading.view();
        let size = view.counters()?.size;
        let first = request.from.max(1);
        let most = request.limit.unwrap_or(JOURNAL_PAGE_MAX).min(JOURNAL_PAGE_MAX) as usize;
        let end = size.min(first.saturating_add(LOOKED_AT_MAX - 1));
        let (candidates, mut next): (Box<dyn Iterator<Item = u64>>, Option<u64>) =
            match &request.run {
                Some(run) => (Box::new(run_entries(&view, run, first)?.into_iter()), None),
                None => (Box::new(first..=end), Some(end.saturating_add(1))),
            };
        let (mut entries, mut bytes) = (Vec::new(), 0);
        for seq in candidates {
            if entries.len() >= most || bytes >= PAGE_BYTES_MAX {
                next = Some(seq);
                break;
            }
            let Some(entry) = view.entry(seq)? else {
                entries.extend(kind.is_none().then(|| entry_view::damaged(seq)));
                continue;
            };
            if kind.is_none_or(|kind| kind == entry.kind) {
                bytes += entry.to_bytes().len();
                entries.push(shown(&view, &entry, request.summaries)?);
            }
        }
        Ok(JournalAnswer { entries, next: next.filter(|next| *next <= size), size })
    }

    pub fn journal_entry(
        &self,
        caller: &Caller,
        request: JournalEntryRequest,
    ) -> Result<JournalEntry> {
        only_owner(caller, "read the journal")?;
        let cortex = self.opened(caller)?;
        let reading = cortex.read()?;
        let entry = reading
            .view()
            .entry(request.seq)?
            .ok_or_else(|| Error::missing("entry", request.seq))?;
        Ok(entry_view::entry_view(&entry, &entry.payload()?))
    }
}

fn shown(view: &View<'_>, entry: &Entry, with_summary: bool) -> Result<JournalEntry> {
    let payload = entry.payload()?;
    let mut shown = entry_view::entry_view(entry, &payload);
    if with_summary {
        shown.summary = activity::summary(view, entry, &payload)?;
    }
    Ok(shown)
}

/// The entries of a background run from one on. A run's length is bounded by what its job may do.
fn run_entries(view: &View<'_>, run: &str, first: u64) -> Result<Vec<u64>> {
    let mut entries = Vec::new();
    view.scan(&KeyRange::prefix(&keys::run_entries(run)), &mut |key, _| {
        entries.extend(keys::trailing_u64(key).filter(|seq| *seq >= first));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(entries)
}
