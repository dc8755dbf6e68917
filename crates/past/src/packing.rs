//! Compression of what is stored, with contexts that stay: making one costs more than a small block does.
//!
//! What must stay true: a block unpacks to what was packed or is an error, and to no more bytes than its reader allows.

use std::cell::RefCell;

use zstd::bulk::{Compressor, Decompressor};

/// How much time a block is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PackLevel {
    /// Text that is written once and kept: a step more takes a hundredth off for twice the time.
    Text,
    /// Lists that are written again whenever they are joined.
    Lists,
}

impl PackLevel {
    const fn number(self) -> i32 {
        match self {
            PackLevel::Text => 4,
            PackLevel::Lists => 1,
        }
    }
}

fn compressor(level: PackLevel) -> RefCell<Compressor<'static>> {
    RefCell::new(Compressor::new(level.number()).expect("the level is one that the library has"))
}

thread_local! {
    static TEXT: RefCell<Compressor<'static>> = compressor(PackLevel::Text);
    static LISTS: RefCell<Compressor<'static>> = compressor(PackLevel::Lists);
    static DECOMPRESSOR: RefCell<Decompressor<'static>> =
        RefCell::new(Decompressor::new().expect("a context without a dictionary can be made"));
}

pub(crate) fn packed(level: PackLevel, raw: &[u8]) -> Vec<u8> {
    let context = match level {
        PackLevel::Text => &TEXT,
        PackLevel::Lists => &LISTS,
    };
    context
        .with_borrow_mut(|context| context.compress(raw))
        .expect("memory is compressed into memory")
}

/// The bytes of a block, at most so many; or why it is none.
pub(crate) fn unpacked(packed: &[u8], bytes_max: usize) -> Result<Vec<u8>, String> {
    DECOMPRESSOR
        .with_borrow_mut(|context| context.decompress(packed, bytes_max))
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_comes_back_and_damage_or_too_much_is_an_error() {
        let raw = b"the same and the same and the same ".repeat(50);
        for level in [PackLevel::Text, PackLevel::Lists] {
            let block = packed(level, &raw);
            assert!(block.len() < raw.len() / 4);
            assert_eq!(unpacked(&block, raw.len()).unwrap(), raw);
            assert!(unpacked(&block, raw.len() - 1).is_err());
            assert!(unpacked(&block[..block.len() - 1], raw.len()).is_err());
            assert_eq!(unpacked(&block, raw.len()).unwrap(), raw, "an error leaves nothing behind");
        }
    }
}
