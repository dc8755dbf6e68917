//! A store with memories inside and outside a slice, a grant on the slice, and requests signed by its delegate.

use std::sync::atomic::{AtomicU64, Ordering};

use kernel::command::{Command, Draft, GrantDraft};
use kernel::grants::{
    Authority, DelegateRequest, Grant, Permission, Presentation, Selector, SignedGrant,
    SignedRequest,
};
use kernel::journal::Manifest;
use kernel::memory::{MemoryType, Visibility};
use kernel::{Cortex, Digest, Error, Result};
use testkit::Disk;
use testkit::build::{at, body, open, run, salt, stamp};

use super::{grant_at, key};

/// Memories: 1 and 2 facts of web tagged release, 3 a fact of ops, 4 a goal of web, 5 a private fact of web, 6 public.
pub(crate) fn world() -> (Cortex, Manifest) {
    let cortex = open(&Disk::new());
    for n in 1..=6 {
        cortex.write(stamp(1), world_draft(n)).unwrap();
    }
    let manifest = cortex.snapshot(stamp(2), "for grants").unwrap();
    (cortex, manifest)
}

pub(crate) fn world_draft(n: u64) -> Draft {
    let memory_type = if n == 4 { MemoryType::Goal } else { MemoryType::Fact };
    let mut draft = Draft::new(body(memory_type, &format!("memory {n}"), "its content"), salt(n));
    draft.project = Some(if n == 3 || n == 6 { "ops" } else { "web" }.into());
    draft.tags = if n <= 2 { vec!["release".into()] } else { vec!["other".into()] };
    draft.visibility = match n {
        5 => Visibility::Private,
        6 => Visibility::Public,
        _ => Visibility::Scoped,
    };
    draft
}

pub(crate) fn web() -> Selector {
    Selector { projects: vec!["web".into()], types: vec![MemoryType::Fact], ..Selector::default() }
}

/// A grant by key 1 for key 2 on the facts of web, allowing everything.
pub(crate) fn grant(manifest: &Manifest) -> Grant {
    Grant { operations: Permission::ALL.to_vec(), include: web(), ..grant_at(manifest, 2) }
}

pub(crate) fn issue(cortex: &Cortex, grant: Grant) -> SignedGrant {
    let signed = SignedGrant::sign(grant, &key(1)).unwrap();
    run(cortex, 3, Command::ScopeGrant(GrantDraft { grant: signed.to_bytes() })).unwrap();
    signed
}

static NONCE: AtomicU64 = AtomicU64::new(1);

pub(crate) fn asked() -> Digest {
    Digest::of("test", &[b"what is asked"])
}

/// A request at second `n` by the holder of key `signer`, with a nonce never used before.
pub(crate) fn present(
    chain: &[SignedGrant],
    signer: u8,
    operation: Permission,
    n: i64,
) -> Presentation {
    let mut nonce = [0; 16];
    nonce[..8].copy_from_slice(&NONCE.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    let grant = chain.last().unwrap().id();
    let request = DelegateRequest { grant, operation, digest: asked(), at: at(n), nonce };
    Presentation { chain: chain.to_vec(), request: SignedRequest::sign(request, &key(signer)) }
}

pub(crate) fn may(cortex: &Cortex, chain: &[SignedGrant], operation: Permission) -> Authority {
    let presented = present(chain, 2, operation, 4);
    cortex.authorize(&presented, operation, asked(), at(4)).unwrap()
}

pub(crate) fn refusal(cortex: &Cortex, presented: &Presentation, n: i64) -> String {
    let operation = presented.request.request().operation;
    match cortex.authorize(presented, operation, asked(), at(n)) {
        Err(Error::GrantRefused(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn submit(
    cortex: &Cortex,
    authority: &Authority,
    command: Command,
) -> Result<kernel::command::Receipt> {
    let stamp = kernel::command::Stamp::new(at(4), &authority.audience_name);
    cortex.submit(kernel::Submission { stamp, command, authority: Some(authority.clone()) })
}
