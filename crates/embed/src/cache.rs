//! Vectors of an optional model, in a file of the actor's `cache/` folder, by body hash and passage.
//!
//! There is one file for each model. Records are appended and never changed; all numbers are little-endian:
//!
//! | part | bytes | what |
//! |---|---|---|
//! | header | 8 | `cxembed2` |
//! | | 2 | dimensions, u16 |
//! | | 2 + n | length u16 of the model's id, the id |
//! | | 4 | CRC-32 of the header so far |
//! | record | 32 + 1 | body hash, number of the part (0 the whole text, 1 the first passage) |
//! | | 3 + 2 * dimensions | the vector, see `vector_bytes` |
//! | | 4 | CRC-32 of the record so far |
//!
//! The file is a cache: it may be deleted at any time, no root depends on it, and a damaged record counts as absent.
//! Vectors say something about the text they were made of, so those of erased memories must go: `retain` and
//! `forget_everywhere` rewrite the file without them. Memory holds one small entry for each record, never the vectors.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use kernel::Digest;
use recall::embedding::{DIMS_MAX, Embedding};
use recall::models::{TextPart, VectorSource};

use crate::vector_bytes::{decode, encode};

const MAGIC: &[u8; 8] = b"cxembed2";
/// Magic, dims, length of the model's id, then the id, then a checksum of all that.
const FIXED: usize = 8 + 2 + 2;
const MODEL_BYTES_MAX: usize = 1_024;
const HASH: usize = 32;
/// Body hash and number.
const PART: usize = HASH + 1;
const CHECK: usize = 4;
/// Records in one file. An index entry takes some 50 bytes of memory.
const RECORDS_MAX: usize = 1 << 24;

#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    #[error("embedding cache {}: {error}", file.display())]
    Io { file: PathBuf, error: io::Error },
    #[error("embedding cache: {0} dimensions are not between 1 and {DIMS_MAX}")]
    Dims(usize),
    #[error("embedding cache: the model's id has more than {MODEL_BYTES_MAX} bytes")]
    Model,
    #[error("embedding cache: a vector has {found} dimensions, not {wanted}")]
    WrongDims { found: usize, wanted: usize },
    #[error("embedding cache: more than {RECORDS_MAX} vectors")]
    Full,
}

impl CacheError {
    pub fn code(&self) -> &'static str {
        match self {
            CacheError::Io { .. } => "cache_io",
            CacheError::Dims(_) | CacheError::Model | CacheError::WrongDims { .. } => {
                "cache_mismatch"
            }
            CacheError::Full => "cache_full",
        }
    }
}

type Result<T> = std::result::Result<T, CacheError>;

/// The vectors of one model for one actor.
#[derive(Debug)]
pub struct EmbeddingCache {
    folder: PathBuf,
    file: PathBuf,
    header: Vec<u8>,
    dims: usize,
    /// Where a record stands, counted in records.
    index: HashMap<TextPart, u32>,
    /// Whole records in the file, good or not.
    records: u32,
    /// The last of them as it stands there: who finds it in its place again need not read what comes before.
    last: Vec<u8>,
    damaged: u64,
    /// Something at the end that is no whole record.
    torn: bool,
    /// `None` as long as there is no file.
    open: Option<Mutex<File>>,
}

impl EmbeddingCache {
    /// Reads the index of what is there. No file is made before there is something to put into it.
    pub fn open(folder: &Path, model: &str, dims: usize) -> Result<EmbeddingCache> {
        if dims == 0 || dims > DIMS_MAX {
            return Err(CacheError::Dims(dims));
        }
        if model.len() > MODEL_BYTES_MAX {
            return Err(CacheError::Model);
        }
        let name = Digest::of("cortex/embedding-cache/1", &[model.as_bytes()]).to_string();
        let mut cache = EmbeddingCache {
            folder: folder.to_owned(),
            file: folder.join(format!("embeddings-{}.bin", &name[..16])),
            header: header(model, dims),
            dims,
            index: HashMap::new(),
            records: 0,
            last: Vec::new(),
            damaged: 0,
            torn: false,
            open: None,
        };
        cache.read_index()?;
        Ok(cache)
    }

