//! What stands in the search line: words to search for, and words such as `type:bugfix` that narrow where to look.

use api::search::SearchRequest;

/// A question for everything, newest first: what is asked when only filters were typed.
const ALL: &str = "*";

/// The search that a line means; `None` while it says nothing.
pub(super) fn read(line: &str) -> Option<SearchRequest> {
    let mut request = SearchRequest::default();
    let mut words = Vec::new();
    let mut has_filter = false;
    for word in line.split_whitespace() {
        match word.split_once(':') {
            Some(("type", kind)) if is_name(kind) => request.kind = Some(kind.to_owned()),
            Some(("project", project)) if is_name(project) => {
                request.project = Some(project.to_owned());
            }
            Some(("tag", tag)) if is_name(tag) => request.tags.push(tag.to_owned()),
            Some(("since", day)) if is_day(day) => request.since = Some(day.to_owned()),
            // Half a filter is on its way to be one; it is not searched for meanwhile.
            Some(("type" | "project" | "tag" | "since", _)) => {}
            _ => {
                words.push(word);
                continue;
            }
        }
        has_filter = true;
    }
    request.query = words.join(" ");
    if request.query.is_empty() {
        if !has_filter {
            return None;
        }
        ALL.clone_into(&mut request.query);
    }
    Some(request)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "._-/".contains(c))
}

/// `2026-11-01`.
fn is_day(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_number =
        |part: &str, digits| part.len() == digits && part.chars().all(|c| c.is_ascii_digit());
    matches!(parts[..], [year, month, day]
        if is_number(year, 4) && is_number(month, 2) && is_number(day, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    // W25
    #[test]
    fn filters_are_told_from_words() {
        let all =
            read("why type:bugfix does tag:auth project:web since:2026-11-01 it fail").unwrap();
        assert_eq!(all.query, "why does it fail");
        assert_eq!((all.kind.as_deref(), all.project.as_deref()), (Some("bugfix"), Some("web")));
        assert_eq!((all.tags, all.since.as_deref()), (vec!["auth".to_owned()], Some("2026-11-01")));
        // Filters alone list the newest, half of one and other words with colons do no harm.
        assert_eq!(read("tag:auth").unwrap().query, "*");
        let half = read("login since:2026-1").unwrap();
        assert_eq!((half.query.as_str(), half.since), ("login", None));
        assert_eq!(read("std::fmt http://x type: a").unwrap().query, "std::fmt http://x a");
        assert_eq!(read("  "), None);
    }
}
