//! What was done in the past, for people: fixes, habits, traces, friction, what was taken out, shapes, the card.

use std::fmt::Write as _;

use super::super::untrusted::{line, lines};
use super::past::{counted, when};
use crate::past::{PastReportAnswer, PastStateAnswer, PastWorkAnswer};

const TAKES: &str = "a String takes any text";
/// Lines of removed text that are shown.
const REMOVED_LINES: usize = 40;

pub fn past_work(answer: &PastWorkAnswer) -> String {
    let mut text = String::new();
    for fix in &answer.fixes {
        let sure = if fix.confirmed { "" } else { "  (not confirmed)" };
        writeln!(text, "{}{sure}", line(&fix.error)).expect(TAKES);
        for step in &fix.steps {
            writeln!(text, "    {}", line(step)).expect(TAKES);
        }
        let sessions = counted(fix.sessions, "session");
        writeln!(text, "    {sessions}: {}", line(&fix.refs.join(", "))).expect(TAKES);
    }
    for habit in &answer.habits {
        let project = line(habit.project.as_deref().unwrap_or("no project"));
        writeln!(text, "{}", line(&habit.line)).expect(TAKES);
        writeln!(
            text,
            "    {project}: {}, went well {}, failed {}; {}",
            counted(habit.sessions, "session"),
            counted(habit.succeeded, "time"),
            counted(habit.failed, "time"),
            line(&habit.reference)
        )
        .expect(TAKES);
    }
    for trace in &answer.traces {
        let at = when(trace.at.as_deref());
        let undone = if trace.undone { "  (taken back)" } else { "" };
        writeln!(text, "{:<7}  {}  {at}{undone}", trace.role, line(&trace.reference)).expect(TAKES);
        if !trace.lines.is_empty() {
            let numbers: Vec<String> = trace.lines.iter().map(u32::to_string).collect();
            let lines = if numbers.len() == 1 { "line" } else { "lines" };
            writeln!(text, "    wrote {lines} {}", numbers.join(", ")).expect(TAKES);
        }
        for (what, said) in [("asked", &trace.prompt), ("came of it", &trace.outcome)] {
            if let Some(said) = said {
                let short: String = line(said).chars().take(200).collect();
                writeln!(text, "    {what}: {short}").expect(TAKES);
            }
        }
    }
    for error in &answer.friction {
        let last = when(error.last_at.as_deref());
        writeln!(text, "{}", line(&error.error)).expect(TAKES);
        writeln!(
            text,
            "    {} in {}, last {last}: {}",
            counted(error.times, "time"),
            counted(error.sessions, "session"),
            line(&error.refs.join(", "))
        )
        .expect(TAKES);
    }
    for removal in &answer.removed {
        let at = when(removal.at.as_deref());
        writeln!(text, "{}  {}  {at}", line(&removal.path), line(&removal.reference)).expect(TAKES);
        for removed in lines(&removal.text).lines().take(REMOVED_LINES) {
            writeln!(text, "- {removed}").expect(TAKES);
        }
    }
    if let Some(note) = &answer.note {
        writeln!(text, "{}", line(note)).expect(TAKES);
    }
    text
}

pub fn past_shapes(answer: &PastReportAnswer) -> String {
    let files = counted(answer.files, "file");
    let mut text = format!("{files} of {} looked at\n", line(&answer.agent));
    for shape in &answer.shapes {
        writeln!(text, "{:>8}  {}", shape.records, line(&shape.shape)).expect(TAKES);
    }
    text
}

/// Width of a card, and of one of its bars at most.
const CARD_WIDTH: u64 = 640;
const BAR_WIDTH: u64 = 360;
const ROW_HEIGHT: usize = 34;

/// The past as a picture: counts by agent, no word of a session.
pub fn past_card(answer: &PastStateAnswer) -> String {
    let agents: Vec<_> = answer.agents.iter().filter(|(_, agent)| agent.turns > 0).collect();
    let most = agents.iter().map(|(_, agent)| agent.turns).max().unwrap_or(1).max(1);
    let height = 120 + ROW_HEIGHT * agents.len();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{CARD_WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"#111827\"/>\n\
         <text x=\"24\" y=\"44\" fill=\"#f9fafb\" font-size=\"24\">{} sessions, {} turns</text>\n\
         <text x=\"24\" y=\"72\" fill=\"#9ca3af\" font-size=\"14\">{} kept only here</text>\n",
        answer.sessions, answer.turns, answer.kept_only_here
    );
    for (place, (name, agent)) in agents.iter().enumerate() {
        let y = 100 + ROW_HEIGHT * place;
        let width = (agent.turns * BAR_WIDTH / most).max(2);
        writeln!(
            svg,
            "<text x=\"24\" y=\"{}\" fill=\"#e5e7eb\" font-size=\"14\">{name}</text>\n\
             <rect x=\"140\" y=\"{y}\" width=\"{width}\" height=\"18\" rx=\"4\" fill=\"#60a5fa\"/>\n\
             <text x=\"{}\" y=\"{}\" fill=\"#e5e7eb\" font-size=\"14\">{}</text>",
            y + 14,
            150 + width,
            y + 14,
            agent.turns
        )
        .expect(TAKES);
    }
    svg.push_str("</svg>\n");
    svg
}
