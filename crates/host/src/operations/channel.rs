//! Conversations that Cortex keeps: said to, looked at, branched, given workers. Only for the owner; the models are
//! asked by runs of talents, so a daemon must be there.

use api::channel::{
    ChannelBranchRequest, ChannelGetAnswer, ChannelGetRequest, ChannelListAnswer,
    ChannelListRequest, ChannelRemoveRequest, ChannelRunAnswer, ChannelSayRequest,
    ChannelStopAnswer, ChannelStopRequest, ChannelView, ChannelWorkerRequest, SaidView,
};
use api::prompt::PromptSaveRequest;
use api::run::RunRequest;
use api::{ErrorCode, Fault};
use kernel::memory::Millis;
use mind::audience::Audience;
use mind::conversation::{ChannelEffect, ChannelMessage, MessageRole};
use mind::supervision::{ProcessEvent, ProcessId};
use mind::warmup::ProcessType;
use service::access::for_owner;
use service::caller::Caller;
use service::error::{Error, Result};

use crate::channels;
use crate::channels::RunOptions;
use crate::home::Host;

/// Messages that one look gives if nobody says how many.
const MESSAGES_DEFAULT: usize = 50;

const MESSAGES_MAX: usize = 1_000;

impl Host {
    pub fn channel_say(
        &self,
        caller: &Caller,
        request: ChannelSayRequest,
    ) -> Result<ChannelRunAnswer> {
        self.may_talk(caller, &request.channel)?;
        if request.message.trim().is_empty() {
            return Err(Error::invalid("message", "is empty"));
        }
        self.dispatched(caller, ProcessType::Channel);
        let lock = self.channels.lock_of(&caller.actor, &request.channel);
        let _guard = channels::hold(&lock);
        let now = caller.now()?;
        let mut persisted = self.channel_or_new(caller, &request.channel, request.shared)?;
        if persisted.channel.is_answering() {
            let message = format!("channel {} still answers the last message", request.channel);
            return Err(Error::new(ErrorCode::ChannelBusy, Fault::Conflict, message)
                .with_hint("wait for its answer, or stop it"));
        }
        let prompt = PromptSaveRequest {
            content: request.message.clone(),
            session_id: Some(channels::session_of(&request.channel)),
            ..PromptSaveRequest::default()
        };
        let prompt = self.service.prompt_save(caller, prompt)?;
        let bulletin = self.bulletin_of(caller, persisted.channel.audience())?;
        let settings = self.actor_mind(caller)?.slot().mind.settings.channel.clone();
        let before = persisted.channel.messages().last().map_or(0, |message| message.number);
        let effects =
            persisted.channel.said(&prompt.content, "", bulletin.as_deref(), &settings, now)?;
        self.record_message(caller, &persisted, before)?;
        self.observe(
            caller,
            ProcessEvent::ChannelStarted {
                channel_id: request.channel.clone(),
                started_at: now.get(),
            },
        );
        let with =
            RunOptions { env: request.env, model: request.model, provider: request.provider };
        let started = self.run_channel_effects(caller, &mut persisted, effects, &with)?;
        let started = started.ok_or_else(|| Error::internal("a message that asks nobody"))?;
        Ok(ChannelRunAnswer {
            channel: request.channel,
            use_id: started.use_id,
            message: prompt.content,
            redacted: prompt.redacted,
        })
    }

    pub fn channel_branch(
        &self,
        caller: &Caller,
        request: ChannelBranchRequest,
    ) -> Result<ChannelRunAnswer> {
        self.may_talk(caller, &request.channel)?;
        if request.description.trim().is_empty() {
            return Err(Error::invalid("description", "is empty"));
        }
        self.dispatched(caller, ProcessType::Branch);
        let lock = self.channels.lock_of(&caller.actor, &request.channel);
        let _guard = channels::hold(&lock);
        let mut persisted = self.existing_channel(caller, &request.channel)?;
        let bulletin = self.bulletin_of(caller, persisted.channel.audience())?;
        let settings = self.actor_mind(caller)?.slot().mind.settings.channel.clone();
        let now = caller.now()?;
        let description = self.service.screen().text(&request.description);
        let effect =
            persisted.channel.branch(&description, "", bulletin.as_deref(), &settings, now)?;
        let ChannelEffect::StartBranch { branch, .. } = &effect else {
            return Err(Error::internal("a branch that asks nobody"));
        };
        let process = ProcessId::branch(&branch.branch_id);
        // Before its run: an end that comes at once must find whose it is.
        self.observe(
            caller,
            ProcessEvent::BranchStarted {
                branch_id: branch.branch_id.clone(),
                channel_id: request.channel.clone(),
                description: description.clone(),
                started_at: now.get(),
            },
        );
        let with = RunOptions { env: request.env, ..RunOptions::default() };
        let started = self.run_channel_effects(caller, &mut persisted, vec![effect], &with);
        if let Err(error) = &started {
            self.process_ended(caller, &process, &format!("failed: {error}"));
        }
        let started = started?.ok_or_else(|| Error::internal("a branch that asks nobody"))?;
        Ok(ChannelRunAnswer {
            channel: request.channel,
            use_id: started.use_id,
            message: description,
            redacted: String::new(),
        })
    }

