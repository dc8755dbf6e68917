//! SHA-256 digests and the one way to make them: a domain tag, then the parts.
//!
//! Every hash in the kernel except the RFC 6962 journal tree starts with a distinct text tag, so that bytes hashed for
//! one purpose can never be passed off as bytes hashed for another.

use std::fmt;
use std::str::FromStr;

use minicbor::decode::Error as DecodeError;
use minicbor::encode::{Error as EncodeError, Write};
use minicbor::{Decode, Decoder, Encode, Encoder};
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};

/// A SHA-256 value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Thirty-two zero bytes; never the hash of anything we know.
    pub const ZERO: Digest = Digest([0; 32]);

    /// Hashes `parts`, one after the other, behind `domain`.
    ///
    /// Callers put a length before each variable part but the last; fixed-width parts need none.
    pub fn of(domain: &str, parts: &[&[u8]]) -> Digest {
        let mut hasher = Sha256::new();
        hasher.update(domain.as_bytes());
        for part in parts {
            hasher.update(part);
        }
        Digest(hasher.finalize().into())
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = Error;

    fn from_str(text: &str) -> Result<Digest> {
        let bytes = decode_hex(text).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        bytes.map(Digest).ok_or_else(|| Error::invalid("digest", "expected 64 hexadecimal digits"))
    }
}

/// Decodes an even number of hexadecimal digits; `None` for anything else.
pub fn decode_hex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    let nibble = |byte: u8| char::from(byte).to_digit(16).and_then(|n| u8::try_from(n).ok());
    text.as_bytes().chunks(2).map(|pair| Some(nibble(pair[0])? << 4 | nibble(pair[1])?)).collect()
}

/// Encodes bytes as lower-case hexadecimal digits.
pub fn encode_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        use fmt::Write as _;
        write!(text, "{byte:02x}").expect("writing to a String cannot fail");
        text
    })
}

impl<C> Encode<C> for Digest {
    fn encode<W: Write>(
        &self,
        e: &mut Encoder<W>,
        _: &mut C,
    ) -> std::result::Result<(), EncodeError<W::Error>> {
        e.bytes(&self.0)?.ok()
    }
}

impl<'b, C> Decode<'b, C> for Digest {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> std::result::Result<Self, DecodeError> {
        let at = d.position();
        <[u8; 32]>::try_from(d.bytes()?)
            .map(Digest)
            .map_err(|_| DecodeError::message("a digest has 32 bytes").at(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_round_trips_and_refuses_what_is_not_hex() {
        let digest = Digest::of("test", &[b"a", b"b"]);
        assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
        for bad in ["", "0", "zz", &"0".repeat(63), &"0".repeat(66), "é"] {
            assert!(bad.parse::<Digest>().is_err(), "{bad:?} must be refused");
        }
    }

    #[test]
    fn the_domain_separates_equal_parts() {
        assert_ne!(Digest::of("a", &[b"x"]), Digest::of("b", &[b"x"]));
    }
}
