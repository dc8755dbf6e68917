//! The tools: names, words, schemas. Written by hand, because every byte of them is read by every agent at every start.
//!
//! What must stay true: the whole list stays below 12 KiB, as a test checks; six tools are loaded at once, the others
//! when an agent looks for them; an input schema names every parameter that `call` reads.

use rmcp::model::Tool;
use serde_json::{Map, Value, json};

use api::{Error, ErrorCode, Fault, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Profile {
    Agent,
    Admin,
}

/// What a tool does to the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Reads,
    Adds,
    /// Adds, and doing it twice is doing it once.
    Settles,
    Destroys,
}

/// A tool in as few words as it takes. Parameters: `name:type`, with `*` if it must be given; i, n, s, b are the types.
struct ToolEntry {
    name: &'static str,
    title: &'static str,
    profile: Profile,
    /// Loaded at once; the others when an agent looks for them.
    eager: bool,
    effect: Effect,
    about: &'static str,
    takes: &'static str,
    gives: &'static str,
}

use Effect::{Adds, Destroys, Reads, Settles};
use Profile::{Admin, Agent};

const TOOLS: [ToolEntry; 22] = [
    ToolEntry {
        name: "mem_save",
        title: "Save Memory",
        profile: Agent,
        eager: true,
        effect: Adds,
        about: "Save a memory. Call it without being asked after a decision, bug fix, architecture or \
                configuration change, discovery, new convention or gotcha. content: Markdown with **What**, \
                **Why**, **Where** (files), **Learned**. title: short, verb + object. type: decision, \
                architecture, bugfix, pattern, config, discovery, learning. topic_key: the same key updates the \
                same memory.",
        takes: "title:s* content:s* type:s project:s scope:s session_id:s topic_key:s",
        gives: "id:i status:s",
    },
    ToolEntry {
        name: "mem_search",
        title: "Search Memory",
        profile: Agent,
        eager: true,
        effect: Reads,
        about: "Find memories by a question in ordinary words. Gives ids, titles and previews of 300 characters; \
                mem_get_observation has the rest.",
        takes: "query:s* type:s project:s scope:s limit:i",
        gives: "hits:a",
    },
    ToolEntry {
        name: "mem_context",
        title: "Get Memory Context",
        profile: Agent,
        eager: true,
        effect: Reads,
        about: "Recent sessions, prompts and memories. Call it first, and after compaction.",
        takes: "project:s scope:s limit:i",
        gives: "text:s",
    },
    ToolEntry {
        name: "mem_session_summary",
        title: "Save Session Summary",
        profile: Agent,
        eager: true,
        effect: Adds,
        about: "Mandatory before a session ends. content: Markdown with Goal, Instructions, Discoveries, \
                Accomplished, Next Steps, Relevant Files; what and why, paths and errors kept.",
        takes: "content:s* project:s* session_id:s",
        gives: "id:i",
    },
    ToolEntry {
        name: "mem_get_observation",
        title: "Get Observation",
        profile: Agent,
        eager: true,
        effect: Reads,
        about: "One memory in full, by id.",
        takes: "id:i*",
        gives: "id:i content:s",
    },
    ToolEntry {
        name: "mem_save_prompt",
        title: "Save User Prompt",
        profile: Agent,
        eager: true,
        effect: Adds,
        about: "Keep what the user asked.",
        takes: "content:s* session_id:s project:s",
        gives: "id:i",
    },
    ToolEntry {
        name: "mem_update",
        title: "Update Memory",
        profile: Agent,
        eager: false,
        effect: Settles,
        about: "Change fields of a memory; earlier versions stay.",
        takes: "id:i* title:s content:s type:s project:s scope:s topic_key:s",
        gives: "id:i version:i",
    },
    ToolEntry {
        name: "mem_suggest_topic_key",
        title: "Suggest Topic Key",
        profile: Agent,
        eager: false,
        effect: Reads,
        about: "A stable key for a topic that will evolve.",
        takes: "type:s title:s content:s",
        gives: "topic_key:s",
    },
    ToolEntry {
        name: "mem_session_start",
        title: "Start Session",
        profile: Agent,
        eager: false,
        effect: Settles,
        about: "Register a session; starting it again is fine.",
        takes: "id:s* project:s* directory:s",
        gives: "id:s",
    },
    ToolEntry {
        name: "mem_session_end",
        title: "End Session",
        profile: Agent,
        eager: false,
        effect: Settles,
        about: "Mark a session complete.",
        takes: "id:s* summary:s",
        gives: "id:s",
    },
    ToolEntry {
        name: "mem_capture_passive",
        title: "Capture Learnings",
        profile: Agent,
        eager: false,
        effect: Settles,
        about: "Save each item under a \"## Key Learnings:\" heading of a report.",
        takes: "content:s* session_id:s project:s source:s",
        gives: "saved:i",
    },
    ToolEntry {
        name: "mem_relate",
        title: "Relate Observations",
        profile: Agent,
        eager: false,
        effect: Settles,
        about: "Connect two memories. relation_type: references (points to), relates_to (same topic), follows \
                (comes after), supersedes (replaces an older one), contradicts (conflicts). weight: up to 10.",
        takes: "from_id:i* to_id:i* relation_type:s* weight:n",
        gives: "id:i",
    },
    ToolEntry {
        name: "mem_graph",
        title: "Traverse Knowledge Graph",
        profile: Agent,
        eager: false,
        effect: Reads,
        about: "What a memory is connected to, nearest first. depth: 1 to 10.",
        takes: "observation_id:i* depth:i",
        gives: "nodes:a edges:a",
    },
    ToolEntry {
        name: "mem_score",
        title: "Get Importance Score",
        profile: Agent,
        eager: false,
        effect: Reads,
        about: "Importance from 0 to 5, by use, age, edges and type; always current.",
        takes: "observation_id:i* recalculate:b",
        gives: "score:n",
    },
    ToolEntry {
        name: "mem_search_hybrid",
        title: "Hybrid Search",
        profile: Agent,
        eager: false,
        effect: Reads,
        about: "As mem_search, with the share of words and meaning in each hit.",
        takes: "query:s* project:s scope:s limit:i",
        gives: "hits:a mode:s",
    },
    ToolEntry {
        name: "mem_delete",
        title: "Delete Memory",
        profile: Admin,
        eager: false,
        effect: Destroys,
        about: "Forget a memory; with hard_delete its content is gone for good.",
        takes: "id:i* hard_delete:b",
        gives: "id:i",
    },
    ToolEntry {
        name: "mem_stats",
        title: "Memory Stats",
        profile: Admin,
        eager: false,
        effect: Reads,
        about: "What there is.",
        takes: "",
        gives: "observations:i",
    },
    ToolEntry {
        name: "mem_timeline",
        title: "Memory Timeline",
        profile: Admin,
        eager: false,
        effect: Reads,
        about: "What was saved before and after a memory, in its session.",
        takes: "observation_id:i* before:i after:i",
        gives: "focus:o",
    },
    ToolEntry {
        name: "mem_archive",
        title: "Archive Observation",
        profile: Admin,
        eager: false,
        effect: Settles,
        about: "Put a memory away; mem_restore brings it back.",
        takes: "observation_id:i*",
        gives: "id:i",
    },
    ToolEntry {
        name: "mem_pin",
        title: "Pin Memory",
        profile: Admin,
        eager: false,
        effect: Settles,
        about: "Pinned memories lead every context.",
        takes: "id:i* pinned:b",
        gives: "id:i",
    },
    ToolEntry {
        name: "mem_restore",
        title: "Restore Memory",
        profile: Admin,
        eager: false,
        effect: Settles,
        about: "Bring back what was archived or deleted.",
        takes: "id:i*",
        gives: "id:i",
    },
    ToolEntry {
        name: "mem_prove",
        title: "Prove Memory",
        profile: Admin,
        eager: false,
        effect: Reads,
        about: "A file that proves what a memory says, for `cortex verify-proof`.",
        takes: "id:i*",
        gives: "proof:s root:s",
    },
];

