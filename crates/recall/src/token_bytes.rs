//! Tokens of the model as bytes.
//!
//! What must stay true: a token has one spelling, and every number below `TOKENS` has one. The vocabulary lists signs,
//! digits and letters first and then words by how frequent they are, so the tokens of a byte are half of most texts.
//!
//! | token | bytes |
//! |---|---|
//! | 999 to 1062: signs, digits, letters | 0 to 63 |
//! | 1996 to 2059: the most frequent words | 64 to 127 |
//! | any other | 128 plus the high seven bits of the token, its low eight bits |

use text::bytes::RowCursor;

/// Tokens that can be written: fifteen bits.
const TOKENS: u16 = 1 << 15;
const SIGNS: u16 = 999;
const WORDS: u16 = 1996;
/// Tokens of one byte in each range.
const SHORT: u16 = 64;

/// Appends tokens. The vocabulary has none above fifteen bits; such a number would become the highest there is.
pub(crate) fn push_tokens(out: &mut Vec<u8>, tokens: &[u16]) {
    for token in tokens {
        let place = |first: u16| token.checked_sub(first).filter(|place| *place < SHORT);
        if let Some(short) = place(SIGNS).or_else(|| Some(place(WORDS)? + SHORT)) {
            out.push(short.to_be_bytes()[1]);
        } else {
            out.extend(((*token).min(TOKENS - 1) | TOKENS).to_be_bytes());
        }
    }
}

/// Reads so many tokens. `None` if there are fewer.
pub(crate) fn take_tokens(
    cursor: &mut RowCursor<'_>,
    count: usize,
    out: &mut Vec<u16>,
) -> Option<()> {
    for _ in 0..count {
        let first = u16::from(cursor.u8()?);
        out.push(match first {
            0..SHORT => SIGNS + first,
            SHORT..128 => WORDS + (first - SHORT),
            _ => (first & 0x7f) << 8 | u16::from(cursor.u8()?),
        });
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_comes_back_and_has_its_length() {
        let all: Vec<u16> = (0..TOKENS).collect();
        let mut bytes = Vec::new();
        push_tokens(&mut bytes, &all);
        assert_eq!(bytes.len(), 2 * all.len() - 128);
        let (mut cursor, mut read) = (RowCursor::new(&bytes), Vec::new());
        take_tokens(&mut cursor, all.len(), &mut read).unwrap();
        assert!(cursor.is_empty() && read == all);
        assert_eq!(take_tokens(&mut RowCursor::new(&[0x80]), 1, &mut read), None);
    }
}
