//! Reading the frontmatter of a talent: every key, what it may hold, and what is said about a key that nobody knows.

mod reach;
mod when;

use serde_json::Value;

use super::OutputFormat;
use super::TalentKind;
use super::file::Parts;
use super::front::{Frontmatter, Load, TalentSchedule, ToolGrant, Want};
use super::problem::{TalentProblem, hint, nearest};
use llm::models::ModelTier;

/// Bounds of what a talent may ask for.
const TIMEOUT_SECONDS_MAX: u64 = 24 * 3_600;
const TURNS_MAX: u64 = 1_000;
const TOKENS_MAX: u64 = 10_000_000;

pub(super) const KEYS: &[&str] = &[
    "always",
    "cron",
    "description",
    "disabled",
    "env",
    "files",
    "grant",
    "jitter_seconds",
    "load",
    "max_output_tokens",
    "max_tokens",
    "max_turns",
    "model",
    "multi_facet",
    "network",
    "on",
    "output",
    "priority",
    "provider",
    "runs_per_day_max",
    "schedule",
    "schema",
    "thinking_budget",
    "tier",
    "timeout",
    "timeout_seconds",
    "title",
    "tool_budget",
    "tools",
    "type",
    "write",
];

/// Reads every key and tells every problem, not only the first.
pub(super) fn read(parts: &Parts) -> (Frontmatter, Vec<TalentProblem>) {
    let mut reader = Reader { parts, problems: Vec::new() };
    let front = reader.all();
    (front, reader.problems)
}

struct Reader<'a> {
    parts: &'a Parts,
    problems: Vec<TalentProblem>,
}

