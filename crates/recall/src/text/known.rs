//! What the writer knows of the terms it is given: their ids, and where each stands in the document being counted.
//!
//! A row for each number of a lexicon, so that a term that occurs again costs one look. What must stay true: an id is kept
//! only for the life of the lexicon and as long as the dictionary has it (`clear`).

use super::score::{FIELDS, Field};
use crate::analyze::{Lexicon, Life};

/// A document: how often each term occurs in each field, in order of first occurrence.
pub(super) type Counts = Vec<(u32, [u32; FIELDS])>;

#[derive(Debug, Default)]
pub(super) struct Known {
    life: Life,
    rows: Vec<Row>,
    /// Documents counted so far.
    document: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    id: Option<u32>,
    /// Its place among the terms of the document that was counted when it was met last.
    place: u32,
    document: u64,
}

impl Known {
    pub(super) fn clear(&mut self) {
        *self = Known::default();
    }

    /// Field lengths, and the terms by their numbers.
    pub(super) fn count(
        &mut self,
        lexicon: &Lexicon,
        terms: &[(Field, u32)],
    ) -> ([u32; FIELDS], Counts) {
        if self.life != *lexicon.life() {
            *self = Known { life: lexicon.life().clone(), ..Known::default() };
        }
        self.rows.resize(lexicon.len(), Row::default());
        self.document += 1;
        let mut lengths = [0u32; FIELDS];
        let mut counts: Counts = Vec::with_capacity(terms.len());
        for (field, number) in terms {
            let (field, row) = (field.index(), &mut self.rows[index(*number)]);
            lengths[field] = lengths[field].saturating_add(1);
            if row.document != self.document {
                row.document = self.document;
                row.place = u32::try_from(counts.len()).unwrap_or(u32::MAX);
                counts.push((*number, [0; FIELDS]));
            }
            let tf = &mut counts[index(row.place)].1[field];
            *tf = tf.saturating_add(1);
        }
        (lengths, counts)
    }

    pub(super) fn id(&self, number: u32) -> Option<u32> {
        self.rows.get(index(number)).and_then(|row| row.id)
    }

    pub(super) fn learn(&mut self, number: u32, id: u32) {
        if let Some(row) = self.rows.get_mut(index(number)) {
            row.id = Some(id);
        }
    }
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
