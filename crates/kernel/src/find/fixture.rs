//! A small store for tests of the read side: rows are written as the apply function would write them.

use std::collections::BTreeMap;
use std::ops::Bound;

use proof::Digest;
use proof::codec;
use proof::memory::{
    Body, Edge, Fields, Head, MemoryId, MemoryType, Millis, Provenance, Relation, Salt, Scope,
    SealedBody, Tombstone, Usage, Version, Visibility,
};

use crate::error::Result;
use crate::find::{Predicate, Query};
use crate::grants::Gate;
use crate::keys;
use crate::state::Counters;
use crate::store::{KeyRange, Side, Space, StoreReader, View, Visit};

/// 2026-01-01, when everything in a fixture begins.
pub(crate) const T0: i64 = 1_767_225_600_000;
pub(crate) const DAY: i64 = 86_400_000;

pub(crate) fn id(n: u64) -> MemoryId {
    MemoryId::new(n).unwrap()
}

pub(crate) fn now() -> Millis {
    Millis(T0 + 100 * DAY)
}

#[derive(Default)]
pub(crate) struct Fixture {
    truth: BTreeMap<Vec<u8>, Vec<u8>>,
    derived: BTreeMap<Vec<u8>, Vec<u8>>,
    next: u64,
}

impl StoreReader for Fixture {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.space(space).get(key).cloned())
    }

    fn scan(&self, space: Space, range: &KeyRange, visit: &mut Visit<'_>) -> Result<()> {
        let to = range.to.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut rows = self.space(space).range::<Vec<u8>, _>((Bound::Included(&range.from), to));
        while let Some((key, value)) = if range.reverse { rows.next_back() } else { rows.next() } {
            if visit(key, value)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl Fixture {
    fn space(&self, space: Space) -> &BTreeMap<Vec<u8>, Vec<u8>> {
        if space == Space::Truth { &self.truth } else { &self.derived }
    }

    pub(crate) fn view(&self) -> View<'_> {
        View::new(self, Side::A)
    }

    /// Writes a memory; `change` sees head, version, usage and body before they are stored.
    pub(crate) fn add(
        &mut self,
        memory_type: MemoryType,
        title: &str,
        change: impl FnOnce(&mut Draft),
    ) -> MemoryId {
        self.next += 1;
        let created = Millis(T0 + i64::try_from(self.next).unwrap());
        let mut draft = Draft::new(id(self.next), memory_type, title, created);
        change(&mut draft);
        self.put(&draft);
        draft.head.id
    }

    /// A new version of a memory whose body is `title`, created at `created`.
    pub(crate) fn revise(
        &mut self,
        memory: MemoryId,
        title: &str,
        created: Millis,
        change: impl FnOnce(&mut Draft),
    ) {
        let view = self.view();
        let mut head = view.required_head(memory).unwrap();
        let usage = view.usage(memory).unwrap();
        self.next += 1;
        head.version += 1;
        head.updated = created;
        let mut draft = Draft::new(memory, head.memory_type, title, created);
        draft.version.n = head.version;
        draft.version.seq = self.next;
        draft.head = head;
        draft.usage = usage;
        change(&mut draft);
        self.put(&draft);
    }

    fn put(&mut self, draft: &Draft) {
        let Draft { head, version, usage, body } = draft;
        let memory = head.id;
        let mut version = version.clone();
        if let Some(body) = body {
            let sealed = SealedBody::new(Salt([7; 16]), body);
            version.body_hash = sealed.hash();
            self.truth.insert(keys::body(version.seq), codec::encode(&sealed));
        }
        let mut head = head.clone();
        head.version_hash = version.hash();
        let rows = &mut self.derived;
        rows.insert(keys::version(memory, version.n), codec::encode(&version));
        rows.insert(keys::usage(memory), codec::encode(usage));
        let mut index = |index: keys::Index| {
            let row = rows.entry(index.row(memory.get() / keys::SEGMENT_IDS)).or_default();
            let mut places = keys::Places::decode(row).unwrap_or_default();
            places.insert(memory);
            *row = places.encode();
        };
        index(keys::by_type(head.memory_type));
        head.tags.iter().for_each(|tag| index(keys::by_tag(tag)));
        if let Some(project) = &head.project {
            index(keys::by_project(project));
        }
        if let Some(session) = &head.session {
            index(keys::by_session(session));
        }
        if head.is_foremost() {
            index(keys::foremost());
        }
        if let Some(key) = &head.topic_key {
            index(keys::by_topic_key(head.project.as_deref(), head.scope, key));
        }
        rows.insert(keys::head(memory), codec::encode(&head));
        let size = self.next.max(memory.get());
        let counters = Counters { size, ..Counters::default() };
        self.derived.insert(keys::counters(), codec::encode(&counters));
    }

    pub(crate) fn link(&mut self, src: MemoryId, relation: Relation, dst: MemoryId) {
        self.next += 1;
        let at = Millis(T0 + i64::try_from(self.next).unwrap());
        let edge = Edge { src, relation, dst, weight: 500_000, by: "t".into(), at, seq: self.next };
        self.derived.insert(keys::edge_out(src, relation, dst), codec::encode(&edge));
        self.derived.insert(keys::edge_in(dst, relation, src), Vec::new());
        let (mut from, mut to) = {
            let view = self.view();
            (view.usage(src).unwrap(), view.usage(dst).unwrap())
        };
        from.edges_out += 1;
        to.edges_in += 1;
        to.superseded += u32::from(relation == Relation::Supersedes);
        if relation == Relation::Contradicts {
            from.contradicted += 1;
            to.contradicted += 1;
        }
        self.derived.insert(keys::usage(src), codec::encode(&from));
        self.derived.insert(keys::usage(dst), codec::encode(&to));
    }

    pub(crate) fn forget(&mut self, memory: MemoryId, at: Millis) {
        let mut head = self.view().required_head(memory).unwrap();
        head.tombstone = Some(Tombstone { reason: "obsolete".into(), by: "t".into(), at });
        head.updated = at;
        self.derived.insert(keys::head(memory), codec::encode(&head));
    }

    pub(crate) fn archive(&mut self, memory: MemoryId) {
        let mut head = self.view().required_head(memory).unwrap();
        head.archived = true;
        self.derived.insert(keys::head(memory), codec::encode(&head));
    }

    pub(crate) fn erase(&mut self, memory: MemoryId, at: Millis) {
        self.forget(memory, at);
        let view = self.view();
        let mut head = view.required_head(memory).unwrap();
        let seqs: Vec<u64> = view.versions(memory).unwrap().iter().map(|v| v.seq).collect();
        head.erased = true;
        for seq in seqs {
            self.truth.remove(&keys::body(seq));
        }
        self.derived.insert(keys::head(memory), codec::encode(&head));
    }
}

pub(crate) struct Draft {
    pub(crate) head: Head,
    pub(crate) version: Version,
    pub(crate) usage: Usage,
    pub(crate) body: Option<Body>,
}

impl Draft {
    pub(crate) fn new(id: MemoryId, memory_type: MemoryType, title: &str, at: Millis) -> Draft {
        let body = Body {
            title: title.into(),
            content: String::new(),
            fields: Fields::empty(memory_type),
        };
        let head = Head {
            id,
            memory_type,
            kind: memory_type.default_kind().into(),
            version: 1,
            version_hash: Digest::ZERO,
            project: None,
            scope: Scope::Project,
            visibility: Visibility::Scoped,
            pinned: false,
            archived: false,
            tombstone: None,
            erased: false,
            tags: Vec::new(),
            topic_key: None,
            session: None,
            channel: None,
            importance: memory_type.base_importance(),
            duplicates: 0,
            created: at,
            updated: at,
            seq: id.get(),
        };
        let version = Version {
            id,
            n: 1,
            body_hash: Digest::ZERO,
            created: at,
            by: "ada".into(),
            provenance: Provenance::user(),
            confidence: 1_000_000,
            valid_from: None,
            valid_until: None,
            expires: None,
            seq: id.get(),
        };
        Draft { head, version, usage: Usage::default(), body: Some(body) }
    }

    pub(crate) fn tags(&mut self, tags: &[&str]) {
        self.head.tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        self.head.tags.sort();
    }

    pub(crate) fn fields(&mut self, fields: Fields) {
        self.body.as_mut().unwrap().fields = fields;
    }

    pub(crate) fn content(&mut self, content: &str) {
        self.body.as_mut().unwrap().content = content.into();
    }
}

/// Sees everything that is not private.
pub(crate) struct NotPrivate;

impl Gate for NotPrivate {
    fn sees(&self, head: &Head) -> bool {
        head.visibility != Visibility::Private
    }
}

/// A find by filter alone.
pub(crate) fn filtered(filter: Predicate, limit: u32) -> Query {
    Query { filter: Some(filter), limit: Some(limit), ..Query::default() }
}
