//! Which operations tell somebody of memories.
//!
//! A person who looks is not told: quiet questions are left out, and of a context only what an agent gets counts. A
//! hook that told nothing told nobody.

use std::any::Any;

use api::bulletin::{BulletinAnswer, BulletinRequest};
use api::bundle::{BundleAnswer, BundleRequest};
use api::context::{ContextAnswer, ContextRequest};
use api::hook::{HookAnswer, HookMoment, HookRequest};
use api::mind::{MemoryRecallAnswer, MemoryRecallRequest};
use api::read::{GetAnswer, GetRequest};
use api::search::{SearchAnswer, SearchRequest};
use service::Caller;

use super::Host;
use crate::feed::Telling;

/// What a request says about a telling, before it is answered.
#[derive(Debug, Default)]
pub(crate) struct NotedRequest {
    question: String,
    project: String,
    /// Of a hook: the moment at which it told, and which agent.
    hook: Option<(&'static str, String)>,
}

impl Host {
    /// What to keep of a request that tells somebody of memories; `None` if it does not.
    pub(crate) fn note(&self, caller: &Caller, request: &dyn Any) -> Option<NotedRequest> {
        let to_agent = !caller.author.is_person();
        let noted = |question: &str, project: Option<&String>| NotedRequest {
            question: question.to_owned(),
            project: project.or(caller.project.as_ref()).cloned().unwrap_or_default(),
            hook: None,
        };
        if let Some(asked) = request.downcast_ref::<HookRequest>() {
            return self.noted_hook(caller, asked);
        }
        if let Some(asked) = request.downcast_ref::<SearchRequest>() {
            return (!asked.quiet).then(|| noted(&asked.query, asked.project.as_ref()));
        }
        if let Some(asked) = request.downcast_ref::<GetRequest>() {
            return (!asked.quiet).then(|| noted("", None));
        }
        if !to_agent {
            return None;
        }
        if let Some(asked) = request.downcast_ref::<ContextRequest>() {
            return Some(noted("", asked.project.as_ref()));
        }
        if let Some(asked) = request.downcast_ref::<BundleRequest>() {
            return Some(noted(asked.about.as_deref().unwrap_or_default(), asked.project.as_ref()));
        }
        if let Some(asked) = request.downcast_ref::<MemoryRecallRequest>() {
            return Some(noted(&asked.query, None));
        }
        let bulletin = request.downcast_ref::<BulletinRequest>()?;
        bulletin.as_prompt.then(|| noted("", bulletin.project.as_ref()))
    }

    /// Of a hook: what the agent was about to do, without what is private in it.
    fn noted_hook(&self, caller: &Caller, asked: &HookRequest) -> Option<NotedRequest> {
        let (moment, question) = match asked.moment {
            HookMoment::SessionStart => ("session_start", None),
            HookMoment::Prompt => ("prompt", asked.prompt.as_deref()),
            HookMoment::PreTool => ("tool", asked.file.as_deref().or(asked.command.as_deref())),
            _ => return None,
        };
        (!asked.preview).then(|| NotedRequest {
            question: self.service.screen().text(question.unwrap_or_default()).trim().to_owned(),
            project: self.service.project(caller, None).unwrap_or_default(),
            hook: Some((moment, asked.agent.clone())),
        })
    }

    /// Keeps what was told. Whoever asked has the answer in any case.
    pub(crate) fn told(
        &self,
        caller: &Caller,
        operation: &'static str,
        noted: NotedRequest,
        answer: &dyn Any,
    ) {
        let ids = ids_of(answer);
        let Ok(at) = caller.now() else { return };
        if ids.is_empty() && (noted.question.is_empty() || noted.hook.is_some()) {
            return;
        }
        let (operation, by) = noted.hook.unwrap_or_else(|| (operation, caller.by.clone()));
        let telling = Telling {
            number: 0,
            at,
            by,
            author: caller.author,
            operation,
            project: noted.project,
            question: noted.question,
            total: ids.len(),
            ids,
        };
        self.feed.keep(&caller.actor, telling);
    }
}

fn ids_of(answer: &dyn Any) -> Vec<u64> {
    if let Some(found) = answer.downcast_ref::<SearchAnswer>() {
        return found.hits.iter().map(|hit| hit.id).collect();
    }
    if let Some(got) = answer.downcast_ref::<GetAnswer>() {
        return vec![got.memory.id];
    }
    if let Some(context) = answer.downcast_ref::<ContextAnswer>() {
        return context.pinned.iter().chain(&context.memories).map(|brief| brief.id).collect();
    }
    if let Some(bundle) = answer.downcast_ref::<BundleAnswer>() {
        let items = bundle.pinned.iter().chain(&bundle.relevant).chain(&bundle.outcomes);
        return items.filter_map(|item| id_in(&item.uri)).collect();
    }
    if let Some(told) = answer.downcast_ref::<HookAnswer>() {
        return told.memories.clone();
    }
    if let Some(recalled) = answer.downcast_ref::<MemoryRecallAnswer>() {
        return recalled.memories.iter().map(|memory| memory.id).collect();
    }
    let bulletin = answer.downcast_ref::<BulletinAnswer>().and_then(|one| one.bulletin.as_ref());
    bulletin.map(|bulletin| bulletin.cited.clone()).unwrap_or_default()
}

/// The id in `cortex://actor/Type/12#3`.
fn id_in(uri: &str) -> Option<u64> {
    uri.rsplit('/').next()?.split('#').next()?.parse().ok()
}
