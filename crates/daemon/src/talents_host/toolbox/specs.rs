//! What the tools are called, what they say of themselves and what they take.

use llm::providers::ToolSpec;
use serde_json::{Value, json};

fn spec(name: &str, description: &str, properties: &Value, required: &[&str]) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        schema: json!({
            "type": "object", "properties": properties, "required": required,
            "additionalProperties": false,
        }),
        writes: matches!(
            name,
            "memory_save" | "memory_relate" | "channel_branch" | "channel_worker" | "mind_undo"
        ),
    }
}

/// What a talent may ask of the memory.
pub fn specs() -> Vec<ToolSpec> {
    let id = json!({"type": "integer", "description": "id of a memory"});
    let text = |about: &str| json!({"type": "string", "description": about});
    vec![
        spec(
            "memory_recall",
            "Searches the memory with words of a question, or lists by mode: recent, important, typed (by \
             memory_types). Gives titles and previews; memory_get gives the whole.",
            &json!({
                "query": text("words of the matter, as somebody would have said them; may be empty with a mode"),
                "mode": {
                    "type": "string",
                    "enum": ["hybrid", "recent", "important", "typed"],
                    "description": "hybrid (by words and meaning) with a query, else recent",
                },
                "memory_types": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "only these types or kinds: identity, goal, decision, preference, observation, …",
                },
                "sort_by": {"type": "string", "enum": ["recent", "importance", "most_accessed"]},
                "limit": {"type": "integer", "description": "at most 30; 8 without it"},
                "kind": text("only this kind: decision, preference, bugfix, …"),
                "since": text("only what was saved from this day on, YYYY-MM-DD"),
                "until": text("only what was saved before this day, YYYY-MM-DD"),
            }),
            &[],
        ),
        spec(
            "memory_get",
            "One memory in full.",
            &json!({"id": id, "from": {"type": "integer", "description": "where to read on, from next_from"}}),
            &["id"],
        ),
        spec(
            "memory_save",
            "Saves one thing worth keeping. The same topic_key again updates what was saved under it.",
            &json!({
                "title": text("a sentence somebody would search for"),
                "content": text("what is so, since when, how we know"),
                "kind": text("decision, preference, rule, todo, pattern, discovery, bugfix, learning, config, \
                    identity, file"),
                "topic_key": text("a stable name of the matter, like auth/session-length"),
                "project": text("where it belongs; without it, where this run belongs"),
                "personal": {"type": "boolean", "description": "about the owner, in every project"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "derived_from": {
                    "type": "array",
                    "items": {"type": "integer"},
                    "description": "ids of memories it follows from",
                },
            }),
            &["title", "content"],
        ),
        spec(
            "memory_relate",
            "Relates two memories: references, relates_to, follows, supersedes, contradicts, \
             updates, caused_by, part_of, result_of.",
            &json!({"from": id, "relation": text("one of the nine"), "to": id}),
            &["from", "relation", "to"],
        ),
        spec(
            "system_inspect",
            "What runs now: jobs, conversations, branches, workers.",
            &json!({}),
            &[],
        ),
        spec("channel_list", "All conversations that are kept here.", &json!({}), &[]),
        spec(
            "worker_inspect",
            "How a worker stands, and whether it is stuck.",
            &json!({"id": text("id of the worker")}),
            &["id"],
        ),
        spec(
            "mind_undo",
            "Takes back what a run of the mind changed.",
            &json!({"run": text("name of the run, like maintenance-1767323045000-1")}),
            &["run"],
        ),
        spec(
            "channel_branch",
            "Thinks about a question aside, with everything this conversation knows. \
             The conclusion comes back as a note.",
            &json!({"question": text("what to think about")}),
            &["question"],
        ),
        spec(
            "channel_worker",
            "Lets a talent do a task that does not need this conversation. \
             It knows only the task. The result comes back as a note.",
            &json!({"task": text("all it needs to know"), "talent": text("which one; default without it")}),
            &["task"],
        ),
    ]
}