/// Which tools an agent gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice(Vec<&'static str>);

impl Choice {
    /// `agent`, `admin`, `all`, names, or several with commas between. Nothing is everything; an unknown name is
    /// refused.
    pub fn parse(text: &str) -> Result<Choice> {
        let mut names: Vec<&'static str> = Vec::new();
        let of = |profile: Profile| {
            TOOLS.iter().filter(move |entry| entry.profile == profile).map(|entry| entry.name)
        };
        for token in text.split(',').map(str::trim).filter(|token| !token.is_empty()) {
            match token {
                "all" => names.extend(TOOLS.iter().map(|entry| entry.name)),
                "agent" => names.extend(of(Agent)),
                "admin" => names.extend(of(Admin)),
                name => match TOOLS.iter().find(|entry| entry.name == name) {
                    Some(entry) => names.push(entry.name),
                    None => {
                        let all: Vec<&str> = TOOLS.iter().map(|entry| entry.name).collect();
                        let shown: String = name.chars().take(64).collect();
                        let message = format!("no tool or profile {shown:?}");
                        let hint = format!("use agent, admin, all, or names: {}", all.join(", "));
                        return Err(
                            Error::new(ErrorCode::Usage, Fault::Caller, message).with_hint(hint)
                        );
                    }
                },
            }
        }
        if names.is_empty() {
            names.extend(TOOLS.iter().map(|entry| entry.name));
        }
        Ok(Choice(names))
    }

