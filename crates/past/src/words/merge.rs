//! Joins parts of the index, and leaves out documents that do not count any more.
//!
//! What must stay true: it changes no answer. Parts of like size are joined, so a posting is written again only a few
//! times however often something is added.

use std::collections::BTreeMap;

use super::part::{self, Part, Posting, PostingList, SegmentName};
use super::sketches;
use crate::disk::PastDisk;
use crate::error::Result;
use crate::limits::PARTS_MAX;

/// Parts of a size between this and its fourfold are alike; then its fourfold, and so on.
const SMALLEST_BYTES: u64 = 16 << 10;
/// A larger part is not joined with others.
const LARGEST_BYTES: u64 = 16 << 20;

/// Which parts are to be joined now, by their places.
pub(crate) fn due(sizes: &[u64]) -> Option<Vec<usize>> {
    let tier = |bytes: u64| (bytes / SMALLEST_BYTES).max(1).ilog(4);
    let mut by_tier: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, bytes) in sizes.iter().enumerate().filter(|(_, bytes)| **bytes <= LARGEST_BYTES) {
        by_tier.entry(tier(*bytes)).or_default().push(at);
    }
    by_tier.into_values().find(|places| places.len() >= PARTS_MAX)
}

/// One part of all documents whose segments count; none if there are none.
pub(crate) fn merged(
    disk: &dyn PastDisk,
    parts: &[&Part],
    counts: &dyn Fn(&SegmentName) -> bool,
) -> Result<Option<Vec<u8>>> {
    let Some(first) = parts.first() else { return Ok(None) };
    let (mut segments, mut documents) = (Vec::<SegmentName>::new(), Vec::new());
    let mut terms: BTreeMap<Box<str>, PostingList> = BTreeMap::new();
    let mut joined = Vec::new();
    for part in parts {
        let header = &part.header;
        let kept: Vec<Option<u32>> = header
            .segments
            .iter()
            .map(|name| {
                counts(name).then(|| {
                    segments.push(*name);
                    u32::try_from(segments.len() - 1).unwrap_or(u32::MAX)
                })
            })
            .collect();
        let numbers: Vec<Option<u32>> = header
            .documents
            .iter()
            .map(|document| {
                let segment = (*kept.get(document.segment as usize)?)?;
                documents.push(part::DocumentRow { segment, ..*document });
                u32::try_from(documents.len() - 1).ok()
            })
            .collect();
        sketches::each(disk, part, &mut |document, bytes| {
            if numbers.get(document).copied().flatten().is_some() {
                joined.push(u8::try_from(bytes.len() / sketches::SKETCH_BYTES).unwrap_or(u8::MAX));
                joined.extend_from_slice(bytes);
            }
        })?;
        part.each(disk, &mut |term, postings| {
            for posting in postings {
                if let Some(document) = numbers[posting.document as usize] {
                    let moved = Posting { document, ..*posting };
                    match terms.get_mut(term) {
                        Some(list) => list.push(moved),
                        None => terms.entry(term.into()).or_default().push(moved),
                    }
                }
            }
        })?;
    }
    if documents.is_empty() {
        return Ok(None);
    }
    let terms = terms.iter().map(|(term, list)| (&**term, list));
    Ok(Some(part::pack(first.header.analysis, segments, documents, terms, &joined)))
}
