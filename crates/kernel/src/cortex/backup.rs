//! Backup of an actor while it is open, restore to any moment its ledger covers, salvage, and reading without writing.
//!
//! A backup is a folder with the segments of the ledger and a `manifest`: how many entries it holds for certain and
//! which root they have. What must stay true: the manifest appears last, by a rename, so that what it names is there; a
//! later backup into the same folder copies what is new, and what was erased since leaves it too.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use proof::Digest;
use proof::actor::ActorName;
use proof::journal::{EntryKind, Payload};
use proof::memory::MemoryId;

use super::{Cortex, Options};
use crate::command::{Removal, Stamp};
use crate::error::{Error, Result};
use crate::ledger::{FileLedger, LossRule, RestorePoint, SegmentNames, copy_entries};
use crate::store::{DamageNote, DiskMedium, Medium, ReadOnlyMedium};

const MANIFEST: &str = "manifest";
const MANIFEST_MAGIC: &str = "cortex backup 1";

/// What a backup holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupManifest {
    pub actor: ActorName,
    /// Journal entries.
    pub size: u64,
    /// The overall root of the state with these entries.
    pub root: Digest,
    /// The first entry of each segment, and its bytes.
    pub segments: Vec<(u64, u64)>,
}

/// What a backup came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupReport {
    pub manifest: BackupManifest,
    /// Bytes that were not in the folder before.
    pub copied_bytes: u64,
}

/// What a restore or a salvage came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreReport {
    pub entries: u64,
    pub root: Digest,
    /// Entries and bodies that could not be read. Where an entry was, a marker stands.
    pub lost: Vec<DamageNote>,
    /// What was erased after the last of these entries. Nothing brings it back, so it was erased here too, by entries
    /// that follow.
    pub erased_since: Vec<MemoryId>,
}

impl BackupManifest {
    fn to_text(&self) -> String {
        let BackupManifest { actor, size, root, segments } = self;
        let mut text = format!("{MANIFEST_MAGIC}\nactor {actor}\nsize {size}\nroot {root}\n");
        for (first, bytes) in segments {
            writeln!(text, "segment {first} {bytes}").expect("writing to a String cannot fail");
        }
        text
    }

    fn from_text(text: &str) -> Option<BackupManifest> {
        let mut lines = text.lines();
        let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        field("cortex").filter(|rest| MANIFEST_MAGIC.ends_with(*rest))?;
        let actor = ActorName::parse(field("actor")?).ok()?;
        let size = field("size")?.parse().ok()?;
        let root = field("root")?.parse().ok()?;
        let segment = |line: &str| {
            let (first, bytes) = line.strip_prefix("segment ")?.split_once(' ')?;
            Some((first.parse().ok()?, bytes.parse().ok()?))
        };
        let segments = lines.map(segment).collect::<Option<_>>()?;
        Some(BackupManifest { actor, size, root, segments })
    }

    /// True if a folder holds backups of actors.
    pub(crate) fn are_in(folder: &Path) -> bool {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).any(|path| BackupManifest::read(&path).is_ok())
    }

    /// Reads the manifest of a backup.
    pub fn read(folder: &Path) -> Result<BackupManifest> {
        let path = folder.join(MANIFEST);
        let text =
            std::fs::read_to_string(&path).map_err(|error| Error::io(path.display(), error))?;
        let found = BackupManifest::from_text(&text);
        found
            .ok_or_else(|| Error::corrupt(path.display().to_string(), "is no manifest of a backup"))
    }
}

impl Cortex {
    /// Copies the ledger into a folder, with everything up to now, while others read and write. If something is erased
    /// meanwhile, the copy may lack what the manifest still names, and what is new is copied once more.
    pub fn backup(&self, folder: &Path) -> Result<BackupReport> {
        const TRIES: usize = 4;
        let mut report = self.copy_once(folder)?;
        for _ in 1..TRIES {
            if !self.has_erased_since(report.manifest.size)? {
                break;
            }
            let again = self.copy_once(folder)?;
            let copied_bytes = report.copied_bytes + again.copied_bytes;
            report = BackupReport { copied_bytes, ..again };
        }
        Ok(report)
    }

