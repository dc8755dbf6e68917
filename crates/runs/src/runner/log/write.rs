//! Writing one run log.
//!
//! The log appears whole with its first line: it is written under another name and then linked to its own, which
//! also fails if the name is taken. A line that cannot be written whole is taken back. The last line and the new
//! name are made durable.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use api::run::RunEvent;
use llm::files::sync_folder;

use talents::{Layout, TalentName, UseId};

/// A log that is being written.
#[derive(Debug)]
pub(in crate::runner) struct RunLogWriter {
    file: File,
    layout: Layout,
    name: TalentName,
    run: UseId,
    /// The place of the next event.
    seq: u64,
    bytes: u64,
}

impl RunLogWriter {
    /// Begins a log with its request. The error is of kind `AlreadyExists` if the run exists.
    pub(in crate::runner) fn create(
        layout: &Layout,
        name: &TalentName,
        run: &UseId,
        request: &RunEvent,
    ) -> io::Result<RunLogWriter> {
        let folder = layout.runs_of(name);
        fs::create_dir_all(&folder)?;
        if layout.ended_run(name, run).try_exists()? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let made = folder.join(format!(".{run}.new"));
        let file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&made)?;
        let mut log = RunLogWriter {
            file,
            layout: layout.clone(),
            name: name.clone(),
            run: run.clone(),
            seq: 0,
            bytes: 0,
        };
        let begun = log
            .append(request.clone())
            .and_then(|_| fs::hard_link(&made, layout.active_run(name, run)));
        fs::remove_file(&made)?;
        begun.map(|()| log)
    }

    /// Opens a log that another process left, behind `seq` events and `bytes` bytes; what comes after those is cut off.
    pub(in crate::runner) fn reopen(
        layout: &Layout,
        name: &TalentName,
        run: &UseId,
        seq: u64,
        bytes: u64,
    ) -> io::Result<RunLogWriter> {
        let path = layout.active_run(name, run);
        let file = OpenOptions::new().append(true).open(path)?;
        file.set_len(bytes)?;
        Ok(RunLogWriter {
            file,
            layout: layout.clone(),
            name: name.clone(),
            run: run.clone(),
            seq,
            bytes,
        })
    }

    pub(in crate::runner) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes one event with its place, and gives it back as it was written.
    pub(in crate::runner) fn append(&mut self, mut event: RunEvent) -> io::Result<RunEvent> {
        event.set("seq", self.seq);
        let line = format!("{}\n", event.line());
        if let Err(error) = self.file.write_all(line.as_bytes()) {
            // Half a line would spoil the next one. If even that fails, reading skips the spoiled line.
            return match self.file.set_len(self.bytes) {
                Ok(()) | Err(_) => Err(error),
            };
        }
        self.seq += 1;
        self.bytes += line.len() as u64;
        Ok(event)
    }

    /// Makes everything written so far durable.
    pub(in crate::runner) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Gives the log its final name, durably, and lets the talent's link point to it.
    pub(in crate::runner) fn close(self) -> io::Result<()> {
        close(&self.layout, &self.name, &self.run)
    }
}

/// Gives the log of a run that has ended its final name.
pub(in crate::runner) fn close(layout: &Layout, name: &TalentName, run: &UseId) -> io::Result<()> {
    let ended = layout.ended_run(name, run);
    if ended.try_exists()? {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            format!("{} is there already and is not written over", ended.display()),
        ));
    }
    fs::rename(layout.active_run(name, run), &ended)?;
    sync_folder(&layout.runs_of(name))?;
    link_newest(layout, name, run)
}

/// `<name>.log` points to this run from now on, unless it points to a newer one.
fn link_newest(layout: &Layout, name: &TalentName, run: &UseId) -> io::Result<()> {
    let link = layout.newest_run(name);
    let number = |path: PathBuf| -> Option<u64> { path.file_stem()?.to_str()?.parse().ok() };
    let newest = fs::read_link(&link).ok().and_then(number);
    if newest.is_some() && newest >= run.as_str().parse().ok() {
        return Ok(());
    }
    point(&link, &Path::new(name.as_str()).join(format!("{run}.jsonl")))
}

/// Replaces a link in one step.
pub(in crate::runner) fn point(link: &Path, target: &Path) -> io::Result<()> {
    let made = link.with_extension("log.new");
    match fs::remove_file(&made) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::os::unix::fs::symlink(target, &made)?;
    fs::rename(&made, link)
}
