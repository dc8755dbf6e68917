//! Gives every memory vectors of the chosen model, window by window.
//!
//! The actor is used only while a window is read and while its vectors are handed over, not while it is embedded, so
//! saves go on in between. Each window is in the cache before the next is read: whoever stops this and starts it again
//! loses one window at most. What must stay true: what is erased while its vector is made leaves no vector.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use embed::EmbeddingCache;
use kernel::journal::{EntryKind, Payload};
use kernel::memory::MemoryId;
use kernel::{Cortex, Digest, Reading};
use recall::models::{self, MemoryVectors, TextPart, each_text};

use crate::embedders::{ChosenEmbedder, EmbedError};

/// Bytes of text read at once.
const WINDOW_BYTES: usize = 4 << 20;

/// What is filled, how much is done at once, and for how long.
pub struct FillPlan<'a> {
    /// Memories that changed after this entry of the journal; 0 for all.
    pub since: u64,
    /// Texts read at once.
    pub texts: usize,
    pub cores: usize,
    /// Asked before each window.
    pub go_on: &'a dyn Fn() -> bool,
}

impl std::fmt::Debug for FillPlan<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FillPlan").field("texts", &self.texts).finish_non_exhaustive()
    }
}

impl FillPlan<'_> {
    /// All memories, for somebody who waits: a few seconds of work on every core.
    pub fn all_at_once() -> FillPlan<'static> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        FillPlan { since: 0, texts: 256, cores, go_on: &|| true }
    }
}

/// How much of an actor's memory a model has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    pub memories: u64,
    pub with_vector: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FillReport {
    pub embedded: u64,
    /// Of these the model read only the beginning.
    pub cut: u64,
    /// The embedder would not take them; they are tried again next time.
    pub refused: u64,
    /// Vectors of what is no longer there.
    pub dropped: usize,
    /// The last entry of the journal that was looked at, if all up to it was.
    pub upto: Option<u64>,
}

/// Counts memories that can be found, and how many of them have a vector, which `has` knows.
pub fn coverage(reading: &Reading, has: &dyn Fn(&Digest) -> bool) -> kernel::Result<Coverage> {
    let mut coverage = Coverage::default();
    each_text(reading, 0, &mut |_, _, hash| {
        coverage.memories += 1;
        coverage.with_vector += u64::from(has(&hash));
        true
    })?;
    Ok(coverage)
}

/// Memories written or changed after entry `since`, oldest first.
fn changed(reading: &Reading, since: u64, upto: u64) -> kernel::Result<BTreeSet<MemoryId>> {
    let view = reading.view();
    let mut ids = BTreeSet::new();
    for seq in since + 1..=upto {
        let Some(entry) = view.entry(seq)? else { continue };
        let id = match entry.kind {
            EntryKind::Write => MemoryId::new(seq),
            EntryKind::Update => match entry.payload()? {
                Payload::Update(update) => Some(update.id),
                _ => None,
            },
            _ => None,
        };
        ids.extend(id);
    }
    Ok(ids)
}

/// A memory as it was when its window was read.
struct PendingMemory {
    id: MemoryId,
    version: u32,
    body: Digest,
    texts: Vec<String>,
}

/// The next memories of the list that have no vector, enough for a window.
fn window(
    reading: &Reading,
    cache: &EmbeddingCache,
    ids: &mut impl Iterator<Item = MemoryId>,
    texts_max: usize,
) -> kernel::Result<Vec<PendingMemory>> {
    let view = reading.view();
    let (mut pending, mut texts_read, mut bytes) = (Vec::new(), 0, 0);
    while texts_read < texts_max && bytes < WINDOW_BYTES {
        let Some(id) = ids.next() else { break };
        let Some(head) = view.head(id)?.filter(|head| !head.erased) else { continue };
        let version = view.required_version(id, head.version)?;
        if !cache.contains(&version.body_hash)
            && let Some(body) = view.body(&version)?
        {
            let texts = models::texts(&body);
            texts_read += texts.len();
            bytes += texts.iter().map(String::len).sum::<usize>();
            pending.push(PendingMemory {
                id,
                version: head.version,
                body: version.body_hash,
                texts,
            });
        }
    }
    Ok(pending)
}

