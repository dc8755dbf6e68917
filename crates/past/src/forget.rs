//! Forgetting that holds: tombstones first, then the bytes, and only then the answer.
//!
//! What must stay true: when forgetting returns, nothing of what was forgotten is in any byte of the past; it does
//! not come back by reading anew, by a rebuild or by a fork; whoever dies in between leaves a tombstone, and the next
//! start completes it. The numbers of the turns that stay do not change.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use serde::Serialize;

use crate::assembler::SegmentObserver as _;
use crate::catalog::{CatalogChange, SessionKey, SourceRow};
use crate::citation::TurnReference;
use crate::error::{Error, Result};
use crate::exclusion::{self, Exclusion};
use crate::limits::SEGMENT_BYTES_MAX;
use crate::reading::scrub;
use crate::segment;
use crate::slice::{SliceOutcome, load, packed};
use crate::store::{OpenWork, Past};
use crate::tombstones::{TombstoneGroup, TombstoneSet, Tombstones};
use crate::words::{self, WordsBuilder};
use transcripts::session::{ItemBody, PastAgent, PastItem};

/// What is to be forgotten: everything that is named, and every session to which all of the conditions apply.
#[derive(Clone, Debug, Default)]
pub struct ForgetScope {
    /// `AGENT:SESSION` or `AGENT:SESSION#TURN`.
    pub references: Vec<String>,
    pub agent: Option<PastAgent>,
    /// A pattern of folders.
    pub folder: Option<String>,
    /// Sessions whose last record is older.
    pub before: Option<i64>,
    pub reason: String,
    pub dry_run: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ForgetOutcome {
    pub sessions: Vec<String>,
    pub turns: Vec<String>,
}

/// Whole sessions, or some of their turns.
type Targets = BTreeMap<SessionKey, Option<BTreeSet<u32>>>;

impl Past {
    /// Forgets sessions and turns.
    pub fn forget(
        &mut self,
        request: &ForgetScope,
        tombstones: &mut dyn Tombstones,
    ) -> Result<ForgetOutcome> {
        self.recover(tombstones)?;
        let targets = self.targets(request)?;
        let name = |key: &SessionKey| format!("{}:{}", key.0.name(), key.1);
        let mut answer = ForgetOutcome::default();
        for (key, turns) in &targets {
            match turns {
                None => answer.sessions.push(name(key)),
                Some(turns) => {
                    answer.turns.extend(turns.iter().map(|turn| format!("{}#{turn}", name(key))));
                }
            }
        }
        if request.dry_run || targets.is_empty() {
            return Ok(answer);
        }
        let groups = self.groups(&targets, &TombstoneSet::of(tombstones))?;
        self.begin(OpenWork::Forgetting)?;
        tombstones.add(&groups, &request.reason).map_err(Error::Tombstone)?;
        let outcome = self.erase_forgotten(&TombstoneSet::of(tombstones));
        if outcome.is_err() {
            // The tombstones are there, so the next start completes it; the first error is the one to report.
            let _ = self.load();
        }
        outcome?;
        self.remove_strays()?;
        self.end()?;
        Ok(answer)
    }

    /// Lets a session or turn be read again. False if it was not forgotten.
    pub fn restore(&mut self, reference: &str, tombstones: &mut dyn Tombstones) -> Result<bool> {
        let citation = TurnReference::parse(reference)?;
        let set = TombstoneSet::of(tombstones);
        let key = format!("{}:{}", citation.agent, citation.session);
        let subject = match citation.turn {
            None => set.session(&key),
            Some(turn) => set.numbered(&key, turn),
        };
        let is_lifted = tombstones.lift(subject).map_err(Error::Tombstone)?;
        let is_of_session = |info: &transcripts::session::SessionInfo| info.key() == key;
        let sources: Vec<String> = self
            .catalog
            .sources
            .values()
            .filter(|row| {
                row.memory.session.as_ref().is_some_and(is_of_session)
                    || row.memory.marks.contains_key(&citation.session)
            })
            .map(|row| row.path.clone())
            .collect();
        let changes: Vec<CatalogChange> =
            sources.into_iter().map(CatalogChange::SourceGone).collect();
        changes.iter().cloned().for_each(|change| self.catalog.apply(change));
        self.catalog.commit(&*self.disk, &changes)?;
        Ok(is_lifted)
    }

