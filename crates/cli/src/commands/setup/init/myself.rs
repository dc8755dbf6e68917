//! This program, asked in a process of its own: histories to read, stores to import, a question to try.
//!
//! What must stay true: what it says went wrong is handed on in its own words.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::plan::AgentHistory;

/// Characters of an answer that is shown.
const SHOWN_CHARS: usize = 300;
/// Characters of a question that is tried.
const QUESTION_CHARS: usize = 120;
/// Words below which a prompt asks nothing.
const QUESTION_WORDS_MIN: usize = 4;
/// Newest memories whose titles are tried, where no session asked anything.
const NEWEST_TRIED: &str = "10";
/// Newest sessions that are looked at for a question.
const SESSIONS_TRIED: usize = 10;

/// This program, asked in a process of its own: it finds a daemon that runs, or opens the home.
pub(super) struct Myself {
    pub(super) home: PathBuf,
    pub(super) cwd: PathBuf,
    /// How long a daemon may be silent.
    pub(super) wait: Duration,
}

impl Myself {
    /// The one JSON object that a command answers with, or what it said went wrong.
    pub(super) fn ask(&self, words: &[&str]) -> Result<Value, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let ran = Command::new(program)
            .arg("--home")
            .arg(&self.home)
            .args(["--wait", &self.wait.as_secs().to_string()])
            .args(words)
            .arg("--json")
            .current_dir(&self.cwd)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&ran.stdout);
        if !ran.status.success() {
            let why = String::from_utf8_lossy(&ran.stderr);
            let line = why.lines().chain(said.lines()).find(|line| !line.trim().is_empty());
            return Err(problem_in(line.unwrap_or("it failed without a word")));
        }
        serde_json::from_str(said.lines().next().unwrap_or("{}")).map_err(|error| error.to_string())
    }

    /// What agents wrote that was not read yet. A plan leaves nothing behind: where there is no home yet, it is asked
    /// in one that is gone afterwards.
    pub(super) fn histories(&self) -> Result<Vec<AgentHistory>, String> {
        let aside = std::env::temp_dir().join(format!("cortex-plan-{}", std::process::id()));
        let is_home = ["actors", "cortex.toml"].iter().any(|part| self.home.join(part).exists());
        if is_home || std::fs::create_dir(&aside).is_err() {
            return self.unread();
        }
        let found = Myself { home: aside.clone(), cwd: self.cwd.clone(), wait: self.wait }.unread();
        // What cannot be removed lies where the system tidies up.
        let _ = std::fs::remove_dir_all(&aside);
        found
    }

    fn unread(&self) -> Result<Vec<AgentHistory>, String> {
        let answer = self.ask(&["past", "read", "--dry-run"])?;
        let agents = answer["agents"].as_object().cloned().unwrap_or_default();
        let number = |value: &Value| value.as_u64().unwrap_or_default();
        let mut found: Vec<AgentHistory> = agents
            .into_iter()
            .map(|(agent, counts)| AgentHistory {
                agent,
                files: number(&counts["files"]),
                bytes: number(&counts["bytes"]),
            })
            .filter(|history| history.files > 0)
            .collect();
        if found.is_empty() && number(&answer["changed_files"]) > 0 {
            found.push(AgentHistory {
                agent: "all".to_owned(),
                files: number(&answer["changed_files"]),
                bytes: number(&answer["changed_bytes"]),
            });
        }
        Ok(found)
    }

    /// A question from the person's own history, and what is found for it.
    pub(super) fn example(&self) -> Option<(String, String)> {
        let sessions = self.ask(&["past", "sessions"]).unwrap_or_default();
        let sessions = sessions["sessions"].as_array().cloned().unwrap_or_default();
        let asked = sessions.iter().take(SESSIONS_TRIED).filter_map(|one| self.asked_in(one));
        let newest = self.ask(&["list", "--limit", NEWEST_TRIED]).unwrap_or_default();
        let newest = newest["memories"].as_array().cloned().unwrap_or_default();
        // What a session is called says nothing of what was learned in it.
        let titles = newest.iter().filter(|memory| memory["memory_type"] != "Event");
        let titles = titles.filter_map(|memory| memory["title"].as_str().map(str::to_owned));
        asked.chain(titles).find_map(|question| {
            let question = first_chars(&question, QUESTION_CHARS);
            let answer = self.answer_to(&question)?;
            Some((question, first_chars(&answer, SHOWN_CHARS)))
        })
    }

    /// The first thing that was asked in a session.
    fn asked_in(&self, session: &Value) -> Option<String> {
        let shown = self.ask(&["past", "show", session["ref"].as_str()?]).ok()?;
        let items = shown["turns"].get(0)?["items"].as_array()?;
        let prompt = items.iter().find(|item| item["role"] == "prompt")?["text"].as_str()?;
        let is_question = prompt.split_whitespace().count() >= QUESTION_WORDS_MIN;
        is_question.then(|| prompt.to_owned())
    }

    /// What memory says if it is sure, else what was said in an earlier session.
    fn answer_to(&self, question: &str) -> Option<String> {
        let found = self.ask(&["search", question, "--project", "all"]).ok()?;
        let is_sure =
            ["strong", "likely"].iter().any(|level| found["answerable"]["level"] == *level);
        let memory = found["hits"].get(0).filter(|_| is_sure);
        let of_memory = memory.and_then(|hit| {
            let said = [hit["title"].as_str()?, hit["preview"].as_str().unwrap_or_default()];
            Some(said.join(": "))
        });
        let of_past = || {
            let turn = found["past"].get(0)?;
            // A hit that quotes the question says beside it what was answered.
            let said = turn["answered"].as_str().or_else(|| turn["preview"].as_str());
            said.map(str::to_owned)
        };
        of_memory.or_else(of_past).filter(|answer| !answer.trim().is_empty())
    }
}

/// What a line says went wrong: the message and the hint of an error, or the line itself.
fn problem_in(line: &str) -> String {
    let said: Value = serde_json::from_str(line).unwrap_or_default();
    let text = |name: &str| said["error"][name].as_str();
    match (text("message"), text("hint")) {
        (Some(message), Some(hint)) => format!("{message} ({hint})"),
        (Some(message), None) => message.to_owned(),
        (None, _) => line.to_owned(),
    }
}

/// At most so many characters of a text on one line, with a sign where something is left out.
fn first_chars(text: &str, max: usize) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", flat[..end].trim_end()),
        None => flat,
    }
}
