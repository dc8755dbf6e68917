//! The name of an actor: whose memory a store holds. It is also a folder name, so the grammar is strict.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// `[a-z0-9][a-z0-9._-]{0,63}` without `..`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActorName(String);

impl ActorName {
    pub fn parse(text: &str) -> Result<ActorName> {
        let bytes = text.as_bytes();
        let first = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let rest = |b: u8| first(b) || matches!(b, b'.' | b'_' | b'-');
        let legal = (1..=64).contains(&bytes.len())
            && first(bytes[0])
            && bytes.iter().all(|&b| rest(b))
            && !text.contains("..");
        if legal { Ok(ActorName(text.to_owned())) } else { Err(Error::BadActor(text.to_owned())) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ActorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ActorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ActorName({})", self.0)
    }
}

impl FromStr for ActorName {
    type Err = Error;

    fn from_str(text: &str) -> Result<ActorName> {
        ActorName::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // kernel 64
    #[test]
    fn names_that_could_leave_the_home_are_refused() {
        let long = "a".repeat(65);
        for bad in
            ["", ".", "..", "a..b", "a/b", "a\\b", "a\0b", "/a", "-a", ".a", "A", "ä", "a b", &long]
        {
            assert_eq!(ActorName::parse(bad), Err(Error::BadActor(bad.into())), "{bad:?}");
        }
        for good in ["a", "0", "default", "team.backend-2_x", &"a".repeat(64)] {
            assert_eq!(ActorName::parse(good).unwrap().as_str(), good);
        }
    }
}