    pub fn len(&self) -> usize {
        self.index.len()
    }

    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    pub fn dims(&self) -> usize {
        self.dims
    }

    /// Bytes on disk.
    pub fn bytes(&self) -> u64 {
        if self.open.is_none() { 0 } else { self.place(self.records) }
    }

    /// Records that were there and could not be used, or 1 for a file whose header is not ours.
    pub fn damaged(&self) -> u64 {
        self.damaged + u64::from(self.torn)
    }

    /// True if there is a vector of the whole text. Whoever puts that last can rely on the passages, too.
    pub fn contains(&self, body: &Digest) -> bool {
        self.has(&TextPart::whole(*body))
    }

    fn has(&self, part: &TextPart) -> bool {
        self.index.contains_key(part)
    }

    pub fn get(&self, part: &TextPart) -> Result<Option<Embedding>> {
        let (Some(record), Some(file)) = (self.index.get(part), &self.open) else {
            return Ok(None);
        };
        let mut bytes = vec![0; self.record_size()];
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        self.io(file.seek(SeekFrom::Start(self.place(*record))))?;
        match file.read_exact(&mut bytes) {
            // Cut off by somebody else since it was read: as if it had never been there.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => self.io(other)?,
        }
        Ok(self.record(&bytes).filter(|(found, _)| found == part).map(|(_, vector)| vector))
    }

    /// Every vector, in the order of the file.
    pub fn scan(&self, visit: &mut dyn FnMut(TextPart, Embedding)) -> Result<()> {
        let Some(file) = &self.open else { return Ok(()) };
        let file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = BufReader::with_capacity(1 << 16, &*file);
        self.io(file.seek(SeekFrom::Start(self.place(0))))?;
        let mut bytes = vec![0; self.record_size()];
        for n in 0..self.records {
            if self.io(fill(&mut file, &mut bytes))? < bytes.len() {
                break;
            }
            if let Some((part, vector)) = self.record(&bytes)
                && self.index.get(&part) == Some(&n)
            {
                visit(part, vector);
            }
        }
        Ok(())
    }

    /// Appends what is new; returns how many were. They are on disk when this returns.
    pub fn put_many(&mut self, vectors: &[(TextPart, Embedding)]) -> Result<usize> {
        if let Some((_, vector)) = vectors.iter().find(|(_, vector)| vector.dims() != self.dims) {
            return Err(CacheError::WrongDims { found: vector.dims(), wanted: self.dims });
        }
        if vectors.iter().all(|(part, _)| self.has(part)) {
            return Ok(0);
        }
        self.io(std::fs::create_dir_all(&self.folder))?;
        let _turn_lock = self.turn()?;
        // Another process may have appended or rewritten since.
        self.read_index()?;
        if self.open.is_none() {
            self.write_anew(&mut |_| Ok(()))?;
        }
        let mut bytes = Vec::new();
        let mut added: Vec<TextPart> = Vec::new();
        let mut seen = HashSet::new();
        for (part, vector) in vectors {
            if !self.has(part) && seen.insert(*part) {
                append_record(&mut bytes, part, vector);
                added.push(*part);
            }
        }
        if self.records as usize + added.len() > RECORDS_MAX {
            return Err(CacheError::Full);
        }
        let end = self.place(self.records);
        let mut file = self.io(OpenOptions::new().write(true).open(&self.file))?;
        // A torn record at the end is written over.
        self.io(file.set_len(end))?;
        self.io(file.seek(SeekFrom::Start(end)))?;
        self.io(file.write_all(&bytes))?;
        self.io(file.sync_data())?;
        for part in &added {
            self.index.insert(*part, self.records);
            self.records += 1;
        }
        self.last = bytes.split_off(bytes.len().saturating_sub(self.record_size()));
        self.torn = false;
        Ok(added.len())
    }

