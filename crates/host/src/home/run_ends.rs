//! What the end of a run means: for the channel it belongs to, for the budget, and for whoever waits for its worker.

use api::run::RunOutcome;
use kernel::memory::Millis;
use mind::budget::{Cost, Purpose};
use runs::process::Context;
use runs::runner::EndedRun;
use serde_json::Value;
use service::Caller;
use service::error::Result;

use super::Host;
use crate::channels::{
    ChannelPart, PersistedChannel, RunOptions, check_name, files, hold, purpose,
};

/// Characters of a worker's result that its conversation is told.
const RESULT_CHARS: usize = 4_000;

/// What a run came to, or why to nothing.
fn answer(run: &EndedRun) -> std::result::Result<String, String> {
    match run.outcome {
        RunOutcome::Finished => Ok(run.result.clone().unwrap_or_default()),
        RunOutcome::Skipped => Err("it is disabled".to_owned()),
        RunOutcome::Cancelled => Err("it was cancelled".to_owned()),
        RunOutcome::Failed => {
            Err(run.record.error_message.clone().unwrap_or_else(|| "it failed".to_owned()))
        }
    }
}

/// What a run took, as its end says.
pub(super) fn cost_of(run: &EndedRun) -> Cost {
    let count = |key: &str| {
        run.usage.as_ref().and_then(|usage| usage.get(key)).and_then(Value::as_u64).unwrap_or(0)
    };
    let tokens = count("total_tokens").max(count("input_tokens") + count("output_tokens"));
    let dollars = run.cost.unwrap_or_default();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to what a u64 holds"
    )]
    let micro_dollars = (dollars * 1e6).ceil().clamp(0.0, 1e15) as u64;
    Cost { tokens, micro_dollars }
}

impl Host {
    /// Why nothing may be spent for a purpose now. A memory that is not there yet has a whole budget.
    pub fn may_spend(
        &self,
        caller: &Caller,
        purpose: Purpose,
    ) -> Option<mind::budget::BudgetRefusal> {
        if !self.service.home().has(&caller.actor) {
            return None;
        }
        let (actor_mind, now) = (self.actor_mind(caller).ok()?, caller.now().ok()?);
        actor_mind.slot().mind.may_spend(purpose, now).err()
    }

    /// A run has ended: it is paid for, and its channel goes on. Told twice, it counts once.
    pub fn run_ended(&self, caller: &Caller, run: &EndedRun) -> Result<()> {
        let (channel, context) = (run.request.channel.as_deref(), run.request.context.as_deref());
        let who = context.unwrap_or(run.use_id.as_str());
        let purpose = purpose(run.name.as_str(), channel.is_some());
        let actor_mind = self.actor_mind(caller)?;
        let model = run.record.model.as_deref();
        let now = caller.now()?;
        {
            let mut slot = actor_mind.slot();
            slot.mind.budget.paid(purpose, who, cost_of(run), model, now);
            let provider = run.record.provider.as_deref();
            if let Some(provider) = provider.filter(|_| run.outcome == RunOutcome::Finished) {
                slot.mind.provider_answered(provider, now);
            }
        }
        match (channel, context) {
            (Some(channel), Some(context)) => self.part_ended(caller, channel, context, run)?,
            (Some(channel), None) => self.worker_ended(caller, channel, run)?,
            _ => {}
        }
        actor_mind.persist()
    }

    fn part_ended(
        &self,
        caller: &Caller,
        channel: &str,
        context: &str,
        run: &EndedRun,
    ) -> Result<()> {
        check_name(channel)?;
        let lock = self.channels.lock_of(&caller.actor, channel);
        let _guard = hold(&lock);
        let folder = self.service.home().actor_folder(&caller.actor);
        let Some(mut persisted) = files::load(&folder, channel)? else { return Ok(()) };
        let Some(part) = persisted.waiting.remove(context) else { return Ok(()) };
        let now = caller.now()?;
        let effects = self.end_part(caller, &mut persisted, part, answer(run), now)?;
        self.run_channel_effects(caller, &mut persisted, effects, &RunOptions::default())?;
        if let Err(error) = Context::remove(&self.layout(), context) {
            tracing::warn!("the context {context} was not removed: {error}");
        }
        Ok(())
    }

