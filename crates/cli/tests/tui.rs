//! Goal: the terminal interface works on a real terminal and gives it back as it was, on every way out.
//! Method: the real program on a pseudo terminal that is its controlling one; what it draws is read by a terminal
//! emulator. The child of a test makes the terminal its own before it becomes the program, because only it can.

#![allow(clippy::unwrap_used)]

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, ioctl_tiocsctty, kill_process, setsid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use tempfile::TempDir;
use vt100::MouseProtocolMode;

/// Says in the child what it is to become.
const ROLE: &str = "CORTEX_TEST_TERMINAL_ROLE";
/// Longer than anything takes, however busy the machine.
const PATIENCE: Duration = Duration::from_mins(1);

fn cortex(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cortex"));
    around(&mut command, home);
    command
}

fn around(command: &mut Command, home: &Path) {
    command
        .current_dir(home)
        .env("CORTEX_HOME", home)
        .env("HOME", home)
        .env("TERM", "xterm-256color")
        .env("CORTEX_DAEMON_IDLE_SECONDS", "2")
        .env_remove("CORTEX_ACTOR")
        .env_remove("NO_COLOR");
}

fn save(home: &Path, title: &str, content: &str) {
    let mut command = cortex(home);
    command.args(["save", title, content, "--kind", "decision"]).stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// A program on a terminal of its own, and an emulator that reads what it draws.
struct Session {
    child: Child,
    keyboard: File,
    /// The program's end, to look at its settings.
    line: File,
    before: Termios,
    drawn: Receiver<Vec<u8>>,
    emulator: vt100::Parser,
    bytes: Vec<u8>,
}

impl Session {
    fn start(home: &Path, role: &str, variables: &[(&str, &str)]) -> Session {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let end = openpt(flags).unwrap();
        grantpt(&end).unwrap();
        unlockpt(&end).unwrap();
        let name = ptsname(&end, Vec::new()).unwrap().into_string().unwrap();
        let line = OpenOptions::new().read(true).write(true).open(name).unwrap();
        let keyboard = File::from(end);
        resize(&keyboard, 24, 80);
        let before = tcgetattr(&line).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        around(&mut command, home);
        command
            .args(["--exact", "becomes_what_a_test_needs", "--nocapture"])
            .env(ROLE, role)
            .envs(variables.iter().copied())
            .stdin(line.try_clone().unwrap())
            .stdout(line.try_clone().unwrap())
            .stderr(line.try_clone().unwrap());
        let child = command.spawn().unwrap();
        let (send, drawn) = channel();
        let mut reader = keyboard.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // Ends with an error when nobody has the other end any more.
            while let Ok(count) = reader.read(&mut buffer) {
                if count == 0 || send.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let emulator = vt100::Parser::new(cells(24), cells(80), 0);
        Session { child, keyboard, line, before, drawn, emulator, bytes: Vec::new() }
    }

    fn screen(&self) -> String {
        self.emulator.screen().contents()
    }

    /// Reads what is drawn until it is so.
    fn until(&mut self, what: &str, is_so: impl Fn(&vt100::Screen) -> bool) {
        let limit = Instant::now() + PATIENCE;
        while !is_so(self.emulator.screen()) {
            match self.drawn.recv_timeout(limit.saturating_duration_since(Instant::now())) {
                Ok(bytes) => {
                    self.emulator.process(&bytes);
                    self.bytes.extend(bytes);
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("never saw {what}:\n{}", self.screen())
                }
            }
        }
    }

    fn until_shown(&mut self, text: &str) {
        self.until(&format!("{text:?}"), |screen| screen.contents().contains(text));
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Presses a key once, and waits until the program has given the screen back.
    fn press_to_leave(&mut self, key: &str) {
        self.press(key);
        self.until("the screen given back", |screen| !screen.alternate_screen());
    }

    fn resize(&mut self, rows: u16, columns: u16) {
        resize(&self.keyboard, rows, columns);
        self.emulator.set_size(cells(rows), cells(columns));
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end and checks that the terminal is as it was.
    fn end_and_check(mut self) -> (ExitStatus, String) {
        self.until("the first screen", |screen| {
            !screen.alternate_screen()
                && !screen.hide_cursor()
                && !screen.bracketed_paste()
                && screen.mouse_protocol_mode() == MouseProtocolMode::None
        });
        let status = self.child.wait().unwrap();
        while let Ok(bytes) = self.drawn.try_recv() {
            self.emulator.process(&bytes);
        }
        let after = tcgetattr(&self.line).unwrap();
        let modes = |t: &Termios| (t.input_modes, t.output_modes, t.control_modes, t.local_modes);
        assert_eq!(modes(&after), modes(&self.before));
        (status, self.screen())
    }
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

fn resize(end: &File, rows: u16, columns: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(end, size).unwrap();
}

/// No test of its own: the child that the others start. It takes the terminal and becomes the program.
#[test]
fn becomes_what_a_test_needs() {
    let Ok(role) = std::env::var(ROLE) else { return };
    setsid().unwrap();
    ioctl_tiocsctty(std::io::stdin()).unwrap();
    if role == "panics" {
        let screen = tui::TerminalScreen::take().unwrap();
        std::thread::spawn(|| panic!("another thread")).join().unwrap_err();
        assert!(screen.is_taken(), "a panic elsewhere leaves the screen alone");
        panic!("the interface broke");
    }
    let error = Command::new(env!("CARGO_BIN_EXE_cortex")).args(role.split(' ')).exec();
    panic!("{error}");
}

// agent-memory 133, 168
#[test]
fn one_searches_opens_a_hit_sees_what_others_save_and_leaves_the_terminal_as_it_was() {
    let home = TempDir::new().unwrap();
    save(home.path(), "Sign the cookies", "A key is rotated every week.");
    save(home.path(), "Ship on Tuesdays", "Never on a Friday.");
    let mut session = Session::start(home.path(), "tui", &[]);
    session.until_shown("Sign the cookies");
    session.until_shown("Health");
    let screen = session.emulator.screen();
    assert!(screen.alternate_screen() && screen.bracketed_paste());
    assert_ne!(screen.mouse_protocol_mode(), MouseProtocolMode::None);

    session.press("/rotated");
    session.until_shown("A key is rotated every week.");
    session.press("\r\r");
    session.until_shown("Memory 1");
    session.until_shown("History");
    session.press("v");
    session.until_shown("is in the journal");

    // The wheel and a click are understood, and somebody else's save appears by itself.
    session.press("6");
    session.until_shown("Activity, newest first");
    save(home.path(), "Saved meanwhile", "By another process.");
    session.until_shown("Saved meanwhile");
    session.press("\x1b[<0;4;1M\x1b[<0;4;1m");
    session.until_shown("Recent memories");

    session.resize(8, 40);
    session.until_shown("needs a terminal");
    session.resize(24, 80);
    session.until_shown("Recent memories");

    session.press_to_leave("q");
    let (status, _) = session.end_and_check();
    assert!(status.success(), "{status}");
}

// W25: a key that comes together with a resize was kept back until the next one.
#[test]
fn a_key_that_comes_with_a_resize_counts_at_once() {
    let home = TempDir::new().unwrap();
    let mut session = Session::start(home.path(), "tui", &[]);
    session.until_shown("Recent memories");
    for round in 0..40 {
        let (rows, key, seen) = if round % 2 == 0 {
            (30, "6", "Activity, newest first")
        } else {
            (24, "1", "Recent memories")
        };
        session.resize(rows, 80);
        session.press(key);
        session.until_shown(seen);
    }
    session.press_to_leave("q");
    let (status, _) = session.end_and_check();
    assert!(status.success(), "{status}");
}

#[test]
fn signals_and_ctrl_c_give_the_terminal_back() {
    let home = TempDir::new().unwrap();
    for end in [Some(Signal::TERM), Some(Signal::HUP), Some(Signal::INT), None] {
        let mut session = Session::start(home.path(), "tui", &[]);
        session.until_shown("No memories yet");
        match end {
            Some(signal) => session.signal(signal),
            None => session.press("\x03"),
        }
        let (status, _) = session.end_and_check();
        assert!(status.success(), "{end:?}: {status}");
    }
}

#[test]
fn a_panic_gives_the_terminal_back_and_can_be_read() {
    let home = TempDir::new().unwrap();
    let mut session = Session::start(home.path(), "panics", &[]);
    session.until("the panic", |screen| screen.contents().contains("the interface broke"));
    let (status, screen) = session.end_and_check();
    assert!(!status.success());
    assert!(!screen.contains("another thread"), "{screen}");
}

// W25
#[test]
fn a_memory_is_edited_in_the_editor_and_taken_back() {
    let home = TempDir::new().unwrap();
    save(home.path(), "Ship on Tuesdays", "Never on a Friday.");
    let editor = home.path().join("editor.sh");
    let script = "#!/bin/sh\nprintf 'Ship on Mondays\\n\\nNever on a **Sunday**.\\n' > \"$1\"\n";
    std::fs::write(&editor, script).unwrap();
    let command = format!("sh {}", editor.display());
    let mut session =
        Session::start(home.path(), "tui", &[("EDITOR", &command), ("VISUAL", &command)]);
    session.until_shown("Ship on Tuesdays");
    session.press("\r");
    session.until_shown("Never on a Friday.");
    session.press("e");
    session.until_shown("edited 1; u takes it back");
    session.until_shown("Never on a Sunday.");
    session.press("u");
    session.until_shown("Never on a Friday.");
    // An editor that fails changes nothing, and says so.
    std::fs::write(&editor, "#!/bin/sh\nexit 3\n").unwrap();
    session.press("e");
    session.until_shown("ended with exit status: 3");
    session.press("q");
    session.until_shown("Recent memories");
    session.press_to_leave("q");
    let (status, _) = session.end_and_check();
    assert!(status.success(), "{status}");
}

// W26
#[test]
fn at_a_terminal_long_answers_have_colours_and_a_pager() {
    let home = TempDir::new().unwrap();
    for number in 0..30 {
        save(home.path(), &format!("Number {number}"), "Text.");
    }
    // A pager that tells on itself: what it was given, and that it was asked.
    let pager = home.path().join("pager.sh");
    std::fs::write(&pager, "#!/bin/sh\nhead -3\necho that was the pager\n").unwrap();
    let command = format!("sh {}", pager.display());
    let mut session = Session::start(home.path(), "list --limit 30", &[("PAGER", &command)]);
    session.until_shown("that was the pager");
    assert!(String::from_utf8_lossy(&session.bytes).contains("\u{1b}[1mNumber 29"));
    session.end_and_check();
    // What fits is printed, without a pager; NO_COLOR has no colours.
    let variables = [("PAGER", command.as_str()), ("NO_COLOR", "1")];
    let mut session = Session::start(home.path(), "list --limit 3", &variables);
    session.until_shown("3 of 30 memories");
    let drawn = String::from_utf8_lossy(&session.bytes).into_owned();
    assert!(!drawn.contains('\u{1b}') && !drawn.contains("the pager"), "{drawn:?}");
    session.end_and_check();
    // A pipe gets neither.
    let output = cortex(home.path()).arg("list").env("PAGER", &command).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 21, "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains("the pager"), "{text:?}");
}

#[test]
fn no_color_means_no_colour() {
    let home = TempDir::new().unwrap();
    save(home.path(), "Plain", "Text.");
    let colours = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.split('\x1b')
            .filter(|part| part.starts_with("[38;") || part.starts_with("[48;"))
            .count()
    };
    let mut session = Session::start(home.path(), "tui", &[]);
    session.until_shown("Plain");
    assert!(colours(&session.bytes) > 0);
    session.press("q");
    session.end_and_check();
    let mut session = Session::start(home.path(), "tui", &[("NO_COLOR", "1")]);
    session.until_shown("Plain");
    assert_eq!(colours(&session.bytes), 0);
    session.press("q");
    session.end_and_check();
}

#[test]
fn without_a_terminal_it_says_so() {
    let home = TempDir::new().unwrap();
    let output = cortex(home.path()).arg("tui").stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("is no terminal") && said.contains("cortex search"), "{said}");
    assert!(output.stdout.is_empty());
    assert!(!home.path().join("run").exists(), "nothing was started for nothing");
}
