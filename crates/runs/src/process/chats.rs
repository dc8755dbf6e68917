//! Conversations: which provider began one, where it stands, and which runs belong to it.
//!
//! One file for each conversation, changed under a lock. What must stay true: a conversation never changes its
//! provider.

use std::fs::{self, File};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::error::RunError;
use api::run::is_conversation_id;
use llm::providers::ChatMessage;
use talents::chronicle::write_atomic;
use talents::layout::Layout;

/// What of a conversation is kept for a provider that keeps none itself.
const HISTORY_BYTES_MAX: usize = 512 * 1024;
const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Chat {
    pub chat_id: String,
    pub provider: String,
    /// The session of a command line tool, after the last run.
    pub session_id: Option<String>,
    /// The runs of this conversation, oldest first.
    pub use_ids: Vec<String>,
    /// What was said, without tools.
    #[serde(default)]
    pub turns: Vec<ChatMessage>,
    /// How many of the oldest turns had no room.
    #[serde(default)]
    pub dropped_turns: usize,
}

#[derive(Clone, Debug)]
pub struct Chats {
    folder: PathBuf,
}

impl Chats {
    pub fn new(layout: &Layout) -> Chats {
        Chats { folder: layout.chats() }
    }

    /// The id was checked (`is_conversation_id`) when it came in.
    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    pub fn find(&self, id: &str) -> Result<Option<Chat>, RunError> {
        if !is_conversation_id(id) {
            return Ok(None);
        }
        let path = self.path(id);
        let broken = |why: String| RunError::Chat {
            code: "chat_unreadable",
            why: format!("the conversation {id} cannot be read: {why}"),
        };
        match fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(broken(error.to_string())),
            Ok(meta) if meta.len() > FILE_BYTES_MAX => {
                return Err(broken("it is too large".into()));
            }
            Ok(_) => {}
        }
        let text = fs::read_to_string(&path).map_err(|error| broken(error.to_string()))?;
        serde_json::from_str(&text).map(Some).map_err(|error| broken(error.to_string()))
    }

    /// The runs of a conversation, oldest first.
    pub fn runs_of(&self, id: &str) -> Result<Vec<String>, RunError> {
        Ok(self.find(id)?.map(|chat| chat.use_ids).unwrap_or_default())
    }

    /// Puts a run into a conversation, and refuses one with another provider.
    pub(super) fn enter(&self, id: &str, provider: &str, use_id: &str) -> Result<Chat, RunError> {
        self.change(id, |chat| {
            if chat.provider.is_empty() {
                provider.clone_into(&mut chat.provider);
            }
            if chat.provider != provider {
                return Err(locked(id, &chat.provider, provider));
            }
            if !chat.use_ids.iter().any(|known| known == use_id) {
                chat.use_ids.push(use_id.to_owned());
            }
            Ok(())
        })
    }

    /// Keeps what was said in a run.
    pub(super) fn said(
        &self,
        id: &str,
        provider: &str,
        use_id: &str,
        session: Option<&str>,
        turns: [ChatMessage; 2],
    ) -> Result<Chat, RunError> {
        self.enter(id, provider, use_id)?;
        self.change(id, |chat| {
            if let Some(session) = session {
                chat.session_id = Some(session.to_owned());
            } else {
                chat.turns.extend(turns);
                while chat.turns.len() > 2 && bytes(&chat.turns) > HISTORY_BYTES_MAX {
                    chat.turns.drain(..2);
                    chat.dropped_turns += 2;
                }
            }
            Ok(())
        })
    }

    fn change(
        &self,
        id: &str,
        with: impl FnOnce(&mut Chat) -> Result<(), RunError>,
    ) -> Result<Chat, RunError> {
        let failed = |error: std::io::Error| RunError::Chat {
            code: "chat_unwritable",
            why: format!("the conversation {id} cannot be kept: {error}"),
        };
        fs::create_dir_all(&self.folder).map_err(failed)?;
        let lock = File::create(self.folder.join(format!("{id}.lock"))).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut chat =
            self.find(id)?.unwrap_or_else(|| Chat { chat_id: id.to_owned(), ..Chat::default() });
        let before = chat.clone();
        with(&mut chat)?;
        if chat != before {
            let text = serde_json::to_string(&chat).map_err(|error| failed(error.into()))?;
            write_atomic(&self.path(id), text.as_bytes())?;
        }
        Ok(chat)
    }
}

pub(super) fn locked(id: &str, has: &str, wanted: &str) -> RunError {
    RunError::Chat {
        code: "provider_locked",
        why: format!(
            "the conversation {id} began with provider {has:?} and cannot go on with {wanted:?}"
        ),
    }
}

fn bytes(turns: &[ChatMessage]) -> usize {
    turns
        .iter()
        .map(|turn| match turn {
            ChatMessage::User { text } | ChatMessage::Assistant { text, .. } => text.len(),
            ChatMessage::Results { .. } => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(text: &str) -> [ChatMessage; 2] {
        let user = ChatMessage::User { text: text.to_owned() };
        let own = ChatMessage::Assistant {
            text: text.to_owned(),
            thoughts: Vec::new(),
            calls: Vec::new(),
        };
        [user, own]
    }

    #[test]
    fn a_conversation_keeps_its_provider_and_its_runs() {
        // execution R55, R56
        let dir = tempfile::tempdir().unwrap();
        let chats = Chats::new(&Layout::new(dir.path()));
        chats.enter("c1", "claude", "1").unwrap();
        chats.said("c1", "claude", "1", Some("s-1"), turns("a")).unwrap();
        chats.enter("c1", "claude", "2").unwrap();
        let refused = chats.enter("c1", "codex", "3").unwrap_err();
        assert_eq!(refused.code(), "provider_locked");
        assert_eq!(chats.runs_of("c1").unwrap(), ["1", "2"]);
        assert_eq!(chats.runs_of("nobody").unwrap(), [] as [&str; 0]);
        assert_eq!(chats.find("c1").unwrap().unwrap().session_id.as_deref(), Some("s-1"));
    }

    #[test]
    fn what_was_said_has_a_bound_that_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let chats = Chats::new(&Layout::new(dir.path()));
        let long = "x".repeat(100_000);
        for run in 0..5 {
            chats.said("c1", "openai", &run.to_string(), None, turns(&long)).unwrap();
        }
        let chat = chats.find("c1").unwrap().unwrap();
        assert_eq!((chat.turns.len(), chat.dropped_turns), (4, 6));
    }

    #[test]
    fn many_at_once_lose_no_run() {
        let dir = tempfile::tempdir().unwrap();
        let chats = Chats::new(&Layout::new(dir.path()));
        std::thread::scope(|scope| {
            for run in 0..8 {
                let chats = chats.clone();
                scope.spawn(move || chats.enter("c1", "openai", &run.to_string()).unwrap());
            }
        });
        assert_eq!(chats.runs_of("c1").unwrap().len(), 8);
    }
}
