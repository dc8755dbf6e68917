//! Conversations that Cortex keeps: said to, looked at, branched, given workers. Only for the owner; the models are asked by runs of
//! talents, so a daemon must be there.

use std::fmt;

use api::run::RunRequest;
use kernel::memory::Millis;
use mind::audience::Audience;
use mind::conversation::{ChannelEffect, Message, Role};
use mind::supervision::{ProcessEvent, ProcessId};
use mind::warmup::ProcessType;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Ops;
use super::caller::Caller;
use super::door::for_owner;
use super::error::{Error, Fault, Result};
use super::prompt::PromptSaveRequest;
use crate::channels::{self, With};

/// Messages that one look gives if nobody says how many.
const MESSAGES_DEFAULT: usize = 50;
const MESSAGES_MAX: usize = 1_000;

#[derive(Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelSayRequest {
    /// Its name; it is made if it is not there.
    pub channel: String,
    pub message: String,
    /// True for a channel that others read: nothing private reaches it. Counts when the channel is made.
    pub shared: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Variables for the process that asks the model; their values are kept nowhere.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub env: Map<String, Value>,
}

/// A run was started for a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ChannelRunAnswer {
    pub channel: String,
    /// The run that answers; its events are on the bus and in `/api/runs`.
    pub use_id: String,
    /// What was said as it is kept, without what must not be kept.
    pub message: String,
    /// What was taken out of it. Empty if nothing was.
    pub redacted: String,
}

#[derive(Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelBranchRequest {
    pub channel: String,
    /// What the branch is to think about.
    pub description: String,
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub env: Map<String, Value>,
}

#[derive(Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelWorkerRequest {
    pub channel: String,
    /// What the worker is to do. It knows nothing else.
    pub task: String,
    /// The talent that does it; `default` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub talent: Option<String>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub env: Map<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelStopRequest {
    pub channel: String,
}

/// Runs that were asked to stop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ChannelStopAnswer {
    pub cancelled: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelRemoveRequest {
    pub channel: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelListRequest {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ChannelListAnswer {
    pub channels: Vec<ChannelView>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelGetRequest {
    pub channel: String,
    /// The newest so many messages; 50 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ChannelView {
    pub channel: String,
    pub shared: bool,
    pub created_at: String,
    pub last_at: String,
    /// Messages in the context now; older ones became memories and a note.
    pub messages: usize,
    pub tokens: u32,
    pub is_answering: bool,
    /// Branches that think.
    pub branches: Vec<String>,
    /// Why the last turn was not answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ChannelGetAnswer {
    #[serde(flatten)]
    pub view: ChannelView,
    /// Oldest first.
    pub said: Vec<SaidView>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SaidView {
    pub number: u64,
    /// user, assistant or note.
    pub by: String,
    pub text: String,
    pub at: String,
}

/// The names of variables: their values are keys.
fn masked(env: &Map<String, Value>) -> Vec<&str> {
    env.keys().map(String::as_str).collect()
}

impl fmt::Debug for ChannelSayRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelSayRequest")
            .field("channel", &self.channel)
            .field("message", &self.message)
            .field("shared", &self.shared)
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("env", &masked(&self.env))
            .finish()
    }
}

impl fmt::Debug for ChannelBranchRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelBranchRequest")
            .field("channel", &self.channel)
            .field("description", &self.description)
            .field("env", &masked(&self.env))
            .finish()
    }
}

impl fmt::Debug for ChannelWorkerRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelWorkerRequest")
            .field("channel", &self.channel)
            .field("task", &self.task)
            .field("talent", &self.talent)
            .field("env", &masked(&self.env))
            .finish()
    }
}

