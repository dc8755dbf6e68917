//! What was said before a run: written down by whoever keeps the conversation, read by the run's process.
//!
//! A file and no part of the request, so that a long conversation is not repeated in the log of every run. What
//! must stay true: roles alternate when the model gets them, whatever was said in between.

use std::fs;

use serde::{Deserialize, Serialize};

use super::error::RunError;
use llm::providers::ChatMessage;
use talents::chronicle::write_atomic;
use talents::layout::Layout;

const BYTES_MAX: u64 = 16 * 1024 * 1024;

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    User,
    Assistant,
    /// Nobody: what happened meanwhile, or what the conversation was about before.
    Note,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Utterance {
    pub by: Speaker,
    pub text: String,
}

/// A conversation up to a run.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Context {
    /// What the model is told before everything, after the talent's own words.
    pub system: String,
    /// Oldest first, without what the run itself is asked.
    pub said: Vec<Utterance>,
}

impl Context {
    /// The name must have been checked (`api::run::is_conversation_id`).
    pub fn write(&self, layout: &Layout, name: &str) -> std::io::Result<()> {
        let path = layout.context(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let text = serde_json::to_string(self)?;
        write_atomic(&path, text.as_bytes())
            .map_err(|error| std::io::Error::other(error.to_string()))
    }

    pub(super) fn read(layout: &Layout, name: &str) -> Result<Context, RunError> {
        let broken = |why: String| RunError::Chat {
            code: "context_unreadable",
            why: format!("the context {name} cannot be read: {why}"),
        };
        let path = layout.context(name);
        let size = fs::metadata(&path).map_err(|error| broken(error.to_string()))?.len();
        if size > BYTES_MAX {
            return Err(broken("it is too large".to_owned()));
        }
        let text = fs::read_to_string(&path).map_err(|error| broken(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| broken(error.to_string()))
    }

    /// Nobody needs it any more. One that is gone already is fine.
    pub fn remove(layout: &Layout, name: &str) -> std::io::Result<()> {
        match fs::remove_file(layout.context(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// As a model gets it: notes come from the user's side, and who speaks twice in a row speaks once.
    pub(super) fn messages(&self) -> Vec<ChatMessage> {
        let mut joined: Vec<(bool, String)> = Vec::new();
        for said in &self.said {
            let own = said.by == Speaker::Assistant;
            let text = match said.by {
                Speaker::Note => format!("[note] {}", said.text),
                _ => said.text.clone(),
            };
            match joined.last_mut() {
                Some((last, before)) if *last == own => {
                    before.push_str("\n\n");
                    before.push_str(&text);
                }
                _ => joined.push((own, text)),
            }
        }
        joined
            .into_iter()
            .map(|(own, text)| {
                if own {
                    ChatMessage::Assistant { text, thoughts: Vec::new(), calls: Vec::new() }
                } else {
                    ChatMessage::User { text }
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(by: Speaker, text: &str) -> Utterance {
        Utterance { by, text: text.to_owned() }
    }

    #[test]
    fn roles_alternate_whatever_was_said() {
        let context = Context {
            system: String::new(),
            said: vec![
                said(Speaker::Note, "Earlier: tea"),
                said(Speaker::User, "Hello"),
                said(Speaker::Assistant, "Hi"),
                said(Speaker::Assistant, "again"),
                said(Speaker::Note, "Branch concluded"),
            ],
        };
        let shown: Vec<(bool, String)> = context
            .messages()
            .into_iter()
            .map(|message| match message {
                ChatMessage::User { text } => (false, text),
                ChatMessage::Assistant { text, .. } => (true, text),
                ChatMessage::Results { .. } => panic!("no tools were used"),
            })
            .collect();
        assert_eq!(
            shown,
            [
                (false, "[note] Earlier: tea\n\nHello".to_owned()),
                (true, "Hi\n\nagain".to_owned()),
                (false, "[note] Branch concluded".to_owned()),
            ]
        );
    }

    #[test]
    fn what_is_written_is_read_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        let context =
            Context { system: "Be kind.".to_owned(), said: vec![said(Speaker::User, "Hello")] };
        context.write(&layout, "main-1").unwrap();
        assert_eq!(Context::read(&layout, "main-1").unwrap(), context);
        Context::remove(&layout, "main-1").unwrap();
        Context::remove(&layout, "main-1").unwrap();
        assert_eq!(Context::read(&layout, "main-1").unwrap_err().code(), "context_unreadable");
    }
}
