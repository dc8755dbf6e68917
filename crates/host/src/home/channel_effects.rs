//! What a channel wants done, done.

use api::run::RunRequest;
use api::save::SaveRequest;
use api::{ErrorCode, Fault};
use kernel::memory::Millis;
use mind::budget::{Cost, Purpose};
use mind::conversation::{ChannelEffect, ChannelMessage, MessageRole, NewMemory};
use runs::process::{Context, Speaker, Utterance};
use service::Caller;
use service::error::{Error, Result};
use talents::Layout;

use super::Host;
use crate::channels::{
    BRANCH, COMPACTION, ChannelPart, ChannelRun, PersistedChannel, RunOptions, TURN, actor_key,
    context_of, files, session_of,
};

/// Tokens of an answer that are reserved; what it really took is settled at its end.
const ANSWER_TOKENS: u64 = 8_000;
/// Tokens that a talent's own words and its tools take.
const FRAME_TOKENS: u64 = 4_000;
/// After this long a call that nobody settled counts as its worst case.
const CALL_MS: i64 = 3_600_000;

/// What a part of a conversation asks, and of which talent. The last message is what it is asked.
struct Asks<'a> {
    talent: &'a str,
    part: ChannelPart,
    context: &'a str,
    system: &'a str,
    messages: &'a [ChannelMessage],
}

impl Host {
    pub(super) fn layout(&self) -> Layout {
        Layout::new(self.folder())
    }

    /// Carries out effects and all that follow from them. A run that cannot be started is an answer too; the last that
    /// was started is given back.
    pub(crate) fn run_channel_effects(
        &self,
        caller: &Caller,
        persisted: &mut PersistedChannel,
        effects: Vec<ChannelEffect>,
        with: &RunOptions,
    ) -> Result<Option<ChannelRun>> {
        let settings = self.actor_mind(caller)?.slot().mind.settings.channel.clone();
        let mut waiting = std::collections::VecDeque::from(effects);
        let mut started = None;
        while let Some(effect) = waiting.pop_front() {
            let now = caller.now()?;
            match effect {
                ChannelEffect::Ask { turn, system, messages } => {
                    let part = format!("{}-turn-{turn}", persisted.channel.channel_id);
                    let context = context_of(&caller.actor, &part);
                    let part = ChannelPart::Turn { turn };
                    let (system, messages) = (system.as_str(), &messages[..]);
                    let asks = Asks { talent: TURN, part, context: &context, system, messages };
                    let run = self.start_part(caller, persisted, asks, with);
                    match run {
                        Ok(run) => started = Some(run),
                        Err(error) => {
                            let why = Err(error.to_string());
                            waiting.extend(persisted.channel.answered(turn, why, &settings, now));
                            self.store_channel(caller, persisted)?;
                            return Err(error);
                        }
                    }
                }
                ChannelEffect::StartBranch { branch, system, mut messages } => {
                    let context = context_of(&caller.actor, &branch.branch_id);
                    let part = ChannelPart::Branch { branch: branch.branch_id.clone() };
                    messages.push(question(&branch.description, now));
                    let (system, messages) = (system.as_str(), &messages[..]);
                    let asks = Asks { talent: BRANCH, part, context: &context, system, messages };
                    let run = self.start_part(caller, persisted, asks, with);
                    match run {
                        Ok(run) => started = Some(run),
                        Err(error) => {
                            persisted.channel.concluded(
                                &branch.branch_id,
                                &error.to_string(),
                                now,
                            )?;
                            self.store_channel(caller, persisted)?;
                            return Err(error);
                        }
                    }
                }
                ChannelEffect::Extract { run, system, user } => {
                    let part = ChannelPart::Extract { run: run.clone() };
                    let messages = [question(&user, now)];
                    let (system, messages) = (system.as_str(), &messages[..]);
                    let context = context_of(&caller.actor, &run);
                    let context = context.as_str();
                    let asks = Asks { talent: COMPACTION, part, context, system, messages };
                    let asked = self.start_part(caller, persisted, asks, with);
                    if let Err(error) = asked {
                        // Without a model the messages are kept as they are.
                        waiting.extend(persisted.channel.extracted(
                            &run,
                            Err(error.to_string()),
                            now,
                        ));
                    }
                }
                ChannelEffect::Store { run, memories, .. } => {
                    match self.store_memories(caller, persisted, &run, &memories) {
                        Ok(()) => persisted.channel.stored(&run, now),
                        Err(error) => {
                            persisted.channel.store_failed(&run);
                            persisted.last_error = Some(format!("not compacted: {error}"));
                        }
                    }
                }
                ChannelEffect::Reply { .. } => persisted.last_error = None,
                ChannelEffect::Failed { why, .. } => persisted.last_error = Some(why),
            }
        }
        self.store_channel(caller, persisted)?;
        Ok(started)
    }

