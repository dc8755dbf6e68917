//! What there is: counts, projects, entities.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use kernel::keys;
use kernel::memory::{MemoryId, MemoryType};
use serde::{Deserialize, Serialize};

use super::caller::Caller;
use super::error::{Error, Result};
use super::read::memory_id;
use super::save::{EntityView, entities};
use super::{Ops, views, wording};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StatsRequest {}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct StatsAnswer {
    pub actor: String,
    pub sessions: u64,
    /// In sight: neither archived nor forgotten.
    pub observations: u64,
    pub archived: u64,
    pub forgotten: u64,
    pub prompts: u64,
    pub edges: u64,
    pub projects: Vec<String>,
    pub by_type: BTreeMap<String, u64>,
    pub entries: u64,
    pub file_bytes: u64,
    pub root: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProjectsRequest {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ProjectsAnswer {
    /// Latest activity first.
    pub projects: Vec<ProjectView>,
    /// There are more than are listed.
    pub capped: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ProjectView {
    pub name: String,
    pub memories: u64,
    pub last_activity: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MergeRequest {
    /// Names that are given up.
    pub from: Vec<String>,
    pub to: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct MergeAnswer {
    pub to: String,
    pub moved: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EntitiesRequest {
    pub id: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct EntitiesAnswer {
    pub id: u64,
    pub entities: Vec<EntityView>,
}

impl Ops {
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
            prompts: counters.prompts,
            edges: counters.edges,
            projects: view.projects()?.0.into_iter().collect(),
            by_type: by_type.collect(),
            entries: counters.size,
            file_bytes: cortex.size_bytes()?,
            root: reading.root()?.to_string(),
        })
    }

    pub fn projects(&self, caller: &Caller, _: ProjectsRequest) -> Result<ProjectsAnswer> {
        let (_, reading) = self.reading(caller)?;
        let view = reading.view();
        let (names, capped) = view.projects()?;
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
                found.push((
                    latest,
                    ProjectView { name, memories, last_activity: latest.rfc3339() },
                ));
            }
        }
        found.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.name.cmp(&b.1.name)));
        Ok(ProjectsAnswer { projects: found.into_iter().map(|(_, p)| p).collect(), capped })
    }

    /// Moves every memory of some projects to another name.
    pub fn merge_projects(&self, caller: &Caller, request: MergeRequest) -> Result<MergeAnswer> {
        let to = wording::normal_project(&request.to)
            .ok_or_else(|| Error::invalid("to", "name the project that stays"))?;
        let (cortex, reading) = self.reading(caller)?;
        let mut moved = 0;
        for from in &request.from {
            // A name from before names were normalised is given as it is.
            let mut ids: Vec<MemoryId> = Vec::new();
            reading.view().scan_index(&keys::by_project(from), None, false, &mut |id| {
                ids.push(id);
                Ok(ControlFlow::Continue(()))
            })?;
            if *from == to {
                continue;
            }
            for id in ids {
                let head = reading.view().required_head(id)?;
                if head.tombstone.is_some() || head.erased {
                    continue;
                }
                let patch = kernel::journal::HeadPatch {
                    project: Some(to.clone()),
                    ..kernel::journal::HeadPatch::default()
                };
                let reason = Some("projects merged".to_owned());
                let change = kernel::command::HeadRevision { id, expected: None, patch, reason };
                let command = kernel::command::Command::UpdateHead(change);
                let receipt = self.submit(&cortex, caller.plain_stamp()?, command)?;
                moved += u64::from(receipt.changed);
            }
        }
        Ok(MergeAnswer { to, moved })
    }

    /// Files, symbols, packages … that a memory names.
    pub fn entities(&self, caller: &Caller, request: EntitiesRequest) -> Result<EntitiesAnswer> {
        let id = memory_id(request.id)?;
        let (_, reading) = self.reading(caller)?;
        let found = reading.resolve_version(id, None)?;
        let named = found.body.map(|body| entities(&body.title, &body.content));
        Ok(EntitiesAnswer { id: id.get(), entities: named.unwrap_or_default() })
    }
}
