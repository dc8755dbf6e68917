//! `AGENT:SESSION#TURN`: how a session or a turn is named, by people and by agents.
//!
//! What must stay true: a citation that was given means the same turn for ever. An id that enters a command has no
//! character that a shell would read.

use std::fmt;

use crate::error::{Error, Result};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TurnReference {
    pub(crate) agent: String,
    /// The id of a session, or its beginning.
    pub(crate) session: String,
    pub(crate) turn: Option<u32>,
}

impl TurnReference {
    pub(crate) fn parse(text: &str) -> Result<TurnReference> {
        let wrong = || Error::Reference { reference: text.chars().take(200).collect() };
        let (agent, rest) = text.trim().split_once(':').ok_or_else(wrong)?;
        let (session, turn) = match rest.rsplit_once('#') {
            None => (rest, None),
            Some((session, turn)) => (session, Some(turn.parse().map_err(|_| wrong())?)),
        };
        if agent.is_empty() || session.is_empty() {
            return Err(wrong());
        }
        Ok(TurnReference { agent: agent.to_owned(), session: session.to_owned(), turn })
    }
}

impl fmt::Display for TurnReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.agent, self.session)?;
        self.turn.map_or(Ok(()), |turn| write!(formatter, "#{turn}"))
    }
}

/// Bytes of an id that may stand in a command.
const ID_BYTES_MAX: usize = 128;

/// Whether an id may be part of a command line: letters and digits, then also `.`, `_`, `:` and `-`.
pub(crate) fn is_plain_id(id: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
    id.len() <= ID_BYTES_MAX
        && id.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
        && id.bytes().all(is_inner)
}

/// A word as a shell takes it, whatever is in it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._/:-+@%=,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citations_read_back() {
        for text in ["codex:0199c0de#12", "claude-code:abc", "gemini-cli:a:b#3"] {
            assert_eq!(TurnReference::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "codex", ":a", "codex:", "codex:a#x", "codex:#1"] {
            assert!(TurnReference::parse(text).is_err(), "{text}");
        }
    }

    // past 64
    #[test]
    fn ids_and_folders_cannot_leave_their_words() {
        assert!(is_plain_id("0199c0de-aa.b_c:d"));
        for id in ["", "-a", "a b", "a;b", "a$(b)", "a`b", "a'b", "a/b", &"a".repeat(129)] {
            assert!(!is_plain_id(id), "{id}");
        }
        assert_eq!(quoted("/src/a"), "/src/a");
        assert_eq!(quoted("/src/a b"), "'/src/a b'");
        assert_eq!(quoted("it's; rm"), r"'it'\''s; rm'");
        assert_eq!(quoted(""), "''");
    }
}
