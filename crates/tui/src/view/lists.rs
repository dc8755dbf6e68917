//! Lists of memories, sessions, projects and journal entries: columns that stand below each other.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::list::{Memories, Sessions};
use crate::page::{ProjectPage, SessionPage};
use crate::state::Target;
use crate::tabs::{Archive, Feed, Projects};
use crate::text;
use crate::view::canvas::{Canvas, Rows, below, extent, top};
use api::activity::EntryView;
use api::memory::Memory;
use api::read::LIST_MAX;
use api::session::SessionView;
use api::stats::ProjectView;

/// Cells of an id, a kind, an age.
const ID: usize = 6;
const KIND: usize = 12;
const AGE: usize = 4;
/// Cells of the longest bar.
const BAR: usize = 40;

/// Cells for a project's name: some of a wide line, none of a narrow one.
fn project_cells(cells: usize) -> usize {
    match cells {
        0..70 => 0,
        70..100 => 14,
        _ => 20,
    }
}

/// What several lists show of a memory.
pub(super) struct Shown<'a> {
    pub(super) id: u64,
    pub(super) kind: &'a str,
    pub(super) title: &'a str,
    pub(super) project: &'a str,
    pub(super) moment: &'a str,
    pub(super) is_pinned: bool,
    pub(super) is_superseded: bool,
}

pub(super) fn memory_line(canvas: &Canvas<'_>, memory: &Memory, cells: usize) -> Line<'static> {
    let shown = Shown {
        id: memory.id,
        kind: &memory.kind,
        title: &memory.title,
        project: &memory.project,
        moment: &memory.updated_at,
        is_pinned: memory.pinned,
        is_superseded: false,
    };
    shown.line(canvas, cells)
}

impl Shown<'_> {
    pub(super) fn line(&self, canvas: &Canvas<'_>, cells: usize) -> Line<'static> {
        let theme = canvas.theme;
        let project = project_cells(cells);
        let gap = usize::from(project > 0);
        let used = ID + 2 + KIND + 1 + gap + project + 1 + AGE;
        let mut room = cells.saturating_sub(used);
        let mut spans = vec![
            Span::styled(text::fit_right(&self.id.to_string(), ID), theme.faint()),
            Span::raw("  "),
            Span::styled(text::fit(self.kind, KIND), theme.kind(self.kind)),
            Span::raw(" "),
        ];
        if self.is_pinned {
            spans.push(Span::styled("* ", theme.warn()));
            room = room.saturating_sub(2);
        }
        if self.is_superseded {
            let mark = "superseded ";
            spans.push(Span::styled(mark, theme.warn()));
            room = room.saturating_sub(text::width(mark));
        }
        let title = if self.title.is_empty() { "[erased]" } else { self.title };
        spans.push(Span::raw(text::fit(title, room)));
        if project > 0 {
            spans.push(Span::raw(" "));
            spans.push(Span::styled(text::fit(self.project, project), theme.accent()));
        }
        let age = text::fit_right(&text::age(self.moment, canvas.now), AGE + 1);
        spans.push(Span::styled(age, theme.faint()));
        Line::from(spans)
    }
}

pub(super) fn session_line(
    canvas: &Canvas<'_>,
    session: &SessionView,
    cells: usize,
) -> Line<'static> {
    let theme = canvas.theme;
    let (mark, style) = match &session.ended_at {
        None => ("● live ", theme.good()),
        Some(_) => ("○ ended", theme.faint()),
    };
    let memories = text::count(session.memories, "memory", "memories");
    let project = project_cells(cells).max(12);
    let agent = if cells >= 90 { 14 } else { 0 };
    let used = 7 + 2 + 1 + project + agent + 14 + AGE + 1;
    let mut spans = vec![
        Span::styled(mark, style),
        Span::raw("  "),
        Span::raw(text::fit(&session.id, cells.saturating_sub(used))),
        Span::raw(" "),
        Span::styled(text::fit(&session.project, project), theme.accent()),
    ];
    if agent > 0 {
        let name = session.agent.as_deref().unwrap_or("");
        spans.push(Span::styled(text::fit(name, agent), theme.faint()));
    }
    let style = if session.memories == 0 { theme.faint() } else { theme.text() };
    spans.push(Span::styled(text::fit_right(&memories, 14), style));
    let age = text::fit_right(&text::age(&session.started_at, canvas.now), AGE + 1);
    spans.push(Span::styled(age, theme.faint()));
    Line::from(spans)
}

