//! A part of the index: documents, and for each term the documents that have it.
//!
//! What must stay true: it is named by the digest of its bytes and never changed. Terms are in order, in compressed
//! blocks that are read one by one; of a term only what the one before it in its block lacks is written. A part of
//! another analyzer or form is none, and is made again.

use std::ops::ControlFlow;

use minicbor::{Decode, Encode};

use super::sketches::SketchRows;
use super::{FOLDER, varint};
use crate::disk::PastDisk;
use crate::error::{Error, Result};
use crate::packing::{self, PackLevel};
use transcripts::digests::{self, Digest32};

const MAGIC: &[u8] = b"cortex words 4\n";
/// Bytes of a block of terms before it is closed and compressed.
const BLOCK_BYTES: usize = 16 << 10;

#[derive(Clone, Debug, Encode, Decode)]
pub(crate) struct PartHeader {
    /// Analyzer and language.
    #[n(0)]
    pub(crate) analysis: (u32, u32),
    #[n(1)]
    pub(crate) segments: Vec<SegmentName>,
    #[n(2)]
    pub(crate) documents: Vec<DocumentRow>,
    #[n(3)]
    blocks: Vec<TermBlock>,
    /// Bytes of the sketches behind the terms.
    #[n(4)]
    sketch_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub(crate) struct SegmentName {
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    pub(crate) digest: Digest32,
}

/// What one segment holds of one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub(crate) struct DocumentRow {
    #[n(0)]
    pub(crate) segment: u32,
    #[n(1)]
    pub(crate) turn: u32,
    #[n(2)]
    pub(crate) at: i64,
}

#[derive(Clone, Debug, Encode, Decode)]
struct TermBlock {
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    first: Vec<u8>,
    #[n(1)]
    offset: u64,
    #[n(2)]
    length: u64,
    /// Bytes when it is unpacked.
    #[n(3)]
    raw: u64,
}

/// A term in a document: what it is worth in what was said, and in what was done. One of them is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Posting {
    pub(crate) document: u32,
    pub(crate) speech: u8,
    pub(crate) work: u8,
}

/// Postings in order of their documents, as bytes: the gap to the document before with two bits that say which worths
/// follow.
#[derive(Clone, Debug, Default)]
pub(crate) struct PostingList {
    bytes: Vec<u8>,
    next: u32,
}

impl PostingList {
    pub(crate) fn push(&mut self, posting: Posting) {
        let gap = u64::from(posting.document - self.next);
        let worths = u64::from(posting.speech > 0) | u64::from(posting.work > 0) << 1;
        varint::write(gap << 2 | worths, &mut self.bytes);
        self.bytes.extend([posting.speech, posting.work].iter().filter(|worth| **worth > 0));
        self.next = posting.document + 1;
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.next = 0;
    }
}

/// Reads a list of postings; nothing if it is cut off.
pub(super) fn postings(
    mut bytes: &[u8],
    documents: usize,
    mut take: impl FnMut(Posting),
) -> Option<()> {
    let mut next = 0_u64;
    while !bytes.is_empty() {
        let (head, mut rest) = varint::read(bytes)?;
        let mut worth = |is_there: bool| -> Option<u8> {
            if !is_there {
                return Some(0);
            }
            let (first, after) = rest.split_first()?;
            rest = after;
            Some(*first)
        };
        let (speech, work) = (worth(head & 1 > 0)?, worth(head & 2 > 0)?);
        let document = next.checked_add(head >> 2).filter(|number| *number < documents as u64)?;
        take(Posting { document: u32::try_from(document).ok()?, speech, work });
        next = document + 1;
        bytes = rest;
    }
    Some(())
}

/// Puts a part together, term by term in their order.
#[derive(Debug, Default)]
pub(crate) struct PartWriter {
    body: Vec<u8>,
    blocks: Vec<TermBlock>,
    /// The block that is not closed yet.
    open: Vec<u8>,
    last: Vec<u8>,
}

