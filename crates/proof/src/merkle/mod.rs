//! Merkle commitments: what the actor's roots are made of, and the proofs against them.
//!
//! - `log`, `log_proof`: the append-only tree over the journal (RFC 9162), kept as tiles.
//! - `tree`, `update`, `page`: compact sparse trees over the current heads and edges, kept as pages.
//! - `tree_proof`, `multi_proof`, `slice_proof`: presence and absence of a key, of many keys, and
//!   the complete list of leaves under a prefix.
//! - `keys`, `bits`, `node`: where a memory or an edge sits in its tree, and how nodes are hashed.
//! - `root`: the one digest over all of them.
//!
//! What must stay true: nothing here writes. Every change is returned as rows for the caller to
//! commit with the entries that caused it, so trees and journal cannot part. Verifiers are pure,
//! take decoded input from anyone, and neither panic nor do more work than the input is long.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

pub mod bits;
pub mod keys;
pub mod log;
pub mod log_proof;
pub mod multi_proof;
pub mod node;
pub mod page;
pub mod root;
pub mod slice_proof;
pub mod tree;
pub mod tree_proof;
pub mod update;

pub use bits::{TreeKey, TreePrefix};
pub use keys::{edge_key, edges_of_source, head_key, heads_of_type};
pub use log_proof::{ConsistencyProof, InclusionProof, verify_consistency, verify_inclusion};
pub use multi_proof::{MultiProof, multi_prove, verify_multi};
pub use node::Leaf;
pub use root::Roots;
pub use slice_proof::{SliceProof, slice_prove, verify_slice};
pub use tree::{EDGES, HEADS, Tree};
pub use tree_proof::{Siblings, TreeProof, prove, verify};
pub use update::{LeafChange, SnapshotMark, update};

/// First key byte of a log tile.
pub const LOG_TILES: u8 = b'l';
/// First key byte of a tree page.
pub const TREE_PAGES: u8 = b't';
/// First key byte of a tree page kept for a snapshot.
pub const KEPT_PAGES: u8 = b'T';

/// Where the trees read their pages: a view of the store that does not change underneath them.
pub trait Pages {
    /// What reading a row can fail with; damage that the trees find is told in the same type.
    type Error: From<Error>;

    /// The row at `key`.
    fn page(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Self::Error>;

    /// The value of the first row whose key is at or after `key` and shares its first `prefix_len`
    /// bytes. This is how a page kept for a snapshot is found.
    fn page_at_or_after(
        &self,
        key: &[u8],
        prefix_len: usize,
    ) -> Result<Option<Vec<u8>>, Self::Error>;
}

/// What an update wants written, by key: the new value, or `None` to delete the row.
pub type PageChanges = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// Reads through changes that are not in the store yet, so that several updates of one commit may
/// share one set of changes.
fn read_through<P: Pages + ?Sized>(
    pages: &P,
    staged: &PageChanges,
    key: &[u8],
) -> Result<Option<Vec<u8>>, P::Error> {
    match staged.get(key) {
        Some(row) => Ok(row.clone()),
        None => pages.page(key),
    }
}

fn refused(reason: impl Into<String>) -> Error {
    Error::ProofRefused(reason.into())
}

#[cfg(test)]
pub(crate) mod testing {
    //! A store of pages in memory.

    use super::{PageChanges, Pages};
    use crate::error::{Error, Result};
    use std::collections::BTreeMap;

    #[derive(Clone, Debug, Default, PartialEq)]
    pub(crate) struct Memory(pub(crate) BTreeMap<Vec<u8>, Vec<u8>>);

    impl Memory {
        pub(crate) fn commit(&mut self, changes: PageChanges) {
            for (key, row) in changes {
                match row {
                    Some(value) => self.0.insert(key, value),
                    None => self.0.remove(&key),
                };
            }
        }
    }

    impl Pages for Memory {
        type Error = Error;

        fn page(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
            Ok(self.0.get(key).cloned())
        }

        fn page_at_or_after(&self, key: &[u8], prefix_len: usize) -> Result<Option<Vec<u8>>> {
            let row = self.0.range(key.to_vec()..).next();
            Ok(row
                .filter(|(found, _)| found.starts_with(&key[..prefix_len]))
                .map(|(_, v)| v.clone()))
        }
    }
}
