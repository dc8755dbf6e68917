//! The frame around every screen: tabs above, notice and key hints below, help and questions over it.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget as _};

use crate::hints::HELP;
use crate::page::Page;
use crate::state::{Drawn, State, Tab, Target};
use crate::text;
use crate::view::canvas::{Canvas, below, top};
use crate::view::theme::Theme;
use crate::view::{chat, home, lists, memory, mind, near, search};

/// The smallest terminal on which something can be read.
pub(super) const WIDTH_MIN: u16 = 60;
pub(super) const HEIGHT_MIN: u16 = 16;
/// From this width on every tab shows its name, on a narrower one only the open one.
const NAMES_FIT: u16 = 80;
/// From this width on the program has its name before them.
const NAME_FITS: u16 = 96;

/// Draws everything. Returns what was drawn where.
pub(crate) fn draw(frame: &mut Frame<'_>, state: &State, theme: Theme) -> Drawn {
    let area = frame.area();
    let buffer: &mut Buffer = frame.buffer_mut();
    let drawn = Drawn::default();
    let mut canvas = Canvas { buffer, theme, now: state.now, drawn, cursor: None };
    if area.width < WIDTH_MIN || area.height < HEIGHT_MIN {
        too_small(&mut canvas, area);
        return canvas.drawn;
    }
    header(&mut canvas, top(area, 1), state);
    let body = Rect { y: area.y + 1, height: area.height - 3, ..area };
    match state.pages.last() {
        Some(Page::Memory(page)) => memory::draw(&mut canvas, body, page),
        Some(Page::Timeline(page)) => near::timeline(&mut canvas, body, page),
        Some(Page::Graph(page)) => near::graph(&mut canvas, body, page),
        Some(Page::Session(page)) => lists::session(&mut canvas, body, page),
        Some(Page::Project(page)) => lists::project(&mut canvas, body, page),
        Some(Page::Chat(page)) => chat::conversation(&mut canvas, body, page),
        None => match state.tab {
            Tab::Home => home::draw(&mut canvas, body, state),
            Tab::Search => search::draw(&mut canvas, body, state),
            Tab::Sessions => lists::sessions(&mut canvas, body, &state.sessions),
            Tab::Projects => lists::projects(&mut canvas, body, &state.projects),
            Tab::Archive => lists::archive(&mut canvas, body, &state.archive),
            Tab::Activity => lists::activity(&mut canvas, body, &state.feed),
            Tab::Mind => mind::draw(&mut canvas, body, &state.mind),
            Tab::Chat => chat::channels(&mut canvas, body, &state.chat),
        },
    }
    if state.help.is_some() || state.confirm.is_some() {
        // What lies below cannot be clicked.
        canvas.drawn.targets.clear();
        canvas.cursor = None;
    }
    if let Some(scroll) = state.help {
        help(&mut canvas, body, scroll);
    }
    footer(&mut canvas, below(area, area.height - 2), state);
    let Canvas { drawn, cursor, .. } = canvas;
    if let Some(cursor) = cursor {
        frame.set_cursor_position(cursor);
    }
    drawn
}

fn too_small(canvas: &mut Canvas<'_>, area: Rect) {
    let words = format!(
        "Cortex needs a terminal of {WIDTH_MIN}×{HEIGHT_MIN}; this one has {}×{}.\nq quits.",
        area.width, area.height
    );
    let lines = text::wrap(&words, usize::from(area.width));
    for (row, line) in (0..area.height).zip(lines) {
        canvas.put(area, row, Line::raw(line));
    }
}

