//! The first call of a run: who is asked, what was said before, and which tools there are.
//!
//! What must stay true: a provider that cannot be opened is replaced before anything was done; a conversation goes
//! on only where it is known; warnings are events of the run before its first turn.

use std::sync::Arc;

use llm::models::ModelChoice;
use llm::providers::{ChatMessage, ModelRequest, OwnTools, Provider, ToolServer};

use super::chats::Chats;
use super::context::Context;
use super::error::RunError;
use super::fallback;
use super::handover::HAND_OVER;
use super::prepare::PreparedRun;
use super::toolbox::BETWEEN;
use super::turns::RunScene;
use talents::talent_files::{OutputFormat, TalentKind};

/// Who is asked first, and what.
pub(super) struct FirstCall {
    pub(super) provider: Arc<dyn Provider>,
    /// The prepared choice, or its fallback if that could not be opened.
    pub(super) choice: ModelChoice,
    pub(super) call: ModelRequest,
    pub(super) warnings: Vec<String>,
}

/// What was said before.
struct Conversation {
    messages: Vec<ChatMessage>,
    /// The session of a command line tool that goes on.
    session: Option<String>,
}

impl FirstCall {
    pub(super) async fn prepare(scene: RunScene<'_>) -> Result<FirstCall, RunError> {
        let RunScene { process, request, prepared, events, .. } = scene;
        let (choice, provider) = open_provider(scene).await?;
        let Conversation { mut messages, session } = conversation(scene, provider.is_cli())?;
        let chats = Chats::new(&process.layout);
        if let Some(id) = request.chat_id.as_deref().or(request.session_id.as_deref()) {
            chats.enter(id, &choice.provider, request.use_id.as_str())?;
        }
        let mut warnings = prepared.warnings.clone();
        let server = tool_server(scene, provider.as_ref(), &choice, &mut warnings);
        for warning in &warnings {
            events.warn(warning).await?;
        }
        push_message(&mut messages, prepared.message(request));
        let front = &prepared.talent.front;
        let json = prepared.output == Some(OutputFormat::Json);
        let call = ModelRequest {
            model: choice.model.clone(),
            system: prepared.system(),
            messages,
            tools: prepared.tools.iter().map(|tool| tool.spec.clone()).collect(),
            schema: front.schema.clone().filter(|_| json),
            json,
            max_output_tokens: request.max_output_tokens.or(front.max_output_tokens),
            thinking_budget: request.thinking_budget.or(front.thinking_budget),
            session,
            own_tools: own_tools(prepared),
            server,
            whole: Some(process.limit(request)),
        };
        Ok(FirstCall { provider, choice, call, warnings })
    }
}

/// What a command line tool may use of its own. A generator answers from its sources: whatever they tell it to read,
/// it has nothing to read it with.
fn own_tools(prepared: &PreparedRun) -> OwnTools {
    match prepared.kind {
        TalentKind::Generator => OwnTools::None,
        TalentKind::Agent if prepared.talent.front.write => OwnTools::Write,
        TalentKind::Agent => OwnTools::Read,
    }
}

/// The prepared provider, or its fallback if it cannot be opened.
async fn open_provider(scene: RunScene<'_>) -> Result<(ModelChoice, Arc<dyn Provider>), RunError> {
    let RunScene { process, request, prepared, events, .. } = scene;
    let choice = prepared.choice.clone();
    let error = match process.providers.open(&choice.provider) {
        Ok(provider) => return Ok((choice, provider)),
        Err(error) => error,
    };
    let Some(other) = fallback::of(process, request, prepared, &error) else {
        return Err(RunError::Provider { provider: choice.provider, error });
    };
    fallback::tell(events, &choice, &other, "preflight", &error).await?;
    match process.providers.open(&other.provider) {
        Ok(provider) => Ok((other, provider)),
        Err(second) => Err(fallback::both(&choice, error, &other, &second)),
    }
}

/// What was said before: command line tools keep it themselves, for services it is kept here.
fn conversation(scene: RunScene<'_>, is_cli: bool) -> Result<Conversation, RunError> {
    let RunScene { request, prepared, .. } = scene;
    let mut messages = prepared.context.as_ref().map(Context::messages).unwrap_or_default();
    let mut session = None;
    if is_cli {
        let known = prepared.chat.as_ref().and_then(|chat| chat.session_id.clone());
        session = request.session_id.clone().or(known);
    } else if let Some(chat) = &prepared.chat {
        messages.splice(..0, chat.turns.iter().cloned());
    } else if let Some(session) = &request.session_id {
        let why = format!("no conversation {session:?} is known here");
        return Err(RunError::Chat { code: "unknown_session", why });
    }
    Ok(Conversation { messages, session })
}

/// Where a command line tool finds the tools of the talent.
fn tool_server(
    scene: RunScene<'_>,
    provider: &dyn Provider,
    choice: &ModelChoice,
    warnings: &mut Vec<String>,
) -> Option<ToolServer> {
    let RunScene { process, prepared, .. } = scene;
    // A tool of the command line has its own way of giving work to others.
    let names = prepared.tools.iter().map(|tool| tool.spec.name.clone());
    let (others, tools): (Vec<String>, Vec<String>) =
        names.filter(|name| name != HAND_OVER).partition(|name| name.contains(BETWEEN));
    if provider.is_cli() && !others.is_empty() {
        let name = &choice.provider;
        warnings.push(format!("{name} cannot use tools of others: {}", others.join(", ")));
    }
    if tools.is_empty() {
        return None;
    }
    let server = process.toolbox.server(&prepared.scene, &tools);
    if provider.is_cli() && server.is_none() {
        let name = &choice.provider;
        warnings.push(format!(
            "{name} has its own tools; those of the talent are not available with it"
        ));
    }
    server
}

/// Adds what the run is asked. A conversation may end with a note, which comes from the user's side too.
fn push_message(messages: &mut Vec<ChatMessage>, mut text: String) {
    if let Some(ChatMessage::User { text: before }) =
        messages.pop_if(|last| matches!(last, ChatMessage::User { .. }))
    {
        text = format!("{before}\n\n{text}");
    }
    messages.push(ChatMessage::User { text });
}
