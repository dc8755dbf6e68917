//! What there is: counts, projects, entities.

use std::ops::ControlFlow;

use api::stats::{
    ActorFolder, ActorListAnswer, ActorListRequest, EntitiesAnswer, EntitiesRequest,
    EntityListAnswer, EntityListRequest, NamedEntityView, ProjectView, ProjectsAnswer,
    ProjectsRequest, StatsAnswer, StatsRequest,
};
use kernel::grants::Permission;
use kernel::keys;
use kernel::memory::MemoryType;
use recall::entity_rows;
use text::entities::EntityKind;

use crate::access::only_owner;
use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::read::memory_id;
use crate::save::entities;
use crate::{Service, views};

impl Service {
    pub fn stats(&self, caller: &Caller, _: StatsRequest) -> Result<StatsAnswer> {
        let (cortex, reading) = self.reading(caller)?;
        let view = reading.view();
        let counters = view.counters()?;
        let by_type = MemoryType::ALL
            .iter()
            .map(|t| (t.name().to_owned(), counters.live_of(*t)))
            .filter(|(_, count)| *count > 0);
        Ok(StatsAnswer {
            actor: caller.actor.as_str().to_owned(),
            sessions: counters.sessions,
            observations: counters.live().saturating_sub(counters.archived),
            archived: counters.archived,
            forgotten: counters.tombstoned,
            erased: counters.erased,
            prompts: counters.prompts,
            edges: counters.edges,
            projects: view.projects()?.0.into_iter().collect(),
            by_type: by_type.collect(),
            snapshots: counters.snapshot.map_or(0, |snapshot| snapshot.number),
            entries: counters.size,
            last_entry_at: (counters.size > 0).then(|| counters.at.rfc3339()),
            file_bytes: cortex.size_bytes()?,
            root: reading.root()?.to_string(),
        })
    }

    pub fn projects(&self, caller: &Caller, _: ProjectsRequest) -> Result<ProjectsAnswer> {
        let (_, reading) = self.reading(caller)?;
        let view = reading.view();
        let (names, capped) = view.projects()?;
        let table = self.project_table(&caller.actor)?;
        let aliases = &table.aliases;
        let mut found = Vec::new();
        for name in names {
            let mut memories = 0;
            let mut latest = kernel::memory::Millis(i64::MIN);
            view.scan_index(&keys::by_project(&name), None, true, &mut |id| {
                let head = view.required_head(id)?;
                if views::is_live(&head) {
                    memories += 1;
                    latest = latest.max(head.updated);
                }
                Ok(ControlFlow::Continue(()))
            })?;
            if memories > 0 {
                let names = aliases.pairs().filter(|(_, project)| *project == name);
                let aliases = names.map(|(alias, _)| alias.to_owned()).collect();
                let last_activity = latest.rfc3339();
                let remotes = table.remotes_of(&name).map(str::to_owned).collect();
                let project = ProjectView { name, memories, last_activity, aliases, remotes };
                found.push((latest, project));
            }
        }
        found.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.name.cmp(&b.1.name)));
        Ok(ProjectsAnswer { projects: found.into_iter().map(|(_, p)| p).collect(), capped })
    }

    /// Whose memory the home holds.
    pub fn actors(&self, caller: &Caller, _: ActorListRequest) -> Result<ActorListAnswer> {
        only_owner(caller, "list actors")?;
        let actors = self.home.actors()?.into_iter().map(|name| ActorFolder {
            folder: self.home.actor_folder(&name).display().to_string(),
            actor: name.as_str().to_owned(),
        });
        Ok(ActorListAnswer { actors: actors.collect() })
    }

    /// Files, symbols, packages … that a memory names.
    pub fn entities(&self, caller: &Caller, request: EntitiesRequest) -> Result<EntitiesAnswer> {
        let id = memory_id(request.id)?;
        let access = self.access(caller, Permission::Read, &request)?;
        let found = match &access.authority {
            Some(authority) => access.cortex.resolve_for(authority, id, None, caller.now()?)?,
            None => access.reading.resolve_version(id, None)?,
        };
        let named = found.body.map(|body| entities(&body.title, &body.content));
        Ok(EntitiesAnswer { id: id.get(), entities: named.unwrap_or_default() })
    }

    /// Files, symbols, packages … that memories name.
    pub fn entity_list(
        &self,
        caller: &Caller,
        request: EntityListRequest,
    ) -> Result<EntityListAnswer> {
        let kind = |name: &String| {
            EntityKind::parse(name).ok_or_else(|| {
                let kinds = EntityKind::ALL.map(EntityKind::name).join(", ");
                Error::invalid("type", format!("no kind of entity {name:?}; use {kinds}"))
            })
        };
        let kind = request.kind.as_ref().map(kind).transpose()?;
        let project = self.read_project(caller, request.project.as_deref(), false);
        let access = self.access(caller, Permission::Find, &request)?;
        let (gate, now) = (access.gate(), caller.now()?);
        let listed = entity_rows::list(&access.reading, gate, kind, project.as_deref(), now)?;
        let total = listed.len();
        let limit = request.limit.unwrap_or(50);
        let view = |listed: entity_rows::EntityCount| NamedEntityView {
            kind: listed.entity.kind.name().to_owned(),
            value: listed.entity.value,
            memories: listed.memories,
        };
        Ok(EntityListAnswer { entities: listed.into_iter().take(limit).map(view).collect(), total })
    }
}
