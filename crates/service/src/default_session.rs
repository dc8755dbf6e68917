//! The session of saves that name none: one for each project.

use kernel::limits::NAME_BYTES_MAX;

/// Where saves go that no session frames.
const DEFAULT_SESSION: &str = "manual-save";

pub(crate) fn is_default(id: &str) -> bool {
    id == DEFAULT_SESSION || id.starts_with("manual-save-")
}

/// The session of saves that name none.
pub(crate) fn default_id(project: Option<&str>) -> String {
    match project {
        None => DEFAULT_SESSION.to_owned(),
        Some(project) => {
            let id = format!("{DEFAULT_SESSION}-{project}");
            id[..id.floor_char_boundary(NAME_BYTES_MAX)].to_owned()
        }
    }
}
