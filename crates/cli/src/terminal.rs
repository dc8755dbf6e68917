//! What a person at a terminal gets of a long text: colours, and a pager when it is longer than the screen.
//!
//! What must stay true: a pipe, a file and `--json` get the very bytes of before, without colour or pager; stored text
//! has no control characters left when it comes here, so all that draws is ours; at most a screen of text waits.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write};
use std::process::{Child, Command, Stdio};

/// Lines of a screen whose height nobody knows.
const HEIGHT: usize = 24;
const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const CYAN: &str = "\x1b[36m";
const END: &str = "\x1b[0m";

/// How long texts are shown on this terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Show {
    pub(crate) height: usize,
    pub(crate) colours: bool,
    /// The pager with its arguments; none: texts are printed however long they are.
    pub(crate) pager: Vec<String>,
}

impl Show {
    /// As this process's terminal and variables say; none without a terminal.
    pub(crate) fn here() -> Option<Show> {
        let out = io::stdout();
        if !out.is_terminal() {
            return None;
        }
        let rows = rustix::termios::tcgetwinsize(&out).ok().map(|size| usize::from(size.ws_row));
        let variable = |name: &str| std::env::var(name).ok();
        Some(Show::of(rows.filter(|rows| *rows > 1), &variable))
    }

    fn of(rows: Option<usize>, variable: &dyn Fn(&str) -> Option<String>) -> Show {
        // By convention any value but an empty one switches colours off.
        let is_plain = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_dumb = variable("TERM").is_some_and(|value| value == "dumb");
        let pager = variable("CORTEX_PAGER").or_else(|| variable("PAGER"));
        let pager = pager.unwrap_or_else(|| "less".to_owned());
        let words: Vec<String> = pager.split_whitespace().map(str::to_owned).collect();
        let has_none = is_dumb || words.first().is_some_and(|word| word == "cat");
        Show {
            height: rows.unwrap_or(HEIGHT),
            colours: !is_plain && !is_dumb,
            pager: if has_none { Vec::new() } else { words },
        }
    }
}

/// Text on its way to a person. It waits until it is longer than the screen, and then goes to the pager; what is
/// shorter is printed at the end.
#[derive(Debug)]
pub(crate) struct TerminalText {
    show: Show,
    /// Whole lines that wait, and how many they are.
    waiting: Vec<u8>,
    lines: usize,
    /// The beginning of a line.
    rest: Vec<u8>,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Waits,
    Pager(Child),
    Screen,
}

impl TerminalText {
    pub(crate) fn new(show: Show) -> TerminalText {
        TerminalText { show, waiting: Vec::new(), lines: 0, rest: Vec::new(), place: Place::Waits }
    }

    fn take_line(&mut self, line: &[u8]) -> io::Result<()> {
        let text = String::from_utf8_lossy(line);
        let shown = if self.show.colours { painted(&text) } else { text };
        match &mut self.place {
            Place::Waits => {
                self.waiting.extend_from_slice(shown.as_bytes());
                self.lines += 1;
                if self.lines < self.show.height { Ok(()) } else { self.turn_over() }
            }
            Place::Pager(child) => into_pager(child, shown.as_bytes()),
            Place::Screen => io::stdout().write_all(shown.as_bytes()),
        }
    }

    /// The text is longer than the screen.
    fn turn_over(&mut self) -> io::Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        match started(&self.show.pager) {
            Some(mut child) => {
                let written = into_pager(&mut child, &waiting);
                self.place = Place::Pager(child);
                written
            }
            None => {
                self.place = Place::Screen;
                io::stdout().write_all(&waiting)
            }
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.rest);
        if !rest.is_empty() {
            self.take_line(&rest)?;
        }
        match &mut self.place {
            Place::Pager(child) => {
                // The pager sees the end, and the person leaves when it pleases.
                drop(child.stdin.take());
                child.wait().map(|_| ())
            }
            Place::Waits | Place::Screen => {
                io::stdout().write_all(&self.waiting)?;
                io::stdout().flush()
            }
        }
    }
}

impl Write for TerminalText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.rest);
                self.take_line(&line)?;
            }
        }
        Ok(bytes.len())
    }

    /// Nothing: whether there is a pager is known at the end.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for TerminalText {
    fn drop(&mut self) {
        // Whoever closed the terminal or the pager wants no more of it.
        let _ = self.finish();
    }
}

