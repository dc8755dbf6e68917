//! The tools over memories: recall, get, save and relate, as far as a run may see.
//!
//! What must stay true: a memory that a run may not know of is answered like one that is not there; every memory whose
//! words were given out is in `cited`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use api::Fault;
use api::context::ContextRequest;
use api::graph::RelateRequest;
use api::mind::MemoryRecallRequest;
use api::read::{GetAnswer, GetRequest};
use api::save::SaveRequest;
use api::search::{HitView, SearchRequest};
use api::session::SessionEndRequest;
use mind::active_days::TALENT_KEYS;
use runs::process::{ToolAnswer, ToolScene};
use serde::Deserialize;
use serde_json::{Value, json};
use talents::Facet;

use super::conversation::is_open;
use super::{ABOUT, MemoryTools, ToolResult, told};

/// What one call gives of a memory; the rest can be asked for.
const CONTENT_BYTES_MAX: usize = 60_000;
/// Memories one recall gives.
const RECALL_MAX: usize = 30;
const RECALL_DEFAULT: usize = 8;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecallArgs {
    #[serde(default)]
    query: String,
    #[serde(default)]
    memory_types: Vec<String>,
    mode: Option<String>,
    sort_by: Option<String>,
    limit: Option<usize>,
    kind: Option<String>,
    since: Option<String>,
    until: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GetArgs {
    id: u64,
    from: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SaveArgs {
    title: String,
    content: String,
    kind: Option<String>,
    topic_key: Option<String>,
    project: Option<String>,
    #[serde(default)]
    personal: bool,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    derived_from: Vec<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RelateArgs {
    from: u64,
    relation: String,
    to: u64,
}

impl MemoryTools {
    pub(super) async fn recall(
        &self,
        scene: &ToolScene,
        args: RecallArgs,
    ) -> ToolResult<ToolAnswer> {
        let is_shared = self.is_shared(scene).await?;
        let narrowed = args.kind.is_some() || args.since.is_some() || args.until.is_some();
        let listed = args.mode.as_deref().is_some_and(|mode| mode != "hybrid")
            || !args.memory_types.is_empty()
            || args.query.trim().is_empty();
        if listed || is_shared && !narrowed {
            return self.recall_by_mode(scene, args, is_shared).await;
        }
        let request = SearchRequest {
            query: args.query,
            kind: args.kind,
            project: scene.facet.as_ref().map(ToString::to_string),
            since: args.since,
            until: args.until,
            limit: Some(args.limit.unwrap_or(RECALL_DEFAULT).clamp(1, RECALL_MAX)),
            ..SearchRequest::default()
        };
        let mut found = self.memory.ask(scene.talent.as_str(), request).await.map_err(told)?;
        if is_shared {
            let mut open = Vec::new();
            for hit in found.hits {
                if self.visible(scene, hit.id, true).await.is_ok() {
                    open.push(hit);
                }
            }
            (found.hits, found.elsewhere) = (open, None);
        }
        let cited = found.hits.iter().map(|hit| hit.id).collect();
        let memories: Vec<Value> = found.hits.iter().map(hit_value).collect();
        // What lies in other projects is none of this run's business.
        let elsewhere = found.elsewhere.filter(|_| scene.facet.is_none());
        let value = json!({"about": ABOUT, "memories": memories, "elsewhere": elsewhere});
        Ok(ToolAnswer { value, cited })
    }

    /// As the mind itself asks: by mode and types, with a query or without. What others must not read is not even
    /// ranked.
    async fn recall_by_mode(
        &self,
        scene: &ToolScene,
        args: RecallArgs,
        shared: bool,
    ) -> ToolResult<ToolAnswer> {
        let by = scene.talent.as_str();
        let request = MemoryRecallRequest {
            query: args.query,
            memory_types: args.memory_types,
            mode: args.mode,
            sort_by: args.sort_by,
            limit: Some(args.limit.unwrap_or(RECALL_DEFAULT).clamp(1, RECALL_MAX)),
            shared,
        };
        let mut found = self.memory.ask(by, request).await.map_err(told)?;
        if let Some(facet) = &scene.facet {
            let project = self.project(by, facet).await?;
            found.memories.retain(|one| one.project.is_empty() || one.project == project);
        }
        let cited = found.memories.iter().map(|one| one.id).collect();
        let value = json!({"about": ABOUT, "memories": found.memories, "found": found.found});
        Ok(ToolAnswer { value, cited })
    }

    pub(super) async fn get(&self, scene: &ToolScene, args: GetArgs) -> ToolResult<ToolAnswer> {
        let found = self.visible(scene, args.id, false).await?;
        let memory = &found.memory;
        let (text, next_from) = part(&memory.content, args.from.unwrap_or_default());
        let value = json!({
            "about": ABOUT,
            "id": memory.id,
            "title": memory.title,
            "content": text,
            "next_from": next_from,
            "kind": memory.kind,
            "memory_type": memory.memory_type,
            "project": memory.project,
            "topic_key": memory.topic_key,
            "tags": memory.tags,
            "fields": memory.fields,
            "version": memory.version,
            "created_at": memory.created_at,
            "updated_at": memory.updated_at,
            "by": memory.by,
            "author": memory.author,
            "proposed": memory.proposed,
            "superseded_by": found.superseded_by,
            "contradicted_by": found.contradicted_by,
        });
        Ok(ToolAnswer { value, cited: vec![memory.id] })
    }

    /// A memory that this run may know of. One that it may not is answered like one that is not there.
    async fn visible(&self, scene: &ToolScene, id: u64, quiet: bool) -> ToolResult<GetAnswer> {
        let by = scene.talent.as_str();
        let request = GetRequest { id, quiet, ..GetRequest::default() };
        let found = self.memory.ask(by, request).await.map_err(told)?;
        if self.is_shared(scene).await? && !is_open(&found.memory) {
            return Err(told(service::Error::missing("memory", id).into()));
        }
        let project = &found.memory.project;
        if let Some(facet) = &scene.facet
            && !project.is_empty()
            && *project != self.project(by, facet).await?
        {
            return Err(told(service::Error::missing("memory", id).into()));
        }
        Ok(found)
    }

    /// The project that a facet means.
    pub(crate) async fn project(&self, by: &str, facet: &Facet) -> ToolResult<String> {
        let meant = |map: &Mutex<BTreeMap<Facet, String>>| {
            map.lock().unwrap_or_else(PoisonError::into_inner).get(facet).cloned()
        };
        if let Some(name) = meant(&self.meant) {
            return Ok(name);
        }
        let request = ContextRequest {
            project: Some(facet.to_string()),
            limit: Some(1),
            ..ContextRequest::default()
        };
        let name = self.memory.ask(by, request).await.map_err(told)?.project;
        let mut map = self.meant.lock().unwrap_or_else(PoisonError::into_inner);
        map.insert(facet.clone(), name.clone());
        Ok(name)
    }

    pub(super) async fn save(&self, scene: &ToolScene, args: SaveArgs) -> ToolResult<ToolAnswer> {
        let by = scene.talent.as_str();
        let mut derived_from = Vec::new();
        for id in args.derived_from {
            let memory = self.visible(scene, id, true).await?.memory;
            derived_from.push(format!("{id}#{}", memory.version));
        }
        let facet = scene.facet.as_ref().map(ToString::to_string);
        // What was said to its owner alone stays with the owner.
        let private = scene.channel.is_some() && !self.is_shared(scene).await?;
        // A session of its own: what a run saves belongs together, and not to whoever happens to work now.
        let session = format!("{TALENT_KEYS}{}-{}", scene.talent, scene.use_id);
        let request = SaveRequest {
            title: args.title,
            content: args.content,
            kind: args.kind,
            topic_key: args.topic_key,
            project: facet.or(args.project),
            scope: args.personal.then(|| "personal".to_owned()),
            tags: args.tags,
            session_id: Some(session.clone()),
            channel: Some(scene.channel.clone().unwrap_or_else(|| "talent".to_owned())),
            visibility: private.then(|| "private".to_owned()),
            source: Some("derived".to_owned()),
            origin: Some(format!("talent-run/{}", scene.use_id)),
            derived_from,
            ..SaveRequest::default()
        };
        let saved = self.memory.ask(by, request).await.map_err(told)?;
        self.end_session(by, session).await?;
        let similar: Vec<Value> = saved
            .similar
            .iter()
            .map(|near| json!({"id": near.id, "title": near.title, "nearness": near.nearness}))
            .collect();
        let value = json!({
            "id": saved.id,
            "version": saved.version,
            "status": saved.status,
            "topic_key": saved.topic_key,
            "suggested_topic_key": saved.suggested_topic_key,
            "project": saved.project,
            "redacted": saved.redacted,
            "similar": similar,
        });
        // The titles of what is near were given out, too.
        Ok(ToolAnswer { value, cited: saved.similar.iter().map(|near| near.id).collect() })
    }

    /// A session that stays open would take in what others save later.
    async fn end_session(&self, by: &str, id: String) -> ToolResult<()> {
        let is_new = {
            let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
            ended.insert(id.clone())
        };
        if !is_new {
            return Ok(());
        }
        match self.memory.ask(by, SessionEndRequest { id, summary: None }).await {
            Ok(_) => Ok(()),
            // A save that was only counted opened none.
            Err(error) if matches!(error.fault, Fault::Missing | Fault::Conflict) => Ok(()),
            Err(error) => Err(told(error)),
        }
    }

    pub(super) async fn relate(
        &self,
        scene: &ToolScene,
        args: &RelateArgs,
    ) -> ToolResult<ToolAnswer> {
        for id in [args.from, args.to] {
            self.visible(scene, id, true).await?;
        }
        let request = RelateRequest {
            from_obs_id: args.from,
            to_obs_id: args.to,
            relation_type: args.relation.clone(),
            weight: None,
        };
        let edge = self.memory.ask(scene.talent.as_str(), request).await.map_err(told)?;
        let value = json!({
            "from": edge.edge.from_obs_id,
            "relation": edge.edge.relation_type,
            "to": edge.edge.to_obs_id,
            "changed": edge.changed,
        });
        Ok(ToolAnswer { value, cited: Vec::new() })
    }
}

fn hit_value(hit: &HitView) -> Value {
    json!({
        "id": hit.id,
        "title": hit.title,
        "preview": hit.preview,
        "more": hit.cut,
        "kind": hit.kind,
        "project": hit.project,
        "topic_key": hit.topic_key,
        "updated_at": hit.updated_at,
        "standing": hit.standing,
        "superseded_by": hit.superseded_by.iter().map(|other| other.id).collect::<Vec<_>>(),
        "contradicts": hit.contradicts.iter().map(|other| other.id).collect::<Vec<_>>(),
        "author": hit.author,
        "proposed": hit.proposed,
        "rank": hit.rank,
    })
}

/// A part of a text, and where the next one begins.
fn part(whole: &str, from: usize) -> (&str, Option<usize>) {
    let from = whole.floor_char_boundary(from.min(whole.len()));
    let to = whole.floor_char_boundary((from + CONTENT_BYTES_MAX).min(whole.len()));
    (&whole[from..to], (to < whole.len()).then_some(to))
}
