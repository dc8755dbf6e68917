//! What `search` and `similar` have in common: how filters are typed, and how hits are shown.

use clap::Args;
use kernel::Reading;
use kernel::memory::{MemoryType, Scope};
use recall::search::{Answer, ArmScore, Hit, LIMIT_MAX, Named, Query};
use serde::Serialize;

use super::failure::{Failure, Outcome};
use super::output::{Output, plain};
use super::parse;

#[derive(Args, Debug)]
pub(crate) struct FilterArgs {
    /// Only this project
    #[arg(long)]
    pub(crate) project: Option<String>,
    /// project or personal
    #[arg(long)]
    pub(crate) scope: Option<String>,
    /// Only these types
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    pub(crate) types: Vec<String>,
    /// Only these kinds
    #[arg(long = "kind", value_name = "KIND", value_delimiter = ',')]
    pub(crate) kinds: Vec<String>,
    /// All of these tags
    #[arg(long = "tag", value_name = "TAG", value_delimiter = ',')]
    pub(crate) tags: Vec<String>,
    /// Only this session
    #[arg(long)]
    pub(crate) session: Option<String>,
    /// Written at or after this time
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Written before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Show what was known at this time
    #[arg(long, value_name = "TIME")]
    pub(crate) as_of: Option<String>,
    /// Forgotten ones too
    #[arg(long)]
    pub(crate) forgotten: bool,
    /// Archived ones too
    #[arg(long)]
    pub(crate) archived: bool,
    /// How many
    #[arg(long, default_value_t = 10)]
    pub(crate) limit: usize,
}

impl FilterArgs {
    pub(crate) fn query(&self, text: impl Into<String>) -> Outcome<Query> {
        if self.limit == 0 || self.limit > LIMIT_MAX {
            return Err(Failure::Input(format!("--limit must lie between 1 and {LIMIT_MAX}")));
        }
        let time = |text: &Option<String>| text.as_deref().map(parse::time).transpose();
        Ok(Query {
            project: self.project.clone(),
            scope: self.scope.as_deref().map(Scope::parse).transpose()?,
            types: self
                .types
                .iter()
                .map(|t| MemoryType::parse(t))
                .collect::<kernel::Result<_>>()?,
            kinds: self.kinds.clone(),
            tags: self.tags.clone(),
            session: self.session.clone(),
            created_from: time(&self.since)?,
            created_until: time(&self.until)?,
            as_of: time(&self.as_of)?,
            include_forgotten: self.forgotten,
            include_archived: self.archived,
            ..Query::new(text, self.limit)
        })
    }
}

#[derive(Debug, Serialize)]
struct AnswerView {
    hits: Vec<HitView>,
    candidates: usize,
}

#[derive(Debug, Serialize)]
struct HitView {
    id: u64,
    uri: String,
    #[serde(rename = "type")]
    memory_type: &'static str,
    kind: String,
    title: Option<String>,
    preview: String,
    /// 0 to 1.
    score: f64,
    /// What the full text costs.
    tokens: u32,
    standing: &'static str,
    /// What replaces it.
    superseded_by: Vec<NamedView>,
    /// What it contradicts or is contradicted by.
    contradicts: Vec<NamedView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arms: Option<Vec<ArmView>>,
}

#[derive(Debug, Serialize)]
struct ArmView {
    arm: &'static str,
    rank: usize,
    score: f64,
    weight: f64,
}

impl From<&ArmScore> for ArmView {
    fn from(arm: &ArmScore) -> ArmView {
        ArmView {
            arm: arm.arm.name(),
            rank: arm.rank,
            score: ratio(arm.score),
            weight: f64::from(arm.weight) / 100.0,
        }
    }
}

fn ratio(ppm: u64) -> f64 {
    parse::from_ppm(u32::try_from(ppm).unwrap_or(u32::MAX))
}

/// Another memory that a hit points at.
#[derive(Debug, Serialize)]
struct NamedView {
    id: u64,
    title: Option<String>,
}

impl From<&Named> for NamedView {
    fn from(named: &Named) -> NamedView {
        NamedView { id: named.id.get(), title: named.title.clone() }
    }
}

fn view(reading: &Reading, hit: &Hit, explain: bool) -> HitView {
    HitView {
        id: hit.id.get(),
        uri: reading.uri(&hit.head, hit.version.n).to_string(),
        memory_type: hit.head.memory_type.name(),
        kind: hit.head.kind.clone(),
        title: hit.body.as_ref().map(|body| body.title.clone()),
        preview: hit.preview.clone(),
        score: ratio(hit.score),
        tokens: hit.tokens,
        standing: hit.standing.name(),
        superseded_by: hit.superseded_by.iter().map(NamedView::from).collect(),
        contradicts: hit.contradicts.iter().map(NamedView::from).collect(),
        arms: explain.then(|| hit.arms.iter().map(ArmView::from).collect()),
    }
}

pub(crate) fn show(reading: &Reading, answer: &Answer, explain: bool, out: &mut Output) -> Outcome {
    let views: Vec<HitView> = answer.hits.iter().map(|hit| view(reading, hit, explain)).collect();
    if out.is_json() {
        return out.object(&AnswerView { hits: views, candidates: answer.candidates });
    }
    for hit in &views {
        let mark = match hit.standing {
            "current" => String::new(),
            other => format!(" ({other})"),
        };
        let title = plain(hit.title.as_deref().unwrap_or("[erased]"));
        out.line(format_args!(
            "{:>6}  {:<11} {:.3}  {title}{mark}",
            hit.id, hit.memory_type, hit.score
        ))?;
        if !hit.preview.is_empty() && hit.preview != title {
            out.line(format_args!("        {}", plain(&hit.preview)))?;
        }
        let related = [("superseded by", &hit.superseded_by), ("contradicts", &hit.contradicts)];
        for (relation, others) in related {
            for other in others {
                let title = plain(other.title.as_deref().unwrap_or("[erased]"));
                out.line(format_args!("        {relation} {}: {title}", other.id))?;
            }
        }
        for arm in hit.arms.iter().flatten().filter(|arm| arm.score > 0.0) {
            out.line(format_args!(
                "          {:<12} rank {:<4} {:.3} x {:.2}",
                arm.arm, arm.rank, arm.score, arm.weight
            ))?;
        }
    }
    out.line(format_args!("{} of {} candidates", views.len(), answer.candidates))
}
