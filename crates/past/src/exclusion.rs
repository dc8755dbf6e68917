//! What is not to be read: agents, folders by pattern, temporary folders, and the home of Cortex itself.
//!
//! What must stay true: exclusion is decided by the session's folder and agent alone, so that it can be asked before
//! and after reading.

use std::path::{Path, PathBuf};

use transcripts::session::{PastAgent, SessionInfo};

/// A file of this name in a folder, or above it, keeps its sessions out.
pub const MARKER_FILE: &str = ".cortex-no-past";
/// Folders above a session's own in which the file is looked for.
const MARKER_DEPTH_MAX: usize = 32;

#[derive(Clone, Debug, Default)]
pub struct Exclusion {
    /// Patterns of folders: `*` is any text without a slash, `**` any text.
    pub folders: Vec<String>,
    pub agents: Vec<PastAgent>,
    /// The home of Cortex: sessions of its own runs are below it.
    pub home: Option<PathBuf>,
    /// The person's own home. Where it lies in a temporary folder, as in a test or a container, nothing there is kept
    /// out for being temporary.
    pub person: Option<PathBuf>,
}

/// Folders whose sessions are of no use tomorrow.
const TEMPORARY: [&str; 5] =
    ["/tmp/**", "/private/tmp/**", "/var/tmp/**", "/var/folders/**", "/private/var/folders/**"];

impl Exclusion {
    pub fn covers(&self, info: &SessionInfo, has_marker: &dyn Fn(&Path) -> bool) -> bool {
        if self.agents.contains(&info.agent) {
            return true;
        }
        let Some(folder) = info.folder.as_deref() else {
            return false;
        };
        let path = Path::new(folder);
        let in_home = self.home.as_ref().is_some_and(|home| path.starts_with(home));
        let person = self.person.as_deref().map(Path::to_string_lossy).unwrap_or_default();
        let temporary = TEMPORARY.iter().copied().filter(|pattern| !matches(pattern, &person));
        let mut patterns = temporary.chain(self.folders.iter().map(String::as_str));
        in_home
            || patterns.any(|pattern| matches(pattern, folder))
            || path
                .ancestors()
                .take(MARKER_DEPTH_MAX)
                .any(|folder| has_marker(&folder.join(MARKER_FILE)))
    }
}

/// Whether a folder, or one above it, is what a pattern says. Linear but for the number of stars.
pub(crate) fn matches(pattern: &str, folder: &str) -> bool {
    let folder = folder.replace('\\', "/");
    let below = pattern.strip_suffix("/**").unwrap_or(pattern);
    let mut ends: Vec<usize> =
        folder.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0).collect();
    ends.push(folder.len());
    ends.iter().any(|end| is_match(below.as_bytes(), &folder.as_bytes()[..*end]))
}

fn is_match(pattern: &[u8], text: &[u8]) -> bool {
    // The places that a star may still grow from: in the pattern, in the text, and whether it passes slashes.
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize, bool)> = None;
    loop {
        if pattern[p..].starts_with(b"**") {
            star = Some((p + 2, t, true));
            p += 2;
        } else if pattern.get(p) == Some(&b'*') {
            star = Some((p + 1, t, false));
            p += 1;
        } else if t < text.len() && pattern.get(p) == Some(&text[t]) {
            (p, t) = (p + 1, t + 1);
        } else if t == text.len() && p == pattern.len() {
            return true;
        } else {
            match star {
                Some((after, from, passes))
                    if from < text.len() && (passes || text[from] != b'/') =>
                {
                    star = Some((after, from + 1, passes));
                    (p, t) = (after, from + 1);
                }
                _ => return false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(folder: &str) -> SessionInfo {
        SessionInfo { folder: Some(folder.to_owned()), ..SessionInfo::new(PastAgent::Codex, "s") }
    }

    // past 35
    #[test]
    fn folders_agents_markers_and_temporary_folders_are_kept_out() {
        let exclusion = Exclusion {
            folders: vec![
                "/src/secret".to_owned(),
                "/code/*/private".to_owned(),
                "**/keys".to_owned(),
            ],
            agents: Vec::new(),
            home: Some(PathBuf::from("/home/a/.cortex")),
            person: Some(PathBuf::from("/home/a")),
        };
        let marked = |path: &Path| path == Path::new("/src/marked/.cortex-no-past");
        for folder in [
            "/src/secret",
            "/src/secret/deep",
            "/code/a/private/x",
            "/any/where/keys",
            "/tmp/x",
            "/private/var/folders/ab/x",
            "/home/a/.cortex/runs/1",
            "/src/marked/deep/er",
        ] {
            assert!(exclusion.covers(&session(folder), &marked), "{folder}");
        }
        for folder in ["/src/secrets", "/code/a/b/private", "/src/tmp", "/home/a/.cortexes", "/"] {
            assert!(!exclusion.covers(&session(folder), &marked), "{folder}");
        }
        let in_test =
            Exclusion { person: Some(PathBuf::from("/tmp/x/me")), ..Exclusion::default() };
        assert!(!in_test.covers(&session("/tmp/x/work"), &marked));
        assert!(in_test.covers(&session("/var/tmp/x"), &marked));
        let of_agent = Exclusion { agents: vec![PastAgent::Codex], ..Exclusion::default() };
        assert!(of_agent.covers(&SessionInfo::new(PastAgent::Codex, "s"), &marked));
        assert!(!of_agent.covers(&SessionInfo::new(PastAgent::ClaudeCode, "s"), &marked));
    }
}
