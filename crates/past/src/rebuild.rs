//! Makes catalogue and index again from segments, checks segments, and finishes what a process before left undone.
//!
//! What must stay true: no source is needed; the answers afterwards are those from before. Where two segments claim the
//! same items, the newer writing counts, and then the longer one.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::assembler::SegmentObserver as _;
use crate::catalog::{Catalog, CatalogChange, SegmentRow, SessionKey, SessionRow};
use crate::error::{Error, Result};
use crate::segment::{self, SegmentFooter};
use crate::slice::{SliceOutcome, load};
use crate::store::{OpenWork, Past};
use crate::tombstones::{TombstoneSet, Tombstones};
use crate::words::{self, WordsBuilder};
use transcripts::cleaner;
use transcripts::counts::ReadCounts;
use transcripts::digests;
use transcripts::session::{ItemBody, PastItem};

/// What is wrong with the files of the past.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PastCheck {
    pub segments: u64,
    pub parts: u64,
    /// Files whose bytes are not what their names say.
    pub damaged: Vec<String>,
    pub missing: Vec<String>,
    /// Files that nothing names.
    pub unreferenced: Vec<String>,
}

impl PastCheck {
    pub fn is_sound(&self) -> bool {
        self.damaged.is_empty() && self.missing.is_empty() && self.unreferenced.is_empty()
    }
}

impl Past {
    /// Finishes what was begun before, and makes again what is lost. Asked before every reading and forgetting.
    pub fn recover(&mut self, tombstones: &dyn Tombstones) -> Result<()> {
        if self.needs_rebuild {
            self.begin(OpenWork::Forgetting)?;
            self.rebuild_catalog()?;
            self.rebuild_index()?;
        }
        if self.unfinished == Some(OpenWork::Forgetting) {
            self.erase_forgotten(&TombstoneSet::of(tombstones))?;
        }
        if self.unfinished.is_some() {
            self.remove_strays()?;
            self.end()?;
        }
        Ok(())
    }

    /// Makes catalogue and index anew; with `mask`, also the segments whose texts newer rules would mask.
    pub fn rebuild(&mut self, tombstones: &dyn Tombstones, mask: bool) -> Result<ReadCounts> {
        self.recover(tombstones)?;
        self.begin(OpenWork::Forgetting)?;
        self.rebuild_catalog()?;
        let mut counts = ReadCounts::default();
        if mask {
            self.mask_again(&mut counts)?;
        }
        self.rebuild_index()?;
        self.erase_forgotten(&TombstoneSet::of(tombstones))?;
        self.remove_strays()?;
        self.end()?;
        Ok(counts)
    }

    /// Compares every file with its name, and the names with the catalogue.
    pub fn verify(&self) -> Result<PastCheck> {
        let mut answer = PastCheck::default();
        let mut named = self.segment_names();
        named.extend(self.catalog.parts.iter().map(|part| words::name_of(&part.digest)));
        for folder in [segment::FOLDER, words::FOLDER] {
            for name in self.list(folder)? {
                let is_segment = folder == segment::FOLDER;
                if is_segment {
                    answer.segments += 1;
                } else {
                    answer.parts += 1;
                }
                if !named.remove(&name) {
                    answer.unreferenced.push(name);
                    continue;
                }
                let bytes = self
                    .disk
                    .read(&name)
                    .map_err(|error| Error::file(&self.disk.path(&name), error))?;
                let digest = digests::of_bytes(&bytes);
                let is_named =
                    if is_segment { segment::name_of(&digest) } else { words::name_of(&digest) }
                        == name;
                let is_whole = !is_segment
                    || segment::footer(&bytes)
                        .and_then(|footer| segment::items(&bytes, &footer, None))
                        .is_ok();
                if !is_named || !is_whole {
                    answer.damaged.push(name);
                }
            }
        }
        answer.missing = named.into_iter().collect();
        Ok(answer)
    }

    /// Sessions and prompts from the footers of segments. Sources keep their places if the catalogue has them.
    fn rebuild_catalog(&mut self) -> Result<()> {
        let mut by_session: BTreeMap<SessionKey, Vec<(SegmentRow, SegmentFooter)>> =
            BTreeMap::new();
        for name in self.list(segment::FOLDER)? {
            let bytes = self
                .disk
                .read(&name)
                .map_err(|error| Error::file(&self.disk.path(&name), error))?;
            let digest = digests::of_bytes(&bytes);
            // What is damaged is left where it is, for `verify` and for whoever can mend it.
            let (true, Ok(footer)) = (segment::name_of(&digest) == name, segment::footer(&bytes))
            else {
                continue;
            };
            let Ok(items) = segment::items(&bytes, &footer, None) else { continue };
            let turns = items.iter().map(|item| item.turn);
            let row = SegmentRow {
                digest,
                first_item: footer.first_item,
                items: footer.items,
                raw_bytes: footer.raw_bytes,
                bytes: bytes.len() as u64,
                first_turn: turns.clone().min().unwrap_or(0),
                last_turn: turns.max().unwrap_or(0),
                revision: footer.revision,
            };
            by_session
                .entry((footer.info.agent, footer.info.id.clone()))
                .or_default()
                .push((row, footer));
        }
        let sources = std::mem::take(&mut self.catalog.sources);
        let of_session: BTreeMap<SessionKey, String> = std::mem::take(&mut self.catalog.sessions)
            .into_iter()
            .map(|(key, row)| (key, row.source))
            .collect();
        self.catalog = Catalog::default();
        self.catalog.sources = sources;
        for (key, segments) in by_session {
            let source = of_session.get(&key).cloned().unwrap_or_default();
            for change in session_of(&key, segments, source) {
                self.catalog.apply(change);
            }
        }
        self.catalog.rewrite(&*self.disk)
    }

