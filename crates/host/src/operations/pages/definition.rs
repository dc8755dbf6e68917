//! The definition of a page: a memory of the kind `page` whose content is the question.
//!
//! What must stay true: the journal alone gives all definitions; a memory that merely has the tag or the kind and names
//! no page is none.

use std::ops::ControlFlow;

use api::pages::PAGE_NAME_MAX;
use kernel::memory::{Fields, PAGE_KIND};
use kernel::{Reading, keys};
use mind::bulletin::page::{PAGE_TOKENS, PAGE_TOKENS_MAX, PAGE_TOKENS_MIN, PageSubject};
use serde_json::{Map, Value, json};
use service::error::{Error, Result};

/// Memories that are looked at for pages, newest first.
const EXAMINED_MAX: usize = 1_000;
/// What the address of a page begins with.
const SCHEME: &str = "page:";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PageDefinition {
    pub(super) name: String,
    pub(super) question: String,
    /// The memory.
    pub(super) id: u64,
    /// Empty for all.
    pub(super) project: String,
    pub(super) tokens: u32,
    pub(super) removed: bool,
}

impl PageDefinition {
    pub(super) fn title(name: &str) -> String {
        format!("Page {name}")
    }

    /// What the memory holds besides the question.
    pub(super) fn fields(name: &str, tokens: u32) -> Map<String, Value> {
        let fields = [
            ("uri", json!(format!("{SCHEME}{name}?tokens={tokens}"))),
            ("media_type", json!("text/markdown")),
        ];
        fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    pub(super) fn subject(&self) -> PageSubject {
        PageSubject { name: self.name.clone(), question: self.question.clone() }
    }
}

/// A name as it is kept; refused if it would be no name of a file.
pub(super) fn page_name(given: &str) -> Result<String> {
    let name = given.trim().to_lowercase().replace([' ', '_'], "-");
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let begins = name.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
    if begins && name.chars().all(fine) && name.len() <= PAGE_NAME_MAX {
        return Ok(name);
    }
    let reason = format!(
        "is letters, digits and hyphens, begins with a letter or digit, and has at most {PAGE_NAME_MAX} characters"
    );
    Err(Error::invalid("name", reason))
}

/// Name and tokens of an address.
fn read_address(uri: &str) -> Option<(String, u32)> {
    let rest = uri.strip_prefix(SCHEME)?;
    let (name, tokens) = match rest.split_once("?tokens=") {
        Some((name, tokens)) => (name, tokens.parse().ok()?),
        None => (rest, PAGE_TOKENS),
    };
    Some((page_name(name).ok()?, tokens.clamp(PAGE_TOKENS_MIN, PAGE_TOKENS_MAX)))
}

/// All pages that were ever defined, by name, then in the order of writing.
pub(super) fn definitions(reading: &Reading) -> Result<Vec<PageDefinition>> {
    let view = reading.view();
    let mut ids = Vec::new();
    view.scan_index(&keys::by_tag(PAGE_KIND), None, true, &mut |id| {
        ids.push(id);
        let is_full = ids.len() >= EXAMINED_MAX;
        Ok(if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    let mut pages: Vec<PageDefinition> = Vec::new();
    for id in ids {
        let Some(head) = view.head(id)?.filter(|head| head.kind == PAGE_KIND && !head.erased)
        else {
            continue;
        };
        let version = view.required_version(id, head.version)?;
        let Some(body) = view.body(&version)? else { continue };
        let Fields::ArtifactRef(artifact) = &body.fields else { continue };
        let Some((name, tokens)) = artifact.uri.as_deref().and_then(read_address) else { continue };
        pages.push(PageDefinition {
            name,
            question: body.content,
            id: id.get(),
            project: head.project.unwrap_or_default(),
            tokens,
            removed: head.tombstone.is_some() || head.archived,
        });
    }
    pages.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
    Ok(pages)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_that_a_file_may_have() {
        assert_eq!(page_name(" Open Risks ").unwrap(), "open-risks");
        let long = "a".repeat(PAGE_NAME_MAX + 1);
        for wrong in ["", "-a", "../mind", "a/b", "a.json", "å", long.as_str()] {
            assert!(page_name(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_address_says_name_and_length() {
        let fields = PageDefinition::fields("risks", 900);
        let uri = fields["uri"].as_str().unwrap();
        assert_eq!(read_address(uri), Some(("risks".to_owned(), 900)));
        assert_eq!(read_address("page:risks"), Some(("risks".to_owned(), PAGE_TOKENS)));
        assert_eq!(read_address("page:risks?tokens=9999999"), Some(("risks".to_owned(), 4_000)));
        assert_eq!(read_address("https://risks"), None);
        assert_eq!(read_address("page:../risks"), None);
    }
}
