//! The terminal while the interface has it, and as it was before: given back on every way out, a panic too.

use std::io::{self, Stdout, Write as _};
use std::panic::{self, PanicHookInfo};
use std::sync::Arc;
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
    is_raw_mode_enabled,
};

/// Bytes that terminals take for their clipboard.
const COPY_BYTES_MAX: usize = 74_000;

type Hook = dyn Fn(&PanicHookInfo<'_>) + Send + Sync + 'static;

/// The screen, taken until it is dropped.
pub struct TerminalScreen {
    pub(super) terminal: Terminal<CrosstermBackend<Stdout>>,
    before: Arc<Hook>,
}

impl std::fmt::Debug for TerminalScreen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Screen").finish_non_exhaustive()
    }
}

impl TerminalScreen {
    /// Takes the terminal of this process.
    pub fn take() -> io::Result<TerminalScreen> {
        let before: Arc<Hook> = panic::take_hook().into();
        let hook = Arc::clone(&before);
        let owner = thread::current().id();
        panic::set_hook(Box::new(move |info| {
            // A request that panics is answered with an error; words on the screen would only spoil the drawing.
            if thread::current().id() == owner {
                give_back();
                hook(info);
            }
        }));
        let taken = enable_raw_mode()
            .and_then(|()| {
                let mut out = io::stdout();
                execute!(out, EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste)
            })
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        match taken {
            Ok(terminal) => Ok(TerminalScreen { terminal, before }),
            Err(error) => {
                give_back();
                put_back(&before);
                Err(error)
            }
        }
    }

    /// True as long as the terminal takes keys one by one.
    pub fn is_taken(&self) -> bool {
        is_raw_mode_enabled().unwrap_or(false)
    }
}

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        give_back();
        // A hook cannot be changed while it runs.
        if !thread::panicking() {
            put_back(&self.before);
        }
    }
}

fn put_back(hook: &Arc<Hook>) {
    let hook = Arc::clone(hook);
    panic::set_hook(Box::new(move |info| hook(info)));
}

/// Puts the terminal back as it was.
fn give_back() {
    let mut out = io::stdout();
    // This runs on the way out and while a panic unwinds: there is no screen left on which a failure could be shown.
    let _ = execute!(out, DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, Show);
    // As above; a terminal that is gone has no mode to leave.
    let _ = disable_raw_mode();
}

/// Puts a text into the clipboard of the terminal, where it allows that. `false` if it is too long for one.
pub(super) fn copy(text: &str) -> io::Result<bool> {
    let coded = STANDARD.encode(text);
    if coded.len() > COPY_BYTES_MAX {
        return Ok(false);
    }
    let mut out = io::stdout();
    write!(out, "\x1b]52;c;{coded}\x07")?;
    out.flush()?;
    Ok(true)
}
