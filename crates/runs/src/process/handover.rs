//! Handing a run over: another talent goes on in place of the one that began (execution R65).
//!
//! What must stay true: whoever takes over may do no more with the memory than who hands over; the run keeps its
//! id, its model, its output and its bounds; the change is an event of the run.

use api::run::AgentPayload;
use serde_json::Value;

use super::error::RunError;
use super::prepare::{PreparedRun, Step, prepare};
use super::request::TalentRequest;
use super::toolbox::ToolError;
use super::turns::TurnLoop;
use llm::providers::ChatMessage;
use talents::names::TalentName;
use talents::talent_files::TalentKind;

/// The tool with which a model hands over. A talent has it if it names it.
pub(super) const HAND_OVER: &str = "hand_over";
/// Two talents that send each other back and forth must come to an end.
const HANDOVERS_MAX: u32 = 4;

/// Who takes over, and what it is asked.
pub(super) struct Successor {
    request: TalentRequest,
    pub(super) prepared: PreparedRun,
}

impl TurnLoop<'_> {
    /// Makes ready whom a call names, or says why it cannot take over.
    pub(super) async fn successor(&self, args: &Value) -> Result<Successor, ToolError> {
        let text = |key: &str| args[key].as_str().filter(|text| !text.trim().is_empty());
        let missing = |key: &str| ToolError::new(format!("{key:?} is missing"));
        let name = text("talent").ok_or_else(|| missing("talent"))?;
        let prompt = text("prompt").ok_or_else(|| missing("prompt"))?;
        let name = TalentName::parse(name).map_err(|error| ToolError::new(error.to_string()))?;
        if self.handovers >= HANDOVERS_MAX {
            let why = format!("a run is handed over {HANDOVERS_MAX} times at most: answer now");
            return Err(ToolError::new(why));
        }
        if name == self.current().talent.name {
            return Err(ToolError::new(format!("you are {name} yourself")));
        }
        let talent =
            self.process.catalog.find(&name).map_err(|error| ToolError::new(error.to_string()))?;
        if talent.kind() == TalentKind::Generator {
            let why = format!("{name} is a generator and talks with nobody; read_output reads it");
            return Err(ToolError::new(why));
        }
        let request = TalentRequest {
            name: name.clone(),
            prompt: Some(prompt.to_owned()),
            provider: Some(self.choice.provider.clone()),
            model: Some(self.choice.model.clone()),
            output: None,
            output_path: None,
            // What it wrote earlier is no answer to this.
            refresh: true,
            schedule: None,
            session_id: None,
            chat_id: None,
            context: None,
            ..self.request.clone()
        };
        let grant = self.current().talent.front.grant;
        match prepare(self.process, &request, grant).await {
            Ok(Step::Go(prepared)) => Ok(Successor { request, prepared: *prepared }),
            Ok(Step::Skip(why)) => Err(ToolError::new(format!("{name} does not take over: {why}"))),
            Ok(Step::Reuse { .. }) => Err(ToolError::new(format!("{name} has answered before"))),
            Err(error) => Err(ToolError::new(format!("{name} cannot take over: {error}"))),
        }
    }

    /// From here on the other talent answers.
    pub(super) async fn hand_over(&mut self, successor: Successor) -> Result<(), RunError> {
        let Successor { request, prepared } = successor;
        let name = prepared.talent.name.as_str();
        let change = AgentPayload {
            agent: Some(name.to_owned()),
            talent: Some(name.to_owned()),
            from: Some(self.current().talent.name.to_string()),
        };
        self.events.emit(change).await?;
        for warning in &prepared.warnings {
            self.events.warn(warning).await?;
        }
        self.call.system = prepared.system();
        self.call.tools = prepared.tools.iter().map(|tool| tool.spec.clone()).collect();
        self.call.messages = vec![ChatMessage::User { text: prepared.message(&request) }];
        self.handovers += 1;
        self.taken_over = Some(Box::new(prepared));
        Ok(())
    }

    /// The talent that answers now: the one that began, or who took over.
    pub(super) fn current(&self) -> &PreparedRun {
        self.taken_over.as_deref().unwrap_or(self.prepared)
    }
}
