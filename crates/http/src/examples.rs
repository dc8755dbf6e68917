//! What may be sent, shown: a command for every operation, with its body and with values for what it needs.
//!
//! What must stay true: each has only fields that the schema has, and one of its own for every such operation; a test
//! says so.

use serde_json::{Value, json};

/// A value for something that an address must name, by its name and the kind of its schema.
pub(super) fn value(name: &str, schema: &Value) -> Value {
    match name {
        "q" => json!("why did the login fail"),
        "agent" => json!("claude-code"),
        "channel" => json!("main"),
        "job" => json!("bulletin"),
        "name" => json!("payments"),
        "run" => json!("maintenance-1794979163478-1"),
        "ref" => json!("claude-code:slow-import"),
        "link" => json!("LINK"),
        _ if schema["pattern"] == "^[0-9]{1,20}$" => json!("1794979163478"),
        _ if schema["pattern"] == "^[0-9a-f]{64}$" => json!("0".repeat(64)),
        _ if schema["type"] == "integer" => json!(12),
        _ => json!("s-2026-11-18"),
    }
}

/// The operation as a command that can be typed where Cortex runs.
pub(super) fn command(method: &str, path: &str, operation: &Value) -> String {
    let mut address = path.to_owned();
    let mut asked = Vec::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let example = &parameter["example"];
        let Some(name) = parameter["name"].as_str().filter(|_| !example.is_null()) else {
            continue;
        };
        let text = example.as_str().map_or_else(|| example.to_string(), str::to_owned);
        if parameter["in"] == "path" {
            address = address.replace(&format!("{{{name}}}"), &text);
        } else {
            asked.push(format!("{name}={}", text.replace(' ', "+")));
        }
    }
    if !asked.is_empty() {
        address = format!("'{address}?{}'", asked.join("&"));
    }
    let mut command = vec![format!("cortex curl {address}")];
    let body = operation.pointer("/requestBody/content/application~1json/example");
    if let Some(body) = body {
        let quoted = body.to_string().replace('\'', "'\\''");
        command.push(format!("-H 'Content-Type: application/json' -d '{quoted}'"));
    }
    if method != "get" && (body.is_none() || method != "post") {
        command.push(format!("-X {}", method.to_uppercase()));
    }
    command.join(" ")
}

/// The example of an operation, by its id; nothing for those without a body of JSON.
pub(super) fn example(operation: &str) -> Option<Value> {
    Some(match operation {
        "save_observation" => json!({
            "title": "Use redb for the store", "content": "One file per actor, safe on kill -9.",
            "type": "decision", "project": "demo", "tags": ["storage"],
        }),
        "update_observation" => json!({
            "content": "One file per actor, no threads.", "expected_version": 1,
        }),
        "amend_observation" => json!({"add_tags": ["reviewed"], "remove_tags": ["draft"]}),
        "archive_observation" => json!({"reason": "no longer of use"}),
        "restore_observation" => json!({"reason": "of use after all"}),
        "change_many" => json!({"action": "add_tag", "ids": [12, 15, 20], "value": "reviewed"}),
        "capture_passive" => json!({
            "content": "## Key Learnings:\n\n1. Hash after the check, never before.",
            "project": "demo",
        }),
        "suggest_topic_key" => json!({"title": "Use redb for the store", "type": "decision"}),
        "relate" => {
            json!({"from_obs_id": 15, "to_obs_id": 12, "relation_type": "supersedes"})
        }
        "merge_projects" => json!({"from": ["web-app"], "to": "web"}),
        "separate_project" => json!({"name": "web-app"}),
        "start_session" => json!({"id": "s-2026-11-18", "project": "demo", "agent": "codex"}),
        "end_session" => json!({"summary": "The login works with an empty password."}),
        "summarise_session" => json!({"content": "## Goal\nMend the login.", "project": "demo"}),
        "save_prompt" => json!({"content": "Why did the login fail?", "project": "demo"}),
        "memory_recall" => json!({"query": "login", "mode": "hybrid", "limit": 5}),
        "run_job" | "set_up_agent" => json!({"dry_run": true}),
        "undo_run" => json!({"run": "maintenance-1794979163478-1"}),
        "keep_memories" => json!({"ids": [12, 40]}),
        "add_page" => json!({
            "name": "payments", "question": "What do we know about the payment service?", "project": "demo",
        }),
        "set_budget" => json!({"kill_switch": true}),
        "admin_chat" => json!({"message": "what is running"}),
        "set_setting" => json!({"key": "memory.dedup_minutes", "value": "15"}),
        "verify_proof" => json!({"proof": "Y29ydGV4…"}),
        "grant_scope" => json!({"name": "reviewer", "operations": ["find", "read"]}),
        "start_run" => json!({"name": "default", "prompt": "What did I decide about the cache?"}),
        "backup" => json!({"folder": "/home/ada/cortex-backup"}),
        "edit_talent" => json!({"text": "Be brief.", "dry_run": true}),
        "decide_approval" => json!({"approve": true}),
        "say" => json!({"message": "What did we decide about the cache?"}),
        "branch" => json!({"description": "What would it cost to change that?"}),
        "start_worker" => json!({"task": "Sum up what was decided this week."}),
        "read_past" => json!({"agents": ["claude-code"], "dry_run": true}),
        "keep_past_turn" => json!({
            "ref": "codex:0199a2b4#12", "title": "Use redb for the store", "type": "decision",
        }),
        "forget_past" => json!({"refs": ["codex:0199a2b4#12"], "reason": "it names a customer"}),
        "restore_past" => json!({"ref": "codex:0199a2b4#12"}),
        _ => return None,
    })
}
