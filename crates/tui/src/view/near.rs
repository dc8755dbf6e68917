//! What is near a memory: in time, and along its edges.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::page::{Branch, GraphPage, TimelinePage};
use crate::text;
use crate::view::canvas::{Canvas, Rows, below};
use crate::view::lists::Shown;

/// Cells of a relation's name and its arrow.
const RELATION: usize = 15;
/// Cells of a step in the tree.
const TWIG: usize = 3;

pub(super) fn timeline(canvas: &mut Canvas<'_>, area: Rect, page: &TimelinePage) {
    let answer = page.load.value();
    let note = answer.map_or_else(String::new, |answer| {
        let all = text::count(answer.total as u64, "memory", "memories");
        match &answer.session {
            Some(session) => format!("{all} in session {}", session.id),
            None if answer.focus.project.is_empty() => format!("{all} without a session"),
            None => format!("{all} in {}", answer.focus.project),
        }
    });
    let name = format!("Timeline around memory {}", page.id);
    let inner = canvas.section(area, &name, &note, true);
    if canvas.instead(inner, &page.load, |_| false, "") {
        return;
    }
    let rows = page.rows();
    let shown = Rows { height: 2, ..Rows::of(&page.list, rows.len()) };
    canvas.rows(inner, &shown, |canvas, row, cells| {
        let (theme, brief) = (canvas.theme, rows[row]);
        let shown = Shown {
            id: brief.id,
            kind: &brief.kind,
            title: &brief.title,
            project: &brief.project,
            moment: &brief.created_at,
            is_pinned: brief.pinned,
            is_superseded: brief.superseded,
        };
        let mut line = shown.line(canvas, cells);
        let is_focus = brief.id == page.id;
        let (mark, style) =
            if is_focus { ("◆ this one", theme.key()) } else { ("│", theme.faint()) };
        if is_focus {
            line = line.style(theme.strong());
        }
        let indent = 21;
        let preview = text::cut(&brief.preview, cells.saturating_sub(indent));
        vec![
            line,
            Line::from(vec![
                Span::raw("      "),
                Span::styled(text::fit(mark, indent - 6), style),
                Span::styled(preview, theme.faint()),
            ]),
        ]
    });
}

pub(super) fn graph(canvas: &mut Canvas<'_>, area: Rect, page: &GraphPage) {
    let reach = text::count(u64::from(page.depth), "step", "steps");
    let capped = page.load.value().is_some_and(|answer| answer.capped);
    let more = if capped { ", there is more" } else { "" };
    let near = text::count(page.rows.len() as u64, "neighbour", "neighbours");
    let note = format!("{near} within {reach}{more}");
    let name = format!("Graph around memory {}", page.id);
    let inner = canvas.section(area, &name, &note, true);
    let cells = usize::from(area.width).saturating_sub(4);
    let title = Line::styled(format!("  {}", text::cut(&page.title, cells)), canvas.theme.strong());
    canvas.put(inner, 0, title);
    let inner = below(inner, 1);
    let nothing =
        "It is connected to nothing within this reach. `cortex relate` connects memories.";
    if canvas.instead(inner, &page.load, |answer| answer.nodes.is_empty(), nothing) {
        return;
    }
    canvas.rows(inner, &Rows::of(&page.list, page.rows.len()), |canvas, row, cells| {
        vec![branch_line(canvas, &page.rows, row, cells)]
    });
}

fn branch_line(canvas: &Canvas<'_>, rows: &[Branch], row: usize, cells: usize) -> Line<'static> {
    let (theme, branch) = (canvas.theme, &rows[row]);
    let twigs = twigs(rows, row);
    let arrow = if branch.outgoing { "→" } else { "←" };
    let deepest = rows.iter().map(|branch| branch.node.hop).max().unwrap_or(1);
    // Whatever the distance, ids stand below each other.
    let relation = RELATION + TWIG * usize::try_from(deepest - branch.node.hop).unwrap_or(0);
    let node = &branch.node;
    let project = if cells >= 100 { 20 } else { 0 };
    let used = text::width(&twigs) + relation + 6 + 2 + 13 + project + usize::from(project > 0);
    let mut room = cells.saturating_sub(used);
    let mut spans = vec![
        Span::styled(twigs, theme.faint()),
        Span::styled(text::fit(&format!("{arrow} {}", branch.relation), relation), theme.accent()),
        Span::styled(text::fit_right(&node.id.to_string(), 6), theme.faint()),
        Span::raw("  "),
        Span::styled(text::fit(&node.kind, 13), theme.kind(&node.kind)),
    ];
    if node.superseded {
        let mark = "superseded ";
        spans.push(Span::styled(mark, theme.warn()));
        room = room.saturating_sub(text::width(mark));
    }
    spans.push(Span::raw(text::fit(&node.title, room)));
    if project > 0 {
        spans.push(Span::styled(format!(" {}", text::fit(&node.project, project)), theme.accent()));
    }
    Line::from(spans)
}

/// The lines of the tree before a row.
fn twigs(rows: &[Branch], row: usize) -> String {
    let hop = rows[row].node.hop;
    // A line goes on at a distance if a later row hangs there before the tree returns nearer.
    let goes_on = |distance: u32| {
        let later = rows[row + 1..].iter().map(|branch| branch.node.hop);
        later.take_while(|hop| *hop >= distance).any(|hop| hop == distance)
    };
    let mut twigs = String::new();
    for distance in 1..hop {
        twigs.push_str(if goes_on(distance) { "│  " } else { "   " });
    }
    twigs.push_str(if goes_on(hop) { "├─ " } else { "└─ " });
    twigs
}