    /// The index of all segments that the catalogue names.
    pub(crate) fn rebuild_index(&mut self) -> Result<()> {
        let mut builder = WordsBuilder::new(self.analyzer.clone());
        let mut made = Vec::new();
        let none = SliceOutcome::default();
        let rows: Vec<_> =
            self.catalog.sessions.values().flat_map(|row| row.segments.iter().cloned()).collect();
        for row in rows {
            let (footer, items) = load(&*self.disk, &none, &row, None)?;
            builder.made(&row, &footer.info, &items);
            if builder.is_full() {
                made.extend(self.write_part(&mut builder)?);
            }
        }
        made.extend(self.write_part(&mut builder)?);
        self.set_parts(made, None)?;
        self.needs_rebuild = false;
        Ok(())
    }

    pub(crate) fn write_part(
        &self,
        builder: &mut WordsBuilder,
    ) -> Result<Option<digests::Digest32>> {
        let Some(bytes) = builder.take() else { return Ok(None) };
        let digest = digests::of_bytes(&bytes);
        self.disk
            .write_all(&[(words::name_of(&digest), bytes)])
            .map_err(|error| Error::file(&self.disk.path(words::FOLDER), error))?;
        Ok(Some(digest))
    }

    fn mask_again(&mut self, counts: &mut ReadCounts) -> Result<()> {
        let keys: Vec<SessionKey> = self.catalog.sessions.keys().cloned().collect();
        for key in keys {
            self.rewrite_session(&key, &mut |item| Some(screened(&item, counts)))?;
        }
        self.catalog.rewrite(&*self.disk)
    }
}

fn screened(item: &PastItem, counts: &mut ReadCounts) -> PastItem {
    let mut item = item.clone();
    let texts: Vec<&mut String> = match &mut item.body {
        ItemBody::Prompt { text, .. }
        | ItemBody::Answer { text, .. }
        | ItemBody::Summary { text, .. }
        | ItemBody::Note { text } => vec![text],
        ItemBody::Command { line } => vec![line],
        ItemBody::Read { path } => vec![path],
        ItemBody::Edit { path, removed, added } => vec![path, removed, added],
        ItemBody::Output { head, tail, .. } => vec![head, tail],
        ItemBody::Tool { name, input } => vec![name, input],
    };
    for text in texts {
        let masked = cleaner::screen(text, counts).into_owned();
        *text = masked;
    }
    item
}

/// The rows of a session of which these segments were found.
fn session_of(
    key: &SessionKey,
    mut segments: Vec<(SegmentRow, SegmentFooter)>,
    source: String,
) -> Vec<CatalogChange> {
    let newest = segments.iter().map(|(row, _)| row.revision).max().unwrap_or(0);
    segments.retain(|(row, _)| row.revision == newest);
    segments.sort_by_key(|(row, _)| (row.first_item, std::cmp::Reverse(row.items)));
    let (mut rows, mut prompts) = (Vec::<SegmentRow>::new(), Vec::new());
    let (mut info, mut undone, mut turns, mut is_untitled) = (None, Vec::new(), 0, false);
    let mut reached = 0;
    for (row, footer) in segments {
        let end = row.first_item + row.items;
        if end <= reached {
            continue;
        }
        reached = end;
        prompts.extend(footer.prompts);
        turns = turns.max(footer.turns);
        info = Some(footer.info);
        undone = footer.undone;
        is_untitled |= footer.is_untitled;
        rows.push(row);
    }
    let Some(info) = info else { return Vec::new() };
    prompts.sort_unstable_by_key(|row| row.turn);
    prompts.dedup();
    let row = SessionRow { info, segments: rows, undone, turns, source, is_untitled };
    vec![
        CatalogChange::Session(Box::new(row)),
        CatalogChange::Prompts(key.0, key.1.clone(), prompts),
    ]
}

#[cfg(test)]
mod tests {
    use text::analyze::Language;

    use super::*;
    use crate::disk::{FolderDisk, PastDisk as _};
    use crate::slice::packed;
    use crate::tombstones::MemoryTombstones;
    use transcripts::session::{PastAgent, SessionInfo};

    // past 31: a segment of a version whose rules did not know the form
    #[test]
    fn what_newer_rules_mask_is_taken_out_of_what_was_stored() {
        let folder = tempfile::tempdir().unwrap();
        let secret = format!("{}_{}", "ghp", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        let text = format!("Use {secret} here");
        let row = SessionRow {
            info: SessionInfo::new(PastAgent::Codex, "s1"),
            segments: Vec::new(),
            undone: Vec::new(),
            turns: 1,
            source: String::new(),
            is_untitled: false,
        };
        let bytes = text.len() as u64;
        let item = PastItem {
            turn: 1,
            at: 7,
            about: false,
            native: None,
            body: ItemBody::Prompt { text, bytes },
        };
        let (segment, bytes) = packed(&row, &[], 0, 0, &[item]);
        let name = segment::name_of(&segment.digest);
        let disk = FolderDisk::open(folder.path()).unwrap();
        disk.write_all(&[(name.clone(), bytes)]).unwrap();
        drop(disk);
        let tombstones = MemoryTombstones::default();
        let mut past = Past::open(folder.path(), Language::English).unwrap();
        past.recover(&tombstones).unwrap();
        let key = (PastAgent::Codex, "s1".to_owned());
        let shown = |past: &Past| format!("{:?}", past.items_of(&key, None).unwrap());
        assert!(shown(&past).contains(&secret));
        let counts = past.rebuild(&tombstones, true).unwrap();
        assert_eq!(counts.masked["github-token"], 1);
        assert!(!shown(&past).contains(&secret[4..16]));
        assert!(past.disk.read(&name).is_err(), "what held it is gone");
        assert!(past.verify().unwrap().is_sound());
    }
}
