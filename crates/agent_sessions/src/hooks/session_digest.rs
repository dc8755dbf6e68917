//! What a session came to, as far as the agent's own record tells it without a model: what was asked, which files and
//! commands, how they ended, what was decided, where it stopped.
//!
//! What must stay true: pure and bounded; the same items give the same digest however they arrive; a session without
//! work gives none.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use transcripts::session::{ItemBody, PastItem};

use service::asked_before::{ASKED, DECIDED, ENDED_WITH, NEXT_STEPS, THEN};

const PROMPTS_MAX: usize = 6;
const FILES_MAX: usize = 20;
const COMMANDS_MAX: usize = 200;
const COMMANDS_TOLD: usize = 10;
const OPEN_CALLS_MAX: usize = 64;
const STEPS_MAX: usize = 6;
const FIXES_MAX: usize = 20;
const DECIDED_MAX: usize = 5;
const PROMPT_CHARS: usize = 240;
const LINE_CHARS: usize = 160;
const ANSWER_CHARS: usize = 600;
const NEXT_CHARS: usize = 700;
/// Characters of a heading that says what comes next.
const HEADING_CHARS: usize = 30;
/// Characters of a command in the title of what mended it.
const TITLE_COMMAND_CHARS: usize = 80;
const TAKES: &str = "a String takes any text";
/// Before the files and the commands of a session.
const FILES: &str = "Files:";
const COMMANDS: &str = "Commands:";

/// What is known of a session so far. It is kept between two readings of the record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SessionDigest {
    pub(super) prompts: Vec<String>,
    pub(super) prompt_count: u64,
    /// The prompt on which a file was changed first: it says what the session was for, where the first only greets.
    pub(super) purpose: String,
    pub(super) answers: u64,
    /// Files that were edited, in the order in which they were first.
    pub(super) files: Vec<String>,
    /// Commands in the order in which they were first, and how each ended last.
    pub(super) commands: Vec<CommandEnd>,
    /// Calls whose output is not there yet: the id of the call and the command.
    open: Vec<(String, String)>,
    /// Commands that failed, and what was done since.
    failed: BTreeMap<String, FailedCommand>,
    pub(super) fixes: Vec<CommandFix>,
    pub(super) decided: Vec<String>,
    pub(super) last_answer: String,
    pub(super) next: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CommandEnd {
    pub(super) line: String,
    /// `None`: nobody knows.
    pub(super) failed: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct FailedCommand {
    error: String,
    steps: Vec<String>,
}

/// A command that failed and later succeeded, with what was done in between.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CommandFix {
    pub(super) command: String,
    pub(super) error: String,
    pub(super) steps: Vec<String>,
}

impl SessionDigest {
    pub(super) fn take(&mut self, item: &PastItem) {
        match &item.body {
            ItemBody::Prompt { text, .. } => {
                self.prompt_count += 1;
                let asked = short(text, PROMPT_CHARS);
                // The first says what it was about, the last where it stands.
                if self.prompts.len() == PROMPTS_MAX {
                    self.prompts.remove(1);
                }
                self.prompts.push(asked);
            }
            ItemBody::Answer { text, .. } => self.answer(text),
            ItemBody::Edit { path, .. } => {
                if self.files.is_empty()
                    && let Some(asked) = self.prompts.last()
                {
                    self.purpose.clone_from(asked);
                }
                if !self.files.contains(path) && self.files.len() < FILES_MAX {
                    self.files.push(path.clone());
                }
                self.step(&format!("edit {path}"), None);
            }
            ItemBody::Command { line } => {
                let line = short(line, LINE_CHARS);
                self.step(&format!("`{line}`"), Some(&line));
                if let Some(call) = &item.native {
                    if self.open.len() == OPEN_CALLS_MAX {
                        self.open.remove(0);
                    }
                    self.open.push((call.clone(), line.clone()));
                }
                if !self.commands.iter().any(|known| known.line == line)
                    && self.commands.len() < COMMANDS_MAX
                {
                    self.commands.push(CommandEnd { line, failed: None });
                }
            }
            ItemBody::Output { head, tail, error, exit, .. } => {
                let Some(at) = item
                    .native
                    .as_ref()
                    .and_then(|call| self.open.iter().position(|(open, _)| open == call))
                else {
                    return;
                };
                let (_, line) = self.open.remove(at);
                let is_failed = *error || exit.is_some_and(|exit| exit != 0);
                self.ended(&line, is_failed, &format!("{head}\n{tail}"));
            }
            ItemBody::Read { .. }
            | ItemBody::Summary { .. }
            | ItemBody::Note { .. }
            | ItemBody::Tool { .. } => {}
        }
    }