/// Embeds what has no vector yet, among the memories that `plan` names. `open` opens the
/// actor for one window; `progress` hears of memories done and to do.
pub fn fill<E: From<EmbedError> + From<kernel::Error>>(
    open: &dyn Fn() -> Result<Arc<Cortex>, E>,
    chosen: &ChosenEmbedder,
    cache: &mut EmbeddingCache,
    plan: &FillPlan<'_>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<FillReport, E> {
    let mut report = FillReport::default();
    let (ids, upto) = missing(&open()?.read()?, cache, plan.since)?;
    let (all, mut ids) = (ids.len() as u64, ids.into_iter());
    loop {
        if !(plan.go_on)() {
            return Ok(report);
        }
        let pending = window(&open()?.read()?, cache, &mut ids, plan.texts)?;
        if pending.is_empty() {
            break;
        }
        let cuts = |pending: &&PendingMemory| pending.texts.iter().any(|text| chosen.cuts(text));
        report.cut += pending.iter().filter(cuts).count() as u64;
        let (made, refusal) = embed(chosen, &pending, plan.cores)?;
        // One that takes nothing at all does not mean the texts.
        if let (true, Some(error)) = (made.is_empty(), refusal) {
            return Err(error.into());
        }
        report.refused += (pending.len() - made.len()) as u64;
        report.embedded += made.len() as u64;
        hand_over(&open()?.read()?, chosen, cache, &made)?;
        progress(all - ids.len() as u64, all);
    }
    if plan.since == 0 {
        // What was erased or changed since its vector was made leaves the cache, too.
        let mut current = HashSet::new();
        each_text(&open()?.read()?, 0, &mut |_, _, hash| {
            current.insert(hash);
            true
        })?;
        report.dropped = cache.retain(&|hash| current.contains(hash)).map_err(EmbedError::from)?;
    }
    report.upto = Some(upto);
    Ok(report)
}

/// Memories without a vector, and the last entry of the journal that says so.
fn missing(
    reading: &Reading,
    cache: &EmbeddingCache,
    since: u64,
) -> kernel::Result<(Vec<MemoryId>, u64)> {
    let upto = reading.view().counters()?.size;
    if since > 0 {
        return Ok((changed(reading, since, upto)?.into_iter().collect(), upto));
    }
    let mut ids = Vec::new();
    each_text(reading, 0, &mut |id, _, hash| {
        if !cache.contains(&hash) {
            ids.push(id);
        }
        true
    })?;
    Ok((ids, upto))
}

/// Puts vectors into the cache and, for searches, into memory. `reading` is of a moment after they were made.
fn hand_over(
    reading: &Reading,
    chosen: &ChosenEmbedder,
    cache: &mut EmbeddingCache,
    made: &[(Digest, MemoryVectors)],
) -> Result<(), EmbedError> {
    let mut parts = Vec::new();
    for (body, made) in made {
        let numbered = (0..).zip(&made.vectors);
        let numbered = numbered.map(|(n, vector)| (TextPart { body: *body, n }, vector.clone()));
        // The whole comes last: where it is, everything is.
        let (whole, passages): (Vec<_>, Vec<_>) = numbered.partition(|(part, _)| part.n == 0);
        parts.extend(passages.into_iter().chain(whole));
    }
    cache.put_many(&parts)?;
    // An erasure takes vectors out of the cache after it is committed. One that this reading does not show comes later,
    // and finds them.
    let mut erased = HashSet::new();
    for (body, made) in made {
        if reading.view().head(made.id)?.is_none_or(|head| head.erased) {
            erased.insert(*body);
        }
    }
    if !erased.is_empty() {
        cache.retain(&|body| !erased.contains(body))?;
    }
    let kept = made.iter().filter(|(body, _)| !erased.contains(body));
    models::remember(reading, chosen.model(), &kept.map(|(_, m)| m.clone()).collect::<Vec<_>>());
    Ok(())
}

/// Vectors of the memories that the embedder takes, and why it refused others. If it refuses many at once, halves are
/// tried, down to the one it means.
#[expect(clippy::type_complexity, reason = "one caller")]
fn embed(
    chosen: &ChosenEmbedder,
    pending: &[PendingMemory],
    cores: usize,
) -> Result<(Vec<(Digest, MemoryVectors)>, Option<EmbedError>), EmbedError> {
    let plain: Vec<&str> =
        pending.iter().flat_map(|w| w.texts.iter().map(String::as_str)).collect();
    match chosen.embed_many(&plain, cores) {
        Ok(vectors) => {
            let mut vectors = vectors.into_iter();
            let made = pending.iter().map(|w| {
                let vectors = models::vectors(vectors.by_ref().take(w.texts.len()).collect());
                (w.body, MemoryVectors { id: w.id, version: w.version, vectors })
            });
            Ok((made.collect(), None))
        }
        Err(EmbedError::Http(error)) if error.is_about_the_texts() => {
            if pending.len() < 2 {
                return Ok((Vec::new(), Some(error.into())));
            }
            let (left, right) = pending.split_at(pending.len() / 2);
            let (mut made, first) = embed(chosen, left, cores)?;
            let (more, second) = embed(chosen, right, cores)?;
            made.extend(more);
            Ok((made, first.or(second)))
        }
        Err(error) => Err(error),
    }
}
