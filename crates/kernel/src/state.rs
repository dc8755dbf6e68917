//! Typed reads of derived state and of the journal. A row that does not decode is damage, and the error says where.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use minicbor::{Decode, Encode};
use proof::Digest;
use proof::codec;
use proof::journal::Weights;
use proof::journal::{Entry, Manifest};
use proof::memory::{
    Body, Edge, Head, MemoryId, MemoryType, Millis, Prompt, Relation, SealedBody, Session, Usage,
    Version,
};

use crate::error::{Error, Result};
use crate::grants::GrantState;
use crate::keys::{self, Index, Places};
use crate::limits::{CLOCK_JUMPS_NAMED_MAX, PROJECTS_MAX};
use crate::store::{DamageNote, KeyRange, STORE_FILE, View};

/// Totals that are kept current with every entry, so that nobody has to count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Counters {
    /// Journal entries; the `seq` of the last one.
    #[n(0)]
    pub size: u64,
    /// Time of the last entry.
    #[n(1)]
    pub at: Millis,
    /// Memories neither forgotten nor erased, by type code from 1.
    #[n(2)]
    pub live_by_type: [u64; 9],
    /// Live memories that are archived.
    #[n(3)]
    pub archived: u64,
    #[n(4)]
    pub tombstoned: u64,
    /// Forgotten memories whose content is gone.
    #[n(5)]
    pub erased: u64,
    #[n(6)]
    pub edges: u64,
    #[n(7)]
    pub sessions: u64,
    #[n(8)]
    pub prompts: u64,
    #[n(9)]
    pub snapshot: Option<LastSnapshot>,
}

impl Counters {
    pub fn live(&self) -> u64 {
        self.live_by_type.iter().sum()
    }

    pub fn live_of(&self, memory_type: MemoryType) -> u64 {
        self.live_by_type[usize::from(memory_type.code()) - 1]
    }

    pub(crate) fn live_of_mut(&mut self, memory_type: MemoryType) -> &mut u64 {
        &mut self.live_by_type[usize::from(memory_type.code()) - 1]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct LastSnapshot {
    #[n(0)]
    pub number: u64,
    #[n(1)]
    pub seq: u64,
    #[n(2)]
    pub manifest: Digest,
}

/// The clock was set back between two entries: one of the two is not right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct ClockJump {
    /// Time of the entry before.
    #[n(0)]
    pub from: Millis,
    #[n(1)]
    pub to: Millis,
}

/// What an idempotency key stands for.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct IdempotencyRecord {
    #[n(0)]
    pub request: Digest,
    #[n(1)]
    pub seq: u64,
    #[n(2)]
    pub id: Option<MemoryId>,
    #[n(3)]
    pub version: Option<u32>,
    #[n(4)]
    pub at: Millis,
}

