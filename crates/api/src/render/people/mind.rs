//! What the mind does: jobs, runs and their changes, the bulletin, what models cost.

use std::fmt::Write as _;

use super::super::untrusted::{line, lines};
use super::words::{count, count_of, did, every, moment};
use crate::bulletin::{BulletinHistoryAnswer, BulletinView};
use crate::mind::{
    BudgetAnswer, ChangeView, DueAnswer, JobView, JobsAnswer, KeepAnswer, ReportView, ResetAnswer,
    RunAnswer, RunView, RunsAnswer, SuggestionView, UndoAnswer,
};

pub fn jobs(answer: &JobsAnswer) -> String {
    let mut text = String::new();
    for job in &answer.jobs {
        let state = match (&job.running, job.paused, &job.next_at) {
            (Some(run), _, _) => format!("runs as {run}"),
            (None, true, _) => "paused".to_owned(),
            (None, false, Some(_)) if job.due => "due now".to_owned(),
            (None, false, Some(at)) => format!("next {}", moment(at)),
            (None, false, None) => String::new(),
        };
        let breaker = match job.breaker.as_str() {
            "closed" => String::new(),
            "half_open" => ", tried once more after failures".to_owned(),
            _ => {
                let failures = count(job.failures, "failure", "failures");
                format!(", left alone for a while after {failures}")
            }
        };
        writeln!(
            text,
            "{:<12} {}, {state}{breaker}: {}",
            job.name,
            every(job.every_seconds),
            job.about
        )
        .expect("a String takes any text");
        if let Some(last) = &job.last {
            let ended = moment(&last.ended_at);
            let (ending, summary) = (&last.ending, line(&last.summary));
            writeln!(text, "{:<12} last {ended} {ending}: {summary}", "")
                .expect("a String takes any text");
        }
    }
    let error = answer.warmup.last_error.as_deref().map(|why| format!(" ({})", line(why)));
    let state = match answer.warmup.state.as_str() {
        "warm" => "warm: the bulletin is ready",
        "cold" => "cold: no bulletin was written yet",
        "warming" => "warming: the first bulletin is being written",
        other => other,
    };
    writeln!(text, "warm-up      {state}{}", error.unwrap_or_default())
        .expect("a String takes any text");
    for breaker in answer.breakers.iter().filter(|breaker| breaker.state != "closed") {
        let name = line(&breaker.name);
        writeln!(text, "left alone   {name}, for a while; `cortex mind reset` tries it at once")
            .expect("a String takes any text");
    }
    text
}

/// What a job said, and what it changed unless it was only tried.
pub fn ran(answer: &RunAnswer) -> String {
    let mut text = format!("{}\n", lines(answer.text.trim_end()));
    if !answer.dry_run {
        text.push_str(&changes(&answer.changes));
    }
    text
}

pub fn paused(job: &JobView) -> String {
    format!("{} {}\n", job.name, if job.paused { "is paused" } else { "goes on" })
}

/// Runs that changed memories, then those that did not.
pub fn runs(answer: &RunsAnswer) -> String {
    let mut text = String::new();
    for run in &answer.runs {
        let undone = if run.undone { " (undone)" } else { "" };
        let planned = line(&run.planned);
        let done = run.done.as_deref().map(|done| format!("made {}", line(done)));
        let done = done.unwrap_or_else(|| "was not finished".to_owned());
        let at = moment(&run.started_at);
        writeln!(text, "{at}  {}  planned {planned}, {done}{undone}", line(&run.run))
            .expect("a String takes any text");
    }
    let known: Vec<&str> = answer.runs.iter().map(|run| run.run.as_str()).collect();
    let others = answer.reports.iter().filter(|report| !known.contains(&report.run.as_str()));
    // Whoever reads a log looks for what was changed, what failed and what waits for a person.
    let (told, calm): (Vec<&ReportView>, Vec<&ReportView>) =
        others.partition(|one| one.ending != "succeeded" || one.summary.contains("suggested for"));
    for report in told {
        let at = moment(&report.started_at);
        let (run, summary) = (line(&report.run), line(&report.summary));
        writeln!(text, "{at}  {run}  {}: {summary}", report.ending)
            .expect("a String takes any text");
    }
    if !calm.is_empty() {
        let runs = if calm.len() == 1 { "run" } else { "runs" };
        writeln!(
            text,
            "{} more {runs} changed nothing; `cortex mind jobs` shows the last of each job",
            calm.len()
        )
        .expect("a String takes any text");
    }
    if text.is_empty() { "no job has run yet\n".to_owned() } else { text }
}

