//! The edge: keys, mouse and signals come in, drawings go out, and questions go to the daemon.
//!
//! One thread owns state and screen. It waits for events and never for an answer: a thread reads the terminal, a few
//! more ask the daemon, and all of them only send events. A thread that cannot go on says so, so nothing hangs in
//! silence.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossterm::event::{self, Event as TerminalEvent, MouseButton, MouseEventKind};
use ratatui::layout::Position;
use tokio::signal::unix::{SignalKind, signal};

use crate::TuiSurroundings;
use crate::ask::{Answerer, Request, StatusView};
use crate::screen::{TerminalScreen, copy};
use crate::state::{Drawn, Event, State};
use crate::view;
use crate::view::theme::Theme;
use api::Operation;
use api::{Error, ErrorCode, Fault, Result};
use client::pool::ClientPool;

/// How often the journal is looked at, and ages are drawn anew.
const TICK: Duration = Duration::from_secs(1);
/// How long one look for keys takes at most: so long an editor waits for the terminal.
const READ_WAIT: Duration = Duration::from_millis(100);
/// Threads that ask the daemon.
const ASKERS: usize = 3;
/// Events taken in before the screen is drawn again.
const EVENTS_MAX: usize = 256;
/// Rows one notch of the wheel moves.
const WHEEL: isize = 3;

/// What comes in from outside.
enum Incoming {
    Terminal(TerminalEvent),
    State(Event),
    /// The terminal cannot be read any more.
    Lost(io::Error),
}

impl Answerer for ClientPool {
    fn ask<R: Operation + Clone>(&self, request: R) -> Result<R::Answer> {
        api::ask(self, request)
    }

    fn status(&self) -> Result<StatusView> {
        let value = ClientPool::status(self)?;
        serde_json::from_value(value).map_err(|error| Error::internal(error.to_string()))
    }
}

/// Runs the interface until somebody ends it.
pub(super) fn run(
    asked: &Arc<impl Answerer>,
    actor: &str,
    around: &TuiSurroundings<'_>,
    theme: Theme,
) -> Result<()> {
    let now = around.now;
    let (events, incoming) = channel();
    // Before the screen is taken: whoever ends us meanwhile must not leave it behind.
    let _signals_guard = watch_signals(&events)?;
    let (questions, open) = channel::<Request>();
    start_askers(asked, open, &events)?;
    let mut screen = TerminalScreen::take().map_err(|error| failed(&error))?;
    let pause = Arc::new(ReaderPause::default());
    read_terminal(events, Arc::clone(&pause))?;
    let (mut state, requests) = State::new(actor, now()?);
    send(&questions, requests);
    let mut ticked = Instant::now();
    loop {
        let mut drawn = Drawn::default();
        let drawing = screen.terminal.draw(|frame| drawn = view::draw(frame, &state, theme));
        drawing.map_err(|error| failed(&error))?;
        send(&questions, state.update(Event::Drawn(drawn)));
        let mut next = wait(&incoming, TICK.saturating_sub(ticked.elapsed()));
        for _ in 0..EVENTS_MAX {
            match next {
                Some(Incoming::Lost(error)) => return Err(failed(&error)),
                Some(Incoming::State(event)) => send(&questions, state.update(event)),
                Some(Incoming::Terminal(event)) => {
                    if let Some(event) = translated(event, &state.drawn) {
                        send(&questions, state.update(event));
                    }
                }
                None => break,
            }
            next = incoming.try_recv().ok();
        }
        if let Some(old) = state.editing.take() {
            // The editor has the terminal to itself until it ends: nobody reads its keys, nothing is drawn over it.
            let held = pause.hold();
            drop(screen);
            let words = (around.edit)(old.id);
            screen = TerminalScreen::take().map_err(|error| failed(&error))?;
            drop(held);
            send(&questions, state.update(Event::Edited(Box::new(old), words)));
        }
        if let Some(text) = state.copied.take()
            && !copy(&text).map_err(|error| failed(&error))?
        {
            state.notice = Some(crate::state::Notice {
                text: "too long for the clipboard of a terminal".to_owned(),
                is_error: true,
            });
        }
        if state.over {
            return Ok(());
        }
        if ticked.elapsed() >= TICK {
            ticked = Instant::now();
            send(&questions, state.update(Event::Tick(now()?)));
        }
    }
}

fn failed(error: &io::Error) -> Error {
    Error::new(ErrorCode::Io, Fault::Server, format!("the terminal: {error}"))
}

fn wait(incoming: &Receiver<Incoming>, wait: Duration) -> Option<Incoming> {
    match incoming.recv_timeout(wait) {
        Ok(event) => Some(event),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => Some(Incoming::State(Event::End)),
    }
}

fn send(questions: &Sender<Request>, requests: Vec<Request>) {
    for request in requests {
        // The threads that ask end when this sender is dropped and never before, so there is always a receiver.
        let _ = questions.send(request);
    }
}

