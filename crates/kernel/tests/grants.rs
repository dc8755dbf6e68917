//! Goal: a grant counts only as the owner made it, for whom it was made, as long and as often as it says.
//! Method: real keys and signed requests; each way to use a grant that is not one's own, or no longer good, is tried.

#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Barrier;

use kernel::actor::ActorName;
use kernel::command::{Command, GrantDraft, Revocation};
use kernel::grants::{Grant, Permission, Presentation, Selector, SignedGrant};
use kernel::journal::SCHEMA;
use kernel::memory::Millis;
use kernel::{Cortex, Digest, Options};
use support::delegate::{asked, grant, issue, present, refusal, web, world};
use support::{key, public};
use testkit::Disk;
use testkit::build::{assert_refused, at, id, run, size};

// kernel 59
#[test]
fn expired_revoked_foreign_and_stolen_grants_are_refused() {
    let (cortex, manifest) = world();
    let chain = [issue(&cortex, grant(&manifest))];
    let read = |signer, n| present(&chain, signer, Permission::Read, n);
    let over = 2 + support::HOUR;
    assert!(refusal(&cortex, &read(2, over), over).contains("expired"));
    assert!(refusal(&cortex, &read(3, 4), 4).contains("not signed by the delegate"));
    assert!(refusal(&cortex, &read(2, 4), 100).contains("too far from now"));
    let first = read(2, 4);
    cortex.authorize(&first, Permission::Read, asked(), at(4)).unwrap();
    assert!(refusal(&cortex, &first, 4).contains("made before"));
    let wrong_lane = cortex.authorize(&read(2, 4), Permission::Find, asked(), at(4)).unwrap_err();
    assert_eq!(wrong_lane.code(), "grant_refused");
    let other = Digest::of("test", &[b"something else"]);
    let swapped = cortex.authorize(&read(2, 4), Permission::Read, other, at(4)).unwrap_err();
    assert_eq!(swapped.code(), "grant_refused");

    let fake = SignedGrant::sign(Grant { nonce: [8; 16], ..grant(&manifest) }, &key(1)).unwrap();
    let unknown = present(&[fake], 2, Permission::Read, 4);
    assert!(refusal(&cortex, &unknown, 4).contains("not in the journal"));
    let bytes = first.to_bytes();
    for at_byte in (0..bytes.len()).step_by(7) {
        let mut tampered = bytes.clone();
        tampered[at_byte] ^= 1;
        let outcome = Presentation::decode(&tampered)
            .and_then(|presented| cortex.authorize(&presented, Permission::Read, asked(), at(4)));
        assert!(outcome.is_err(), "byte {at_byte}");
    }
    let bob = ActorName::parse("bob").unwrap();
    let elsewhere = Cortex::open_on(Disk::new().medium(), &bob, Options::default()).unwrap();
    assert!(refusal(&elsewhere, &read(2, 4), 4).contains("another actor"));

    let revocation = Revocation { grant: chain[0].id(), reason: "done".into() };
    run(&cortex, 4, Command::ScopeRevoke(revocation.clone())).unwrap();
    assert!(!run(&cortex, 4, Command::ScopeRevoke(revocation)).unwrap().changed);
    assert!(refusal(&cortex, &read(2, 5), 5).contains("revoked"));
    cortex.rebuild(Box::new(|_, _| {})).unwrap();
    assert!(refusal(&cortex, &read(2, 5), 5).contains("revoked"), "after a rebuild too");
}

// kernel 59, 72
#[test]
fn only_a_grant_of_this_schema_on_a_kept_root_is_journaled() {
    let (cortex, manifest) = world();
    let good = grant(&manifest);
    for (what, bad) in [
        ("schema", Grant { schema: SCHEMA + 1, ..good.clone() }),
        ("actor", Grant { actor: "bob".into(), ..good.clone() }),
        ("root", Grant { root: Digest([1; 32]), ..good.clone() }),
        ("size", Grant { size: manifest.size + 1, ..good.clone() }),
        ("parent", Grant { parent: Some(Digest([1; 32])), ..good.clone() }),
        ("expired", Grant { issued: at(0), expires: at(1), ..good.clone() }),
    ] {
        let grant = SignedGrant::sign(bad, &key(1)).unwrap().to_bytes();
        let before = size(&cortex);
        let error = run(&cortex, 3, Command::ScopeGrant(GrantDraft { grant })).expect_err(what);
        assert_eq!((error.code(), size(&cortex)), ("grant_refused", before), "{what}: {error}");
    }
    let signed = issue(&cortex, good);
    let mut forged = signed.to_bytes();
    *forged.last_mut().unwrap() ^= 1;
    assert_refused(&cortex, "grant_refused", |c| {
        run(c, 3, Command::ScopeGrant(GrantDraft { grant: forged }))
    });
    let again = Command::ScopeGrant(GrantDraft { grant: signed.to_bytes() });
    assert!(!run(&cortex, 3, again).unwrap().changed);
}

