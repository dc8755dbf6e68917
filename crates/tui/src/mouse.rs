//! What the mouse does: the wheel, and clicks on what a drawing said is there.

use ratatui::crossterm::event::{KeyEvent, KeyModifiers};

use crate::ask::Request;
use crate::page::{Page, Pane};
use crate::state::{State, Tab, Target};

impl State {
    pub(super) fn wheel(&mut self, lines: isize) -> Vec<Request> {
        if let Some(scroll) = &mut self.help {
            *scroll = scroll.saturating_add_signed(lines);
            return Vec::new();
        }
        if self.confirm.is_some() {
            return Vec::new();
        }
        // Turning the wheel is no reason to type.
        if let Some((list, length)) = self.list() {
            list.step(lines, length);
            return self.ask_more().into_iter().collect();
        }
        self.move_by(lines)
    }

    pub(super) fn click(&mut self, target: Target) -> Vec<Request> {
        if self.help.take().is_some() {
            return Vec::new();
        }
        if self.confirm.is_some() && !matches!(target, Target::Press(_)) {
            return Vec::new();
        }
        match target {
            Target::Tab(tab) => self.go(tab),
            Target::Input => {
                self.search.typing = true;
                Vec::new()
            }
            Target::Press(code) => self.press(KeyEvent::new(code, KeyModifiers::NONE)),
            Target::Pane(pane) => self.click_pane(pane),
            Target::Row { second, row } => {
                let same_list = self.tab != Tab::Home
                    || !self.pages.is_empty()
                    || self.home.on_sessions == second;
                if self.tab == Tab::Home && self.pages.is_empty() {
                    self.home.on_sessions = second;
                }
                self.search.typing = false;
                let Some((list, length)) = self.list() else { return Vec::new() };
                let again = same_list && list.selected == row;
                list.to(row, length);
                if again { self.open_selected() } else { Vec::new() }
            }
        }
    }

    fn click_pane(&mut self, pane: usize) -> Vec<Request> {
        match self.pages.last_mut() {
            Some(Page::Memory(page)) => {
                let pane = Pane::Text.step(pane);
                page.show(pane, &mut self.tickets).into_iter().collect()
            }
            _ => {
                if self.tab == Tab::Archive {
                    self.archive.on_forgotten = pane == 1;
                }
                Vec::new()
            }
        }
    }
}
