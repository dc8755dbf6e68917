//! A part of the index: documents, and for each term the documents that have it.
//!
//! What must stay true: it is named by the digest of its bytes and never changed. Terms are in order, in blocks that
//! are read one by one. A part of another analyzer is none, and is made again.

use minicbor::{Decode, Encode};

use super::{FOLDER, varint};
use crate::digests::{self, Digest32};
use crate::disk::PastDisk;
use crate::error::{Error, Result};

const MAGIC: &[u8] = b"cortex words 2\n";
/// Bytes of a block of terms before it is closed.
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
    first: String,
    #[n(1)]
    offset: u64,
    #[n(2)]
    length: u64,
}

/// A term in a document: what it is worth in what was said, and in what was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Posting {
    pub(crate) document: u32,
    pub(crate) speech: u8,
    pub(crate) work: u8,
}

/// Postings in order of their documents, as bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct PostingList {
    bytes: Vec<u8>,
    next: u32,
}

impl PostingList {
    pub(crate) fn push(&mut self, posting: Posting) {
        varint::write(u64::from(posting.document - self.next), &mut self.bytes);
        self.bytes.push(posting.speech);
        self.bytes.push(posting.work);
        self.next = posting.document + 1;
    }

    pub(super) fn length(&self) -> usize {
        self.bytes.len()
    }
}

fn postings(mut bytes: &[u8], documents: usize, take: &mut dyn FnMut(Posting)) -> Option<()> {
    let mut next = 0_u64;
    while !bytes.is_empty() {
        let (gap, rest) = varint::read(bytes)?;
        let ([speech, work], rest) = rest.split_first_chunk::<2>()?;
        let document = next.checked_add(gap).filter(|number| *number < documents as u64)?;
        take(Posting { document: u32::try_from(document).ok()?, speech: *speech, work: *work });
        next = document + 1;
        bytes = rest;
    }
    Some(())
}

/// Packs a part. `terms` are in order.
pub(crate) fn pack<'t>(
    analysis: (u32, u32),
    segments: Vec<SegmentName>,
    documents: Vec<DocumentRow>,
    terms: impl Iterator<Item = (&'t str, &'t PostingList)>,
    sketches: &[u8],
) -> Vec<u8> {
    let (mut body, mut blocks) = (Vec::new(), Vec::<TermBlock>::new());
    let mut is_open = false;
    for (term, list) in terms {
        if !is_open {
            blocks.push(TermBlock { first: term.to_owned(), offset: body.len() as u64, length: 0 });
        }
        varint::write(term.len() as u64, &mut body);
        body.extend_from_slice(term.as_bytes());
        varint::write(list.bytes.len() as u64, &mut body);
        body.extend_from_slice(&list.bytes);
        if let Some(block) = blocks.last_mut() {
            block.length = body.len() as u64 - block.offset;
            is_open = block.length < BLOCK_BYTES as u64;
        }
    }
    let header =
        PartHeader { analysis, segments, documents, blocks, sketch_bytes: sketches.len() as u64 };
    let header = minicbor::to_vec(&header).expect("a vector takes every byte");
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&(header.len() as u64).to_be_bytes());
    bytes.extend_from_slice(&header);
    bytes.extend_from_slice(&body);
    bytes.extend_from_slice(sketches);
    bytes
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
        let left = usize::try_from(self.header.sketch_bytes - at).unwrap_or(usize::MAX);
        let name = name_of(&self.digest);
        disk.read_range(&name, self.sketches_at + at, most.min(left))
            .map_err(|error| Error::file(&disk.path(&name), error))
    }

    fn block(&self, disk: &dyn PastDisk, block: &TermBlock) -> Result<Vec<u8>> {
        let name = name_of(&self.digest);
        let length = usize::try_from(block.length).unwrap_or(usize::MAX).min(1 << 30);
        disk.read_range(&name, self.body_at + block.offset, length)
            .map_err(|error| Error::file(&disk.path(&name), error))
    }

    fn damage(&self, disk: &dyn PastDisk) -> Error {
        Error::damage(&disk.path(&name_of(&self.digest)), "a list of terms is cut off")
    }

    /// The postings of a term.
    pub(crate) fn term(
        &self,
        disk: &dyn PastDisk,
        term: &str,
        take: &mut dyn FnMut(Posting),
    ) -> Result<()> {
        let after = self.header.blocks.partition_point(|block| block.first.as_str() <= term);
        let Some(block) = after.checked_sub(1).map(|at| &self.header.blocks[at]) else {
            return Ok(());
        };
        let bytes = self.block(disk, block)?;
        let documents = self.header.documents.len();
        let mut is_whole = Some(());
        walk(&bytes, &mut |found, list| {
            if found == term {
                is_whole = postings(list, documents, take);
            }
        })
        .and(is_whole)
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
        let from = self
            .header
            .blocks
            .partition_point(|block| block.first.as_str() <= prefix)
            .saturating_sub(1);
        for block in &self.header.blocks[from..] {
            if found.len() >= max
                || block.first.as_str() > prefix && !block.first.starts_with(prefix)
            {
                break;
            }
            let bytes = self.block(disk, block)?;
            walk(&bytes, &mut |term, _| {
                if term.starts_with(prefix) && found.len() < max {
                    found.push(term.to_owned());
                }
            })
            .ok_or_else(|| self.damage(disk))?;
        }
        Ok(found)
    }

    /// Every term with its postings, in order.
    pub(crate) fn each(
        &self,
        disk: &dyn PastDisk,
        take: &mut dyn FnMut(&str, &[Posting]),
    ) -> Result<()> {
        let documents = self.header.documents.len();
        for block in &self.header.blocks {
            let bytes = self.block(disk, block)?;
            let mut is_whole = true;
            walk(&bytes, &mut |term, list| {
                let mut all = Vec::new();
                is_whole &= postings(list, documents, &mut |posting| all.push(posting)).is_some();
                take(term, &all);
            })
            .filter(|()| is_whole)
            .ok_or_else(|| self.damage(disk))?;
        }
        Ok(())
    }
}

/// Visits the terms of a block.
fn walk(mut bytes: &[u8], visit: &mut dyn FnMut(&str, &[u8])) -> Option<()> {
    while !bytes.is_empty() {
        let (length, rest) = varint::read(bytes)?;
        let (term, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        let (length, rest) = varint::read(rest)?;
        let (list, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        visit(std::str::from_utf8(term).ok()?, list);
        bytes = rest;
    }
    Some(())
}
