//! The past of one home: its segments, its catalogue, its index, open together.
//!
//! What must stay true: segments and parts are durable before the catalogue names them, and what they replace is
//! unlinked only after; so whoever dies in between leaves files that nobody names, which the next start removes.
//! After an error the state in memory is read from disk again.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::OnceLock;

use text::analyze::{Analyzer, Language};

use crate::catalog::{Catalog, CatalogChange, PartName, SessionKey, SessionRow};
use crate::disk::{FolderDisk, PastDisk};
use crate::error::{Error, Result};
use crate::segment;
use crate::slice::SliceOutcome;
use crate::words::{self, Part, TurnTable, WordsBuilder};
use transcripts::digests;

/// Says that something was begun; its first byte says what.
const MARKER: &str = "unfinished";

/// What was begun and may not be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenWork {
    Writing,
    /// Tombstones may be there for what is not erased yet.
    Forgetting,
}

/// What agents wrote down, as far as Cortex has read it.
#[allow(missing_debug_implementations)]
pub struct Past {
    pub(crate) disk: Box<dyn PastDisk>,
    pub(crate) catalog: Catalog,
    pub(crate) parts: Vec<Part>,
    pub(crate) analyzer: Analyzer,
    /// What the process before did not finish.
    pub(crate) unfinished: Option<OpenWork>,
    /// The catalogue, or a part of the index, has to be made from segments.
    pub(crate) needs_rebuild: bool,
    /// Which documents belong to which turns, once somebody asked. Whatever changes catalogue or parts drops it.
    table: OnceLock<TurnTable>,
}

impl Past {
    /// Opens the past in a folder, which is made if it is not there. Nobody else may have it open.
    pub fn open(folder: &Path, language: Language) -> Result<Past> {
        Past::with_disk(Box::new(FolderDisk::open(folder)?), language)
    }

    pub fn with_disk(disk: Box<dyn PastDisk>, language: Language) -> Result<Past> {
        let mut past = Past {
            disk,
            catalog: Catalog::default(),
            parts: Vec::new(),
            analyzer: Analyzer::new(language),
            unfinished: None,
            needs_rebuild: false,
            table: OnceLock::new(),
        };
        past.load()?;
        Ok(past)
    }

    pub(crate) fn table(&self) -> &TurnTable {
        self.table.get_or_init(|| TurnTable::new(&self.parts, &self.catalog.sessions))
    }

