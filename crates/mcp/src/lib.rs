//! The tools that agents call, over the Model Context Protocol.
//!
//! - [`tools`]: names, words and schemas, small enough to be read at every start; which profile holds which.
//! - `call`: arguments into operations, answers by `api::render::model` into text and structure.
//! - `instructions`: what an agent is told unasked, of the tools it has.
//! - `talent`: the tools of one talent, for a provider that runs its own loop.
//! - [`backend`]: whoever answers calls; `folder`: where the agent works, if that is not where we were started.
//!
//! What must stay true: standard output carries the protocol and nothing else; an error that the agent can act on is a
//! result it can read, never a broken connection; no text names a tool that the agent does not have.

pub mod backend;
pub mod call;
mod folder;
mod instructions;
pub mod talent;
pub mod tools;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proof::memory::MemoryType;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, JsonObject, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    Prompt, PromptArgument, PromptMessage, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate, Role, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};

use api::bulletin::BulletinRequest;
use api::context::ContextRequest;
use api::pages::{PageListRequest, PageShowRequest};
use api::read::GetRequest;
use api::render::model::{self, ModelReader};
use api::render::untrusted;
use api::{Error, ErrorCode, Fault};
use backend::Backend;
use folder::WorkFolder;
use tools::Choice;

/// Every text that an agent with these tools reads unasked: instructions, tools, prompts.
pub fn standing_texts(choice: &Choice) -> Vec<String> {
    let mut texts = vec![instructions::of(choice)];
    texts.extend(instructions::prompts(choice));
    texts.extend(choice.descriptions());
    texts
}

/// The resource that holds the memory bulletin.
const BULLETIN: &str = "cortex://bulletin";
/// What the resources that hold pages begin with.
const PAGE: &str = "cortex://page/";

/// One agent's view of a memory.
#[derive(Clone, Debug)]
pub struct Server {
    backend: Backend,
    choice: Choice,
    tools: Vec<Tool>,
    /// The session that the agent at the other end started; nothing where every request may be somebody else's.
    session: Option<Arc<Mutex<Option<String>>>>,
    /// Asked where the agent works, if that is not known.
    folder: Option<WorkFolder>,
}

impl Server {
    pub fn new(backend: Backend, choice: &Choice) -> Server {
        Server {
            backend,
            choice: choice.clone(),
            tools: choice.listed(),
            session: None,
            folder: None,
        }
    }

    /// The same for one agent: what it saves belongs to the session that it started.
    pub fn of_one_agent(self) -> Server {
        Server { session: Some(Arc::default()), ..self }
    }

    /// The same for an agent that started us in no project: it is asked where it works, and `at` answers for there.
    pub fn asking_where(
        self,
        at: impl Fn(PathBuf) -> Option<Backend> + Send + Sync + 'static,
    ) -> Server {
        Server { folder: Some(WorkFolder::new(at)), ..self }
    }

    /// Names the session that speaks, where a call names none.
    fn with_session(&self, tool: &str, arguments: &mut JsonObject) {
        let belongs = ["mem_save", "mem_save_prompt", "mem_session_summary", "mem_capture_passive"];
        if belongs.contains(&tool)
            && arguments.get("session_id").is_none_or(Value::is_null)
            && let Some(session) = self.session.as_ref().and_then(|session| lock(session).clone())
        {
            arguments.insert("session_id".to_owned(), Value::String(session));
        }
    }

    /// Keeps in mind which session the agent started, until it ends it.
    fn heard(&self, tool: &str, id: Option<&str>) {
        let (Some(session), Some(id)) = (&self.session, id) else { return };
        let mut session = lock(session);
        match tool {
            "mem_session_start" => *session = Some(id.to_owned()),
            "mem_session_end" if session.as_deref() == Some(id) => *session = None,
            _ => {}
        }
    }

