//! A talent file cut into frontmatter and body.
//!
//! The frontmatter begins if the first line is exactly `{` and ends at the first line that is exactly `}`. A file
//! that begins otherwise is all body. Lines are counted as an editor counts them, so that a problem can be found.

use serde_json::{Map, Value};

use super::problem::TalentProblem;

/// A talent is text that a person wrote; what is larger is something else.
pub(super) const FILE_BYTES_MAX: usize = 256 * 1024;

#[derive(Debug)]
pub(super) struct Parts {
    pub(super) front: Map<String, Value>,
    /// Each key of the frontmatter with the line it stands on.
    pub(super) lines: Vec<(String, usize)>,
    pub(super) body: String,
    pub(super) body_line: usize,
}

impl Parts {
    pub(super) fn line_of(&self, key: &str) -> usize {
        self.lines.iter().find(|(name, _)| name == key).map_or(1, |(_, line)| *line)
    }
}

pub(super) fn cut(text: &str) -> Result<Parts, TalentProblem> {
    // An editor's mark of the encoding is no part of the first line.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let bare = |line: &str| line.trim_end_matches(['\n', '\r']).to_owned();
    if lines.next().map(bare).as_deref() != Some("{") {
        let body = text.trim().to_owned();
        return Ok(Parts { front: Map::new(), lines: Vec::new(), body, body_line: 1 });
    }
    let first = text.split_inclusive('\n').next().map_or(0, str::len);
    let mut end = first;
    let mut count = 1;
    let mut closed = false;
    for line in lines {
        end += line.len();
        count += 1;
        if bare(line) == "}" {
            closed = true;
            break;
        }
    }
    if !closed {
        return Err(TalentProblem::error(
            1,
            "the frontmatter is not closed: a line that is exactly } is missing",
        ));
    }
    let json = &text[..end];
    let front: Map<String, Value> = serde_json::from_str(json).map_err(|error| {
        TalentProblem::error(error.line().max(1), format!("frontmatter: {error}"))
    })?;
    let lines = keys(json);
    for (place, (key, line)) in lines.iter().enumerate() {
        if lines[..place].iter().any(|(other, _)| other == key) {
            return Err(TalentProblem::error(*line, format!("{key:?} is there twice")));
        }
    }
    let rest = &text[end..];
    let body = rest.trim();
    let blank = rest.len() - rest.trim_start().len();
    let body_line = count + 1 + rest[..blank].matches('\n').count();
    Ok(Parts { front, lines, body: body.to_owned(), body_line })
}

/// The keys of an object with their lines; only of the outermost one. The text is JSON that has been read before.
fn keys(json: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let (mut depth, mut line) = (0_usize, 1_usize);
    let mut key_may_follow = false;
    let mut bytes = json.bytes().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\n' => line += 1,
            b'{' | b'[' => {
                depth += 1;
                key_may_follow = depth == 1;
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => key_may_follow = depth == 1,
            b'"' => {
                let mut end = at;
                while let Some((place, inner)) = bytes.next() {
                    if inner == b'\\' {
                        bytes.next();
                    } else if inner == b'"' {
                        end = place;
                        break;
                    }
                }
                if key_may_follow {
                    if let Ok(key) = serde_json::from_str::<String>(&json[at..=end]) {
                        found.push((key, line));
                    }
                    key_may_follow = false;
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn frontmatter_ends_at_the_first_lone_brace() {
        // execution R84, R85
        let parts =
            cut("{\n  \"title\": \"A\",\n  \"env\": {\n    \"X\": 1\n  }\n}\n\n# Body\n}\n")
                .unwrap();
        assert_eq!(parts.front["title"], "A");
        assert_eq!(parts.body, "# Body\n}");
        assert_eq!(parts.body_line, 8);
        assert_eq!(parts.line_of("env"), 3);
        assert_eq!(parts.lines.len(), 2, "keys of inner objects are not keys of the talent");
    }

    #[test]
    fn a_file_without_frontmatter_is_all_body() {
        for text in ["Just text.\n", "{ \"title\": 1 }\nText", " {\n}\n", ""] {
            let parts = cut(text).unwrap();
            assert!(parts.front.is_empty(), "{text:?}");
            assert_eq!(parts.body, text.trim());
        }
    }

    #[test]
    fn line_ends_of_other_systems_and_a_mark_in_front_are_taken() {
        let parts = cut("\u{feff}{\r\n  \"title\": \"A\"\r\n}\r\nBody\r\n").unwrap();
        assert_eq!(parts.front["title"], "A");
        assert_eq!(parts.body, "Body");
        assert_eq!(parts.body_line, 4);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let open = cut("{\n  \"title\": \"A\"\nBody").unwrap_err();
        assert!(open.reason.contains("not closed"), "{open}");
        let comma = cut("{\n  \"title\": \"A\"\n  \"tier\": 1\n}\nBody").unwrap_err();
        assert_eq!(comma.line, 3, "{comma}");
        let twice = cut("{\n  \"tier\": 1,\n  \"tier\": 2\n}\nBody").unwrap_err();
        assert_eq!((twice.line, twice.reason.as_str()), (3, "\"tier\" is there twice"));
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_cutter(text in "[{}\"\\\\\n a-z:,ä\u{0}]{0,60}") {
            // Either answer is right; only a panic is wrong.
            let _ = cut(&text);
            // The same holds for text that looks like frontmatter.
            let _ = cut(&format!("{{\n{text}\n}}\nbody"));
        }
    }
}