impl PartWriter {
    pub(crate) fn term(&mut self, term: &[u8], list: &[u8]) {
        if self.open.is_empty() {
            let offset = self.body.len() as u64;
            self.blocks.push(TermBlock { first: term.to_vec(), offset, length: 0, raw: 0 });
            self.last.clear();
        }
        let shared = self.last.iter().zip(term).take_while(|(one, other)| one == other).count();
        varint::write(shared as u64, &mut self.open);
        varint::write((term.len() - shared) as u64, &mut self.open);
        self.open.extend_from_slice(&term[shared..]);
        varint::write(list.len() as u64, &mut self.open);
        self.open.extend_from_slice(list);
        term.clone_into(&mut self.last);
        if self.open.len() >= BLOCK_BYTES {
            self.close();
        }
    }

    /// Compresses the block that is open.
    fn close(&mut self) {
        let Some(block) = self.blocks.last_mut().filter(|_| !self.open.is_empty()) else { return };
        let packed = packing::packed(PackLevel::Lists, &self.open);
        (block.length, block.raw) = (packed.len() as u64, self.open.len() as u64);
        self.body.extend_from_slice(&packed);
        self.open.clear();
    }

    pub(crate) fn finish(
        mut self,
        analysis: (u32, u32),
        segments: Vec<SegmentName>,
        documents: Vec<DocumentRow>,
        sketches: &SketchRows,
    ) -> Vec<u8> {
        self.close();
        let sketch_bytes = sketches.bytes();
        let header =
            PartHeader { analysis, segments, documents, blocks: self.blocks, sketch_bytes };
        let header = minicbor::to_vec(&header).expect("a vector takes every byte");
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&(header.len() as u64).to_be_bytes());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(&self.body);
        sketches.write(&mut bytes);
        bytes
    }
}

pub(crate) fn name_of(digest: &Digest32) -> String {
    format!("{FOLDER}/{}.part", digests::hex(digest))
}

/// A part that can be asked.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) digest: Digest32,
    pub(crate) header: PartHeader,
    body_at: u64,
    sketches_at: u64,
    pub(crate) bytes: u64,
}

impl Part {
    /// Reads the header of a part.
    pub(crate) fn open(disk: &dyn PastDisk, digest: Digest32) -> Result<Part> {
        let name = name_of(&digest);
        let failed = |error| Error::file(&disk.path(&name), error);
        let start = disk.read_range(&name, 0, MAGIC.len() + 8).map_err(failed)?;
        let length = start.strip_prefix(MAGIC).and_then(|rest| rest.first_chunk::<8>());
        let damage = |what: &str| Error::damage(&disk.path(&name), what);
        let length =
            length.ok_or_else(|| damage("it is no part of a form that this build knows"))?;
        let length = usize::try_from(u64::from_be_bytes(*length))
            .map_err(|_| damage("its header is too long"))?;
        let header = disk.read_range(&name, start.len() as u64, length).map_err(failed)?;
        let header: PartHeader =
            minicbor::decode(&header).map_err(|error| damage(&error.to_string()))?;
        let body_at = (start.len() + length) as u64;
        let sketches_at =
            body_at + header.blocks.last().map_or(0, |block| block.offset + block.length);
        let bytes = sketches_at + header.sketch_bytes;
        Ok(Part { digest, header, body_at, sketches_at, bytes })
    }

    pub(super) fn sketch_bytes(&self) -> u64 {
        self.header.sketch_bytes
    }

    /// Some bytes of the sketches, fewer at their end.
    pub(super) fn sketch_slice(
        &self,
        disk: &dyn PastDisk,
        at: u64,
        most: usize,
    ) -> Result<Vec<u8>> {
        let left = self.header.sketch_bytes.saturating_sub(at);
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let name = name_of(&self.digest);
        disk.read_range(&name, self.sketches_at + at, most.min(left))
            .map_err(|error| Error::file(&disk.path(&name), error))
    }