    /// Reads the state from disk.
    pub(crate) fn load(&mut self) -> Result<()> {
        self.table = OnceLock::new();
        let failed = |error| Error::file(&self.disk.path(MARKER), error);
        self.unfinished = match self.disk.read(MARKER) {
            Ok(bytes) if bytes.first() == Some(&b'f') => Some(OpenWork::Forgetting),
            Ok(_) => Some(OpenWork::Writing),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        let known = Catalog::open(&*self.disk)?;
        let is_lost = known.is_none() && !self.list(segment::FOLDER)?.is_empty();
        self.catalog = known.unwrap_or_default();
        self.parts.clear();
        let analysis = WordsBuilder::analysis(&self.analyzer);
        let mut is_whole = true;
        for name in &self.catalog.parts {
            // A part that is lost or of another analyzer is made again from segments.
            match Part::open(&*self.disk, name.digest) {
                Ok(part) if part.header.analysis == analysis => self.parts.push(part),
                Ok(_) | Err(_) => is_whole = false,
            }
        }
        self.needs_rebuild = is_lost || !is_whole;
        Ok(())
    }

    pub(crate) fn list(&self, folder: &str) -> Result<Vec<String>> {
        self.disk.list(folder).map_err(|error| Error::file(&self.disk.path(folder), error))
    }

    /// Notes that something begins.
    pub(crate) fn begin(&mut self, what: OpenWork) -> Result<()> {
        let bytes = if what == OpenWork::Forgetting { b"forgetting" } else { &b"writing"[..] };
        self.unfinished = Some(what);
        self.table = OnceLock::new();
        self.disk
            .write_all(&[(MARKER.to_owned(), bytes.to_vec())])
            .map_err(|error| Error::file(&self.disk.path(MARKER), error))
    }

    /// Notes that it is done.
    pub(crate) fn end(&mut self) -> Result<()> {
        self.table = OnceLock::new();
        self.unfinished = None;
        self.remove(&[MARKER.to_owned()])
    }

    pub(crate) fn remove(&self, names: &[String]) -> Result<()> {
        self.disk.remove_all(names).map_err(|error| Error::file(&self.disk.path(""), error))
    }

    /// Makes what a slice gave durable and visible: all of it, or nothing.
    pub(crate) fn commit(
        &mut self,
        slice: &mut SliceOutcome,
        builder: &mut WordsBuilder,
    ) -> Result<()> {
        let slice = std::mem::take(slice);
        if slice.is_empty() {
            return Ok(());
        }
        let mut files: Vec<(String, Vec<u8>)> = slice.segments.into_iter().collect();
        let mut changes = slice.changes;
        let part = builder.take().map(|bytes| (digests::of_bytes(&bytes), bytes));
        let new_part = part.as_ref().map(|(digest, _)| *digest);
        files.extend(part.map(|(digest, bytes)| (words::name_of(&digest), bytes)));
        if let Some(digest) = new_part {
            let mut parts = self.catalog.parts.clone();
            parts.push(PartName { digest });
            changes.push(CatalogChange::Parts(parts.clone()));
            self.catalog.apply(CatalogChange::Parts(parts));
        }
        self.disk
            .write_all(&files)
            .map_err(|error| Error::file(&self.disk.path(segment::FOLDER), error))?;
        self.catalog.commit(&*self.disk, &changes)?;
        if !slice.replaced.is_empty() {
            // A segment that is made again with the same bytes is replaced by itself.
            let mut replaced: BTreeSet<digests::Digest32> = slice.replaced.into_iter().collect();
            for row in self.catalog.sessions.values().flat_map(|row| &row.segments) {
                replaced.remove(&row.digest);
            }
            self.remove(&replaced.iter().map(segment::name_of).collect::<Vec<_>>())?;
        }
        if let Some(digest) = new_part {
            self.parts.push(Part::open(&*self.disk, digest)?);
        }
        self.merge_parts()
    }

    /// Joins small parts of the index.
    fn merge_parts(&mut self) -> Result<()> {
        while let Some(places) =
            words::due(&self.parts.iter().map(|part| part.bytes).collect::<Vec<_>>())
        {
            let chosen: Vec<&Part> = places.iter().map(|place| &self.parts[*place]).collect();
            let live = self.live_digests();
            let bytes = words::merged(&*self.disk, &chosen, &|name| live.contains(&name.digest))?;
            let kept = |place: &usize| !places.contains(place);
            let rest: Vec<_> =
                (0..self.parts.len()).filter(kept).map(|place| self.parts[place].digest).collect();
            self.set_parts(rest, bytes)?;
        }
        Ok(())
    }

    /// Makes these the parts of the index, with a new one, and unlinks all others.
    pub(crate) fn set_parts(
        &mut self,
        kept: Vec<digests::Digest32>,
        new: Option<Vec<u8>>,
    ) -> Result<()> {
        let mut names: Vec<PartName> = kept.into_iter().map(|digest| PartName { digest }).collect();
        if let Some(bytes) = new {
            let digest = digests::of_bytes(&bytes);
            self.disk
                .write_all(&[(words::name_of(&digest), bytes)])
                .map_err(|error| Error::file(&self.disk.path(words::FOLDER), error))?;
            names.push(PartName { digest });
        }
        let change = CatalogChange::Parts(names);
        self.catalog.apply(change.clone());
        self.catalog.commit(&*self.disk, &[change])?;
        self.open_parts()?;
        self.remove(&self.stray_parts()?)
    }

    pub(crate) fn open_parts(&mut self) -> Result<()> {
        self.table = OnceLock::new();
        let names = self.catalog.parts.iter();
        self.parts =
            names.map(|name| Part::open(&*self.disk, name.digest)).collect::<Result<_>>()?;
        Ok(())
    }

    /// Unlinks parts of the index, and segments, that the catalogue does not name.
    pub(crate) fn remove_strays(&self) -> Result<()> {
        let mut strays = self.stray_parts()?;
        if self.unfinished.is_some() {
            let named = self.segment_names();
            strays.extend(
                self.list(segment::FOLDER)?.into_iter().filter(|name| !named.contains(name)),
            );
        }
        self.remove(&strays)
    }

    fn stray_parts(&self) -> Result<Vec<String>> {
        let parts: HashSet<String> =
            self.catalog.parts.iter().map(|part| words::name_of(&part.digest)).collect();
        Ok(self.list(words::FOLDER)?.into_iter().filter(|name| !parts.contains(name)).collect())
    }

    pub(crate) fn segment_names(&self) -> BTreeSet<String> {
        let rows = self.catalog.sessions.values().flat_map(|row| &row.segments);
        rows.map(|row| segment::name_of(&row.digest)).collect()
    }

    pub(crate) fn live_digests(&self) -> HashSet<digests::Digest32> {
        self.catalog.sessions.values().flat_map(|row| &row.segments).map(|row| row.digest).collect()
    }

    /// The session that an agent's name and the beginning of an id mean.
    pub(crate) fn find_session(
        &self,
        agent: &str,
        id: &str,
        reference: &str,
    ) -> Result<(&SessionKey, &SessionRow)> {
        let unknown = || Error::Unknown { reference: reference.to_owned() };
        let agent = transcripts::session::PastAgent::parse(agent).ok_or_else(unknown)?;
        if let Some(exact) = self.catalog.sessions.get_key_value(&(agent, id.to_owned())) {
            return Ok(exact);
        }
        if id.len() < PREFIX_CHARS_MIN {
            return Err(unknown());
        }
        let from = (agent, id.to_owned());
        let mut found = self
            .catalog
            .sessions
            .range(from..)
            .take_while(|(key, _)| key.0 == agent && key.1.starts_with(id));
        let first = found.next().ok_or_else(unknown)?;
        match found.next() {
            None => Ok(first),
            Some(_) => Err(Error::Ambiguous { reference: reference.to_owned() }),
        }
    }
}

/// Characters of an id that may stand for all of it.
pub(crate) const PREFIX_CHARS_MIN: usize = 6;