impl Reader<'_> {
    fn all(&mut self) -> Frontmatter {
        self.unknown_keys();
        let front = Frontmatter {
            title: self.text("title"),
            description: self.text("description"),
            schedule: self.schedule(),
            trigger: self.trigger(),
            jitter_seconds: self.jitter_seconds(),
            runs_per_day_max: self.runs_per_day_max(),
            priority: self.integer("priority"),
            multi_facet: self.flag("multi_facet"),
            always: self.flag("always"),
            disabled: self.flag("disabled"),
            output: self.word("output", &[("md", OutputFormat::Md), ("json", OutputFormat::Json)]),
            tools: self.tools(),
            grant: self
                .word(
                    "grant",
                    &[
                        ("none", ToolGrant::None),
                        ("read", ToolGrant::Read),
                        ("write", ToolGrant::Write),
                    ],
                )
                .unwrap_or_default(),
            write: self.flag("write"),
            provider: self.text("provider"),
            tier: self.tier(),
            model: self.text("model"),
            max_output_tokens: self.one_of_two("max_tokens", "max_output_tokens", TOKENS_MAX),
            thinking_budget: self.count("thinking_budget", TOKENS_MAX),
            timeout_seconds: self
                .one_of_two("timeout", "timeout_seconds", TIMEOUT_SECONDS_MAX)
                .map(u64::from),
            max_turns: self.count("max_turns", TURNS_MAX),
            tool_budget: self.count("tool_budget", 100_000),
            schema: self.schema(),
            load: self.load(),
            env: self.env(),
            reach: self.reach(),
        };
        self.agreement(&front);
        front
    }

    fn value(&self, key: &str) -> Option<&Value> {
        self.parts.front.get(key).filter(|value| !value.is_null())
    }

    fn wrong(&mut self, key: &str, reason: impl Into<String>) {
        self.problems.push(TalentProblem::error(self.parts.line_of(key), reason));
    }

    /// A key that looks like a known one is surely a slip of the pen, and what it was to say may matter
    /// (`disabeld`): the file is not used. A key that looks like nothing is only named.
    fn unknown_keys(&mut self) {
        for (key, line) in &self.parts.lines {
            if KEYS.contains(&key.as_str()) {
                continue;
            }
            let reason = format!("unknown key {key:?}{}", hint(key, KEYS));
            self.problems.push(match nearest(key, KEYS) {
                Some(_) => TalentProblem::error(*line, reason),
                None => TalentProblem::warning(*line, format!("{reason}; it has no effect")),
            });
        }
    }

    fn text(&mut self, key: &str) -> Option<String> {
        match self.value(key)? {
            Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
            _ => {
                self.wrong(key, format!("{key:?} must be a text that is not empty"));
                None
            }
        }
    }

    fn flag(&mut self, key: &str) -> bool {
        match self.value(key) {
            None => false,
            Some(Value::Bool(flag)) => *flag,
            Some(_) => {
                self.wrong(key, format!("{key:?} must be true or false"));
                false
            }
        }
    }

    fn integer(&mut self, key: &str) -> Option<i64> {
        let value = self.value(key)?;
        let number = value.as_i64();
        if number.is_none() {
            self.wrong(key, format!("{key:?} must be a whole number"));
        }
        number
    }

    fn count(&mut self, key: &str, most: u64) -> Option<u32> {
        let value = self.value(key)?;
        let number = value
            .as_u64()
            .filter(|number| (1..=most).contains(number))
            .and_then(|number| u32::try_from(number).ok());
        if number.is_none() {
            self.wrong(key, format!("{key:?} must be a whole number from 1 to {most}"));
        }
        number
    }

    /// Two names of one thing; both at once would have to agree.
    fn one_of_two(&mut self, first: &str, second: &str, most: u64) -> Option<u32> {
        let values = (self.count(first, most), self.count(second, most));
        if let (Some(one), Some(other)) = values
            && one != other
        {
            self.wrong(second, format!("{first:?} and {second:?} mean the same and differ"));
        }
        values.0.or(values.1)
    }

    fn word<T: Copy>(&mut self, key: &str, words: &[(&str, T)]) -> Option<T> {
        let given = match self.value(key)? {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let found = words.iter().find(|(word, _)| *word == given).map(|(_, value)| *value);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let meant = hint(&given, &known);
            self.wrong(key, format!("{key:?} is {given:?}, not {}{meant}", known.join(" or ")));
        }
        found
    }

    fn tier(&mut self) -> Option<ModelTier> {
        let given = self.value("tier")?;
        let tier = ModelTier::from_value(given);
        if tier.is_none() {
            let reason = format!("\"tier\" is {given}, not 1 (pro), 2 (flash) or 3 (lite)");
            self.wrong("tier", reason);
        }
        tier
    }

    fn tools(&mut self) -> Option<Vec<String>> {
        let given = self.value("tools")?;
        let names = given.as_array().and_then(|items| {
            items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        });
        if names.is_none() {
            self.wrong("tools", "\"tools\" must be a list of names of tools");
        }
        names
    }

    fn schema(&mut self) -> Option<Value> {
        let given = self.value("schema")?.clone();
        match &given {
            Value::Object(_) => {}
            Value::String(path) if plain_file_name(path) => {}
            Value::String(_) => self.wrong(
                "schema",
                "\"schema\" must name a file beside the talent, without folders, ending in .json",
            ),
            _ => self.wrong("schema", "\"schema\" must be a JSON Schema or the name of a file"),
        }
        Some(given)
    }

    fn load(&mut self) -> Option<Load> {
        let Value::Object(given) = self.value("load")?.clone() else {
            self.wrong("load", "\"load\" must be an object of sources");
            return None;
        };
        let mut load = Load::default();
        for (source, value) in &given {
            match source.as_str() {
                "transcripts" => load.transcripts = self.want(source, value),
                "percepts" => load.percepts = self.want(source, value),
                "talents" => match value {
                    Value::Object(names) => {
                        for (name, value) in names {
                            let want = self.want(name, value);
                            load.only_talents.insert(name.clone(), want);
                        }
                        load.talents = Want::Yes;
                    }
                    value => load.talents = self.want(source, value),
                },
                other => {
                    let known = ["transcripts", "percepts", "talents"];
                    let reason = format!("\"load\" has no source {other:?}{}", hint(other, &known));
                    self.wrong("load", reason);
                }
            }
        }
        Some(load)
    }

    fn want(&mut self, source: &str, value: &Value) -> Want {
        match value {
            Value::Bool(false) => Want::No,
            Value::Bool(true) => Want::Yes,
            Value::String(word) if word == "required" => Want::Required,
            _ => {
                self.wrong("load", format!("{source:?} must be true, false or \"required\""));
                Want::No
            }
        }
    }

    /// What the keys say together.
    fn agreement(&mut self, front: &Frontmatter) {
        if let Some(schedule) = front.schedule
            && front.priority.is_none()
        {
            let key = "schedule";
            let word = schedule.as_str();
            self.wrong(key, format!("\"priority\" is required with \"schedule\": {word:?}"));
        }
        if front.always && front.schedule == Some(TalentSchedule::Segment) {
            self.wrong(
                "always",
                "\"always\" is not for segments: what a segment is about comes from the segment",
            );
        }
        if front.always && !front.multi_facet {
            let line = self.parts.line_of("always");
            let reason = "\"always\" has no effect without \"multi_facet\": true";
            self.problems.push(TalentProblem::warning(line, reason));
        }
        let kinds = [("generate", TalentKind::Generator), ("cogitate", TalentKind::Agent)];
        if let Some(kind) = self.word("type", &kinds)
            && kind != front.kind()
        {
            let reason = match kind {
                TalentKind::Generator => {
                    "\"type\" is \"generate\", which needs \"output\" and no \"tools\""
                }
                TalentKind::Agent => {
                    "\"type\" is \"cogitate\", but \"output\" without \"tools\" is a generator"
                }
            };
            self.wrong("type", reason);
        }
    }
}

fn plain_file_name(name: &str) -> bool {
    std::path::Path::new(name).extension().is_some_and(|ending| ending == "json")
        && !name.starts_with('.')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
