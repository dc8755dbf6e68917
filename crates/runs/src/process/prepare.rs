//! From a request to everything a run needs, in the order of the specification: talent, request over it, model,
//! disabled, sources, instructions, output path, validation.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use super::chats::{Chat, Chats, locked};
use super::context::Context;
use super::error::RunError;
use super::request::TalentRequest;
use super::toolbox::{BETWEEN, ToolScene, Toolbox};
use super::{ChronicleTools, TalentProcess};
use llm::models::{ModelChoice, ModelQuery};
use llm::providers::ToolSpec;
use talents::chronicle::{
    RenderScope, Rendering, confined, list_facets, output_path, render, span_path,
};
use talents::layout::Layout;
use talents::talent_files::{
    InstructionNote, Instructions, OutputFormat, Scene, Talent, TalentCatalog, TalentKind,
    ToolGrant, Want,
};

/// Less content than this is no input.
const CONTENT_BYTES_MIN: usize = 50;
const OUTPUT_BYTES_MAX: u64 = 16 * 1024 * 1024;

pub(super) enum Step {
    /// There is nothing to do, and why.
    Skip(String),
    /// The output is there already.
    Reuse {
        text: String,
        path: String,
    },
    Go(Box<PreparedRun>),
}

pub(super) struct PreparedRun {
    pub(super) talent: Talent,
    pub(super) kind: TalentKind,
    pub(super) choice: ModelChoice,
    pub(super) output: Option<OutputFormat>,
    pub(super) output_path: Option<PathBuf>,
    pub(super) instructions: Instructions,
    pub(super) sources: Rendering,
    pub(super) tools: Vec<Tool>,
    pub(super) scene: ToolScene,
    pub(super) chat: Option<Chat>,
    pub(super) context: Option<Context>,
    pub(super) warnings: Vec<String>,
}

/// A tool and where it comes from.
#[derive(Clone)]
pub(super) struct Tool {
    pub(super) spec: ToolSpec,
    pub(super) from: Arc<dyn Toolbox>,
}

/// `most` bounds the talent's own grant: who takes over a run may do no more than who began it.
pub(super) async fn prepare(
    process: &TalentProcess,
    request: &TalentRequest,
    most: ToolGrant,
) -> Result<Step, RunError> {
    let mut talent = process.catalog.find(&request.name)?;
    talent.front.grant = talent.front.grant.min(most);
    if let Some(output) = request.output {
        talent.front.output = Some(output);
    }
    let kind = talent.kind();
    let chat = chat_of(process, request)?;
    let choice = choose(process, request, &talent, chat.as_ref());
    if talent.front.disabled || choice.as_ref().is_ok_and(|choice| choice.disabled) {
        return Ok(Step::Skip("disabled".into()));
    }
    let path = where_to(process, request, &talent)?;
    if let Some(path) = &path
        && !request.refresh
        && let Some(text) = existing(path)
    {
        return Ok(Step::Reuse { text, path: path.display().to_string() });
    }
    let load = talent.front.sources();
    let wanted =
        [load.transcripts, load.percepts, load.talents].iter().any(|want| *want != Want::No);
    let sources = if wanted {
        let scope = scope_of(request);
        let (layout, catalog) = (&process.layout, &process.catalog);
        render(layout, request.day, &scope, request.facet.as_ref(), &load, catalog, &talent.name)?
    } else {
        Rendering::default()
    };
    if let Some(missing) = &sources.missing {
        // The seed's word where it is the transcript that is missing; the source's name otherwise.
        let reason = match missing.as_str() {
            "transcripts" => "no_input".to_owned(),
            other => format!("missing_required_{other}"),
        };
        return Ok(Step::Skip(reason));
    }
    // Somebody who asks an agent has a reason, sources or not; a schedule has none.
    let asked = request.prompt.is_some() && request.schedule.is_none();
    let needs_input = wanted && (kind == TalentKind::Generator || !asked);
    if needs_input && sources.content_bytes < CONTENT_BYTES_MIN {
        return Ok(Step::Skip("no_input".into()));
    }
    let choice = choice?;
    let (facets, mut warnings) = list_facets(&process.layout)?;
    warnings.extend(sources.problems.iter().cloned());
    let facets = facets
        .iter()
        .filter(|(_, file)| !file.muted)
        .map(|(name, file)| InstructionNote {
            name: name.to_string(),
            title: file.title.clone(),
            description: file.description.clone(),
        })
        .collect();
    let context = request.context.as_deref();
    let context = context.map(|name| Context::read(&process.layout, name)).transpose()?;
    let bulletin = match kind {
        // A conversation brings the bulletin it wants; its workers get none.
        TalentKind::Agent if request.channel.is_none() && talent.front.grant >= ToolGrant::Read => {
            process.toolbox.bulletin(request.facet.as_ref()).await
        }
        TalentKind::Agent | TalentKind::Generator => None,
    };
    let scene = Scene {
        now: process.clock.now(),
        use_id: Some(request.use_id.clone()),
        day: Some(request.day),
        segment: request.segment,
        facet: request.facet.clone(),
        facets,
        prompt: request.prompt.clone(),
        output: talent.front.output,
        input: wanted.then(|| sources.summary()),
        bulletin,
    };
    let mut instructions = Instructions::build(&process.catalog, &talent, &scene)?;
    if instructions.user.contains(BUNDLE) {
        let bundle = bundle(process, request, &talent).await?;
        // The text of memories is put in last, so that nothing in it is read as a template.
        instructions.user = instructions.user.replace(BUNDLE, &bundle);
    }
    let wants_others = talent.front.tools.iter().flatten().any(|name| name.contains(BETWEEN));
    let others = if wants_others {
        let (others, problems) = process.toolbox.others(&talent.name).await;
        warnings.extend(problems);
        others
    } else {
        Vec::new()
    };
    let tools =
        select(&process.layout, &process.catalog, &process.toolbox, &talent, others, &mut warnings);
    let scene = ToolScene {
        use_id: request.use_id.clone(),
        talent: talent.name.clone(),
        facet: request.facet.clone(),
        day: request.day,
        channel: request.channel.clone(),
        grant: talent.front.grant,
    };
    let prepared = PreparedRun {
        output: talent.front.output,
        output_path: path,
        kind,
        choice,
        instructions,
        sources,
        tools,
        scene,
        chat,
        context,
        warnings,
        talent,
    };
    validate(request, &prepared)?;
    Ok(Step::Go(Box::new(prepared)))
}