pub fn run(answer: &RunView) -> String {
    let time = |at: &Option<String>| at.as_deref().map_or("never".to_owned(), moment);
    let undone = if answer.undone { ", undone" } else { "" };
    let started = time(&answer.started_at);
    let (run, job) = (line(&answer.run), line(&answer.job));
    let head = format!("{run} ({job}), {started}{undone}\n");
    let head = if answer.finished_at.is_some() { head } else { format!("{head}  cut short\n") };
    head + &changes(&answer.changes)
}

pub fn due(answer: &DueAnswer) -> String {
    let mut text = String::new();
    for one in &answer.due {
        let when = match one.days_left {
            0 => "with the next run".to_owned(),
            1 => "after 1 more active day".to_owned(),
            days => format!("after {days} more active days"),
        };
        let (id, title, reason) = (one.id, line(&one.title), line(&one.reason));
        writeln!(text, "{id:>6}  {title}, {when}: {reason}").expect("a String takes any text");
    }
    if answer.more > 0 {
        writeln!(text, "{} more", answer.more).expect("a String takes any text");
    }
    if text.is_empty() {
        return "nothing is about to be put away\n".to_owned();
    }
    text.push_str("`cortex mind keep ID` keeps one\n");
    text
}

pub fn kept(answer: &KeepAnswer) -> String {
    let back = match answer.restored.len() {
        0 => String::new(),
        _ => format!("; brought back: {}", ids(&answer.restored)),
    };
    format!("kept: {}{back}\n", ids(&answer.kept))
}

pub fn reset(answer: &ResetAnswer) -> String {
    if answer.closed.is_empty() {
        return "nothing was left alone\n".to_owned();
    }
    let names: Vec<String> = answer.closed.iter().map(|name| line(name)).collect();
    format!("tried again from now on: {}\n", names.join(", "))
}

pub fn undone(answer: &UndoAnswer) -> String {
    let mut text = changes(&answer.changes);
    for SuggestionView { about, reason } in &answer.left_alone {
        writeln!(text, "left alone {}: {}", ids(about), line(reason))
            .expect("a String takes any text");
    }
    let undone = line(&answer.undone);
    let count = count_of(answer.changes.len(), "change", "changes");
    match &answer.run {
        Some(by) => writeln!(text, "{undone}: {count} taken back by {by}"),
        None => writeln!(text, "{undone}: {count} would be taken back"),
    }
    .expect("a String takes any text");
    text
}

fn changes(changes: &[ChangeView]) -> String {
    let mut text = String::new();
    for change in changes {
        let reason = match line(&change.reason) {
            reason if reason.is_empty() => reason,
            reason => format!(": {reason}"),
        };
        let title = match line(&change.title) {
            title if title.is_empty() => title,
            title => format!(" {title:?}"),
        };
        writeln!(text, "  {} {}{title}{reason}", did(&change.action), ids(&change.about))
            .expect("a String takes any text");
    }
    text
}

fn ids(about: &[u64]) -> String {
    let ids: Vec<String> = about.iter().map(|id| format!("#{id}")).collect();
    ids.join(", ")
}

