//! What an agent should know when it starts: pinned memories, recent sessions, prompts and memories, within a budget.
//!
//! A delegate gets the memories that its grant shows, and nothing else.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::ControlFlow;

use api::context::{BYTES_DEFAULT, BYTES_MAX, ContextAnswer, ContextRequest, LIMIT_MAX};
use api::memory::Brief;
use api::prompt::PromptView;
use api::session::SessionView;
use kernel::grants::Permission;
use kernel::keys::{self, Index};
use kernel::memory::{Head, MemoryId, MemoryType, Scope};
use kernel::store::View;

use crate::access::ActorAccess;
use crate::caller::Caller;
use crate::default_session::is_default;
use crate::error::Result;
use crate::intake::project::alias::Aliases;
use crate::journal_tail::each_session;
use crate::normalized_save::scope_of;
use crate::prompt::{prompt_numbers, prompt_view};
use crate::{Service, learned, score, session, views, wording};

const SESSIONS: usize = 5;

const PROMPTS: usize = 5;

const PINNED: usize = 20;

/// Newest memories that are looked at for the most important ones among them.
const LOOKED_AT: usize = 500;

/// Newest memories of each type that are looked at for personal ones, where a project is asked for.
const LOOKED_AT_ELSEWHERE: usize = 100;

impl Service {
    pub fn recent_context(
        &self,
        caller: &Caller,
        request: ContextRequest,
    ) -> Result<ContextAnswer> {
        let access = self.access(caller, Permission::Context, &request)?;
        let view = access.reading.view();
        let project = request.project.as_deref().and_then(|name| self.named(&caller.actor, name));
        let scope = request.scope.as_deref().map(|scope| scope_of(Some(scope)));
        let limit = request.limit.filter(|n| *n > 0).unwrap_or(20).min(LIMIT_MAX);
        let (mut pinned, mut memories) = chosen(caller, &access, project.as_deref(), scope, limit)?;
        let mut budget = access.budget();
        let mut left_out = budget.keep(&mut pinned, crate::views::brief_tokens);
        left_out += budget.keep(&mut memories, crate::views::brief_tokens);
        let mut answer = ContextAnswer { pinned, memories, ..ContextAnswer::default() };
        let mut footer = String::new();
        // Sessions, prompts and counts are of the whole, which no grant shows.
        if access.authority.is_none() {
            let aliases = self.known_aliases(&caller.actor);
            answer.sessions = recent_sessions(&view, &aliases, project.as_deref())?;
            answer.prompts = recent_prompts(&view, &aliases, project.as_deref())?;
            footer = counts(&view)?;
        }
        answer.project = project.unwrap_or_default();
        let bytes = request.max_bytes.unwrap_or(BYTES_DEFAULT).min(BYTES_MAX);
        render(&mut answer, bytes, left_out, &footer);
        Ok(answer)
    }
}

fn recent_sessions(
    view: &View<'_>,
    aliases: &Aliases,
    project: Option<&str>,
) -> Result<Vec<SessionView>> {
    let mut sessions = Vec::new();
    each_session(view, &mut |session| {
        let here = project.is_none() || aliases.of(session.project.as_deref()) == project;
        if here && !is_default(&session.id) {
            sessions.push(session);
        }
    })?;
    sessions.sort_by(|a, b| b.started.cmp(&a.started).then(b.id.cmp(&a.id)));
    sessions.truncate(SESSIONS);
    sessions.into_iter().map(|session| session::shown(view, aliases, session, false)).collect()
}

fn recent_prompts(
    view: &View<'_>,
    aliases: &Aliases,
    project: Option<&str>,
) -> Result<Vec<PromptView>> {
    let mut prompts = Vec::new();
    for seq in prompt_numbers(view)? {
        if prompts.len() == PROMPTS {
            break;
        }
        let Some(prompt) = prompt_view(view, aliases, seq)? else { continue };
        if project.is_none_or(|name| name == prompt.project) {
            prompts.push(prompt);
        }
    }
    Ok(prompts)
}

fn counts(view: &View<'_>) -> Result<String> {
    let counters = view.counters()?;
    let projects: Vec<String> = view.projects()?.0.into_iter().take(20).collect();
    let live = counters.live().saturating_sub(counters.archived);
    Ok(format!(
        "---\nMemory stats: {} sessions, {live} observations across projects: {}\n",
        counters.sessions,
        if projects.is_empty() { "none yet".to_owned() } else { projects.join(", ") },
    ))
}

