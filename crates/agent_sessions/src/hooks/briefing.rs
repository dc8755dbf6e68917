//! What a session begins with: rules that bind, where work stopped, open goals, decisions, what changed, how to ask.
//!
//! What must stay true: at most `BRIEFING_TOKENS_MAX` tokens and no memory twice; next steps are told whole or, with
//! all that was said of the session, not at all; orders of imports and of the web are not in it.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use api::hook::{BRIEFING_TOKENS_MAX, HookRequest, SessionBeginning};
use api::render::model::{BriefingLine, BriefingSection, ToldMemory, briefing, may_be_told};
use api::render::{tokens, untrusted};
use kernel::Reading;
use kernel::find::{Standing, standing};
use kernel::keys;
use kernel::memory::{
    Body, DecisionStatus, Fields, GoalStatus, Head, MemoryId, MemoryType, Millis, Scope,
};
use kernel::store::View;

use super::{HookSubject, past_recall, session_digest};
use service::asked_before::SESSION_KIND;
use service::caller::Caller;
use service::error::Result;
use service::journal_tail::each_session;
use service::views;

use crate::AgentSessions;

/// What memory is for; the tools it names are those that set-up gives.
const OPENING: &str = "Cortex keeps a memory of this project that outlives sessions. mem_search finds earlier \
decisions and fixes; mem_save keeps new ones when they are made; mem_session_summary keeps goal, results and next \
steps before the work ends (the main agent's task, not a sub-agent's).";
/// The last line, where anything was told.
const CLOSING: &str = "mem_search answers questions from all of it; mem_context gives an overview.";
/// Newest memories of the project, and of each type elsewhere, that are looked at.
const LOOKED_AT: usize = 400;
const LOOKED_AT_ELSEWHERE: usize = 100;
/// Characters of one line.
const LINE_CHARS: usize = 260;
/// Above the line about the last session.
const STOPPED: &str = "Where work stopped:";
/// Tokens of the sections.
const RULES_SHARE: usize = 200;
const STOPPED_SHARE: usize = 240;
const GOALS_SHARE: usize = 90;
const DECISIONS_SHARE: usize = 220;
const PERSONAL_SHARE: usize = 60;
const NEWS_SHARE: usize = 110;
/// Milliseconds for which an agent's own summary says where its session stopped, although the session went on.
const SUMMARY_HOLDS_MS: i64 = 3_600_000;
/// Memories of each section that are looked at.
const LINES_MAX: usize = 12;

/// One line about settings that cannot be read.
pub(super) fn trouble(reason: &str) -> String {
    let reason: String = untrusted::line(reason).chars().take(300).collect();
    format!(
        "Cortex: settings cannot be read, so the last good ones or defaults hold ({reason}). \
         `cortex doctor` tells more; please tell the user."
    )
}

/// A memory with what it says.
struct BriefedMemory {
    head: Head,
    body: Body,
    told: ToldMemory,
    happened: Millis,
}

/// What a session begins with.
pub(super) struct BriefingText {
    pub(super) text: String,
    /// The memories that are in it.
    pub(super) told: Vec<u64>,
    /// Memories that did not fit.
    pub(super) left_out: Vec<u64>,
}

