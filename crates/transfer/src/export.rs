//! Export to JSONL: a stream over one consistent state, in the order of ids, with nothing held but the memory at hand.
//!
//! What must stay true: a whole export ends with its `end` line, so a part of one can be told from it; a file that is
//! no export of ours is never replaced; a file is replaced whole or not at all.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use api::transfer::ExportReport;
use kernel::Reading;
use kernel::keys;
use kernel::limits::EDGES_PER_MEMORY_MAX;
use kernel::memory::{Head, MemoryId, Millis};
use kernel::store::KeyRange;

use crate::export_line::{
    EdgeLine, EndLine, ExportLine, FORMAT, HeaderLine, MemoryLine, PromptLine, SessionLine,
    VersionLine, VersionsLine, origin_of, store_name,
};
use crate::{Error, Result, TransferProgress};

/// Bytes of versions on one line; more go on lines of their own.
const LINE_BYTES: usize = 4 * 1_048_576;

/// What to export.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Memories, sessions and prompts of one project only.
    pub project: Option<String>,
    /// Forgotten memories too.
    pub all: bool,
}

impl Selection {
    pub(super) fn takes(&self, head: &Head) -> bool {
        !head.erased
            && (self.all || head.tombstone.is_none())
            && self.is_of(head.project.as_deref())
    }

    fn is_of(&self, project: Option<&str>) -> bool {
        self.project.as_deref().is_none_or(|wanted| project == Some(wanted))
    }
}

/// Writes everything that is selected, one object per line.
pub fn jsonl(
    reading: &Reading,
    selection: &Selection,
    now: Millis,
    out: &mut dyn Write,
    progress: &mut TransferProgress<'_>,
) -> Result<ExportReport> {
    let mut lines = Lines { out, exported: ExportReport::default() };
    lines.write(&ExportLine::Header(HeaderLine {
        cortex_export: FORMAT,
        actor: reading.actor().to_string(),
        store: store_name(reading)?.unwrap_or_default(),
        exported_at: now.rfc3339(),
        project: selection.project.clone(),
        all: selection.all,
    }))?;
    lines.sessions(reading, selection)?;
    each_head(reading, selection, progress, &mut |head| lines.memory(reading, head))?;
    each_head(reading, selection, &mut |_, _| {}, &mut |head| {
        lines.edges(reading, selection, head)
    })?;
    lines.prompts(reading, selection)?;
    let ExportReport { memories, edges, sessions, prompts, .. } = lines.exported;
    lines.write(&ExportLine::End(EndLine { memories, edges, sessions, prompts }))?;
    lines.out.flush().map_err(|error| Error::Io { what: "the export".into(), error })?;
    Ok(lines.exported)
}

/// Every selected memory, by id.
pub(super) fn each_head(
    reading: &Reading,
    selection: &Selection,
    progress: &mut TransferProgress<'_>,
    visit: &mut dyn FnMut(&Head) -> Result<()>,
) -> Result<()> {
    let view = reading.view();
    let size = view.counters()?.size;
    // A memory's id is the number of the entry that wrote it.
    for id in (1..=size).filter_map(MemoryId::new) {
        if let Some(head) = view.head(id)?.filter(|head| selection.takes(head)) {
            visit(&head)?;
        }
        progress(id.get(), size);
    }
    Ok(())
}

struct Lines<'w> {
    out: &'w mut dyn Write,
    exported: ExportReport,
}

