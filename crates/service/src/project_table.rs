//! What is written down about project names: which mean another project, and which repository has which.
//!
//! A file beside the actor's store. What must stay true: a repository keeps the name under which it first saved; two
//! repositories never share one unless a person merged them; a table that cannot be read never stops a save or a
//! search, names then stand for themselves and `cortex doctor` says so. The file is replaced whole or not at all.

use std::collections::BTreeMap;
use std::path::Path;

use api::{ErrorCode, Fault};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::files::replace_file;
use intake::project::alias::{ALIASES_MAX, Aliases};

/// Bytes of a table that are read.
const FILE_BYTES_MAX: u64 = 4 << 20;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableFile {
    /// From each old name to the project's name.
    aliases: BTreeMap<String, String>,
    /// From the address of each repository that saved something to the name it has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    remotes: BTreeMap<String, String>,
}

/// The names of an actor's projects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProjectTable {
    pub(crate) aliases: Aliases,
    remotes: BTreeMap<String, String>,
}

impl ProjectTable {
    pub(crate) fn read(path: &Path) -> Result<ProjectTable> {
        use std::io::Read as _;
        let wrong = |why: String| {
            let message = format!("{}: {why}", path.display());
            Error::new(ErrorCode::ProjectsFile, Fault::Server, message)
                .with_hint("correct or remove the file; without it every name stands for itself")
        };
        let mut text = String::new();
        match std::fs::File::open(path) {
            Ok(file) => file.take(FILE_BYTES_MAX).read_to_string(&mut text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(ProjectTable::default());
            }
            Err(error) => Err(error),
        }
        .map_err(|error| wrong(error.to_string()))?;
        let file: TableFile =
            serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let aliases = Aliases::new(file.aliases).map_err(|error| wrong(error.to_string()))?;
        Ok(ProjectTable { aliases, remotes: file.remotes })
    }

    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let pairs = self.aliases.pairs().map(|(from, to)| (from.to_owned(), to.to_owned()));
        let file = TableFile { aliases: pairs.collect(), remotes: self.remotes.clone() };
        let mut text = serde_json::to_string_pretty(&file)
            .map_err(|error| Error::internal(error.to_string()))?;
        text.push('\n');
        replace_file(path, text.as_bytes()).map_err(|error| Error::io(path.display(), &error))
    }

    /// The name of the repository at an address whose last part is `name`: its own if it has one, `name` if no other
    /// repository has it, else as much of the address as tells them apart.
    pub(crate) fn name_of(&self, address: &str, name: &str) -> String {
        if let Some(own) = self.remotes.get(address) {
            return own.clone();
        }
        if !self.remotes.values().any(|taken| taken == name) {
            return name.to_owned();
        }
        let starts = address.rmatch_indices('/').skip(1).map(|(at, _)| at + 1).chain([0]);
        let mut longer = starts.map(|start| &address[start..]);
        let is_told_apart = |part: &str| {
            !self.remotes.iter().any(|(other, taken)| {
                taken == part || other.strip_suffix(part).is_some_and(|rest| rest.ends_with('/'))
            })
        };
        longer.find(|part| is_told_apart(part)).unwrap_or(address).to_owned()
    }

    /// Gives the repository at an address a name for good. False if it has one, or there are too many.
    pub(crate) fn claim(&mut self, address: &str, name: &str) -> bool {
        if self.remotes.contains_key(address) || self.remotes.len() >= ALIASES_MAX {
            return false;
        }
        self.remotes.insert(address.to_owned(), name.to_owned());
        true
    }

    /// Addresses of the repositories that have a name.
    pub(crate) fn remotes_of<'t>(&'t self, name: &'t str) -> impl Iterator<Item = &'t str> {
        let named = self.remotes.iter().filter(move |(_, own)| self.aliases.resolve(own) == name);
        named.map(|(address, _)| address.as_str())
    }

    /// Repositories whose addresses end alike, which are kept apart.
    pub(crate) fn told_apart(&self) -> Vec<String> {
        let mut by_name: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (address, own) in &self.remotes {
            let last = address.rsplit('/').next().unwrap_or(address);
            by_name.entry(last).or_default().push(format!("{own} ({address})"));
        }
        let same = by_name.into_iter().filter(|(_, repositories)| repositories.len() > 1);
        same.map(|(_, repositories)| repositories.join(" and ")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // serving S18
    #[test]
    fn repositories_of_one_name_are_told_apart_and_the_first_keeps_it() {
        let mut table = ProjectTable::default();
        let first = "github.com/acme/shop";
        assert_eq!(table.name_of(first, "shop"), "shop");
        assert!(table.claim(first, "shop"));
        assert!(!table.claim(first, "other"));
        assert_eq!(table.name_of(first, "shop"), "shop");
        assert_eq!(table.name_of("gitlab.com/beta/shop", "shop"), "beta/shop");
        // The owner alone would not tell these apart.
        assert_eq!(table.name_of("gitlab.com/acme/shop", "shop"), "gitlab.com/acme/shop");
        assert!(table.claim("gitlab.com/beta/shop", "beta/shop"));
        assert_eq!(table.name_of("example.org/beta/shop", "shop"), "example.org/beta/shop");
        assert_eq!(
            table.told_apart(),
            ["shop (github.com/acme/shop) and beta/shop (gitlab.com/beta/shop)"]
        );
        assert_eq!(table.name_of("gitlab.com/acme/web", "web"), "web");
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("projects.json");
        let mut table = ProjectTable::default();
        table.aliases.merge("web", "shop").unwrap();
        table.claim("github.com/acme/shop", "shop");
        table.write(&path).unwrap();
        assert_eq!(ProjectTable::read(&path).unwrap(), table);
        // Tables from before repositories had names.
        std::fs::write(&path, "{\"aliases\": {\"a\": \"b\"}}").unwrap();
        assert_eq!(ProjectTable::read(&path).unwrap().aliases.resolve("a"), "b");
        std::fs::write(&path, "{").unwrap();
        assert_eq!(ProjectTable::read(&path).unwrap_err().code(), ErrorCode::ProjectsFile);
    }
}
