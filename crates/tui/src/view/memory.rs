//! One memory: what it says, how it came to say it, and the proof that it stands in the journal.

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use similar::{ChangeTag, TextDiff};

use crate::page::{MemoryPage, Pane};
use crate::state::Target;
use crate::text;
use crate::view::canvas::{Canvas, below, top};
use crate::view::theme::Theme;
use api::memory::VersionView;
use api::proof::ProveAnswer;
use api::read::GetAnswer;

/// Rows of a title.
const TITLE_ROWS: usize = 2;

pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, page: &MemoryPage) {
    let inner = canvas.section(area, &format!("Memory {}", page.id), "", false);
    if canvas.instead(inner, &page.load, |_| false, "") {
        return;
    }
    let Some(answer) = page.load.value() else { return };
    let cells = usize::from(area.width).saturating_sub(4);
    let head = head_lines(canvas, answer, cells);
    let rows = u16::try_from(head.len()).unwrap_or(u16::MAX);
    for (row, line) in (0..).zip(head) {
        canvas.put(inner, row, line);
    }
    let rest = below(inner, rows);
    panes(canvas, top(rest, 1), page);
    let area = below(rest, 2);
    let text = Rect { x: area.x + 2, width: area.width.saturating_sub(4), ..area };
    let cells = usize::from(text.width);
    let theme = canvas.theme;
    let lines = match page.pane {
        Pane::Text => body_lines(answer, theme, cells),
        Pane::History => {
            if canvas.instead(area, &page.history, |_| false, "") {
                return;
            }
            let versions = page.history.value().map_or(&[][..], |answer| &answer.history);
            history_lines(canvas, versions, cells)
        }
        Pane::Proof => {
            if canvas.instead(area, &page.proof, |_| false, "") {
                return;
            }
            page.proof.value().map(|proof| proof_lines(proof, theme, cells)).unwrap_or_default()
        }
    };
    canvas.text(text, &lines, page.scroll);
}

