//! Checkpoints as objects of a bucket: S3 and what speaks like it, Google Cloud Storage, Azure.
//!
//! What must stay true: an object appears when its last part is there, and one that cannot be finished is given up; no
//! question waits longer than its time; keys of the store are shown nowhere.

use std::fmt;
use std::io::{self, BufReader, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt as _, WriteMultipart};
use proof::actor::ActorName;
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::error::{Error, Result};

/// Bytes of one part, on their way there and back. Stores take 10,000 parts, so checkpoints of 80 GB.
const PART_BYTES: usize = 8 << 20;
/// Parts that are on their way at once.
const PARTS_MAX: usize = 2;
/// How long the store may take for one part or question.
const ANSWER_WAIT: Duration = Duration::from_secs(30);
/// Beginnings of the variables that say how to get at a store.
pub const VARIABLES: [&str; 3] = ["AWS_", "AZURE_", "GOOGLE_"];

/// Beginnings of addresses.
const SCHEMES: [&str; 5] = ["s3", "gs", "az", "azure", "abfss"];

/// A bucket, and where in it checkpoints are.
#[derive(Clone)]
pub struct Bucket {
    store: Arc<dyn ObjectStore>,
    prefix: ObjectPath,
    address: String,
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bucket").field("at", &self.address).finish_non_exhaustive()
    }
}

fn failed(error: object_store::Error) -> io::Error {
    let kind = match error {
        object_store::Error::NotFound { .. } => io::ErrorKind::NotFound,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}

/// Waits for the store, on any thread that may block.
fn wait<T>(
    runtime: &Handle,
    asked: impl Future<Output = object_store::Result<T>>,
) -> io::Result<T> {
    match runtime.block_on(async { timeout(ANSWER_WAIT, asked).await }) {
        Ok(answer) => answer.map_err(failed),
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the store does not answer")),
    }
}

impl Bucket {
    pub(super) fn open(address: &str, variables: &[(String, String)]) -> Result<Bucket> {
        // Whoever was first has set the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let wrong = |why: String| Error::Invalid(format!("{address}: {why}"));
        let url = url::Url::parse(address).map_err(|error| wrong(error.to_string()))?;
        if !SCHEMES.contains(&url.scheme()) {
            return Err(wrong(format!(
                "an address of a bucket begins with {}",
                SCHEMES.join(", ")
            )));
        }
        let names = variables.iter().map(|(name, value)| (name, value));
        let (store, prefix) =
            object_store::parse_url_opts(&url, names).map_err(|error| wrong(error.to_string()))?;
        Ok(Bucket { store: store.into(), prefix, address: address.to_owned() })
    }

    /// A bucket that lasts as long as the test.
    #[cfg(test)]
    pub(super) fn in_memory() -> Bucket {
        let store = Arc::new(object_store::memory::InMemory::new());
        Bucket { store, prefix: ObjectPath::from("kept"), address: "memory".to_owned() }
    }

    fn key(&self, actor: &ActorName, name: &str) -> ObjectPath {
        self.prefix.clone().join(actor.as_str()).join(name)
    }

    /// The names of an actor's objects.
    pub(super) fn names(&self, runtime: &Handle, actor: &ActorName) -> io::Result<Vec<String>> {
        let folder = self.prefix.clone().join(actor.as_str());
        let found = wait(runtime, self.store.list_with_delimiter(Some(&folder)))?;
        let names = found.objects.iter().filter_map(|object| object.location.filename());
        Ok(names.map(str::to_owned).collect())
    }

    pub(super) fn delete(&self, runtime: &Handle, actor: &ActorName, name: &str) -> io::Result<()> {
        wait(runtime, self.store.delete(&self.key(actor, name)))
    }

    pub(super) fn upload(
        &self,
        runtime: &Handle,
        actor: &ActorName,
        name: &str,
    ) -> io::Result<Upload> {
        let begun = wait(runtime, self.store.put_multipart(&self.key(actor, name)))?;
        let parts = WriteMultipart::new_with_chunk_size(begun, PART_BYTES);
        Ok(Upload { parts, runtime: runtime.clone() })
    }

    pub(super) fn download(
        &self,
        runtime: &Handle,
        actor: &ActorName,
        name: &str,
    ) -> io::Result<BufReader<Download>> {
        let key = self.key(actor, name);
        let length = wait(runtime, self.store.head(&key))?.size;
        let store = Arc::clone(&self.store);
        let download = Download { store, key, at: 0, length, runtime: runtime.clone() };
        Ok(BufReader::with_capacity(PART_BYTES, download))
    }
}

/// An object on its way to the bucket, part by part.
pub(super) struct Upload {
    parts: WriteMultipart,
    runtime: Handle,
}

impl Upload {
    /// Finishes the object if everything was written, else gives it up.
    pub(super) fn end(self, written: io::Result<u64>) -> io::Result<u64> {
        let Upload { parts, runtime } = self;
        match written {
            Ok(bytes) => wait(&runtime, parts.finish()).map(|_| bytes),
            Err(error) => {
                // The store forgets parts of what was never finished by its own rules; the first error counts.
                let _ = wait(&runtime, parts.abort());
                Err(error)
            }
        }
    }
}

impl Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Upload { parts, runtime } = self;
        wait(runtime, async {
            parts.wait_for_capacity(PARTS_MAX).await?;
            parts.write(bytes);
            Ok(bytes.len())
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An object on its way from the bucket, as many bytes at a time as its reader has room for.
pub(super) struct Download {
    store: Arc<dyn ObjectStore>,
    key: ObjectPath,
    at: u64,
    length: u64,
    runtime: Handle,
}

impl Read for Download {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let end = self.length.min(self.at + into.len() as u64);
        if end == self.at {
            return Ok(0);
        }
        let part = wait(&self.runtime, self.store.get_range(&self.key, self.at..end))?;
        let taken = part.len().min(into.len());
        into[..taken].copy_from_slice(&part[..taken]);
        self.at += taken as u64;
        Ok(taken)
    }
}
