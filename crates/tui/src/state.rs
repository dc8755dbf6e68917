//! The state of the interface and what events do to it. Pure: events in, questions out; no clock, no terminal, no
//! socket.
//!
//! What must stay true: nothing here waits. An answer is an event like a key, and one that nobody waits for any more
//! changes nothing.

use proof::memory::Millis;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Rect;

use crate::ask::{Answer, Ask, Change, ChangeReport, Load, OldText, Request, Ticket, Tickets};
use crate::list::{List, Memories, Sessions};
use crate::page::Page;
use crate::tabs::{Archive, Chat, Feed, Home, Mind, Projects, Search};
use api::activity::ActivityRequest;
use api::audit::AuditRequest;
use api::channel::ChannelListRequest;
use api::mind::{JobsRequest, RunsRequest};
use api::read::ListRequest;
use api::server_tools::ApprovalsRequest;
use api::stats::{ProjectsRequest, StatsRequest};
use api::talent_runs::TalentRunsRequest;
use api::{Error, Result};

/// Entries the feed keeps, and asks for at once.
pub(super) const FEED_MAX: usize = 1_000;
const FEED_PAGE: usize = 200;
/// Pages upon each other; the oldest goes when one more is opened.
const PAGES_MAX: usize = 64;
/// Changes that can be taken back.
pub(super) const UNDO_MAX: usize = 100;
/// Memories and sessions of the first screen.
const HOME_ROWS: usize = 50;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tab {
    #[default]
    Home,
    Search,
    Sessions,
    Projects,
    Archive,
    Activity,
    Mind,
    Chat,
}

impl Tab {
    pub(super) const ALL: [Tab; 8] = [
        Tab::Home,
        Tab::Search,
        Tab::Sessions,
        Tab::Projects,
        Tab::Archive,
        Tab::Activity,
        Tab::Mind,
        Tab::Chat,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Tab::Home => "Home",
            Tab::Search => "Search",
            Tab::Sessions => "Sessions",
            Tab::Projects => "Projects",
            Tab::Archive => "Archive",
            Tab::Activity => "Live",
            Tab::Mind => "Mind",
            Tab::Chat => "Chat",
        }
    }
}

/// Something that happened.
#[derive(Debug)]
pub(super) enum Event {
    Key(KeyEvent),
    Paste(String),
    Click(Target),
    /// Lines down; up if negative.
    Wheel(isize),
    /// Time has passed.
    Tick(Millis),
    Answer(Ticket, Box<Result<Answer>>),
    /// What the last drawing showed, and where.
    Drawn(Drawn),
    /// The editor was closed: what stood there before, and what went wrong.
    Edited(Box<OldText>, Option<String>),
    /// Somebody outside asks to end.
    End,
}

/// Something that can be clicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Tab(Tab),
    /// A row of the first list on the screen, or of the second.
    Row {
        second: bool,
        row: usize,
    },
    /// What Tab would lead to.
    Pane(usize),
    /// The line of the search.
    Input,
    /// A key hint.
    Press(KeyCode),
}

/// What a drawing showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Drawn {
    pub(super) targets: Vec<(Rect, Target)>,
    /// The first row in sight of the first and second list.
    pub(super) offsets: [usize; 2],
    /// Rows of the list that fit.
    pub(super) rows: usize,
    /// Lines of the text, and how many of them fit.
    pub(super) lines: usize,
    pub(super) height: usize,
}

/// One line for the person, until the next key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Notice {
    pub(super) text: String,
    pub(super) is_error: bool,
}

impl Notice {
    pub(super) fn said(text: impl Into<String>) -> Notice {
        Notice { text: text.into(), is_error: false }
    }

    pub(super) fn error(error: &Error) -> Notice {
        let hint = error.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        Notice { text: format!("{}{hint}", error.message), is_error: true }
    }
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) now: Millis,
    pub(super) actor: String,
    pub(super) tab: Tab,
    pub(super) pages: Vec<Page>,
    pub(super) home: Home,
    pub(super) search: Search,
    pub(super) sessions: Sessions,
    pub(super) projects: Projects,
    pub(super) archive: Archive,
    pub(super) feed: Feed,
    pub(super) mind: Mind,
    pub(super) chat: Chat,
    pub(super) change: Load<ChangeReport>,
    /// What takes back the change that is on its way; absent for one that takes back itself.
    pub(super) way_back: Option<Change>,
    /// What takes back the changes that were made, the last one last.
    pub(super) undo: Vec<Change>,
    /// Asked before it is done.
    pub(super) confirm: Option<(Change, String)>,
    /// The help is open, and scrolled so far.
    pub(super) help: Option<usize>,
    pub(super) notice: Option<Notice>,
    pub(super) drawn: Drawn,
    /// The memory that is to be opened in the editor, as it is.
    pub(super) editing: Option<OldText>,
    /// What stood there before the editor was closed, until it is known what stands there now.
    pub(super) written_over: Option<OldText>,
    /// For the clipboard of the terminal.
    pub(super) copied: Option<String>,
    pub(super) over: bool,
    pub(super) tickets: Tickets,
}

