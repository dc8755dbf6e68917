//! Every key in an actor's store. Byte order is numeric order.
//!
//! Numbers are big-endian and fixed width; texts carry their length in one byte before them. What belongs to one memory
//! lies under one prefix, so a write dirties few pages: head, usage, versions and edges are neighbours.
//!
//! Two spaces: *truth* (journal entries and the bodies beside them) and *derived* (everything else).

mod index;

use proof::Digest;
use proof::memory::{MemoryId, Relation};

pub use index::{
    Index, Places, SEGMENT_IDS, by_project, by_session, by_tag, by_topic_key, by_type, foremost,
    parse_project, projects_in,
};

/// A namespace of the derived space: the first byte of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Namespace {
    pub prefix: u8,
    pub name: &'static str,
}

/// All namespaces, by first byte. A key with another first byte is damage.
pub const NAMESPACES: [Namespace; 23] = [
    Namespace { prefix: b'A', name: "attest" },
    Namespace { prefix: b'C', name: "checkpoint" },
    Namespace { prefix: b'F', name: "forgotten past" },
    Namespace { prefix: b'G', name: "grant" },
    Namespace { prefix: b'I', name: "idempotency" },
    Namespace { prefix: b'J', name: "clock jump" },
    Namespace { prefix: b'N', name: "snapshot" },
    Namespace { prefix: b'P', name: "prompt" },
    Namespace { prefix: b'R', name: "run" },
    Namespace { prefix: b'S', name: "session" },
    Namespace { prefix: b'T', name: "tree page kept for a snapshot" },
    Namespace { prefix: b'V', name: "revoked grant" },
    Namespace { prefix: b'W', name: "weights" },
    Namespace { prefix: b'X', name: "counters" },
    Namespace { prefix: b'Z', name: "erased body" },
    Namespace { prefix: b'e', name: "memories by session" },
    Namespace { prefix: b'f', name: "foremost memories" },
    Namespace { prefix: b'i', name: "memories by type, tag and project" },
    Namespace { prefix: b'k', name: "memories by topic key" },
    Namespace { prefix: b'l', name: "journal tree tile" },
    Namespace { prefix: b'm', name: "memory" },
    Namespace { prefix: b'n', name: "snapshot by root" },
    Namespace { prefix: b't', name: "state tree page" },
];

/// First bytes that layers above the kernel (recall) may use for what they derive.
pub const HOOK_PREFIXES: std::ops::RangeInclusive<u8> = 0x80..=0xfe;

pub fn namespace_of(key: &[u8]) -> Option<&'static str> {
    let first = *key.first()?;
    if HOOK_PREFIXES.contains(&first) {
        return Some("hook");
    }
    NAMESPACES.iter().find(|n| n.prefix == first).map(|n| n.name)
}

// ---- truth ----

const ENTRY: u8 = 0;
const BODY: u8 = 1;

pub fn entry(seq: u64) -> Vec<u8> {
    Key::new(b'j').u64(seq).u8(ENTRY).done()
}

/// The sealed body beside an entry.
pub fn body(seq: u64) -> Vec<u8> {
    Key::new(b'j').u64(seq).u8(BODY).done()
}

/// What a key of the truth space is: the entry or the body of a `seq`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruthKey {
    Entry(u64),
    Body(u64),
}

pub fn parse_truth(key: &[u8]) -> Option<TruthKey> {
    let (b'j', rest) = key.split_first().map(|(first, rest)| (*first, rest))? else {
        return None;
    };
    let (seq, tail) = rest.split_at_checked(8)?;
    let seq = u64::from_be_bytes(seq.try_into().ok()?);
    match tail {
        [ENTRY] => Some(TruthKey::Entry(seq)),
        [BODY] => Some(TruthKey::Body(seq)),
        _ => None,
    }
}

// ---- one memory ----

