//! Gives every memory a vector of the chosen model, window by window.
//!
//! The actor is used only while a window is read, not while it is embedded, so saves go on in between. Each window is in the
//! cache before the next is read: whoever stops this and starts it again loses one window at most.

use std::collections::HashSet;
use std::sync::Arc;

use kernel::memory::MemoryId;
use kernel::{Cortex, Digest, Reading};
use recall::document::dense;
use recall::embed::{Embedding, EmbeddingCache};

use super::{Chosen, EmbedError};

/// Texts read at once: a few seconds of work.
const WINDOW_TEXTS: usize = 256;
const WINDOW_BYTES: usize = 4 << 20;

/// How much of an actor's memory a model has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Coverage {
    pub(crate) memories: u64,
    pub(crate) with_vector: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filled {
    pub(crate) embedded: u64,
    /// Of these the model read only the beginning.
    pub(crate) cut: u64,
    /// The embedder would not take them; they are tried again next time.
    pub(crate) refused: u64,
    /// Vectors of what is no longer there.
    pub(crate) dropped: usize,
}

/// Counts memories that can be found, and how many of them have a vector, which `has` knows.
pub(crate) fn coverage(
    reading: &Reading,
    has: &dyn Fn(&Digest) -> bool,
) -> kernel::Result<Coverage> {
    let mut coverage = Coverage::default();
    each_body(reading, 0, &mut |_, hash| {
        coverage.memories += 1;
        coverage.with_vector += u64::from(has(&hash));
        true
    })?;
    Ok(coverage)
}

/// Visits the current version of each memory after `after` that is not erased, until told to stop. Forgotten ones too:
/// they can be restored.
fn each_body(
    reading: &Reading,
    after: u64,
    visit: &mut dyn FnMut(MemoryId, Digest) -> bool,
) -> kernel::Result<()> {
    let view = reading.view();
    for id in (after + 1..=view.last_seq()?).filter_map(MemoryId::new) {
        if let Some(head) = view.head(id)?.filter(|head| !head.erased)
            && !visit(id, view.required_version(id, head.version)?.body_hash)
        {
            break;
        }
    }
    Ok(())
}

struct Window {
    texts: Vec<(Digest, String)>,
    /// The last memory looked at; `None` at the end.
    last: Option<u64>,
}

fn window(reading: &Reading, cache: &EmbeddingCache, after: u64) -> kernel::Result<Window> {
    let view = reading.view();
    let mut wanted = Vec::new();
    each_body(reading, after, &mut |id, hash| {
        if !cache.contains(&hash) {
            wanted.push(id);
        }
        wanted.len() < WINDOW_TEXTS
    })?;
    let (mut texts, mut bytes) = (Vec::new(), 0);
    let full = wanted.len() == WINDOW_TEXTS;
    let mut last = wanted.last().filter(|_| full).map(|id| id.get());
    for id in wanted {
        let head = view.required_head(id)?;
        let version = view.required_version(id, head.version)?;
        if let Some(body) = view.body(&version)? {
            let text = dense(&body);
            bytes += text.len();
            texts.push((version.body_hash, text));
        }
        if bytes > WINDOW_BYTES {
            last = Some(id.get());
            break;
        }
    }
    Ok(Window { texts, last })
}

/// Embeds what has no vector yet. `open` opens the actor for one window; `progress` hears of memories done and to do.
pub(crate) fn fill<E: From<EmbedError> + From<kernel::Error>>(
    open: &dyn Fn() -> Result<Arc<Cortex>, E>,
    chosen: &Chosen,
    cache: &mut EmbeddingCache,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Filled, E> {
    let mut filled = Filled::default();
    let before = coverage(&open()?.read()?, &|hash| cache.contains(hash))?;
    let missing = before.memories - before.with_vector;
    let (mut after, mut done) = (0, 0);
    loop {
        let Window { texts, last } = window(&open()?.read()?, cache, after)?;
        done += texts.len() as u64;
        filled.cut += texts.iter().filter(|(_, text)| chosen.cuts(text)).count() as u64;
        let (vectors, refusal) = embed(chosen, &texts)?;
        // One that takes nothing at all does not mean the texts.
        if let (true, Some(error)) = (vectors.is_empty(), refusal) {
            return Err(error.into());
        }
        filled.refused += (texts.len() - vectors.len()) as u64;
        filled.embedded += cache.put_many(&vectors).map_err(EmbedError::from)? as u64;
        progress(done.min(missing), missing);
        let Some(last) = last else { break };
        after = last;
    }
    // What was erased or changed since its vector was made leaves the cache, too.
    let mut current = HashSet::new();
    each_body(&open()?.read()?, 0, &mut |_, hash| {
        current.insert(hash);
        true
    })?;
    filled.dropped = cache.retain(&|hash| current.contains(hash)).map_err(EmbedError::from)?;
    Ok(filled)
}

/// Vectors of the texts that the embedder takes, and why it refused others. If it refuses many at once, halves are tried,
/// down to the one it means.
#[expect(clippy::type_complexity, reason = "one caller")]
fn embed(
    chosen: &Chosen,
    texts: &[(Digest, String)],
) -> Result<(Vec<(Digest, Embedding)>, Option<EmbedError>), EmbedError> {
    let plain: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
    match chosen.embed_many(&plain) {
        Ok(vectors) => Ok((texts.iter().map(|(hash, _)| *hash).zip(vectors).collect(), None)),
        Err(EmbedError::Http(error)) if error.is_about_the_texts() => {
            if texts.len() < 2 {
                return Ok((Vec::new(), Some(error.into())));
            }
            let (left, right) = texts.split_at(texts.len() / 2);
            let (mut vectors, first) = embed(chosen, left)?;
            let (more, second) = embed(chosen, right)?;
            vectors.extend(more);
            Ok((vectors, first.or(second)))
        }
        Err(error) => Err(error),
    }
}
