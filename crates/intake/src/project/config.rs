//! The project's own word for itself: `project = "name"` in `.cortex.toml`.
//!
//! Must stay true: a file that is broken or says something else never stops a save; it becomes a note.

use std::path::Path;

use crate::project::file_system::{FileSystem, text_or_note};
use crate::project::name;

pub(super) const FILE: &str = ".cortex.toml";

/// The name the folder's file gives, if there is one.
pub(super) fn read(
    folder: &Path,
    tree: &dyn FileSystem,
    notes: &mut Vec<String>,
) -> Option<String> {
    let path = folder.join(FILE);
    let text = text_or_note(tree, &path, notes)?;
    let mut passed_over = |reason: &str| {
        notes.push(format!("{} was passed over: {reason}", path.display()));
        None
    };
    let table: toml::Table = match text.parse() {
        Ok(table) => table,
        Err(error) => return passed_over(error.message()),
    };
    let project = table.get("project")?;
    let Some(given) = project.as_str() else { return passed_over("project is not a text") };
    name::from_given(given).or_else(|| passed_over("project is no name"))
}