    /// Writes the channel down.
    pub(super) fn store_channel(
        &self,
        caller: &Caller,
        persisted: &PersistedChannel,
    ) -> Result<()> {
        files::store(&self.service.home().actor_folder(&caller.actor), persisted)
    }

    /// Starts a run for a part of a conversation.
    fn start_part(
        &self,
        caller: &Caller,
        persisted: &mut PersistedChannel,
        asks: Asks<'_>,
        with: &RunOptions,
    ) -> Result<ChannelRun> {
        let Asks { talent, part, context, system, messages } = asks;
        let runs = self.run_control()?;
        let purpose = if talent == COMPACTION { Purpose::Maintenance } else { Purpose::Chat };
        let (asked, before) = messages
            .split_last()
            .ok_or_else(|| Error::internal("a conversation without a message asks nobody"))?;
        let told: u64 = messages.iter().map(|message| u64::from(message.tokens)).sum();
        let told = told + u64::from(kernel::render::tokens(system)) + FRAME_TOKENS;
        let worst = Cost { tokens: told + ANSWER_TOKENS, micro_dollars: 0 };
        let now = caller.now()?;
        let until = Millis(now.get().saturating_add(CALL_MS));
        let actor_mind = self.actor_mind(caller)?;
        let admitted = actor_mind.slot().mind.admit(mind::budget::ModelCall {
            purpose,
            who: context,
            worst,
            at: now,
            until,
        });
        admitted.map_err(|refusal| over_budget(&refusal))?;
        let said = before.iter().map(said).collect();
        let layout = self.layout();
        let write = || Context { system: system.trim().to_owned(), said }.write(&layout, context);
        write().map_err(|error| {
            actor_mind.slot().mind.not_called(context);
            Error::new(ErrorCode::Io, Fault::Server, format!("the context {context}: {error}"))
        })?;
        persisted.waiting.insert(context.to_owned(), part);
        // Before the run: an end that comes after a crash must find what it belongs to.
        self.store_channel(caller, persisted)?;
        let request = with.request(RunRequest {
            name: Some(talent.to_owned()),
            prompt: Some(asked.text.clone()),
            channel: Some(persisted.channel.channel_id.clone()),
            context: Some(context.to_owned()),
            actor: actor_key(&caller.actor),
            ..RunRequest::default()
        });
        match runs.start(request, &format!("channel {}", persisted.channel.channel_id)) {
            Ok(use_id) => Ok(ChannelRun { use_id }),
            Err(error) => {
                persisted.waiting.remove(context);
                actor_mind.slot().mind.not_called(context);
                // A context that stays is removed at the next start.
                let _ = Context::remove(&layout, context);
                Err(error.into())
            }
        }
    }

    /// Saves what a compaction found. Told twice, it is saved once.
    fn store_memories(
        &self,
        caller: &Caller,
        persisted: &PersistedChannel,
        run: &str,
        memories: &[NewMemory],
    ) -> Result<()> {
        for (place, memory) in memories.iter().enumerate() {
            let caller = Caller {
                idempotency_key: Some(format!("channel/{run}/{place}")),
                by: mind::proposal::BY.to_owned(),
                ..caller.clone()
            };
            let visibility = if persisted.channel.private { "private" } else { "scoped" };
            self.service.save(
                &caller,
                SaveRequest {
                    title: memory.title.clone(),
                    content: memory.content.clone(),
                    memory_type: Some(memory.kernel_type().name().to_owned()),
                    channel: Some(persisted.channel.channel_id.clone()),
                    visibility: Some(visibility.to_owned()),
                    session_id: Some(session_of(&persisted.channel.channel_id)),
                    source: Some("derived".to_owned()),
                    origin: Some(run.to_owned()),
                    ..SaveRequest::default()
                },
            )?;
        }
        Ok(())
    }
}

pub(super) fn over_budget(refusal: &mind::budget::BudgetRefusal) -> Error {
    Error::new(ErrorCode::named(refusal.code()), Fault::Caller, refusal.to_string())
        .with_hint("`cortex budget` shows what is left; [defaults.budget] in cortex.toml sets it")
}

fn question(text: &str, now: Millis) -> ChannelMessage {
    let tokens = kernel::render::tokens(text);
    ChannelMessage {
        number: 0,
        role: MessageRole::User,
        text: text.to_owned(),
        at_unix_ms: now.get(),
        tokens,
    }
}

fn said(message: &ChannelMessage) -> Utterance {
    let by = match message.role {
        MessageRole::User | MessageRole::ToolResult { .. } => Speaker::User,
        MessageRole::Assistant | MessageRole::ToolCall { .. } => Speaker::Assistant,
        MessageRole::Note => Speaker::Note,
    };
    Utterance { by, text: message.text.clone() }
}
