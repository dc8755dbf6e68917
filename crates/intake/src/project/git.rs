//! Repositories, read from their files; git itself is not needed.
//!
//! Must stay true: a worktree has the root and the remotes of its main repository, a submodule its own; a folder is a
//! repository only if git would take it for one.

use std::path::{Component, Path, PathBuf};

use crate::project::file_system::{FileSystem, text_or_note};
use crate::project::remote::Remote;

/// A repository as seen from a folder of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Repository {
    /// The folder that holds `.git`.
    pub(super) folder: PathBuf,
    /// Where the main worktree is; of a bare repository, the repository.
    pub(super) root: PathBuf,
    /// Where configuration and objects are, shared by all worktrees.
    common: PathBuf,
}

/// The repository whose top is this folder.
pub(super) fn open(
    folder: &Path,
    tree: &dyn FileSystem,
    notes: &mut Vec<String>,
) -> Option<Repository> {
    let dot_git = folder.join(".git");
    if tree.is_folder(&dot_git) {
        let head = tree.text(&dot_git.join("HEAD"));
        // An unreadable HEAD is still a HEAD; a folder without one is no repository.
        let is_repository = !matches!(head, Ok(None));
        return is_repository.then(|| Repository {
            folder: folder.to_owned(),
            root: folder.to_owned(),
            common: dot_git,
        });
    }
    let pointer = text_or_note(tree, &dot_git, notes)?;
    let target = pointer.lines().find_map(|line| line.strip_prefix("gitdir:"))?.trim();
    let git_dir = join(folder, target);
    let git_dir = tree.canonical(&git_dir).unwrap_or(git_dir);
    let common = match text_or_note(tree, &git_dir.join("commondir"), notes) {
        Some(common) => {
            let common = join(&git_dir, common.trim());
            tree.canonical(&common).unwrap_or(common)
        }
        // A worktree whose repository is not here, as in a container: its address still names the repository.
        None => match git_dir.parent() {
            Some(worktrees) if !tree.is_folder(&git_dir) && worktrees.ends_with("worktrees") => {
                worktrees.parent().unwrap_or(worktrees).to_owned()
            }
            _ => git_dir.clone(),
        },
    };
    let root = if common == git_dir { folder.to_owned() } else { main_root(&common, tree, notes) };
    Some(Repository { folder: folder.to_owned(), root, common })
}

/// The main worktree of a repository that has several.
fn main_root(common: &Path, tree: &dyn FileSystem, notes: &mut Vec<String>) -> PathBuf {
    let config = text_or_note(tree, &common.join("config"), notes).unwrap_or_default();
    let values = settings(&config);
    let worktree = values.iter().rev().find(|(key, _)| key == "core.worktree");
    if let Some((_, worktree)) = worktree {
        return join(common, worktree);
    }
    let hidden = common.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    match common.parent() {
        Some(parent) if hidden => parent.to_owned(),
        _ => common.to_owned(),
    }
}

impl Repository {
    /// The remote that names the repository: `origin`, else `upstream`, else the first.
    pub(super) fn remote(&self, tree: &dyn FileSystem, notes: &mut Vec<String>) -> Option<Remote> {
        let config = text_or_note(tree, &self.common.join("config"), notes)?;
        let values = settings(&config);
        let mut urls = values.iter().filter_map(|(key, url)| {
            let (name, _) =
                key.strip_prefix("remote.")?.rsplit_once('.').filter(|(_, key)| *key == "url")?;
            Some((name, url))
        });
        let named = |wanted: &str| urls.clone().find(|(name, _)| *name == wanted);
        let (_, url) = named("origin").or_else(|| named("upstream")).or_else(|| urls.next())?;
        Remote::parse(url)
    }
}

/// `path` seen from `base`, with its dots resolved by name.
fn join(base: &Path, path: &str) -> PathBuf {
    let mut joined = PathBuf::new();
    for component in base.join(path).components() {
        match component {
            Component::ParentDir => {
                joined.pop();
            }
            Component::CurDir => {}
            other => joined.push(other),
        }
    }
    joined
}

/// The settings of a git configuration in their order, as `section.subsection.key` and value.
fn settings(config: &str) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    let mut section = String::new();
    let mut lines = config.lines();
    while let Some(line) = lines.next() {
        let mut line = line.trim().to_owned();
        while line.ends_with('\\') && !line.ends_with("\\\\") {
            line.pop();
            line.push_str(lines.next().unwrap_or_default().trim());
        }
        if let Some(header) = line.strip_prefix('[') {
            section = section_of(header);
        } else if let Some((key, value)) =
            line.split_once('=').filter(|_| !line.starts_with(['#', ';']))
        {
            settings.push((format!("{section}.{}", key.trim().to_lowercase()), plain_value(value)));
        }
    }
    settings
}

/// `remote "origin"]` and the older `remote.origin]` as `remote.origin`.
fn section_of(header: &str) -> String {
    match header.split_once('"') {
        Some((section, rest)) => {
            let mut name = String::new();
            let mut chars = rest.chars();
            while let Some(c) = chars.next().filter(|c| *c != '"') {
                name.extend(if c == '\\' { chars.next() } else { Some(c) });
            }
            format!("{}.{name}", section.trim().to_lowercase())
        }
        None => header.split(']').next().unwrap_or(header).trim().to_lowercase(),
    }
}

/// A value without quotes, escapes and the comment behind it.
fn plain_value(value: &str) -> String {
    let mut plain = String::new();
    let mut quoted = false;
    let mut chars = value.trim().chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '\\' => plain.extend(chars.next()),
            '#' | ';' if !quoted => break,
            c => plain.push(c),
        }
    }
    plain.trim().to_owned()
}