/// A terminal's event as one of ours; `None` if it means nothing, or only that the screen is to be drawn again.
fn translated(event: TerminalEvent, drawn: &Drawn) -> Option<Event> {
    match event {
        TerminalEvent::Key(key) => Some(Event::Key(key)),
        TerminalEvent::Paste(text) => Some(Event::Paste(text)),
        TerminalEvent::Mouse(mouse) => match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => {
                let spot = Position { x: mouse.column, y: mouse.row };
                // What was drawn last lies on top.
                let hit = drawn.targets.iter().rev().find(|(area, _)| area.contains(spot));
                hit.map(|(_, target)| Event::Click(*target))
            }
            MouseEventKind::ScrollDown => Some(Event::Wheel(WHEEL)),
            MouseEventKind::ScrollUp => Some(Event::Wheel(-WHEEL)),
            _ => None,
        },
        TerminalEvent::Resize(..) | TerminalEvent::FocusGained | TerminalEvent::FocusLost => None,
    }
}

/// Keeps the reader away from the terminal while a program of somebody else has it.
#[derive(Debug, Default)]
struct ReaderPause {
    /// Held by whoever uses the terminal.
    terminal: Mutex<()>,
    /// Somebody wants it: the reader lets go and does not take it again before that.
    wanted: AtomicBool,
}

/// The terminal, held until it is dropped.
struct HeldTerminal<'a> {
    pause: &'a ReaderPause,
    _terminal: MutexGuard<'a, ()>,
}

impl Drop for HeldTerminal<'_> {
    fn drop(&mut self) {
        self.pause.wanted.store(false, Ordering::SeqCst);
    }
}

impl ReaderPause {
    fn hold(&self) -> HeldTerminal<'_> {
        self.wanted.store(true, Ordering::SeqCst);
        let terminal = self.terminal.lock().unwrap_or_else(PoisonError::into_inner);
        HeldTerminal { pause: self, _terminal: terminal }
    }

    /// The next event; none if nothing came in a while, or if somebody else has the terminal.
    fn next(&self) -> io::Result<Option<TerminalEvent>> {
        if self.wanted.load(Ordering::SeqCst) {
            thread::park_timeout(READ_WAIT);
            return Ok(None);
        }
        let reading = self.terminal.lock().unwrap_or_else(PoisonError::into_inner);
        let read = event::poll(READ_WAIT)
            .and_then(|has_come| if has_come { event::read().map(Some) } else { Ok(None) });
        drop(reading);
        read
    }
}

/// Reads keys and mouse, until nobody listens any more.
fn read_terminal(events: Sender<Incoming>, pause: Arc<ReaderPause>) -> Result<()> {
    spawn("terminal", move || {
        loop {
            let read = match pause.next() {
                Ok(None) => continue,
                Ok(Some(event)) => Ok(event),
                Err(error) => Err(error),
            };
            let (incoming, is_lost) = match read {
                Ok(event) => (Incoming::Terminal(event), false),
                Err(error) => (Incoming::Lost(error), true),
            };
            if events.send(incoming).is_err() || is_lost {
                return;
            }
        }
    })
}

fn start_askers(
    asked: &Arc<impl Answerer>,
    open: Receiver<Request>,
    events: &Sender<Incoming>,
) -> Result<()> {
    let open = Arc::new(Mutex::new(open));
    for _ in 0..ASKERS {
        let (asked, open, events) = (Arc::clone(asked), Arc::clone(&open), events.clone());
        spawn("asker", move || {
            loop {
                let next = open.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok(Request { ticket, ask }) = next else { return };
                let work = std::panic::AssertUnwindSafe(|| ask.run(&*asked));
                let answer = std::panic::catch_unwind(work)
                    .unwrap_or_else(|_| Err(Error::internal("a request failed unexpectedly")));
                let event = Event::Answer(ticket, Box::new(answer));
                if events.send(Incoming::State(event)).is_err() {
                    return;
                }
            }
        })?;
    }
    Ok(())
}

/// Whoever asks the process to end gets the terminal back. What is returned keeps the watch.
fn watch_signals(events: &Sender<Incoming>) -> Result<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("signals")
        .enable_all()
        .build()
        .map_err(|error| Error::new(ErrorCode::Io, Fault::Server, format!("a runtime: {error}")))?;
    let inside = runtime.enter();
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        let mut signals = signal(kind).map_err(|error| Error::internal(error.to_string()))?;
        let events = events.clone();
        runtime.spawn(async move {
            while signals.recv().await.is_some() {
                if events.send(Incoming::State(Event::End)).is_err() {
                    return;
                }
            }
        });
    }
    drop(inside);
    Ok(runtime)
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned.map(drop).map_err(|error| Error::new(ErrorCode::Io, Fault::Server, error.to_string()))
}