const HEAD: u8 = 0;
const USAGE: u8 = 1;
const VERSION: u8 = 2;
const KEPT_HEAD: u8 = 3;
const EDGE_OUT: u8 = 4;
const EDGE_IN: u8 = 5;

fn memory(id: MemoryId, part: u8) -> Key {
    Key::new(b'm').u64(id.get()).u8(part)
}

pub fn head(id: MemoryId) -> Vec<u8> {
    memory(id, HEAD).done()
}

pub fn usage(id: MemoryId) -> Vec<u8> {
    memory(id, USAGE).done()
}

pub fn version(id: MemoryId, n: u32) -> Vec<u8> {
    memory(id, VERSION).u32(n).done()
}

pub fn versions(id: MemoryId) -> Vec<u8> {
    memory(id, VERSION).done()
}

/// The head as it was at a snapshot, kept when it changes afterwards.
pub fn kept_head(id: MemoryId, snapshot: u64) -> Vec<u8> {
    memory(id, KEPT_HEAD).u64(snapshot).done()
}

pub fn kept_heads(id: MemoryId) -> Vec<u8> {
    memory(id, KEPT_HEAD).done()
}

pub fn edge_out(src: MemoryId, relation: Relation, dst: MemoryId) -> Vec<u8> {
    memory(src, EDGE_OUT).u8(relation.code()).u64(dst.get()).done()
}

pub fn edges_out(src: MemoryId) -> Vec<u8> {
    memory(src, EDGE_OUT).done()
}

/// The other end of an edge: names it, holds nothing.
pub fn edge_in(dst: MemoryId, relation: Relation, src: MemoryId) -> Vec<u8> {
    memory(dst, EDGE_IN).u8(relation.code()).u64(src.get()).done()
}

pub fn edges_in(dst: MemoryId) -> Vec<u8> {
    memory(dst, EDGE_IN).done()
}

/// Relation and far end of an edge key, outgoing or incoming.
pub fn parse_edge(key: &[u8]) -> Option<(Relation, MemoryId)> {
    let tail = key.get(10..19)?;
    let relation = Relation::from_code(tail[0])?;
    Some((relation, MemoryId::new(u64::from_be_bytes(tail[1..].try_into().ok()?))?))
}

/// The number at the end of a key: the id of an index row, the `seq` of a listing.
pub fn trailing_u64(key: &[u8]) -> Option<u64> {
    let tail = key.get(key.len().checked_sub(8)?..)?;
    Some(u64::from_be_bytes(tail.try_into().ok()?))
}

pub fn trailing_id(key: &[u8]) -> Option<MemoryId> {
    trailing_u64(key).and_then(MemoryId::new)
}

// ---- the rest ----

pub fn session(id: &str) -> Vec<u8> {
    Key::new(b'S').text(id).done()
}

pub fn sessions() -> Vec<u8> {
    vec![b'S']
}

/// Says that the clock was set back before an entry.
pub fn clock_jump(seq: u64) -> Vec<u8> {
    Key::new(b'J').u64(seq).done()
}

pub fn clock_jumps() -> Vec<u8> {
    vec![b'J']
}

pub fn prompt(seq: u64) -> Vec<u8> {
    Key::new(b'P').u64(seq).done()
}

pub fn prompts() -> Vec<u8> {
    vec![b'P']
}

pub fn idempotency(key: &str) -> Vec<u8> {
    Key::new(b'I').text(key).done()
}

/// Attestations of one intent, by `seq`.
pub fn attests(intent: &str) -> Vec<u8> {
    Key::new(b'A').text(intent).done()
}

pub fn attest(intent: &str, seq: u64) -> Vec<u8> {
    Key::new(b'A').text(intent).u64(seq).done()
}

/// Says that the body beside an entry that wrote no memory was erased.
pub fn erased_body(seq: u64) -> Vec<u8> {
    Key::new(b'Z').u64(seq).done()
}

/// The latest compaction of a step.
pub fn checkpoint(intent: &str, step: &str) -> Vec<u8> {
    Key::new(b'C').text(intent).text(step).done()
}