    fn answer(&mut self, text: &str) {
        self.answers += 1;
        let (said, next) = about_and_next(text);
        self.last_answer = short(&said, ANSWER_CHARS);
        if !next.is_empty() {
            self.next = next;
        }
        for sentence in sentences(text) {
            if is_decision(sentence) {
                let sentence = short(sentence, LINE_CHARS);
                if !self.decided.contains(&sentence) {
                    if self.decided.len() == DECIDED_MAX {
                        self.decided.remove(0);
                    }
                    self.decided.push(sentence);
                }
            }
        }
    }

    /// Something was done after a command had failed.
    fn step(&mut self, what: &str, line: Option<&str>) {
        for (command, failed) in &mut self.failed {
            let is_again = line == Some(command.as_str());
            if !is_again
                && failed.steps.len() < STEPS_MAX
                && !failed.steps.iter().any(|s| s == what)
            {
                failed.steps.push(what.to_owned());
            }
        }
    }

    fn ended(&mut self, line: &str, is_failed: bool, output: &str) {
        if let Some(command) = self.commands.iter_mut().find(|known| known.line == line) {
            command.failed = Some(is_failed);
        }
        if is_failed {
            let error = error_line(output);
            let failed = self.failed.entry(line.to_owned()).or_default();
            failed.error = error;
            while self.failed.len() > COMMANDS_MAX {
                self.failed.pop_first();
            }
        } else if let Some(failed) = self.failed.remove(line) {
            // Without a step between, it may have been the weather. An edit is what people do to mend something.
            let is_mended = failed.steps.iter().any(|step| step.starts_with("edit "));
            let is_known = self.fixes.iter().any(|fix| fix.command == line);
            if is_mended && !failed.error.is_empty() && !is_known && self.fixes.len() < FIXES_MAX {
                let (command, error, steps) = (line.to_owned(), failed.error, failed.steps);
                self.fixes.push(CommandFix { command, error, steps });
            }
        }
    }

    /// Whether there is anything to keep: work was done, or something was talked over.
    pub(super) fn says_something(&self) -> bool {
        let worked = !self.files.is_empty() || !self.commands.is_empty();
        self.answers > 0 && (worked || self.prompt_count >= 2)
    }

    pub(super) fn title(&self) -> String {
        let first = self.prompts.first().map_or("", String::as_str);
        let asked = if self.purpose.is_empty() { first } else { &self.purpose };
        format!("Session: {}", short(asked, 80))
    }

    /// The memory's text. Paths below `folder` are written as seen from there.
    pub(super) fn content(&self, folder: Option<&str>) -> String {
        let mut text = String::new();
        for (n, prompt) in self.prompts.iter().enumerate() {
            let what = if n == 0 { ASKED } else { THEN };
            writeln!(text, "{what} {prompt}").expect(TAKES);
        }
        if !self.files.is_empty() {
            writeln!(text, "{FILES} {}", self.files.join(", ")).expect(TAKES);
        }
        let told = self.commands.iter().rev().take(COMMANDS_TOLD).rev();
        let commands: Vec<String> = told
            .map(|command| match command.failed {
                Some(true) => format!("`{}` failed", command.line),
                Some(false) => format!("`{}` ok", command.line),
                None => format!("`{}`", command.line),
            })
            .collect();
        if !commands.is_empty() {
            writeln!(text, "{COMMANDS} {}", commands.join("; ")).expect(TAKES);
        }
        // What the last answer says as well is not said twice.
        for sentence in self.decided.iter().filter(|said| !self.last_answer.contains(said.as_str()))
        {
            writeln!(text, "{DECIDED} {sentence}").expect(TAKES);
        }
        if !self.last_answer.is_empty() {
            writeln!(text, "{ENDED_WITH} {}", self.last_answer).expect(TAKES);
        }
        if !self.next.is_empty() {
            writeln!(text, "{NEXT_STEPS} {}", self.next).expect(TAKES);
        }
        below(folder, text.trim_end())
    }
}