// kernel 59
#[test]
fn of_two_requests_for_the_last_use_one_wins() {
    let (cortex, manifest) = world();
    // The limit is the owner's, then only that of a link made offline.
    for (nonce, owner, link) in [(11, Some(3), Some(3)), (12, None, Some(3))] {
        let parent = Grant { use_limit: owner, nonce: [nonce; 16], ..grant(&manifest) };
        let parent = issue(&cortex, parent);
        let child = Grant {
            issuer: public(2),
            audience: public(3),
            parent: Some(parent.id()),
            use_limit: link,
            ..parent.grant().clone()
        };
        let chain = [parent, SignedGrant::sign(child, &key(2)).unwrap()];
        let ask = || {
            let presented = present(&chain, 3, Permission::Read, 4);
            cortex.authorize(&presented, Permission::Read, asked(), at(4)).map(drop)
        };
        ask().unwrap();
        ask().unwrap();
        let start = Barrier::new(2);
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let race = || {
                scope.spawn(|| {
                    start.wait();
                    ask()
                })
            };
            [race(), race()].map(|thread| thread.join().unwrap()).into()
        });
        assert_eq!(outcomes.iter().filter(|o| o.is_ok()).count(), 1, "{outcomes:?}");
        assert_eq!(ask().unwrap_err().code(), "grant_refused");
        let state = cortex.read().unwrap().view().grant(chain[0].id()).unwrap().unwrap();
        assert_eq!(state.uses, 3);
    }
}

// kernel 59
#[test]
fn a_delegate_hands_on_less_and_never_more() {
    let (cortex, manifest) = world();
    let all = Permission::ALL;
    let operations = all.into_iter().filter(|o| *o != Permission::Attest).collect();
    let parent = issue(&cortex, Grant { operations, ..grant(&manifest) });
    let child = Grant {
        issuer: public(2),
        audience: public(3),
        audience_name: "helper's helper".into(),
        operations: vec![Permission::Read],
        include: Selector { ids: vec![id(1)], ..web() },
        parent: Some(parent.id()),
        ..parent.grant().clone()
    };
    let sign = |grant: Grant| SignedGrant::sign(grant, &key(2)).unwrap();
    let chain = [parent.clone(), sign(child.clone())];
    let presented = present(&chain, 3, Permission::Read, 4);
    let authority = cortex.authorize(&presented, Permission::Read, asked(), at(4)).unwrap();
    cortex.resolve_for(&authority, id(1), None, at(4)).unwrap();
    cortex.resolve_for(&authority, id(2), None, at(4)).unwrap_err();
    for wider in [
        Grant { operations: vec![Permission::Read, Permission::Attest], ..child.clone() },
        Grant {
            include: Selector { tags: vec!["x".into()], ..Selector::default() },
            ..child.clone()
        },
        Grant { expires: Millis(child.expires.get() + 1), ..child.clone() },
        Grant { root: Digest([1; 32]), ..child.clone() },
    ] {
        let presented = present(&[parent.clone(), sign(wider)], 3, Permission::Read, 4);
        assert!(refusal(&cortex, &presented, 4).contains("a link"));
    }
    // The delegate of the first link cannot use the second, and revoking the first ends both.
    assert!(refusal(&cortex, &present(&chain, 2, Permission::Read, 4), 4).contains("not signed"));
    let revocation = Revocation { grant: parent.id(), reason: "done".into() };
    run(&cortex, 4, Command::ScopeRevoke(revocation)).unwrap();
    assert!(refusal(&cortex, &present(&chain, 3, Permission::Read, 4), 4).contains("revoked"));
}
