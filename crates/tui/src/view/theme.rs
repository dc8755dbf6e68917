//! Colours, or none: with NO_COLOR everything is said by words, marks and weight alone.

use ratatui::style::{Color, Modifier, Style};

/// The sixteen colours of the terminal, so that it looks like everything else there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Theme {
    pub is_plain: bool,
}

#[allow(clippy::unused_self, reason = "every style is asked for in the same way")]
impl Theme {
    fn colour(self, colour: Color) -> Style {
        if self.is_plain { Style::new() } else { Style::new().fg(colour) }
    }

    pub(super) fn text(self) -> Style {
        Style::new()
    }

    pub(super) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// What is there to be found, not to be read first.
    pub(super) fn faint(self) -> Style {
        if self.is_plain {
            Style::new().add_modifier(Modifier::DIM)
        } else {
            self.colour(Color::DarkGray)
        }
    }

    pub(super) fn accent(self) -> Style {
        self.colour(Color::Cyan)
    }

    pub(super) fn key(self) -> Style {
        self.accent().add_modifier(Modifier::BOLD)
    }

    pub(super) fn good(self) -> Style {
        self.colour(Color::Green)
    }

    pub(super) fn warn(self) -> Style {
        self.colour(Color::Yellow)
    }

    pub(super) fn bad(self) -> Style {
        self.colour(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// A word that was searched for.
    pub(super) fn found(self) -> Style {
        self.colour(Color::Yellow).add_modifier(Modifier::BOLD)
    }

    /// The tab that is open.
    pub(super) fn open(self) -> Style {
        self.accent().add_modifier(Modifier::BOLD | Modifier::REVERSED)
    }

    /// Laid over the selected row.
    pub(super) fn selected(self) -> Style {
        if self.is_plain {
            Style::new().add_modifier(Modifier::REVERSED)
        } else {
            Style::new().add_modifier(Modifier::BOLD)
        }
    }

    /// The caller's word for a memory, by what it is about.
    pub(super) fn kind(self, kind: &str) -> Style {
        self.colour(match kind {
            "decision" | "architecture" => Color::Yellow,
            "bugfix" | "rule" => Color::Red,
            "pattern" | "convention" | "observation" => Color::Magenta,
            "preference" | "identity" => Color::Green,
            "session_summary" | "tool_use" | "command" | "file_change" => Color::Blue,
            _ => Color::Cyan,
        })
    }

    /// What an entry of the journal did.
    pub(super) fn entry(self, kind: &str) -> Style {
        match kind {
            "write" | "restore" => self.good(),
            "update" | "update_head" | "add_edge" | "remove_edge" => self.warn(),
            "tombstone" | "erase" | "scope_violation" => self.bad(),
            "touch" => self.faint(),
            _ => self.accent(),
        }
    }
}