    fn has_erased_since(&self, size: u64) -> Result<bool> {
        let reading = self.read()?;
        let view = reading.view();
        for seq in size + 1..=view.counters()?.size {
            if view.entry(seq)?.is_some_and(|entry| entry.kind == EntryKind::Erase) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn copy_once(&self, folder: &Path) -> Result<BackupReport> {
        let files = self.files()?;
        let reading = self.read()?;
        let roots = reading.roots()?;
        let before = match BackupManifest::read(folder) {
            Ok(before) if before.actor == self.actor => Some(before),
            Ok(before) => {
                let reason = format!("holds a backup of {}", before.actor);
                return Err(Error::invalid("folder", reason));
            }
            Err(error) if error.io_kind() == Some(std::io::ErrorKind::NotFound) => None,
            Err(error) => return Err(error),
        };
        let (before, named) =
            before.map_or((0, Vec::new()), |before| (before.size, before.segments));
        // What was erased since the last backup must leave the files that it copied.
        let mut erased = Vec::new();
        for seq in before + 1..=roots.size {
            let entry = reading.view().entry(seq)?;
            if let Some(Payload::Erase(erase)) = entry.map(|entry| entry.payload()).transpose()? {
                erased.push(erase.id.get());
                erased.extend(reading.view().versions(erase.id)?.iter().map(|v| v.seq));
            }
        }
        let copies = files.ledger().copy_to(folder, &named, &erased)?;
        let (actor, size) = (self.actor.clone(), roots.size);
        let root = roots.overall(self.actor.as_str());
        let manifest = BackupManifest { actor, size, root, segments: copies.segments };
        let path = folder.join(MANIFEST);
        let scratch = folder.join(format!("{MANIFEST}.new"));
        std::fs::write(&scratch, manifest.to_text())
            .and_then(|()| std::fs::File::open(&scratch)?.sync_all())
            .and_then(|()| std::fs::rename(&scratch, &path))
            .map_err(|error| {
                // It is worthless, and may not be there at all.
                let _ = std::fs::remove_file(&scratch);
                Error::io(path.display(), error)
            })?;
        Ok(BackupReport { manifest, copied_bytes: copies.copied_bytes })
    }

    /// Makes an actor from a backup, in a folder that has none: as of the backup, or as of an earlier moment. The root
    /// of what comes out is the one that the manifest names.
    pub fn restore_backup(
        backup: &Path,
        at: Option<RestorePoint>,
        folder: &Path,
        options: Options,
    ) -> Result<(Cortex, RestoreReport)> {
        let manifest = BackupManifest::read(backup)?;
        let whole = RestorePoint::Seq(manifest.size);
        let at = match at {
            Some(RestorePoint::Seq(seq)) if seq > manifest.size => {
                let reason = format!("the backup ends with entry {}", manifest.size);
                return Err(Error::invalid("moment", reason));
            }
            at => at.unwrap_or(whole),
        };
        let made = copied(backup, &manifest.actor, folder, options, (at, LossRule::Refuse))?;
        let (_, RestoreReport { root: found, .. }) = made;
        if at == whole && found != manifest.root {
            return Err(Error::RootMismatch { expected: manifest.root, found });
        }
        Ok(made)
    }

    /// Copies everything that is sound from a damaged actor, which is only read, into a folder that has none. Markers
    /// stand for entries that are lost, so the root is another one.
    pub fn salvage(
        damaged: &Path,
        actor: &ActorName,
        folder: &Path,
        options: Options,
    ) -> Result<(Cortex, RestoreReport)> {
        let all = RestorePoint::Seq(u64::MAX);
        copied(damaged, actor, folder, options, (all, LossRule::Mark))
    }

    /// Opens an actor, or a backup of one, without writing to its folder. What is derived is made in `scratch`, which
    /// the caller removes. Changes are refused.
    pub fn open_read_only(
        folder: &Path,
        actor: &ActorName,
        scratch: &Path,
        options: Options,
    ) -> Result<Cortex> {
        if !DiskMedium::new(folder).is_actor() {
            return Err(Error::not_found("actor", actor));
        }
        std::fs::create_dir_all(scratch).map_err(|error| Error::io(scratch.display(), error))?;
        let medium = Box::new(ReadOnlyMedium::new(folder, scratch));
        let mut cortex = Cortex::open_on(medium, actor, options)?;
        cortex.is_read_only = true;
        Ok(cortex)
    }
}

/// Copies the entries of a ledger, which is only read, and opens what comes out.
fn copied(
    from: &Path,
    actor: &ActorName,
    folder: &Path,
    options: Options,
    (upto, rule): (RestorePoint, LossRule),
) -> Result<(Cortex, RestoreReport)> {
    if DiskMedium::new(folder).is_actor() {
        return Err(Error::invalid("folder", "an actor lives in it already"));
    }
    std::fs::create_dir_all(folder).map_err(|error| Error::io(folder.display(), error))?;
    let open = |medium: Arc<dyn Medium>| {
        let of = (actor, (options.ledger_key)());
        let bytes = options.engine.segment_bytes;
        FileLedger::open(medium, SegmentNames::Ledger, of, None, bytes)
    };
    let source = open(Arc::new(ReadOnlyMedium::new(from, folder)))?;
    let target = open(Arc::new(DiskMedium::new(folder)))?;
    let copy = copy_entries(&source, &target, Some(upto), rule)?;
    drop(target);
    let cortex = Cortex::open(folder, actor, options)?;
    let found = cortex.read()?.roots()?;
    if (found.size, found.journal) != (copy.entries, copy.journal_root) {
        let (expected, found) = (copy.journal_root, found.journal);
        return Err(Error::RootMismatch { expected, found });
    }
    let root = found.overall(actor.as_str());
    let erased_since = erase_again(&cortex, &copy.erased)?;
    let mut lost = copy.lost;
    // Entries that no longer fit are found when everything is derived.
    lost.extend(cortex.damage().into_iter().filter(|note| note.place.starts_with("entry ")));
    lost.sort();
    lost.dedup();
    Ok((cortex, RestoreReport { entries: copy.entries, root, lost, erased_since }))
}

/// Erases what has lost its body though no entry says so: the one that did came later than the last that was copied.
fn erase_again(cortex: &Cortex, bodies: &[u64]) -> Result<Vec<MemoryId>> {
    let reading = cortex.read()?;
    let view = reading.view();
    let mut erased = BTreeSet::new();
    for seq in bodies {
        let payload = view.entry(*seq)?.map(|entry| entry.payload()).transpose()?;
        let memory = match payload {
            Some(Payload::Write(_)) => MemoryId::new(*seq),
            Some(Payload::Update(update)) => Some(update.id),
            _ => None,
        };
        if !view.is_body_erased(*seq, memory)? {
            // What is no memory is erased by the number of its entry.
            erased.extend(memory.or(MemoryId::new(*seq)));
        }
    }
    let at = view.counters()?.at;
    for id in &erased {
        let reason = "erased after the moment that was restored".to_owned();
        cortex.erase(Stamp::new(at, "restore"), Removal { id: *id, expected: None, reason })?;
    }
    Ok(erased.into_iter().collect())
}