fn decode_at<T>(what: &'static str, key: &[u8], bytes: &[u8]) -> Result<T>
where
    T: for<'b> Decode<'b, ()>,
{
    codec::decode_derived(what, bytes)
        .map_err(|error| Error::corrupt(proof::digest::encode_hex(key), error.to_string()))
}

fn decode_places(key: &[u8], bytes: &[u8]) -> Result<Places> {
    Places::decode(bytes).ok_or_else(|| not_an_index_row(key))
}

fn not_an_index_row(key: &[u8]) -> Error {
    Error::corrupt(proof::digest::encode_hex(key), "not an index row")
}

impl View<'_> {
    fn record<T>(&self, what: &'static str, key: &[u8]) -> Result<Option<T>>
    where
        T: for<'b> Decode<'b, ()>,
    {
        let read = self.get(key)?.map(|bytes| decode_at(what, key, &bytes)).transpose();
        if let Err(Error::Corrupt { place, reason }) = &read {
            self.distrust(DamageNote::new(place, reason));
        }
        read
    }

    pub fn counters(&self) -> Result<Counters> {
        Ok(self.record("counters", &keys::counters())?.unwrap_or_default())
    }

    /// The last times the clock was set back, newest first, with the entry that came next.
    pub fn clock_jumps(&self) -> Result<Vec<(u64, ClockJump)>> {
        let mut jumps = Vec::new();
        self.scan(&KeyRange::prefix(&keys::clock_jumps()).reversed(), &mut |key, value| {
            if let Some(seq) = keys::trailing_u64(key) {
                jumps.push((seq, decode_at("clock jump", key, value)?));
            }
            Ok(if jumps.len() < CLOCK_JUMPS_NAMED_MAX {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            })
        })?;
        Ok(jumps)
    }

    pub fn weights(&self) -> Result<Weights> {
        Ok(self.record("weights", &keys::weights())?.unwrap_or_else(Weights::cold))
    }

    pub fn head(&self, id: MemoryId) -> Result<Option<Head>> {
        self.record("head", &keys::head(id))
    }

    pub fn required_head(&self, id: MemoryId) -> Result<Head> {
        self.head(id)?.ok_or_else(|| Error::not_found("memory", id))
    }

    /// The head as it was at a snapshot.
    pub fn head_at(&self, id: MemoryId, snapshot: u64, snapshot_seq: u64) -> Result<Option<Head>> {
        // Ids are journal numbers: a later one did not exist yet.
        if id.get() >= snapshot_seq {
            return Ok(None);
        }
        let mut range = KeyRange::prefix(&keys::kept_heads(id));
        range.from = keys::kept_head(id, snapshot);
        if let Some((key, bytes)) = self.first(&range)? {
            return decode_at("kept head", &key, &bytes).map(Some);
        }
        self.head(id)
    }

    pub fn usage(&self, id: MemoryId) -> Result<Usage> {
        Ok(self.record("usage", &keys::usage(id))?.unwrap_or_default())
    }

    pub fn version(&self, id: MemoryId, n: u32) -> Result<Option<Version>> {
        self.record("version", &keys::version(id, n))
    }

    pub fn required_version(&self, id: MemoryId, n: u32) -> Result<Version> {
        self.version(id, n)?.ok_or_else(|| Error::not_found("version", format!("{id}#{n}")))
    }

    /// All versions, oldest first.
    pub fn versions(&self, id: MemoryId) -> Result<Vec<Version>> {
        let mut versions = Vec::new();
        self.scan(&KeyRange::prefix(&keys::versions(id)), &mut |key, value| {
            versions.push(decode_at("version", key, value)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(versions)
    }

    pub fn edge(&self, src: MemoryId, relation: Relation, dst: MemoryId) -> Result<Option<Edge>> {
        self.record("edge", &keys::edge_out(src, relation, dst))
    }

    /// Outgoing edges by relation and target, at most `max`.
    pub fn edges_out(&self, src: MemoryId, max: usize) -> Result<Vec<Edge>> {
        let mut edges = Vec::new();
        self.scan(&KeyRange::prefix(&keys::edges_out(src)), &mut |key, value| {
            if edges.len() == max {
                return Ok(ControlFlow::Break(()));
            }
            edges.push(decode_at("edge", key, value)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(edges)
    }

    /// Incoming edges by relation and source, at most `max`.
    pub fn edges_in(&self, dst: MemoryId, max: usize) -> Result<Vec<Edge>> {
        let mut ends = Vec::new();
        self.scan(&KeyRange::prefix(&keys::edges_in(dst)), &mut |key, _| {
            if ends.len() == max {
                return Ok(ControlFlow::Break(()));
            }
            ends.push(keys::parse_edge(key).ok_or_else(|| {
                Error::corrupt(proof::digest::encode_hex(key), "not an edge key")
            })?);
            Ok(ControlFlow::Continue(()))
        })?;
        ends.into_iter()
            .map(|(relation, src)| {
                self.edge(src, relation, dst)?.ok_or_else(|| {
                    Error::corrupt(format!("edge {src} -> {dst}"), "only its far end is stored")
                })
            })
            .collect()
    }

    pub fn session(&self, id: &str) -> Result<Option<Session>> {
        self.record("session", &keys::session(id))
    }

    pub fn prompt(&self, seq: u64) -> Result<Option<Prompt>> {
        self.record("prompt", &keys::prompt(seq))
    }

    pub fn grant(&self, id: Digest) -> Result<Option<GrantState>> {
        self.record("grant", &keys::grant(id))
    }

    /// The entries that made the tombstones of a subject of the past.
    pub fn past_tombstones_of(&self, subject: Digest) -> Result<Vec<u64>> {
        self.past_tombstones_in(&keys::past_tombstones_of(subject))
    }

    /// The entries that made every tombstone of the past that still holds.
    pub fn past_tombstones(&self) -> Result<Vec<u64>> {
        self.past_tombstones_in(&keys::past_tombstones())
    }

    fn past_tombstones_in(&self, prefix: &[u8]) -> Result<Vec<u64>> {
        let mut seqs = Vec::new();
        self.scan(&KeyRange::prefix(prefix), &mut |key, _| {
            seqs.extend(keys::trailing_u64(key));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(seqs)
    }

    pub fn is_revoked(&self, grant: Digest) -> Result<bool> {
        Ok(self.get(&keys::revoked(grant))?.is_some())
    }

    pub fn idempotency(&self, key: &str) -> Result<Option<IdempotencyRecord>> {
        self.record("idempotency record", &keys::idempotency(key))
    }

    pub fn snapshot(&self, number: u64) -> Result<Option<Manifest>> {
        self.record("snapshot", &keys::snapshot(number))
    }

    pub fn snapshot_number_of(&self, root: Digest) -> Result<Option<u64>> {
        Ok(self.get(&keys::snapshot_by_root(root))?.and_then(|bytes| keys::trailing_u64(&bytes)))
    }

    /// The ids in one row of an index; none if there is no row.
    pub fn places(&self, key: &[u8]) -> Result<Places> {
        self.get(key)?.map_or_else(|| Ok(Places::default()), |bytes| decode_places(key, &bytes))
    }

    /// Ids of an index in order, those after `after` only, until the visitor stops.
    pub fn scan_index(
        &self,
        index: &Index,
        after: Option<u64>,
        descending: bool,
        visit: &mut dyn FnMut(MemoryId) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let size = self.counters()?.size;
        let (first, last) = match (after, descending) {
            (None, _) => (0, size),
            (Some(after), false) => (after.saturating_add(1), size),
            (Some(after), true) => (0, after.saturating_sub(1).min(size)),
        };
        let mut row = |segment: u64, places: &Places| -> Result<ControlFlow<()>> {
            let ids = places.ids(segment).filter(|id| (first..=last).contains(&id.get()));
            let mut ids: Box<dyn Iterator<Item = MemoryId>> =
                if descending { Box::new(ids.rev()) } else { Box::new(ids) };
            ids.try_fold(ControlFlow::Continue(()), |_, id| match visit(id) {
                Ok(ControlFlow::Continue(())) => Ok(ControlFlow::Continue(())),
                Ok(ControlFlow::Break(())) => Err(None),
                Err(error) => Err(Some(error)),
            })
            .or_else(|stop| stop.map_or(Ok(ControlFlow::Break(())), Err))
        };
        let segments = first / keys::SEGMENT_IDS..=last / keys::SEGMENT_IDS;
        if index.prefix().is_some() {
            let range = KeyRange {
                from: index.row(*segments.start()),
                to: Some([index.row(*segments.end()).as_slice(), &[0]].concat()),
                reverse: descending,
            };
            return self.scan(&range, &mut |key, value| {
                let segment = keys::trailing_u64(key).ok_or_else(|| not_an_index_row(key))?;
                row(segment, &decode_places(key, value)?)
            });
        }
        let mut numbers: Box<dyn Iterator<Item = u64>> =
            if descending { Box::new(segments.rev()) } else { Box::new(segments) };
        numbers
            .try_for_each(|segment| {
                let places = self.places(&index.row(segment)).map_err(Some)?;
                if row(segment, &places).map_err(Some)?.is_break() { Err(None) } else { Ok(()) }
            })
            .or_else(|stop: Option<Error>| stop.map_or(Ok(()), Err))
    }

    /// Projects that have a memory, put away or not, in the order of their names, and whether there are more than
    /// `PROJECTS_MAX`. Reads one short range per segment.
    pub fn projects(&self) -> Result<(BTreeSet<String>, bool)> {
        let mut names = BTreeSet::new();
        let mut capped = false;
        for segment in 0..=self.counters()?.size / keys::SEGMENT_IDS {
            self.scan(&KeyRange::prefix(&keys::projects_in(segment)), &mut |key, _| {
                let name = keys::parse_project(key).ok_or_else(|| not_an_index_row(key))?;
                if !names.contains(name) {
                    capped |= names.len() == PROJECTS_MAX;
                    if !capped {
                        names.insert(name.to_owned());
                    }
                }
                Ok(if capped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })?;
        }
        Ok((names, capped))
    }

    /// The journal entry `seq`; `None` if it is damaged, which is noted.
    pub fn entry(&self, seq: u64) -> Result<Option<Entry>> {
        self.unless_damaged(self.sound_entry(seq))
    }

    fn sound_entry(&self, seq: u64) -> Result<Option<Entry>> {
        let decode = |bytes: Vec<u8>| {
            Entry::from_bytes(&bytes)
                .map_err(|error| Error::corrupt(format!("entry {seq}"), error.to_string()))
        };
        self.get_truth(&keys::entry(seq))?.map(decode).transpose()
    }

    pub fn entry_bytes(&self, seq: u64) -> Result<Option<Vec<u8>>> {
        self.get_truth(&keys::entry(seq))
    }

    /// The sealed body beside entry `seq`; `None` after erasure, or if it is damaged, which is noted.
    pub fn sealed(&self, seq: u64) -> Result<Option<SealedBody>> {
        self.unless_damaged(self.sound_sealed(seq))
    }

    fn sound_sealed(&self, seq: u64) -> Result<Option<SealedBody>> {
        let decode = |bytes: Vec<u8>| {
            SealedBody::from_bytes(&bytes)
                .map_err(|error| Error::corrupt(format!("body {seq}"), error.to_string()))
        };
        self.get_truth(&keys::body(seq))?.map(decode).transpose()
    }

    /// One bad record costs that record: whoever reads goes on without it, and it is named. That the derived store does
    /// not say where it lies is no damage of the record.
    fn unless_damaged<T>(&self, read: Result<Option<T>>) -> Result<Option<T>> {
        match read {
            Err(Error::Corrupt { place, reason }) if place != STORE_FILE => {
                self.note_damage(DamageNote { place, reason });
                Ok(None)
            }
            other => other,
        }
    }

    /// True if the body that lay beside entry `seq` was erased; `memory` is the one the entry is about, if any.
    pub fn is_body_erased(&self, seq: u64, memory: Option<MemoryId>) -> Result<bool> {
        let with_memory = match memory {
            Some(id) => self.head(id)?.is_some_and(|head| head.erased),
            None => false,
        };
        Ok(with_memory || self.get(&keys::erased_body(seq))?.is_some())
    }

    /// The body of a version, checked against its hash; `None` after erasure, or if it is damaged, which is noted.
    pub fn body(&self, version: &Version) -> Result<Option<Body>> {
        self.unless_damaged(self.sound_body(version))
    }

    /// The same for whoever asks for this one body: damage is an error.
    pub fn sound_body(&self, version: &Version) -> Result<Option<Body>> {
        let Some(sealed) = self.sound_sealed(version.seq)? else { return Ok(None) };
        let place = format!("body {}", version.seq);
        Ok(Some(sealed.open_checked(&place, version.body_hash)?))
    }

    /// The `seq` of the last journal entry, read from the journal itself.
    pub fn last_seq(&self) -> Result<u64> {
        let mut last = 0;
        self.scan_truth(&KeyRange::all().reversed(), &mut |key, _| {
            last = match keys::parse_truth(key) {
                Some(keys::TruthKey::Entry(seq) | keys::TruthKey::Body(seq)) => seq,
                None => return Err(Error::corrupt(proof::digest::encode_hex(key), "unknown key")),
            };
            Ok(ControlFlow::Break(()))
        })?;
        Ok(last)
    }
}