pub fn budget(answer: &BudgetAnswer) -> String {
    if answer.provider.is_none() && answer.tokens == 0 && answer.ledger.is_empty() {
        let switch = if answer.kill_switch { " The kill switch is on." } else { "" };
        return format!(
            "Nothing was spent today ({}, UTC): no model is set up. `[providers]` in cortex.toml \
             names one.{switch}\n",
            answer.day
        );
    }
    let provider = answer.provider.as_deref().map_or_else(|| "none".to_owned(), line);
    let switch = if answer.kill_switch { "on: no model is asked" } else { "off" };
    let mut text = format!(
        "day          {} (UTC)\nprovider     {provider}\nkill switch  {switch}\n\
         tokens       {} of {}, {} reserved\ndollars      {:.6} of {:.6}\n",
        answer.day,
        answer.tokens,
        answer.tokens_limit,
        answer.reserved_tokens,
        answer.dollars,
        answer.dollars_limit
    );
    for purpose in &answer.purposes {
        writeln!(
            text,
            "{:<12} {} of {} tokens, {:.6} of {:.6} dollars",
            purpose.purpose,
            purpose.tokens,
            purpose.tokens_limit,
            purpose.dollars,
            purpose.dollars_limit
        )
        .expect("a String takes any text");
    }
    for spent in &answer.ledger {
        let assumed = if spent.assumed { " (assumed)" } else { "" };
        let model = spent.model.as_deref().map(line).unwrap_or_default();
        writeln!(
            text,
            "{}  {:<11} {:>8} tokens  {:.6}  {}  {model}{assumed}",
            spent.at,
            spent.purpose,
            spent.tokens,
            spent.dollars,
            line(&spent.who)
        )
        .expect("a String takes any text");
    }
    text
}

/// The bulletin as it was published. Its lines passed `untrusted` when it was made, and its headings are our own.
pub fn bulletin(bulletin: Option<&BulletinView>) -> String {
    match bulletin {
        Some(bulletin) => format!("{}\n", bulletin.text.trim_end()),
        None => "there is no bulletin yet\n".to_owned(),
    }
}

/// How a bulletin came about, and from which memories.
pub fn bulletin_explained(bulletin: &BulletinView) -> String {
    let mut text = format!(
        "number      {}\ngenerated   {}\nmade by     {}\n",
        bulletin.number,
        bulletin.generated_at,
        line(&bulletin.made_by)
    );
    if let Some(why) = &bulletin.fallback {
        writeln!(text, "because     {}", line(why)).expect("a String takes any text");
    }
    for refused in &bulletin.refused {
        let (at, model, reason) = (&refused.at, line(&refused.model), line(&refused.reason));
        writeln!(text, "refused     {at} {model}: {reason}").expect("a String takes any text");
    }
    writeln!(
        text,
        "run         {}\nwords       {}\njournal     {} entries\ninputs      {}",
        line(&bulletin.run),
        bulletin.words,
        bulletin.size,
        bulletin.inputs
    )
    .expect("a String takes any text");
    let changes = &bulletin.changes;
    for (name, about) in
        [("new", &changes.added), ("gone", &changes.removed), ("revised", &changes.revised)]
    {
        let about = if about.is_empty() { "none".to_owned() } else { ids(about) };
        writeln!(text, "{name:<11} {about}").expect("a String takes any text");
    }
    for source in &bulletin.sources {
        let state = match source {
            _ if source.forgotten => " (forgotten since)",
            _ if source.now_version != source.version => " (changed since)",
            _ => "",
        };
        writeln!(
            text,
            "{:>7}  {:<16}  {:<12}  {}{state}",
            format!("#{}", source.id),
            line(&source.section),
            line(&source.kind),
            line(&source.title)
        )
        .expect("a String takes any text");
    }
    text
}

/// Bulletins that were published, newest first.
pub fn bulletins(answer: &BulletinHistoryAnswer) -> String {
    let mut text = String::new();
    for bulletin in &answer.bulletins {
        let changes = &bulletin.changes;
        writeln!(
            text,
            "{:>5}  {}  {:>4} words  by {}  {} new, {} gone, {} revised",
            bulletin.number,
            bulletin.generated_at,
            bulletin.words,
            line(&bulletin.made_by),
            changes.added.len(),
            changes.removed.len(),
            changes.revised.len()
        )
        .expect("a String takes any text");
    }
    writeln!(text, "{} of {}", answer.bulletins.len(), answer.total)
        .expect("a String takes any text");
    text
}
