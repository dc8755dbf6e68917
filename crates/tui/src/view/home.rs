//! The first screen: what there is, how it is, what came last.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::ask::StatusView;
use crate::state::State;
use crate::tabs::Home;
use crate::text;
use crate::view::canvas::{Canvas, Rows, below, columns, extent, top};
use crate::view::lists;
use api::stats::StatsAnswer;

/// From this width on the kinds of memories have a place beside the counts.
const WIDE: u16 = 100;
/// Rows of the counts, with their rule.
const TOP_ROWS: u16 = 7;

pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, state: &State) {
    let home = &state.home;
    let head = top(area, TOP_ROWS);
    if area.width >= WIDE {
        let rest = area.width - 26 - 32 - 2;
        let [counts, types, health] = columns(head, [26, 32, rest]);
        draw_counts(canvas, counts, state);
        draw_types(canvas, types, home);
        draw_health(canvas, health, home);
    } else {
        let [counts, health] = columns(head, [26, area.width - 27]);
        draw_counts(canvas, counts, state);
        draw_health(canvas, health, home);
    }
    let rest = below(area, TOP_ROWS + 1);
    let session_rows = (rest.height / 3).max(3);
    let recent = top(rest, rest.height - session_rows);
    draw_recent(canvas, recent, home);
    draw_sessions(canvas, below(rest, recent.height), home);
}

fn draw_counts(canvas: &mut Canvas<'_>, area: Rect, state: &State) {
    let home = &state.home;
    let inner = canvas.section(area, &format!("Memory of {}", state.actor), "", false);
    if canvas.instead(inner, &home.stats, |_| false, "") {
        return;
    }
    let Some(stats) = home.stats.value() else { return };
    let rows = [
        ("memories", stats.observations),
        ("archived", stats.archived),
        ("forgotten", stats.forgotten),
        ("sessions", stats.sessions),
        ("prompts", stats.prompts),
        ("relations", stats.edges),
    ];
    for (row, (name, n)) in (0..).zip(rows) {
        let style = if n == 0 { canvas.theme.faint() } else { canvas.theme.strong() };
        canvas.put(
            inner,
            row,
            Line::from(vec![
                Span::styled(format!("  {}", text::fit(name, 11)), canvas.theme.faint()),
                Span::styled(text::fit_right(&text::number(n), 10), style),
            ]),
        );
    }
}

fn draw_types(canvas: &mut Canvas<'_>, area: Rect, home: &Home) {
    let inner = canvas.section(area, "By type", "", false);
    let Some(stats) = home.stats.value() else { return };
    let mut types: Vec<(&String, &u64)> = stats.by_type.iter().collect();
    types.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let most = types.first().map_or(1, |(_, n)| **n).max(1);
    for (row, (name, n)) in (0..inner.height).zip(types) {
        let bar = usize::try_from(*n * 8 / most).unwrap_or(8).max(1);
        canvas.put(
            inner,
            row,
            Line::from(vec![
                Span::styled(format!("  {}", text::fit(name, 12)), canvas.theme.faint()),
                Span::styled(text::fit_right(&text::number(*n), 7), canvas.theme.strong()),
                Span::styled(format!(" {}", "▇".repeat(bar)), canvas.theme.accent()),
            ]),
        );
    }
}

fn draw_health(canvas: &mut Canvas<'_>, area: Rect, home: &Home) {
    let inner = canvas.section(area, "Health", "", false);
    let cells = usize::from(area.width).saturating_sub(12);
    let mut rows = health(home.stats.value(), home.status.value(), cells);
    if let Some(call) = home.waiting_call() {
        // Somebody waits for a person: that comes before how things are.
        let asks = format!("{} wants {} {}", call.talent, call.tool, call.args);
        rows.insert(0, ("approval", text::cut(&text::plain(&asks), cells)));
    }
    for (row, (name, words)) in (0..inner.height).zip(rows) {
        canvas.put(
            inner,
            row,
            Line::from(vec![
                Span::styled(format!("  {}", text::fit(name, 10)), canvas.theme.faint()),
                Span::raw(words),
            ]),
        );
    }
}

/// Names and words, each to fit so many cells.
fn health(
    stats: Option<&StatsAnswer>,
    status: Option<&StatusView>,
    cells: usize,
) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    if let Some(status) = status {
        let up = text::span(i64::try_from(status.uptime_seconds).unwrap_or(0) * 1_000);
        let version = &status.version;
        rows.push(("daemon", format!("{version}, process {}, up {up}", status.pid)));
        let others = text::count(status.connections, "connection", "connections");
        let actors = text::count(status.open_actors, "actor", "actors");
        rows.push(("serves", format!("{others}, {actors} open")));
        rows.push(("home", shortened_path(&status.home, cells)));
    }
    if let Some(stats) = stats {
        let entries = text::count(stats.entries, "entry", "entries");
        rows.push(("journal", format!("{entries}, {}", text::bytes(stats.file_bytes))));
        let projects = stats.projects.len() as u64;
        rows.push(("projects", text::number(projects)));
        rows.push(("root", stats.root.clone()));
    }
    rows.into_iter().map(|(name, words)| (name, text::cut(&words, cells))).collect()
}

/// The end of a path says more than its beginning.
fn shortened_path(path: &str, cells: usize) -> String {
    let path = text::plain(path);
    let excess = text::width(&path).saturating_sub(cells);
    if excess == 0 {
        return path;
    }
    let kept: String = path.chars().skip(excess + 1).collect();
    format!("…{kept}")
}

fn draw_recent(canvas: &mut Canvas<'_>, area: Rect, home: &Home) {
    let recent = &home.recent;
    let has_keys = !home.on_sessions;
    let length = recent.rows().len();
    let fits = usize::from(area.height.saturating_sub(1));
    let total = home
        .stats
        .value()
        .map_or(length, |stats| usize::try_from(stats.observations).unwrap_or(length));
    let note = extent(recent.list.first(fits, length), fits, length, total);
    let inner = canvas.section(area, "Recent memories", &note, has_keys);
    let nothing =
        "No memories yet. `cortex setup AGENT` connects an agent; `cortex save` saves one by hand.";
    if canvas.instead(inner, &recent.load, |answer| answer.memories.is_empty(), nothing) {
        return;
    }
    let rows = Rows { has_keys, ..Rows::of(&recent.list, length) };
    canvas.rows(inner, &rows, |canvas, row, cells| {
        vec![lists::memory_line(canvas, &recent.rows()[row], cells)]
    });
}

fn draw_sessions(canvas: &mut Canvas<'_>, area: Rect, home: &Home) {
    let sessions = &home.sessions;
    let length = sessions.rows().len();
    let fits = usize::from(area.height.saturating_sub(1));
    let total = sessions.load.value().map_or(0, |answer| answer.total);
    let note = extent(sessions.list.first(fits, length), fits, length, total);
    let inner = canvas.section(area, "Sessions", &note, home.on_sessions);
    let nothing = "No sessions yet. Agents start them by themselves.";
    if canvas.instead(inner, &sessions.load, |answer| answer.sessions.is_empty(), nothing) {
        return;
    }
    let rows =
        Rows { has_keys: home.on_sessions, second: true, ..Rows::of(&sessions.list, length) };
    canvas.rows(inner, &rows, |canvas, row, cells| {
        vec![lists::session_line(canvas, &sessions.rows()[row], cells)]
    });
}