    fn block(&self, disk: &dyn PastDisk, block: &TermBlock) -> Result<Vec<u8>> {
        let name = name_of(&self.digest);
        let bounded = |length: u64| usize::try_from(length).unwrap_or(usize::MAX).min(1 << 30);
        let packed = disk
            .read_range(&name, self.body_at + block.offset, bounded(block.length))
            .map_err(|error| Error::file(&disk.path(&name), error))?;
        unpacked(&packed, bounded(block.raw)).ok_or_else(|| self.damage(disk))
    }

    pub(super) fn damage(&self, disk: &dyn PastDisk) -> Error {
        Error::damage(&disk.path(&name_of(&self.digest)), "a list of it is cut off")
    }

    /// The postings of a term.
    pub(crate) fn term(
        &self,
        disk: &dyn PastDisk,
        term: &str,
        take: impl FnMut(Posting),
    ) -> Result<()> {
        let term = term.as_bytes();
        let after = self.header.blocks.partition_point(|block| block.first.as_slice() <= term);
        let Some(block) = after.checked_sub(1).map(|at| &self.header.blocks[at]) else {
            return Ok(());
        };
        let bytes = self.block(disk, block)?;
        let documents = self.header.documents.len();
        let mut list = None;
        walk(&bytes, &mut |found, postings| match found.cmp(term) {
            std::cmp::Ordering::Less => ControlFlow::Continue(()),
            std::cmp::Ordering::Equal => {
                list = Some(postings);
                ControlFlow::Break(())
            }
            std::cmp::Ordering::Greater => ControlFlow::Break(()),
        })
        .and_then(|()| list.map_or(Some(()), |list| postings(list, documents, take)))
        .ok_or_else(|| self.damage(disk))
    }

    /// Terms that begin like this, in order, at most `max`.
    pub(crate) fn beginning(
        &self,
        disk: &dyn PastDisk,
        prefix: &str,
        max: usize,
    ) -> Result<Vec<String>> {
        let mut found = Vec::new();
        let prefix = prefix.as_bytes();
        let from = self
            .header
            .blocks
            .partition_point(|block| block.first.as_slice() <= prefix)
            .saturating_sub(1);
        for block in &self.header.blocks[from..] {
            if found.len() >= max
                || block.first.as_slice() > prefix && !block.first.starts_with(prefix)
            {
                break;
            }
            let bytes = self.block(disk, block)?;
            walk(&bytes, &mut |term, _| {
                if term.starts_with(prefix) && found.len() < max {
                    found.push(String::from_utf8_lossy(term).into_owned());
                }
                ControlFlow::Continue(())
            })
            .ok_or_else(|| self.damage(disk))?;
        }
        Ok(found)
    }

    /// All terms with their lists, one after the other.
    pub(super) fn cursor(&self) -> TermCursor<'_> {
        TermCursor { part: self, block: 0, bytes: Vec::new(), at: 0, term: Vec::new(), list: 0..0 }
    }
}

/// The bytes of a block; nothing if they are not what it says.
fn unpacked(packed: &[u8], raw: usize) -> Option<Vec<u8>> {
    packing::unpacked(packed, raw).ok().filter(|bytes| bytes.len() == raw)
}

/// Who is shown a term with its list, and says whether there is to be another.
type TermVisit<'v, 'b> = dyn FnMut(&[u8], &'b [u8]) -> ControlFlow<()> + 'v;

/// Visits the terms of a block with their lists until it is told to stop; nothing if the block is cut off.
fn walk<'b>(bytes: &'b [u8], visit: &mut TermVisit<'_, 'b>) -> Option<()> {
    let (mut at, mut term) = (0, Vec::new());
    while at < bytes.len() {
        let list = next_term(bytes, &mut at, &mut term)?;
        if visit(&term, &bytes[list]).is_break() {
            break;
        }
    }
    Some(())
}

