//! What is in a checkpoint: a head, the files of a copy one after the other, and a seal over all of it with the secret
//! that only nodes of this ledger have.
//!
//! What must stay true: one that is cut off, changed or made by somebody else is refused, wherever it was changed.

use std::fs::{self, File};
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};

use kernel::CheckpointState;
use proof::Digest;
use proof::actor::ActorName;

use super::DIGITS;
use crate::seal::{keyed, same};

const MAGIC: &str = "cortex checkpoint 1";
/// Bytes that are read and hashed at a time.
pub(super) const PART_BYTES: usize = 1 << 20;
/// Bytes of a line of a head.
const LINE_BYTES_MAX: u64 = 256;
/// Files of one checkpoint: segments of the ledger and the derived rows.
const FILES_MAX: usize = 65_536;

fn other(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn seal_of(secret: &[u8], digest: &Digest) -> Digest {
    keyed(secret, &[b"checkpoint", digest.as_bytes()])
}

/// Writes a checkpoint of the files in `from`. Returns its bytes.
pub(super) fn pack(
    secret: &[u8],
    actor: &ActorName,
    state: CheckpointState,
    from: &Path,
    to: &mut impl Write,
) -> io::Result<u64> {
    let mut packed = HashChain::new(to);
    let CheckpointState { size, erased } = state;
    packed.put(format!("{MAGIC}\nactor {actor}\nsize {size}\nerased {erased}\n").as_bytes())?;
    for name in files_in(from)? {
        let mut file = File::open(from.join(&name))?;
        let length = file.metadata()?.len();
        packed.put(format!("file {name} {length}\n").as_bytes())?;
        let copied = copy_exactly(&mut file, length, |part| packed.put(part))?;
        if copied != length {
            return Err(other("a file grew shorter while it was packed"));
        }
    }
    packed.put(b"end\n")?;
    let seal = seal_of(secret, &packed.digest());
    packed.put(format!("seal {seal}\n").as_bytes())?;
    Ok(packed.bytes)
}

/// Puts the files of a checkpoint into a folder and names them in `written`, also if it fails.
pub(super) fn unpack(
    secret: &[u8],
    (actor, state): (&ActorName, CheckpointState),
    from: impl BufRead,
    into: &Path,
    written: &mut Vec<PathBuf>,
) -> io::Result<()> {
    let mut packed = HashChain::new(from);
    let CheckpointState { size, erased } = state;
    for expected in [
        MAGIC.to_owned(),
        format!("actor {actor}"),
        format!("size {size}"),
        format!("erased {erased}"),
    ] {
        if packed.line()? != expected {
            return Err(other("its head is not that of this checkpoint"));
        }
    }
    for _ in 0..=FILES_MAX {
        let line = packed.line()?;
        if line == "end" {
            let seal = seal_of(secret, &packed.digest());
            let given = packed.line()?.strip_prefix("seal ").and_then(|text| text.parse().ok());
            let is_sealed = given.is_some_and(|given| same(&given, &seal));
            return if is_sealed { Ok(()) } else { Err(other("its seal is not of this ledger")) };
        }
        let named = line.strip_prefix("file ").and_then(|rest| rest.split_once(' '));
        let named = named.and_then(|(name, length)| Some((name, length.parse().ok()?)));
        let Some((name, length)) = named.filter(|(name, _)| is_of_copy(name)) else {
            return Err(other("it holds what is no file of a copy"));
        };
        let path = into.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut to = options.open(&path)?;
        written.push(path);
        packed.copy(length, &mut to)?;
    }
    Err(other("it holds too many files"))
}

/// Bytes that are hashed on their way, one part after the other.
struct HashChain<T> {
    inner: T,
    digest: Digest,
    part: Vec<u8>,
    /// How many there were.
    bytes: u64,
}

impl<T> HashChain<T> {
    fn new(inner: T) -> HashChain<T> {
        HashChain { inner, digest: Digest::ZERO, part: Vec::new(), bytes: 0 }
    }

    /// Parts are of one length whoever hands them over, so that writer and reader hash the same ones.
    fn hash(&mut self, mut bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            let taken = bytes.len().min(PART_BYTES - self.part.len());
            self.part.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            if self.part.len() == PART_BYTES {
                self.digest = Digest::of(DOMAIN, &[self.digest.as_bytes(), &self.part]);
                self.part.clear();
            }
        }
    }

    /// Of everything so far.
    fn digest(&self) -> Digest {
        Digest::of(DOMAIN, &[self.digest.as_bytes(), &self.part])
    }
}

const DOMAIN: &str = "cortex/checkpoint/1";

impl<W: Write> HashChain<W> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash(bytes);
        self.inner.write_all(bytes)
    }
}

impl<R: BufRead> HashChain<R> {
    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        self.inner.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
        self.hash(&line);
        if line.pop() != Some(b'\n') {
            return Err(other("it is cut off"));
        }
        String::from_utf8(line).map_err(|_| other("its head is no text"))
    }

    fn copy(&mut self, length: u64, to: &mut File) -> io::Result<()> {
        let mut part = vec![0; PART_BYTES];
        let mut left = length;
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(PART_BYTES).min(PART_BYTES);
            self.inner.read_exact(&mut part[..wanted])?;
            self.hash(&part[..wanted]);
            to.write_all(&part[..wanted])?;
            left -= wanted as u64;
        }
        Ok(())
    }
}

/// Hands over at most `length` bytes of a file; returns how many there were.
fn copy_exactly(
    file: &mut File,
    length: u64,
    mut put: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<u64> {
    let mut part = vec![0; PART_BYTES];
    let mut left = length;
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(PART_BYTES).min(PART_BYTES);
        let read = file.read(&mut part[..wanted])?;
        if read == 0 {
            break;
        }
        put(&part[..read])?;
        left -= read as u64;
    }
    Ok(length - left)
}

/// The files of a copy, by their names below its folder, in order.
fn files_in(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = vec!["derived.redb".to_owned()];
    for entry in fs::read_dir(folder.join("ledger"))? {
        let name = entry?.file_name().into_string().map_err(|_| other("a name is no text"))?;
        names.extend(Some(format!("ledger/{name}")).filter(|name| is_of_copy(name)));
    }
    names.sort();
    Ok(names)
}

fn is_of_copy(name: &str) -> bool {
    let segment = |name: &str| {
        let digits = name.strip_prefix("ledger/").and_then(|name| name.strip_suffix(".log"));
        digits.is_some_and(|digits| {
            digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    name == "derived.redb" || segment(name)
}
