//! Which project a memory belongs to.
//!
//! Asked in this order: the name the caller gave, `.cortex.toml` in the folder or above, the remote of the repository,
//! the folder of the repository, the folder itself. Must stay true: every clone, worktree and spelling of one
//! repository gives one name; the home folder, what lies above it and the root of the disk are no project; a path never
//! becomes a name; nothing here fails: what could not be read becomes a note and the next source is asked.

pub mod alias;
mod config;
pub mod file_system;
mod git;
pub mod name;
pub mod remote;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use file_system::FileSystem;

/// Folders looked at on the way up.
const ANCESTORS_MAX: usize = 64;

/// What is known about where a request comes from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<'p> {
    /// The name the caller gave.
    pub given: Option<&'p str>,
    /// The folder the agent works in.
    pub cwd: Option<&'p Path>,
    /// The home folder of the person.
    pub home: Option<&'p Path>,
}

/// What a project's name was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Given,
    Config,
    Remote,
    Root,
    Folder,
}

/// A project, and how it was recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// A normal name.
    pub name: String,
    pub source: Source,
    /// The folder of the project; of a worktree, that of the main one. Absent if the name was given.
    pub root: Option<PathBuf>,
    /// Where the repository is served, `host/owner/name`: its identity, if the name is that of a remote.
    pub remote: Option<String>,
}

/// The answer: perhaps a project, and what a person should know about how it was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolution {
    pub project: Option<Project>,
    pub notes: Vec<String>,
}

/// Finds the project of a request.
pub fn resolve(place: &Place<'_>, tree: &dyn FileSystem) -> Resolution {
    let mut notes = Vec::new();
    let project = given(place, &mut notes).or_else(|| {
        let cwd = place.cwd?;
        // A relative folder says nothing without knowing relative to what.
        let cwd = tree.canonical(cwd).or_else(|| cwd.is_absolute().then(|| cwd.to_owned()))?;
        let home = place.home.map(|home| tree.canonical(home).unwrap_or_else(|| home.to_owned()));
        detect(&cwd, home.as_deref(), tree, &mut notes)
    });
    Resolution { project, notes }
}

fn given(place: &Place<'_>, notes: &mut Vec<String>) -> Option<Project> {
    let given = place.given.filter(|given| !given.trim().is_empty())?;
    let name = name::from_given(given);
    match &name {
        Some(name) if name != given => notes.push(format!("project {given:?} is kept as {name:?}")),
        Some(_) => {}
        None => notes.push(format!("project {given:?} is no name and was passed over")),
    }
    Some(Project { name: name?, source: Source::Given, root: None, remote: None })
}

fn detect(
    cwd: &Path,
    home: Option<&Path>,
    tree: &dyn FileSystem,
    notes: &mut Vec<String>,
) -> Option<Project> {
    let is_project = |folder: &Path| {
        folder.parent().is_some() && !home.is_some_and(|home| home.starts_with(folder))
    };
    let folders: Vec<&Path> =
        cwd.ancestors().take(ANCESTORS_MAX).take_while(|folder| is_project(folder)).collect();
    let repository = folders.iter().find_map(|folder| git::open(folder, tree, notes));
    let within = repository.as_ref().map(|repository| repository.folder.as_path());
    for folder in &folders {
        if let Some(name) = config::read(folder, tree, notes) {
            let root = Some((*folder).to_owned());
            return Some(Project { name, source: Source::Config, root, remote: None });
        }
        if within == Some(*folder) {
            break;
        }
    }
    if let Some(repository) = repository {
        let root = Some(repository.root.clone());
        if let Some(remote) = repository.remote(tree, notes)
            && let Some(name) = remote.name()
        {
            let remote = Some(remote.address);
            return Some(Project { name, source: Source::Remote, root, remote });
        }
        if let Some(name) = name::of_folder(&repository.root) {
            return Some(Project { name, source: Source::Root, root, remote: None });
        }
    }
    let folder = *folders.first()?;
    let name = name::of_folder(folder)?;
    let root = Some(folder.to_owned());
    Some(Project { name, source: Source::Folder, root, remote: None })
}
