//! What an agent should know when it starts: pinned memories, recent sessions, prompts and memories, within a budget.
//!
//! A delegate gets the memories that its grant shows, and nothing else.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use api::context::{BYTES_DEFAULT, BYTES_MAX, ContextAnswer, ContextRequest, LIMIT_MAX};
use api::memory::Brief;
use api::prompt::PromptView;
use api::render::model::{self, ContextRoom, ContextText};
use api::render::untrusted;
use api::session::SessionView;
use kernel::context::RuleAuthors;
use kernel::grants::Permission;
use kernel::keys::{self, Index};
use kernel::memory::{Head, MemoryId, MemoryType, Millis, Scope};
use kernel::store::View;

use crate::access::ActorAccess;
use crate::caller::Caller;
use crate::default_session::is_default;
use crate::error::Result;
use crate::journal_tail::each_session;
use crate::normalized_save::scope_of;
use crate::prompt::{prompt_numbers, prompt_view};
use crate::{Service, learned, score, session, views};
use intake::project::alias::Aliases;

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
        let project =
            self.read_project(caller, request.project.as_deref(), request.default_project);
        let scope = request.scope.as_deref().map(|scope| scope_of(Some(scope)));
        let limit = request.limit.filter(|n| *n > 0).unwrap_or(20).min(LIMIT_MAX);
        let rules = self.rule_authors();
        let wanted = ContextChoice { project: project.as_deref(), scope, limit, rules };
        let (mut pinned, mut memories) = chosen(caller, &access, &wanted)?;
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
        let listed = answer.pinned.iter().chain(&answer.memories);
        let listed: Vec<MemoryId> = listed.filter_map(|brief| MemoryId::new(brief.id)).collect();
        self.note_shown(caller, &listed)?;
        answer.project = project.unwrap_or_default();
        let room = match request.max_tokens {
            Some(tokens) => ContextRoom::Tokens(tokens),
            None => ContextRoom::Bytes(request.max_bytes.unwrap_or(BYTES_DEFAULT).min(BYTES_MAX)),
        };
        let ContextText { text, left_out } = model::context(&answer, room, left_out, &footer);
        Ok(ContextAnswer { text, left_out, ..answer })
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
        if projects.is_empty() {
            "none yet".to_owned()
        } else {
            untrusted::line(&projects.join(", "))
        },
    ))
}

/// What of the memories a context is about.
struct ContextChoice<'a> {
    project: Option<&'a str>,
    scope: Option<Scope>,
    limit: usize,
    rules: RuleAuthors,
}

/// Pinned ones first; then, of the newest, those that matter most, in the order of time.
fn chosen(
    caller: &Caller,
    access: &ActorAccess,
    choice: &ContextChoice<'_>,
) -> Result<(Vec<Brief>, Vec<Brief>)> {
    let ContextChoice { project, scope, limit, rules } = *choice;
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
    let mut dated = newest
        .into_iter()
        .map(|head| Ok((last_changed(&view, &head)?, head)))
        .collect::<Result<Vec<_>>>()?;
    dated.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.id.cmp(&a.1.id)));
    dated.truncate(LOOKED_AT);
    // Half by time alone, so that what just happened is there; half by what it is worth.
    let mut chosen: Vec<(Millis, Head)> =
        dated.drain(..dated.len().min(limit.div_ceil(2))).collect();
    let learned = learned::weights(&view)?;
    let mut rest = Vec::new();
    for (changed, head) in dated {
        let usage = view.usage(head.id)?;
        let superseded = usage.superseded > 0;
        let worth = match &learned {
            None => {
                let happened = views::when_happened(&view, &head)?;
                score::thousandths(&head, happened, &usage, now)
            }
            Some(weights) => learned::worth(&head, &usage, now, weights),
        };
        rest.push((superseded, std::cmp::Reverse(worth), (changed, head)));
    }
    rest.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(b.2.1.id.cmp(&a.2.1.id)));
    chosen.extend(rest.into_iter().take(limit - chosen.len()).map(|(_, _, dated)| dated));
    chosen.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.id.cmp(&a.1.id)));
    let chosen = chosen.into_iter().map(|(_, head)| head).collect();
    let briefs = |heads: Vec<Head>| {
        heads.iter().map(|head| views::brief(reading, head, 200, rules)).collect::<Result<Vec<_>>>()
    };
    Ok((briefs(pinned)?, briefs(chosen)?))
}

/// When a memory last changed; of one that never did, when what it says happened. An import of old notes is no news.
fn last_changed(view: &View<'_>, head: &Head) -> kernel::Result<Millis> {
    if head.updated > head.created { Ok(head.updated) } else { views::when_happened(view, head) }
}
