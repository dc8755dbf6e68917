//! What views draw with: lines, rules, lists and texts on the cells of a screen, and a record of what was drawn where.

use proof::memory::Millis;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget as _;

use crate::ask::Load;
use crate::input::Input;
use crate::list::List;
use crate::state::{Drawn, Target};
use crate::text;
use crate::view::theme::Theme;
use api::Error;

/// Cells before each row of a list: the mark of the selected one, and a space.
pub(super) const MARK: usize = 2;

pub(super) struct Canvas<'a> {
    pub(super) buffer: &'a mut Buffer,
    pub(super) theme: Theme,
    pub(super) now: Millis,
    pub(super) drawn: Drawn,
    pub(super) cursor: Option<Position>,
}

/// A list as it is to be drawn.
pub(super) struct Rows<'a> {
    pub(super) list: &'a List,
    pub(super) length: usize,
    /// Lines of each row.
    pub(super) height: u16,
    pub(super) has_keys: bool,
    pub(super) second: bool,
}

impl<'a> Rows<'a> {
    pub(super) fn of(list: &'a List, length: usize) -> Rows<'a> {
        Rows { list, length, height: 1, has_keys: true, second: false }
    }
}

impl Canvas<'_> {
    /// One line at a row of an area; what does not fit is not drawn.
    pub(super) fn put(&mut self, area: Rect, row: u16, line: Line<'_>) {
        if row < area.height && area.width > 0 {
            line.render(Rect { y: area.y + row, height: 1, ..area }, self.buffer);
        }
    }

    pub(super) fn target(&mut self, area: Rect, target: Target) {
        self.drawn.targets.push((area, target));
    }

    /// A rule with a name at its start and a note at its end. Returns what is below it.
    pub(super) fn section(&mut self, area: Rect, name: &str, note: &str, has_keys: bool) -> Rect {
        let cells = usize::from(area.width);
        let style = if has_keys { self.theme.key() } else { self.theme.strong() };
        let name = text::cut(name, cells.saturating_sub(4));
        let room = cells.saturating_sub(text::width(&name) + 8);
        let note = text::cut(note, if room > 4 { room } else { 0 });
        let faint = self.theme.faint();
        let mut spans = vec![Span::styled("─ ", faint), Span::styled(name, style), Span::raw(" ")];
        let used: usize = spans.iter().map(|span| text::width(&span.content)).sum();
        let tail = if note.is_empty() { 0 } else { text::width(&note) + 3 };
        let rule = "─".repeat(cells.saturating_sub(used + tail));
        spans.push(Span::styled(rule, faint));
        if !note.is_empty() {
            spans.push(Span::styled(format!(" {note} ─"), faint));
        }
        self.put(area, 0, Line::from(spans));
        below(area, 1)
    }