/// Entries that belong to a background run, by `seq`.
pub fn run_entries(run: &str) -> Vec<u8> {
    Key::new(b'R').text(run).done()
}

pub fn run_entry(run: &str, seq: u64) -> Vec<u8> {
    Key::new(b'R').text(run).u64(seq).done()
}

pub fn grant(id: Digest) -> Vec<u8> {
    Key::new(b'G').bytes(&id.0).done()
}

pub fn grants() -> Vec<u8> {
    vec![b'G']
}

/// A tombstone of the past: its subject, and the entry that made it.
pub fn past_tombstone(subject: Digest, seq: u64) -> Vec<u8> {
    Key::new(b'F').bytes(&subject.0).u64(seq).done()
}

/// All tombstones of a subject.
pub fn past_tombstones_of(subject: Digest) -> Vec<u8> {
    Key::new(b'F').bytes(&subject.0).done()
}

/// All tombstones of the past.
pub fn past_tombstones() -> Vec<u8> {
    Key::new(b'F').done()
}

/// Revocation of a grant, journaled here or made offline by attenuation.
pub fn revoked(id: Digest) -> Vec<u8> {
    Key::new(b'V').bytes(&id.0).done()
}

pub fn snapshot(number: u64) -> Vec<u8> {
    Key::new(b'N').u64(number).done()
}

pub fn snapshots() -> Vec<u8> {
    vec![b'N']
}

pub fn snapshot_by_root(root: Digest) -> Vec<u8> {
    Key::new(b'n').bytes(&root.0).done()
}

pub fn weights() -> Vec<u8> {
    vec![b'W']
}

pub fn counters() -> Vec<u8> {
    vec![b'X']
}

/// The first key after all keys that start with `prefix`; `None` if there is no such key.
pub fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return Some(end);
        }
    }
    None
}

/// Builds one key; parts only append.
struct Key(Vec<u8>);

impl Key {
    fn new(prefix: u8) -> Key {
        let mut bytes = Vec::with_capacity(40);
        bytes.push(prefix);
        Key(bytes)
    }

    fn u8(mut self, n: u8) -> Key {
        self.0.push(n);
        self
    }

    fn u32(self, n: u32) -> Key {
        self.bytes(&n.to_be_bytes())
    }

    fn u64(self, n: u64) -> Key {
        self.bytes(&n.to_be_bytes())
    }

    fn bytes(mut self, bytes: &[u8]) -> Key {
        self.0.extend_from_slice(bytes);
        self
    }

    /// What is written has at most `NAME_BYTES_MAX` bytes here. Anybody may ask for a longer name: its key says a
    /// length that no other has, so that nothing is found there.
    fn text(self, text: &str) -> Key {
        self.u8(u8::try_from(text.len()).unwrap_or(u8::MAX)).bytes(text.as_bytes())
    }

    fn done(self) -> Vec<u8> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::NAME_BYTES_MAX;
    use proof::memory::{MemoryType, Scope};
    use proptest::prelude::*;

    fn id(n: u64) -> MemoryId {
        MemoryId::new(n).unwrap()
    }