/// Stands in a talent's body for what the memory knows of the task.
const BUNDLE: &str = "{cortex.bundle}";

/// What stands for [`BUNDLE`]. A talent that asks for it and cannot have it does not start: it would work without what
/// it relies on.
async fn bundle(
    process: &TalentProcess,
    request: &TalentRequest,
    talent: &Talent,
) -> Result<String, RunError> {
    if talent.front.grant < ToolGrant::Read {
        return Err(RunError::request(format!("{BUNDLE} needs the grant to read the memory")));
    }
    let told = process.toolbox.bundle(request.facet.as_ref(), request.prompt.as_deref()).await;
    told.ok_or_else(|| RunError::request(format!("{BUNDLE}: the memory cannot be read now")))
}

/// What must hold before a model is asked.
fn validate(request: &TalentRequest, prepared: &PreparedRun) -> Result<(), RunError> {
    let has_task = request.prompt.is_some() || prepared.talent.front.schedule.is_some();
    if prepared.kind == TalentKind::Agent && !has_task && prepared.sources.files.is_empty() {
        return Err(RunError::request(format!(
            "the talent {:?} needs a \"prompt\": what it is to do",
            request.name.as_str()
        )));
    }
    if prepared.talent.front.multi_facet && request.facet.is_none() {
        let name = request.name.as_str();
        return Err(RunError::request(format!(
            "the talent {name:?} is for one facet at a time: \"facet\" is missing"
        )));
    }
    Ok(())
}

fn chat_of(process: &TalentProcess, request: &TalentRequest) -> Result<Option<Chat>, RunError> {
    let chats = Chats::new(&process.layout);
    for id in [&request.chat_id, &request.session_id].into_iter().flatten() {
        if let Some(chat) = chats.find(id)? {
            return Ok(Some(chat));
        }
    }
    Ok(None)
}

fn choose(
    process: &TalentProcess,
    request: &TalentRequest,
    talent: &Talent,
    chat: Option<&Chat>,
) -> Result<ModelChoice, RunError> {
    let mut asked = ModelQuery {
        provider: request.provider.clone(),
        tier: request.tier,
        model: request.model.clone(),
    };
    if let Some(chat) = chat.filter(|chat| !chat.provider.is_empty()) {
        match &asked.provider {
            Some(wanted) if *wanted != chat.provider => {
                return Err(locked(&chat.chat_id, &chat.provider, wanted));
            }
            _ => asked.provider = Some(chat.provider.clone()),
        }
    }
    let front = &talent.front;
    let own = ModelQuery {
        provider: front.provider.clone(),
        tier: front.tier,
        model: front.model.clone(),
    };
    Ok(process.resolver.resolve(&talent.context(), &asked, &own)?)
}

fn scope_of(request: &TalentRequest) -> RenderScope {
    match request.segment {
        Some(segment) => RenderScope::Segment(segment),
        None if request.span.is_empty() => RenderScope::Day,
        None => RenderScope::Span(request.span.clone()),
    }
}

