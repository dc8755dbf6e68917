//! Who a memory comes from, as far as it is known.
//!
//! What must stay true: who is trusted least comes first, so that the least trusted of several is the smallest.

use serde::{Deserialize, Serialize};

/// Who wrote a memory, as far as it is known; the first is trusted least.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// A page of the web.
    Web,
    /// A file or the store of another program.
    Import,
    /// A program that a model drives: over MCP, in a hook, as a talent, under a grant.
    Agent,
    /// Somebody who typed it.
    #[default]
    Person,
}

impl Author {
    pub fn name(self) -> &'static str {
        match self {
            Author::Web => "web",
            Author::Import => "import",
            Author::Agent => "agent",
            Author::Person => "person",
        }
    }

    /// The author that a version's source (user, derived, observed, imported) and origin tell of.
    pub fn of(source: &str, origin: Option<&str>) -> Author {
        let of_web = |origin: &str| origin.starts_with("http://") || origin.starts_with("https://");
        match source {
            "user" => Author::Person,
            _ if origin.is_some_and(of_web) => Author::Web,
            "imported" => Author::Import,
            _ => Author::Agent,
        }
    }

    pub fn is_person(&self) -> bool {
        *self == Author::Person
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_author_follows_from_source_and_origin() {
        for (source, origin, author) in [
            ("user", None, Author::Person),
            ("user", Some("https://a.example"), Author::Person),
            ("observed", None, Author::Agent),
            ("derived", Some("talent-run/1"), Author::Agent),
            ("imported", Some("engram:12"), Author::Import),
            ("imported", Some("https://a.example/page"), Author::Web),
        ] {
            assert_eq!(Author::of(source, origin), author, "{source} {origin:?}");
        }
        assert!(Author::Web < Author::Person);
    }
}
