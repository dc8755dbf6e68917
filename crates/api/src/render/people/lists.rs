//! Sessions, prompts, projects, and what happened or needs attention.

use std::fmt::Write as _;

use super::super::untrusted::line;
use super::words::{count, count_of, did, moment};
use crate::activity::{ActivityAnswer, EntryView};
use crate::archive::SweepAnswer;
use crate::audit::AuditAnswer;
use crate::channel::{ChannelListAnswer, ChannelView};
use crate::projects::{MergeAnswer, SeparateAnswer};
use crate::prompt::PromptListAnswer;
use crate::server_tools::ApprovalsAnswer;
use crate::session::{SessionListAnswer, SessionView};
use crate::stats::ProjectsAnswer;
use crate::talent_runs::{TalentRunView, TalentRunsAnswer};

/// Sessions that are named beside conversations.
const SESSIONS_BESIDE_MAX: usize = 20;

pub fn sessions(answer: &SessionListAnswer) -> String {
    if answer.total == 0 {
        return "There are no sessions yet.\n".to_owned();
    }
    let mut text = String::new();
    for session in &answer.sessions {
        writeln!(
            text,
            "{}  {:<5}  {:>4} memories  {}  {}",
            moment(&session.started_at),
            state(session),
            session.memories,
            line(&session.id),
            line(&session.project)
        )
        .expect("a String takes any text");
    }
    let all = count_of(answer.total, "session", "sessions");
    writeln!(text, "{} of {all}", answer.sessions.len()).expect("a String takes any text");
    text
}

fn state(session: &SessionView) -> &'static str {
    if session.ended_at.is_some() { "ended" } else { "live" }
}

/// One session in words.
pub fn session(session: &SessionView) -> String {
    let (id, started) = (line(&session.id), moment(&session.started_at));
    let memories = count(session.memories, "memory", "memories");
    let state = if session.ended_at.is_some() { "has ended" } else { "is live" };
    format!("session {id} began {started} and {state}; {memories}\n")
}

/// Conversations that are kept here, and the sessions of agents.
pub fn conversations(channels: &ChannelListAnswer, sessions: &SessionListAnswer) -> String {
    if channels.channels.is_empty() && sessions.total == 0 {
        return "There are no channels yet, and no sessions of agents.\n".to_owned();
    }
    let channel_count = count_of(channels.channels.len(), "channel", "channels");
    let session_count = count_of(sessions.total, "session of an agent", "sessions of agents");
    let mut text = format!("{channel_count}, {session_count}:\n");
    for ChannelView { channel, messages, last_at, is_answering, .. } in &channels.channels {
        let busy = if *is_answering { ", answering now" } else { "" };
        let messages = count_of(*messages, "message", "messages");
        let (channel, last) = (line(channel), moment(last_at));
        writeln!(text, "- channel {channel}, {messages}, last {last}{busy}")
            .expect("a String takes any text");
    }
    for session in sessions.sessions.iter().take(SESSIONS_BESIDE_MAX) {
        let (id, state) = (line(&session.id), state(session));
        let memories = count(session.memories, "memory", "memories");
        writeln!(text, "- session {id} ({state}), {memories}").expect("a String takes any text");
    }
    text
}

pub fn prompts(answer: &PromptListAnswer) -> String {
    let mut text = String::new();
    for prompt in &answer.prompts {
        let said = line(&prompt.content);
        writeln!(text, "{:>6}  {}  {said}", prompt.id, prompt.created_at)
            .expect("a String takes any text");
    }
    writeln!(text, "{} of {} prompts", answer.prompts.len(), answer.total)
        .expect("a String takes any text");
    text
}

pub fn projects(answer: &ProjectsAnswer) -> String {
    if answer.projects.is_empty() {
        return "There are no projects yet.\n".to_owned();
    }
    let mut text = String::new();
    for project in &answer.projects {
        let also = match project.aliases.as_slice() {
            [] => String::new(),
            names => format!("  (also {})", line(&names.join(", "))),
        };
        let (memories, latest) = (project.memories, moment(&project.last_activity));
        writeln!(text, "{memories:>6}  {latest}  {}{also}", line(&project.name))
            .expect("a String takes any text");
    }
    text
}

pub fn merged(answer: &MergeAnswer) -> String {
    let verb = if answer.dry_run { "would move" } else { "moved" };
    let mean = if answer.dry_run { "would mean" } else { "now mean" };
    let (moved, to, names) = (answer.moved, line(&answer.to), line(&answer.aliases.join(", ")));
    format!("{verb} {moved} memories to {to}; {mean} it: {names}\n")
}

pub fn separated(answer: &SeparateAnswer) -> String {
    format!("{} is a project of its own\n", line(&answer.name))
}

pub fn swept(answer: &SweepAnswer) -> String {
    let mut text = String::new();
    for swept in &answer.archived {
        writeln!(text, "{:>6}  {:.3}  {}", swept.id, swept.score, line(&swept.title))
            .expect("a String takes any text");
    }
    let verb = if answer.dry_run { "would be archived" } else { "archived" };
    writeln!(text, "{} of {} {verb}", answer.archived.len(), answer.examined)
        .expect("a String takes any text");
    text
}