/// Pinned ones first; then, of the newest, those that matter most, in the order of time.
fn chosen(
    caller: &Caller,
    access: &ActorAccess,
    project: Option<&str>,
    scope: Option<Scope>,
    limit: usize,
) -> Result<(Vec<Brief>, Vec<Brief>)> {
    let reading = &access.reading;
    let view = reading.view();
    let now = caller.now()?;
    // What is personal holds in every project.
    let wanted = |head: &Head| {
        views::is_live(head)
            && access.sees(head)
            && scope.is_none_or(|scope| head.scope == scope)
            && (project.is_none()
                || head.project.as_deref() == project
                || head.scope == Scope::Personal)
    };
    let mut pinned = Vec::new();
    let mut taken: BTreeSet<MemoryId> = BTreeSet::new();
    view.scan_index(&keys::foremost(), None, true, &mut |id| {
        let head = view.required_head(id)?;
        if head.pinned && wanted(&head) {
            taken.insert(id);
            pinned.push(head);
        }
        let full = pinned.len() == PINNED;
        Ok(if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    let indexes: Vec<Index> = match project {
        Some(project) => vec![keys::by_project(project)],
        None => MemoryType::ALL.iter().map(|t| keys::by_type(*t)).collect(),
    };
    let mut newest: Vec<Head> = Vec::new();
    for index in &indexes {
        let mut left = LOOKED_AT;
        view.scan_index(index, None, true, &mut |id| {
            let head = view.required_head(id)?;
            if wanted(&head) && !taken.contains(&id) {
                newest.push(head);
                left -= 1;
            }
            Ok(if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
    }
    for memory_type in MemoryType::ALL.iter().filter(|_| project.is_some()) {
        let mut left = LOOKED_AT_ELSEWHERE;
        view.scan_index(&keys::by_type(*memory_type), None, true, &mut |id| {
            let head = view.required_head(id)?;
            let elsewhere = head.project.as_deref() != project && !taken.contains(&id);
            if elsewhere && wanted(&head) {
                newest.push(head);
            }
            left -= 1;
            Ok(if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
    }
    newest.sort_by(|a, b| b.updated.cmp(&a.updated).then(b.id.cmp(&a.id)));
    newest.truncate(LOOKED_AT);
    // Half by time alone, so that what just happened is there; half by what it is worth.
    let mut chosen: Vec<Head> = newest.drain(..newest.len().min(limit.div_ceil(2))).collect();
    let learned = learned::weights(&view)?;
    let mut rest = Vec::new();
    for head in newest {
        let usage = view.usage(head.id)?;
        let superseded = usage.superseded > 0;
        let worth = match &learned {
            None => score::thousandths(&head, &usage, now),
            Some(weights) => learned::worth(&head, &usage, now, weights),
        };
        rest.push((superseded, std::cmp::Reverse(worth), head));
    }
    rest.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(b.2.id.cmp(&a.2.id)));
    chosen.extend(rest.into_iter().take(limit - chosen.len()).map(|(_, _, head)| head));
    chosen.sort_by(|a, b| b.updated.cmp(&a.updated).then(b.id.cmp(&a.id)));
    let briefs = |heads: Vec<Head>| {
        heads.iter().map(|head| views::brief(reading, head, 200)).collect::<Result<Vec<_>>>()
    };
    Ok((briefs(pinned)?, briefs(chosen)?))
}

/// Writes the text, line by line, as far as the budget goes.
fn render(answer: &mut ContextAnswer, budget: usize, mut left_out: usize, footer: &str) {
    if answer.sessions.is_empty()
        && answer.prompts.is_empty()
        && answer.pinned.is_empty()
        && answer.memories.is_empty()
    {
        "No previous session memories found.\n".clone_into(&mut answer.text);
        return;
    }
    let observation = |brief: &Brief| {
        let project =
            if brief.project.is_empty() { String::new() } else { format!(" | {}", brief.project) };
        let mark = if brief.superseded { " (superseded)" } else { "" };
        let preview = if brief.preview.is_empty() || brief.preview == brief.title {
            String::new()
        } else {
            format!(": {}", brief.preview)
        };
        format!("- #{} [{}] {}{project}{mark}{preview}", brief.id, brief.kind, brief.title)
    };
    let session = |session: &SessionView| {
        let state = if session.ended_at.is_some() { "ended" } else { "active" };
        let summary = session.summary.as_deref().map(|text| wording::shortened(text, 100));
        let summary = summary.map(|text| format!(" — {text}")).unwrap_or_default();
        format!("- **{}** ({}, {state}){summary}", session.id, session.project)
    };
    let prompt = |prompt: &PromptView| {
        format!("- {}: {}", prompt.created_at, wording::shortened(&prompt.content, 120))
    };
    let parts: [(&str, Vec<String>); 4] = [
        ("## Pinned", answer.pinned.iter().map(observation).collect()),
        ("## Recent Sessions", answer.sessions.iter().map(session).collect()),
        ("## Recent Observations", answer.memories.iter().map(observation).collect()),
        ("## Recent Prompts", answer.prompts.iter().map(prompt).collect()),
    ];
    let room = budget.saturating_sub(footer.len() + 80);
    let mut text = String::new();
    for (heading, lines) in parts {
        if lines.is_empty() {
            continue;
        }
        let mut begun = false;
        for line in lines {
            let start = if begun { 0 } else { heading.len() + 2 };
            if text.len() + start + line.len() + 2 > room {
                left_out += 1;
                continue;
            }
            if !begun {
                // Writing to a text cannot fail.
                let _ = writeln!(text, "{heading}");
                begun = true;
            }
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{line}");
        }
        if begun {
            text.push('\n');
        }
    }
    if left_out > 0 {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "({left_out} more did not fit; search for what you need)\n");
    }
    text.push_str(footer);
    answer.text = text;
    answer.left_out = left_out;
}
