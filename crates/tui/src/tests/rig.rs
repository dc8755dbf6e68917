//! A state machine with operations behind it, and a screen in memory before it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use proof::Digest;
use proof::actor::ActorName;
use proof::memory::Millis;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tempfile::TempDir;

use crate::ask::{Answerer, Ask, Request, StatusView};
use crate::state::{Drawn, Event, State, Target};
use crate::view;
use crate::view::theme::Theme;
use api::Operation;
use api::Result;
use api::change::{ArchiveRequest, DeleteRequest, PinRequest, UpdateRequest};
use api::graph::RelateRequest;
use api::prompt::PromptSaveRequest;
use api::save::SaveRequest;
use api::session::{SessionEndRequest, SessionStartRequest};
use host::{Host, HostHandle};
use service::{Caller, Environment, Service, Settings};

/// 2026-11-16 09:00 UTC.
const START: i64 = 1_794_819_600_000;
pub(super) const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

/// A clock that moves when it is told to, and chance that follows from a count.
#[derive(Debug)]
struct Clock {
    now: AtomicI64,
    drawn: AtomicU64,
}

impl Environment for Clock {
    fn now(&self) -> service::Result<Millis> {
        Ok(Millis(self.now.load(Ordering::SeqCst)))
    }

    fn fill(&self, bytes: &mut [u8]) -> service::Result<()> {
        let drawn = self.drawn.fetch_add(1, Ordering::SeqCst);
        let digest = Digest::of("test", &[&drawn.to_be_bytes()]);
        let length = bytes.len();
        bytes.copy_from_slice(&digest.as_bytes()[..length]);
        Ok(())
    }
}

struct Local {
    handle: HostHandle,
}

impl Answerer for Local {
    fn ask<R: Operation + Clone>(&self, request: R) -> Result<R::Answer> {
        api::ask(&self.handle, request)
    }

    fn status(&self) -> Result<StatusView> {
        Ok(StatusView {
            pid: 4_711,
            version: "0.1.0".to_owned(),
            home: "/home/alice/.cortex".to_owned(),
            uptime_seconds: 8_000,
            connections: 3,
            requests: 1_200,
            open_actors: 1,
        })
    }
}

pub(super) struct Rig {
    _folder: TempDir,
    clock: Arc<Clock>,
    asked: Local,
    pub(super) state: State,
    /// Questions that are on their way.
    pub(super) open: VecDeque<Request>,
    size: (u16, u16),
    pub(super) theme: Theme,
}

impl Rig {
    /// An interface before an empty home.
    pub(super) fn empty(width: u16, height: u16) -> Rig {
        Rig::with(width, height, |_| ())
    }

    /// An interface before a home with a bit of everything.
    pub(super) fn new(width: u16, height: u16) -> Rig {
        Rig::with(width, height, Rig::fill)
    }

    fn with(width: u16, height: u16, fill: impl FnOnce(&Rig)) -> Rig {
        let folder = TempDir::new().unwrap();
        let clock = Arc::new(Clock { now: AtomicI64::new(START), drawn: AtomicU64::new(0) });
        let mut caller = Caller::new(ActorName::parse("default").unwrap(), "alice");
        caller.environment = clock.clone();
        let service = Service::new(folder.path(), Settings::default(), Duration::ZERO);
        let host = Arc::new(Host::new(service, std::collections::BTreeMap::new()));
        let mut rig = Rig {
            _folder: folder,
            clock,
            asked: Local { handle: HostHandle { host, caller } },
            state: State::default(),
            open: VecDeque::new(),
            size: (width, height),
            theme: Theme::default(),
        };
        fill(&rig);
        let (state, requests) = State::new("default", rig.now());
        rig.state = state;
        rig.open.extend(requests);
        rig.settle();
        rig
    }

    pub(super) fn now(&self) -> Millis {
        self.clock.now().unwrap()
    }

    pub(super) fn pass(&self, ms: i64) {
        self.clock.now.fetch_add(ms, Ordering::SeqCst);
    }

    pub(super) fn ask<R: Operation + Clone>(&self, request: R) -> R::Answer {
        self.asked.ask(request).unwrap()
    }

    pub(super) fn save(&self, title: &str, content: &str, kind: &str, project: &str) -> u64 {
        self.pass(3 * MINUTE);
        self.ask(SaveRequest {
            title: title.to_owned(),
            content: content.to_owned(),
            kind: Some(kind.to_owned()),
            project: Some(project.to_owned()),
            ..SaveRequest::default()
        })
        .id
    }

