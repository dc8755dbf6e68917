//! What an agent should know when it starts, line by line as far as the budget goes.
//!
//! What must stay true: a rule that no person stated or confirmed never stands under [`RULES`]; rules take at most
//! their share, so that they cannot push out everything else, and what of them does not fit is said where they stand.

use std::fmt::Write as _;

use super::super::quotation::mark;
use super::super::tokens;
use super::super::untrusted::line;
use super::excerpt::{beginning, beyond_title};
use super::when;
use crate::context::ContextAnswer;
use crate::memory::Brief;
use crate::prompt::PromptView;
use crate::session::SessionView;

/// Above what binds.
pub const RULES: &str = "## Rules";
/// Above what would bind if a person said so.
pub const PROPOSED: &str = "## Proposed rules (not confirmed by a person)";
/// Percent of the budget that rules may take, those that are proposed included.
pub const RULES_SHARE_PERCENT: usize = 40;
/// What is said of lines that did not fit, at its longest: room is set aside for it.
const LEFT_OUT_MAX: &str =
    "(1000000 more did not fit; search for what you need, or ask for more room)";
/// Characters of a session's summary and of a prompt.
const SUMMARY_CHARS: usize = 200;
const PROMPT_CHARS: usize = 120;
/// Characters of what a memory says, the most that fits first.
const PREVIEW_CHARS: [usize; 3] = [200, 120, 60];

/// How much a context may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextRoom {
    Bytes(usize),
    /// As a model reads it inside a structured answer, where a line break is two signs.
    Tokens(usize),
}

impl ContextRoom {
    fn size(self) -> usize {
        match self {
            ContextRoom::Bytes(size) | ContextRoom::Tokens(size) => size,
        }
    }

    /// What a text with its line break takes of it.
    fn cost(self, text: &str) -> usize {
        match self {
            ContextRoom::Bytes(_) => text.len() + 1,
            ContextRoom::Tokens(_) => {
                let quoted = serde_json::to_string(&format!("{text}\n")).unwrap_or_default();
                tokens::estimate(&quoted)
            }
        }
    }
}

/// The text, and how many lines did not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextText {
    pub text: String,
    pub left_out: usize,
}

/// Writes what an answer holds within its room. `left_out` lines did not fit before; `footer` comes last. Where not all
/// fits, less is said of each memory before one is left out.
pub fn context(
    answer: &ContextAnswer,
    room: ContextRoom,
    left_out: usize,
    footer: &str,
) -> ContextText {
    let mut shortest = ContextText { text: String::new(), left_out };
    for chars in PREVIEW_CHARS {
        shortest = written(answer, room, left_out, (footer, chars));
        if shortest.left_out == left_out {
            break;
        }
    }
    shortest
}

fn written(
    answer: &ContextAnswer,
    room: ContextRoom,
    left_out: usize,
    (footer, chars): (&str, usize),
) -> ContextText {
    if answer.sessions.is_empty()
        && answer.prompts.is_empty()
        && answer.pinned.is_empty()
        && answer.memories.is_empty()
    {
        return ContextText { text: "No previous session memories found.\n".to_owned(), left_out };
    }
    let rule = |brief: &&Brief| brief.memory_type == "Constraint" && !brief.proposed;
    let proposed = |brief: &&Brief| brief.proposed;
    let other = |brief: &&Brief| !rule(brief) && !proposed(brief);
    let all = || answer.pinned.iter().chain(&answer.memories);
    let here = answer.project.as_str();
    let size = room.size().saturating_sub(room.cost(footer) + room.cost(LEFT_OUT_MAX));
    let mut page = Page { text: String::new(), used: 0, left_out, room, here, chars };
    let share = size * RULES_SHARE_PERCENT / 100;
    let missing = page.rules(RULES, all().filter(rule).collect(), share)
        + page.rules(PROPOSED, all().filter(proposed).collect(), share);
    if missing > 0 {
        page.left_out += missing;
        let them = if missing == 1 { "rule" } else { "rules" };
        let note = format!(
            "({missing} more {them} did not fit: a search with type \"rule\", or `cortex find --type constraint`, \
             lists them)\n"
        );
        // Where not even this fits, the last line counts them among the others.
        if page.used + room.cost(&note) <= size {
            page.push(&note);
        }
    }
    let memory = |brief| memory(brief, here, chars);
    page.section("## Pinned", answer.pinned.iter().filter(other).map(memory), size);
    // What is kept of a session says more of it than its name does.
    let is_told = |session: &&SessionView| {
        let is_of = |brief: &Brief| brief.kind == "session" && brief.session_id == session.id;
        session.summary.is_none() && answer.memories.iter().any(is_of)
    };
    let sessions =
        answer.sessions.iter().filter(|session| says_something(session) && !is_told(session));
    page.section("## Recent Sessions", sessions.map(|it| session(it, here)), size);
    page.section("## Recent Observations", answer.memories.iter().filter(other).map(memory), size);
    page.section("## Recent Prompts", answer.prompts.iter().map(prompt), size);
    let Page { mut text, left_out, .. } = page;
    if left_out > 0 {
        writeln!(
            text,
            "({left_out} more did not fit; search for what you need, or ask for more room)\n"
        )
        .expect("a String takes any text");
    }
    text.push_str(footer);
    ContextText { text, left_out }
}

