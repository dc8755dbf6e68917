//! File and folder names that every file system and every wiki link can hold.
//!
//! A file name ends with the memory's id, so no two are alike, also where case does not count.

use crate::clean::cut;

/// Bytes of a name without its id and ending; with them it stays below what file systems take.
const NAME_BYTES: usize = 120;
const FOLDER_BYTES: usize = 80;
/// Folder of memories without a project.
const NO_PROJECT: &str = "no project";
/// Names that Windows keeps for devices.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// The name of a memory's file, without its ending: what a link says.
pub(super) fn file(title: &str, id: u64) -> String {
    let title = safe(title, NAME_BYTES);
    if title.is_empty() { format!("memory ({id})") } else { format!("{title} ({id})") }
}

/// The folder of a project.
pub(super) fn folder(project: Option<&str>) -> String {
    let Some(project) = project else { return NO_PROJECT.to_owned() };
    let name = safe(project, FOLDER_BYTES);
    let lower = name.to_lowercase();
    let port = ["com", "lpt"].iter().any(|port| {
        lower
            .strip_prefix(port)
            .is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|b| b.is_ascii_digit()))
    });
    if name.is_empty() || port || DEVICES.contains(&lower.as_str()) || lower == NO_PROJECT {
        format!("project {name}").trim_end().to_owned()
    } else {
        name
    }
}

/// Letters stay letters; what a path, a link or a shell reads as something else becomes a space.
fn safe(text: &str, max: usize) -> String {
    let plain: String = text.chars().map(|c| if is_plain(c) { c } else { ' ' }).collect();
    let words = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    // Neither hidden nor ending in what Windows drops.
    cut(&words, max).trim_matches(['.', ' ']).to_owned()
}

fn is_plain(c: char) -> bool {
    let invisible = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}');
    let special = matches!(
        c,
        '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|' | '#' | '^' | '[' | ']' | '%' | '`'
    );
    !c.is_control() && !invisible && !special
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_safe(name: &str) -> bool {
        !name.is_empty()
            && name.len() <= 200
            && !name.starts_with(['.', ' '])
            && !name.ends_with(['.', ' '])
            && !name
                .contains(['/', '\\', ':', '*', '?', '"', '<', '>', '|', '#', '^', '[', ']', '\0'])
            && !name.chars().any(char::is_control)
    }

    proptest! {
        #[test]
        fn every_title_makes_a_safe_name(title in "\\PC{0,300}|.{0,300}", id in 1u64.., other in 1u64..) {
            let name = file(&title, id);
            prop_assert!(is_safe(&name), "{name:?}");
            prop_assert_eq!(id == other, name.to_lowercase() == file(&title, other).to_lowercase());
        }

        #[test]
        fn every_project_makes_a_safe_folder(project in "\\PC{0,200}|.{0,200}") {
            let name = folder(Some(&project));
            prop_assert!(is_safe(&name), "{name:?}");
        }

        #[test]
        fn no_title_leaves_the_folder(title in "(\\.\\./|\\.\\.\\\\|/|~|\\.){0,20}[a-z]{0,3}") {
            let name = file(&title, 7);
            let parts: Vec<_> = std::path::Path::new(&name).components().collect();
            prop_assert!(matches!(parts[..], [std::path::Component::Normal(_)]), "{name:?}");
        }
    }

    #[test]
    fn names_are_readable() {
        assert_eq!(file("Use redb: one file?", 12), "Use redb one file (12)");
        assert_eq!(file("日本語のメモ", 3), "日本語のメモ (3)");
        assert_eq!(file("///", 3), "memory (3)");
        assert_eq!(folder(Some("github.com/me/web")), "github.com me web");
        for (project, name) in [("CON", "project CON"), ("com1", "project com1"), ("..", "project")]
        {
            assert_eq!(folder(Some(project)), name);
        }
        assert_eq!(folder(None), "no project");
    }
}
