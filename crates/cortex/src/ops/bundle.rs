//! What an intent should know before it starts: three tiers of memories as one text within a budget of tokens.
//!
//! `context` lists what happened lately; this chooses what matters, by salience, and says of which state it speaks.

use kernel::context::{BundleItem, ContextQuery, Tier};
use kernel::grants::Permission;
use kernel::limits::BUDGET_TOKENS_DEFAULT;
use kernel::memory::MemoryType;
use kernel::render::Form;
use serde::{Deserialize, Serialize};

use super::Ops;
use super::caller::Caller;
use super::error::Result;
use super::parse::from_ppm;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BundleRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    pub tags: Vec<String>,
    /// Types among the relevant; all if empty.
    pub memory_types: Vec<String>,
    /// pinned, relevant, outcomes; all if empty.
    pub tiers: Vec<String>,
    /// Events at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcomes: Option<u32>,
    /// Tokens at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<u32>,
    /// short, medium or full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct BundleAnswer {
    pub text: String,
    /// Of the text: the same state and question give the same.
    pub digest: String,
    pub root: String,
    /// Journal entries of that root.
    pub size: u64,
    pub now: String,
    pub tokens: u32,
    pub pinned: Vec<BundleItemView>,
    pub relevant: Vec<BundleItemView>,
    pub outcomes: Vec<BundleItemView>,
    /// What is pinned but did not fit.
    pub overflow: Vec<String>,
    pub trimmed: u32,
    pub rows_examined: u32,
    pub capped: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct BundleItemView {
    pub uri: String,
    pub score: f64,
    pub standing: String,
    pub text: String,
    pub tokens: u32,
}

impl Ops {
    pub fn bundle(&self, caller: &Caller, request: BundleRequest) -> Result<BundleAnswer> {
        let mut query = ContextQuery::new(caller.now()?);
        query.project = request.project.as_deref().and_then(|name| self.named(&caller.actor, name));
        query.session.clone_from(&request.session_id);
        query.tags.clone_from(&request.tags);
        let types = request.memory_types.iter().map(|name| MemoryType::parse(name));
        query.types = types.collect::<kernel::Result<_, kernel::ProofError>>()?;
        if !request.tiers.is_empty() {
            let tiers = request.tiers.iter().map(|name| Tier::parse(name));
            query.tiers = tiers.collect::<kernel::Result<_>>()?;
        }
        query.outcomes_limit = request.outcomes.unwrap_or(query.outcomes_limit);
        query.budget_tokens = request.budget.unwrap_or(BUDGET_TOKENS_DEFAULT);
        query.form = request.form.as_deref().map_or(Ok(Form::Medium), Form::parse)?;
        let door = self.door(caller, Permission::Context, &request)?;
        let bundle = match &door.authority {
            Some(authority) => door.cortex.context_for(authority, &query)?,
            None => door.reading.context(None, &query)?,
        };
        Ok(BundleAnswer {
            digest: bundle.digest.to_string(),
            root: bundle.root.to_string(),
            size: bundle.size,
            now: bundle.now.rfc3339(),
            tokens: bundle.tokens,
            pinned: items(&bundle.pinned),
            relevant: items(&bundle.relevant),
            outcomes: items(&bundle.outcomes),
            overflow: bundle.overflow.iter().map(ToString::to_string).collect(),
            trimmed: bundle.trimmed,
            rows_examined: bundle.rows_examined,
            capped: bundle.capped,
            text: bundle.text,
        })
    }
}

fn items(items: &[BundleItem]) -> Vec<BundleItemView> {
    let view = |item: &BundleItem| BundleItemView {
        uri: item.uri.to_string(),
        score: from_ppm(item.score),
        standing: item.standing.name().to_owned(),
        text: item.text.clone(),
        tokens: item.tokens,
    };
    items.iter().map(view).collect()
}