    /// Draws the rows in sight. `draw` gives the lines of a row, for so many cells.
    pub(super) fn rows(
        &mut self,
        area: Rect,
        rows: &Rows<'_>,
        mut draw: impl FnMut(&Canvas<'_>, usize, usize) -> Vec<Line<'static>>,
    ) {
        let fits = usize::from(area.height / rows.height.max(1));
        let first = rows.list.first(fits, rows.length);
        self.drawn.offsets[usize::from(rows.second)] = first;
        if rows.has_keys {
            self.drawn.rows = fits;
        }
        let cells = usize::from(area.width).saturating_sub(MARK);
        for place in 0..fits {
            let row = first + place;
            if row >= rows.length {
                break;
            }
            let top = u16::try_from(place).unwrap_or(u16::MAX).saturating_mul(rows.height);
            let spot = Rect { y: area.y + top, height: rows.height.min(area.height - top), ..area };
            let is_selected = rows.has_keys && row == rows.list.selected;
            let lines = draw(self, row, cells);
            for (n, mut line) in (0..spot.height).zip(lines) {
                let mark = if is_selected && n == 0 { "▸ " } else { "  " };
                line.spans.insert(0, Span::styled(mark, self.theme.key()));
                self.put(spot, n, line);
            }
            if is_selected {
                let over = self.theme.selected();
                let text =
                    Rect { x: spot.x + 2, width: spot.width.saturating_sub(2), height: 1, ..spot };
                self.buffer.set_style(text, over);
            }
            self.target(spot, Target::Row { second: rows.second, row });
        }
    }

    /// Lines of a text from `scroll` on.
    pub(super) fn text(&mut self, area: Rect, lines: &[Line<'static>], scroll: usize) {
        let height = usize::from(area.height);
        (self.drawn.lines, self.drawn.height) = (lines.len(), height);
        let scroll = scroll.min(lines.len().saturating_sub(height));
        for (row, line) in (0..area.height).zip(&lines[scroll..]) {
            self.put(area, row, line.clone());
        }
        let left = lines.len().saturating_sub(scroll + height);
        if left > 0 && area.height > 1 {
            let more = format!(" {} more below ", text::count(left as u64, "line", "lines"));
            let cells = u16::try_from(text::width(&more)).unwrap_or(0).min(area.width);
            let spot =
                Rect { x: area.right() - cells, y: area.bottom() - 1, width: cells, height: 1 };
            self.put(spot, 0, Line::styled(more, self.theme.accent()));
        }
    }

    /// Says why there is nothing to show: it is on its way, it failed, or there is nothing. `false` if there is
    /// something.
    pub(super) fn instead<T>(
        &mut self,
        area: Rect,
        load: &Load<T>,
        is_empty: impl FnOnce(&T) -> bool,
        nothing: &str,
    ) -> bool {
        match (load.value(), load.failed()) {
            (_, Some(error)) => self.failed(area, error),
            (None, None) => self.say(area, "loading …", self.theme.faint()),
            (Some(value), None) if is_empty(value) => self.say(area, nothing, self.theme.faint()),
            (Some(_), None) => return false,
        }
        true
    }

    fn failed(&mut self, area: Rect, error: &Error) {
        let hint = error.hint.as_ref().map(|hint| format!("\n{hint}")).unwrap_or_default();
        self.say(area, &format!("{}{hint}", error.message), self.theme.bad());
    }

    /// A line that is being typed, with its cursor if it has the keys.
    pub(super) fn typed(&mut self, line: Rect, input: &Input, has_keys: bool) {
        let cells = usize::from(line.width).saturating_sub(4);
        let (shown, cursor) = input.window(cells);
        let theme = self.theme;
        let spans = vec![Span::styled("> ", theme.key()), Span::styled(shown, theme.strong())];
        self.put(line, 0, Line::from(spans));
        if has_keys {
            let x = line.x + 2 + u16::try_from(cursor).unwrap_or(0);
            self.cursor = Some(Position { x, y: line.y });
        }
    }

    /// Words in an otherwise empty area.
    pub(super) fn say(&mut self, area: Rect, words: &str, style: Style) {
        let cells = usize::from(area.width).saturating_sub(MARK);
        for (row, line) in (0..area.height).zip(text::wrap(words, cells)) {
            self.put(area, row, Line::styled(format!("  {line}"), style));
        }
    }
}

/// What is left of an area under its first rows.
pub(super) fn below(area: Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    Rect { y: area.y + rows, height: area.height - rows, ..area }
}

/// The first rows of an area.
pub(super) fn top(area: Rect, rows: u16) -> Rect {
    Rect { height: rows.min(area.height), ..area }
}

/// Columns of the given widths, with one cell between them.
pub(super) fn columns<const N: usize>(area: Rect, widths: [u16; N]) -> [Rect; N] {
    let mut x = area.x;
    widths.map(|width| {
        let width = width.min(area.right().saturating_sub(x));
        let column = Rect { x, width, ..area };
        x = (x + width + 1).min(area.right());
        column
    })
}

/// `1–20 of 140`, or nothing if all is in sight.
pub(super) fn extent(first: usize, rows: usize, length: usize, total: usize) -> String {
    let last = (first + rows).min(length);
    if length == 0 {
        return String::new();
    }
    format!("{}–{last} of {}", first + 1, text::number(total as u64))
}
