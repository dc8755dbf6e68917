//! Short ways to make what tests need: deterministic stamps, salts, bodies and drafts.

use kernel::actor::ActorName;
use kernel::command::{Draft, Stamp};
use kernel::memory::{Body, Fields, MemoryId, MemoryType, Millis, Salt};
use kernel::{Cortex, Options};

use crate::disk::Disk;

/// 2026-01-01T00:00:00Z, and `n` seconds later.
pub fn at(n: i64) -> Millis {
    Millis(1_767_225_600_000 + n * 1_000)
}

pub fn stamp(n: i64) -> Stamp {
    Stamp::new(at(n), "tester")
}

/// A salt that depends on `n` only.
pub fn salt(n: u64) -> Salt {
    let mut bytes = [0x5a; 16];
    bytes[..8].copy_from_slice(&n.to_be_bytes());
    Salt(bytes)
}

pub fn body(memory_type: MemoryType, title: &str, content: &str) -> Body {
    Body { title: title.into(), content: content.into(), fields: Fields::empty(memory_type) }
}

/// A fact with nothing but title and content.
pub fn fact(n: u64, title: &str, content: &str) -> Draft {
    Draft::new(body(MemoryType::Fact, title, content), salt(n))
}

pub fn id(n: u64) -> MemoryId {
    MemoryId::new(n).expect("test ids start at 1")
}

pub fn ada() -> ActorName {
    ActorName::parse("ada").expect("a legal name")
}

/// Opens the test actor on a simulated disk.
pub fn open(disk: &Disk) -> Cortex {
    Cortex::open_on(disk.medium(), &ada(), Options::default()).expect("the store opens")
}
