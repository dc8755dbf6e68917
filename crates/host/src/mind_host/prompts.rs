//! What people said, for the patterns: prompts of the journal that were not looked at yet, and what was saved of
//! people.
//!
//! A session counts as a channel of its own: who says the same in two of them said it twice.

use kernel::journal::{Entry, EntryKind, Payload};
use kernel::memory::{MemoryId, Source, Visibility};
use kernel::store::View;
use mind::patterns::{Observation, Occurrence};
use mind::proposal::BY;
use service::error::Result;

/// Entries one look takes in; what is older is not looked at.
const LOOK_MAX: u64 = 20_000;

/// Observations from the entries after `seen`, and the last entry that was looked at. `is_open`: others read this
/// session too.
pub(crate) fn since(
    view: &View<'_>,
    seen: u64,
    is_open: impl Fn(&str) -> bool,
) -> Result<(Vec<Observation>, u64)> {
    let size = view.counters()?.size;
    // A journal that is shorter than before is another one.
    let seen = if seen > size { 0 } else { seen };
    let mut observations = Vec::new();
    for seq in seen.max(size.saturating_sub(LOOK_MAX)) + 1..=size {
        let Some(entry) = view.entry(seq)? else { continue };
        match entry.kind {
            EntryKind::Prompt => observations.extend(said(view, &entry, &is_open)?),
            EntryKind::Write => observations.extend(noted(view, &entry)?),
            _ => {}
        }
    }
    Ok((observations, size))
}

/// An erased prompt says nothing.
fn said(
    view: &View<'_>,
    entry: &Entry,
    is_open: &impl Fn(&str) -> bool,
) -> Result<Option<Observation>> {
    let (Some(prompt), Some(sealed)) = (view.prompt(entry.seq)?, view.sealed(entry.seq)?) else {
        return Ok(None);
    };
    Ok(Some(Observation {
        at: entry.at,
        // What is typed to an agent on this machine is read by its owner alone.
        private: !prompt.session.as_deref().is_some_and(is_open),
        channel: prompt.session.or(prompt.project),
        what: Occurrence::Said(sealed.open_note()?.text),
        memory: None,
        entry: Some(entry.seq),
    }))
}

/// A memory that somebody saved in a conversation. What a model or the mind concluded, or what came from elsewhere, is
/// no evidence.
fn noted(view: &View<'_>, entry: &Entry) -> Result<Option<Observation>> {
    let Payload::Write(write) = entry.payload()? else { return Ok(None) };
    // A session before a channel: what was said and then saved in one session was said in one place.
    let channel = write.session.or(write.channel);
    let is_told = matches!(write.provenance.source, Source::User | Source::Observed);
    if entry.by == BY || channel.is_none() || !is_told {
        return Ok(None);
    }
    let Some(id) = MemoryId::new(entry.seq) else { return Ok(None) };
    let Some(head) = view.head(id)?.filter(|head| head.tombstone.is_none()) else {
        return Ok(None);
    };
    let Some(body) = view.body(&view.required_version(id, head.version)?)? else { return Ok(None) };
    Ok(Some(Observation {
        at: entry.at,
        channel,
        private: write.visibility == Visibility::Private,
        what: Occurrence::Noted(format!("{}. {}", body.title, body.content)),
        memory: Some(entry.seq),
        entry: Some(entry.seq),
    }))
}