impl AgentSessions {
    /// The text for the start of a session, and the memories that are in it.
    pub(super) fn briefing(
        &self,
        caller: &Caller,
        request: &HookRequest,
        subject: &HookSubject<'_>,
        trouble: Option<String>,
    ) -> Result<BriefingText> {
        let compacted = request.beginning == SessionBeginning::Compacted;
        let (_, reading) = self.service.reading(caller)?;
        let project = self.service.project(caller, None);
        let mut known = self.known(&reading, project.as_deref(), caller.now()?)?;
        let since = self.last_here(caller, &reading.view(), project.as_deref(), subject)?;
        let own = |known: &BriefedMemory| {
            subject.session.is_some() && known.head.session.as_deref() == subject.session
        };
        // The conversation that goes on begins with these words already, and its agent knows what it did itself.
        let goes_on = request.beginning == SessionBeginning::Resumed
            && self.was_told(subject, super::told::OPENING);
        if goes_on && let Some(session) = subject.session.map(|id| reading.view().session(id)) {
            let began = session?.map(|session| session.started);
            known.retain(|known| {
                !own(known) && began.is_none_or(|began| known.head.updated >= began)
            });
        }
        let mut sections = Vec::new();
        if compacted {
            let facts = self.facts_so_far(caller, request, subject)?;
            let has_facts = facts.iter().any(|section| !section.lines.is_empty());
            // The event of the session is made of the same record, and says less of it.
            let is_event = |known: &BriefedMemory| known.head.memory_type == MemoryType::Event;
            let kept = known.iter().filter(|known| own(known) && !(has_facts && is_event(known)));
            sections.push(session_so_far(kept));
            sections.extend(facts);
        }
        let mut rest = self.sections(&known, since, subject, compacted);
        if !compacted && !goes_on && last_session(&known, subject).is_none() {
            self.add_past(caller, subject, &mut rest)?;
        }
        sections.extend(rest);
        let (opening, closing) = if goes_on { ("", "") } else { (OPENING, CLOSING) };
        let opening = match trouble {
            Some(trouble) => format!("{trouble}\n{opening}"),
            None => opening.to_owned(),
        };
        let (text, told) = briefing(opening.trim_end(), &sections, closing, BRIEFING_TOKENS_MAX);
        let lines = sections.iter().flat_map(|section| &section.lines);
        let mut left_out = Vec::new();
        for id in lines.filter_map(|line| line.memory) {
            if !told.contains(&id) && !left_out.contains(&id) {
                left_out.push(id);
            }
        }
        Ok(BriefingText { text, told, left_out })
    }

    /// Where no memory tells where work stopped, the record of the last session in this folder does.
    fn add_past(
        &self,
        caller: &Caller,
        subject: &HookSubject<'_>,
        sections: &mut [BriefingSection],
    ) -> Result<()> {
        let stopped = sections.iter_mut().find(|section| section.heading == STOPPED);
        if let Some(section) = stopped.filter(|section| section.lines.is_empty()) {
            section.lines = self.stopped_in_past(caller, subject)?;
            section.share = past_recall::STOPPED_SHARE;
        }
        Ok(())
    }

    fn sections(
        &self,
        known: &[BriefedMemory],
        since: Option<Millis>,
        subject: &HookSubject<'_>,
        compacted: bool,
    ) -> Vec<BriefingSection> {
        let of = |wanted: &dyn Fn(&BriefedMemory) -> bool| {
            let mut found: Vec<&BriefedMemory> = known
                .iter()
                .filter(|known| wanted(known))
                // After a compaction what was told before is gone from the conversation.
                .filter(|known| compacted || !self.was_told(subject, known.head.id.get()))
                .collect();
            found.sort_by_key(|known| std::cmp::Reverse((known.head.pinned, known.happened)));
            found.truncate(LINES_MAX);
            found
        };
        let is = |known: &BriefedMemory, kind: MemoryType| known.head.memory_type == kind;
        let is_rule = |known: &BriefedMemory| {
            is(known, MemoryType::Constraint) || is(known, MemoryType::Preference)
        };
        let lines = |found: Vec<&BriefedMemory>| found.into_iter().map(line).collect::<Vec<_>>();
        let whole = |found: Vec<&BriefedMemory>| {
            // What would be cut is better found by a question, whole.
            found.into_iter().filter(|known| known.told.is_whole(LINE_CHARS)).map(line).collect()
        };
        let section = |heading, lines, share| BriefingSection { heading, lines, share };
        let rules = of(&|known| is_rule(known) && !known.told.proposed);
        let said = of(&|known| is_rule(known) && known.told.proposed);
        let goals = of(
            &|known| matches!(&known.body.fields, Fields::Goal(goal) if goal.status == GoalStatus::Active),
        );
        let decisions = of(&|known| {
            matches!(&known.body.fields, Fields::Decision(decision)
                if matches!(decision.status, DecisionStatus::Accepted | DecisionStatus::Proposed))
        });
        let personal = of(&|known| {
            known.head.scope == Scope::Personal
                && !is_rule(known)
                && !is(known, MemoryType::Decision)
                && !is(known, MemoryType::Goal)
                && !is(known, MemoryType::Event)
        });
        // As everything else here: once, until the conversation is shortened.
        let stopped = last_session(known, subject)
            .filter(|known| compacted || !self.was_told(subject, known.head.id.get()));
        let news = of(&|known| {
            since.is_some_and(|since| known.head.updated > since)
                && !is_rule(known)
                && !is(known, MemoryType::Decision)
                && !is(known, MemoryType::Goal)
                && !is(known, MemoryType::Event)
        });
        vec![
            section("Rules that hold here:", lines(rules), RULES_SHARE),
            section("Said, not confirmed as a rule:", whole(said), RULES_SHARE / 2),
            section(STOPPED, stopped.map(session_line).into_iter().collect(), STOPPED_SHARE),
            section("Open goals:", whole(goals), GOALS_SHARE),
            section("Decisions:", whole(decisions), DECISIONS_SHARE),
            section("Of the person:", whole(personal), PERSONAL_SHARE),
            section("New since you were last here:", whole(news), NEWS_SHARE),
        ]
    }

