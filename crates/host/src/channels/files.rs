//! The files of conversations: one that is replaced whole, and a transcript that only grows.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use api::{ErrorCode, Fault};
use mind::conversation::ChannelMessage;
use service::error::{Error, Result};
use service::files::replace_private_file;

use crate::channels::PersistedChannel;

/// The folder of an actor's channels.
const FOLDER: &str = "channels";
/// Only the owner reads what was said.
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::io(path.display(), error)
}

fn folder(actor: &Path) -> PathBuf {
    actor.join(FOLDER)
}

/// `None` if there is no such channel.
pub(crate) fn load(actor: &Path, channel: &str) -> Result<Option<PersistedChannel>> {
    let path = folder(actor).join(format!("{channel}.json"));
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(&path, &error)),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| {
        let message = format!("{} cannot be read: {error}", path.display());
        Error::new(ErrorCode::ChannelUnreadable, Fault::Server, message)
            .with_hint("move the file away to begin the channel anew; its transcript stays")
    })
}

pub(crate) fn store(actor: &Path, persisted: &PersistedChannel) -> Result<()> {
    let folder = folder(actor);
    fs::DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(&folder)
        .map_err(|error| failed(&folder, &error))?;
    let path = folder.join(format!("{}.json", persisted.channel.channel_id));
    let bytes =
        serde_json::to_vec(persisted).map_err(|error| Error::internal(error.to_string()))?;
    replace_private_file(&path, &bytes).map_err(|error| failed(&path, &error))
}

/// Adds to the transcript. It holds every message as it was said, whatever left the context since.
pub(crate) fn transcribe(actor: &Path, channel: &str, messages: &[ChannelMessage]) -> Result<()> {
    let path = folder(actor).join(format!("{channel}.transcript.jsonl"));
    let mut lines = Vec::new();
    for message in messages {
        serde_json::to_writer(&mut lines, message)
            .map_err(|error| Error::internal(error.to_string()))?;
        lines.push(b'\n');
    }
    let write = || {
        let mut options = fs::OpenOptions::new();
        let mut file = options.append(true).create(true).mode(FILE_MODE).open(&path)?;
        file.write_all(&lines)?;
        file.sync_data()
    };
    write().map_err(|error| failed(&path, &error))
}

/// Takes messages of these words out of the transcript.
pub(crate) fn erase_said(actor: &Path, channel: &str, text: &str) -> Result<()> {
    let path = folder(actor).join(format!("{channel}.transcript.jsonl"));
    let whole = match fs::read_to_string(&path) {
        Ok(whole) => whole,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(&path, &error)),
    };
    let mut lines = String::new();
    for line in whole.lines() {
        // A line that was torn by a crash cannot be told apart from what must go.
        let Ok(mut message) = serde_json::from_str::<ChannelMessage>(line) else { continue };
        if message.text == text {
            mind::conversation::ERASED.clone_into(&mut message.text);
        }
        let line = serde_json::to_string(&message);
        lines.push_str(&line.map_err(|error| Error::internal(error.to_string()))?);
        lines.push('\n');
    }
    replace_private_file(&path, lines.as_bytes()).map_err(|error| failed(&path, &error))
}

/// Removes a channel and its transcript. Those that are gone already are fine.
pub(crate) fn remove(actor: &Path, channel: &str) -> Result<()> {
    for name in [format!("{channel}.json"), format!("{channel}.transcript.jsonl")] {
        let path = folder(actor).join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(&path, &error)),
            _ => {}
        }
    }
    Ok(())
}

/// The names of all channels, in order.
pub(crate) fn names(actor: &Path) -> Result<Vec<String>> {
    let folder = folder(actor);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(&folder, &error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(|error| failed(&folder, &error))?.file_name();
        names.extend(name.to_str().and_then(|name| name.strip_suffix(".json")).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}