    /// Removes the sessions that are excluded now, without tombstones: as long as they are excluded they are not read.
    /// Returns their names.
    pub fn remove_excluded(
        &mut self,
        exclusion: &Exclusion,
        tombstones: &dyn Tombstones,
        dry_run: bool,
    ) -> Result<Vec<String>> {
        self.recover(tombstones)?;
        let has_marker = |path: &Path| path.is_file();
        let rows = self.catalog.sessions.values();
        let excluded: Vec<_> = rows
            .filter(|row| exclusion.covers(&row.info, &has_marker))
            .map(|row| &row.info)
            .collect();
        let names: Vec<String> = excluded.iter().map(|info| info.key()).collect();
        if dry_run || names.is_empty() {
            return Ok(names);
        }
        let keys: Vec<SessionKey> =
            excluded.iter().map(|info| (info.agent, info.id.clone())).collect();
        self.begin(OpenWork::Writing)?;
        for (agent, id) in keys {
            // The source is read anew should the exclusion be lifted.
            self.catalog.sources.retain(|_, row| {
                row.memory.session.as_ref().is_none_or(|info| info.agent != agent || info.id != id)
            });
            self.catalog.apply(CatalogChange::SessionGone(agent, id));
        }
        let outcome = self.purge_all();
        if outcome.is_err() {
            // The first error is the one to report; what is on disk is whole in any case.
            let _ = self.load();
        }
        outcome?;
        self.end()?;
        Ok(names)
    }

    /// Lets sources be read anew of which nothing is kept: they may have been excluded.
    pub fn read_missing_anew(&mut self) -> Result<()> {
        let is_missing = |row: &SourceRow| {
            row.prompts > 0
                && row.memory.session.as_ref().is_some_and(|info| {
                    !self.catalog.sessions.contains_key(&(info.agent, info.id.clone()))
                })
        };
        let missing = self.catalog.sources.values().filter(|row| is_missing(row));
        let changes: Vec<CatalogChange> =
            missing.map(|row| CatalogChange::SourceGone(row.path.clone())).collect();
        changes.iter().cloned().for_each(|change| self.catalog.apply(change));
        self.catalog.commit(&*self.disk, &changes)
    }

    fn targets(&self, request: &ForgetScope) -> Result<Targets> {
        let mut targets = Targets::new();
        for reference in &request.references {
            let citation = TurnReference::parse(reference)?;
            let (key, row) = self.find_session(&citation.agent, &citation.session, reference)?;
            match citation.turn {
                None => {
                    targets.insert(key.clone(), None);
                }
                Some(turn) if turn <= row.turns => {
                    let known = targets.entry(key.clone()).or_insert_with(|| Some(BTreeSet::new()));
                    if let Some(turns) = known {
                        turns.insert(turn);
                    }
                }
                Some(_) => return Err(Error::Unknown { reference: reference.clone() }),
            }
        }
        let has_condition =
            request.agent.is_some() || request.folder.is_some() || request.before.is_some();
        for (key, row) in self.catalog.sessions.iter().filter(|_| has_condition) {
            let by_agent = request.agent.is_none_or(|agent| agent == key.0);
            let folder = row.info.folder.as_deref();
            let by_folder = request.folder.as_deref().is_none_or(|pattern| {
                folder.is_some_and(|folder| exclusion::matches(pattern, folder))
            });
            if by_agent
                && by_folder
                && request.before.is_none_or(|before| row.info.updated < before)
            {
                targets.insert(key.clone(), None);
            }
        }
        Ok(targets)
    }

    /// What is journaled: the session or turn, and its prompts, by which copies in forks are known.
    fn groups(&self, targets: &Targets, set: &TombstoneSet) -> Result<Vec<TombstoneGroup>> {
        let mut groups = Vec::new();
        for (key, turns) in targets {
            let name = format!("{}:{}", key.0.name(), key.1);
            let mut by_turn: BTreeMap<u32, Vec<[u8; 32]>> = BTreeMap::new();
            for item in self.items_of(key, None)? {
                if let ItemBody::Prompt { .. } = item.body {
                    by_turn.entry(item.turn).or_default().extend(set.prompt(&name, &item));
                }
            }
            match turns {
                None => {
                    let members = by_turn.into_values().flatten().collect();
                    groups.push(TombstoneGroup { subject: set.session(&name), members });
                }
                Some(turns) => groups.extend(turns.iter().map(|turn| TombstoneGroup {
                    subject: set.numbered(&name, *turn),
                    members: by_turn.remove(turn).unwrap_or_default(),
                })),
            }
        }
        Ok(groups)
    }

    /// All items of a session, or of one of its turns, in order.
    pub(crate) fn items_of(&self, key: &SessionKey, turn: Option<u32>) -> Result<Vec<PastItem>> {
        let Some(row) = self.catalog.sessions.get(key) else { return Ok(Vec::new()) };
        let none = SliceOutcome::default();
        let mut items = Vec::new();
        for segment in &row.segments {
            if turn.is_none_or(|turn| segment.first_turn <= turn && turn <= segment.last_turn) {
                items.extend(load(&*self.disk, &none, segment, turn)?.1);
            }
        }
        Ok(items)
    }