fn memories(canvas: &mut Canvas<'_>, area: Rect, name: &str, memories: &Memories, nothing: &str) {
    let length = memories.rows().len();
    let total = memories.load.value().map_or(0, |answer| answer.total);
    let fits = usize::from(area.height.saturating_sub(1));
    let first = memories.list.first(fits, length);
    let mut note = extent(first, fits, length, total);
    if length == LIST_MAX && total > length {
        note += "; search finds the rest";
    }
    let inner = canvas.section(area, name, &note, true);
    if canvas.instead(inner, &memories.load, |answer| answer.memories.is_empty(), nothing) {
        return;
    }
    canvas.rows(inner, &Rows::of(&memories.list, length), |canvas, row, cells| {
        vec![memory_line(canvas, &memories.rows()[row], cells)]
    });
}

pub(super) fn sessions(canvas: &mut Canvas<'_>, area: Rect, sessions: &Sessions) {
    let length = sessions.rows().len();
    let total = sessions.load.value().map_or(0, |answer| answer.total);
    let fits = usize::from(area.height.saturating_sub(1));
    let note = extent(sessions.list.first(fits, length), fits, length, total);
    let inner = canvas.section(area, "Sessions", &note, true);
    let nothing = "No sessions yet. Agents start them by themselves.";
    if canvas.instead(inner, &sessions.load, |answer| answer.sessions.is_empty(), nothing) {
        return;
    }
    canvas.rows(inner, &Rows::of(&sessions.list, length), |canvas, row, cells| {
        vec![session_line(canvas, &sessions.rows()[row], cells)]
    });
}

pub(super) fn session(canvas: &mut Canvas<'_>, area: Rect, page: &SessionPage) {
    let session = &page.session;
    let theme = canvas.theme;
    let inner = canvas.section(area, &format!("Session {}", session.id), "", false);
    let cells = usize::from(area.width).saturating_sub(4);
    let ended = match &session.ended_at {
        Some(ended) => format!("ended {}", text::ago(ended, canvas.now)),
        None => "live".to_owned(),
    };
    let started = format!("started {} UTC, {ended}", text::moment(&session.started_at));
    let mut lines = vec![Line::styled(format!("  {}", text::cut(&started, cells)), theme.text())];
    let agent = session.agent.as_deref().unwrap_or("");
    let place = [session.project.as_str(), agent, session.directory.as_str()];
    let place: Vec<&str> = place.into_iter().filter(|part| !part.is_empty()).collect();
    if !place.is_empty() {
        let words = text::cut(&place.join(" · "), cells);
        lines.push(Line::styled(format!("  {words}"), theme.accent()));
    }
    if let Some(summary) = &session.summary {
        // The list below keeps at least half of the screen.
        let most = usize::from(inner.height / 2).saturating_sub(lines.len()).max(1);
        let wrapped = text::wrap(summary.trim(), cells);
        let cut = wrapped.len() > most;
        for (n, line) in wrapped.into_iter().take(most).enumerate() {
            let goes_on = cut && n + 1 == most;
            let line = if goes_on { text::cut(&format!("{line}…"), cells) } else { line };
            lines.push(Line::styled(format!("  {line}"), theme.faint()));
        }
    }
    let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    for (row, line) in (0..).zip(lines) {
        canvas.put(inner, row, line);
    }
    let nothing = "Nothing was saved in this session, or all of it is put away.";
    memories(canvas, below(inner, rows + 1), "Its memories", &page.memories, nothing);
}

