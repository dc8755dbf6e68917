//! Texts as answers show them, and the project a folder stands for.

use std::path::Path;

use intake::project::file_system::{DiskFiles, FileSystem as _};
use intake::project::{Place, Project, Source, name, resolve};

/// A project's name in its one spelling.
pub(super) fn normal_project(given: &str) -> Option<String> {
    name::from_given(given)
}

/// The project that a folder belongs to. A folder that memories are kept in is none.
pub(super) fn project_of(cwd: &Path, home: Option<&Path>, store: &Path) -> Option<Project> {
    let place = Place { given: None, cwd: Some(cwd), home };
    let project = resolve(&place, &DiskFiles).project?;
    let store = DiskFiles.canonical(store);
    let is_store = project.source == Source::Folder && project.root == store;
    (!is_store).then_some(project)
}

/// Whether whoever names a project so means every one.
pub fn is_every_project(given: &str) -> bool {
    ["all", "*"].iter().any(|all| given.eq_ignore_ascii_case(all))
}

/// Every run of white space one space.
pub(super) fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// At most `max` characters on one line, with an ellipsis among them where something is left out.
pub fn shortened(text: &str, max: usize) -> String {
    let flat = on_one_line(text);
    let ellipsis = "...";
    if flat.chars().count() <= max {
        return flat;
    }
    let end = flat.char_indices().nth(max.saturating_sub(ellipsis.len())).map_or(0, |(at, _)| at);
    format!("{}{ellipsis}", flat[..end].trim_end())
}
