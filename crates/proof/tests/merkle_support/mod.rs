//! What the Merkle tests share: pages in memory.

use proof::merkle::{PageChanges, Pages};
use proof::{Error, Result};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
        Ok(row.filter(|(found, _)| found.starts_with(&key[..prefix_len])).map(|(_, v)| v.clone()))
    }
}