pub(super) fn projects(canvas: &mut Canvas<'_>, area: Rect, projects: &Projects) {
    let rows: &[ProjectView] = projects.load.value().map_or(&[], |answer| &answer.projects);
    let capped = projects.load.value().is_some_and(|answer| answer.capped);
    let fits = usize::from(area.height.saturating_sub(1));
    let mut note = extent(projects.list.first(fits, rows.len()), fits, rows.len(), rows.len());
    if capped {
        note += " and more";
    }
    let inner = canvas.section(area, "Projects", &note, true);
    let nothing = "No project has memories yet.";
    if canvas.instead(inner, &projects.load, |answer| answer.projects.is_empty(), nothing) {
        return;
    }
    let most = rows.iter().map(|project| project.memories).max().unwrap_or(1).max(1);
    let named = rows.iter().map(|project| text::width(&project.name)).max().unwrap_or(0);
    canvas.rows(inner, &Rows::of(&projects.list, rows.len()), |canvas, row, cells| {
        let (theme, project) = (canvas.theme, &rows[row]);
        let name = named.clamp(12, cells.saturating_sub(40).max(12));
        let room = cells.saturating_sub(name + 8 + 2 + 9);
        let longest = room.min(BAR) as u64;
        let bar = usize::try_from(project.memories * longest / most).unwrap_or(0).max(1);
        vec![Line::from(vec![
            Span::styled(text::fit(&project.name, name), theme.accent()),
            Span::raw(text::fit_right(&text::number(project.memories), 8)),
            Span::styled(format!("  {}", text::fit(&"▇".repeat(bar), room)), theme.accent()),
            Span::styled(
                text::fit_right(&text::ago(&project.last_activity, canvas.now), 9),
                theme.faint(),
            ),
        ])]
    });
}

pub(super) fn project(canvas: &mut Canvas<'_>, area: Rect, page: &ProjectPage) {
    let nothing = "This project has no memories in sight.";
    memories(canvas, area, &format!("Project {}", page.name), &page.memories, nothing);
}

pub(super) fn archive(canvas: &mut Canvas<'_>, area: Rect, archive: &Archive) {
    let bar = top(area, 1);
    let mut spans = vec![Span::raw(" ")];
    let mut x = bar.x + 1;
    let panes = [("Archived", &archive.archived), ("Forgotten", &archive.forgotten)];
    for (n, (name, list)) in panes.into_iter().enumerate() {
        let total = list.load.value().map_or(0, |answer| answer.total);
        let label = format!(" {name} {} ", text::number(total as u64));
        let cells = u16::try_from(text::width(&label)).unwrap_or(0);
        canvas.target(Rect { x, width: cells, ..bar }, Target::Pane(n));
        let is_open = archive.on_forgotten == (n == 1);
        let style = if is_open { canvas.theme.open() } else { canvas.theme.text() };
        spans.push(Span::styled(label, style));
        x += cells;
    }
    canvas.put(bar, 0, Line::from(spans));
    let (name, nothing) = if archive.on_forgotten {
        ("Forgotten", "Nothing is forgotten.")
    } else {
        (
            "Archived",
            "Nothing is archived. What is old, unimportant and unconnected is put here by itself.",
        )
    };
    memories(canvas, below(area, 1), name, archive.shown(), nothing);
}

pub(super) fn activity(canvas: &mut Canvas<'_>, area: Rect, feed: &Feed) {
    let length = feed.entries.len();
    let total = usize::try_from(feed.size.unwrap_or(0)).unwrap_or(length);
    let fits = usize::from(area.height.saturating_sub(1));
    let note = extent(feed.list.first(fits, length), fits, length, total);
    let inner = canvas.section(area, "Activity, newest first", &note, true);
    if feed.entries.is_empty() {
        let nothing = "The journal is empty. What agents do is shown here as it happens.";
        canvas.instead(inner, &feed.poll, |_| true, nothing);
        return;
    }
    canvas.rows(inner, &Rows::of(&feed.list, length), |canvas, row, cells| {
        vec![entry_line(canvas, &feed.entries[row], feed.old, cells)]
    });
}

fn entry_line(canvas: &Canvas<'_>, entry: &EntryView, old: u64, cells: usize) -> Line<'static> {
    let theme = canvas.theme;
    let by = if cells >= 100 { 14 } else { 10 };
    let used = ID + 2 + 1 + 14 + by + 1 + AGE + 1;
    // What came while one watches has a mark.
    let mark = if entry.seq > old { "+ " } else { "  " };
    Line::from(vec![
        Span::styled(text::fit_right(&entry.seq.to_string(), ID), theme.faint()),
        Span::styled(format!(" {mark}"), theme.good()),
        Span::styled(text::fit(&entry.kind, 14), theme.entry(&entry.kind)),
        Span::raw(text::fit(&entry.summary, cells.saturating_sub(used))),
        Span::raw(" "),
        Span::styled(text::fit(&entry.by, by), theme.faint()),
        Span::styled(text::fit_right(&text::age(&entry.at, canvas.now), AGE + 1), theme.faint()),
    ])
}
