//! The tools: names, words, schemas. Written by hand, because every byte of them is read by every agent at every start.
//!
//! - `table`: each tool in as few words as it takes.
//! - `schema`: the schemas that those words stand for.
//!
//! What must stay true: the whole list stays below 12 KiB, as a test checks; six tools are loaded at once, the others
//! when an agent looks for them; an input schema names every parameter that `call` reads, an output schema every field
//! that an answer always has; no text of a choice names a tool that is not in it.

mod schema;
mod table;

use rmcp::model::Tool;
use serde_json::json;

use api::{Error, ErrorCode, Fault, Result};
use table::TOOLS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Profile {
    Agent,
    Admin,
    /// What the others do without.
    Extra,
    /// What coding agents wrote down before.
    Past,
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

/// A tool in as few words as it takes; `schema` says what the words of `takes` and `gives` are.
struct ToolEntry {
    name: &'static str,
    title: &'static str,
    profile: Profile,
    /// Among the eight that suffice.
    core: bool,
    /// Loaded at once; the others when an agent looks for them.
    eager: bool,
    effect: Effect,
    about: &'static str,
    /// What is said besides to who has this other tool.
    also: Option<(&'static str, &'static str)>,
    takes: &'static str,
    gives: &'static str,
}

impl ToolEntry {
    fn is_in(&self, profile: &str) -> bool {
        match profile {
            "all" => !matches!(self.profile, Profile::Extra | Profile::Past),
            "agent" => self.profile == Profile::Agent,
            "admin" => self.profile == Profile::Admin,
            "extra" => self.profile == Profile::Extra,
            "past" => self.profile == Profile::Past,
            "core" => self.core,
            _ => false,
        }
    }
}

/// Sets of tools that have a name: the eight that suffice, those of agents, those of who tends a memory, both of them,
/// what neither has, and what asks the past.
pub const PROFILES: [&str; 6] = ["core", "agent", "admin", "all", "extra", "past"];

/// Which tools an agent gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice(Vec<&'static str>);

impl Choice {
    /// Profiles, names, or several with commas between. Nothing is `all`; an unknown name is refused.
    pub fn parse(text: &str) -> Result<Choice> {
        let mut chosen: Vec<&'static str> = Vec::new();
        let tokens = text.split(',').map(str::trim).filter(|token| !token.is_empty());
        for token in tokens {
            let before = chosen.len();
            let is_meant = |entry: &&ToolEntry| entry.name == token || entry.is_in(token);
            chosen.extend(TOOLS.iter().filter(is_meant).map(|entry| entry.name));
            if chosen.len() == before {
                return Err(unknown(token));
            }
        }
        if chosen.is_empty() {
            chosen.extend(TOOLS.iter().filter(|entry| entry.is_in("all")).map(|entry| entry.name));
        }
        // In the order of the table, each once.
        let names = TOOLS.iter().map(|entry| entry.name).filter(|name| chosen.contains(name));
        Ok(Choice(names.collect()))
    }

    /// The names of its tools.
    pub fn names(&self) -> &[&'static str] {
        &self.0
    }

    pub fn has(&self, tool: &str) -> bool {
        self.0.contains(&tool)
    }

    /// Its tools as an agent is told of them.
    pub fn listed(&self) -> Vec<Tool> {
        self.entries().map(|entry| tool(entry, self)).collect()
    }

    fn entries(&self) -> impl Iterator<Item = &'static ToolEntry> {
        TOOLS.iter().filter(|entry| self.has(entry.name))
    }

    /// What each tool says of itself.
    pub(super) fn descriptions(&self) -> impl Iterator<Item = String> {
        self.entries().map(|entry| described(entry, self))
    }
}

fn unknown(token: &str) -> Error {
    let shown: String = token.chars().take(64).collect();
    let message = format!("no tool or profile {shown:?}");
    let names: Vec<&str> = names().collect();
    let hint = format!("use {}, or names: {}", PROFILES.join(", "), names.join(", "));
    Error::new(ErrorCode::Usage, Fault::Caller, message).with_hint(hint)
}

