//! What an agent should know when it starts, line by line as far as the budget goes.
//!
//! What must stay true: a rule that no person stated or confirmed never stands under [`RULES`]; rules take at most
//! their share, so that they cannot push out everything else, and what of them does not fit is said where they stand.

use std::fmt::Write as _;

use super::super::quotation::mark;
use super::super::untrusted::line;
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
/// Bytes that are set aside for what is said of lines that did not fit.
const NOTES_BYTES: usize = 80;
/// Characters of a session's summary and of a prompt.
const SUMMARY_CHARS: usize = 100;
const PROMPT_CHARS: usize = 120;

/// The text, and how many lines did not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextText {
    pub text: String,
    pub left_out: usize,
}

/// Writes what an answer holds within `bytes`. `left_out` lines did not fit before; `footer` comes last.
pub fn context(answer: &ContextAnswer, bytes: usize, left_out: usize, footer: &str) -> ContextText {
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
    let room = bytes.saturating_sub(footer.len() + NOTES_BYTES);
    let mut page = Page { text: String::new(), left_out };
    let share = room * RULES_SHARE_PERCENT / 100;
    let missing = page.rules(RULES, all().filter(rule).collect(), share)
        + page.rules(PROPOSED, all().filter(proposed).collect(), share);
    if missing > 0 {
        page.left_out += missing;
        let them = if missing == 1 { "rule" } else { "rules" };
        let note = format!(
            "({missing} more {them} did not fit: mem_search with type \"rule\", or `cortex find --type constraint`, \
             lists them)\n\n"
        );
        // Where not even this fits, the last line counts them among the others.
        if page.text.len() + note.len() <= room {
            page.text.push_str(&note);
        }
    }
    page.section("## Pinned", answer.pinned.iter().filter(other).map(memory), room);
    page.section("## Recent Sessions", answer.sessions.iter().map(session), room);
    page.section("## Recent Observations", answer.memories.iter().filter(other).map(memory), room);
    page.section("## Recent Prompts", answer.prompts.iter().map(prompt), room);
    let Page { mut text, left_out } = page;
    if left_out > 0 {
        writeln!(text, "({left_out} more did not fit; search for what you need)\n")
            .expect("a String takes any text");
    }
    text.push_str(footer);
    ContextText { text, left_out }
}

struct Page {
    text: String,
    left_out: usize,
}

impl Page {
    /// Writes the lines that fit below `room` under a heading, and counts the others.
    fn section(&mut self, heading: &str, lines: impl Iterator<Item = String>, room: usize) {
        let mut begun = false;
        for line in lines {
            let start = if begun { 0 } else { heading.len() + 2 };
            if self.text.len() + start + line.len() + 2 > room {
                self.left_out += 1;
                continue;
            }
            if !begun {
                writeln!(self.text, "{heading}").expect("a String takes any text");
                begun = true;
            }
            writeln!(self.text, "{line}").expect("a String takes any text");
        }
        if begun {
            self.text.push('\n');
        }
    }

    /// The same for rules, in full or, where they do not fit so, by their titles. Returns how many did not fit.
    fn rules(&mut self, heading: &str, rules: Vec<&Brief>, share: usize) -> usize {
        let size: usize = rules.iter().map(|brief| memory(brief).len() + 1).sum();
        let fits = self.text.len() + heading.len() + 2 + size <= share;
        let before = std::mem::take(&mut self.left_out);
        self.section(
            heading,
            rules.into_iter().map(|brief| if fits { memory(brief) } else { titled(brief) }),
            share,
        );
        std::mem::replace(&mut self.left_out, before)
    }
}

/// A memory by its title alone.
fn titled(brief: &Brief) -> String {
    let project = if brief.project.is_empty() {
        String::new()
    } else {
        format!(" | {}", line(&brief.project))
    };
    let superseded = if brief.superseded { " (superseded)" } else { "" };
    let mark = mark(&brief.by, brief.author, &[&brief.title, &brief.preview]);
    let mark = mark.map(|mark| format!(" ({mark})")).unwrap_or_default();
    let (kind, title) = (line(&brief.kind), line(&brief.title));
    format!("- #{} [{kind}] {title}{project}{superseded}{mark}", brief.id)
}

fn memory(brief: &Brief) -> String {
    let titled = titled(brief);
    if brief.preview.is_empty() || brief.preview == brief.title {
        titled
    } else {
        format!("{titled}: {}", line(&brief.preview))
    }
}

fn session(session: &SessionView) -> String {
    let state = if session.ended_at.is_some() { "ended" } else { "active" };
    let summary = session.summary.as_deref().map(|text| shortened(text, SUMMARY_CHARS));
    let summary = summary.map(|text| format!(" — {}", line(&text))).unwrap_or_default();
    format!("- **{}** ({}, {state}){summary}", line(&session.id), line(&session.project))
}

fn prompt(prompt: &PromptView) -> String {
    format!("- {}: {}", prompt.created_at, line(&shortened(&prompt.content, PROMPT_CHARS)))
}

/// At most `max` characters on one line, with an ellipsis among them where something is left out.
fn shortened(text: &str, max: usize) -> String {
    const ELLIPSIS: &str = "...";
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= max {
        return flat;
    }
    let end = flat.char_indices().nth(max - ELLIPSIS.len()).map_or(0, |(at, _)| at);
    format!("{}{ELLIPSIS}", flat[..end].trim_end())
}
