//! What a talent is told of the memory before it asks: the mind's bulletin, as far as the run may know it.

use exec::Facet;

use super::toolbox::{ABOUT, MemoryTools};
use crate::ops::bulletin::BulletinRequest;
use crate::ops::read::GetRequest;

impl MemoryTools {
    /// What matters now, as the mind published it, each line marked as a quotation. A run for a facet gets the lines that come
    /// from memories it may know of.
    pub(super) async fn published(&self, facet: Option<&Facet>) -> Option<String> {
        // A run without a bulletin is still a run; the tools will say what is wrong with the memory.
        let answer = self.memory.ask("talent", BulletinRequest::default()).await.ok()?;
        let text = answer.bulletin?.text;
        let mut kept: Vec<&str> = Vec::new();
        for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
            let is_heading = line.starts_with("## ");
            if is_heading {
                // A section of which nothing is left needs no heading.
                kept.pop_if(|last| last.starts_with("## "));
                kept.push(line);
            } else if line.starts_with("- ") && self.may_know(facet, line).await {
                kept.push(line);
            }
        }
        kept.pop_if(|last| last.starts_with("## "));
        if kept.is_empty() {
            return None;
        }
        let quoted: Vec<String> = kept.iter().map(|line| format!("> {line}")).collect();
        Some(format!("({ABOUT})\n{}", quoted.join("\n")))
    }

    /// Whether every memory that a line of the bulletin comes from belongs to the facet, or to no project.
    async fn may_know(&self, facet: Option<&Facet>, line: &str) -> bool {
        let Some(facet) = facet else { return true };
        let Ok(project) = self.project("talent", facet).await else { return false };
        let ids = ids(line);
        for id in &ids {
            let request = GetRequest { id: *id, quiet: true, ..GetRequest::default() };
            match self.memory.ask("talent", request).await {
                Ok(found) if found.memory.project.is_empty() || found.memory.project == project => {
                }
                _ => return false,
            }
        }
        !ids.is_empty()
    }
}

/// The ids at the end of a line of the bulletin: `- Use redb [#1, #4]`.
fn ids(line: &str) -> Vec<u64> {
    let Some(inner) = line.rsplit_once("[#").and_then(|(_, rest)| rest.strip_suffix(']')) else {
        return Vec::new();
    };
    let ids: Option<Vec<u64>> =
        inner.split(", ").map(|id| id.trim_start_matches('#').parse().ok()).collect();
    ids.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::ids;

    #[test]
    fn a_line_says_at_its_end_where_it_comes_from() {
        assert_eq!(ids("- Use redb [#1]"), [1]);
        assert_eq!(ids("- Use [#9] redb [#1, #40]"), [1, 40]);
        for none in ["- Use redb", "- Use redb [#1] or so", "- Use redb [#x]", "- [#1, 2x]"] {
            assert!(ids(none).is_empty(), "{none}");
        }
    }
}
