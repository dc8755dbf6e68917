//! Finds the sources of agents and says which have changed, by what the file system tells without opening a file.
//!
//! What must stay true: regular files only, no links; a root that is missing is no error and changes nothing; the
//! newest comes first.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::catalog::{SourceRow, SourceStamp};
use crate::limits::{DEPTH_MAX, FILES_MAX};
use transcripts::counts::ReadCounts;
use transcripts::readers::{self, PastReader};

/// A file to be read, and how far it was read before.
pub(crate) struct SourcePlan {
    pub(crate) reader: &'static dyn PastReader,
    pub(crate) path: PathBuf,
    pub(crate) stamp: SourceStamp,
    pub(crate) before: Option<SourceRow>,
}

impl SourcePlan {
    /// Nothing changed since it was read.
    pub(crate) fn is_read(&self) -> bool {
        let version = self.reader.version();
        self.before.as_ref().is_some_and(|row| row.stamp == self.stamp && row.version == version)
    }
}

/// All regular files below the roots of a reader that it knows.
pub(crate) fn find(
    reader: &dyn PastReader,
    roots: &[PathBuf],
    counts: &mut ReadCounts,
) -> Vec<(PathBuf, SourceStamp)> {
    let mut found = Vec::new();
    let mut open: Vec<(PathBuf, usize)> = roots.iter().map(|root| (root.clone(), 0)).collect();
    while let Some((path, depth)) = open.pop() {
        let data = match fs::symlink_metadata(&path) {
            Ok(data) => data,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => {
                counts.unreadable.push(format!("{}: {error}", path.display()));
                continue;
            }
        };
        if data.is_dir() && depth <= DEPTH_MAX {
            match fs::read_dir(&path) {
                Ok(entries) => {
                    open.extend(entries.flatten().map(|entry| (entry.path(), depth + 1)));
                }
                Err(error) => counts.unreadable.push(format!("{}: {error}", path.display())),
            }
        } else if data.is_file() && reader.is_source(&path) {
            if found.len() == FILES_MAX {
                counts.unreadable.push(format!("{}: more than {FILES_MAX} files", path.display()));
                break;
            }
            let stamp = stamp(&path, &data);
            found.push((path, stamp));
        } else if !data.is_dir() && reader.is_source(&path) {
            // A link or a pipe could lead anywhere.
            counts.unreadable.push(format!("{}: is no regular file", path.display()));
        }
    }
    found
}

/// Sources that nobody knew, in folders that changed since a time. Of all other folders only the time is asked.
pub(crate) fn newcomers(
    reader: &'static dyn PastReader,
    roots: &[PathBuf],
    known: &BTreeMap<String, SourceRow>,
    since: i64,
) -> Vec<SourcePlan> {
    let mut folders: BTreeSet<&Path> = roots.iter().map(PathBuf::as_path).collect();
    let mut last = None;
    for row in known.values().filter(|row| row.agent == reader.agent()) {
        let folder = Path::new(&row.path).parent();
        if folder == last {
            continue;
        }
        last = folder;
        let inside =
            |folder: &&Path| roots.iter().any(|root| folder.starts_with(root) && folder != root);
        let above = folder.into_iter().flat_map(Path::ancestors).take_while(inside);
        for folder in above {
            if !folders.insert(folder) {
                break;
            }
        }
    }
    let is_fresh = |folder: &&Path| {
        fs::symlink_metadata(folder)
            .is_ok_and(|data| data.is_dir() && of_metadata(&data).modified_ns / 1_000_000 >= since)
    };
    let fresh: Vec<PathBuf> = folders.into_iter().filter(is_fresh).map(Path::to_owned).collect();
    let mut found = find(reader, &fresh, &mut ReadCounts::default());
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found.dedup_by(|one, other| one.0 == other.0);
    let mut plans = plan(reader, found, known, None);
    plans.retain(|plan| plan.before.is_none());
    plans
}

/// The files among them that are new or changed, newest first.
pub(crate) fn plan(
    reader: &'static dyn PastReader,
    found: Vec<(PathBuf, SourceStamp)>,
    known: &BTreeMap<String, SourceRow>,
    since: Option<i64>,
) -> Vec<SourcePlan> {
    let mut plans = Vec::new();
    for (path, stamp) in found {
        let before = known.get(&*path.to_string_lossy());
        let is_same =
            before.is_some_and(|row| row.stamp == stamp && row.version == reader.version());
        let is_old = since.is_some_and(|since| stamp.modified_ns / 1_000_000 < since);
        if !is_same && !is_old {
            plans.push(SourcePlan { reader, path, stamp, before: before.cloned() });
        }
    }
    plans
}

/// Known sources that had changed since a time, and have again. No folder is listed.
pub(crate) fn grown(known: &BTreeMap<String, SourceRow>, since: i64) -> Vec<SourcePlan> {
    let mut plans = Vec::new();
    for row in known.values().filter(|row| row.stamp.modified_ns / 1_000_000 >= since) {
        let path = PathBuf::from(&row.path);
        let (Some(reader), Ok(data)) = (readers::of(row.agent), fs::symlink_metadata(&path)) else {
            continue;
        };
        let stamp = stamp(&path, &data);
        if data.is_file() && stamp != row.stamp {
            plans.push(SourcePlan { reader, path, stamp, before: Some(row.clone()) });
        }
    }
    plans
}

pub(crate) fn newest_first(plans: &mut [SourcePlan]) {
    plans.sort_by(|one, other| {
        (other.stamp.modified_ns, &one.path).cmp(&(one.stamp.modified_ns, &other.path))
    });
}

/// A database changes in the log beside it, too.
pub(crate) fn stamp(path: &Path, data: &fs::Metadata) -> SourceStamp {
    let mut stamp = of_metadata(data);
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    if let Ok(data) = fs::symlink_metadata(Path::new(&log)) {
        let log = of_metadata(&data);
        stamp.size += log.size;
        stamp.modified_ns = stamp.modified_ns.max(log.modified_ns);
    }
    stamp
}

fn of_metadata(data: &fs::Metadata) -> SourceStamp {
    let modified =
        data.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let modified_ns = modified.and_then(|time| i64::try_from(time.as_nanos()).ok()).unwrap_or(0);
    #[cfg(unix)]
    let (device, inode) = {
        use std::os::unix::fs::MetadataExt as _;
        (data.dev(), data.ino())
    };
    #[cfg(not(unix))]
    let (device, inode) = (0, 0);
    SourceStamp { size: data.len(), modified_ns, device, inode }
}