impl State {
    /// The first screen, and what it asks for.
    pub(super) fn new(actor: &str, now: Millis) -> (State, Vec<Request>) {
        let mut state = State { now, actor: actor.to_owned(), ..State::default() };
        state.home.recent =
            Memories::of(ListRequest { limit: Some(HOME_ROWS), ..ListRequest::default() });
        state.archive.archived =
            Memories::of(ListRequest { archived: true, ..ListRequest::default() });
        state.archive.forgotten =
            Memories::of(ListRequest { forgotten: true, ..ListRequest::default() });
        let mut requests = state.ask_shown();
        requests.extend(state.ask_feed());
        (state, requests)
    }

    pub(super) fn update(&mut self, event: Event) -> Vec<Request> {
        match event {
            Event::Key(key) => self.press(key),
            Event::Paste(text) => self.paste(&text),
            Event::Click(target) => self.click(target),
            Event::Wheel(lines) => self.wheel(lines),
            Event::Tick(now) => self.tick(now),
            Event::Answer(ticket, answer) => self.answered(ticket, *answer),
            Event::Drawn(drawn) => {
                self.seen(drawn);
                Vec::new()
            }
            Event::Edited(old, wrong) => self.edited(*old, wrong),
            Event::End => {
                self.over = true;
                Vec::new()
            }
        }
    }

    /// Asks for what is in sight.
    pub(super) fn ask_shown(&mut self) -> Vec<Request> {
        let tickets = &mut self.tickets;
        if let Some(page) = self.pages.last_mut() {
            return page.ask(tickets);
        }
        match self.tab {
            Tab::Home => vec![
                self.home.stats.ask(tickets, Ask::Stats(StatsRequest {})),
                self.home.status.ask(tickets, Ask::Status),
                self.home.approvals.ask(tickets, Ask::Approvals(ApprovalsRequest {})),
                self.home.recent.ask(tickets),
                self.home.sessions.ask(tickets),
            ],
            Tab::Search => self.ask_search().into_iter().collect(),
            Tab::Sessions => vec![self.sessions.ask(tickets)],
            Tab::Projects => {
                vec![self.projects.load.ask(tickets, Ask::Projects(ProjectsRequest {}))]
            }
            Tab::Archive => {
                vec![self.archive.archived.ask(tickets), self.archive.forgotten.ask(tickets)]
            }
            Tab::Activity => self.ask_feed().into_iter().collect(),
            Tab::Mind => vec![
                self.mind.jobs.ask(tickets, Ask::Jobs(JobsRequest {})),
                self.mind.audit.ask(tickets, Ask::Audit(AuditRequest::default())),
                self.mind.changes.ask(tickets, Ask::Changes(RunsRequest::default())),
                self.mind.runs.ask(tickets, Ask::Runs(TalentRunsRequest::default())),
            ],
            Tab::Chat => {
                vec![self.chat.load.ask(tickets, Ask::Channels(ChannelListRequest {}))]
            }
        }
    }

    /// Asks for what came after the last entry that was seen, unless that is on its way already.
    fn ask_feed(&mut self) -> Option<Request> {
        if self.feed.poll.is_waiting() {
            return None;
        }
        let request = ActivityRequest { after: self.feed.size, limit: Some(FEED_PAGE) };
        Some(self.feed.poll.ask(&mut self.tickets, Ask::Activity(request)))
    }

    /// Searches for what the line says. While one search is on its way the next one waits for it: whoever types fast
    /// asks only as often as answers come.
    pub(super) fn ask_search(&mut self) -> Option<Request> {
        let Some(wanted) = self.search.wanted() else {
            self.search.load.clear();
            self.search.list = List::default();
            return None;
        };
        if self.search.load.is_waiting() {
            return None;
        }
        self.search.asked = wanted;
        let ask = Ask::Search(self.search.asked.clone());
        Some(self.search.load.ask(&mut self.tickets, ask))
    }

    fn tick(&mut self, now: Millis) -> Vec<Request> {
        self.now = now;
        let mut requests: Vec<Request> = self.ask_feed().into_iter().collect();
        let at_home = self.tab == Tab::Home && self.pages.is_empty();
        if at_home && !self.home.status.is_waiting() {
            requests.push(self.home.status.ask(&mut self.tickets, Ask::Status));
        }
        if at_home && !self.home.approvals.is_waiting() {
            let ask = Ask::Approvals(ApprovalsRequest {});
            requests.push(self.home.approvals.ask(&mut self.tickets, ask));
        }
        if let Some(Page::Chat(page)) = self.pages.last_mut()
            && page.is_answering()
            && !page.load.is_waiting()
        {
            requests.push(page.ask(&mut self.tickets));
        }
        requests
    }