fn where_to(
    process: &TalentProcess,
    request: &TalentRequest,
    talent: &Talent,
) -> Result<Option<PathBuf>, RunError> {
    let Some(format) = talent.front.output else { return Ok(None) };
    if let Some(given) = &request.output_path {
        return Ok(Some(confined(&process.layout, &talent.front.reach.write, given)?));
    }
    let facet = request.facet.as_ref();
    if !request.span.is_empty() {
        let (layout, span) = (&process.layout, &request.span);
        return Ok(Some(span_path(layout, request.day, span, facet, &talent.name, format)));
    }
    Ok(Some(output_path(
        &process.layout,
        request.day,
        request.segment,
        facet,
        &talent.name,
        format,
    )))
}

fn existing(path: &PathBuf) -> Option<String> {
    let meta = fs::metadata(path).ok()?;
    if !meta.is_file() || meta.len() == 0 || meta.len() > OUTPUT_BYTES_MAX {
        return None;
    }
    fs::read_to_string(path).ok().filter(|text| !text.trim().is_empty())
}

/// The tools the talent names, as far as they are there and its grant allows them.
pub(super) fn select(
    layout: &Layout,
    catalog: &Arc<TalentCatalog>,
    toolbox: &Arc<dyn Toolbox>,
    talent: &Talent,
    others: Vec<ToolSpec>,
    warnings: &mut Vec<String>,
) -> Vec<Tool> {
    let Some(names) = &talent.front.tools else { return Vec::new() };
    let own: Arc<dyn Toolbox> = Arc::new(ChronicleTools::new(layout.clone(), Arc::clone(catalog)));
    let available: Vec<Tool> = [own, Arc::clone(toolbox)]
        .iter()
        .flat_map(|from| from.tools().into_iter().map(|spec| Tool { spec, from: Arc::clone(from) }))
        .collect();
    let mut tools: Vec<Tool> =
        others.into_iter().map(|spec| Tool { spec, from: Arc::clone(toolbox) }).collect();
    for name in names {
        if let Some((server, _)) = name.split_once(BETWEEN) {
            let prefix = format!("{server}{BETWEEN}");
            let is_there = |tool: &Tool| {
                tool.spec.name == *name
                    || (name.ends_with("__*") && tool.spec.name.starts_with(&prefix))
            };
            if !tools.iter().any(is_there) {
                warnings.push(format!("the tool {name:?} is not available here"));
            }
            continue;
        }
        let Some(tool) = available.iter().find(|tool| tool.spec.name == *name) else {
            warnings.push(format!("the tool {name:?} is not available here"));
            continue;
        };
        let grant = talent.front.grant;
        let memory = tool.spec.name.starts_with("memory_");
        if (memory && grant == ToolGrant::None) || (tool.spec.writes && grant < ToolGrant::Write) {
            warnings.push(format!("the tool {name:?} is beyond the grant of this talent"));
            continue;
        }
        if tools.iter().all(|other| other.spec.name != tool.spec.name) {
            tools.push(tool.clone());
        }
    }
    tools
}

impl PreparedRun {
    /// What is put before the model, from the most stable to the least.
    pub(super) fn message(&self, request: &TalentRequest) -> String {
        self.message_about(request, &self.sources.text)
    }

    /// The same with something else in place of the sources.
    pub(super) fn message_about(&self, request: &TalentRequest, sources: &str) -> String {
        // In a conversation the talent's body stands before everything that was said.
        let body = if self.context.is_some() { "" } else { self.instructions.user.as_str() };
        let parts = [
            self.instructions.context.as_str(),
            sources,
            body,
            request.prompt.as_deref().unwrap_or_default(),
        ];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// The system text: the same for every run, but for a conversation also the talent's body and what the context
    /// says.
    pub(super) fn system(&self) -> String {
        let Some(context) = &self.context else { return self.instructions.system.clone() };
        let parts = [&self.instructions.system, &self.instructions.user, &context.system];
        let parts = parts.map(|part| part.trim());
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    pub(super) fn describe(&self) -> Value {
        json!({
            "name": self.talent.name.as_str(),
            "type": self.kind.as_str(),
            "provider": self.choice.provider,
            "model": self.choice.model,
            "reasons": self.choice.reasons.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "system_instruction": self.system(),
            "extra_context": self.instructions.context,
            "user_instruction": self.instructions.user,
            "day": self.scene.day.to_string(),
            "transcript_chars": self.sources.text.chars().count(),
            "transcript_files": self.sources.files,
            "output_path": self.output_path,
            "tools": self.tools.iter().map(|tool| tool.spec.name.as_str()).collect::<Vec<_>>(),
            "warnings": self.warnings,
        })
    }
}
