//! The one gate every text passes before it becomes part of a memory: private blocks out, secrets masked, a report of
//! both.
//!
//! Must stay true: the report holds kinds and counts, never values; screening twice changes nothing; a name made of
//! redacted text (tag, topic key) is left out, because two different secrets would become one name.

use kernel::{Error, Result};
use redact::secrets::SecretCounts;
use redact::{private, secrets};

/// What was taken out of the texts of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedactionReport {
    pub private_blocks: usize,
    /// A private block had no end and hid the rest of its text.
    pub unclosed: bool,
    pub secrets: SecretCounts,
    /// Tags and topic keys left out because they held private text or a secret.
    pub names_left_out: usize,
}

impl RedactionReport {
    pub fn is_clean(&self) -> bool {
        *self == RedactionReport::default()
    }

    /// One line for the reply: `redacted: 2 private blocks, 1 github-token`. `None` if nothing was redacted.
    pub fn note(&self) -> Option<String> {
        if self.is_clean() {
            return None;
        }
        let mut parts = Vec::new();
        let some =
            |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
        if self.private_blocks > 0 {
            let open = if self.unclosed { " (one not closed, so redacted to the end)" } else { "" };
            parts.push(format!("{}{open}", some(self.private_blocks, "private block")));
        }
        parts.extend(self.secrets.iter().map(|(kind, count)| some(*count, kind)));
        if self.names_left_out > 0 {
            let names = some(self.names_left_out, "name");
            parts.push(format!("{names} (tags, topic keys) left out"));
        }
        Some(format!("redacted: {}", parts.join(", ")))
    }
}

/// Screens the texts of one request and keeps the report.
#[derive(Clone, Debug)]
pub struct Redactor {
    mask_secrets: bool,
    report: RedactionReport,
}

impl Redactor {
    /// `mask_secrets` is on unless the person turned it off; private blocks always go.
    pub fn new(mask_secrets: bool) -> Redactor {
        Redactor { mask_secrets, report: RedactionReport::default() }
    }

    /// Title, content, prompt, summary, a field of a body.
    pub fn text(&mut self, text: &str) -> String {
        let redacted = private::redact(text);
        self.report.private_blocks += redacted.blocks;
        self.report.unclosed |= redacted.unclosed;
        if !self.mask_secrets {
            return redacted.text.into_owned();
        }
        let masked = secrets::mask(&redacted.text);
        for (kind, count) in &masked.counts {
            *self.report.secrets.entry(kind).or_default() += count;
        }
        masked.text.into_owned()
    }

    /// A tag, a topic key, a project or session: `None` if it held anything to redact.
    pub fn name(&mut self, name: &str) -> Option<String> {
        let before = (self.report.private_blocks, self.report.secrets.values().sum::<usize>());
        let screened = self.text(name);
        let after = (self.report.private_blocks, self.report.secrets.values().sum::<usize>());
        if before == after {
            return Some(screened);
        }
        self.report.names_left_out += 1;
        None
    }

    /// Tags, also several in one text with commas between: trimmed, without blanks and repetitions, in their order.
    pub fn tags(&mut self, tags: &[String]) -> Vec<String> {
        let mut kept: Vec<String> = Vec::new();
        for list in tags {
            // Screened before it is cut: a private block may hold a comma.
            for tag in self.text(list).split(',').map(str::trim) {
                if tag.contains(secrets::MASK_START) {
                    self.report.names_left_out += 1;
                } else if !tag.is_empty() && !kept.iter().any(|known| known == tag) {
                    kept.push(tag.to_owned());
                }
            }
        }
        kept
    }

    pub fn report(&self) -> &RedactionReport {
        &self.report
    }

    pub fn into_report(self) -> RedactionReport {
        self.report
    }
}

/// Refuses a text of which redaction left nothing.
pub fn check_something_left(field: &'static str, screened: &str) -> Result<()> {
    let mut rest = screened;
    let mut redacted = false;
    loop {
        rest = rest.trim_start();
        let Some((_, after)) =
            rest.strip_prefix(secrets::MASK_START).and_then(|mask| mask.split_once(']'))
        else {
            break;
        };
        (rest, redacted) = (after, true);
    }
    if redacted && rest.is_empty() {
        return Err(Error::invalid(field, "holds nothing but private text"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn token() -> String {
        format!("{}_{}", "ghp", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
    }

    // agent-memory 13.10
    #[test]
    fn every_field_is_screened_and_the_note_counts() {
        let mut screen = Redactor::new(true);
        assert_eq!(screen.text("a <private>b</private> c"), "a [REDACTED] c");
        assert_eq!(screen.text(&format!("use {}", token())), "use [REDACTED:github-token]");
        assert_eq!(screen.text(&format!("{0} {0}", token())).matches("[REDACTED:").count(), 2);
        assert_eq!(screen.name("auth/<private>x</private>"), None);
        assert_eq!(screen.name("auth/model").as_deref(), Some("auth/model"));
        let tags = ["api, auth".to_owned(), "auth,<private>x, y</private>".to_owned()];
        assert_eq!(screen.tags(&tags), ["api", "auth"]);
        assert_eq!(
            screen.into_report().note().unwrap(),
            "redacted: 3 private blocks, 3 github-tokens, 2 names (tags, topic keys) left out"
        );
    }

    #[test]
    fn masking_can_be_turned_off_but_private_stays_private() {
        let mut screen = Redactor::new(false);
        let text = format!("{} <private>x", token());
        assert_eq!(screen.text(&text), format!("{} [REDACTED]", token()));
        let note = screen.report().note().unwrap();
        assert_eq!(note, "redacted: 1 private block (one not closed, so redacted to the end)");
        assert_eq!(Redactor::new(true).into_report().note(), None);
    }

    #[test]
    fn a_text_of_nothing_but_private_is_refused() {
        for (text, left) in [
            ("[REDACTED]", false),
            (" [REDACTED]\n[REDACTED:jwt] ", false),
            ("[REDACTED] and more", true),
            ("plain", true),
            ("", true),
            ("[REDACTED", true),
        ] {
            assert_eq!(check_something_left("content", text).is_ok(), left, "{text}");
        }
    }

    proptest! {
        #[test]
        fn screening_twice_changes_nothing(
            parts in prop::collection::vec(
                prop_oneof![
                    Just("<private>".to_owned()), Just("</private>".to_owned()), Just("password=".to_owned()),
                    Just("Bearer ".to_owned()), Just("://u:".to_owned()), Just("@".to_owned()), Just("\"".to_owned()),
                    Just("token: ".to_owned()), Just(token()), "[A-Za-z0-9]{8,40}", "\\PC{0,6}",
                    Just("[REDACTED]".to_owned()),
                ],
                0..10,
            )
        ) {
            let once = Redactor::new(true).text(&parts.concat());
            let mut second = Redactor::new(true);
            prop_assert_eq!(second.text(&once), once);
            prop_assert!(second.report().is_clean());
        }
    }
}