    /// What may be told of a project and of the person, each memory with its text.
    fn known(
        &self,
        reading: &Reading,
        project: Option<&str>,
        now: Millis,
    ) -> Result<Vec<BriefedMemory>> {
        let view = reading.view();
        let (mut heads, mut taken) = (Vec::new(), BTreeSet::new());
        let mut look =
            |index: &keys::Index, max: usize, here: bool, of_person: bool| -> Result<()> {
                let mut left = max;
                view.scan_index(index, None, true, &mut |id: MemoryId| {
                    let head = view.required_head(id)?;
                    let is_personal = head.scope == Scope::Personal;
                    let wanted = here || is_personal || (head.project.is_none() && !of_person);
                    if wanted && views::is_live(&head) && taken.insert(id) {
                        heads.push(head);
                    }
                    left -= 1;
                    Ok(if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
                })?;
                Ok(())
            };
        if let Some(project) = project {
            look(&keys::by_project(project), LOOKED_AT, true, false)?;
        }
        for kind in
            [MemoryType::Constraint, MemoryType::Preference, MemoryType::Goal, MemoryType::Decision]
        {
            look(&keys::by_type(kind), LOOKED_AT_ELSEWHERE, false, false)?;
        }
        for kind in [MemoryType::Identity, MemoryType::Fact, MemoryType::Pattern] {
            look(&keys::by_type(kind), LOOKED_AT_ELSEWHERE, false, true)?;
        }
        let mut known = Vec::new();
        for head in heads {
            known.extend(self.known_memory(&view, head, now)?);
        }
        Ok(known)
    }

    fn known_memory(
        &self,
        view: &View<'_>,
        head: Head,
        now: Millis,
    ) -> Result<Option<BriefedMemory>> {
        let version = view.required_version(head.id, head.version)?;
        // What something replaced, and what had its day, is history. A clock that was set back makes nothing unsaid.
        let at = now.max(version.created);
        if standing(&head, &version, &view.usage(head.id)?, at) != Standing::Current {
            return Ok(None);
        }
        let Some(body) = view.body(&version)? else { return Ok(None) };
        let author = views::author(&version);
        if !may_be_told(author, &[&body.title, &body.content]) {
            return Ok(None);
        }
        // What was rewritten holds since then, however old its first version is.
        let happened = views::revised(&version)
            .unwrap_or_else(|| views::happened(&head, &version, Some(&body)));
        let day = happened.rfc3339();
        let mut text = body.content.clone();
        if let Fields::Decision(decision) = &body.fields
            && let Some(why) = decision.rationale.as_deref().filter(|why| !text.contains(*why))
        {
            text = format!("{text} Why: {why}");
        }
        let told = ToldMemory {
            id: head.id.get(),
            kind: head.kind.clone(),
            status: status(&body.fields, now),
            day: day.get(..10).unwrap_or(&day).to_owned(),
            title: body.title.clone(),
            text,
            proposed: self.service.rule_authors().is_proposed(&head, &version),
            by: version.by,
            author,
        };
        Ok(Some(BriefedMemory { head, body, told, happened }))
    }

    /// When this agent last worked here, before this session.
    fn last_here(
        &self,
        caller: &Caller,
        view: &View<'_>,
        project: Option<&str>,
        subject: &HookSubject<'_>,
    ) -> Result<Option<Millis>> {
        let aliases = self.service.known_aliases(&caller.actor);
        let mut last = None;
        each_session(view, &mut |session| {
            if session.agent.as_deref() == Some(subject.agent)
                && aliases.of(session.project.as_deref()) == project
                && Some(session.id.as_str()) != subject.session
            {
                last = last.max(Some(session.ended.unwrap_or(session.started)));
            }
        })?;
        Ok(last)
    }
}

/// What became of a decision or a goal, and when it is to be done.
fn status(fields: &Fields, now: Millis) -> Option<String> {
    let due = match fields {
        Fields::Goal(goal) if goal.status == GoalStatus::Active => goal.due,
        _ => None,
    };
    match due {
        Some(due) if due < now => Some(format!("overdue since {}", due.date())),
        Some(due) => Some(format!("due {}", due.date())),
        None => views::status(fields).map(str::to_owned),
    }
}

fn line(known: &BriefedMemory) -> BriefingLine {
    BriefingLine { text: known.told.line("", LINE_CHARS), memory: Some(known.head.id.get()) }
}

/// What the session had come to when the agent shortened its conversation.
fn session_so_far<'k>(own: impl Iterator<Item = &'k BriefedMemory>) -> BriefingSection {
    let mut own: Vec<&BriefedMemory> = own.collect();
    own.sort_by_key(|known| (known.head.memory_type == MemoryType::Event, known.head.id));
    let lines = own.into_iter().rev().take(LINES_MAX).map(|known| {
        let is_session = known.head.memory_type == MemoryType::Event;
        if is_session { session_line(known) } else { line(known) }
    });
    BriefingSection {
        heading: "Kept from this session, before the conversation was shortened:",
        lines: lines.collect(),
        share: BRIEFING_TOKENS_MAX,
    }
}

