//! A channel: one conversation, its context, its branches, and how it shrinks without forgetting.
//!
//! What must stay true: a message leaves the context only after what it said is stored; a tool call and its result
//! leave together; a branch starts with the channel's context and gives back a conclusion; a worker gets no bulletin;
//! what is private never enters the prompt of a channel that others read.

mod compaction;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use kernel::command::Draft;
use kernel::memory::{Body, Fields, Millis, Provenance, Salt, Source, Visibility};
use kernel::render::tokens;
use serde::{Deserialize, Serialize};

pub use compaction::NewMemory;

use crate::audience::Audience;
use crate::bulletin::{Bulletin, system_prompt};
use crate::error::{MindError, Result};
use crate::settings::ChannelSettings;

/// Stands where a message was that was erased.
pub const ERASED: &str = "[erased]";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "role")]
pub enum MessageRole {
    User,
    Assistant,
    ToolCall {
        call: String,
    },
    ToolResult {
        call: String,
    },
    /// What left the context, in short; and conclusions of branches.
    Note,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelMessage {
    /// From 1 in its channel.
    pub number: u64,
    pub role: MessageRole,
    pub text: String,
    pub at_unix_ms: i64,
    pub tokens: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelBranch {
    pub branch_id: String,
    pub description: String,
    pub started_unix_ms: i64,
}

/// What the daemon is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelEffect {
    /// Ask a model and answer with `Channel::answered`.
    Ask { turn: u64, system: String, messages: Vec<ChannelMessage> },
    /// Start a branch with this context; answer with `Channel::concluded`.
    StartBranch { branch: ChannelBranch, system: String, messages: Vec<ChannelMessage> },
    /// Ask a model what is worth keeping of these; answer with `Channel::extracted`. Purpose: maintenance.
    Extract { run: String, system: String, user: String },
    /// Save these memories, and the messages as they are, then call `Channel::stored`.
    Store { run: String, memories: Vec<NewMemory>, messages: Vec<ChannelMessage> },
    /// Tell the user.
    Reply { turn: u64, text: String },
    /// Tell the user that it did not work.
    Failed { turn: u64, why: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Compaction {
    run: String,
    /// The last message that leaves.
    up_to: u64,
    /// The text that takes its place, once it is known and being stored.
    note: Option<String>,
    mark: String,
}

/// The persistent state of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    pub channel_id: String,
    /// True if only the owner reads this channel.
    pub private: bool,
    messages: Vec<ChannelMessage>,
    branches: BTreeMap<String, ChannelBranch>,
    numbered: u64,
    turn: Option<u64>,
    compacting: Option<Compaction>,
    compactions: u64,
}

impl Channel {
    pub fn new(channel_id: &str, private: bool) -> Channel {
        Channel {
            channel_id: channel_id.to_owned(),
            private,
            messages: Vec::new(),
            branches: BTreeMap::new(),
            numbered: 0,
            turn: None,
            compacting: None,
            compactions: 0,
        }
    }

    /// Who reads here: which bulletin it gets and what recall may show it.
    pub fn audience(&self) -> Audience {
        if self.private { Audience::Owner } else { Audience::Shared }
    }

    pub fn messages(&self) -> &[ChannelMessage] {
        &self.messages
    }

    pub fn branches(&self) -> impl Iterator<Item = &ChannelBranch> {
        self.branches.values()
    }

    pub fn tokens(&self) -> u32 {
        self.messages.iter().map(|message| message.tokens).sum()
    }

    /// True while a model works on an answer.
    pub fn is_answering(&self) -> bool {
        self.turn.is_some()
    }

    /// A person writes. `bulletin` is the one of this moment, so a refresh between two turns is seen at the next.
    pub fn said(
        &mut self,
        text: &str,
        base_prompt: &str,
        bulletin: Option<&Bulletin>,
        settings: &ChannelSettings,
        now: Millis,
    ) -> Result<Vec<ChannelEffect>> {
        if text.trim().is_empty() {
            return Err(self.refuse("a message is not empty"));
        }
        if text.len() > settings.message_bytes_max {
            let (size, max) = (text.len(), settings.message_bytes_max);
            return Err(self.refuse(&format!("the message has {size} bytes, {max} are allowed")));
        }
        if self.turn.is_some() {
            return Err(self.refuse("the last message is still being answered"));
        }
        let bulletin = self.bulletin(bulletin)?;
        self.push(MessageRole::User, text, now);
        let turn = self.numbered;
        self.turn = Some(turn);
        let system = system_prompt(base_prompt, bulletin);
        let mut effects =
            vec![ChannelEffect::Ask { turn, system, messages: self.messages.clone() }];
        effects.extend(self.compact(settings, now));
        Ok(effects)
    }

    /// The bulletin of another audience is a mistake of the caller, and must not be shown.
    fn bulletin<'a>(&self, bulletin: Option<&'a Bulletin>) -> Result<Option<&'a Bulletin>> {
        match bulletin {
            Some(bulletin) if bulletin.audience == Audience::Owner && !self.private => {
                Err(self.refuse("the owner's bulletin is not for a shared channel"))
            }
            bulletin => Ok(bulletin),
        }
    }