    fn end_part(
        &self,
        caller: &Caller,
        persisted: &mut PersistedChannel,
        part: ChannelPart,
        answer: std::result::Result<String, String>,
        now: Millis,
    ) -> Result<Vec<mind::conversation::ChannelEffect>> {
        let said = persisted.channel.messages().last().map_or(0, |message| message.number);
        let effects = match part {
            ChannelPart::Turn { turn } => {
                let settings = self.actor_mind(caller)?.slot().mind.settings.channel.clone();
                persisted.channel.answered(turn, answer, &settings, now)
            }
            ChannelPart::Branch { branch } => {
                let conclusion = answer.unwrap_or_else(|why| format!("it came to nothing: {why}"));
                persisted.channel.concluded(&branch, &conclusion, now)?;
                Vec::new()
            }
            ChannelPart::Extract { run } => persisted.channel.extracted(&run, answer, now),
        };
        self.transcribe_since(caller, persisted, said)?;
        Ok(effects)
    }

    /// Writes down what was said after a message.
    pub(super) fn transcribe_since(
        &self,
        caller: &Caller,
        persisted: &PersistedChannel,
        number: u64,
    ) -> Result<()> {
        let fresh: Vec<_> = persisted
            .channel
            .messages()
            .iter()
            .filter(|message| message.number > number)
            .cloned()
            .collect();
        if fresh.is_empty() {
            return Ok(());
        }
        let folder = self.service.home().actor_folder(&caller.actor);
        files::transcribe(&folder, &persisted.channel.channel_id, &fresh)
    }

    /// A worker's result stands in its conversation as a note.
    fn worker_ended(&self, caller: &Caller, channel: &str, run: &EndedRun) -> Result<()> {
        check_name(channel)?;
        let lock = self.channels.lock_of(&caller.actor, channel);
        let _guard = hold(&lock);
        let folder = self.service.home().actor_folder(&caller.actor);
        let Some(mut persisted) = files::load(&folder, channel)? else { return Ok(()) };
        let mark = format!("Worker {} ({})", run.use_id, run.name);
        // The same end may be told again after a crash.
        if persisted.channel.messages().iter().any(|message| message.text.starts_with(&mark)) {
            return Ok(());
        }
        let text = match answer(run) {
            Ok(result) => match result.char_indices().nth(RESULT_CHARS) {
                None => format!("{mark} ended: {result}"),
                Some((end, _)) => format!(
                    "{mark} ended: {} … (the rest: cortex talent log {})",
                    &result[..end],
                    run.use_id
                ),
            },
            Err(why) => format!("{mark} came to nothing: {why}"),
        };
        let said = persisted.channel.messages().last().map_or(0, |message| message.number);
        persisted.channel.noted(&text, caller.now()?);
        self.transcribe_since(caller, &persisted, said)?;
        self.store_channel(caller, &persisted)
    }

    /// After a start: what waits for runs that are no longer there is ended, so that nobody waits for ever.
    pub fn settle_channels(&self, caller: &Caller) -> Result<()> {
        if !self.service.home().has(&caller.actor) {
            return Ok(());
        }
        let live: Vec<String> =
            self.run_control()?.live().into_iter().filter_map(|run| run.context).collect();
        let folder = self.service.home().actor_folder(&caller.actor);
        for channel in files::names(&folder)? {
            let lock = self.channels.lock_of(&caller.actor, &channel);
            let _guard = hold(&lock);
            let mut persisted = match files::load(&folder, &channel) {
                Ok(Some(persisted)) => persisted,
                Ok(None) => continue,
                Err(error) => {
                    tracing::warn!("{error}");
                    continue;
                }
            };
            let gone: Vec<String> = persisted
                .waiting
                .keys()
                .filter(|context| !live.contains(context))
                .cloned()
                .collect();
            let now = caller.now()?;
            let mut effects = Vec::new();
            for context in &gone {
                if let Some(part) = persisted.waiting.remove(context) {
                    let why = Err("the daemon stopped meanwhile".to_owned());
                    effects.extend(self.end_part(caller, &mut persisted, part, why, now)?);
                }
            }
            if let Some((run, true)) = persisted.channel.compacting() {
                let run = run.to_owned();
                persisted.channel.store_failed(&run);
            }
            if !gone.is_empty() {
                self.run_channel_effects(caller, &mut persisted, effects, &RunOptions::default())?;
            }
        }
        Ok(())
    }
}