    fn fill(&self) {
        let start = |id: &str, project: &str, agent: &str| {
            self.ask(SessionStartRequest {
                id: id.to_owned(),
                project: Some(project.to_owned()),
                directory: Some(format!("/src/{project}")),
                agent: Some(agent.to_owned()),
            });
        };
        start("early-42", "api", "codex");
        self.ask(PromptSaveRequest { content: "why is it slow?".into(), ..Default::default() });
        let first = self.save(
            "Queries are slow without an index",
            "The list of orders scanned the whole table.\n\nAn index on `created_at` made it 40 times faster.",
            "bugfix",
            "api",
        );
        let summary = Some("Found why the list of orders was slow, and added an index.".to_owned());
        self.pass(HOUR);
        self.ask(SessionEndRequest { id: "early-42".into(), summary });
        self.pass(26 * HOUR);
        start("web-7f3a", "web", "claude-code");
        let login = self.save(
            "Use signed cookies for the login",
            "# Decision\n\nSessions live in signed cookies, not in Redis.\n\n- no server state to lose\n\
             - a key is rotated \
             every week, and two keys are valid at any time so that nobody is logged out by a rotation\n\n```rust\n\
             let jar \
             = jar.add(cookie);\n```\n\n> Redis stays for rate limits.",
            "decision",
            "web",
        );
        self.save(
            "日本語のタイトルは幅が二倍です",
            "幅の広い文字も正しく並びます。",
            "discovery",
            "web",
        );
        let csrf = self.save(
            "Forms carry a token against forged requests",
            "Every form has a hidden field; the login checks it.",
            "pattern",
            "web",
        );
        self.pass(HOUR);
        self.ask(UpdateRequest {
            id: login,
            content: Some(
                "# Decision\n\nSessions live in signed cookies, not in Redis.\n\n- no server state to lose\n- a key is \
                 rotated every day, and two keys are valid at any time so that nobody is logged out by a rotation\n\n\
                 ```rust\n\
                 let jar = jar.add(cookie);\n```\n\n> Redis stays for rate limits."
                    .into(),
            ),
            tags: Some(vec!["login".into(), "cookies".into()]),
            topic_key: Some("architecture/login".into()),
            ..UpdateRequest::default()
        });
        let old =
            self.save("Sessions live in Redis", "One instance, no replica.", "decision", "web");
        let noise = self.save("Tabs or spaces", "Nobody cares any more.", "preference", "web");
        let wrong = self.save("The build needs Java", "It never did.", "discovery", "api");
        let relate = |from, to, relation: &str| {
            self.ask(RelateRequest {
                from_obs_id: from,
                to_obs_id: to,
                relation_type: relation.to_owned(),
                weight: None,
            });
        };
        relate(login, old, "supersedes");
        relate(csrf, login, "follows");
        relate(csrf, first, "references");
        self.ask(PinRequest { id: login, pinned: true });
        self.pass(MINUTE);
        self.ask(ArchiveRequest { id: noise, reason: None });
        self.ask(DeleteRequest { id: wrong, ..DeleteRequest::default() });
        self.pass(2 * HOUR);
    }

    /// Answers every question that is on its way, and those that follow.
    pub(super) fn settle(&mut self) {
        self.draw();
        while let Some(request) = self.open.pop_front() {
            self.answer(request);
        }
    }

    pub(super) fn answer(&mut self, request: Request) {
        let answer = Box::new(request.ask.run(&self.asked));
        self.event(Event::Answer(request.ticket, answer));
    }

    pub(super) fn event(&mut self, event: Event) {
        let requests = self.state.update(event);
        self.open.extend(requests);
        self.draw();
    }

    /// What is on its way, without the journal's tail.
    pub(super) fn asked(&self) -> Vec<&Ask> {
        let asks = self.open.iter().map(|request| &request.ask);
        asks.filter(|ask| !matches!(ask, Ask::Activity(_) | Ask::Status)).collect()
    }

    pub(super) fn tick(&mut self) {
        self.event(Event::Tick(self.now()));
        self.settle();
    }

    /// Presses a key, without waiting for answers.
    pub(super) fn press(&mut self, code: KeyCode) {
        self.event(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }

    pub(super) fn control(&mut self, c: char) {
        self.event(Event::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)));
        self.settle();
    }

    /// Presses keys, each answered before the next: letters, or names in angle brackets.
    pub(super) fn keys(&mut self, keys: &str) {
        let mut rest = keys;
        while let Some(c) = rest.chars().next() {
            let named = [
                ("<enter>", KeyCode::Enter),
                ("<esc>", KeyCode::Esc),
                ("<tab>", KeyCode::Tab),
                ("<down>", KeyCode::Down),
                ("<up>", KeyCode::Up),
                ("<end>", KeyCode::End),
                ("<home>", KeyCode::Home),
                ("<f1>", KeyCode::F(1)),
                ("<back>", KeyCode::Backspace),
            ];
            let name = named.iter().find(|(name, _)| rest.starts_with(name));
            let (length, code) =
                name.map_or((c.len_utf8(), KeyCode::Char(c)), |(name, code)| (name.len(), *code));
            self.press(code);
            self.settle();
            rest = &rest[length..];
        }
    }

    /// Clicks what was drawn at the first cell of this text.
    pub(super) fn click(&mut self, text: &str) {
        let screen = self.screen();
        let (y, line) = screen.lines().enumerate().find(|(_, line)| line.contains(text)).unwrap();
        let before = &line[..line.find(text).unwrap()];
        // Each line starts with a quote.
        let x = u16::try_from(crate::text::width(before) - 1).unwrap();
        let spot = ratatui::layout::Position { x, y: u16::try_from(y).unwrap() };
        let targets = &self.state.drawn.targets;
        let target = targets.iter().rev().find(|(area, _)| area.contains(spot));
        let target: Target = target.unwrap_or_else(|| panic!("nothing to click at {text:?}")).1;
        self.event(Event::Click(target));
        self.settle();
    }

    fn draw(&mut self) -> TestBackend {
        let mut terminal = Terminal::new(TestBackend::new(self.size.0, self.size.1)).unwrap();
        let mut drawn = Drawn::default();
        terminal.draw(|frame| drawn = view::draw(frame, &self.state, self.theme)).unwrap();
        assert!(self.state.update(Event::Drawn(drawn)).is_empty());
        terminal.backend().clone()
    }

    /// The screen as text, line by line.
    pub(super) fn screen(&mut self) -> String {
        self.draw().to_string()
    }

    /// Every style on the screen has no colour.
    pub(super) fn is_colourless(&mut self) -> bool {
        use ratatui::style::Color;
        let backend = self.draw();
        let cells = backend.buffer().content();
        cells.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset)
    }
}
