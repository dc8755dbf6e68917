//! Texts that could not be kept as they came, made so that they can: what a model or an import sends is not refused for
//! a stray character.
//!
//! Must stay true: no word is lost (a title that is too long stays whole in the content); what was changed is told;
//! cleaning twice is cleaning once.

use kernel::limits::TITLE_BYTES_MAX;

/// At the end of a title that was cut.
const ELLIPSIS: &str = "…";

/// Cleans the texts of one request, and says what was done.
#[derive(Debug, Default)]
pub struct IntakeCleaner {
    notes: Vec<&'static str>,
}

impl IntakeCleaner {
    fn note(&mut self, note: &'static str) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// A text of many lines, without NUL.
    pub fn text(&mut self, text: String) -> String {
        if !text.contains('\0') {
            return text;
        }
        self.note("NUL characters were left out");
        text.replace('\0', "")
    }

    /// A title of one line, and the whole of it if it had to be cut.
    pub fn title(&mut self, title: String) -> (String, Option<String>) {
        let title = self.text(title);
        let is_break = |c: char| c.is_control() && c != '\t';
        let line = if title.contains(is_break) {
            self.note("line breaks in the title became spaces");
            let spaced = title.replace(is_break, " ");
            spaced.split_whitespace().collect::<Vec<_>>().join(" ")
        } else {
            title
        };
        if line.len() <= TITLE_BYTES_MAX {
            return (line, None);
        }
        self.note(
            "the title was too long; its beginning is the title, all of it is in the content",
        );
        let end = line.floor_char_boundary(TITLE_BYTES_MAX - ELLIPSIS.len());
        let word = line[..end].rfind(' ').filter(|at| *at >= end / 2).unwrap_or(end);
        (format!("{}{ELLIPSIS}", line[..word].trim_end()), Some(line))
    }

    /// The content under a title that was cut.
    pub fn under(content: String, whole_title: Option<String>) -> String {
        match whole_title {
            Some(whole) if !content.contains(&whole) => {
                let rest = if content.is_empty() { content } else { format!("\n\n{content}") };
                whole + &rest
            }
            _ => content,
        }
    }

    /// What was done, in a sentence. Empty if nothing was.
    pub fn told(&self) -> String {
        self.notes.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // serving S35
    #[test]
    fn stray_characters_and_long_titles_are_cleaned_and_told() {
        let mut cleaner = IntakeCleaner::default();
        assert_eq!(cleaner.text("plain\ttext\n".into()), "plain\ttext\n");
        assert_eq!(cleaner.title("A title".into()), ("A title".to_owned(), None));
        assert_eq!(cleaner.told(), "");
        assert_eq!(cleaner.text("a\0b".into()), "ab");
        assert_eq!(cleaner.title("two\r\nlines\0".into()), ("two lines".to_owned(), None));
        let told = cleaner.told();
        assert_eq!(told, "NUL characters were left out; line breaks in the title became spaces");
        let (title, whole) = cleaner.title("long words ".repeat(200));
        assert!(title.len() <= TITLE_BYTES_MAX && title.ends_with("long…"), "{title}");
        let content = IntakeCleaner::under("said".into(), whole);
        assert!(content.ends_with("words \n\nsaid"), "{content}");
        assert!(cleaner.told().contains("too long"));
    }

    proptest! {
        #[test]
        fn cleaning_twice_is_cleaning_once(text in "(\\PC|[\n\r\0\t ]){0,1200}") {
            let (once, _) = IntakeCleaner::default().title(text);
            prop_assert!(once.len() <= TITLE_BYTES_MAX);
            let mut again = IntakeCleaner::default();
            prop_assert_eq!(again.title(once.clone()).0, once);
            prop_assert_eq!(again.told(), "");
        }
    }
}
