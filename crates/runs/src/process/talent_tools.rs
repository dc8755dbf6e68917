//! The tools of a talent for a command line tool, which runs its own loop and asks another process for them.
//!
//! What must stay true: that process has the tools the talent names and its grant allows, and no others; each
//! answer says which memories it gave, so that the run can cite them.

use std::sync::Arc;

use serde_json::Value;

use super::calls::{TOOL_PATIENCE, bounded};
use super::handover::HAND_OVER;
use super::prepare::{Tool, select};
use super::toolbox::{Blame, ToolAnswer, ToolError, ToolScene, Toolbox};
use llm::providers::{ToolServer, ToolSpec};
use talents::layout::Layout;
use talents::talent_files::{Talent, TalentCatalog};

/// The key of an answer that holds the memories it gave.
pub const CITED: &str = "cited";

/// The tools of one talent, bound to a scene.
pub struct TalentTools {
    tools: Vec<Tool>,
    toolbox: Arc<dyn Toolbox>,
    scene: ToolScene,
}

impl std::fmt::Debug for TalentTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Served").field("scene", &self.scene).finish_non_exhaustive()
    }
}

impl TalentTools {
    pub fn new(
        layout: &Layout,
        catalog: &Arc<TalentCatalog>,
        toolbox: &Arc<dyn Toolbox>,
        talent: &Talent,
        scene: ToolScene,
    ) -> TalentTools {
        // What the talent lacks was told when its run began.
        let mut tools = select(layout, catalog, toolbox, talent, Vec::new(), &mut Vec::new());
        tools.retain(|tool| tool.spec.name != HAND_OVER);
        let scene = ToolScene { grant: talent.front.grant, ..scene };
        TalentTools { tools, toolbox: Arc::clone(toolbox), scene }
    }

    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.iter().map(|tool| &tool.spec)
    }

    pub async fn call(&self, name: &str, args: Value) -> Result<ToolAnswer, ToolError> {
        let tool = self.tools.iter().find(|tool| tool.spec.name == name);
        let tool = tool.ok_or_else(|| ToolError::new(format!("there is no tool {name:?}")))?;
        if let Some(why) = self.toolbox.left_alone(&self.scene, name).await {
            return Err(ToolError { why, blame: Blame::Past });
        }
        let work = tool.from.call(&self.scene, name, args);
        let answer = tokio::time::timeout(TOOL_PATIENCE, work).await;
        let answer = answer.unwrap_or_else(|_| {
            let seconds = TOOL_PATIENCE.as_secs();
            Err(ToolError::broken(format!("the tool did not answer within {seconds} s")))
        })?;
        Ok(ToolAnswer { value: bounded(answer.value), cited: answer.cited })
    }
}

/// The memories that an answer of the server gave, as a command line tool passes it on.
pub(super) fn cited(server: Option<&ToolServer>, tool: &str, result: &Value) -> Vec<u64> {
    // Each command line tool puts something of its own before the name.
    let is_ours = |server: &ToolServer| server.tools.iter().any(|name| tool.ends_with(name));
    if !server.is_some_and(is_ours) {
        return Vec::new();
    }
    let answers = answers(result);
    let ids = answers.iter().flat_map(|answer| answer[CITED].as_array().into_iter().flatten());
    ids.filter_map(Value::as_u64).collect()
}

fn answers(result: &Value) -> Vec<Value> {
    match result {
        Value::String(text) => serde_json::from_str(text).into_iter().collect(),
        Value::Array(items) => items.iter().flat_map(|item| answers(&item["text"])).collect(),
        Value::Object(fields) => fields.get("content").map(answers).unwrap_or_default(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_an_answer_gave_is_found_in_every_tools_words() {
        let server = ToolServer { tools: vec!["memory_recall".into()], ..ToolServer::default() };
        let text =
            json!({"memories": [{"id": 3, "title": "{\"cited\":[9]}"}], "cited": [3]}).to_string();
        let shapes = [
            ("mcp__cortex__memory_recall", json!([{"type": "text", "text": text}])),
            ("memory_recall", json!({"content": [{"type": "text", "text": text}]})),
            ("cortex__memory_recall", json!(text)),
        ];
        for (tool, result) in shapes {
            assert_eq!(cited(Some(&server), tool, &result), [3], "{tool}");
        }
        let text = json!("{\"cited\": [1]}");
        assert!(cited(Some(&server), "Bash", &text).is_empty(), "only our own server cites");
        assert!(cited(None, "memory_recall", &text).is_empty());
        assert!(cited(Some(&server), "memory_recall", &json!({"error": "x"})).is_empty());
    }
}
