//! What may be sent, shown: one example for every operation that takes a body.
//!
//! What must stay true: each has only fields that the schema has, and one of its own for every such operation; a test
//! says so.

use serde_json::{Value, json};

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
        "start_session" => json!({"id": "s-2026-11-18", "project": "demo", "agent": "codex"}),
        "end_session" => json!({"summary": "The login works with an empty password."}),
        "summarise_session" => json!({"content": "## Goal\nMend the login.", "project": "demo"}),
        "save_prompt" => json!({"content": "Why did the login fail?", "project": "demo"}),
        "memory_recall" => json!({"query": "login", "mode": "hybrid", "limit": 5}),
        "run_job" => json!({"dry_run": true}),
        "undo_run" => json!({"run": "maintenance-1794979163478-1"}),
        "keep_memories" => json!({"ids": [12, 40]}),
        "set_budget" => json!({"kill_switch": true}),
        "admin_chat" => json!({"message": "what is running"}),
        "set_setting" => json!({"key": "memory.dedup_minutes", "value": "15"}),
        "verify_proof" => json!({"proof": "Y29ydGV4…"}),
        "grant_scope" => json!({"name": "reviewer", "operations": ["find", "read"]}),
        "start_run" => json!({"name": "default", "prompt": "What did I decide about the cache?"}),
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
