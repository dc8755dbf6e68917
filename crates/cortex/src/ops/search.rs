//! Search: a question in ordinary words. Titles and previews; the whole text is another step.

use ::recall::search::{
    Arm, Hit, LIMIT_MAX, LinkedMemory, SearchOutcome, SearchQuery, SpeakerBoost,
};
use kernel::Reading;
use kernel::find::Standing;
use kernel::forms;
use kernel::memory::{MemoryId, MemoryType};
use kernel::scope::Operation as Lane;
use serde::{Deserialize, Serialize};

use super::caller::Caller;
use super::door::again_if_poisoned;
use super::error::{Error, Result};
use super::parse;
use super::read::memory_id;
use super::wish::{normal_kind, scope_of};
use super::{Ops, newest, recall, wording};

/// Hits whose use is noted per search.
const NOTED_MAX: usize = 10;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SearchRequest {
    pub query: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Any of them, besides `type`.
    pub kinds: Vec<String>,
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
    /// What is near this memory by meaning, instead of what the words say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similar_to: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SearchAnswer {
    pub query: String,
    /// Best first.
    pub hits: Vec<HitView>,
    /// Memories that were looked at.
    pub candidates: usize,
    /// Which arms found something: `text`, or `text + vectors`; `newest` for a question without words.
    pub mode: String,
    /// Nothing was found where it was looked for, but this much elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
    /// The optional model that judged meaning, where memories have a vector of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Candidates whose meaning that model judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_model: Option<usize>,
    /// Why the chosen model did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
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
    /// What replaces it.
    pub superseded_by: Vec<NamedView>,
    /// What it contradicts or is contradicted by.
    pub contradicts: Vec<NamedView>,
    pub arms: Vec<ArmView>,
}

/// Another memory that a hit points at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct NamedView {
    pub id: u64,
    pub title: String,
}

impl From<&LinkedMemory> for NamedView {
    fn from(named: &LinkedMemory) -> NamedView {
        NamedView { id: named.id.get(), title: named.title.clone().unwrap_or_default() }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ArmView {
    pub arm: String,
    pub rank: usize,
    pub score: f64,
    pub weight: f64,
    /// The optional model that said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl SearchRequest {
    fn query(&self, project: Option<String>) -> Result<SearchQuery> {
        let limit = self.limit.unwrap_or(10);
        if limit == 0 || limit > LIMIT_MAX {
            return Err(Error::invalid("limit", format!("must lie between 1 and {LIMIT_MAX}")));
        }
        let time = |text: &Option<String>| text.as_deref().map(parse::time).transpose();
        let types = self.memory_types.iter().map(|name| MemoryType::parse(name));
        Ok(SearchQuery {
            project,
            scope: self.scope.as_deref().map(|scope| scope_of(Some(scope))),
            types: types.collect::<kernel::Result<_>>()?,
            kinds: self.kind.iter().chain(&self.kinds).map(|kind| normal_kind(kind)).collect(),
            tags: self.tags.clone(),
            session: self.session_id.clone(),
            created_from: time(&self.since)?,
            created_until: time(&self.until)?,
            as_of: time(&self.as_of)?,
            include_forgotten: self.include_forgotten,
            include_archived: self.include_archived,
            ..SearchQuery::new(self.query.clone(), limit)
        })
    }
}

impl Ops {
    pub fn search(&self, caller: &Caller, request: SearchRequest) -> Result<SearchAnswer> {
        again_if_poisoned(|| self.search_once(caller, request.clone()))
    }

    fn search_once(&self, caller: &Caller, request: SearchRequest) -> Result<SearchAnswer> {
        let project = request.project.as_deref().and_then(|name| self.named(&caller.actor, name));
        let mut query = request.query(project)?;
        let favoured = self.settings.favoured_speaker.as_deref();
        query.boost = favoured.map(|name| SpeakerBoost::new(name, self.settings.speaker_prior));
        let near = request.similar_to.map(memory_id).transpose()?;
        let door = self.door(caller, Lane::Find, &request)?;
        let reading = &door.reading;
        let now = caller.now()?;
        let mut note = None;
        let wordless = near.is_none() && newest::is_wordless(&reading.view(), &query.text)?;
        let mut answer = match near {
            Some(id) => {
                door.check_sight(caller, Lane::Find, id)?;
                recall::similar(reading, door.gate(), id, &query, now)?
            }
            None if wordless => {
                let (answer, said) = newest::newest(&door, &query, now)?;
                note = said;
                answer
            }
            None => {
                note = self.ask_model(caller, &mut query, (reading, door.gate(), now));
                recall::search(reading, door.gate(), &query, now)?
            }
        };
        let cut = door.budget().keep(&mut answer.hits, |hit| {
            let title = hit.body.as_ref().map_or("", |body| body.title.as_str());
            forms::tokens(title).saturating_add(forms::tokens(&hit.preview))
        });
        if cut > 0 {
            note = Some(format!("{cut} more did not fit the token budget of the grant"));
        }
        let mut elsewhere = None;
        if near.is_none()
            && !wordless
            && answer.hits.is_empty()
            && cut == 0
            && let Some(project) = &query.project
        {
            let anywhere = SearchQuery { project: None, ..query.clone() };
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
        let mode = match (wordless, meaning) {
            (true, _) => "newest",
            (false, true) => "text + vectors",
            (false, false) => "text",
        };
        let model = query.model.map(|asked| asked.model);
        Ok(SearchAnswer {
            hits: answer.hits.iter().map(|hit| hit_view(reading, hit, model.as_ref())).collect(),
            by_model: model.as_ref().map(|_| answer.by_model),
            candidates: answer.candidates,
            mode: mode.to_owned(),
            elsewhere,
            model,
            note,
            query: request.query,
        })
    }
}

fn hit_view(reading: &Reading, hit: &Hit, model: Option<&String>) -> HitView {
    let by = model.filter(|_| hit.by_model);
    let body = hit.body.as_ref();
    let whole = body.map(|body| wording::on_one_line(&body.content)).unwrap_or_default();
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
        cut: !hit.preview.contains(&whole),
        rank: ratio(hit.score),
        tokens: hit.tokens,
        standing: standing_name(hit.standing),
        pinned: hit.head.pinned,
        superseded_by: hit.superseded_by.iter().map(NamedView::from).collect(),
        contradicts: hit.contradicts.iter().map(NamedView::from).collect(),
        arms: hit.arms.iter().map(|arm| arm_view(arm, by)).collect(),
    }
}

fn standing_name(standing: Standing) -> String {
    standing.name().to_owned()
}

fn arm_view(arm: &::recall::search::ArmScore, by: Option<&String>) -> ArmView {
    ArmView {
        by: by.filter(|_| arm.arm == Arm::Meaning).cloned(),
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
fn found_elsewhere(other: &SearchOutcome, project: &str) -> Option<String> {
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