fn started(pager: &[String]) -> Option<Child> {
    let (program, arguments) = pager.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // As git has it: leave if it fits, pass colours on, and do not clear the screen.
        command.env("LESS", "FRX");
    }
    command.spawn().ok()
}

fn into_pager(child: &mut Child, bytes: &[u8]) -> io::Result<()> {
    match &mut child.stdin {
        Some(pipe) => pipe.write_all(bytes),
        None => Ok(()),
    }
}

/// A line with colours: headings bold, addresses of memories cyan, and of a row its number dim and its title bold.
fn painted(line: &str) -> Cow<'_, str> {
    let text = line.trim_end_matches('\n');
    let end = &line[text.len()..];
    if text.starts_with("# ") || text.starts_with("## ") {
        return format!("{BOLD}{text}{END}{end}").into();
    }
    if let Some((number, middle, title)) = row(text) {
        return format!("{DIM}{number}{END}{CYAN}{middle}{END}{BOLD}{title}{END}{end}").into();
    }
    let Some(at) = text.find("cortex://") else { return line.into() };
    let (before, address) = text.split_at(at);
    let length = address.find(char::is_whitespace).unwrap_or(address.len());
    let (address, after) = address.split_at(length);
    format!("{before}{CYAN}{address}{END}{after}{end}").into()
}

/// The parts of a row of `list`, `search` or `find`: its number, what stands between, and its title.
fn row(text: &str) -> Option<(&str, &str, &str)> {
    let number = text.len() - text.trim_start_matches([' ', '>']).len();
    let digits = text[number..].find(|c: char| !c.is_ascii_digit())?;
    let (head, rest) = text.split_at(number + digits);
    if digits == 0 || !rest.starts_with("  ") {
        return None;
    }
    let title = rest.rfind("  ")? + 2;
    let (middle, title) = rest.split_at(title);
    (!title.is_empty() && !middle.trim().is_empty()).then_some((head, middle, title))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    // W26
    #[test]
    fn variables_decide_about_colours_and_pager() {
        let of = |pairs: &'static [(&str, &str)]| {
            let find = |name: &str| {
                let pair = pairs.iter().find(|(known, _)| *known == name);
                pair.map(|(_, value)| (*value).to_owned())
            };
            Show::of(Some(50), &find)
        };
        let bare = of(&[]);
        assert_eq!((bare.height, bare.colours, bare.pager), (50, true, vec!["less".to_owned()]));
        assert!(!of(&[("NO_COLOR", "1")]).colours);
        assert!(of(&[("NO_COLOR", "")]).colours);
        assert!(!of(&[("TERM", "dumb")]).colours && of(&[("TERM", "dumb")]).pager.is_empty());
        assert_eq!(of(&[("PAGER", "more -d")]).pager, ["more", "-d"]);
        assert_eq!(of(&[("PAGER", "more"), ("CORTEX_PAGER", "less -S")]).pager, ["less", "-S"]);
        assert!(of(&[("PAGER", "cat")]).pager.is_empty() && of(&[("PAGER", "")]).pager.is_empty());
    }

    // W26
    #[test]
    fn colours_add_nothing_but_colours() {
        let lines = [
            "    51  Fact        0.061  simd-json parses our rows\n",
            "    59  2026-11-18  rule         ops            No secrets in dumps\n",
            ">     49  decision     Cache keys: two tenants\n",
            "## Pinned\n",
            "- cortex://default/Goal/5#1 — [active] Cut the import\n",
            "saved cortex://default/Fact/5#1",
            "3 of 54 memories\n",
            "        An ordinary line  with two spaces\n",
            "\n",
        ];
        for line in lines {
            let shown = painted(line).into_owned();
            let bare = [BOLD, DIM, CYAN, END]
                .iter()
                .fold(shown.clone(), |text, code| text.replace(code, ""));
            assert_eq!(bare, line);
        }
        assert_eq!(
            painted(lines[0]),
            format!(
                "{DIM}    51{END}{CYAN}  Fact        0.061  {END}{BOLD}simd-json parses our rows{END}\n"
            )
        );
        assert_eq!(painted(lines[6]), lines[6]);
        assert_eq!(painted(lines[7]), lines[7]);
    }
}
