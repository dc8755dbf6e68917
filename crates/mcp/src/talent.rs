//! The tools of one talent, for a command line tool that runs its own loop: the same tools, grant and facet as in the
//! talent's own process, and nothing else of the memory.

use std::sync::Arc;

use llm::providers::ToolSpec;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use runs::process::{CITED, TalentTools};
use serde_json::{Value, json};

/// One run's view of its tools.
#[derive(Clone, Debug)]
pub struct TalentServer {
    served: Arc<TalentTools>,
}

impl TalentServer {
    pub fn new(served: TalentTools) -> TalentServer {
        TalentServer { served: Arc::new(served) }
    }
}

impl ServerHandler for TalentServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("cortex", env!("CARGO_PKG_VERSION")))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.served.specs().find(|spec| spec.name == name).and_then(tool)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.served.specs().filter_map(tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let args = Value::Object(request.arguments.unwrap_or_default());
        let result = match self.served.call(&request.name, args).await {
            Ok(answer) => {
                let mut value = answer.value;
                // An answer that is no object gave no memory either.
                if let Value::Object(fields) = &mut value {
                    fields.insert(CITED.to_owned(), json!(answer.cited));
                }
                CallToolResult::success(vec![ContentBlock::text(value.to_string())])
            }
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.why)]),
        };
        Ok(result.into())
    }
}

fn tool(spec: &ToolSpec) -> Option<Tool> {
    let value = json!({
        "name": spec.name,
        "description": spec.description,
        "inputSchema": spec.schema,
        "annotations": {"readOnlyHint": !spec.writes, "destructiveHint": false, "openWorldHint": false},
    });
    serde_json::from_value(value).ok()
}
