//! The pages of an actor: what each said, in a file of its own.
//!
//! The questions themselves are memories, so the journal has them. What a page said is derived: without its file it is
//! written again, and its versions begin anew. What must stay true: a file is replaced whole or not at all; one that
//! cannot be read costs the versions and nothing else; what was erased is in no file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use kernel::memory::Millis;
use mind::audience::Audience;
use mind::bulletin::page::PageState;
use serde::{Deserialize, Serialize};
use service::error::{Error, Result};
use service::files::replace_private_file;

/// The folder beside the actor's store.
const FOLDER: &str = "pages";
/// Raised when the shape of a file changes.
const FORMAT: u32 = 1;
/// Bytes of a file that are read.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// The journal must be at rest for so long before pages are looked at, so that a burst of saves makes one version.
const REST_MS: i64 = 2_000;
/// They are looked at after this time even if it never rests.
const UNREST_MS: i64 = 30_000;

#[derive(Debug, Serialize, Deserialize)]
struct PageFile {
    format: u32,
    page: PageState,
}

/// Is anything kept of pages for the actor in this folder?
pub(crate) fn is_kept(actor_folder: &Path) -> bool {
    actor_folder.join(FOLDER).exists()
}

/// Removes all that pages said.
pub(crate) fn discard(actor_folder: &Path) -> Result<()> {
    let folder = actor_folder.join(FOLDER);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io(folder.display(), &error))
        }
        _ => Ok(()),
    }
}

/// What an actor's pages said.
#[derive(Debug)]
pub(crate) struct PageShelf {
    folder: PathBuf,
    pages: BTreeMap<String, PageState>,
    /// Journal entries up to which all pages were looked at.
    looked: Option<u64>,
    /// Entries at the last tick, since when, and since when there is anything new.
    growth: Option<(u64, Millis, Millis)>,
    /// Somebody looks at all pages now.
    is_busy: bool,
}

impl PageShelf {
    pub(super) fn new(actor_folder: &Path) -> PageShelf {
        PageShelf {
            folder: actor_folder.join(FOLDER),
            pages: BTreeMap::new(),
            looked: None,
            growth: None,
            is_busy: false,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    /// The page of a name that passed `page_name`, as it was kept.
    pub(crate) fn page(&mut self, name: &str) -> Result<&mut PageState> {
        if !self.pages.contains_key(name) {
            let kept = self.load(name)?;
            let page = kept.unwrap_or_else(|| PageState::new(Audience::Owner));
            self.pages.insert(name.to_owned(), page);
        }
        self.pages.get_mut(name).ok_or_else(|| Error::internal("a page was just put here"))
    }

    fn load(&self, name: &str) -> Result<Option<PageState>> {
        use std::io::Read as _;
        let path = self.path(name);
        let mut bytes = Vec::new();
        match fs::File::open(&path) {
            Ok(file) => file.take(FILE_BYTES_MAX).read_to_end(&mut bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => Err(error),
        }
        .map_err(|error| Error::io(path.display(), &error))?;
        match serde_json::from_slice::<PageFile>(&bytes) {
            Ok(file) if file.format == FORMAT => Ok(Some(file.page)),
            _ => {
                tracing::warn!("{} cannot be read; the page is written anew", path.display());
                Ok(None)
            }
        }
    }

    /// Writes down what a page says.
    pub(crate) fn keep(&self, name: &str) -> Result<()> {
        let Some(page) = self.pages.get(name) else { return Ok(()) };
        let file = PageFile { format: FORMAT, page: page.clone() };
        let bytes =
            serde_json::to_vec(&file).map_err(|error| Error::internal(error.to_string()))?;
        let path = self.path(name);
        let written =
            fs::create_dir_all(&self.folder).and_then(|()| replace_private_file(&path, &bytes));
        written.map_err(|error| Error::io(path.display(), &error))
    }

    /// The text of a memory was erased: every page that had it loses its versions with it.
    pub(crate) fn erase(&mut self, id: u64) -> Result<()> {
        for name in self.kept()? {
            if self.page(&name)?.erase(id) {
                self.keep(&name)?;
            }
        }
        self.looked = None;
        Ok(())
    }

    /// The names of all pages that have a file.
    fn kept(&self) -> Result<Vec<String>> {
        let files = match fs::read_dir(&self.folder) {
            Ok(files) => files,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io(self.folder.display(), &error)),
        };
        let mut names = Vec::new();
        for file in files {
            let path = file.map_err(|error| Error::io(self.folder.display(), &error))?.path();
            let is_page = path.extension().is_some_and(|ending| ending == "json");
            let name = path.file_stem().and_then(|name| name.to_str());
            names.extend(name.filter(|_| is_page).map(str::to_owned));
        }
        Ok(names)
    }

    /// All pages were looked at with this many entries.
    pub(crate) fn looked(&mut self, size: u64) {
        self.looked = Some(size);
        self.growth = None;
    }

    /// The look that `is_due` asked for is over, however it went.
    pub(crate) fn rest(&mut self) {
        self.is_busy = false;
    }

    /// True if the journal grew since the last look and rests, or has not rested for long. Until `rest` nobody else is
    /// told so: one look at a time.
    pub(crate) fn is_due(&mut self, size: u64, now: Millis) -> bool {
        if self.is_busy {
            return false;
        }
        if self.looked == Some(size) {
            self.growth = None;
            return false;
        }
        let (since, first) = match self.growth {
            Some((known, since, first)) if known == size => (since, first),
            Some((_, _, first)) => (now, first),
            None => (now, now),
        };
        self.growth = Some((size, since, first));
        let past = |moment: Millis| now.get().saturating_sub(moment.get());
        self.is_busy = past(since) >= REST_MS || past(first) >= UNREST_MS;
        self.is_busy
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    // T11: a burst of saves makes one version
    #[test]
    fn pages_wait_until_the_journal_rests_but_not_for_ever() {
        let folder = tempfile::TempDir::new().unwrap();
        let mut shelf = PageShelf::new(folder.path());
        assert!(!shelf.is_due(1, Millis(0)));
        assert!(shelf.is_due(1, Millis(REST_MS)));
        assert!(!shelf.is_due(1, Millis(REST_MS)), "one look at a time");
        shelf.looked(1);
        shelf.rest();
        assert!(!shelf.is_due(1, Millis(99_999)), "nothing is new");
        let mut looks = 0;
        for tick in 0..200_u64 {
            // Something is saved at every tick of a second.
            let now = Millis(100_000 + i64::try_from(tick).unwrap() * 1_000);
            if shelf.is_due(2 + tick, now) {
                looks += 1;
                shelf.looked(2 + tick);
                shelf.rest();
            }
        }
        assert_eq!(looks, 200 / (1 + UNREST_MS / 1_000));
    }

    #[test]
    fn a_file_that_cannot_be_read_costs_the_versions_alone() {
        let folder = tempfile::TempDir::new().unwrap();
        let mut shelf = PageShelf::new(folder.path());
        shelf.page("risks").unwrap();
        shelf.keep("risks").unwrap();
        fs::write(shelf.path("risks"), b"{\"format\":1,").unwrap();
        let mut again = PageShelf::new(folder.path());
        assert!(again.page("risks").unwrap().current().is_none());
        assert_eq!(again.kept().unwrap(), ["risks"]);
    }
}