fn head_lines(canvas: &Canvas<'_>, answer: &GetAnswer, cells: usize) -> Vec<Line<'static>> {
    let (theme, memory) = (canvas.theme, &answer.memory);
    let title = if memory.erased { "[erased]" } else { memory.title.as_str() };
    let wrapped = text::wrap(&text::plain(title), cells);
    let is_cut = wrapped.len() > TITLE_ROWS;
    let mut lines: Vec<Line<'static>> = Vec::new();
    for (n, line) in wrapped.into_iter().take(TITLE_ROWS).enumerate() {
        let goes_on = is_cut && n + 1 == TITLE_ROWS;
        let line = if goes_on { text::cut(&format!("{line}…"), cells) } else { line };
        lines.push(Line::styled(format!("  {line}"), theme.strong()));
    }
    let mut facts =
        vec![Span::raw("  "), Span::styled(text::plain(&memory.kind), theme.kind(&memory.kind))];
    let mut room = cells.saturating_sub(text::width(&memory.kind));
    // A fact is shown as a whole or not at all; the more telling ones come first.
    let mut fact = |words: String| {
        let words = format!(" · {words}");
        match room.checked_sub(text::width(&words)) {
            Some(left) => {
                room = left;
                facts.push(Span::styled(words, theme.faint()));
            }
            None => room = 0,
        }
    };
    fact(memory.memory_type.clone());
    if !memory.project.is_empty() {
        fact(text::plain(&memory.project));
    }
    fact(format!("{} scope", memory.scope));
    fact(format!("version {}", memory.version));
    fact(text::ago(&memory.updated_at, canvas.now));
    fact(format!("by {}", text::plain(&memory.by)));
    fact(format!("read {}", text::count(memory.accesses, "time", "times")));
    lines.push(Line::from(facts));
    let marks = marks(answer);
    if !marks.is_empty() {
        let words = text::cut(&marks.join(" · "), cells);
        lines.push(Line::styled(format!("  {words}"), theme.warn()));
    }
    let mut labels: Vec<String> = memory.tags.iter().map(|tag| format!("#{tag}")).collect();
    if !memory.topic_key.is_empty() {
        labels.push(format!("topic {}", memory.topic_key));
    }
    if !memory.session_id.is_empty() {
        labels.push(format!("session {}", memory.session_id));
    }
    if !labels.is_empty() {
        let words = text::cut(&labels.join("  "), cells);
        lines.push(Line::styled(format!("  {words}"), theme.accent()));
    }
    lines
}

/// What one must know before one trusts it.
fn marks(answer: &GetAnswer) -> Vec<String> {
    let memory = &answer.memory;
    let ids = |ids: &[u64]| ids.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let mut marks = Vec::new();
    if memory.pinned {
        marks.push("* pinned".to_owned());
    }
    if memory.archived {
        marks.push("archived".to_owned());
    }
    if let Some(at) = &memory.deleted_at {
        marks.push(format!("forgotten {}", text::moment(at)));
    }
    if !answer.superseded_by.is_empty() {
        marks.push(format!("superseded by {}", ids(&answer.superseded_by)));
    }
    if !answer.contradicted_by.is_empty() {
        marks.push(format!("contradicted by {}", ids(&answer.contradicted_by)));
    }
    if memory.duplicates > 0 {
        let times = text::count(u64::from(memory.duplicates), "time", "times");
        marks.push(format!("saved again {times}"));
    }
    marks
}

fn panes(canvas: &mut Canvas<'_>, area: Rect, page: &MemoryPage) {
    let mut x = area.x + 1;
    let mut spans = vec![Span::raw(" ")];
    for (n, pane) in Pane::ALL.into_iter().enumerate() {
        let label = format!(" {} ", pane.name());
        let cells = u16::try_from(text::width(&label)).unwrap_or(0);
        canvas.target(Rect { x, width: cells, ..area }, Target::Pane(n));
        let style = if pane == page.pane { canvas.theme.open() } else { canvas.theme.text() };
        spans.push(Span::styled(label, style));
        x += cells;
    }
    let rest = usize::from(area.right().saturating_sub(x + 1));
    spans.push(Span::styled(format!(" {}", "─".repeat(rest)), canvas.theme.faint()));
    canvas.put(area, 0, Line::from(spans));
}

fn body_lines(answer: &GetAnswer, theme: Theme, cells: usize) -> Vec<Line<'static>> {
    let memory = &answer.memory;
    if memory.erased {
        return vec![Line::styled("The content was erased for good.", theme.faint())];
    }
    let mut lines = markdown(&memory.content, theme, cells);
    if let Some(fields) = memory.fields.as_object().filter(|fields| !fields.is_empty()) {
        lines.push(Line::raw(""));
        for (name, value) in fields {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            for (n, words) in text::wrap(&value, cells.saturating_sub(16)).into_iter().enumerate() {
                let name = if n == 0 { text::fit(name, 15) } else { " ".repeat(15) };
                lines.push(Line::from(vec![
                    Span::styled(format!("{name} "), theme.faint()),
                    Span::raw(words),
                ]));
            }
        }
    }
    if lines.is_empty() {
        lines.push(Line::styled("It says nothing beyond its title.", theme.faint()));
    }
    lines
}

/// Text as it was written, wrapped; headings, quotes, code, emphasis and tasks stand out.
pub(super) fn markdown(content: &str, theme: Theme, cells: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let mut in_code = false;
    for line in content.trim_end().split('\n') {
        let start = line.trim_start();
        let is_fence = start.starts_with("```") || start.starts_with("~~~");
        let style = if is_fence || in_code {
            theme.accent()
        } else if start.starts_with('#') {
            theme.key()
        } else if start.starts_with('>') {
            theme.faint()
        } else {
            theme.text()
        };
        let was_code = in_code;
        in_code ^= is_fence;
        if is_fence || was_code {
            lines.extend(text::wrap(line, cells).into_iter().map(|line| Line::styled(line, style)));
            continue;
        }
        let line = line.replacen("- [x] ", "☑ ", 1).replacen("- [ ] ", "☐ ", 1);
        lines.extend(text::wrap(&line, cells).iter().map(|line| inline(line, style, theme)));
    }
    lines
}

/// A line with `code` and **strong words** set off; a mark without its partner stays what it is.
fn inline(line: &str, style: Style, theme: Theme) -> Line<'static> {
    let mut spans = Vec::new();
    let mut rest = line;
    while let Some((at, mark)) = next_mark(rest) {
        let after = &rest[at + mark.len()..];
        let Some(end) = after.find(mark).filter(|end| *end > 0) else { break };
        spans.push(Span::styled(rest[..at].to_owned(), style));
        let set_off = if mark == "`" { theme.accent() } else { theme.strong() };
        spans.push(Span::styled(after[..end].to_owned(), set_off));
        rest = &after[end + mark.len()..];
    }
    spans.push(Span::styled(rest.to_owned(), style));
    Line::from(spans)
}