    pub(crate) fn tools(&self) -> Vec<Tool> {
        TOOLS.iter().filter(|entry| self.0.contains(&entry.name)).map(tool).collect()
    }
}

/// The names of all tools.
pub fn names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|entry| entry.name)
}

/// What each tool says of itself.
pub(super) fn descriptions() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|entry| entry.about)
}

/// The parameters of a tool.
pub fn parameters(name: &str) -> Vec<&'static str> {
    let takes = TOOLS.iter().find(|entry| entry.name == name).map_or("", |entry| entry.takes);
    takes.split_whitespace().filter_map(|item| item.split(':').next()).collect()
}

fn tool(entry: &ToolEntry) -> Tool {
    let mut meta = json!({"anthropic/alwaysLoad": true});
    if !entry.eager {
        meta = json!({"defer_loading": true});
    }
    let (reads, destroys) = (entry.effect == Reads, entry.effect == Destroys);
    let value = json!({
        "name": entry.name,
        "description": entry.about,
        "inputSchema": schema(entry.takes, true),
        "outputSchema": schema(entry.gives, false),
        "annotations": {
            "title": entry.title, "readOnlyHint": reads, "destructiveHint": destroys,
            "idempotentHint": matches!(entry.effect, Reads | Settles), "openWorldHint": false,
        },
        "_meta": meta,
    });
    serde_json::from_value(value).expect("the table of tools holds tools")
}

fn schema(items: &str, input: bool) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for item in items.split_whitespace() {
        let (name, kind) = item.split_once(':').expect("an item of the table is name:type");
        let needed = kind.ends_with('*') || !input;
        let kind = match kind.trim_end_matches('*') {
            "i" => "integer",
            "n" => "number",
            "b" => "boolean",
            "a" => "array",
            "o" => "object",
            _ => "string",
        };
        let property = if input && name == "scope" {
            json!({"type": kind, "enum": ["project", "personal"]})
        } else {
            json!({"type": kind})
        };
        properties.insert(name.to_owned(), property);
        if needed {
            required.push(json!(name));
        }
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = Value::Array(required);
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that the whole list may have.
    const LIST_BYTES_MAX: usize = 12 * 1_024;

    fn names(choice: &str) -> Vec<String> {
        Choice::parse(choice).unwrap().tools().into_iter().map(|t| t.name.into_owned()).collect()
    }

    // agent-memory 92, 97-102
    #[test]
    fn profiles_hold_what_they_should() {
        assert_eq!(names("agent").len(), 15);
        assert_eq!(names("admin").len(), 7);
        assert!(names("admin").starts_with(&[
            "mem_delete".into(),
            "mem_stats".into(),
            "mem_timeline".into(),
            "mem_archive".into()
        ]));
        for all in ["", "all", "agent,all", "agent,admin", ","] {
            assert_eq!(names(all).len(), 22, "{all:?}");
        }
        assert_eq!(names(" mem_search , mem_save "), ["mem_save", "mem_search"]);
        let error = Choice::parse("agent,typo").unwrap_err();
        assert!(error.hint.unwrap().contains("mem_save"));
    }

    // agent-memory 2, 24, 62-76
    #[test]
    fn the_whole_list_is_small_and_eager_tools_are_six() {
        let tools = Choice::parse("all").unwrap().tools();
        let bytes = serde_json::to_vec(&json!({ "tools": tools })).unwrap().len();
        assert!(bytes < LIST_BYTES_MAX, "{bytes} bytes");
        let eager = TOOLS.iter().filter(|entry| entry.eager).map(|entry| entry.name);
        assert_eq!(
            eager.collect::<Vec<_>>(),
            [
                "mem_save",
                "mem_search",
                "mem_context",
                "mem_session_summary",
                "mem_get_observation",
                "mem_save_prompt"
            ]
        );
        for word in ["**What**", "**Why**", "**Where**", "**Learned**"] {
            assert!(TOOLS[0].about.contains(word));
        }
    }
}