impl Ops {
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
        let lock = self.channels().lock_of(&caller.actor, &request.channel);
        let _alone = channels::alone(&lock);
        let now = caller.now()?;
        let mut kept = self.channel_or_new(caller, &request.channel, request.shared)?;
        if kept.channel.is_answering() {
            let message = format!("channel {} still answers the last message", request.channel);
            return Err(Error::new("channel_busy", Fault::Conflict, message)
                .with_hint("wait for its answer, or stop it"));
        }
        let prompt = PromptSaveRequest {
            content: request.message.clone(),
            session_id: Some(channels::session_of(&request.channel)),
            ..PromptSaveRequest::default()
        };
        let prompt = self.prompt_save(caller, prompt)?;
        let bulletin = self.bulletin_of(caller, kept.channel.audience())?;
        let settings = self.tended(caller)?.part().mind.settings.channel.clone();
        let before = kept.channel.messages().last().map_or(0, |message| message.number);
        let effects =
            kept.channel.said(&prompt.content, "", bulletin.as_deref(), &settings, now)?;
        self.channel_said(caller, &kept, before)?;
        self.observe(
            caller,
            ProcessEvent::ChannelStarted {
                channel_id: request.channel.clone(),
                started_at: now.get(),
            },
        );
        let with = With { env: request.env, model: request.model, provider: request.provider };
        let started = self.carry_channel(caller, &mut kept, effects, &with)?;
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
        let lock = self.channels().lock_of(&caller.actor, &request.channel);
        let _alone = channels::alone(&lock);
        let mut kept = self.channel_there(caller, &request.channel)?;
        let bulletin = self.bulletin_of(caller, kept.channel.audience())?;
        let settings = self.tended(caller)?.part().mind.settings.channel.clone();
        let now = caller.now()?;
        let description = self.screen().text(&request.description);
        let effect = kept.channel.branch(&description, "", bulletin.as_deref(), &settings, now)?;
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
        let with = With { env: request.env, ..With::default() };
        let started = self.carry_channel(caller, &mut kept, vec![effect], &with);
        if let Err(error) = &started {
            self.process_ended(caller, &process, &format!("failed: {}", error.message));
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
        self.channel_there(caller, &request.channel)?;
        self.dispatched(caller, ProcessType::Worker);
        let talent = request.talent.as_deref().unwrap_or("default");
        if [channels::TURN, channels::BRANCH, channels::COMPACTION].contains(&talent) {
            let reason = format!("{talent} is a part of conversations, not a worker");
            return Err(Error::invalid("talent", reason));
        }
        let task = self.screen().text(&request.task);
        let with = With { env: request.env, ..With::default() };
        let run = with.request(RunRequest {
            name: Some(talent.to_owned()),
            prompt: Some(task.clone()),
            channel: Some(request.channel.clone()),
            actor: channels::actor_key(&caller.actor),
            ..RunRequest::default()
        });
        let use_id = self.hands()?.start(run, &format!("channel {}", request.channel))?;
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
        self.channel_there(caller, &request.channel)?;
        let hands = self.hands()?;
        let cancelled = hands
            .live()
            .into_iter()
            .filter(|run| run.channel.as_deref() == Some(&request.channel))
            .filter(|run| run.is_of(&caller.actor))
            .filter(|run| hands.cancel(&run.use_id))
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
        let kept = self.channel_there(caller, &request.channel)?;
        if kept.channel.is_answering() || kept.channel.branches().next().is_some() {
            let message = format!("channel {} is in use", request.channel);
            return Err(Error::new("channel_busy", Fault::Conflict, message)
                .with_hint("stop it first, or wait"));
        }
        self.remove_channel(caller, &request.channel)?;
        self.observe(caller, ProcessEvent::ChannelEnded { channel_id: request.channel });
        Ok(view(&kept))
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
        let kept = self.channel_there(caller, &request.channel)?;
        let limit = request.limit.unwrap_or(MESSAGES_DEFAULT).min(MESSAGES_MAX);
        let all = kept.channel.messages();
        let said = all[all.len().saturating_sub(limit)..].iter().map(said_view).collect();
        Ok(ChannelGetAnswer { view: view(&kept), said })
    }

    /// Only the owner talks, with an actor that is there: a name typed wrong must not become one.
    fn may_talk(&self, caller: &Caller, channel: &str) -> Result<()> {
        self.existing(caller)?;
        channels::check_name(channel)?;
        self.hands().map(drop)
    }

    /// The bulletin as it is at this moment; nothing is asked of the store for it.
    fn bulletin_of(
        &self,
        caller: &Caller,
        audience: Audience,
    ) -> Result<Option<std::sync::Arc<mind::bulletin::Bulletin>>> {
        Ok(self.tended(caller)?.published().get(&audience))
    }
}

fn view(kept: &channels::Kept) -> ChannelView {
    let channel = &kept.channel;
    let last = channel.messages().last().map_or(kept.created_unix_ms, |last| last.at_unix_ms);
    ChannelView {
        channel: channel.channel_id.clone(),
        shared: !channel.private,
        created_at: Millis(kept.created_unix_ms).rfc3339(),
        last_at: Millis(last).rfc3339(),
        messages: channel.messages().len(),
        tokens: channel.tokens(),
        is_answering: channel.is_answering(),
        branches: channel.branches().map(|branch| branch.branch_id.clone()).collect(),
        last_error: kept.last_error.clone(),
    }
}

fn said_view(message: &Message) -> SaidView {
    let by = match message.role {
        Role::User | Role::ToolResult { .. } => "user",
        Role::Assistant | Role::ToolCall { .. } => "assistant",
        Role::Note => "note",
    };
    SaidView {
        number: message.number,
        by: by.to_owned(),
        text: message.text.clone(),
        at: Millis(message.at_unix_ms).rfc3339(),
    }
}