    /// Who reads what is answered without arguments of its own.
    fn reader(&self) -> ModelReader {
        ModelReader { tools: self.choice.names().to_vec(), ..ModelReader::default() }
    }

    /// Where a request gets its answer. Over HTTP each says for itself who asks.
    async fn backend(&self, context: &RequestContext<RoleServer>) -> Backend {
        let parts = context.extensions.get::<http_parts::request::Parts>();
        if let Some(named) = parts.and_then(|parts| parts.extensions.get::<Backend>()) {
            return named.clone();
        }
        let found = match &self.folder {
            Some(folder) => folder.backend(&context.peer).await,
            None => None,
        };
        found.unwrap_or_else(|| self.backend.clone())
    }
}

/// A panic elsewhere leaves a name that is right or missing.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wire(error: &Error) -> ErrorData {
    let code = rmcp::model::ErrorCode(error.rpc_code());
    ErrorData::new(code, untrusted::line(&error.message), serde_json::to_value(error).ok())
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("cortex", env!("CARGO_PKG_VERSION")))
            .with_instructions(instructions::of(&self.choice))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.get_tool(&request.name).is_none() {
            let names: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_ref()).collect();
            let message = format!("no tool {:?}; there are {}", request.name, names.join(", "));
            return Err(ErrorData::invalid_params(message, None));
        }
        let mut arguments = request.arguments.unwrap_or_default();
        self.with_session(&request.name, &mut arguments);
        let id = arguments.get("id").and_then(Value::as_str).map(str::to_owned);
        let (backend, tools) = (self.backend(&context).await, self.choice.names());
        let result = match call::call(&backend, tools, &request.name, arguments).await {
            Ok(answer) => {
                self.heard(&request.name, id.as_deref());
                let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
                result.structured_content = Some(Value::Object(answer.structured));
                result
            }
            Err(error) => {
                let said = model::failed(&error, &self.reader());
                CallToolResult::error(vec![ContentBlock::text(said)])
            }
        };
        Ok(result.into())
    }

    /// No message for a log is ever sent, so whatever is the least that a client wants to see, it gets no less.
    #[expect(deprecated, reason = "clients of the revisions that have it may call it")]
    async fn set_level(
        &self,
        _: rmcp::model::SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        request: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut context = Resource::new("cortex://context", "context");
        context.description = Some("Recent sessions, prompts and memories".to_owned());
        context.mime_type = Some("text/markdown".to_owned());
        let mut bulletin = Resource::new(BULLETIN, "bulletin");
        bulletin.description =
            Some("What matters now: a briefing with the ids it comes from".to_owned());
        bulletin.mime_type = Some("text/markdown".to_owned());
        let mut resources = vec![context, bulletin];
        // Whoever may not see pages has none.
        let pages = self.backend(&request).await.ask(PageListRequest {}).await.unwrap_or_default();
        for page in pages.pages {
            let mut resource = Resource::new(format!("{PAGE}{}", page.name), page.name);
            resource.description = Some(untrusted::line(&page.question));
            resource.mime_type = Some("text/markdown".to_owned());
            resources.push(resource);
        }
        Ok(ListResourcesResult::with_all_items(resources))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut memory = ResourceTemplate::new("cortex://memory/{id}", "memory");
        memory.description = Some("One memory in full, by its id".to_owned());
        memory.mime_type = Some("text/markdown".to_owned());
        let mut page = ResourceTemplate::new(format!("{PAGE}{{name}}"), "page");
        page.description = Some(
            "A question that stands, answered from memory, with the ids it comes from".to_owned(),
        );
        page.mime_type = Some("text/markdown".to_owned());
        Ok(ListResourceTemplatesResult::with_all_items(vec![memory, page]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let backend = self.backend(&context).await;
        let text = if request.uri == "cortex://context" {
            let asked = ContextRequest { default_project: true, ..ContextRequest::default() };
            backend.ask(asked).await.map(|answer| answer.text)
        } else if request.uri == BULLETIN {
            let asked = BulletinRequest { as_prompt: true, ..BulletinRequest::default() };
            let answer = backend.ask(asked).await;
            answer.map(|answer| answer.bulletin.map(|bulletin| bulletin.text).unwrap_or_default())
        } else if let Some(name) = request.uri.strip_prefix(PAGE) {
            let name = name.to_owned();
            let asked = PageShowRequest { name, as_prompt: true, ..PageShowRequest::default() };
            backend.ask(asked).await.map(|page| page.text)
        } else {
            match memory_of(&request.uri, backend.actor()) {
                Some((id, version)) => {
                    let get = GetRequest { id, version, ..GetRequest::default() };
                    backend.ask(get).await.map(|answer| model::memory(&answer, &self.reader()).text)
                }
                None => Err(Error::new(ErrorCode::NotFound, Fault::Missing, "no such resource")),
            }
        };
        let text = text.map_err(|error| match error.fault {
            Fault::Missing => {
                ErrorData::resource_not_found(error.message, Some(json!({"uri": request.uri})))
            }
            _ => wire(&error),
        })?;
        let contents = ResourceContents::text(text, &request.uri).with_mime_type("text/markdown");
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let topic = PromptArgument::new("topic").with_required(true);
        let recall =
            Prompt::new("recall", Some("Recall what is known about a topic"), Some(vec![topic]));
        let summarise =
            Prompt::new("summarise-session", Some("Summarise this session into memory"), None);
        let offered = [recall, summarise].into_iter();
        let offered = offered.filter(|prompt| instructions::offers(&prompt.name, &self.choice));
        Ok(ListPromptsResult::with_all_items(offered.collect()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let text = match request.name.as_str() {
            name if !instructions::offers(name, &self.choice) => {
                let message = format!("no prompt {name:?}; prompts/list names those there are");
                return Err(ErrorData::invalid_params(message, None));
            }
            "recall" => {
                let topic = request.arguments.as_ref().and_then(|all| all.get("topic"));
                let topic = topic.and_then(|topic| topic.as_str()).map(str::trim);
                let Some(topic) = topic.filter(|topic| !topic.is_empty()) else {
                    return Err(ErrorData::invalid_params("topic: is required", None));
                };
                let steps = instructions::recall(&self.choice);
                format!("Find out what memory holds about: {topic}\n{steps}")
            }
            _ => instructions::SUMMARISE.to_owned(),
        };
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).into())
    }
}

/// The memory that a URI names, and the version: `cortex://memory/12` or `cortex://default/Fact/12#1`. What belongs to
/// another actor is not there.
fn memory_of(uri: &str, actor: &str) -> Option<(u64, Option<u32>)> {
    if let Some(id) = uri.strip_prefix("cortex://memory/") {
        return id.parse().ok().map(|id| (id, None));
    }
    let path = uri.strip_prefix("cortex://")?.strip_prefix(actor)?.strip_prefix('/')?;
    let (memory_type, memory) = path.split_once('/')?;
    let (id, version) = memory.split_once('#')?;
    MemoryType::parse(memory_type).ok()?;
    Some((id.parse().ok()?, Some(version.parse().ok()?)))
}

/// Serves one agent over standard input and output until it closes them.
pub fn serve_stdio(server: impl ServerHandler) -> Result<(), Error> {
    use rmcp::ServiceExt as _;
    let failed = |error: String| Error::new(ErrorCode::Io, Fault::Server, error);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| failed(error.to_string()))?;
    let outcome = runtime.block_on(async {
        let running = match server.serve(rmcp::transport::stdio()).await {
            Ok(running) => running,
            // Nobody said hello: the agent looked and went away.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(failed(error.to_string())),
        };
        running.waiting().await.map(drop).map_err(|error| failed(error.to_string()))
    });
    // A read of standard input cannot be interrupted, and there is nothing left to wait for.
    runtime.shutdown_background();
    outcome
}