/// Whether a text as [`SessionDigest::content`] has it tells of work, or of what is to be done.
pub(super) fn tells_of_work(content: &str) -> bool {
    let labels = [FILES, COMMANDS, DECIDED, NEXT_STEPS];
    content.lines().any(|line| labels.iter().any(|label| line.starts_with(label)))
}

/// A text with the paths in it that begin with a folder as seen from there.
pub(super) fn below(folder: Option<&str>, text: &str) -> String {
    match folder.map(|folder| folder.trim_end_matches('/')).filter(|folder| folder.len() > 1) {
        Some(folder) => text.replace(&format!("{folder}/"), ""),
        None => text.to_owned(),
    }
}

impl CommandFix {
    pub(super) fn title(&self) -> String {
        format!("Fixed: `{}` failed", short(&self.command, TITLE_COMMAND_CHARS))
    }

    pub(super) fn content(&self, folder: Option<&str>) -> String {
        let (error, steps) = (&self.error, self.steps.join("; "));
        let whole = format!("Error: {error}\nIt succeeded after: {steps}");
        let is_whole = self.command.chars().count() <= TITLE_COMMAND_CHARS;
        let named = if is_whole { String::new() } else { format!("\nCommand: `{}`", self.command) };
        below(folder, &format!("{whole}{named}"))
    }
}

/// What a session was about, and its next steps, of a text as [`SessionDigest::content`] or an agent's summary has it.
pub(super) fn about_and_next(content: &str) -> (String, String) {
    let content = &with_headings_on_lines(content);
    let next = next_steps(content);
    let mut about = String::new();
    let mut skips = false;
    for line in content.lines() {
        let bare = line.trim().trim_start_matches(['#', '*', '-', ' ']).to_lowercase();
        if is_next_heading(&bare) {
            skips = true;
            continue;
        }
        let is_heading = line.starts_with('#') || line.trim_start().starts_with("**");
        let is_labelled = ["asked:", "then:", "files:", "commands:", "decided:", "ended with:"]
            .iter()
            .any(|label| bare.starts_with(label));
        skips &= !is_heading && !is_labelled;
        if !skips {
            let is_title = line.starts_with('#') || is_bold(line);
            on_one_line(&mut about, line.trim(), is_title);
        }
    }
    (about.split_whitespace().collect::<Vec<_>>().join(" "), next)
}

/// A text in which "Next steps:" within a line begins one.
fn with_headings_on_lines(text: &str) -> String {
    let mut found = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut from = 0;
        for (at, _) in line.match_indices(". ").chain(line.match_indices("! ")) {
            let next = at + ". ".len();
            let is_heading = next > from
                && line[next..].split_once([':', '：']).is_some_and(|(head, _)| {
                    head.chars().count() <= HEADING_CHARS && is_next_heading(&head.to_lowercase())
                });
            if is_heading {
                found.push_str(&line[from..next]);
                found.push('\n');
                from = next;
            }
        }
        found.push_str(&line[from..]);
    }
    found
}

fn is_bold(line: &str) -> bool {
    let line = line.trim();
    line.len() > 4 && line.starts_with("**") && line.ends_with("**")
}

/// Adds a line of Markdown to a text of one line: a heading with a colon, points of a list with semicolons between.
fn on_one_line(text: &mut String, line: &str, is_title: bool) {
    let point = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
    let bare =
        if is_title { line.trim_matches(['#', '*', ' ', ':']) } else { point.unwrap_or(line) };
    if bare.is_empty() {
        return;
    }
    let between = match text.chars().next_back() {
        None => "",
        Some('.' | '!' | '?' | ':' | ';' | '。' | '！' | '？') => " ",
        Some(_) if point.is_some() && !is_title => "; ",
        Some(_) => ". ",
    };
    text.push_str(between);
    text.push_str(bare);
    if is_title {
        text.push(':');
    }
}