    fn seen(&mut self, drawn: Drawn) {
        let [first, second] = drawn.offsets;
        let lines_left = drawn.lines.saturating_sub(drawn.height);
        if let Some(scroll) = &mut self.help {
            *scroll = (*scroll).min(lines_left);
            self.drawn = drawn;
            return;
        }
        match self.pages.last_mut() {
            Some(Page::Memory(page)) => page.scroll = page.scroll.min(lines_left),
            Some(Page::Chat(page)) => page.scroll = page.scroll.min(lines_left),
            Some(page) => {
                if let Some((list, _)) = page.list() {
                    list.offset = first;
                }
            }
            None if self.tab == Tab::Home => {
                self.home.recent.list.offset = first;
                self.home.sessions.list.offset = second;
            }
            None => {
                if let Some((list, _)) = self.list() {
                    list.offset = first;
                }
            }
        }
        self.drawn = drawn;
    }

    /// The list that keys move in, and how long it is.
    pub(super) fn list(&mut self) -> Option<(&mut List, usize)> {
        if let Some(page) = self.pages.last_mut() {
            return page.list();
        }
        match self.tab {
            Tab::Home if self.home.on_sessions => {
                let length = self.home.sessions.rows().len();
                Some((&mut self.home.sessions.list, length))
            }
            Tab::Home => {
                let length = self.home.recent.rows().len();
                Some((&mut self.home.recent.list, length))
            }
            Tab::Search => {
                let length = self.search.load.value().map_or(0, |answer| answer.hits.len());
                Some((&mut self.search.list, length))
            }
            Tab::Sessions => {
                let length = self.sessions.rows().len();
                Some((&mut self.sessions.list, length))
            }
            Tab::Projects => {
                let length = self.projects.load.value().map_or(0, |answer| answer.projects.len());
                Some((&mut self.projects.list, length))
            }
            Tab::Archive => {
                let shown = self.archive.shown_mut();
                let length = shown.rows().len();
                Some((&mut shown.list, length))
            }
            Tab::Activity => Some((&mut self.feed.list, self.feed.entries.len())),
            Tab::Mind => {
                let length = self.mind.rows().len();
                Some((&mut self.mind.list, length))
            }
            Tab::Chat => {
                let length = self.chat.rows().len();
                Some((&mut self.chat.list, length))
            }
        }
    }

    /// More of the list, if its end is in sight and there is more.
    pub(super) fn ask_more(&mut self) -> Option<Request> {
        let tickets = &mut self.tickets;
        match self.pages.last_mut() {
            Some(Page::Session(page)) => return page.memories.more(tickets),
            Some(Page::Project(page)) => return page.memories.more(tickets),
            Some(_) => return None,
            None => {}
        }
        match self.tab {
            Tab::Home if self.home.on_sessions => self.home.sessions.more(tickets),
            Tab::Home => self.home.recent.more(tickets),
            Tab::Sessions => self.sessions.more(tickets),
            Tab::Archive => self.archive.shown_mut().more(tickets),
            Tab::Search | Tab::Projects | Tab::Activity | Tab::Mind | Tab::Chat => None,
        }
    }

    pub(super) fn hit(&self) -> Option<(u64, String)> {
        let hits = &self.search.load.value()?.hits;
        hits.get(self.search.list.selected).map(|hit| (hit.id, hit.title.clone()))
    }

    /// The memory that is meant when somebody acts: id and title.
    pub(super) fn memory(&self) -> Option<(u64, String)> {
        if let Some(page) = self.pages.last() {
            return page.memory();
        }
        let of = |memories: &Memories| memories.selected().map(|m| (m.id, m.title.clone()));
        match self.tab {
            Tab::Home if !self.home.on_sessions => of(&self.home.recent),
            Tab::Search => self.hit(),
            Tab::Archive => of(self.archive.shown()),
            Tab::Activity => {
                let entry = self.feed.entries.get(self.feed.list.selected)?;
                entry.memory_id.map(|id| (id, entry.summary.clone()))
            }
            Tab::Mind => self.mind.memory(),
            Tab::Home | Tab::Sessions | Tab::Projects | Tab::Chat => None,
        }
    }

    /// Opens a page above what is shown.
    pub(super) fn open(&mut self, page: Page) -> Vec<Request> {
        if self.pages.len() == PAGES_MAX {
            self.pages.remove(0);
        }
        self.pages.push(page);
        self.ask_shown()
    }
}
