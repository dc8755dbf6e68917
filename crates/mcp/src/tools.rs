//! The tools: names, words, schemas. Written by hand, because every byte of them is read by every agent at every start.

use api::ErrorCode;
use rmcp::model::Tool;
use serde_json::{Map, Value, json};

use api::{Error, Fault, Result};

/// Bytes that the whole list may have.
pub const LIST_BYTES_MAX: usize = 12 * 1_024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
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
struct Line {
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

#[expect(clippy::too_many_arguments, reason = "the columns of a table")]
const fn line(
    name: &'static str,
    title: &'static str,
    profile: Profile,
    eager: bool,
    effect: Effect,
    about: &'static str,
    takes: &'static str,
    gives: &'static str,
) -> Line {
    Line { name, title, profile, eager, effect, about, takes, gives }
}

use Effect::{Adds, Destroys, Reads, Settles};
use Profile::{Admin, Agent};

const LINES: [Line; 22] = [
    line(
        "mem_save",
        "Save Memory",
        Agent,
        true,
        Adds,
        "Save a memory. Call it without being asked after a decision, bug fix, architecture or configuration change, \
         discovery, new convention or gotcha. content: Markdown with **What**, **Why**, **Where** (files), \
         **Learned**. title: short, verb + object. type: decision, architecture, bugfix, pattern, config, \
         discovery, learning. \
         topic_key: the same key updates the same memory.",
        "title:s* content:s* type:s project:s scope:s session_id:s topic_key:s",
        "id:i status:s",
    ),
    line(
        "mem_search",
        "Search Memory",
        Agent,
        true,
        Reads,
        "Find memories by a question in ordinary words. Gives ids, titles and previews of 300 characters; \
         mem_get_observation has the rest.",
        "query:s* type:s project:s scope:s limit:i",
        "hits:a",
    ),
    line(
        "mem_context",
        "Get Memory Context",
        Agent,
        true,
        Reads,
        "Recent sessions, prompts and memories. Call it first, and after compaction.",
        "project:s scope:s limit:i",
        "text:s",
    ),
    line(
        "mem_session_summary",
        "Save Session Summary",
        Agent,
        true,
        Adds,
        "Mandatory before a session ends. content: Markdown with Goal, Instructions, Discoveries, Accomplished, \
         Next Steps, Relevant Files; what and why, paths and errors kept.",
        "content:s* project:s* session_id:s",
        "id:i",
    ),
    line(
        "mem_get_observation",
        "Get Observation",
        Agent,
        true,
        Reads,
        "One memory in full, by id.",
        "id:i*",
        "id:i content:s",
    ),
    line(
        "mem_save_prompt",
        "Save User Prompt",
        Agent,
        true,
        Adds,
        "Keep what the user asked.",
        "content:s* session_id:s project:s",
        "id:i",
    ),
    line(
        "mem_update",
        "Update Memory",
        Agent,
        false,
        Settles,
        "Change fields of a memory; earlier versions stay.",
        "id:i* title:s content:s type:s project:s scope:s topic_key:s",
        "id:i version:i",
    ),
    line(
        "mem_suggest_topic_key",
        "Suggest Topic Key",
        Agent,
        false,
        Reads,
        "A stable key for a topic that will evolve.",
        "type:s title:s content:s",
        "topic_key:s",
    ),
    line(
        "mem_session_start",
        "Start Session",
        Agent,
        false,
        Settles,
        "Register a session; starting it again is fine.",
        "id:s* project:s* directory:s",
        "id:s",
    ),
    line(
        "mem_session_end",
        "End Session",
        Agent,
        false,
        Settles,
        "Mark a session complete.",
        "id:s* summary:s",
        "id:s",
    ),
    line(
        "mem_capture_passive",
        "Capture Learnings",
        Agent,
        false,
        Settles,
        "Save each item under a \"## Key Learnings:\" heading of a report.",
        "content:s* session_id:s project:s source:s",
        "saved:i",
    ),
    line(
        "mem_relate",
        "Relate Observations",
        Agent,
        false,
        Settles,
        "Connect two memories. relation_type: references (points to), relates_to (same topic), follows (comes after), \
         supersedes (replaces an older one), contradicts (conflicts). weight: up to 10.",
        "from_id:i* to_id:i* relation_type:s* weight:n",
        "id:i",
    ),
    line(
        "mem_graph",
        "Traverse Knowledge Graph",
        Agent,
        false,
        Reads,
        "What a memory is connected to, nearest first. depth: 1 to 10.",
        "observation_id:i* depth:i",
        "nodes:a edges:a",
    ),
    line(
        "mem_score",
        "Get Importance Score",
        Agent,
        false,
        Reads,
        "Importance from 0 to 5, by use, age, edges and type; always current.",
        "observation_id:i* recalculate:b",
        "score:n",
    ),
    line(
        "mem_search_hybrid",
        "Hybrid Search",
        Agent,
        false,
        Reads,
        "As mem_search, with the share of words and meaning in each hit.",
        "query:s* project:s scope:s limit:i",
        "hits:a mode:s",
    ),
    line(
        "mem_delete",
        "Delete Memory",
        Admin,
        false,
        Destroys,
        "Forget a memory; with hard_delete its content is gone for good.",
        "id:i* hard_delete:b",
        "id:i",
    ),
    line("mem_stats", "Memory Stats", Admin, false, Reads, "What there is.", "", "observations:i"),
    line(
        "mem_timeline",
        "Memory Timeline",
        Admin,
        false,
        Reads,
        "What was saved before and after a memory, in its session.",
        "observation_id:i* before:i after:i",
        "focus:o",
    ),
    line(
        "mem_archive",
        "Archive Observation",
        Admin,
        false,
        Settles,
        "Put a memory away; mem_restore brings it back.",
        "observation_id:i*",
        "id:i",
    ),
    line(
        "mem_pin",
        "Pin Memory",
        Admin,
        false,
        Settles,
        "Pinned memories lead every context.",
        "id:i* pinned:b",
        "id:i",
    ),
    line(
        "mem_restore",
        "Restore Memory",
        Admin,
        false,
        Settles,
        "Bring back what was archived or deleted.",
        "id:i*",
        "id:i",
    ),
    line(
        "mem_prove",
        "Prove Memory",
        Admin,
        false,
        Reads,
        "A file that proves what a memory says, for `cortex verify-proof`.",
        "id:i*",
        "proof:s root:s",
    ),
];

/// Which tools an agent gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice(Vec<&'static str>);

impl Choice {
    /// `agent`, `admin`, `all`, names, or several with commas between. Nothing is everything; an unknown name is
    /// refused.
    pub fn parse(text: &str) -> Result<Choice> {
        let mut names: Vec<&'static str> = Vec::new();
        let of =
            |profile: Profile| LINES.iter().filter(move |l| l.profile == profile).map(|l| l.name);
        for token in text.split(',').map(str::trim).filter(|token| !token.is_empty()) {
            match token {
                "all" => names.extend(LINES.iter().map(|line| line.name)),
                "agent" => names.extend(of(Agent)),
                "admin" => names.extend(of(Admin)),
                name => match LINES.iter().find(|line| line.name == name) {
                    Some(line) => names.push(line.name),
                    None => {
                        let all: Vec<&str> = LINES.iter().map(|line| line.name).collect();
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
            names.extend(LINES.iter().map(|line| line.name));
        }
        Ok(Choice(names))
    }

    pub fn tools(&self) -> Vec<Tool> {
        LINES.iter().filter(|line| self.0.contains(&line.name)).map(tool).collect()
    }
}

/// The parameters of a tool.
pub(super) fn parameters(name: &str) -> Vec<&'static str> {
    let takes = LINES.iter().find(|line| line.name == name).map_or("", |line| line.takes);
    takes.split_whitespace().filter_map(|item| item.split(':').next()).collect()
}

fn tool(line: &Line) -> Tool {
    let mut meta = json!({"anthropic/alwaysLoad": true});
    if !line.eager {
        meta = json!({"defer_loading": true});
    }
    let (reads, destroys) = (line.effect == Reads, line.effect == Destroys);
    let value = json!({
        "name": line.name,
        "description": line.about,
        "inputSchema": schema(line.takes, true),
        "outputSchema": schema(line.gives, false),
        "annotations": {
            "title": line.title, "readOnlyHint": reads, "destructiveHint": destroys,
            "idempotentHint": matches!(line.effect, Reads | Settles), "openWorldHint": false,
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
        let eager = LINES.iter().filter(|line| line.eager).map(|line| line.name);
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
            assert!(LINES[0].about.contains(word));
        }
    }
}