    /// Erases everything that a tombstone stands for.
    pub(crate) fn erase_forgotten(&mut self, set: &TombstoneSet) -> Result<()> {
        let mut targets = Targets::new();
        for (key, row) in self.catalog.sessions.iter().filter(|_| !set.is_empty()) {
            let name = row.info.key();
            if set.has_session(&name) {
                targets.insert(key.clone(), None);
                continue;
            }
            let by_prompt = self
                .catalog
                .prompts_of(key)
                .iter()
                .filter(|prompt| set.has_identity(prompt.identity));
            let mut turns: BTreeSet<u32> = by_prompt.map(|prompt| prompt.turn).collect();
            turns.extend((0..=row.turns).filter(|turn| set.has_turn(&name, *turn)));
            if !turns.is_empty() {
                targets.insert(key.clone(), Some(turns));
            }
        }
        for (key, turns) in targets {
            match turns {
                None => self.catalog.apply(CatalogChange::SessionGone(key.0, key.1)),
                Some(turns) => {
                    if let Some(row) = self.catalog.sessions.get_mut(&key) {
                        row.is_untitled = true;
                        row.hide_title();
                    }
                    self.catalog.drop_prompts(&key, |turn| turns.contains(&turn));
                    self.rewrite_session(&key, &mut |item| {
                        (!turns.contains(&item.turn)).then_some(item)
                    })?;
                }
            }
        }
        self.catalog.sources.values_mut().for_each(|row| scrub(row, set));
        self.purge_all()
    }

    /// Makes the catalogue in memory the one on disk, and leaves no byte of what it does not name.
    fn purge_all(&mut self) -> Result<()> {
        self.catalog.rewrite(&*self.disk)?;
        let named = self.segment_names();
        let gone: Vec<String> =
            self.list(segment::FOLDER)?.into_iter().filter(|name| !named.contains(name)).collect();
        self.remove(&gone)?;
        self.purge_index()
    }

    /// Writes the segments of a session anew with what `change` makes of its items; none leaves an item out. The
    /// catalogue in memory names the new ones, those on disk are not unlinked.
    pub(crate) fn rewrite_session(
        &mut self,
        key: &SessionKey,
        change: &mut dyn FnMut(PastItem) -> Option<PastItem>,
    ) -> Result<()> {
        let before = self.items_of(key, None)?;
        let after: Vec<PastItem> = before.iter().cloned().filter_map(change).collect();
        let prompts = self.catalog.prompts_of(key).to_vec();
        let Some(row) = self.catalog.sessions.get_mut(key) else { return Ok(()) };
        let none = SliceOutcome::default();
        let is_same_info = match row.segments.last() {
            Some(last) => load(&*self.disk, &none, last, None)?.0.info == row.info,
            None => true,
        };
        if before == after && is_same_info {
            return Ok(());
        }
        if after.is_empty() {
            self.catalog.apply(CatalogChange::SessionGone(key.0, key.1.clone()));
            return Ok(());
        }
        let revision = row.segments.iter().map(|row| row.revision).max().unwrap_or(0) + 1;
        let (mut rows, mut files) = (Vec::new(), Vec::new());
        let (mut from, mut bytes, mut first_item) = (0, 0, 0_u64);
        for at in 0..after.len() {
            bytes += segment::encoded_bytes(&after[at]);
            if bytes >= SEGMENT_BYTES_MAX || at + 1 == after.len() {
                let (segment, packed) =
                    packed(row, &prompts, first_item, revision, &after[from..=at]);
                files.push((segment::name_of(&segment.digest), packed));
                rows.push(segment);
                first_item += (at + 1 - from) as u64;
                (from, bytes) = (at + 1, 0);
            }
        }
        row.segments = rows;
        self.disk
            .write_all(&files)
            .map_err(|error| Error::file(&self.disk.path(segment::FOLDER), error))
    }

    /// Rewrites the parts of the index that hold documents of segments that are gone, and adds those that are missing.
    fn purge_index(&mut self) -> Result<()> {
        let live = self.live_digests();
        let is_live = |name: &crate::words::SegmentName| live.contains(&name.digest);
        let (whole, torn): (Vec<_>, Vec<_>) =
            self.parts.iter().partition(|part| part.header.segments.iter().all(is_live));
        let mut kept: Vec<_> = whole.iter().map(|part| part.digest).collect();
        let indexed: HashSet<_> = self
            .parts
            .iter()
            .flat_map(|part| &part.header.segments)
            .map(|name| name.digest)
            .collect();
        let missing: Vec<_> = self
            .catalog
            .sessions
            .values()
            .flat_map(|row| &row.segments)
            .filter(|row| !indexed.contains(&row.digest))
            .cloned()
            .collect();
        let merged = words::merged(&*self.disk, &torn, &is_live)?;
        let mut builder = WordsBuilder::new(self.analyzer.clone());
        let none = SliceOutcome::default();
        for row in missing {
            let (footer, items) = load(&*self.disk, &none, &row, None)?;
            builder.made(&row, &footer.info, &items);
        }
        kept.extend(self.write_part(&mut builder)?);
        self.set_parts(kept, merged)
    }
}
