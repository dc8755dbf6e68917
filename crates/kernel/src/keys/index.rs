//! Indexes: the ids of memories that share something.

use proof::memory::{MemoryId, MemoryType, Scope};

use super::Key;

/// Ids per segment of an index. One row holds the ids of one name in one segment, so the rows of the newest segment
/// fill only a page or two, which all writes of a commit share, and a scan reads few rows.
pub const SEGMENT_IDS: u64 = 512;

/// An index: a name, and for each segment a row that lists the ids in it.
///
/// The names of new memories are scattered (types, tags, projects), so their rows lie together by when the memory was
/// made: `i | segment | name`. Names that are looked up alone, at every save or for every context, lie by name: `name |
/// segment`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Index {
    name: Vec<u8>,
    segment_first: bool,
}

impl Index {
    fn by_segment(name: Key) -> Index {
        Index { name: name.done(), segment_first: true }
    }

    fn by_name(name: Key) -> Index {
        Index { name: name.done(), segment_first: false }
    }

    /// What all rows start with, if they lie together.
    pub fn prefix(&self) -> Option<&[u8]> {
        (!self.segment_first).then_some(&self.name)
    }

    /// The key of a segment's row.
    pub fn row(&self, segment: u64) -> Vec<u8> {
        if self.segment_first {
            Key::new(b'i').u64(segment).bytes(&self.name).done()
        } else {
            [self.name.as_slice(), &segment.to_be_bytes()].concat()
        }
    }
}

/// The ids of one index row: ascending places inside the segment, two bytes each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places(Vec<u16>);

impl Places {
    pub fn decode(bytes: &[u8]) -> Option<Places> {
        let (pairs, rest) = bytes.as_chunks::<2>();
        let places: Vec<u16> = pairs.iter().map(|pair| u16::from_be_bytes(*pair)).collect();
        let ascending = places.is_sorted_by(|a, b| a < b);
        let inside = places.last().is_some_and(|last| u64::from(*last) < SEGMENT_IDS);
        (rest.is_empty() && ascending && inside).then_some(Places(places))
    }

    pub fn encode(&self) -> Vec<u8> {
        self.0.iter().flat_map(|place| place.to_be_bytes()).collect()
    }

    pub fn insert(&mut self, id: MemoryId) {
        let place = place(id);
        if let Err(at) = self.0.binary_search(&place) {
            self.0.insert(at, place);
        }
    }

    pub fn remove(&mut self, id: MemoryId) {
        let place = place(id);
        self.0.retain(|kept| *kept != place);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The ids, ascending.
    pub fn ids(&self, segment: u64) -> impl DoubleEndedIterator<Item = MemoryId> + '_ {
        let first = segment.saturating_mul(SEGMENT_IDS);
        self.0.iter().filter_map(move |place| MemoryId::new(first.checked_add((*place).into())?))
    }
}

fn place(id: MemoryId) -> u16 {
    u16::try_from(id.get() % SEGMENT_IDS).expect("a segment has fewer ids than a u16 counts")
}

pub fn by_type(memory_type: MemoryType) -> Index {
    Index::by_segment(Key::new(b'y').u8(memory_type.code()))
}

pub fn by_tag(tag: &str) -> Index {
    Index::by_segment(Key::new(b'g').text(tag))
}

pub fn by_project(project: &str) -> Index {
    Index::by_segment(Key::new(b'p').text(project))
}

/// What the project rows of a segment start with.
pub fn projects_in(segment: u64) -> Vec<u8> {
    Key::new(b'i').u64(segment).u8(b'p').done()
}

/// The project whose row this is.
pub fn parse_project(key: &[u8]) -> Option<&str> {
    let text = key.strip_prefix(b"i")?.get(8..)?.strip_prefix(b"p")?;
    let (length, text) = text.split_first()?;
    (text.len() == usize::from(*length)).then(|| std::str::from_utf8(text).ok())?
}

/// Memories that a context looks at before all others: pinned ones, and all of the types that can bind or name
/// somebody.
pub fn foremost() -> Index {
    Index::by_name(Key::new(b'f'))
}

pub fn by_session(session: &str) -> Index {
    Index::by_name(Key::new(b'e').text(session))
}

pub fn by_topic_key(project: Option<&str>, scope: Scope, topic_key: &str) -> Index {
    let name = Key::new(b'k').text(project.unwrap_or("")).u8(scope as u8).text(topic_key);
    Index::by_name(name)
}