impl Lines<'_> {
    fn write(&mut self, line: &ExportLine) -> Result<()> {
        let failed = |error: std::io::Error| Error::Io { what: "the export".into(), error };
        serde_json::to_writer(&mut *self.out, line).map_err(|error| failed(error.into()))?;
        self.out.write_all(b"\n").map_err(failed)
    }

    fn memory(&mut self, reading: &Reading, head: &Head) -> Result<()> {
        let view = reading.view();
        let usage = view.usage(head.id)?;
        let revised = view.required_version(head.id, head.version)?.created;
        let origin = origin_of(reading, head.id.get())?;
        let mut line = MemoryLine::of(head, &usage, revised, origin);
        let mut bytes = 0;
        let mut first = Some(&mut line);
        let mut more = VersionsLine { memory: head.id.get(), versions: Vec::new() };
        for n in 1..=head.version {
            let version = view.required_version(head.id, n)?;
            // A damaged body is named by the kernel and costs nothing but itself.
            let Some(body) = view.body(&version)? else { continue };
            let version = VersionLine::of(&version, body);
            bytes += version.weight();
            if bytes > LINE_BYTES && version.version > 1 {
                bytes = version.weight();
                if let Some(line) = first.take() {
                    let line = std::mem::take(line);
                    self.write(&ExportLine::Memory(Box::new(line)))?;
                } else {
                    let full = std::mem::take(&mut more.versions);
                    self.write(&ExportLine::Versions(VersionsLine { versions: full, ..more }))?;
                }
            }
            match &mut first {
                Some(line) => line.versions.push(version),
                None => more.versions.push(version),
            }
        }
        if first.as_ref().is_some_and(|line| line.versions.is_empty()) {
            self.exported.lost += 1;
            return Ok(());
        }
        self.exported.memories += 1;
        match first.take() {
            Some(line) => {
                let line = std::mem::take(line);
                self.write(&ExportLine::Memory(Box::new(line)))
            }
            None => self.write(&ExportLine::Versions(more)),
        }
    }

    fn edges(&mut self, reading: &Reading, selection: &Selection, head: &Head) -> Result<()> {
        let view = reading.view();
        for edge in view.edges_out(head.id, EDGES_PER_MEMORY_MAX as usize)? {
            // An edge to something that is not exported would point to nothing.
            if view.head(edge.dst)?.is_some_and(|target| selection.takes(&target)) {
                self.write(&ExportLine::Edge(EdgeLine::of(&edge)))?;
                self.exported.edges += 1;
            }
        }
        Ok(())
    }

    fn sessions(&mut self, reading: &Reading, selection: &Selection) -> Result<()> {
        let view = reading.view();
        let mut names = Names::default();
        while let Some(name) = names.next(reading)? {
            let Some(session) = view.session(&name)? else { continue };
            if !selection.is_of(session.project.as_deref()) {
                continue;
            }
            let sealed = session.summary_seq.map(|seq| view.sealed(seq)).transpose()?.flatten();
            self.write(&ExportLine::Session(SessionLine {
                session: session.id,
                project: session.project,
                directory: session.directory,
                agent: session.agent,
                started: Some(session.started.rfc3339()),
                ended: session.ended.map(Millis::rfc3339),
                summary: sealed.map(|sealed| sealed.open_note()).transpose()?.map(|note| note.text),
            }))?;
            self.exported.sessions += 1;
        }
        Ok(())
    }

    fn prompts(&mut self, reading: &Reading, selection: &Selection) -> Result<()> {
        let view = reading.view();
        let mut failed = None;
        view.scan(&KeyRange::prefix(&keys::prompts()), &mut |key, _| {
            let Some(seq) = keys::trailing_u64(key) else { return Ok(ControlFlow::Continue(())) };
            let written = self.prompt(reading, selection, seq);
            Ok(match written {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            })
        })?;
        failed.map_or(Ok(()), Err)
    }

    fn prompt(&mut self, reading: &Reading, selection: &Selection, seq: u64) -> Result<()> {
        let view = reading.view();
        let Some(prompt) = view.prompt(seq)? else { return Ok(()) };
        // Its text may have been erased.
        let Some(sealed) = view.sealed(seq)? else { return Ok(()) };
        if !selection.is_of(prompt.project.as_deref()) {
            return Ok(());
        }
        self.write(&ExportLine::Prompt(PromptLine {
            id: seq,
            origin: origin_of(reading, seq)?,
            session: prompt.session,
            project: prompt.project,
            text: sealed.open_note()?.text,
            at: prompt.at.rfc3339(),
        }))?;
        self.exported.prompts += 1;
        Ok(())
    }
}

/// Names of sessions, one after the other.
#[derive(Default)]
struct Names {
    after: Option<Vec<u8>>,
}

impl Names {
    fn next(&mut self, reading: &Reading) -> Result<Option<String>> {
        let mut range = KeyRange::prefix(&keys::sessions());
        if let Some(after) = &self.after {
            range.from = [after.as_slice(), &[0]].concat();
        }
        let found = reading.view().first(&range)?;
        self.after = found.as_ref().map(|(key, _)| key.clone());
        // A prefix byte and a length stand before the name.
        let name =
            found.and_then(|(key, _)| Some(String::from_utf8_lossy(key.get(2..)?).into_owned()));
        Ok(name)
    }
}

/// Writes a file beside its place and moves it there when it is whole and on disk. A file that is no export of ours is
/// not replaced.
pub fn write_atomically<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T>,
) -> Result<T> {
    if path.exists() && !is_export(path)? {
        let what = path.display().to_string();
        return Err(Error::Foreign { what, reason: "is there already and is no export of ours" });
    }
    let part = part_of(path);
    let file = File::create(&part).map_err(|error| Error::file(&part, error))?;
    let mut out = BufWriter::new(file);
    let written = write(&mut out).and_then(|done| {
        let file = out.into_inner().map_err(|error| Error::file(&part, error.into_error()))?;
        file.sync_all().map_err(|error| Error::file(&part, error))?;
        std::fs::rename(&part, path).map_err(|error| Error::file(path, error))?;
        Ok(done)
    });
    if written.is_err() {
        // Half a file helps nobody, but the error to report is the one that came first.
        let _ = std::fs::remove_file(&part);
    }
    written
}

fn part_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}

/// True if the file starts with our header.
pub(super) fn is_export(path: &Path) -> Result<bool> {
    let failed = |error| Error::file(path, error);
    let file = File::open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Ok(false);
    }
    let mut first = Vec::new();
    BufReader::new(file).take(65_536).read_until(b'\n', &mut first).map_err(failed)?;
    Ok(matches!(serde_json::from_slice(&first), Ok(ExportLine::Header(_))))
}
