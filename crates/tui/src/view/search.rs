//! The search: a line to type in, and what it finds, with the words that were asked for.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::state::{State, Target};
use crate::tabs::Search;
use crate::text;
use crate::view::canvas::{Canvas, Rows, below, extent, top};
use crate::view::lists::Shown;
use crate::view::theme::Theme;
use api::search::HitView;

pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, state: &State) {
    let search = &state.search;
    draw_line(canvas, area, search);
    let area = below(area, 2);
    let Some(answer) = search.load.value() else {
        let inner = canvas.section(area, "Results", "", false);
        if search.input.text().trim().is_empty() {
            let words = "Type what you remember of it: words, names, a question. \
                         type:bugfix, tag:auth, project:web and since:2026-11-01 narrow it.";
            canvas.say(inner, words, canvas.theme.faint());
        } else {
            canvas.instead(inner, &search.load, |_| false, "");
        }
        return;
    };
    let length = answer.hits.len();
    let fits = usize::from(area.height.saturating_sub(1) / 2);
    let first = search.list.first(fits, length);
    let mut note = extent(first, fits, length, length);
    if !note.is_empty() {
        let seen = text::count(answer.candidates as u64, "candidate", "candidates");
        note = format!("{note}, {seen}, {}", answer.mode);
    }
    let inner = canvas.section(area, "Results", &note, !search.typing);
    let nothing = answer.elsewhere.as_deref().unwrap_or("Nothing was found.");
    if canvas.instead(inner, &search.load, |answer| answer.hits.is_empty(), nothing) {
        return;
    }
    let words = query_words(&answer.query);
    let rows = Rows { height: 2, has_keys: !search.typing, ..Rows::of(&search.list, length) };
    canvas.rows(inner, &rows, |canvas, row, cells| {
        hit_lines(canvas, &answer.hits[row], &words, cells)
    });
}

fn draw_line(canvas: &mut Canvas<'_>, area: Rect, search: &Search) {
    let name = match &search.project {
        Some(project) => format!("Search in project {project}"),
        None => "Search".to_owned(),
    };
    canvas.section(top(area, 1), &name, "", search.typing);
    let line = top(below(area, 1), 1);
    canvas.target(line, Target::Input);
    canvas.typed(line, &search.input, search.typing);
}

fn hit_lines(
    canvas: &Canvas<'_>,
    hit: &HitView,
    words: &[String],
    cells: usize,
) -> Vec<Line<'static>> {
    let theme = canvas.theme;
    let shown = Shown {
        id: hit.id,
        kind: &hit.kind,
        title: &hit.title,
        project: &hit.project,
        moment: &hit.updated_at,
        is_pinned: hit.pinned,
        is_superseded: hit.standing == "superseded",
    };
    // The preview starts where the title does.
    let indent = 21;
    // The title stands above already.
    let preview = hit.preview.strip_prefix(&hit.title).unwrap_or(&hit.preview);
    let preview = preview.trim_start_matches(['.', ':', ' ']);
    let preview = text::cut(preview, cells.saturating_sub(indent));
    let mut spans = vec![Span::raw(" ".repeat(indent))];
    spans.extend(marked(&preview, words, theme));
    vec![shown.line(canvas, cells), Line::from(spans)]
}

/// The words of a question, as they are looked for in previews.
fn query_words(query: &str) -> Vec<String> {
    let words = query.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    words.filter(|word| word.chars().count() > 2).collect()
}

/// A text with the words that were asked for in another style. A word counts if it begins like one of them.
fn marked(preview: &str, words: &[String], theme: Theme) -> Vec<Span<'static>> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    let mut rest = preview;
    while !rest.is_empty() {
        let is_word = rest.starts_with(char::is_alphanumeric);
        let end = rest
            .char_indices()
            .find(|(_, c)| c.is_alphanumeric() != is_word)
            .map_or(rest.len(), |(place, _)| place);
        let (piece, after) = rest.split_at(end);
        let lower = piece.to_lowercase();
        let is_found = is_word && words.iter().any(|word| lower.starts_with(word.as_str()));
        let style = if is_found { theme.found() } else { theme.faint() };
        spans.push(Span::styled(piece.to_owned(), style));
        rest = after;
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_question_are_marked_in_any_case() {
        let theme = Theme::default();
        let words = query_words("Why does the LOGIN fail?");
        let spans = marked("Logins failed: the login, 日本", &words, theme);
        let found: Vec<&str> = spans
            .iter()
            .filter(|span| span.style == theme.found())
            .map(|span| span.content.as_ref())
            .collect();
        assert_eq!(found, ["Logins", "failed", "the", "login"]);
        let all: String = spans.iter().map(|span| span.content.as_ref()).collect();
        assert_eq!(all, "Logins failed: the login, 日本");
    }
}