    /// Keeps only the vectors of these bodies; returns how many went. The file is written again only if one does.
    pub fn retain(&mut self, keep: &dyn Fn(&Digest) -> bool) -> Result<usize> {
        if self.open.is_none() {
            return Ok(0);
        }
        let _turn_lock = self.turn()?;
        self.read_index()?;
        let before = self.index.len();
        self.index.retain(|part, _| keep(&part.body));
        let gone = before - self.index.len();
        if gone > 0 || self.damaged() > 0 {
            let mut failed = Ok(());
            let old = EmbeddingCache {
                folder: self.folder.clone(),
                file: self.file.clone(),
                header: self.header.clone(),
                index: std::mem::take(&mut self.index),
                last: Vec::new(),
                open: self.open.take(),
                ..*self
            };
            self.write_anew(&mut |out| {
                let mut bytes = Vec::new();
                let scanned = old.scan(&mut |part, vector| {
                    if failed.is_ok() {
                        bytes.clear();
                        append_record(&mut bytes, &part, &vector);
                        failed = out.write_all(&bytes);
                    }
                });
                scanned.map_err(io::Error::other)?;
                std::mem::replace(&mut failed, Ok(()))
            })?;
            // What was just written is read once more: the index then stands for what is on disk.
            self.read_index()?;
        }
        Ok(gone)
    }

    /// A new file with a header and what `fill` writes takes the place of the old one, whole or not at all.
    fn write_anew(
        &mut self,
        fill: &mut dyn FnMut(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<()> {
        let unfinished = self.file.with_extension("new");
        let mut out = BufWriter::new(self.io(File::create(&unfinished))?);
        self.io(out.write_all(&self.header))?;
        self.io(fill(&mut out))?;
        let file = self.io(out.into_inner().map_err(io::IntoInnerError::into_error))?;
        self.io(file.sync_all())?;
        self.io(std::fs::rename(&unfinished, &self.file))?;
        self.open = Some(Mutex::new(self.io(File::open(&self.file))?));
        self.start_anew(false);
        Ok(())
    }

    /// One process at a time changes the files of a folder. Given back when dropped.
    fn turn(&self) -> Result<File> {
        let path = self.folder.join("embeddings.lock");
        let lock = self.io(OpenOptions::new().create(true).append(true).open(path))?;
        self.io(lock.lock())?;
        Ok(lock)
    }

    /// Brings the index up to what the file holds now.
    fn read_index(&mut self) -> Result<()> {
        self.open = None;
        let file = match File::open(&self.file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.start_anew(false);
                return Ok(());
            }
            other => self.io(other)?,
        };
        let mut reader = BufReader::with_capacity(1 << 16, &file);
        let mut found = vec![0; self.header.len()];
        let length = self.io(fill(&mut reader, &mut found))?;
        if length < found.len() || found != self.header {
            // Not written to its end, or not of this model: `put_many` starts anew.
            self.start_anew(true);
            return Ok(());
        }
        let mut bytes = vec![0; self.record_size()];
        if let Some(before) = self.records.checked_sub(1) {
            self.io(reader.seek(SeekFrom::Start(self.place(before))))?;
            if self.io(fill(&mut reader, &mut bytes))? < bytes.len() || bytes != self.last {
                self.start_anew(false);
                self.io(reader.seek(SeekFrom::Start(self.place(0))))?;
            }
        }
        self.torn = false;
        loop {
            let read = self.io(fill(&mut reader, &mut bytes))?;
            if read < bytes.len() {
                self.torn = read > 0;
                break;
            }
            // A later record of the same part is the newer one.
            match self.record(&bytes) {
                Some((part, _)) => _ = self.index.insert(part, self.records),
                None => self.damaged += 1,
            }
            self.records = self.records.checked_add(1).ok_or(CacheError::Full)?;
            self.last.clone_from(&bytes);
        }
        drop(reader);
        self.open = Some(Mutex::new(file));
        Ok(())
    }

    fn start_anew(&mut self, torn: bool) {
        self.index.clear();
        self.last.clear();
        (self.records, self.damaged, self.torn) = (0, 0, torn);
    }

    fn record(&self, bytes: &[u8]) -> Option<(TextPart, Embedding)> {
        let (content, check) = bytes.split_last_chunk::<CHECK>()?;
        if crc32fast::hash(content).to_le_bytes() != *check {
            return None;
        }
        let (body, rest) = content.split_first_chunk::<HASH>()?;
        let (&n, vector) = rest.split_first()?;
        let vector = decode(vector).ok().filter(|vector| vector.dims() == self.dims)?;
        Some((TextPart { body: Digest(*body), n }, vector))
    }

    fn record_size(&self) -> usize {
        PART + encode(&Embedding::zero(self.dims)).len() + CHECK
    }

    fn place(&self, record: u32) -> u64 {
        self.header.len() as u64 + u64::from(record) * self.record_size() as u64
    }

    fn io<T>(&self, result: io::Result<T>) -> Result<T> {
        result.map_err(|error| CacheError::Io { file: self.file.clone(), error })
    }
}

impl VectorSource for EmbeddingCache {
    type Error = CacheError;

