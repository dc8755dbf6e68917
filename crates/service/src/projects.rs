//! Which project is meant, and merging projects. `project_table` has what is written down about their names.
//!
//! What must stay true: whoever asks, through whichever interface, gets one name for one folder; reading claims
//! nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::PathBuf;

use api::change_many::{BulkAction, CHANGE_MANY_MAX, ChangeManyRequest};
use api::projects::{MergeAnswer, MergeRequest, SeparateAnswer, SeparateRequest};
use kernel::actor::ActorName;
use kernel::command::{Command, HeadRevision};
use kernel::journal::HeadPatch;
use kernel::memory::MemoryId;
use kernel::{Digest, Reading, keys};

use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::journal_tail::each_session;
use crate::project_table::ProjectTable;
use crate::{Service, wording};
use intake::project::alias::Aliases;
use intake::project::{Project, name};

impl Service {
    fn table_path(&self, actor: &ActorName) -> PathBuf {
        self.home.actor_folder(actor).join("projects.json")
    }

    /// The names of an actor's projects.
    pub(crate) fn project_table(&self, actor: &ActorName) -> Result<ProjectTable> {
        ProjectTable::read(&self.table_path(actor))
    }

    /// The names that mean another project. A table that cannot be read lets every name stand for itself.
    pub fn known_aliases(&self, actor: &ActorName) -> Aliases {
        self.project_table(actor).unwrap_or_default().aliases
    }

    /// The project that a name means, in its one spelling. `None` if it is no name.
    pub fn named(&self, actor: &ActorName, given: &str) -> Option<String> {
        let name = wording::normal_project(given)?;
        Some(self.known_aliases(actor).resolve(&name).to_owned())
    }

    /// Every name under which memories of a project may stand.
    pub fn names_of_project(&self, actor: &ActorName, project: &str) -> Vec<String> {
        self.known_aliases(actor).names_of(project)
    }

    /// The project that the caller works in: the one they are known to be about, else that of their folder.
    fn working_project(&self, caller: &Caller) -> Option<Project> {
        let cwd = caller.cwd.as_deref()?;
        wording::project_of(cwd, caller.person_home.as_deref(), &self.folder)
    }

    /// The project that is meant by who reads: the one named, else the one that the caller works in.
    pub fn project(&self, caller: &Caller, named: Option<&str>) -> Option<String> {
        if let Some(given) = named.or(caller.project.as_deref()) {
            return self.named(&caller.actor, given);
        }
        let project = self.working_project(caller)?;
        let table = self.project_table(&caller.actor).unwrap_or_default();
        let name = match &project.remote {
            Some(address) => table.name_of(address, &project.name),
            None => project.name,
        };
        Some(table.aliases.resolve(&name).to_owned())
    }

    /// The same for who writes: from now on the repository has this name.
    pub(super) fn claimed_project(&self, caller: &Caller, named: Option<&str>) -> Option<String> {
        let project = self.project(caller, named)?;
        if named.is_none()
            && caller.project.is_none()
            && caller.delegate.is_none()
            && let Some(Project { name, remote: Some(address), .. }) = self.working_project(caller)
        {
            let state = self.state(&caller.actor);
            let alone = state.alone(&Digest::of("cortex/projects/1", &[]));
            if let Ok(mut table) = self.project_table(&caller.actor) {
                let own = table.name_of(&address, &name);
                if table.claim(&address, &own) {
                    // A name that could not be written down is the same at the next save.
                    let _ = table.write(&self.table_path(&caller.actor));
                }
            }
            drop(alone);
        }
        Some(project)
    }

    /// The project that a read is about: the one named, none if all are meant; without a name the one that the caller
    /// works in, if they want that. A grant says itself what it shows.
    pub(super) fn read_project(
        &self,
        caller: &Caller,
        named: Option<&str>,
        default_project: bool,
    ) -> Option<String> {
        match named.map(str::trim).filter(|name| !name.is_empty()) {
            Some(given) if wording::is_every_project(given) => None,
            Some(given) => self.named(&caller.actor, given),
            None if default_project && caller.delegate.is_none() => self.project(caller, None),
            None => None,
        }
    }