    proptest! {
        // kernel 63
        #[test]
        fn byte_order_is_numeric_order(a in any::<u64>(), b in any::<u64>()) {
            prop_assert_eq!(entry(a).cmp(&entry(b)), a.cmp(&b));
            prop_assert_eq!(snapshot(a).cmp(&snapshot(b)), a.cmp(&b));
        }

        // kernel 28
        #[test]
        fn truth_and_index_keys_read_back(seq in any::<u64>(), tag in "[a-z]{1,64}", n in 1u64..) {
            prop_assert_eq!(parse_truth(&entry(seq)), Some(TruthKey::Entry(seq)));
            prop_assert_eq!(parse_truth(&body(seq)), Some(TruthKey::Body(seq)));
            let row = by_session(&tag).row(n);
            prop_assert!(row.starts_with(by_session(&tag).prefix().unwrap()));
            prop_assert_eq!(trailing_u64(&row), Some(n));
            prop_assert!(by_tag(&tag).prefix().is_none());
            let mut places = Places::default();
            places.insert(id(n));
            places.insert(id(n));
            let read = Places::decode(&places.encode()).unwrap();
            prop_assert_eq!(read.ids(n / SEGMENT_IDS).collect::<Vec<_>>(), vec![id(n)]);
            places.remove(id(n));
            prop_assert!(places.is_empty());
        }

        #[test]
        fn a_prefix_ends_where_the_next_begins(
            prefix in prop::collection::vec(any::<u8>(), 1..6),
            tail in prop::collection::vec(any::<u8>(), 0..4),
        ) {
            let mut key = prefix.clone();
            key.extend(tail);
            if let Some(end) = after_prefix(&prefix) {
                prop_assert!(key < end);
                prop_assert!(!end.starts_with(&prefix));
            } else {
                prop_assert!(prefix.iter().all(|b| *b == u8::MAX));
            }
        }
    }

    // kernel 63
    #[test]
    fn boundaries_keep_their_order() {
        let edges = [0, 1, 255, 256, (1 << 63) - 1, 1 << 63, u64::MAX];
        let keys: Vec<_> = edges.iter().map(|n| entry(*n)).collect();
        assert!(keys.is_sorted());
    }

    // kernel 28
    #[test]
    fn edge_keys_read_back_from_both_ends() {
        let out = edge_out(id(7), Relation::Supersedes, id(9));
        assert_eq!(parse_edge(&out), Some((Relation::Supersedes, id(9))));
        let back = edge_in(id(9), Relation::Supersedes, id(7));
        assert_eq!(parse_edge(&back), Some((Relation::Supersedes, id(7))));
        assert!(out.starts_with(&edges_out(id(7))) && back.starts_with(&edges_in(id(9))));
    }

    #[test]
    fn a_name_that_starts_another_name_is_another_index() {
        assert!(!by_session("ab").row(0).starts_with(by_session("a").prefix().unwrap()));
    }

    #[test]
    fn a_longer_name_than_any_is_a_key_that_nothing_has() {
        let longest = session(&"x".repeat(NAME_BYTES_MAX));
        for length in [256, 300, 5_000] {
            let asked = session(&"x".repeat(length));
            assert_ne!(asked[1], longest[1]);
            assert!(!longest.starts_with(&asked) && !asked.starts_with(&longest));
        }
    }

    #[test]
    fn malformed_index_rows_are_refused() {
        for bad in [&[][..], &[0], &[0, 1, 0, 1], &[0, 2, 0, 1], &[2, 0]] {
            assert_eq!(Places::decode(bad), None, "{bad:?}");
        }
    }

    // kernel 5
    #[test]
    fn every_key_belongs_to_a_registered_namespace() {
        let mut prefixes: Vec<_> = NAMESPACES.iter().map(|n| n.prefix).collect();
        prefixes.dedup();
        assert_eq!(prefixes.len(), NAMESPACES.len());
        let samples = [
            head(id(1)),
            by_type(MemoryType::Fact).row(1),
            by_tag("t").row(1),
            foremost().row(1),
            by_project("p").row(1),
            by_session("s").row(1),
            by_topic_key(None, Scope::Project, "k").row(1),
            session("s"),
            prompt(1),
            idempotency("i"),
            attest("i", 1),
            checkpoint("i", "s"),
            run_entry("r", 1),
            grant(Digest::ZERO),
            revoked(Digest::ZERO),
            snapshot(1),
            snapshot_by_root(Digest::ZERO),
            erased_body(1),
            weights(),
            counters(),
        ];
        for key in samples {
            assert!(namespace_of(&key).is_some(), "{key:?}");
        }
        assert_eq!(namespace_of(b"?"), None);
    }
}
