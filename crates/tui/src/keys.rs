//! What keys do: typing where something is typed, commands everywhere else.
//!
//! What must stay true: like all of the state, a key only changes the state and returns questions; the words about keys
//! are in `hints`.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use api::server_tools::DecideRequest;

use crate::ask::{Ask, Change, OldText, Request};
use crate::page::{
    ChatPage, DEPTH_MAX, GraphPage, MemoryPage, Page, Pane, ProjectPage, SessionPage, TimelinePage,
};
use crate::state::{Notice, State, Tab};

impl State {
    pub(super) fn is_typing(&self) -> bool {
        self.tab == Tab::Search && self.pages.is_empty() && self.search.typing
    }

    pub(super) fn press(&mut self, key: KeyEvent) -> Vec<Request> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && matches!(key.code, KeyCode::Char('c' | 'C')) {
            self.over = true;
            return Vec::new();
        }
        if let Some((change, _)) = self.confirm.take() {
            return match key.code {
                KeyCode::Char('y' | 'Y') => self.submit(change),
                _ => {
                    self.notice = Some(Notice::said("nothing was changed"));
                    Vec::new()
                }
            };
        }
        self.notice = None;
        if self.help.is_some() {
            self.press_in_help(key.code);
            return Vec::new();
        }
        if key.code == KeyCode::F(1) {
            self.help = Some(0);
            return Vec::new();
        }
        if matches!(self.pages.last(), Some(Page::Chat(_))) {
            return self.press_in_chat(key);
        }
        let is_letter = matches!(key.code, KeyCode::Char(_) | KeyCode::Backspace)
            && !control
            && !key.modifiers.contains(KeyModifiers::ALT);
        if is_letter && self.tab == Tab::Search && self.pages.is_empty() {
            // In Search every letter is for the line, wherever the cursor is: none of them acts on a row.
            self.search.typing = true;
        }
        if self.is_typing()
            && let Some(requests) = self.type_key(key)
        {
            return requests;
        }
        if control || key.modifiers.contains(KeyModifiers::ALT) {
            return match key.code {
                KeyCode::Char('x') if control => self.search_everywhere(),
                _ => Vec::new(),
            };
        }
        self.command(key.code)
    }

    /// In a conversation every letter is for the line.
    fn press_in_chat(&mut self, key: KeyEvent) -> Vec<Request> {
        let lines = isize::try_from(self.drawn.height.max(2) - 1).unwrap_or(1);
        match key.code {
            KeyCode::Esc => return self.back(),
            KeyCode::Up => return self.move_by(-1),
            KeyCode::Down => return self.move_by(1),
            KeyCode::PageUp => return self.move_by(-lines),
            KeyCode::PageDown => return self.move_by(lines),
            _ => {}
        }
        let Some(Page::Chat(page)) = self.pages.last_mut() else { return Vec::new() };
        if key.code == KeyCode::Enter {
            return page.say(&mut self.tickets).into_iter().collect();
        }
        page.input.press(key);
        Vec::new()
    }

    fn press_in_help(&mut self, code: KeyCode) {
        let Some(scroll) = &mut self.help else { return };
        match code {
            KeyCode::Down | KeyCode::Char('j') => *scroll += 1,
            KeyCode::Up | KeyCode::Char('k') => *scroll = scroll.saturating_sub(1),
            KeyCode::PageDown => *scroll += self.drawn.height.max(1),
            KeyCode::PageUp => *scroll = scroll.saturating_sub(self.drawn.height.max(1)),
            KeyCode::Home => *scroll = 0,
            KeyCode::End => *scroll = usize::MAX / 2,
            _ => self.help = None,
        }
    }

    /// A key while the search line has the keys; `None` if it is not for the line.
    fn type_key(&mut self, key: KeyEvent) -> Option<Vec<Request>> {
        let has_hits = self.search.load.value().is_some_and(|answer| !answer.hits.is_empty());
        match key.code {
            // Who types faster than answers come is taken to the results when they are there.
            KeyCode::Enter | KeyCode::Down | KeyCode::Tab
                if has_hits || self.search.load.is_waiting() =>
            {
                self.search.typing = false;
                Some(Vec::new())
            }
            KeyCode::Enter | KeyCode::Down | KeyCode::Tab | KeyCode::Up => Some(Vec::new()),
            KeyCode::Esc if has_hits => {
                self.search.typing = false;
                Some(Vec::new())
            }
            KeyCode::Esc => {
                self.search.typing = false;
                Some(self.go(Tab::Home))
            }
            _ if self.search.input.press(key)? => Some(self.ask_search().into_iter().collect()),
            _ => Some(Vec::new()),
        }
    }

    pub(super) fn paste(&mut self, text: &str) -> Vec<Request> {
        if self.help.is_some() || self.confirm.is_some() {
            return Vec::new();
        }
        if let Some(Page::Chat(page)) = self.pages.last_mut() {
            if !page.input.insert(text) {
                self.notice =
                    Some(Notice { text: "too long to say at once".into(), is_error: true });
            }
            return Vec::new();
        }
        if !self.is_typing() {
            return Vec::new();
        }
        if !self.search.input.insert(text) {
            self.notice = Some(Notice { text: "too long to search for".into(), is_error: true });
            return Vec::new();
        }
        self.ask_search().into_iter().collect()
    }

    fn command(&mut self, code: KeyCode) -> Vec<Request> {
        match code {
            KeyCode::Char('?') => self.help = Some(0),
            KeyCode::Char('q') if self.pages.is_empty() => self.over = true,
            KeyCode::Char('q') | KeyCode::Esc | KeyCode::Backspace => return self.back(),
            KeyCode::Char(digit @ '1'..='8') => {
                let place = digit as usize - '1' as usize;
                return self.go(Tab::ALL[place]);
            }
            KeyCode::Char('/' | 'i') => return self.start_search(),
            KeyCode::Char('u') => return self.undo_last(),
            KeyCode::Char(key @ ('Y' | 'N')) => return self.decide(key == 'Y'),
            KeyCode::Char('r') => return self.ask_shown(),
            KeyCode::Tab | KeyCode::Right | KeyCode::Char('l') => return self.turn(1),
            KeyCode::BackTab | KeyCode::Left => return self.turn(Pane::ALL.len() - 1),
            KeyCode::Down | KeyCode::Char('j') => return self.move_by(1),
            KeyCode::Up | KeyCode::Char('k') => return self.move_by(-1),
            KeyCode::PageDown | KeyCode::Char(' ') => return self.move_by(self.page_rows()),
            KeyCode::PageUp => return self.move_by(-self.page_rows()),
            KeyCode::Home => return self.move_by(isize::MIN / 2),
            KeyCode::End | KeyCode::Char('G') => return self.move_by(isize::MAX / 2),
            KeyCode::Enter => return self.open_selected(),
            KeyCode::Char('+' | '=') => return self.widen(1),
            KeyCode::Char('-') => return self.widen(-1),
            KeyCode::Char(key) => return self.act(key),
            _ => {}
        }
        Vec::new()
    }

    /// Says yes or no to the call that has waited longest, on the screen that shows it.
    fn decide(&mut self, approve: bool) -> Vec<Request> {
        let at_home = self.tab == Tab::Home && self.pages.is_empty();
        let call = self.home.waiting_call().filter(|_| at_home);
        let Some(id) = call.map(|call| call.id.clone()) else { return Vec::new() };
        if self.home.decision.is_waiting() {
            return Vec::new();
        }
        let ask = Ask::Decide(DecideRequest { id, approve });
        vec![self.home.decision.ask(&mut self.tickets, ask)]
    }

    /// What a letter does to the memory that is meant.
    fn act(&mut self, key: char) -> Vec<Request> {
        if !"tghvopadbcye".contains(key) {
            return Vec::new();
        }
        let Some((id, title)) = self.memory() else {
            self.notice = Some(Notice::said("no memory is selected"));
            return Vec::new();
        };
        match key {
            't' => self.open(Page::Timeline(TimelinePage { id, ..TimelinePage::default() })),
            'g' => {
                self.open(Page::Graph(GraphPage { id, title, depth: 1, ..GraphPage::default() }))
            }
            'o' => match self.pages.last_mut() {
                Some(Page::Graph(page)) => {
                    (page.id, page.title) = (id, title);
                    page.list = crate::list::List::default();
                    self.ask_shown()
                }
                _ => Vec::new(),
            },
            'e' => self.start_edit(id),
            'h' => self.show_pane(id, Pane::History),
            'v' => self.show_pane(id, Pane::Proof),
            'p' => {
                let change = if self.is_pinned(id) { Change::Unpin(id) } else { Change::Pin(id) };
                self.submit(change)
            }
            'a' => self.submit(Change::Archive(id)),
            'b' => self.submit(Change::Restore(id)),
            'd' => {
                self.confirm = Some((Change::Forget(id), title));
                Vec::new()
            }
            'c' | 'y' => {
                self.copy(id);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// Asks for the editor. The text must be in sight: `u` brings it back.
    fn start_edit(&mut self, id: u64) -> Vec<Request> {
        let Some(Page::Memory(page)) = self.pages.last() else {
            return self.open(Page::Memory(Box::new(MemoryPage::new(id))));
        };
        let Some(memory) = page.load.value().map(|answer| &answer.memory) else {
            return Vec::new();
        };
        if memory.erased || memory.deleted_at.is_some() || memory.archived {
            self.notice = Some(Notice::said("bring it back first, with b"));
            return Vec::new();
        }
        self.editing = Some(OldText {
            id,
            version: memory.version,
            title: memory.title.clone(),
            content: memory.content.clone(),
        });
        Vec::new()
    }

    /// The editor was closed. What it changed is known when the memory was read again.
    pub(super) fn edited(&mut self, old: OldText, wrong: Option<String>) -> Vec<Request> {
        match wrong {
            Some(text) => self.notice = Some(Notice { text, is_error: true }),
            None => self.written_over = Some(old),
        }
        self.ask_shown()
    }

    fn show_pane(&mut self, id: u64, pane: Pane) -> Vec<Request> {
        if let Some(Page::Memory(page)) = self.pages.last_mut() {
            return page.show(pane, &mut self.tickets).into_iter().collect();
        }
        self.open(Page::Memory(Box::new(MemoryPage { pane, ..MemoryPage::new(id) })))
    }

    fn is_pinned(&self, id: u64) -> bool {
        match self.pages.last() {
            Some(Page::Memory(page)) => {
                page.load.value().is_some_and(|answer| answer.memory.pinned)
            }
            Some(Page::Session(page)) => page.memories.selected().is_some_and(|m| m.pinned),
            Some(Page::Project(page)) => page.memories.selected().is_some_and(|m| m.pinned),
            Some(Page::Timeline(page)) => {
                page.rows().iter().any(|brief| brief.id == id && brief.pinned)
            }
            Some(Page::Graph(_) | Page::Chat(_)) => false,
            None => {
                match self.tab {
                    Tab::Home => self.home.recent.selected().is_some_and(|m| m.pinned),
                    Tab::Search => self.search.load.value().is_some_and(|answer| {
                        answer.hits.iter().any(|hit| hit.id == id && hit.pinned)
                    }),
                    _ => false,
                }
            }
        }
    }

    /// The text is at hand when the memory is open; elsewhere the address is what names it.
    fn copy(&mut self, id: u64) {
        let (text, what) = match self.pages.last() {
            Some(Page::Memory(page)) => match page.load.value() {
                Some(answer) => {
                    let memory = &answer.memory;
                    (format!("{}\n\n{}\n", memory.title, memory.content), "the text".to_owned())
                }
                None => return,
            },
            _ => (id.to_string(), format!("the id {id}")),
        };
        self.copied = Some(text);
        self.notice = Some(Notice::said(format!("copied {what}")));
    }

    fn submit(&mut self, change: Change) -> Vec<Request> {
        if self.change.is_waiting() {
            self.notice = Some(Notice::said("the last change is still on its way"));
            return Vec::new();
        }
        self.way_back = self.way_back_of(&change);
        vec![self.change.ask(&mut self.tickets, Ask::Change(change))]
    }

    /// Takes back the last change that is not taken back yet, wherever the cursor is.
    fn undo_last(&mut self) -> Vec<Request> {
        let Some(change) = self.undo.last().cloned() else {
            self.notice = Some(Notice::said("there is nothing to take back"));
            return Vec::new();
        };
        let requests = self.submit(change);
        self.way_back = None;
        requests
    }

    /// What takes a change back.
    fn way_back_of(&self, change: &Change) -> Option<Change> {
        Some(match *change {
            Change::Archive(id) | Change::Forget(id) => Change::Restore(id),
            Change::Pin(id) => Change::Unpin(id),
            Change::Unpin(id) => Change::Pin(id),
            // Only `u` does it, and what `u` does is not taken back.
            Change::Rewrite(_) => return None,
            Change::Restore(id) => {
                let was_forgotten = match self.pages.last() {
                    Some(Page::Memory(page)) => {
                        page.load.value().is_some_and(|answer| answer.memory.deleted_at.is_some())
                    }
                    _ => self.tab == Tab::Archive && self.archive.on_forgotten,
                };
                if was_forgotten { Change::Forget(id) } else { Change::Archive(id) }
            }
        })
    }

    pub(super) fn go(&mut self, tab: Tab) -> Vec<Request> {
        self.pages.clear();
        self.tab = tab;
        if tab == Tab::Search && self.search.load.value().is_none() {
            self.search.typing = true;
        }
        self.ask_shown()
    }

    /// One step back: the page below, or the first screen.
    fn back(&mut self) -> Vec<Request> {
        if self.pages.pop().is_some() {
            // What a change elsewhere made stale is asked for again; a memory would count it as a use.
            return match self.pages.last() {
                Some(Page::Memory(_) | Page::Timeline(_)) => Vec::new(),
                _ => self.ask_shown(),
            };
        }
        if self.tab == Tab::Home { Vec::new() } else { self.go(Tab::Home) }
    }

    /// The search line, in the project that is in sight if there is one.
    fn start_search(&mut self) -> Vec<Request> {
        if let Some(Page::Project(page)) = self.pages.last() {
            self.search.project = Some(page.name.clone());
        }
        self.pages.clear();
        self.tab = Tab::Search;
        self.search.typing = true;
        self.ask_search().into_iter().collect()
    }

    fn search_everywhere(&mut self) -> Vec<Request> {
        if self.tab != Tab::Search || self.search.project.take().is_none() {
            return Vec::new();
        }
        self.ask_search().into_iter().collect()
    }

    /// The next pane, where there are several.
    fn turn(&mut self, by: usize) -> Vec<Request> {
        match self.pages.last_mut() {
            Some(Page::Memory(page)) => {
                let pane = page.pane.step(by);
                return page.show(pane, &mut self.tickets).into_iter().collect();
            }
            Some(_) => {}
            None => match self.tab {
                Tab::Home => self.home.on_sessions = !self.home.on_sessions,
                Tab::Archive => self.archive.on_forgotten = !self.archive.on_forgotten,
                Tab::Search => self.search.typing = true,
                Tab::Sessions | Tab::Projects | Tab::Activity | Tab::Mind | Tab::Chat => {}
            },
        }
        Vec::new()
    }

    fn page_rows(&self) -> isize {
        let rows = match self.pages.last() {
            Some(Page::Memory(_)) => self.drawn.height,
            _ => self.drawn.rows,
        };
        isize::try_from(rows.max(2) - 1).unwrap_or(1)
    }

    pub(super) fn move_by(&mut self, by: isize) -> Vec<Request> {
        if let Some(Page::Memory(page)) = self.pages.last_mut() {
            let most = self.drawn.lines.saturating_sub(self.drawn.height);
            page.scroll = page.scroll.saturating_add_signed(by).min(most);
            return Vec::new();
        }
        if let Some(Page::Chat(page)) = self.pages.last_mut() {
            // It is read from its end.
            let most = self.drawn.lines.saturating_sub(self.drawn.height);
            page.scroll = page.scroll.saturating_add_signed(-by).min(most);
            return Vec::new();
        }
        let at_top = self.list().is_some_and(|(list, _)| list.selected == 0);
        if by == -1 && at_top && self.tab == Tab::Search && self.pages.is_empty() {
            self.search.typing = true;
            return Vec::new();
        }
        if let Some((list, length)) = self.list() {
            list.step(by, length);
        }
        self.ask_more().into_iter().collect()
    }

    fn widen(&mut self, by: i32) -> Vec<Request> {
        match self.pages.last_mut() {
            Some(Page::Graph(page)) => {
                page.depth = page.depth.saturating_add_signed(by).clamp(1, DEPTH_MAX);
                self.ask_shown()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn open_selected(&mut self) -> Vec<Request> {
        if matches!(self.pages.last(), Some(Page::Memory(_))) {
            return Vec::new();
        }
        if self.pages.is_empty() {
            if self.tab == Tab::Chat && self.chat.load.value().is_some() {
                let page = ChatPage::new(self.chat.selected());
                return self.open(Page::Chat(page));
            }
            let session = match self.tab {
                Tab::Home if self.home.on_sessions => self.home.sessions.selected(),
                Tab::Sessions => self.sessions.selected(),
                Tab::Projects => {
                    let answer = self.projects.load.value();
                    let project = answer.and_then(|a| a.projects.get(self.projects.list.selected));
                    return match project.map(|project| ProjectPage::new(&project.name)) {
                        Some(page) => self.open(Page::Project(page)),
                        None => Vec::new(),
                    };
                }
                _ => None,
            };
            if let Some(session) = session.cloned() {
                return self.open(Page::Session(SessionPage::new(session)));
            }
        }
        match self.memory() {
            Some((id, _)) => self.open(Page::Memory(Box::new(MemoryPage::new(id)))),
            None if self.tab == Tab::Activity => {
                self.notice = Some(Notice::said("this entry is about no single memory"));
                Vec::new()
            }
            None => Vec::new(),
        }
    }
}