/// The names of all tools.
pub fn names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|entry| entry.name)
}

/// The parameters of a tool.
pub fn parameters(name: &str) -> Vec<&'static str> {
    let takes = TOOLS.iter().find(|entry| entry.name == name).map_or("", |entry| entry.takes);
    takes.split_whitespace().filter_map(|item| item.split(':').next()).collect()
}

fn described(entry: &ToolEntry, choice: &Choice) -> String {
    match entry.also {
        Some((tool, said)) if choice.has(tool) => format!("{} {said}", entry.about),
        _ => entry.about.to_owned(),
    }
}

fn tool(entry: &ToolEntry, choice: &Choice) -> Tool {
    let mut meta = json!({"anthropic/alwaysLoad": true});
    if !entry.eager {
        meta = json!({"defer_loading": true});
    }
    let (reads, destroys) = (entry.effect == Effect::Reads, entry.effect == Effect::Destroys);
    let value = json!({
        "name": entry.name,
        "description": described(entry, choice),
        "inputSchema": schema::input(entry.takes),
        "outputSchema": schema::output(entry.gives),
        "annotations": {
            "title": entry.title, "readOnlyHint": reads, "destructiveHint": destroys,
            "idempotentHint": matches!(entry.effect, Effect::Reads | Effect::Settles),
            "openWorldHint": false,
        },
        "_meta": meta,
    });
    serde_json::from_value(value).expect("the table of tools holds tools")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that the whole list may have.
    const LIST_BYTES_MAX: usize = 12 * 1_024;

    fn names(choice: &str) -> Vec<String> {
        Choice::parse(choice).unwrap().listed().into_iter().map(|t| t.name.into_owned()).collect()
    }

    // agent-memory 92, 97-102; serving S26
    #[test]
    fn profiles_hold_what_they_should() {
        assert_eq!(names("agent").len(), 15);
        assert_eq!(names("admin"), ["mem_delete", "mem_stats", "mem_timeline", "mem_archive"]);
        for all in ["", "all", "agent,all", "agent,admin", ","] {
            assert_eq!(names(all).len(), 19, "{all:?}");
        }
        assert_eq!(
            names("extra"),
            ["mem_pin", "mem_restore", "mem_prove", "talent_run", "talent_runs"]
        );
        assert_eq!(names("all,extra").len(), 24);
        assert_eq!(names("past"), ["past_search", "past_show", "past_work", "mem_keep"]);
        let core = [
            "mem_save",
            "mem_search",
            "mem_context",
            "mem_session_summary",
            "mem_get_observation",
            "mem_update",
            "mem_relate",
            "mem_timeline",
        ];
        assert_eq!(names("core"), core);
        assert_eq!(names(" mem_search , mem_save "), ["mem_save", "mem_search"]);
        let error = Choice::parse("agent,typo").unwrap_err();
        assert!(error.hint.unwrap().contains("mem_save"));
    }

    // past 71
    #[test]
    fn the_tools_of_the_past_cost_at_most_450_tokens() {
        let said = Choice::parse("past").unwrap().listed().into_iter().map(|tool| {
            let schema = serde_json::to_string(&tool.input_schema).unwrap();
            format!("{}{}{schema}", tool.name, tool.description.unwrap_or_default())
        });
        let tokens = api::render::tokens::estimate(&said.collect::<String>());
        assert!(tokens <= 450, "{tokens}");
    }

    // agent-memory 2, 24, 62-76
    #[test]
    fn the_whole_list_is_small_and_eager_tools_are_six() {
        for choice in ["", "all", "core"] {
            let tools = Choice::parse(choice).unwrap().listed();
            let bytes = serde_json::to_vec(&json!({ "tools": tools })).unwrap().len();
            assert!(bytes < LIST_BYTES_MAX, "{choice}: {bytes} bytes");
        }
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
