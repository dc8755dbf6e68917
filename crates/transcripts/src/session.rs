//! The one shape that sessions of all agents have: a session, and its items in order.
//!
//! What must stay true: the numbers of fields and variants are those in segments on disk, and are never given to
//! another meaning. A turn is one prompt of a person with all that follows until the next.

use minicbor::{Decode, Encode};
use serde::Serialize;

/// Whose history it is. The names are those of `setup` where it knows the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cbor(index_only)]
pub enum PastAgent {
    #[n(0)]
    ClaudeCode,
    #[n(1)]
    Codex,
    #[n(2)]
    GeminiCli,
    #[n(3)]
    #[serde(rename = "opencode")]
    OpenCode,
    #[n(4)]
    Cursor,
    #[n(5)]
    CopilotCli,
    #[n(6)]
    Cline,
    #[n(7)]
    Goose,
    #[n(8)]
    Aider,
    #[n(9)]
    QwenCode,
    #[n(10)]
    Zed,
    #[n(11)]
    Pi,
    /// Lines of our own form, for any other tool.
    #[n(12)]
    Lines,
    /// Copilot in VS Code.
    #[n(13)]
    CopilotChat,
}

impl PastAgent {
    pub const ALL: [PastAgent; 14] = [
        PastAgent::ClaudeCode,
        PastAgent::Codex,
        PastAgent::GeminiCli,
        PastAgent::OpenCode,
        PastAgent::Cursor,
        PastAgent::CopilotCli,
        PastAgent::Cline,
        PastAgent::Goose,
        PastAgent::Aider,
        PastAgent::QwenCode,
        PastAgent::Zed,
        PastAgent::Pi,
        PastAgent::Lines,
        PastAgent::CopilotChat,
    ];

    pub fn name(self) -> &'static str {
        match self {
            PastAgent::ClaudeCode => "claude-code",
            PastAgent::Codex => "codex",
            PastAgent::GeminiCli => "gemini-cli",
            PastAgent::OpenCode => "opencode",
            PastAgent::Cursor => "cursor",
            PastAgent::CopilotCli => "copilot-cli",
            PastAgent::Cline => "cline",
            PastAgent::Goose => "goose",
            PastAgent::Aider => "aider",
            PastAgent::QwenCode => "qwen-code",
            PastAgent::Zed => "zed",
            PastAgent::Pi => "pi",
            PastAgent::Lines => "lines",
            PastAgent::CopilotChat => "copilot-chat",
        }
    }

    pub fn parse(name: &str) -> Option<PastAgent> {
        PastAgent::ALL.into_iter().find(|agent| agent.name() == name)
    }
}

/// Whether a person led the session or another agent did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "lowercase")]
#[cbor(index_only)]
pub enum SessionKind {
    #[default]
    #[n(0)]
    Main,
    #[n(1)]
    Child,
}

/// What is known of a session apart from its items.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, Serialize)]
pub struct SessionInfo {
    #[n(0)]
    pub agent: PastAgent,
    #[n(1)]
    pub id: String,
    #[n(2)]
    pub parent: Option<String>,
    #[n(3)]
    pub kind: SessionKind,
    #[n(4)]
    pub folder: Option<String>,
    #[n(5)]
    pub branch: Option<String>,
    #[n(6)]
    pub title: Option<String>,
    /// The version of the agent.
    #[n(7)]
    pub version: Option<String>,
    /// Milliseconds since 1970; zero if no record of the session has a time.
    #[n(8)]
    pub started: i64,
    #[n(9)]
    pub updated: i64,
}

impl SessionInfo {
    pub fn new(agent: PastAgent, id: impl Into<String>) -> SessionInfo {
        SessionInfo {
            agent,
            id: id.into(),
            parent: None,
            kind: SessionKind::Main,
            folder: None,
            branch: None,
            title: None,
            version: None,
            started: 0,
            updated: 0,
        }
    }