    /// A worker is a run of a talent that knows only its task.
    pub fn channel_worker(
        &self,
        caller: &Caller,
        request: ChannelWorkerRequest,
    ) -> Result<ChannelRunAnswer> {
        self.may_talk(caller, &request.channel)?;
        if request.task.trim().is_empty() {
            return Err(Error::invalid("task", "is empty"));
        }
        self.existing_channel(caller, &request.channel)?;
        self.dispatched(caller, ProcessType::Worker);
        let talent = request.talent.as_deref().unwrap_or("default");
        if [channels::TURN, channels::BRANCH, channels::COMPACTION].contains(&talent) {
            let reason = format!("{talent} is a part of conversations, not a worker");
            return Err(Error::invalid("talent", reason));
        }
        let task = self.service.screen().text(&request.task);
        let with = RunOptions { env: request.env, ..RunOptions::default() };
        let run = with.request(RunRequest {
            name: Some(talent.to_owned()),
            prompt: Some(task.clone()),
            channel: Some(request.channel.clone()),
            actor: channels::actor_key(&caller.actor),
            ..RunRequest::default()
        });
        let use_id = self.run_control()?.start(run, &format!("channel {}", request.channel))?;
        let (channel, redacted) = (request.channel, String::new());
        Ok(ChannelRunAnswer { channel, use_id, message: task, redacted })
    }

    /// Stops the answer that is under way, the branches and the workers of a channel.
    pub fn channel_stop(
        &self,
        caller: &Caller,
        request: ChannelStopRequest,
    ) -> Result<ChannelStopAnswer> {
        self.may_talk(caller, &request.channel)?;
        self.existing_channel(caller, &request.channel)?;
        let runs = self.run_control()?;
        let cancelled = runs
            .live()
            .into_iter()
            .filter(|run| run.channel.as_deref() == Some(&request.channel))
            .filter(|run| run.is_of(&caller.actor))
            .filter(|run| runs.cancel(&run.use_id))
            .map(|run| run.use_id);
        Ok(ChannelStopAnswer { cancelled: cancelled.collect() })
    }

    /// Removes a channel and its transcript. Memories that came of it, and what was said to it in the journal, stay.
    pub fn channel_remove(
        &self,
        caller: &Caller,
        request: ChannelRemoveRequest,
    ) -> Result<ChannelView> {
        for_owner(caller)?;
        channels::check_name(&request.channel)?;
        let persisted = self.existing_channel(caller, &request.channel)?;
        if persisted.channel.is_answering() || persisted.channel.branches().next().is_some() {
            let message = format!("channel {} is in use", request.channel);
            return Err(Error::new(ErrorCode::ChannelBusy, Fault::Conflict, message)
                .with_hint("stop it first, or wait"));
        }
        self.remove_channel(caller, &request.channel)?;
        self.observe(caller, ProcessEvent::ChannelEnded { channel_id: request.channel });
        Ok(view(&persisted))
    }

    pub fn channel_list(
        &self,
        caller: &Caller,
        _: ChannelListRequest,
    ) -> Result<ChannelListAnswer> {
        for_owner(caller)?;
        let channels = self.all_channels(caller)?.iter().map(view).collect();
        Ok(ChannelListAnswer { channels })
    }

    pub fn channel_get(
        &self,
        caller: &Caller,
        request: ChannelGetRequest,
    ) -> Result<ChannelGetAnswer> {
        for_owner(caller)?;
        channels::check_name(&request.channel)?;
        let persisted = self.existing_channel(caller, &request.channel)?;
        let limit = request.limit.unwrap_or(MESSAGES_DEFAULT).min(MESSAGES_MAX);
        let all = persisted.channel.messages();
        let said = all[all.len().saturating_sub(limit)..].iter().map(said_view).collect();
        Ok(ChannelGetAnswer { view: view(&persisted), said })
    }

    /// Only the owner talks, with an actor that is there: a name typed wrong must not become one.
    fn may_talk(&self, caller: &Caller, channel: &str) -> Result<()> {
        self.service.existing(caller)?;
        channels::check_name(channel)?;
        self.run_control().map(drop)
    }

    /// The bulletin as it is at this moment; nothing is asked of the store for it.
    fn bulletin_of(
        &self,
        caller: &Caller,
        audience: Audience,
    ) -> Result<Option<std::sync::Arc<mind::bulletin::Bulletin>>> {
        Ok(self.actor_mind(caller)?.published().get(&audience))
    }
}

fn view(persisted: &channels::PersistedChannel) -> ChannelView {
    let channel = &persisted.channel;
    let last = channel.messages().last().map_or(persisted.created_unix_ms, |last| last.at_unix_ms);
    ChannelView {
        channel: channel.channel_id.clone(),
        shared: !channel.private,
        created_at: Millis(persisted.created_unix_ms).rfc3339(),
        last_at: Millis(last).rfc3339(),
        messages: channel.messages().len(),
        tokens: channel.tokens(),
        is_answering: channel.is_answering(),
        branches: channel.branches().map(|branch| branch.branch_id.clone()).collect(),
        last_error: persisted.last_error.clone(),
    }
}

fn said_view(message: &ChannelMessage) -> SaidView {
    let by = match message.role {
        MessageRole::User | MessageRole::ToolResult { .. } => "user",
        MessageRole::Assistant | MessageRole::ToolCall { .. } => "assistant",
        MessageRole::Note => "note",
    };
    SaidView {
        number: message.number,
        by: by.to_owned(),
        text: message.text.clone(),
        at: Millis(message.at_unix_ms).rfc3339(),
    }
}
