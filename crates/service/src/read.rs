//! One memory, its versions, and lists of memories.

use std::ops::ControlFlow;

use api::memory::VersionView;
use api::read::{GetAnswer, GetRequest, LIST_MAX, ListAnswer, ListRequest};
use kernel::grants::Permission;
use kernel::keys::{self, Index};
use kernel::memory::{Head, MemoryId, MemoryType};
use kernel::render::{self, Form};
use kernel::uri::Uri;

use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::{Service, parse, views, wording};

pub(super) fn memory_id(id: u64) -> Result<MemoryId> {
    MemoryId::new(id).ok_or_else(|| Error::invalid("id", "is required; ids count from 1"))
}

impl Service {
    /// A memory in full. Counts as an access, unless it is to be quiet.
    pub fn get(&self, caller: &Caller, request: GetRequest) -> Result<GetAnswer> {
        self.again_if_poisoned(caller, || self.get_once(caller, request.clone()))
    }

    fn get_once(&self, caller: &Caller, request: GetRequest) -> Result<GetAnswer> {
        let uri = request.uri.as_deref().map(str::parse::<Uri>).transpose()?;
        let (id, version) = match &uri {
            Some(uri) if uri.actor == caller.actor => (uri.id, Some(uri.version)),
            Some(uri) => return Err(Error::missing("memory", uri)),
            None => (memory_id(request.id)?, request.version),
        };
        let form = request.form.as_deref().map(Form::parse).transpose()?;
        let access = self.access(caller, Permission::Read, &request)?;
        let reading = &access.reading;
        let found = match &access.authority {
            Some(authority) => access.cortex.resolve_for(authority, id, version, caller.now()?)?,
            None => reading.resolve_version(id, version)?,
        };
        if let Some(uri) = uri.filter(|uri| uri.memory_type != found.head.memory_type) {
            return Err(Error::missing("memory", uri));
        }
        let forgotten = found.head.tombstone.is_some() || found.head.erased;
        if forgotten && !request.include_put_away {
            return Err(Error::missing("memory", id)
                .with_hint(format!("it is forgotten; `cortex restore {id}` brings it back")));
        }
        let view = reading.view();
        let mut history = Vec::new();
        if request.history {
            for version in view.versions(id)? {
                let body = view.body(&version)?;
                history.push(VersionView {
                    version: version.n,
                    title: body.as_ref().map(|body| body.title.clone()).unwrap_or_default(),
                    content: body.map(|body| body.content).unwrap_or_default(),
                    created_at: version.created.rfc3339(),
                    by: version.by,
                });
            }
        }
        let (mut superseded_by, mut contradicted_by) = (Vec::new(), Vec::new());
        for edge in view.edges_in(id, 256)? {
            let ids = match edge.relation.name() {
                "supersedes" => &mut superseded_by,
                "contradicts" => &mut contradicted_by,
                _ => continue,
            };
            let other = view.head(edge.src)?;
            if other.is_some_and(|head| access.gate().is_none_or(|gate| gate.sees(&head))) {
                ids.push(edge.src.get());
            }
        }
        let body = found.body.as_ref();
        let text = form.map(|form| render::render(&found.head, &found.version, body, form));
        let rules = self.rule_authors();
        let uri = reading.uri(&found.head, found.version.n).to_string();
        let memory = views::memory(uri, &found.head, &found.version, &found.usage, body, rules);
        if !forgotten && !request.quiet {
            self.note_opened(caller, &[id])?;
        }
        Ok(GetAnswer { memory, history, superseded_by, contradicted_by, text })
    }

    /// Memories by what their heads say, newest first.
    pub fn list(&self, caller: &Caller, request: ListRequest) -> Result<ListAnswer> {
        self.again_if_poisoned(caller, || self.list_once(caller, request.clone()))
    }

    fn list_once(&self, caller: &Caller, request: ListRequest) -> Result<ListAnswer> {
        let access = self.access(caller, Permission::Find, &request)?;
        let reading = &access.reading;
        let view = reading.view();
        let named = request.project.as_deref().filter(|name| !wording::is_every_project(name));
        let project = named.map(|name| {
            self.named(&caller.actor, name).ok_or_else(|| Error::invalid("project", "is empty"))
        });
        let project = project.transpose()?;
        let indexes: Vec<Index> = match (&request.session_id, &request.tag, &project) {
            (Some(session), _, _) => vec![keys::by_session(session)],
            (None, Some(tag), _) => vec![keys::by_tag(tag)],
            (None, None, Some(project)) => vec![keys::by_project(project)],
            (None, None, None) => MemoryType::ALL.iter().map(|t| keys::by_type(*t)).collect(),
        };
        let mut ids: Vec<MemoryId> = Vec::new();
        for index in &indexes {
            view.scan_index(index, None, true, &mut |id| {
                ids.push(id);
                Ok(ControlFlow::Continue(()))
            })?;
        }
        ids.sort_unstable_by(|a, b| b.cmp(a));
        let scope =
            request.scope.as_deref().map(|scope| crate::normalized_save::scope_of(Some(scope)));
        let kind = request.kind.as_deref().map(crate::normalized_save::normal_kind);
        let since = request.since.as_deref().map(parse::time).transpose()?;
        let by = request.by.as_deref();
        let wrote = |head: &Head| -> Result<bool> {
            let version = by.map(|_| view.required_version(head.id, head.version)).transpose()?;
            Ok(version.is_none_or(|version| Some(version.by.as_str()) == by))
        };
        let limit = request.limit.unwrap_or(20).min(LIST_MAX);
        let (mut memories, mut total) = (Vec::new(), 0);
        for id in ids {
            let head = view.required_head(id)?;
            let shown = match (request.forgotten, request.archived) {
                (true, _) => head.tombstone.is_some() && !head.erased,
                (false, true) => head.archived && head.tombstone.is_none(),
                (false, false) => views::is_live(&head),
            };
            let wanted = shown
                && access.gate().is_none_or(|gate| gate.sees(&head))
                && project.as_ref().is_none_or(|name| head.project.as_ref() == Some(name))
                && scope.is_none_or(|scope| head.scope == scope)
                && request.tag.as_ref().is_none_or(|tag| head.tags.contains(tag))
                && kind.as_ref().is_none_or(|kind| head.kind == *kind)
                && since.is_none_or(|since| head.created >= since);
            if !wanted || !wrote(&head)? {
                continue;
            }
            if total >= request.offset && memories.len() < limit {
                let mut memory = views::current(reading, id, self.rule_authors())?;
                if let Some(chars) = request.preview {
                    memory.content = wording::shortened(&memory.content, chars);
                }
                memories.push(memory);
            }
            total += 1;
        }
        access.budget().keep(&mut memories, |memory| {
            render::tokens(&memory.title).saturating_add(render::tokens(&memory.content))
        });
        Ok(ListAnswer { memories, total })
    }
}