    /// The model answered a turn, or did not. An answer to another turn is ignored.
    pub fn answered(
        &mut self,
        turn: u64,
        answer: std::result::Result<String, String>,
        settings: &ChannelSettings,
        now: Millis,
    ) -> Vec<ChannelEffect> {
        if self.turn != Some(turn) {
            return Vec::new();
        }
        self.turn = None;
        match answer {
            Ok(text) => {
                self.push(MessageRole::Assistant, &text, now);
                let mut effects = vec![ChannelEffect::Reply { turn, text }];
                effects.extend(self.compact(settings, now));
                effects
            }
            Err(why) => vec![ChannelEffect::Failed { turn, why }],
        }
    }

    /// Forks the conversation: the branch knows everything the channel knows, its bulletin included.
    pub fn branch(
        &mut self,
        description: &str,
        base_prompt: &str,
        bulletin: Option<&Bulletin>,
        settings: &ChannelSettings,
        now: Millis,
    ) -> Result<ChannelEffect> {
        if self.branches.len() >= settings.branches_max as usize {
            return Err(self.refuse(&format!("{} branches run already", self.branches.len())));
        }
        let bulletin = self.bulletin(bulletin)?;
        self.numbered += 1;
        let branch = ChannelBranch {
            branch_id: format!("{}-branch-{}", self.channel_id, self.numbered),
            description: description.to_owned(),
            started_unix_ms: now.get(),
        };
        self.branches.insert(branch.branch_id.clone(), branch.clone());
        let system = system_prompt(base_prompt, bulletin);
        Ok(ChannelEffect::StartBranch { branch, system, messages: self.messages.clone() })
    }

    /// A branch ended: its conclusion becomes part of the conversation, its thinking does not.
    pub fn concluded(&mut self, branch_id: &str, conclusion: &str, now: Millis) -> Result<()> {
        let branch = self.branches.remove(branch_id);
        let branch = branch.ok_or_else(|| MindError::UnknownProcess {
            process: "branch",
            id: branch_id.chars().take(64).collect(),
        })?;
        let text = format!("Branch \"{}\" concluded: {conclusion}", branch.description);
        self.push(MessageRole::Note, &text, now);
        Ok(())
    }

    /// Something happened that the conversation should know: a worker ended, say.
    pub fn noted(&mut self, text: &str, now: Millis) {
        self.push(MessageRole::Note, text, now);
    }

    /// What was said in these words was erased: it leaves the context too. True if it was there.
    pub fn erase(&mut self, text: &str) -> bool {
        let mut found = false;
        for message in self.messages.iter_mut().filter(|message| message.text == text) {
            ERASED.clone_into(&mut message.text);
            message.tokens = tokens(ERASED);
            found = true;
        }
        found
    }

    /// The turn that waits for an answer.
    pub fn turn(&self) -> Option<u64> {
        self.turn
    }

    /// The compaction that is under way, and whether what it wrote is being stored.
    pub fn compacting(&self) -> Option<(&str, bool)> {
        self.compacting.as_ref().map(|one| (one.run.as_str(), one.note.is_some()))
    }

    /// A memory from this conversation, ready to be saved. What was said in private stays private.
    pub fn draft(&self, memory: &NewMemory, model: Option<&str>) -> Draft {
        let fields = Fields::empty(memory.kernel_type());
        let (title, content) = (memory.title.clone(), memory.content.clone());
        let source = if model.is_some() { Source::Derived } else { Source::Observed };
        let (derived_from, origin) = (Vec::new(), None);
        Draft {
            visibility: if self.private { Visibility::Private } else { Visibility::Scoped },
            channel: Some(self.channel_id.clone()),
            provenance: Provenance {
                source,
                derived_from,
                model: model.map(str::to_owned),
                origin,
            },
            ..Draft::new(Body { title, content, fields }, Salt::NONE)
        }
    }

    fn push(&mut self, role: MessageRole, text: &str, now: Millis) {
        self.numbered += 1;
        self.messages.push(ChannelMessage {
            number: self.numbered,
            role,
            text: text.to_owned(),
            at_unix_ms: now.get(),
            tokens: tokens(text),
        });
    }

    fn refuse(&self, reason: &str) -> MindError {
        MindError::Channel { channel: self.channel_id.clone(), reason: reason.to_owned() }
    }
}
