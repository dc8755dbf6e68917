//! Varints and a cursor that never reads past the end, for rows of the index and of recall. Whoever decodes a row turns
//! `None` into damage with a place.

/// Appends `n` in groups of seven bits, lowest first.
pub fn push_varint(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(low_byte(n) | 0x80);
        n >>= 7;
    }
    out.push(low_byte(n));
}

/// Appends a signed number: small amounts of either sign stay short.
pub fn push_signed(out: &mut Vec<u8>, n: i64) {
    let doubled = n.unsigned_abs() << 1;
    push_varint(out, if n < 0 { doubled - 1 } else { doubled });
}

fn low_byte(n: u64) -> u8 {
    n.to_le_bytes()[0] & 0x7f
}

#[derive(Clone, Copy, Debug)]
pub struct RowCursor<'b> {
    bytes: &'b [u8],
}

impl<'b> RowCursor<'b> {
    pub fn new(bytes: &'b [u8]) -> RowCursor<'b> {
        RowCursor { bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// What is left to read.
    pub fn rest(&self) -> &'b [u8] {
        self.bytes
    }

    pub fn u8(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    pub fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }

    pub fn varint(&mut self) -> Option<u64> {
        let mut n = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                return None;
            }
            n |= part << shift;
            if byte < 0x80 {
                return Some(n);
            }
        }
        None
    }

    pub fn u32(&mut self) -> Option<u32> {
        u32::try_from(self.varint()?).ok()
    }

    pub fn signed(&mut self) -> Option<i64> {
        let n = self.varint()?;
        let half = i64::try_from(n >> 1).ok()?;
        Some(if n & 1 == 1 { -half - 1 } else { half })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_read_back(n: u64, signed in -(1i64 << 62)..(1i64 << 62)) {
            let mut out = Vec::new();
            push_varint(&mut out, n);
            push_signed(&mut out, signed);
            let mut cursor = RowCursor::new(&out);
            prop_assert_eq!(cursor.varint(), Some(n));
            prop_assert_eq!(cursor.signed(), Some(signed));
            prop_assert!(cursor.is_empty());
            prop_assert_eq!(cursor.varint(), None);
        }
    }
}
