//! The codes of an optional model in memory, beside those of the built-in one.
//!
//! What must stay true: nothing of an erased memory stays here, and a code is used only for the version of a memory
//! whose text it was made of.

use std::collections::{HashMap, HashSet};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use crate::embedding::Embedding;
use crate::vectors::{Code, Coder, Codes, VectorHit};

/// The codes of one model, of the memories that have some.
#[derive(Debug)]
pub(crate) struct ModelCodes {
    model: String,
    coder: Coder,
    codes: Codes,
    /// The version each memory's codes are of.
    versions: HashMap<u64, u32>,
    /// Memories erased since this was read. Vectors of them that an embedder was still making are not added.
    erased: HashSet<u64>,
}

impl ModelCodes {
    pub(crate) fn new(model: &str, dims: usize) -> ModelCodes {
        ModelCodes {
            model: model.to_owned(),
            coder: Coder::new(dims),
            codes: Codes::new(dims),
            versions: HashMap::new(),
            erased: HashSet::new(),
        }
    }

    pub(crate) fn model(&self) -> &str {
        &self.model
    }

    pub(crate) fn code(&self, vector: &Embedding) -> Code {
        self.coder.code(vector)
    }

    /// Adds the vectors of a memory's version, unless the memory was erased meanwhile.
    pub(crate) fn add(&mut self, doc: u64, version: u32, vectors: &[Embedding]) {
        if !self.erased.contains(&doc) {
            let codes: Vec<Code> = vectors.iter().map(|vector| self.code(vector)).collect();
            self.set(doc, version, &codes);
        }
    }

    pub(crate) fn set(&mut self, doc: u64, version: u32, codes: &[Code]) {
        if self.codes.set(doc, codes) {
            self.versions.insert(doc, version);
        }
    }

    pub(crate) fn dims(&self) -> usize {
        self.codes.dims()
    }

    /// Are the codes of a memory those of this version?
    pub(crate) fn are_of(&self, doc: u64, version: u32) -> bool {
        self.versions.get(&doc) == Some(&version)
    }

    pub(crate) fn score(&self, question: &Embedding, doc: u64) -> Option<i64> {
        self.codes.score(question, doc)
    }

    /// The nearest memories, by the versions that were current when their vectors were made.
    pub(crate) fn top_k(
        &self,
        question: &Embedding,
        k: usize,
        filter: &dyn Fn(u64) -> bool,
    ) -> Vec<VectorHit> {
        self.codes.top_k(question, k, filter)
    }
}

/// The codes of the model in use, if any are in memory.
#[derive(Debug, Default)]
pub(crate) struct ModelColumn {
    codes: RwLock<Option<ModelCodes>>,
}

impl ModelColumn {
    /// Hands over the codes of a model; `None` if they are not here.
    pub(crate) fn read<T>(&self, model: &str, look: impl FnOnce(Option<&ModelCodes>) -> T) -> T {
        let codes = self.codes.read().unwrap_or_else(PoisonError::into_inner);
        look(codes.as_ref().filter(|codes| codes.model == model))
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Option<ModelCodes>> {
        self.codes.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out erased memories.
    pub(crate) fn erase(&self, docs: impl IntoIterator<Item = u64>) {
        let mut codes = self.write();
        if let Some(codes) = codes.as_mut() {
            for doc in docs {
                codes.codes.set(doc, &[]);
                codes.versions.remove(&doc);
                codes.erased.insert(doc);
            }
        }
    }

    pub(crate) fn clear(&self) {
        *self.write() = None;
    }
}
