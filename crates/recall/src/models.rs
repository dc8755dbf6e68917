//! Optional models: what of a memory they read, and how their vectors come into memory beside those of the built-in
//! one.
//!
//! Vectors come from outside (a cache, an embedder) and may be missing for some memories, or for all. Each is of one
//! version of a memory; a search uses it only while that is the current version, so a vector that comes late or early
//! is never taken for that of another text. What must stay true: no save waits for any of this, and the vectors in
//! memory can be dropped at any time.

use std::collections::{BTreeMap, HashMap};

use kernel::memory::{Body, MemoryId};
use kernel::{Digest, Reading};

use crate::columns::IndexCache;
use crate::document::dense;
use crate::embedding::Embedding;
use crate::error::Result;
use crate::model_codes::ModelCodes;
use crate::passages;
use crate::vectors::Code;

/// The texts of a memory that a model reads: its passages, of which a short one has one.
pub fn texts(body: &Body) -> Vec<String> {
    passages::cut(&dense(body)).into_iter().map(str::to_owned).collect()
}

/// The vectors of a memory, in the order of `TextPart::n`, from those of its texts. The whole of several passages is
/// what they have in common: models read only the beginning of a long text, and reading it twice would cost twice.
pub fn vectors(of_texts: Vec<Embedding>) -> Vec<Embedding> {
    if of_texts.len() < 2 {
        return of_texts;
    }
    let parts: Vec<(&Embedding, i32)> = of_texts.iter().map(|vector| (vector, 1)).collect();
    let whole = Embedding::blend(&parts);
    std::iter::once(whole).chain(of_texts).collect()
}

/// Visits the current version of each memory after `after` that is not erased, until told to stop. Forgotten ones too:
/// they can be restored.
pub fn each_text(
    reading: &Reading,
    after: u64,
    visit: &mut dyn FnMut(MemoryId, u32, Digest) -> bool,
) -> Result<()> {
    let view = reading.view();
    for id in (after + 1..=view.last_seq()?).filter_map(MemoryId::new) {
        if let Some(head) = view.head(id)?.filter(|head| !head.erased)
            && !visit(id, head.version, view.required_version(id, head.version)?.body_hash)
        {
            break;
        }
    }
    Ok(())
}

/// Vectors that were made for a memory: of the whole text, then of its passages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryVectors {
    pub id: MemoryId,
    /// The version whose text they are of.
    pub version: u32,
    pub vectors: Vec<Embedding>,
}

/// What a vector was made of: a text as a whole, or one passage of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextPart {
    pub body: Digest,
    /// 0 is the whole, 1 the first passage.
    pub n: u8,
}

impl TextPart {
    pub fn whole(body: Digest) -> TextPart {
        TextPart { body, n: 0 }
    }
}

/// Where the vectors of a model come from. Recall reads no files itself.
pub trait VectorSource {
    type Error;

    fn dims(&self) -> usize;

    /// True if there is a vector of the whole text, and then of all its passages too.
    fn contains(&self, body: &Digest) -> bool;

    /// Visits every vector, in any order.
    fn scan(
        &self,
        visit: &mut dyn FnMut(TextPart, Embedding),
    ) -> std::result::Result<(), Self::Error>;
}

/// Why the vectors of a model could not be brought into memory; `E` is the error of their source.
#[derive(Debug, thiserror::Error)]
pub enum LoadError<E> {
    #[error(transparent)]
    Store(#[from] kernel::Error),
    #[error("{0}")]
    Source(E),
}

/// Brings the vectors of a model into memory, unless they are there. `open` opens their source, and is called only
/// then.
pub fn load<S: VectorSource>(
    reading: &Reading,
    model: &str,
    open: impl FnOnce() -> std::result::Result<S, S::Error>,
) -> std::result::Result<(), LoadError<S::Error>> {
    let Some(cache) = reading.shared::<IndexCache>() else { return Ok(()) };
    if cache.models.read(model, |codes| codes.is_some()) {
        return Ok(());
    }
    // The lock is held while the source is read: vectors that are added to it meanwhile come through `remember`,
    // which waits for this.
    let mut codes = cache.models.write();
    if codes.as_ref().is_none_or(|codes| codes.model() != model) {
        *codes = Some(read_codes(reading, model, &open().map_err(LoadError::Source)?)?);
    }
    Ok(())
}

/// Adds vectors that were just made, if those of their model are in memory. Those of a text that was erased meanwhile
/// come too late: after the scrub of an erasure nothing else in memory tells that it was there.
pub fn remember(reading: &Reading, model: &str, made: &[MemoryVectors]) {
    let Some(cache) = reading.shared::<IndexCache>() else { return };
    let mut codes = cache.models.write();
    if let Some(codes) = codes.as_mut().filter(|codes| codes.model() == model) {
        for MemoryVectors { id, version, vectors } in made {
            if reading.resolve_version(*id, None).is_ok_and(|found| found.body.is_some()) {
                codes.add(id.get(), *version, vectors);
            }
        }
    }
}

/// The codes of all memories whose current text the source has a vector of.
fn read_codes<S: VectorSource>(
    reading: &Reading,
    model: &str,
    source: &S,
) -> std::result::Result<ModelCodes, LoadError<S::Error>> {
    let mut all = ModelCodes::new(model, source.dims());
    let mut owners: HashMap<Digest, Vec<(u64, u32)>> = HashMap::new();
    each_text(reading, 0, &mut |id, version, body| {
        // The vector of the whole text is written last: where it is missing, some passages may be missing too.
        if source.contains(&body) {
            owners.entry(body).or_default().push((id.get(), version));
        }
        true
    })?;
    let mut found: BTreeMap<u64, (u32, Vec<(u8, Code)>)> = BTreeMap::new();
    let scanned = source.scan(&mut |part, vector| {
        for (doc, version) in owners.get(&part.body).into_iter().flatten() {
            let (_, codes) = found.entry(*doc).or_insert_with(|| (*version, Vec::new()));
            codes.push((part.n, all.code(&vector)));
        }
    });
    scanned.map_err(LoadError::Source)?;
    for (doc, (version, mut codes)) in found {
        codes.sort_by_key(|(n, _)| *n);
        let codes: Vec<Code> = codes.into_iter().map(|(_, code)| code).collect();
        all.set(doc, version, &codes);
    }
    Ok(all)
}
