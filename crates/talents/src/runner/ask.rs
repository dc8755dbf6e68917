//! Asking for a run from another process.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::bus::{BusClient, BusClientError, BusMessage, RUN_TOPIC};

/// Asks for a run over the bus (execution R8); gives the answer: `state`, and `use_id` or `code` and `reason`.
pub async fn cortex_request(
    client: &BusClient,
    request: Map<String, Value>,
    patience: Duration,
) -> Result<Map<String, Value>, BusClientError> {
    client
        .ask(BusMessage::new(RUN_TOPIC, "request").and(request).with("event", "request"), patience)
        .await
}
