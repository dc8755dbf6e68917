//! The end of a run that went well: the output on disk, the conversation kept, then `finish`.

use serde_json::json;

use super::TalentProcess;
use super::chats::Chats;
use super::error::RunError;
use super::events::Events;
use super::prepare::PreparedRun;
use super::request::TalentRequest;
use super::turns::RunResult;
use api::run::{FinishPayload, is_conversation_id};
use llm::providers::ChatMessage;
use talents::chronicle::write_atomic;

pub(super) async fn finish(
    process: &TalentProcess,
    request: &TalentRequest,
    prepared: &PreparedRun,
    mut done: RunResult,
    events: &Events,
) -> Result<FinishPayload, RunError> {
    let mut written = None;
    if let Some(path) = &prepared.output_path {
        let mut text = done.text.trim_end().to_owned();
        text.push('\n');
        match write_atomic(path, text.as_bytes()) {
            Ok(()) => written = Some(path.display().to_string()),
            // The result is still in `finish`; a full disk must not cost the answer.
            Err(error) => {
                let message = format!("the output was not written: {error}");
                events.warn(&message).await?;
                done.warnings.push(message);
            }
        }
    }
    if written.is_some() {
        for path in &done.kept {
            // What is left behind costs a little room, and spares a later run the same question.
            let _ = std::fs::remove_file(path);
        }
    }
    let session = keep(process, request, prepared, &done);
    let session = session.unwrap_or_else(|error| {
        done.warnings.push(error.to_string());
        None
    });
    let mut usage = serde_json::to_value(&done.usage).unwrap_or_default();
    usage["model_version"] = json!(done.model);
    Ok(FinishPayload {
        result: Some(done.text),
        usage: Some(usage),
        cost: Some(done.cost),
        cited: Some(done.cited),
        warnings: Some(done.warnings),
        output_path: written,
        cli_session_id: session,
        chat_id: request.chat_id.clone(),
        provider: Some(done.choice.provider),
        model: Some(done.choice.model),
        schema_validation: done.schema_validation,
        ..FinishPayload::default()
    })
}

/// Keeps what was said, and gives the id under which the conversation goes on. Only conversations are kept: a run
/// with an output is none, unless it was asked to be.
fn keep(
    process: &TalentProcess,
    request: &TalentRequest,
    prepared: &PreparedRun,
    done: &RunResult,
) -> Result<Option<String>, RunError> {
    let asked = request.chat_id.as_deref().or(request.session_id.as_deref());
    // A conversation that somebody else keeps is not kept twice.
    let talks = prepared.output.is_none() && request.prompt.is_some() && request.context.is_none();
    if asked.is_none() && !talks {
        return Ok(done.session.clone());
    }
    // A conversation without a name gets that of its session, or of its first run.
    let id = request
        .chat_id
        .as_deref()
        .or(done.session.as_deref().filter(|id| is_conversation_id(id)))
        .or(asked)
        .unwrap_or(request.use_id.as_str());
    let turns = [
        ChatMessage::User { text: request.prompt.clone().unwrap_or_default() },
        ChatMessage::Assistant { text: done.text.clone(), thoughts: Vec::new(), calls: Vec::new() },
    ];
    let provider = &done.choice.provider;
    let chat = Chats::new(&process.layout).said(
        id,
        provider,
        request.use_id.as_str(),
        done.session.as_deref(),
        turns,
    )?;
    Ok(chat.session_id.or(Some(id.to_owned())))
}
