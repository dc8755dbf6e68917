//! How the mind gets its bulletin written: for the owner first, then for shared channels, by a model if there is a
//! cause and a budget.
//!
//! What must stay true: a run that began ends, whatever the model does; a run that may ask no model asks none.

use kernel::memory::Millis;

use super::{BULLETIN, Mind, MindEffect, ModelAnswer, ModelFailure, PROVIDER};
use crate::audience::Audience;
use crate::breaker::BreakerPolicy;
use crate::budget::{ModelCall, Purpose};
use crate::bulletin::{
    Bulletin, BulletinInput, BulletinState, BulletinStep, ModelPrompt, ModelUse,
};
use crate::jobs::JitterSource;
use crate::warmup::WarmStep;

/// The run that a bulletin is made in, and for whom.
#[derive(Clone, Copy)]
pub(super) struct BulletinRun<'a> {
    pub(super) run: &'a str,
    pub(super) audience: &'a Audience,
    pub(super) model: ModelUse,
}

impl Mind {
    pub(super) fn gathered(
        &mut self,
        bulletin_run: BulletinRun<'_>,
        outcome: std::result::Result<BulletinInput, String>,
        now: Millis,
        chance: JitterSource<'_>,
    ) -> Vec<MindEffect> {
        let BulletinRun { run, audience, model } = bulletin_run;
        let gathered = match outcome {
            Ok(gathered) => gathered,
            Err(why) => return self.bulletin_ended(run, Err(why), now, chance),
        };
        let settings = &self.settings.bulletin;
        let model = if self.provider.is_some() { model } else { ModelUse::Never };
        let step = match audience {
            Audience::Owner => self.owner.gathered(&gathered, run, model, settings, now),
            Audience::Shared => self
                .shared
                .adopt(&self.owner, &gathered, run, settings, now)
                .unwrap_or_else(|| self.shared.gathered(&gathered, run, model, settings, now)),
        };
        self.bulletin_effects(bulletin_run, step, now, chance)
    }

    /// Memories changed: what rules say of them is published at once. No model is asked, and no job runs.
    pub fn refresh(
        &mut self,
        gathered: &BulletinInput,
        run: &str,
        now: Millis,
    ) -> Option<Box<Bulletin>> {
        let settings = &self.settings.bulletin;
        let state = match gathered.audience {
            Audience::Owner => &mut self.owner,
            Audience::Shared => &mut self.shared,
        };
        state.gathered(gathered, run, ModelUse::Never, settings, now).publish
    }

    /// Does what the bulletin of an audience needs, and goes on to the next audience when this one is done.
    pub(super) fn bulletin_effects(
        &mut self,
        BulletinRun { run, audience, model }: BulletinRun<'_>,
        step: BulletinStep,
        now: Millis,
        chance: JitterSource<'_>,
    ) -> Vec<MindEffect> {
        let mut out: Vec<MindEffect> = step.publish.into_iter().map(MindEffect::Publish).collect();
        if let Some((prompt, deadline)) = step.ask {
            match self.reserve(run, &prompt, now, deadline) {
                Ok(()) => {
                    // What rules say is published by now: the agent is ready, and a model may take its time.
                    if let Some(pass) = self.warming.take() {
                        out.push(MindEffect::Warm { pass, step: WarmStep::Bulletin });
                    }
                    let (run, purpose) = (run.to_owned(), Purpose::Bulletin);
                    out.push(MindEffect::AskModel { run, purpose, prompt, deadline });
                    return out;
                }
                Err(why) => {
                    let settings = &self.settings.bulletin;
                    let declined = match audience {
                        Audience::Owner => self.owner.declined(run, why, settings, now),
                        Audience::Shared => self.shared.declined(run, why, settings, now),
                    };
                    out.extend(declined.map(MindEffect::Publish));
                }
            }
        }
        match audience {
            Audience::Owner => {
                let (run, audience) = (run.to_owned(), Audience::Shared);
                out.push(MindEffect::Gather { run, audience, model });
            }
            Audience::Shared => out.extend(self.bulletin_ended(run, Ok(()), now, chance)),
        }
        out
    }

