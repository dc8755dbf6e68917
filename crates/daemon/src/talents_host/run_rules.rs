//! What a run of a talent may have and reach: settings, the talent's file and the providers, put together.

use std::collections::BTreeSet;
use std::path::Path;

use api::run::RunRequest;
use llm::models::ModelQuery;
use llm::providers::usable;
use runs::process::Chats;
use talents::confine::{RunPolicy, RunPolicyParts, VariableRules};
use talents::talent_files::Talent;

use crate::talents_host::TalentContext;

impl TalentContext {
    /// Variables and reach of a run of a talent.
    pub(super) fn rules(
        &self,
        talent: &Talent,
        request: &RunRequest,
        program: &Path,
    ) -> (VariableRules, RunPolicy) {
        let providers = self.resolver.settings();
        let variables = VariableRules::new(&self.exec, providers, &self.env);
        let policy = RunPolicy::new(RunPolicyParts {
            layout: &self.layout,
            settings: &self.exec,
            providers,
            asked: &self.asked(talent, request),
            env: variables.base(),
            program: Some(program),
            grant: &talent.front.reach,
        });
        (variables, policy)
    }

    /// The providers that a run may come to ask: the one it names, that of its conversation, the talent's, and who
    /// steps in for them. Where nobody names one, those that have a key here.
    fn asked(&self, talent: &Talent, request: &RunRequest) -> BTreeSet<String> {
        let providers = self.resolver.settings();
        let chats = Chats::new(&self.layout);
        // A conversation that cannot be read is the run's to tell.
        let chat = |id: &String| chats.find(id).ok().flatten().map(|chat| chat.provider);
        let conversations = [&request.chat_id, &request.session_id];
        let chosen = self.choice(talent, &ModelQuery::default());
        let mut asked: BTreeSet<String> = request.provider.iter().cloned().collect();
        asked.extend(conversations.into_iter().flatten().filter_map(chat));
        asked.extend(chosen.ok().map(|choice| choice.provider));
        asked.extend(providers.fallback.provider.clone());
        if asked.is_empty() {
            asked.extend(usable(providers, &self.env));
        }
        asked
    }
}
