//! Asking for a run from another process.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::callosum::{CORTEX, Client, ClientError, Message};

/// Asks for a run over the bus (execution R8); gives the answer: `state`, and `use_id` or `code` and `reason`.
pub async fn cortex_request(
    client: &Client,
    request: Map<String, Value>,
    patience: Duration,
) -> Result<Map<String, Value>, ClientError> {
    client
        .ask(Message::new(CORTEX, "request").and(request).with("event", "request"), patience)
        .await
}