fn next_mark(text: &str) -> Option<(usize, &'static str)> {
    ["`", "**"].into_iter().filter_map(|mark| Some((text.find(mark)?, mark))).min()
}

/// Every version, newest first, as what it changed.
fn history_lines(
    canvas: &Canvas<'_>,
    versions: &[VersionView],
    cells: usize,
) -> Vec<Line<'static>> {
    let theme = canvas.theme;
    let mut lines = Vec::new();
    for (n, version) in versions.iter().enumerate().rev() {
        let when = text::moment(&version.created_at);
        let ago = text::ago(&version.created_at, canvas.now);
        let by = text::plain(&version.by);
        let words = format!("version {} · {when} UTC, {ago} · by {by}", version.version);
        lines.push(Line::styled(text::cut(&words, cells), theme.key()));
        let whole = |version: &VersionView| format!("{}\n{}", version.title, version.content);
        let new = whole(version);
        let old = n.checked_sub(1).map(|before| whole(&versions[before]));
        match old {
            None => lines.extend(text::wrap(new.trim_end(), cells).into_iter().map(Line::raw)),
            Some(old) if old == new => {
                lines.push(Line::styled("the text stayed as it was", theme.faint()));
            }
            Some(old) => lines.extend(difference(&old, &new, theme, cells)),
        }
        lines.push(Line::raw(""));
    }
    lines
}

/// The lines that were taken out and put in, with those around them.
fn difference(old: &str, new: &str, theme: Theme, cells: usize) -> Vec<Line<'static>> {
    let diff = TextDiff::from_lines(old, new);
    let mut lines = Vec::new();
    for (n, group) in diff.grouped_ops(1).into_iter().enumerate() {
        if n > 0 {
            lines.push(Line::styled("  …", theme.faint()));
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let (mark, style) = match change.tag() {
                ChangeTag::Delete => ("- ", theme.bad()),
                ChangeTag::Insert => ("+ ", theme.good()),
                ChangeTag::Equal => ("  ", theme.faint()),
            };
            let value = change.value().trim_end_matches('\n');
            for words in text::wrap(value, cells.saturating_sub(2)) {
                lines.push(Line::styled(format!("{mark}{words}"), style));
            }
        }
    }
    lines
}

fn proof_lines(proof: &ProveAnswer, theme: Theme, cells: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let (words, style) = if proof.exists {
        (
            format!("Memory {} is in the journal: its proof was made and checked.", proof.id),
            theme.good(),
        )
    } else {
        (format!("It is proved that no memory has the id {}.", proof.id), theme.warn())
    };
    lines.extend(text::wrap(&words, cells).into_iter().map(|line| Line::styled(line, style)));
    lines.push(Line::raw(""));
    let entries = format!("{} of the journal", text::count(proof.size, "entry", "entries"));
    let rows = [
        ("root", proof.root.clone()),
        ("covers", entries),
        ("size", text::bytes(proof.bytes as u64)),
    ];
    for (name, value) in rows {
        for (n, words) in text::wrap(&value, cells.saturating_sub(9)).into_iter().enumerate() {
            let name = if n == 0 { text::fit(name, 8) } else { " ".repeat(8) };
            lines.push(Line::from(vec![
                Span::styled(format!("{name} "), theme.faint()),
                Span::raw(words),
            ]));
        }
    }
    lines.push(Line::raw(""));
    let advice = "To convince somebody who has nothing but the root, make a file and send it:";
    lines.extend(text::wrap(advice, cells).into_iter().map(|l| Line::styled(l, theme.faint())));
    let id = proof.id;
    for command in [
        format!("cortex prove {id} --out memory-{id}.proof"),
        format!("cortex verify-proof memory-{id}.proof --root {}", proof.root),
    ] {
        let wrapped = text::wrap(&command, cells.saturating_sub(2));
        lines.extend(
            wrapped.into_iter().map(|line| Line::styled(format!("  {line}"), theme.accent())),
        );
    }
    lines
}
