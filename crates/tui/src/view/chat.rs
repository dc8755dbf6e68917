//! Conversations: the list of them, and one with a line to type in. What was said is read from its end.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::page::ChatPage;
use crate::tabs::Chat;
use crate::text;
use crate::view::canvas::{Canvas, Rows, below, extent, top};
use crate::view::memory::markdown;
use api::ErrorCode;
use api::channel::{ChannelGetAnswer, ChannelView};

/// Cells of how many messages there are, and of an age.
const MESSAGES: usize = 14;
const AGE: usize = 10;
/// Rows below what was said: a rule and the line.
const LINE_ROWS: u16 = 2;

pub(super) fn channels(canvas: &mut Canvas<'_>, area: Rect, chat: &Chat) {
    let rows = chat.rows();
    let fits = usize::from(area.height.saturating_sub(1));
    let note = extent(chat.list.first(fits, rows.len()), fits, rows.len(), rows.len());
    let inner = canvas.section(area, "Conversations", &note, true);
    let nothing = "None yet; enter begins one. It needs a model, and says how to name one.";
    if canvas.instead(inner, &chat.load, |answer| answer.channels.is_empty(), nothing) {
        return;
    }
    canvas.rows(inner, &Rows::of(&chat.list, rows.len()), |canvas, row, cells| {
        vec![channel_line(canvas, &rows[row], cells)]
    });
}

fn channel_line(canvas: &Canvas<'_>, channel: &ChannelView, cells: usize) -> Line<'static> {
    let theme = canvas.theme;
    let (state, style) = match (channel.is_answering, &channel.last_error) {
        (true, _) => ("answering", theme.accent()),
        (false, Some(_)) => ("not answered", theme.bad()),
        (false, None) => ("", theme.faint()),
    };
    let messages = text::count(channel.messages as u64, "message", "messages");
    let room = cells.saturating_sub(MESSAGES + AGE + 15);
    Line::from(vec![
        Span::raw(text::fit(&text::plain(&channel.channel), room)),
        Span::styled(format!(" {}", text::fit(state, 13)), style),
        Span::styled(text::fit_right(&messages, MESSAGES), theme.text()),
        Span::styled(text::fit_right(&text::ago(&channel.last_at, canvas.now), AGE), theme.faint()),
    ])
}

pub(super) fn conversation(canvas: &mut Canvas<'_>, area: Rect, page: &ChatPage) {
    let name = format!("Conversation {}", text::plain(&page.channel));
    let said = Rect { height: area.height.saturating_sub(LINE_ROWS), ..area };
    let inner = canvas.section(said, &name, "", false);
    let typed = below(area, said.height);
    canvas.section(top(typed, 1), "Say something", "", true);
    let line = top(below(typed, 1), 1);
    canvas.typed(line, &page.input, true);
    let is_new = page.load.failed().is_some_and(|error| error.code == ErrorCode::NotFound);
    if is_new {
        canvas.say(inner, "Nothing was said yet.", canvas.theme.faint());
        return;
    }
    if canvas.instead(inner, &page.load, |_| false, "") {
        return;
    }
    let Some(answer) = page.load.value() else { return };
    let text = Rect { x: inner.x + 2, width: inner.width.saturating_sub(4), ..inner };
    let lines = lines(canvas, answer, usize::from(text.width));
    let hidden = lines.len().saturating_sub(usize::from(text.height));
    canvas.text(text, &lines, hidden.saturating_sub(page.scroll));
}

fn lines(canvas: &Canvas<'_>, answer: &ChannelGetAnswer, cells: usize) -> Vec<Line<'static>> {
    let theme = canvas.theme;
    let mut lines = Vec::new();
    for said in &answer.said {
        let (who, style) = match said.by.as_str() {
            "user" => ("you", theme.key()),
            "assistant" => ("Cortex", theme.good()),
            _ => ("note", theme.faint()),
        };
        lines.push(Line::from(vec![
            Span::styled(who, style),
            Span::styled(format!("  {}", text::ago(&said.at, canvas.now)), theme.faint()),
        ]));
        lines.extend(markdown(&said.text, theme, cells));
        lines.push(Line::raw(""));
    }
    if answer.view.is_answering {
        lines.push(Line::styled("Cortex is answering …", theme.accent()));
    } else if let Some(error) = &answer.view.last_error {
        let wrapped = text::wrap(&text::plain(error), cells).into_iter();
        lines.extend(wrapped.map(|line| Line::styled(line, theme.bad())));
    }
    lines
}