/// The newest session that said where it stopped. One that only asked and answered is no work that stopped, as long as
/// another is known.
fn last_session<'k>(
    known: &'k [BriefedMemory],
    subject: &HookSubject<'_>,
) -> Option<&'k BriefedMemory> {
    let is_session = |known: &&BriefedMemory| {
        let kinds = ["session_summary", SESSION_KIND];
        kinds.contains(&known.head.kind.as_str())
            && (subject.session.is_none() || known.head.session.as_deref() != subject.session)
    };
    let worked = |known: &&BriefedMemory| {
        known.head.kind != SESSION_KIND || session_digest::tells_of_work(&known.body.content)
    };
    let age = |known: &&BriefedMemory| (known.head.updated, known.head.id);
    let newest = known.iter().filter(is_session).filter(worked).max_by_key(age);
    let newest = newest.or_else(|| known.iter().filter(is_session).max_by_key(age))?;
    // What an agent wrote itself says more than what was read from its record, unless it worked on long after.
    let wrote = |known: &&BriefedMemory| {
        known.head.kind == "session_summary"
            && known.head.session.is_some()
            && known.head.session == newest.head.session
            && newest.head.updated.get() - known.head.updated.get() <= SUMMARY_HOLDS_MS
    };
    let summary = known.iter().filter(is_session).filter(wrote).max_by_key(|known| known.head.id);
    Some(summary.unwrap_or(newest))
}

/// Where a session stopped, its next steps whole.
fn session_line(known: &BriefedMemory) -> BriefingLine {
    let (about, next) = session_digest::about_and_next(&known.body.content);
    let next = untrusted::line(&next);
    let head = format!("- #{} {} ", known.head.id.get(), known.told.day);
    let about = untrusted::line(&about);
    let mut chars = about.chars().count();
    loop {
        let said: String = about.chars().take(chars).collect();
        let cut = if chars < about.chars().count() { "…" } else { "" };
        let ends =
            cut.is_empty() && !said.is_empty() && !said.ends_with(['.', '!', '?', '。', ':']);
        let stop = if ends { "." } else { "" };
        let next =
            if next.is_empty() { String::new() } else { format!("{stop} Next steps: {next}") };
        let text = format!("{head}{}{cut}{next}", said.trim_end());
        // The next steps stay whole; what was done gives way to them.
        if tokens::estimate(&text) + 8 <= STOPPED_SHARE - 12 || chars == 0 {
            return BriefingLine { text, memory: Some(known.head.id.get()) };
        }
        chars = chars.saturating_sub(80);
    }
}
