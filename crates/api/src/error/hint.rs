//! Hints that name a command, as values: an interface without a command line says the same in its own words.
//!
//! What must stay true: the text of a hint is written here once, so that whoever reads an error that came over a wire
//! can tell which hint it carries.

use super::{Error, ErrorCode};

/// What to do about something that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandHint {
    /// No memory has that id: list those there are.
    ListMemories,
    /// No session has that name: start one.
    StartSession,
}

impl CommandHint {
    const ALL: [CommandHint; 2] = [CommandHint::ListMemories, CommandHint::StartSession];

    /// The hint for people at a command line.
    pub fn text(self) -> &'static str {
        match self {
            CommandHint::ListMemories => {
                "`cortex list` shows what there is; `cortex actors` lists whose memory there is"
            }
            CommandHint::StartSession => "`cortex session start NAME` starts one",
        }
    }

    /// Which of them an error carries.
    pub fn of(error: &Error) -> Option<CommandHint> {
        let text = error.hint.as_deref().filter(|_| error.code == ErrorCode::NotFound)?;
        CommandHint::ALL.into_iter().find(|hint| hint.text() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_known_again_after_a_wire() {
        for hint in CommandHint::ALL {
            let error = Error::missing("memory", 7).with_hint(hint.text());
            let text = serde_json::to_string(&error).unwrap();
            let error: Error = serde_json::from_str(&text).unwrap();
            assert_eq!(CommandHint::of(&error), Some(hint));
            assert_eq!(CommandHint::of(&Error::internal("no").with_hint(hint.text())), None);
        }
        assert_eq!(CommandHint::of(&Error::missing("memory", 7)), None);
    }
}