/// The newest entries of the journal.
pub fn activity(answer: &ActivityAnswer) -> String {
    if answer.entries.is_empty() {
        return "Nothing has happened here yet.\n".to_owned();
    }
    let mut text = format!("What changed last, of {} entries in all, newest first:\n", answer.size);
    // That a run began is said by its end.
    let begins =
        |entry: &&EntryView| entry.kind == "mind_run" && entry.summary.ends_with(" started");
    for entry in answer.entries.iter().filter(|entry| !begins(entry)) {
        writeln!(text, "- {}  {} {}", moment(&entry.at), line(&entry.by), happened(entry))
            .expect("a String takes any text");
    }
    text
}

/// What was done to what: to a memory by its title, and why; else what the entry says of itself.
fn happened(entry: &EntryView) -> String {
    let verb = did(&entry.kind);
    let words: Vec<&str> = entry.summary.split(' ').collect();
    let Some(id) = entry.memory_id else {
        return match (entry.kind.as_str(), words.as_slice()) {
            ("mind_run", [_, run, "undone"]) => format!("took back {}", line(run)),
            ("mind_run", [_, run, phase]) => format!("{} {}", line(phase), line(run)),
            _ => format!("{verb} {}", line(&entry.summary)),
        };
    };
    let named = |id: u64, title: &str| match line(title) {
        title if title.is_empty() => format!("#{id}"),
        title => format!("#{id} {title:?}"),
    };
    let memory = named(id, entry.title.as_deref().unwrap_or_default());
    // "12: because", "12 pinned, tags"
    let rest = entry.summary.strip_prefix(&id.to_string()).map(line).unwrap_or_default();
    match (entry.kind.as_str(), &entry.other) {
        ("add_edge" | "remove_edge", Some(other)) => {
            let relation = entry.summary.split(' ').nth(1).map(line).unwrap_or_default();
            format!("{verb} {memory} and {} ({relation})", named(other.id, &other.title))
        }
        ("tombstone" | "restore" | "erase", _) => format!("{verb} {memory}{rest}"),
        ("update_head", _) => format!("{verb} {memory}: {}", rest.trim()),
        _ => format!("{verb} {memory}"),
    }
}

/// Calls that wait for a person, oldest first.
pub fn approvals(answer: &ApprovalsAnswer) -> String {
    if answer.approvals.is_empty() {
        return "Nothing waits for you.\n".to_owned();
    }
    let waiting = count_of(answer.approvals.len(), "call waits", "calls wait");
    let mut text = format!("{waiting} for you:\n");
    for one in &answer.approvals {
        let (talent, tool, args) =
            (line(&one.talent), line(&one.tool), line(&one.args.to_string()));
        let id = line(&one.id);
        writeln!(text, "- {talent} wants {tool} {args}: `cortex talent approve {id}`, or `deny`")
            .expect("a String takes any text");
    }
    text
}

/// Runs of talents, newest first; only those that failed, if that is asked for.
pub fn talent_runs(answer: &TalentRunsAnswer, failed: bool) -> String {
    let wanted = |run: &&TalentRunView| !failed || run.state == "failed";
    let runs: Vec<&TalentRunView> = answer.runs.iter().filter(wanted).collect();
    if runs.is_empty() {
        let none =
            if failed { "None of the last runs failed.\n" } else { "No talent has run yet.\n" };
        return none.to_owned();
    }
    let what = if failed { "failed" } else { "newest first" };
    let shown = count_of(runs.len(), "run", "runs");
    let mut text = format!("{shown} of {}, {what}:\n", answer.total);
    for run in runs {
        let why = run.why.as_deref().map(|why| format!(" ({})", line(why))).unwrap_or_default();
        let (name, state) = (line(&run.name), line(&run.state));
        let tokens = count(run.tokens, "token", "tokens");
        let cost = run.cost.map(|cost| format!(", {cost:.4} dollars")).unwrap_or_default();
        writeln!(text, "- {name} {state}{why}, {tokens}{cost}: run {}", line(&run.run))
            .expect("a String takes any text");
    }
    text
}

/// What of a memory needs attention.
pub fn audit(answer: &AuditAnswer) -> String {
    let AuditAnswer { memories, compared, findings, next } = answer;
    let rest = if compared < memories {
        format!("; the newest {compared} also compared by meaning")
    } else {
        String::new()
    };
    let s = if *memories == 1 { "memory" } else { "memories" };
    let mut text = format!("{memories} {s} looked at{rest}\n");
    if findings.is_empty() {
        text.push_str("nothing needs attention\n");
    }
    for finding in findings {
        writeln!(text, "\n{} {}: {}", finding.count, finding.says, finding.remedy)
            .expect("a String takes any text");
        for example in &finding.examples {
            let id = example.ids.first().map(|id| format!("#{id} ")).unwrap_or_default();
            let (title, why) = (line(&example.title), line(&example.why));
            writeln!(text, "  {id}{title} ({why})").expect("a String takes any text");
        }
        let more = finding.count - finding.examples.len().min(finding.count);
        if more > 0 && !finding.examples.is_empty() {
            writeln!(text, "  and {more} more with a higher --limit")
                .expect("a String takes any text");
        }
    }
    if let Some(next) = next {
        writeln!(
            text,
            "\nolder ones were not looked at: too much text at once; --before {next} goes on"
        )
        .expect("a String takes any text");
    }
    text
}
