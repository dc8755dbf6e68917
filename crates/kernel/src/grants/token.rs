//! Bytes as text for headers and arguments: base64url without padding, one text per byte string.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Characters needed for `bytes` bytes.
pub(super) const fn encoded_len(bytes: usize) -> usize {
    (bytes * 4).div_ceil(3)
}

pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(encoded_len(bytes.len()));
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |group, &byte| group << 8 | u32::from(byte));
        let group = group << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            let index = group >> (18 - 6 * place) & 63;
            text.push(char::from(ALPHABET[index as usize]));
        }
    }
    text
}

/// `None` for a foreign character, an impossible length or left-over bits that are not zero.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'-' => Some(62),
        b'_' => Some(63),
        _ => None,
    };
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for chunk in text.as_bytes().chunks(4) {
        let mut group = 0u32;
        for &byte in chunk {
            group = group << 6 | u32::from(value(byte)?);
        }
        let group = (group << (6 * (4 - chunk.len()))).to_be_bytes();
        let whole = chunk.len().checked_sub(1).filter(|whole| *whole > 0)?;
        if group[1 + whole..].iter().any(|&rest| rest != 0) {
            return None;
        }
        bytes.extend_from_slice(&group[1..=whole]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_texts() {
        // RFC 4648 section 10, without padding, and the two characters that differ in the URL alphabet.
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg"),
            (b"fo", "Zm8"),
            (b"foo", "Zm9v"),
            (b"foob", "Zm9vYg"),
            (b"fooba", "Zm9vYmE"),
            (b"foobar", "Zm9vYmFy"),
            (&[0xfb, 0xff], "-_8"),
        ] {
            assert_eq!(encode(bytes), text);
            assert_eq!(decode(text).as_deref(), Some(bytes));
        }
        for bad in ["Z", "Zg==", "Zh", "Zm9", "Zm9vY", "Zm+v", "Zm/v", "Zm 9", "é"] {
            assert_eq!(decode(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn text_and_bytes_are_one_to_one(bytes: Vec<u8>, text in "[A-Za-z0-9_-]{0,40}") {
            let encoded = encode(&bytes);
            prop_assert_eq!(encoded.len(), encoded_len(bytes.len()));
            prop_assert_eq!(decode(&encoded), Some(bytes));
            if let Some(bytes) = decode(&text) {
                prop_assert_eq!(encode(&bytes), text);
            }
        }
    }
}
