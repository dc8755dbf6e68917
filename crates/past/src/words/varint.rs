//! Numbers in as few bytes as they need.

pub(super) fn write(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// The number that `bytes` begin with, and what follows it; none if it is cut off or too long.
pub(super) fn read(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0_u64;
    for (at, byte) in bytes.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f).checked_shl(u32::try_from(at * 7).ok()?)?;
        if byte & 0x80 == 0 {
            return Some((number, &bytes[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            write(number, &mut bytes);
            bytes.push(9);
            assert_eq!(read(&bytes), Some((number, &[9_u8][..])));
        }
        assert_eq!(read(&[0x80]), None);
        assert_eq!(read(&[0xff; 20]), None);
    }
}
