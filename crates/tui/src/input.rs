//! One line of text that is being typed. The cursor stands between graphemes, never inside one.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation as _;

use crate::text;

/// Bytes a question may have.
pub(super) const BYTES_MAX: usize = 1_000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Input {
    text: String,
    /// In bytes.
    cursor: usize,
}

impl Input {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// What to show in `cells` cells, and where the cursor stands in it: the end of what is left of the cursor is
    /// always in sight.
    pub(super) fn window(&self, cells: usize) -> (String, usize) {
        let room = cells.saturating_sub(1);
        let mut start = 0;
        for (place, _) in self.text[..self.cursor].grapheme_indices(true) {
            start = place;
            if text::width(&self.text[place..self.cursor]) <= room {
                break;
            }
        }
        if text::width(&self.text[start..self.cursor]) > room {
            start = self.cursor;
        }
        let before = text::width(&self.text[start..self.cursor]);
        (text::cut(&self.text[start..], cells), before)
    }

    /// Adds text where the cursor stands. What does not fit is left out, and `false` says so.
    pub(super) fn insert(&mut self, more: &str) -> bool {
        let more = text::plain(more);
        if self.text.len() + more.len() > BYTES_MAX {
            return false;
        }
        self.text.insert_str(self.cursor, &more);
        self.cursor += more.len();
        true
    }

    /// What a key does to the line: `None` if nothing, else whether the text changed.
    pub(super) fn press(&mut self, key: KeyEvent) -> Option<bool> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let old = self.text.len();
        match key.code {
            KeyCode::Char('u') if control => drop(self.text.drain(..self.cursor)),
            KeyCode::Char('k') if control => self.text.truncate(self.cursor),
            KeyCode::Char('w') if control => {
                let start = self.word_before();
                self.text.drain(start..self.cursor);
            }
            KeyCode::Char('a') if control => self.cursor = 0,
            KeyCode::Char('e') if control => self.cursor = self.text.len(),
            KeyCode::Char(c) if !control && !key.modifiers.contains(KeyModifiers::ALT) => {
                return Some(self.insert(c.encode_utf8(&mut [0; 4])));
            }
            KeyCode::Backspace => {
                let start = self.before();
                self.text.drain(start..self.cursor);
            }
            KeyCode::Delete => {
                let end = self.after();
                self.text.drain(self.cursor..end);
                return Some(self.text.len() != old);
            }
            KeyCode::Left => self.cursor = self.before(),
            KeyCode::Right => self.cursor = self.after(),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            _ => return None,
        }
        let lost = old - self.text.len();
        // All that takes text away takes it from before the cursor, but for `k` and delete.
        if lost > 0 && !(control && key.code == KeyCode::Char('k')) {
            self.cursor -= lost;
        }
        Some(lost > 0)
    }

    fn before(&self) -> usize {
        let mut graphemes = self.text[..self.cursor].grapheme_indices(true);
        graphemes.next_back().map_or(0, |(place, _)| place)
    }

    fn after(&self) -> usize {
        let next = self.text[self.cursor..].graphemes(true).next();
        self.cursor + next.map_or(0, str::len)
    }

    fn word_before(&self) -> usize {
        let trimmed = self.text[..self.cursor].trim_end();
        trimmed
            .rfind(char::is_whitespace)
            .map_or(0, |place| place + trimmed[place..].chars().next().map_or(0, char::len_utf8))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    #[test]
    fn a_line_is_edited_by_graphemes_and_words() {
        let mut input = Input::default();
        assert!(input.insert("one two e\u{301}日"));
        assert_eq!(input.press(key(KeyCode::Left)), Some(false));
        assert_eq!(input.press(key(KeyCode::Backspace)), Some(true));
        assert_eq!(input.text(), "one two 日");
        input.press(KeyEvent::new(KeyCode::Char('w'), KeyModifiers::CONTROL));
        assert_eq!(input.text(), "one 日");
        input.press(key(KeyCode::Char('x')));
        input.press(key(KeyCode::Delete));
        assert_eq!(input.text(), "one x");
        assert_eq!(input.press(key(KeyCode::F(2))), None);
        assert_eq!(input.window(4), ("e x".to_owned(), 3));
        assert!(!input.insert(&"y".repeat(BYTES_MAX)));
    }

    proptest! {
        #[test]
        fn any_keys_leave_a_cursor_that_can_be_drawn(
            keys in prop::collection::vec((0_u8..12, any::<char>()), 0..60), cells in 1_usize..20,
        ) {
            let mut input = Input::default();
            for (what, c) in keys {
                let code = match what {
                    0 => KeyCode::Left, 1 => KeyCode::Right, 2 => KeyCode::Home, 3 => KeyCode::End,
                    4 => KeyCode::Backspace, 5 => KeyCode::Delete,
                    6..=8 => {
                        let c = ['u', 'k', 'w'][usize::from(what) - 6];
                        input.press(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL));
                        continue;
                    }
                    _ => KeyCode::Char(c),
                };
                input.press(key(code));
                let (_, cursor) = input.window(cells);
                prop_assert!(cursor < cells);
            }
        }
    }
}