fn header(canvas: &mut Canvas<'_>, area: Rect, state: &State) {
    let theme = canvas.theme;
    // Names of tabs say more than the name of the program.
    let name = if area.width >= NAME_FITS { " Cortex " } else { "" };
    let mut spans = vec![Span::styled(name, theme.strong())];
    let mut x = area.x + u16::try_from(name.len()).unwrap_or(0);
    for (n, tab) in Tab::ALL.into_iter().enumerate() {
        let is_open = tab == state.tab;
        let label = if is_open || area.width >= NAMES_FIT {
            format!(" {} {} ", n + 1, tab.name())
        } else {
            format!(" {} ", n + 1)
        };
        let cells = u16::try_from(text::width(&label)).unwrap_or(0);
        canvas.target(Rect { x, width: cells, ..area }, Target::Tab(tab));
        let style = if is_open { theme.open() } else { theme.text() };
        spans.push(Span::styled(label, style));
        x += cells;
    }
    canvas.put(area, 0, Line::from(spans));
    let (mark, style) = match state.feed.poll.failed() {
        Some(_) => ("○", theme.bad()),
        None => ("●", theme.good()),
    };
    let room = usize::from(area.right().saturating_sub(x));
    // A name that does not fit is on the first screen.
    let actor = format!(" {}", text::plain(&state.actor));
    let actor = if text::width(&actor) + 2 <= room { actor } else { String::new() };
    let cells = u16::try_from(text::width(&actor) + 2).unwrap_or(0).min(area.width);
    let spot = Rect { x: area.right() - cells, width: cells, ..area };
    let spans = vec![Span::styled(mark, style), Span::styled(actor, theme.faint())];
    canvas.put(spot, 0, Line::from(spans));
}

fn footer(canvas: &mut Canvas<'_>, area: Rect, state: &State) {
    let theme = canvas.theme;
    let cells = usize::from(area.width).saturating_sub(2);
    let line = match (&state.confirm, &state.notice, state.feed.poll.failed()) {
        (Some((_, title)), _, _) => {
            let question = format!("Forget \"{}\"? It can be restored.", text::cut(title, 40));
            Some(Line::styled(format!(" {}", text::cut(&question, cells)), theme.warn()))
        }
        (None, Some(notice), _) => {
            let style = if notice.is_error { theme.bad() } else { theme.good() };
            Some(Line::styled(format!(" {}", text::cut(&notice.text, cells)), style))
        }
        (None, None, Some(error)) => {
            let words = text::cut(&error.message, cells);
            Some(Line::styled(format!(" {words}"), theme.bad()))
        }
        (None, None, None) => None,
    };
    if let Some(line) = line {
        canvas.put(area, 0, line);
    }
    let row = below(area, 1);
    let mut x = row.x + 1;
    for hint in state.hints() {
        let cells = u16::try_from(text::width(hint.key) + text::width(hint.does) + 1).unwrap_or(0);
        if x + cells > row.right() {
            break;
        }
        let spot = Rect { x, width: cells, ..row };
        let spans = vec![
            Span::styled(hint.key, theme.key()),
            Span::raw(" "),
            Span::styled(hint.does, theme.faint()),
        ];
        canvas.put(spot, 0, Line::from(spans));
        canvas.target(spot, Target::Press(hint.press));
        x += cells + 3;
    }
}

fn help(canvas: &mut Canvas<'_>, body: Rect, scroll: usize) {
    let width = body.width.min(84);
    let area = Rect { x: body.x + (body.width - width) / 2, width, ..body };
    Clear.render(area, canvas.buffer);
    let inner = canvas.section(area, "Help", "", true);
    let theme = canvas.theme;
    let cells = usize::from(width).saturating_sub(20);
    let mut lines = Vec::new();
    for (section, keys) in HELP {
        lines.push(Line::styled(format!("  {section}"), theme.strong()));
        for (key, does) in *keys {
            for (n, words) in text::wrap(does, cells).into_iter().enumerate() {
                let key = if n == 0 { key } else { "" };
                lines.push(Line::from(vec![
                    Span::styled(format!("    {}", text::fit(key, 15)), theme.key()),
                    Span::raw(words),
                ]));
            }
        }
        lines.push(Line::raw(""));
    }
    canvas.text(inner, &lines, scroll);
}