struct Page<'a> {
    text: String,
    used: usize,
    left_out: usize,
    room: ContextRoom,
    /// The project that it is about: what belongs to it need not say so.
    here: &'a str,
    /// Characters of what a memory says.
    chars: usize,
}

impl Page<'_> {
    fn push(&mut self, line: &str) {
        self.used += self.room.cost(line);
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Writes the lines that fit below `size` under a heading, and counts the others.
    fn section(&mut self, heading: &str, lines: impl Iterator<Item = String>, size: usize) {
        let mut begun = false;
        for line in lines {
            let start = if begun { 0 } else { self.room.cost(heading) };
            if self.used + start + self.room.cost(&line) + self.room.cost("") > size {
                self.left_out += 1;
                continue;
            }
            if !begun {
                self.push(heading);
                begun = true;
            }
            self.push(&line);
        }
        if begun {
            self.push("");
        }
    }

    /// The same for rules, in full or, where they do not fit so, by their titles. Returns how many did not fit.
    fn rules(&mut self, heading: &str, rules: Vec<&Brief>, share: usize) -> usize {
        let (here, chars) = (self.here, self.chars);
        let cost = |brief: &&Brief| self.room.cost(&memory(brief, here, chars));
        let whole = self.room.cost(heading) + rules.iter().map(cost).sum::<usize>();
        let fits = self.used + whole + self.room.cost("") <= share;
        let shown =
            move |brief| if fits { memory(brief, here, chars) } else { titled(brief, here) };
        let before = std::mem::take(&mut self.left_out);
        self.section(heading, rules.into_iter().map(shown), share);
        std::mem::replace(&mut self.left_out, before)
    }
}

/// A memory by its title alone.
fn titled(brief: &Brief, here: &str) -> String {
    called(brief, &brief.title, here)
}

fn called(brief: &Brief, title: &str, here: &str) -> String {
    let project = if brief.project.is_empty() || brief.project == here {
        String::new()
    } else {
        format!(" | {}", line(&brief.project))
    };
    let superseded = if brief.superseded { " (superseded)" } else { "" };
    let mark = mark(&brief.by, brief.author, &[&brief.title, &brief.preview]);
    let mark = mark.map(|mark| format!(" ({mark})")).unwrap_or_default();
    let (kind, title) = (line(&brief.kind), line(title));
    let when = when(&brief.created_at, brief.happened_at.as_deref());
    format!("- #{} [{kind}] {when} {title}{project}{superseded}{mark}", brief.id)
}

fn memory(brief: &Brief, here: &str, chars: usize) -> String {
    let said = beyond_title(&brief.title, &brief.preview);
    let bare = brief.title.trim().trim_end_matches(['…', '.']);
    let (titled, said_chars) = (titled(brief, here), said.chars().count());
    if said.is_empty() || said == brief.title {
        titled
    } else if !bare.is_empty() && said.starts_with(bare) && said_chars > bare.chars().count() {
        // A title that is the beginning of the text is not said twice.
        called(brief, &beginning(&said, chars.max(bare.chars().count())), here)
    } else {
        format!("{titled}: {}", line(&beginning(&said, chars)))
    }
}

/// True unless there is nothing but a name to be said of a session.
fn says_something(session: &SessionView) -> bool {
    session.summary.is_some() || session.memories > 0
}

fn session(session: &SessionView, here: &str) -> String {
    let state = if session.ended_at.is_some() { "ended" } else { "active" };
    let summary = session.summary.as_deref().map(|text| beginning(text, SUMMARY_CHARS));
    let summary = summary.map(|text| format!(" — {}", line(&text))).unwrap_or_default();
    let project = if session.project.is_empty() || session.project == here {
        String::new()
    } else {
        format!("{}, ", line(&session.project))
    };
    let count = session.memories;
    let day = when(&session.started_at, None);
    format!("- **{}** ({project}{day}, {state}, {count} memories){summary}", line(&session.id))
}

fn prompt(prompt: &PromptView) -> String {
    let day = when(&prompt.created_at, None);
    format!("- {day}: {}", line(&beginning(&prompt.content, PROMPT_CHARS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_that_begins_the_text_is_not_said_twice() {
        let told = |title: &str, preview: &str| {
            let brief = Brief {
                id: 7,
                title: title.to_owned(),
                kind: "manual".to_owned(),
                created_at: "2026-01-02T03:04:05.000Z".to_owned(),
                preview: preview.to_owned(),
                ..Brief::default()
            };
            memory(&brief, "", 200)
        };
        let cut =
            told("Deploys go out on Fridays because…", "Deploys go out on Fridays because of ops.");
        assert_eq!(cut, "- #7 [manual] 2026-01-02 Deploys go out on Fridays because of ops.");
        assert_eq!(told("Use tabs", "Use tabs."), "- #7 [manual] 2026-01-02 Use tabs.");
        assert_eq!(told("Tabs", "Indent so."), "- #7 [manual] 2026-01-02 Tabs: Indent so.");
    }
}
