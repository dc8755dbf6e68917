//! Keys, grants, heads and a store of grants for the tests of this module.

use ed25519_dalek::SigningKey;
use proof::Digest;
use proof::codec;
use proof::journal::SCHEMA;
use proof::memory::{Head, MemoryId, MemoryType, Millis, Scope, Visibility};

use super::{
    Authority, DelegateRequest, Grant, GrantState, Permission, Presentation, PublicKey, Selector,
    SignedGrant, SignedRequest,
};
use crate::error::Result;
use crate::keys;
use crate::store::{KeyRange, Side, Space, StoreReader, View, Visit, WriteSet};

pub(super) const NOW: Millis = Millis(1_790_000_000_000);
pub(super) const DAY: i64 = 86_400_000;

pub(super) fn key(n: u8) -> SigningKey {
    SigningKey::from_bytes(&[n; 32])
}

pub(super) fn public(n: u8) -> PublicKey {
    key(n).verifying_key().to_bytes()
}

pub(super) fn id(n: u64) -> MemoryId {
    MemoryId::new(n).unwrap()
}

/// A scoped fact.
pub(super) fn head(n: u64) -> Head {
    Head {
        id: id(n),
        memory_type: MemoryType::Fact,
        kind: "manual".into(),
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
        importance: 600_000,
        duplicates: 0,
        created: NOW,
        updated: NOW,
        seq: n,
    }
}

/// Key 1 lets key 2 work on facts for a day.
pub(super) fn grant() -> Grant {
    Grant {
        schema: SCHEMA,
        actor: "default".into(),
        issuer: public(1),
        audience: public(2),
        audience_name: "helper".into(),
        operations: vec![Permission::Read, Permission::Find, Permission::Write, Permission::Update],
        include: Selector { types: vec![MemoryType::Fact], ..Selector::default() },
        exclude: None,
        issued: NOW,
        expires: Millis(NOW.get() + DAY),
        use_limit: None,
        budget_tokens: None,
        parent: None,
        nonce: [7; 16],
        root: Digest::of("test", &[b"root"]),
        size: 100,
    }
}

/// The same rights handed on to key `audience`.
pub(super) fn child_of(parent: &Grant, audience: u8) -> Grant {
    Grant {
        issuer: parent.audience,
        audience: public(audience),
        audience_name: format!("helper {audience}"),
        parent: Some(parent.id()),
        ..parent.clone()
    }
}

pub(super) fn asked() -> Digest {
    Digest::of("test", &[b"request"])
}

/// A request by the last delegate of a chain whose link `n` is for key `n + 2`.
pub(super) fn present(chain: Vec<SignedGrant>, operation: Permission) -> Presentation {
    let caller = key(u8::try_from(chain.len() + 1).unwrap());
    let grant = chain.last().map_or(Digest::ZERO, SignedGrant::id);
    let request = DelegateRequest { grant, operation, digest: asked(), at: NOW, nonce: [9; 16] };
    Presentation { chain, request: SignedRequest::sign(request, &caller) }
}

pub(super) fn authority(operation: Permission) -> Authority {
    Authority {
        grant: Digest::ZERO,
        root_grant: Digest::ZERO,
        audience_name: "helper".into(),
        operation,
        operations: Permission::ALL.to_vec(),
        includes: vec![grant().include],
        excludes: Vec::new(),
        budget_tokens: None,
        counts_uses: false,
        root: Digest::ZERO,
        size: 100,
    }
}

struct Nothing;

impl StoreReader for Nothing {
    fn get(&self, _: Space, _: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn scan(&self, _: Space, _: &KeyRange, _: &mut Visit<'_>) -> Result<()> {
        Ok(())
    }
}

/// Rows of a store that holds nothing else.
#[derive(Default)]
pub(super) struct Rows(WriteSet);

impl Rows {
    pub(super) fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.0.put(Space::Derived(Side::A), key, value);
    }

    pub(super) fn journal(&mut self, grant: &SignedGrant, uses: u32) {
        let state = GrantState::new(grant.to_bytes(), 101).used(uses);
        self.put(keys::grant(grant.id()), codec::encode(&state));
    }

    pub(super) fn revoke(&mut self, grant: Digest) {
        self.put(keys::revoked(grant), vec![1]);
    }

    pub(super) fn view(&self) -> View<'_> {
        View::staged(&Nothing, Side::A, &self.0)
    }
}
