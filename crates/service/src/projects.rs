//! Names that mean another project: kept in a file beside the actor's store, used by every read and write.
//!
//! What must stay true: a table that cannot be read never stops a save or a search, names then stand for themselves and
//! `cortex doctor` says so; merging refuses to write over such a table. The file is replaced whole or not at all.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use api::projects::{MergeAnswer, MergeRequest, SeparateAnswer, SeparateRequest};
use api::{ErrorCode, Fault};
use kernel::actor::ActorName;
use kernel::command::{Command, HeadRevision};
use kernel::journal::HeadPatch;
use kernel::keys;
use kernel::memory::MemoryId;
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::files::replace_file;
use crate::intake::project::alias::Aliases;
use crate::intake::project::name;
use crate::{Service, wording};

/// Bytes of a table that are read.
const FILE_BYTES_MAX: u64 = 4 << 20;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// From each old name to the project's name.
    aliases: BTreeMap<String, String>,
}

fn read(path: &Path) -> Result<Aliases> {
    use std::io::Read as _;
    let wrong = |why: String| {
        Error::new(ErrorCode::ProjectsFile, Fault::Server, format!("{}: {why}", path.display()))
            .with_hint("correct or remove the file; without it every name stands for itself")
    };
    let mut text = String::new();
    match std::fs::File::open(path) {
        Ok(file) => file.take(FILE_BYTES_MAX).read_to_string(&mut text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Aliases::default());
        }
        Err(error) => Err(error),
    }
    .map_err(|error| wrong(error.to_string()))?;
    let table: Table = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    Aliases::new(table.aliases).map_err(|error| wrong(error.to_string()))
}

fn write(path: &Path, aliases: &Aliases) -> Result<()> {
    let pairs = aliases.pairs().map(|(from, to)| (from.to_owned(), to.to_owned()));
    let table = Table { aliases: pairs.collect() };
    let mut text =
        serde_json::to_string_pretty(&table).map_err(|error| Error::internal(error.to_string()))?;
    text.push('\n');
    replace_file(path, text.as_bytes()).map_err(|error| Error::io(path.display(), &error))
}

impl Service {
    fn aliases_path(&self, actor: &ActorName) -> PathBuf {
        self.home.actor_folder(actor).join("projects.json")
    }

    /// The names of an actor that mean another project.
    pub(crate) fn aliases(&self, actor: &ActorName) -> Result<Aliases> {
        read(&self.aliases_path(actor))
    }

    /// The same for reading: a table that cannot be read lets every name stand for itself.
    pub(super) fn known_aliases(&self, actor: &ActorName) -> Aliases {
        self.aliases(actor).unwrap_or_default()
    }

    /// The project that a name means, in its one spelling. `None` if it is no name.
    pub fn named(&self, actor: &ActorName, given: &str) -> Option<String> {
        let name = wording::normal_project(given)?;
        Some(self.meant(actor, name))
    }

    /// The same for a name in its one spelling.
    fn meant(&self, actor: &ActorName, name: String) -> String {
        self.known_aliases(actor).resolve(&name).to_owned()
    }

    /// The project that is meant: the one named, else the one that the caller's folder belongs to.
    pub(super) fn project(&self, caller: &Caller, named: Option<&str>) -> Option<String> {
        let name = match named {
            Some(given) => wording::normal_project(given)?,
            None => {
                let cwd = caller.cwd.as_deref()?;
                wording::project_of(cwd, caller.person_home.as_deref(), caller.any_folder)?
            }
        };
        Some(self.meant(&caller.actor, name))
    }

    /// A note for whoever just wrote the first memory of a project whose name is nearly another's.
    pub(super) fn project_note(&self, reading: &kernel::Reading, project: &str) -> Result<String> {
        let view = reading.view();
        let mut count = 0;
        view.scan_index(&keys::by_project(project), None, true, &mut |_| {
            count += 1;
            Ok(if count > 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        if count > 1 {
            return Ok(String::new());
        }
        let (known, _) = view.projects()?;
        let known: Vec<String> = known.into_iter().collect();
        let similar = name::similar(project, known.iter().map(String::as_str));
        Ok(similar.first().map_or_else(String::new, |other| {
            format!(
                "{project:?} is a new project; {other:?} is there already. \
                 `cortex projects merge {project} --into {other}` makes them one"
            )
        }))
    }

    /// Moves every memory of some projects to another name, and lets the old names mean it from now on.
    pub fn merge_projects(&self, caller: &Caller, request: MergeRequest) -> Result<MergeAnswer> {
        let (cortex, reading) = self.reading(caller)?;
        let path = self.aliases_path(&caller.actor);
        let mut aliases = read(&path)?;
        let to = wording::normal_project(&request.to)
            .ok_or_else(|| Error::invalid("to", "name the project that stays"))?;
        let to = aliases.resolve(&to).to_owned();
        let mut ids: Vec<MemoryId> = Vec::new();
        for from in request.from.iter().filter(|from| **from != to) {
            if name::normalize(from).as_deref().map(|name| aliases.resolve(name)) != Some(&to) {
                aliases.merge(from, &to)?;
            }
            // A name from before names were normalised is given as it is.
            let spellings = std::collections::BTreeSet::from([
                from.clone(),
                wording::normal_project(from).unwrap_or_default(),
            ]);
            for spelling in spellings.iter().filter(|spelling| **spelling != to) {
                reading.view().scan_index(&keys::by_project(spelling), None, false, &mut |id| {
                    ids.push(id);
                    Ok(ControlFlow::Continue(()))
                })?;
            }
        }
        ids.sort_unstable();
        ids.dedup();
        // The names first: what is saved while memories move goes to the right place already.
        if !request.dry_run {
            write(&path, &aliases)?;
        }
        let mut moved = 0;
        for id in ids {
            let head = reading.view().required_head(id)?;
            if head.tombstone.is_some() || head.erased {
                continue;
            }
            if request.dry_run {
                moved += 1;
                continue;
            }
            let patch = HeadPatch { project: Some(to.clone()), ..HeadPatch::default() };
            let reason = head.project.map(|from| format!("project {from:?} merged"));
            let change = HeadRevision { id, expected: None, patch, reason };
            let receipt =
                self.submit(&cortex, caller.plain_stamp()?, Command::UpdateHead(change))?;
            moved += u64::from(receipt.changed);
        }
        let names = aliases.pairs().filter(|(_, target)| *target == to);
        let names = names.map(|(from, _)| from.to_owned()).collect();
        Ok(MergeAnswer { to, moved, aliases: names, dry_run: request.dry_run })
    }

    /// Lets a merged name be a project of its own again.
    pub fn separate_project(
        &self,
        caller: &Caller,
        request: SeparateRequest,
    ) -> Result<SeparateAnswer> {
        self.existing(caller)?;
        let path = self.aliases_path(&caller.actor);
        let mut aliases = read(&path)?;
        let name = wording::normal_project(&request.name)
            .ok_or_else(|| Error::invalid("name", "name the project"))?;
        if !aliases.remove(&name) {
            return Err(Error::missing("merged project", name));
        }
        write(&path, &aliases)?;
        Ok(SeparateAnswer { name })
    }
}
