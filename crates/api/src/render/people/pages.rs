//! Pages for people: what they say, which there are, what they said before.

use std::fmt::Write as _;

use crate::pages::{PageHistoryAnswer, PageListAnswer, PageView};
use crate::render::untrusted::line;

/// What a page says. Its lines passed `untrusted` when it was written, and its headings are our own.
pub fn page(page: &PageView) -> String {
    let mut text = format!("{}\n", page.text.trim_end());
    let project = if page.project.is_empty() { "all projects" } else { &page.project };
    let by = line(&page.made_by);
    writeln!(
        text,
        "\nversion {} of {}, {}, by {by}, {} of {} tokens",
        page.version,
        line(&page.name),
        line(project),
        page.tokens,
        page.tokens_max
    )
    .expect("a String takes any text");
    if let Some(why) = &page.fallback {
        writeln!(text, "by rules because {}", line(why)).expect("a String takes any text");
    }
    text
}

/// All pages, by name.
pub fn pages(answer: &PageListAnswer) -> String {
    if answer.pages.is_empty() {
        return "there are no pages; `cortex page add NAME \"QUESTION\"` adds one\n".to_owned();
    }
    let mut text = String::new();
    for page in &answer.pages {
        let about = if page.project.is_empty() { "all" } else { &page.project };
        writeln!(
            text,
            "{:<20}  {:<12}  version {:>3}  {} cited  {}",
            line(&page.name),
            line(about),
            page.version,
            page.cited.len(),
            line(&page.question)
        )
        .expect("a String takes any text");
    }
    text
}

/// The versions of a page, newest first.
pub fn page_history(answer: &PageHistoryAnswer) -> String {
    let mut text = String::new();
    for page in &answer.versions {
        let changes = &page.changes;
        writeln!(
            text,
            "{:>5}  {}  {:>4} words  by {}  {} new, {} gone, {} revised",
            page.version,
            page.generated_at,
            page.words,
            line(&page.made_by),
            changes.added.len(),
            changes.removed.len(),
            changes.revised.len()
        )
        .expect("a String takes any text");
    }
    text
}

pub fn page_removed(page: &PageView) -> String {
    let name = line(&page.name);
    format!("removed the page {name}; `cortex page restore {name}` brings it back\n")
}
