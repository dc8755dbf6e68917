//! What an intent should know before it starts: three tiers of memories as one text within a budget of tokens.
//!
//! `context` lists what happened lately; this chooses what matters, by salience, and says of which state it speaks.

use api::bundle::{BundleAnswer, BundleItemView, BundleRequest};
use api::render::untrusted;
use kernel::context::{BundleItem, ContextQuery, Section, TextScreen, Tier};
use kernel::grants::Permission;
use kernel::limits::BUDGET_TOKENS_DEFAULT;
use kernel::memory::MemoryType;
use kernel::render::Form;

use crate::Service;
use crate::caller::Caller;
use crate::error::Result;
use crate::nearness;
use crate::parse::from_ppm;

impl Service {
    pub fn bundle(&self, caller: &Caller, request: BundleRequest) -> Result<BundleAnswer> {
        let mut query = ContextQuery::new(caller.now()?);
        query.project = self.read_project(caller, request.project.as_deref(), false);
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
        query.rules = self.rule_authors();
        query.screen = TextScreen(untrusted::line);
        let access = self.access(caller, Permission::Context, &request)?;
        if let Some(about) = &request.about {
            let (gate, project) = (access.gate(), query.project.clone());
            query.near = nearness::to_text(&access.reading, gate, about, project, query.now)?;
        }
        let bundle = match &access.authority {
            Some(authority) => access.cortex.context_for(authority, &query)?,
            None => access.reading.context(None, &query)?,
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
            rules_missing: bundle.rules_missing,
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
        proposed: item.section == Section::Proposed,
        text: item.text.clone(),
        tokens: item.tokens,
    };
    items.iter().map(view).collect()
}