    fn dims(&self) -> usize {
        EmbeddingCache::dims(self)
    }

    fn contains(&self, body: &Digest) -> bool {
        EmbeddingCache::contains(self, body)
    }

    fn scan(&self, visit: &mut dyn FnMut(TextPart, Embedding)) -> Result<()> {
        EmbeddingCache::scan(self, visit)
    }
}

/// Takes the vectors of these bodies out of every cache of a folder, whatever the model; returns how many there were.
pub fn forget_everywhere(folder: &Path, bodies: &[Digest]) -> Result<usize> {
    let mut gone = 0;
    for file in files(folder)? {
        let io = |error| CacheError::Io { file: file.clone(), error };
        if let Some((model, dims)) = read_header(&file).map_err(io)? {
            let mut cache = EmbeddingCache::open(folder, &model, dims)?;
            gone += cache.retain(&|body| !bodies.contains(body))?;
        } else {
            // Its records cannot be read, so nobody can tell whether they are of an erased memory: the file goes.
            std::fs::remove_file(&file).map_err(io)?;
        }
    }
    Ok(gone)
}

/// The cache files of a folder, in order.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let io = |error| CacheError::Io { file: folder.to_owned(), error };
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(io)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(io)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // One that was never finished is as good as one that was damaged.
        let ours = path.extension().is_some_and(|end| end == "bin" || end == "new");
        if ours && name.starts_with("embeddings-") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn header(model: &str, dims: usize) -> Vec<u8> {
    let short = |n: usize| u16::try_from(n).unwrap_or(u16::MAX).to_le_bytes();
    let mut out = [&MAGIC[..], &short(dims), &short(model.len()), model.as_bytes()].concat();
    out.extend(crc32fast::hash(&out).to_le_bytes());
    out
}

/// Model and dimensions of a file; `None` if its header is not one of ours.
fn read_header(file: &Path) -> io::Result<Option<(String, usize)>> {
    let mut start = Vec::new();
    let most = (FIXED + MODEL_BYTES_MAX + CHECK) as u64;
    File::open(file)?.take(most).read_to_end(&mut start)?;
    let whole = || {
        let dims = usize::from(u16::from_le_bytes(start.get(8..10)?.try_into().ok()?));
        let length = usize::from(u16::from_le_bytes(start.get(10..12)?.try_into().ok()?));
        let model = std::str::from_utf8(start.get(FIXED..FIXED + length)?).ok()?;
        let named = dims > 0 && dims <= DIMS_MAX && start.starts_with(&header(model, dims));
        let right = file.extension().is_some_and(|extension| extension == "bin");
        (named && right).then(|| (model.to_owned(), dims))
    };
    Ok(whole())
}

fn append_record(out: &mut Vec<u8>, part: &TextPart, vector: &Embedding) {
    let from = out.len();
    out.extend(part.body.as_bytes());
    out.push(part.n);
    out.extend(encode(vector));
    out.extend(crc32fast::hash(&out[from..]).to_le_bytes());
}

/// Reads until the buffer is full or the file ends; returns how much there was.
fn fill(reader: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests;