/// Reads the term at a place, and where its list is; the place is behind it then.
fn next_term(bytes: &[u8], at: &mut usize, term: &mut Vec<u8>) -> Option<std::ops::Range<usize>> {
    let mut number = || -> Option<usize> {
        let rest = bytes.get(*at..)?;
        let (number, after) = varint::read(rest)?;
        *at += rest.len() - after.len();
        usize::try_from(number).ok()
    };
    let (shared, length) = (number()?, number()?);
    let end = at.checked_add(length)?;
    let suffix = bytes.get(*at..end)?;
    if shared > term.len() {
        return None;
    }
    term.truncate(shared);
    term.extend_from_slice(suffix);
    *at = end;
    let rest = bytes.get(*at..)?;
    let (length, after) = varint::read(rest)?;
    let start = *at + rest.len() - after.len();
    let end = start.checked_add(usize::try_from(length).ok()?).filter(|end| *end <= bytes.len())?;
    *at = end;
    Some(start..end)
}

/// Stands at a term of a part, and holds one block.
pub(super) struct TermCursor<'p> {
    part: &'p Part,
    /// The block after the one that is held.
    block: usize,
    bytes: Vec<u8>,
    at: usize,
    pub(super) term: Vec<u8>,
    list: std::ops::Range<usize>,
}

impl TermCursor<'_> {
    /// Goes to the next term; false behind the last.
    pub(super) fn advance(&mut self, disk: &dyn PastDisk) -> Result<bool> {
        while self.at >= self.bytes.len() {
            let Some(block) = self.part.header.blocks.get(self.block) else { return Ok(false) };
            self.bytes = self.part.block(disk, block)?;
            self.block += 1;
            self.at = 0;
            self.term.clear();
        }
        self.list = next_term(&self.bytes, &mut self.at, &mut self.term)
            .ok_or_else(|| self.part.damage(disk))?;
        Ok(true)
    }

    pub(super) fn list(&self) -> &[u8] {
        &self.bytes[self.list.clone()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postings_come_back_and_a_list_that_is_cut_off_is_none() {
        let all = [(0, 3, 0), (1, 0, 9), (70, 255, 1), (4_000, 1, 0)]
            .map(|(document, speech, work)| Posting { document, speech, work });
        let mut list = PostingList::default();
        all.iter().for_each(|posting| list.push(*posting));
        let mut read = Vec::new();
        assert!(postings(list.bytes(), 4_001, |posting| read.push(posting)).is_some());
        assert_eq!(read, all);
        assert!(postings(&list.bytes()[..list.bytes().len() - 1], 4_001, |_| ()).is_none());
        assert!(postings(list.bytes(), 4_000, |_| ()).is_none());
    }

    #[test]
    fn terms_share_their_beginnings_within_a_block_and_none_is_lost() {
        let terms: Vec<String> = (0..9_000).map(|n| format!("term{n:05}")).collect();
        let mut writer = PartWriter::default();
        for (number, term) in terms.iter().enumerate() {
            let mut list = PostingList::default();
            let document = u32::try_from(number % 50).unwrap();
            list.push(Posting { document, speech: 1, work: 0 });
            writer.term(term.as_bytes(), list.bytes());
        }
        writer.close();
        assert!(writer.blocks.len() > 2, "{}", writer.blocks.len());
        let mut met = Vec::new();
        for block in &writer.blocks {
            let from = usize::try_from(block.offset).unwrap();
            let packed = &writer.body[from..from + usize::try_from(block.length).unwrap()];
            let bytes = unpacked(packed, usize::try_from(block.raw).unwrap()).unwrap();
            assert!(unpacked(&packed[1..], bytes.len()).is_none());
            walk(&bytes, &mut |term, _| {
                met.push(String::from_utf8(term.to_vec()).unwrap());
                ControlFlow::Continue(())
            })
            .unwrap();
            assert!(
                walk(&bytes[..bytes.len() - 1], &mut |_, _| ControlFlow::Continue(())).is_none()
            );
        }
        assert_eq!(met, terms);
    }
}
