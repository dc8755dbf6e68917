//! The tools around a conversation and for an administrator: branches, workers, what runs, what can be taken back.
//!
//! What must stay true: a run of a channel that others read learns of nothing private; what an administrator's tools do
//! is what an administrator could have typed.

use std::sync::PoisonError;

use api::admin::{AdminQuestion, AdminQuestionRequest};
use api::channel::{ChannelBranchRequest, ChannelGetRequest, ChannelWorkerRequest};
use api::memory::Memory as MemoryView;
use runs::process::{ToolAnswer, ToolError, ToolScene};
use serde::Deserialize;
use serde_json::json;

use crate::talents_host::toolbox::{ABOUT, MemoryTools, ToolResult, told};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InspectArgs {
    pub(super) id: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UndoArgs {
    pub(super) run: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BranchArgs {
    pub(super) question: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkerArgs {
    pub(super) task: String,
    pub(super) talent: Option<String>,
}

impl MemoryTools {
    /// Answers a tool call with what the admin chat says to the same question.
    pub(super) async fn admin(
        &self,
        scene: &ToolScene,
        question: AdminQuestion,
    ) -> ToolResult<ToolAnswer> {
        let request = AdminQuestionRequest { question };
        let answer = self.memory.ask(scene.talent.as_str(), request).await.map_err(told)?;
        let value = json!({"about": ABOUT, "answer": answer.response, "data": answer.data});
        Ok(ToolAnswer { value, cited: Vec::new() })
    }

    pub(super) async fn branch(
        &self,
        scene: &ToolScene,
        args: BranchArgs,
    ) -> ToolResult<ToolAnswer> {
        let (channel, description) = (channel(scene)?, args.question);
        let request = ChannelBranchRequest { channel, description, ..Default::default() };
        let started = self.memory.ask(scene.talent.as_str(), request).await.map_err(told)?;
        let note = "it thinks; its conclusion will stand in this conversation as a note";
        let value = json!({"branch": started.use_id, "note": note});
        Ok(ToolAnswer { value, cited: Vec::new() })
    }

    pub(super) async fn worker(
        &self,
        scene: &ToolScene,
        args: WorkerArgs,
    ) -> ToolResult<ToolAnswer> {
        let channel = channel(scene)?;
        let WorkerArgs { task, talent } = args;
        let request = ChannelWorkerRequest { channel, task, talent, ..Default::default() };
        let started = self.memory.ask(scene.talent.as_str(), request).await.map_err(told)?;
        let note = "it works; its result will stand in this conversation as a note";
        let value = json!({"worker": started.use_id, "note": note});
        Ok(ToolAnswer { value, cited: Vec::new() })
    }

    /// Does this run belong to a channel that others read? Asked once.
    pub(super) async fn is_shared(&self, scene: &ToolScene) -> ToolResult<bool> {
        let Some(channel) = &scene.channel else { return Ok(false) };
        let known = *self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = known {
            return Ok(shared);
        }
        let request = ChannelGetRequest { channel: channel.clone(), limit: Some(1) };
        let found = self.memory.ask(scene.talent.as_str(), request).await.map_err(told)?;
        *self.shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(found.view.shared);
        Ok(found.view.shared)
    }
}

/// An id: one word.
pub(super) fn word(text: &str) -> ToolResult<String> {
    let text = text.trim();
    if text.is_empty() || text.contains(char::is_whitespace) {
        return Err(ToolError::new("an id is one word".to_owned()));
    }
    Ok(text.to_owned())
}

/// The conversation that a run belongs to.
fn channel(scene: &ToolScene) -> ToolResult<String> {
    let none = || ToolError::new("this run belongs to no conversation".to_owned());
    scene.channel.clone().ok_or_else(none)
}

/// May everybody know of it?
pub(super) fn is_open(memory: &MemoryView) -> bool {
    memory.visibility != "private" && (memory.scope != "personal" || memory.visibility == "public")
}
