//! Joins parts of the index, and leaves out documents that do not count any more.
//!
//! What must stay true: it changes no answer. Parts of like size are joined, so a posting is written again only a few
//! times however often something is added; of each part one block of terms is held at a time.

use std::collections::BTreeMap;

use super::part::{self, Part, PartWriter, Posting, PostingList, SegmentName, TermCursor};
use super::sketches::{self, SketchRows};
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

/// A part on its way into another: where its terms stand, and what its documents are called there.
struct JoinedPart<'p> {
    part: &'p Part,
    cursor: TermCursor<'p>,
    has_more: bool,
    numbers: Vec<Option<u32>>,
}

/// One part of all documents whose segments count; none if there are none.
pub(crate) fn merged(
    disk: &dyn PastDisk,
    parts: &[&Part],
    counts: &dyn Fn(&SegmentName) -> bool,
) -> Result<Option<Vec<u8>>> {
    let Some(first) = parts.first() else { return Ok(None) };
    let (mut segments, mut documents) = (Vec::<SegmentName>::new(), Vec::new());
    let (mut rows, mut joined) = (SketchRows::default(), Vec::new());
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
        sketches::each(disk, part, &mut |first, group| {
            for (place, sketches) in group.documents() {
                if numbers.get(first + place).copied().flatten().is_some() {
                    rows.push(sketches);
                }
            }
        })?;
        let mut cursor = part.cursor();
        let has_more = cursor.advance(disk)?;
        joined.push(JoinedPart { part, cursor, has_more, numbers });
    }
    if documents.is_empty() {
        return Ok(None);
    }
    let mut writer = PartWriter::default();
    let mut list = PostingList::default();
    loop {
        let open = joined.iter().filter(|part| part.has_more);
        let Some(term) = open.map(|part| &part.cursor.term).min().cloned() else { break };
        list.clear();
        for part in joined.iter_mut().filter(|part| part.has_more && part.cursor.term == term) {
            let known = part.part.header.documents.len();
            part::postings(part.cursor.list(), known, |posting| {
                if let Some(document) = part.numbers[posting.document as usize] {
                    list.push(Posting { document, ..posting });
                }
            })
            .ok_or_else(|| part.part.damage(disk))?;
            part.has_more = part.cursor.advance(disk)?;
        }
        if !list.bytes().is_empty() {
            writer.term(&term, list.bytes());
        }
    }
    Ok(Some(writer.finish(first.header.analysis, segments, documents, &rows)))
}
