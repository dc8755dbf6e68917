//! Tools of other servers inside a talent: asked of the daemon, which asks a person where that is set.

use std::time::Duration;

use api::server_tools::{ServerToolsRequest, ToolUseRequest, ToolUseState};
use llm::providers::ToolSpec;
use runs::process::{ToolAnswer, ToolError, ToolScene};
use serde_json::Value;
use talents::TalentName;

use super::{MemoryTools, ToolResult, told};

/// How often it is asked whether a person has decided.
const LOOK_EVERY: Duration = Duration::from_millis(400);

impl MemoryTools {
    /// The tools of others that a talent may use, and what is wrong with servers that could not be asked.
    pub(super) async fn of_servers(&self, talent: &TalentName) -> (Vec<ToolSpec>, Vec<String>) {
        let request = ServerToolsRequest { talent: talent.to_string() };
        match self.memory.ask(talent.as_str(), request).await {
            Ok(answer) => {
                let spec = |tool: api::server_tools::ServerToolView| ToolSpec {
                    name: tool.name,
                    description: tool.description,
                    schema: tool.schema,
                    writes: tool.writes,
                };
                (answer.tools.into_iter().map(spec).collect(), answer.problems)
            }
            Err(error) => (Vec::new(), vec![error.message]),
        }
    }

    pub(super) async fn of_server(
        &self,
        scene: &ToolScene,
        name: &str,
        args: Value,
    ) -> ToolResult<ToolAnswer> {
        let mut approval = None;
        loop {
            let request = ToolUseRequest {
                run: scene.use_id.to_string(),
                tool: name.to_owned(),
                args: args.clone(),
                approval: approval.clone(),
            };
            let answer = self.memory.ask(scene.talent.as_str(), request).await.map_err(told)?;
            match answer.state {
                ToolUseState::Done if answer.failed => {
                    return Err(ToolError::broken(answer.value.to_string()));
                }
                ToolUseState::Done => {
                    return Ok(ToolAnswer { value: answer.value, cited: Vec::new() });
                }
                ToolUseState::Denied => {
                    return Err(ToolError::new("a person said no: go on without it"));
                }
                ToolUseState::Expired => {
                    return Err(ToolError::new("nobody approved it in time: go on without it"));
                }
                ToolUseState::Pending => {
                    approval = answer.approval;
                    tokio::time::sleep(LOOK_EVERY).await;
                }
            }
        }
    }
}