    /// Passes the breaker of the provider and reserves what a call costs at most; says why it may not be made.
    pub fn reserve(
        &mut self,
        run: &str,
        prompt: &ModelPrompt,
        now: Millis,
        deadline: Millis,
    ) -> std::result::Result<(), String> {
        let Some(provider) = self.provider.clone() else { return Err("no provider".to_owned()) };
        let circuit = format!("{PROVIDER}{}", provider.name);
        if !self.breakers.admit(&circuit, now) {
            return Err(format!(
                "{} failed too often and is left alone for a while",
                provider.name
            ));
        }
        let (purpose, worst) = (Purpose::Bulletin, provider.worst(prompt));
        let call = ModelCall { purpose, who: run, worst, at: now, until: deadline };
        let id = self
            .budget
            .reserve(&self.settings.budget, true, call)
            .map_err(|refusal| refusal.to_string())?;
        self.calls.insert(run.to_owned(), id);
        Ok(())
    }

    /// A call for which something was reserved is over: what it cost is counted, and its provider's breaker learns.
    pub fn settle(
        &mut self,
        run: &str,
        outcome: &std::result::Result<ModelAnswer, ModelFailure>,
        now: Millis,
    ) {
        match outcome {
            Ok(answer) => {
                if let Some(id) = self.calls.remove(run) {
                    self.budget.settle(id, answer.cost, Some(&answer.model), now);
                }
                if let Some(provider) = &self.provider {
                    self.breakers.succeeded(&format!("{PROVIDER}{}", provider.name), now);
                }
            }
            Err(failure) => {
                if failure.is_unsent
                    && let Some(id) = self.calls.remove(run)
                {
                    self.budget.release(id);
                }
                self.model_failed(run, &failure.why, now);
            }
        }
    }

    pub(super) fn model_failed(&mut self, run: &str, why: &str, now: Millis) {
        // Nobody knows what the call cost. Its reservation stays until it expires and then counts as the worst case.
        self.calls.remove(run);
        if let Some(provider) = &self.provider {
            let policy = BreakerPolicy::of(&self.settings.cortex);
            self.breakers.failed(&format!("{PROVIDER}{}", provider.name), why, policy, now);
        }
    }

    pub(super) fn answered(
        &mut self,
        run: &str,
        outcome: std::result::Result<ModelAnswer, ModelFailure>,
        now: Millis,
        chance: JitterSource<'_>,
    ) -> Vec<MindEffect> {
        let audience = match (self.owner.is_waiting(), self.shared.is_waiting()) {
            (true, _) => Audience::Owner,
            (false, true) => Audience::Shared,
            (false, false) => return Vec::new(),
        };
        self.settle(run, &outcome, now);
        let answer =
            outcome.map(|answer| (answer.text, answer.model)).map_err(|failure| failure.why);
        let settings = &self.settings.bulletin;
        let written = match audience {
            Audience::Owner => self.owner.answered(run, answer, settings, now),
            Audience::Shared => self.shared.answered(run, answer, settings, now),
        };
        let Some(written) = written else { return Vec::new() };
        let model = ModelUse::Allowed;
        let run = BulletinRun { run, audience: &audience, model };
        self.bulletin_effects(run, BulletinStep::publish(written), now, chance)
    }

    fn bulletin_ended(
        &mut self,
        run: &str,
        outcome: std::result::Result<(), String>,
        now: Millis,
        chance: JitterSource<'_>,
    ) -> Vec<MindEffect> {
        if let Some(pass) = self.warming.take() {
            self.warmup.step_done(pass, WarmStep::Bulletin, outcome.clone(), now);
        }
        self.warmup.refreshed(outcome.clone(), now);
        let summary = outcome.map(|()| {
            let words =
                |state: &BulletinState| state.current.as_ref().map_or(0, |bulletin| bulletin.words);
            format!("{} words, {} for shared channels", words(&self.owner), words(&self.shared))
        });
        self.job_ended(BULLETIN, run, summary, now, chance)
    }
}