    /// A note for whoever just wrote the first memory of a project whose name is nearly another's.
    pub(super) fn project_note(&self, reading: &Reading, project: &str) -> Result<String> {
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
        let path = self.table_path(&caller.actor);
        let mut table = ProjectTable::read(&path)?;
        let to = wording::normal_project(&request.to)
            .ok_or_else(|| Error::invalid("to", "name the project that stays"))?;
        let to = table.aliases.resolve(&to).to_owned();
        let known = known_projects(&reading)?;
        for given in request.from.iter().chain([&request.to]) {
            check_known(given, &known, &table.aliases)?;
        }
        let aliases = &mut table.aliases;
        let (mut ids, mut given_up) = (Vec::<MemoryId>::new(), Vec::new());
        for from in request.from.iter().filter(|from| **from != to) {
            if name::normalize(from).as_deref().map(|name| aliases.resolve(name)) != Some(&to) {
                aliases.merge(from, &to)?;
                given_up.extend(name::normalize(from));
            }
            // A name from before names were normalised is given as it is.
            let spellings =
                BTreeSet::from([from.clone(), wording::normal_project(from).unwrap_or_default()]);
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
            table.write(&path)?;
        }
        let mut moved = 0;
        let mut came_from = BTreeMap::<String, Vec<u64>>::new();
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
            let reason = head.project.as_ref().map(|from| format!("project {from:?} merged"));
            let change = HeadRevision { id, expected: None, patch, reason };
            let receipt =
                self.submit(&cortex, caller.plain_stamp()?, Command::UpdateHead(change))?;
            moved += u64::from(receipt.changed);
            if receipt.changed {
                came_from.entry(head.project.unwrap_or_default()).or_default().push(id.get());
            }
        }
        let names = table.aliases.pairs().filter(|(_, target)| *target == to);
        let names = names.map(|(from, _)| from.to_owned()).collect();
        let back = |(from, ids): (&String, &Vec<u64>)| -> Vec<ChangeManyRequest> {
            let chunks = ids.chunks(CHANGE_MANY_MAX).map(|ids| ChangeManyRequest {
                action: BulkAction::Move,
                ids: ids.to_vec(),
                value: Some(from.clone()),
                reason: None,
            });
            chunks.collect()
        };
        let undo = came_from.iter().flat_map(back).collect();
        let dry_run = request.dry_run;
        Ok(MergeAnswer { to, moved, aliases: names, dry_run, given_up, undo })
    }

    /// Lets a merged name be a project of its own again.
    pub fn separate_project(
        &self,
        caller: &Caller,
        request: SeparateRequest,
    ) -> Result<SeparateAnswer> {
        self.existing(caller)?;
        let path = self.table_path(&caller.actor);
        let mut table = ProjectTable::read(&path)?;
        let name = wording::normal_project(&request.name)
            .ok_or_else(|| Error::invalid("name", "name the project"))?;
        if !table.aliases.remove(&name) {
            return Err(Error::missing("merged project", name));
        }
        table.write(&path)?;
        Ok(SeparateAnswer { name })
    }
}

/// Names that memories and sessions have.
fn known_projects(reading: &Reading) -> Result<BTreeSet<String>> {
    let view = reading.view();
    let mut known: BTreeSet<String> = view.projects()?.0.into_iter().collect();
    each_session(&view, &mut |session| known.extend(session.project))?;
    Ok(known)
}

/// A name that nothing has is a name typed wrong.
fn check_known(given: &str, known: &BTreeSet<String>, aliases: &Aliases) -> Result<()> {
    let normal = wording::normal_project(given).unwrap_or_default();
    let is_alias = aliases.resolve(&normal) != normal;
    if known.contains(given) || known.contains(&normal) || is_alias {
        return Ok(());
    }
    let similar = name::similar(&normal, known.iter().map(String::as_str));
    let hint = match similar.first() {
        Some(other) => format!("perhaps {other:?}; `cortex projects` names those there are"),
        None => "`cortex projects` names those there are".to_owned(),
    };
    Err(Error::missing("project", given).with_hint(hint))
}