    /// Takes over what a later record says.
    pub fn learn(&mut self, later: SessionInfo) {
        let replace = |known: &mut Option<String>, later: Option<String>| {
            if later.is_some() {
                *known = later;
            }
        };
        // A session stays where it began; an agent that changes folders says so in every record.
        if self.folder.is_none() {
            self.folder = later.folder;
        }
        replace(&mut self.parent, later.parent);
        replace(&mut self.branch, later.branch);
        replace(&mut self.title, later.title);
        replace(&mut self.version, later.version);
        if later.kind == SessionKind::Child {
            self.kind = SessionKind::Child;
        }
        self.meet(later.started);
        self.meet(later.updated);
    }

    /// Widens the time of the session by that of one of its records.
    pub fn meet(&mut self, at: i64) {
        if at != 0 {
            self.started = if self.started == 0 { at } else { self.started.min(at) };
            self.updated = self.updated.max(at);
        }
    }

    /// `agent:session`, as citations and tombstones have it.
    pub fn key(&self) -> String {
        format!("{}:{}", self.agent.name(), self.id)
    }
}

/// One thing that was said or done.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, Serialize)]
pub struct PastItem {
    /// From 1; 0 stands before the first prompt.
    #[n(0)]
    pub turn: u32,
    #[n(1)]
    pub at: i64,
    /// The record has no time of its own; `at` is the session's.
    #[n(2)]
    pub about: bool,
    /// The id that the agent gave to the record, or to the call of a tool.
    #[n(3)]
    pub native: Option<String>,
    #[n(4)]
    pub body: ItemBody,
}

/// What an item is. Texts are masked and cut; `bytes` is what the text had before the cut.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum ItemBody {
    #[n(0)]
    Prompt {
        #[n(0)]
        text: String,
        #[n(1)]
        bytes: u64,
    },
    #[n(1)]
    Answer {
        #[n(0)]
        text: String,
        #[n(1)]
        bytes: u64,
    },
    #[n(2)]
    Command {
        #[n(0)]
        line: String,
    },
    #[n(3)]
    Read {
        #[n(0)]
        path: String,
    },
    #[n(4)]
    Edit {
        #[n(0)]
        path: String,
        #[n(1)]
        removed: String,
        #[n(2)]
        added: String,
    },
    #[n(5)]
    Output {
        #[n(0)]
        head: String,
        #[n(1)]
        tail: String,
        #[n(2)]
        error: bool,
        #[n(3)]
        bytes: u64,
        /// What the command ended with, if the agent tells.
        #[n(4)]
        exit: Option<i32>,
    },
    /// What an agent kept of a conversation that it shortened.
    #[n(6)]
    Summary {
        #[n(0)]
        text: String,
        #[n(1)]
        bytes: u64,
    },
    #[n(7)]
    Note {
        #[n(0)]
        text: String,
    },
    /// The call of a tool that is neither command, read nor edit.
    #[n(8)]
    Tool {
        #[n(0)]
        name: String,
        #[n(1)]
        input: String,
    },
}

impl ItemBody {
    pub fn role(&self) -> &'static str {
        match self {
            ItemBody::Prompt { .. } => "prompt",
            ItemBody::Answer { .. } => "answer",
            ItemBody::Command { .. } => "command",
            ItemBody::Read { .. } => "read",
            ItemBody::Edit { .. } => "edit",
            ItemBody::Output { .. } => "output",
            ItemBody::Summary { .. } => "summary",
            ItemBody::Note { .. } => "note",
            ItemBody::Tool { .. } => "tool",
        }
    }

    /// The texts of the item, in order.
    pub fn texts(&self) -> [&str; 3] {
        match self {
            ItemBody::Prompt { text, .. }
            | ItemBody::Answer { text, .. }
            | ItemBody::Summary { text, .. }
            | ItemBody::Note { text } => [text, "", ""],
            ItemBody::Command { line } => [line, "", ""],
            ItemBody::Read { path } => [path, "", ""],
            ItemBody::Edit { path, removed, added } => [path, removed, added],
            ItemBody::Output { head, tail, .. } => [head, tail, ""],
            ItemBody::Tool { name, input } => [name, input, ""],
        }
    }
}