/// The part of a text under "Next steps", "TODO", "Remaining" and the like, on one line.
fn next_steps(text: &str) -> String {
    let mut found: Vec<String> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let bare = line.trim().trim_start_matches(['#', '*', '-', ' ']);
        let lower = bare.to_lowercase();
        if is_next_heading(&lower) {
            inside = true;
            found.clear();
            let rest = bare.split_once(':').map_or("", |(_, rest)| rest);
            let rest = rest.trim_matches(['*', ' ']);
            if !rest.is_empty() {
                found.push(rest.to_owned());
            }
            continue;
        }
        let is_heading =
            line.starts_with('#') || (line.starts_with("**") && line.trim_end().ends_with("**"));
        if inside && is_heading {
            inside = false;
        }
        if inside && !line.trim().is_empty() {
            found.push(line.trim().trim_start_matches(['-', '*', ' ']).to_owned());
        }
    }
    short(&found.join("; "), NEXT_CHARS)
}

fn is_next_heading(lower: &str) -> bool {
    const HEADINGS: [&str; 11] = [
        "next steps",
        "next step",
        "todo",
        "to do",
        "remaining",
        "still open",
        "nächste schritte",
        "próximos pasos",
        "siguientes pasos",
        "prochaines étapes",
        "下一步",
    ];
    HEADINGS.iter().any(|heading| {
        lower.strip_prefix(heading).is_some_and(|rest| {
            let rest = rest.trim_start_matches(['*', ' ']);
            rest.is_empty() || rest.starts_with([':', '：', '('])
        })
    })
}

fn is_decision(sentence: &str) -> bool {
    const WORDS: [&str; 12] = [
        "we decided",
        "i decided",
        "decided to",
        "decision:",
        "i chose ",
        "we chose ",
        "went with ",
        "going with ",
        "we agreed",
        "wir haben entschieden",
        "decidimos",
        "nous avons décidé",
    ];
    let lower = sentence.to_lowercase();
    WORDS.iter().any(|word| lower.contains(word)) && !sentence.trim_end().ends_with('?')
}

/// The line of an output that says what went wrong.
fn error_line(output: &str) -> String {
    let lines = || output.lines().map(str::trim).filter(|line| !line.is_empty());
    let tells = |line: &&str| {
        let lower = line.to_lowercase();
        ["error", "failed", "fatal", "panicked", "exception", "cannot", "not found", "denied"]
            .iter()
            .any(|word| lower.contains(word))
    };
    let line = lines().find(tells).or_else(|| lines().next_back()).unwrap_or_default();
    short(line, LINE_CHARS)
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(['\n', '.', '!', '?', '。', '！', '？'])
        .map(|part| part.trim().trim_start_matches(['-', '*', '#', ' ']))
        .filter(|part| !part.is_empty())
}

