//! Search: a question in ordinary words. Titles and previews; the whole text is another step.

use ::recall::search::{Answer, Arm, LIMIT_MAX, Query};
use kernel::find::Standing;
use kernel::memory::{MemoryId, MemoryType};
use kernel::scope::Operation as Lane;
use serde::{Deserialize, Serialize};

use super::caller::Caller;
use super::error::{Error, Result};
use super::parse;
use super::save::{normal_kind, scope_of};
use super::{Ops, recall, wording};

/// Hits whose use is noted per search.
const NOTED_MAX: usize = 10;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SearchRequest {
    pub query: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    pub memory_types: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// All of them.
    pub tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
    pub include_forgotten: bool,
    pub include_archived: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// True: looking is not using.
    pub quiet: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SearchAnswer {
    pub query: String,
    /// Best first.
    pub hits: Vec<HitView>,
    /// Memories that were looked at.
    pub candidates: usize,
    /// Which arms found something: `text`, or `text + vectors`.
    pub mode: String,
    /// Nothing was found where it was looked for, but this much elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct HitView {
    pub id: u64,
    pub title: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub memory_type: String,
    pub project: String,
    pub scope: String,
    pub session_id: String,
    pub topic_key: String,
    pub created_at: String,
    pub updated_at: String,
    pub uri: String,
    /// At most 300 characters around the best passage.
    pub preview: String,
    /// True if there is more to read.
    pub cut: bool,
    /// 0 to 1.
    pub rank: f64,
    /// What the full text costs.
    pub tokens: u32,
    /// current, superseded …
    pub standing: String,
    pub pinned: bool,
    pub arms: Vec<ArmView>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ArmView {
    pub arm: String,
    pub rank: usize,
    pub score: f64,
    pub weight: f64,
}

impl Ops {
    pub fn search(&self, caller: &Caller, request: SearchRequest) -> Result<SearchAnswer> {
        let limit = request.limit.unwrap_or(10);
        if limit == 0 || limit > LIMIT_MAX {
            return Err(Error::invalid("limit", format!("must lie between 1 and {LIMIT_MAX}")));
        }
        let time = |text: &Option<String>| text.as_deref().map(parse::time).transpose();
        let types = request.memory_types.iter().map(|name| MemoryType::parse(name));
        let query = Query {
            project: request.project.as_deref().and_then(wording::normal_project),
            scope: request.scope.as_deref().map(|scope| scope_of(Some(scope))),
            types: types.collect::<kernel::Result<_>>()?,
            kinds: request.kind.as_deref().map(normal_kind).into_iter().collect(),
            tags: request.tags.clone(),
            session: request.session_id.clone(),
            created_from: time(&request.since)?,
            created_until: time(&request.until)?,
            as_of: time(&request.as_of)?,
            include_forgotten: request.include_forgotten,
            include_archived: request.include_archived,
            ..Query::new(request.query.clone(), limit)
        };
        let door = self.door(caller, Lane::Find, &request)?;
        let reading = &door.reading;
        let now = caller.now()?;
        let answer = recall::search(reading, door.gate(), &query, now)?;
        let mut elsewhere = None;
        if answer.hits.is_empty()
            && let Some(project) = &query.project
        {
            let anywhere = Query { project: None, ..query.clone() };
            let other = recall::search(reading, door.gate(), &anywhere, now)?;
            elsewhere = found_elsewhere(&other, project);
        }
        if !request.quiet {
            let used: Vec<MemoryId> =
                answer.hits.iter().take(NOTED_MAX).map(|hit| hit.id).collect();
            self.note_accesses(caller, &used)?;
        }
        let meaning = answer
            .hits
            .iter()
            .flat_map(|hit| &hit.arms)
            .any(|arm| arm.score > 0 && matches!(arm.arm, Arm::Meaning | Arm::Interaction));
        let hits = answer.hits.iter().map(|hit| {
            let body = hit.body.as_ref();
            let whole = body.map_or(0, |body| body.title.len() + body.content.len());
            HitView {
                id: hit.id.get(),
                title: body.map(|body| body.title.clone()).unwrap_or_default(),
                kind: hit.head.kind.clone(),
                memory_type: hit.head.memory_type.name().to_owned(),
                project: hit.head.project.clone().unwrap_or_default(),
                scope: hit.head.scope.name().to_owned(),
                session_id: hit.head.session.clone().unwrap_or_default(),
                topic_key: hit.head.topic_key.clone().unwrap_or_default(),
                created_at: hit.head.created.rfc3339(),
                updated_at: hit.head.updated.rfc3339(),
                uri: reading.uri(&hit.head, hit.version.n).to_string(),
                preview: wording::shortened(&hit.preview, 300),
                cut: hit.preview.len() < whole,
                rank: ratio(hit.score),
                tokens: hit.tokens,
                standing: standing_name(hit.standing),
                pinned: hit.head.pinned,
                arms: hit.arms.iter().map(arm_view).collect(),
            }
        });
        Ok(SearchAnswer {
            hits: hits.collect(),
            candidates: answer.candidates,
            mode: if meaning { "text + vectors" } else { "text" }.to_owned(),
            elsewhere,
            query: request.query,
        })
    }
}

fn standing_name(standing: Standing) -> String {
    standing.name().to_owned()
}

fn arm_view(arm: &::recall::search::ArmScore) -> ArmView {
    ArmView {
        arm: arm.arm.name().to_owned(),
        rank: arm.rank,
        score: ratio(arm.score),
        weight: f64::from(arm.weight) / 100.0,
    }
}

fn ratio(ppm: u64) -> f64 {
    parse::from_ppm(u32::try_from(ppm).unwrap_or(u32::MAX))
}

/// "0 hits in web, but 7 elsewhere: api (5), docs (2)".
fn found_elsewhere(other: &Answer, project: &str) -> Option<String> {
    if other.hits.is_empty() {
        return None;
    }
    let mut counts = std::collections::BTreeMap::new();
    for hit in &other.hits {
        *counts.entry(hit.head.project.as_deref().unwrap_or("no project")).or_insert(0_usize) += 1;
    }
    let named: Vec<String> = counts.iter().map(|(name, n)| format!("{name} ({n})")).collect();
    let count = other.hits.len();
    Some(format!("nothing in {project}, but {count} elsewhere: {}", named.join(", ")))
}