/// At most `max` characters on one line.
fn short(text: &str, max: usize) -> String {
    service::wording::shortened(text, max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(native: &str, body: ItemBody) -> PastItem {
        PastItem { turn: 1, at: 0, about: false, native: Some(native.to_owned()), body }
    }

    fn output(native: &str, text: &str, exit: i32) -> PastItem {
        item(
            native,
            ItemBody::Output {
                head: text.to_owned(),
                tail: String::new(),
                error: exit != 0,
                bytes: 0,
                exit: Some(exit),
            },
        )
    }

    fn command(native: &str, line: &str) -> PastItem {
        item(native, ItemBody::Command { line: line.to_owned() })
    }

    fn said(body: fn(String, u64) -> ItemBody, text: &str) -> PastItem {
        item("x", body(text.to_owned(), 0))
    }

    fn prompt(text: &str) -> PastItem {
        said(|text, bytes| ItemBody::Prompt { text, bytes }, text)
    }

    fn answer(text: &str) -> PastItem {
        said(|text, bytes| ItemBody::Answer { text, bytes }, text)
    }

    fn edit(path: &str) -> PastItem {
        item(
            "e",
            ItemBody::Edit { path: path.to_owned(), removed: String::new(), added: String::new() },
        )
    }

    // S12
    #[test]
    fn a_session_becomes_one_text_with_files_commands_outcomes_and_next_steps() {
        let mut digest = SessionDigest::default();
        for item in [
            prompt("Make the login survive a restart"),
            command("1", "cargo test -p auth"),
            output("1", "running 3 tests\nerror: session_survives failed", 101),
            edit("/src/web/src/session.rs"),
            command("2", "cargo test -p auth"),
            output("2", "ok. 3 passed", 0),
            answer(
                "We decided to keep sessions in redb.\n\n## Next steps\n- add expiry\n- document it",
            ),
        ] {
            digest.take(&item);
        }
        assert!(digest.says_something());
        assert_eq!(
            digest.content(Some("/src/web")),
            "Asked: Make the login survive a restart\nFiles: src/session.rs\nCommands: `cargo test -p auth` ok\n\
             Ended with: We decided to keep sessions in redb.\nNext steps: add expiry; document it"
        );
        assert_eq!(digest.fixes.len(), 1);
        assert_eq!(
            digest.fixes[0].content(Some("/src/web/")),
            "Error: error: session_survives failed\nIt succeeded after: edit src/session.rs"
        );
        assert_eq!(digest.title(), "Session: Make the login survive a restart");
        let (about, next) = about_and_next(&digest.content(None));
        assert_eq!(next, "add expiry; document it");
        assert!(about.starts_with("Asked: Make the login"), "{about}");
        assert!(!about.contains("Next steps: add"), "{about}");
    }

    #[test]
    fn a_session_without_work_says_nothing_and_a_flake_is_no_fix() {
        let mut digest = SessionDigest::default();
        digest.take(&prompt("hello"));
        digest.take(&answer("Hi!"));
        assert!(!digest.says_something());
        for item in [
            command("1", "make"),
            output("1", "network error", 2),
            command("2", "make"),
            output("2", "done", 0),
        ] {
            digest.take(&item);
        }
        assert!(digest.says_something());
        assert!(digest.fixes.is_empty());
    }

    #[test]
    fn a_session_is_named_after_what_its_work_was_for() {
        let mut digest = SessionDigest::default();
        for item in
            [prompt("Where did we stop?"), answer("At the rates."), prompt("Then do the rates")]
        {
            digest.take(&item);
        }
        assert_eq!(digest.title(), "Session: Where did we stop?");
        digest.take(&edit("src/rates.rs"));
        digest.take(&prompt("thanks"));
        digest.take(&edit("src/main.rs"));
        assert_eq!(digest.title(), "Session: Then do the rates");
    }

    #[test]
    fn a_summary_in_markdown_is_one_readable_line() {
        let summary = "## Goal\nSet up the shop.\n## Accomplished\n- a skeleton\n- money in cents\n\
                       ## Next Steps\n- rates\n- checkout\n## Relevant Files\n- src/main.rs";
        let (about, next) = about_and_next(summary);
        assert_eq!(
            about,
            "Goal: Set up the shop. Accomplished: a skeleton; money in cents. Relevant Files: src/main.rs"
        );
        assert_eq!(next, "rates; checkout");
        let (about, next) =
            about_and_next("Done: three servers. Nächste Schritte: Caddy ausrollen.");
        assert_eq!((about.as_str(), next.as_str()), ("Done: three servers.", "Caddy ausrollen."));
    }

    #[test]
    fn everything_is_bounded() {
        let mut digest = SessionDigest::default();
        for n in 0..1_000 {
            digest.take(&prompt(&format!("prompt {n} {}", "word ".repeat(200))));
            digest.take(&edit(&format!("file{n}.rs")));
            digest.take(&command(&n.to_string(), &format!("make target{n}")));
            digest.take(&answer(&format!("We decided to use variant {n}.")));
        }
        let content = digest.content(None);
        assert!(content.len() < 12_000, "{}", content.len());
        assert_eq!(digest.prompts.len(), PROMPTS_MAX);
        assert!(digest.prompts[0].starts_with("prompt 0 "));
        assert!(digest.prompts[PROMPTS_MAX - 1].starts_with("prompt 999 "));
        assert_eq!(digest.prompt_count, 1_000);
    }
}
