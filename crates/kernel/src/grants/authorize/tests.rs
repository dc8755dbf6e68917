//! Every refusal of `authorize` and `check_issue`, each on its own.

use proof::codec;
use proof::journal::Manifest;

use super::*;
use crate::grants::fixture::{DAY, NOW, Rows, asked, child_of, grant, head, key, present, public};
use crate::grants::{DelegateRequest, Gate, GrantState, NonceGuard, Selector, SignedRequest};
use crate::keys;

fn actor() -> ActorName {
    ActorName::parse("default").unwrap()
}

fn root_link(change: impl FnOnce(&mut Grant)) -> SignedGrant {
    let mut grant = grant();
    change(&mut grant);
    SignedGrant::sign(grant, &key(1)).unwrap()
}

/// A chain of two: key 1 to key 2 to key 3.
fn two_links(change: impl FnOnce(&mut Grant)) -> Vec<SignedGrant> {
    let first = root_link(|_| ());
    let mut child = child_of(first.grant(), 3);
    change(&mut child);
    vec![first, SignedGrant::sign(child, &key(2)).unwrap()]
}

fn journaled(chain: &[SignedGrant]) -> Rows {
    let mut rows = Rows::default();
    rows.journal(&chain[0], 0);
    rows
}

fn ask_at(rows: &Rows, presented: &Presentation, now: Millis) -> Result<Authority> {
    let operation = presented.request.request().operation;
    authorize(&rows.view(), &actor(), presented, operation, asked(), now)
}

fn ask(rows: &Rows, presented: &Presentation) -> Result<Authority> {
    ask_at(rows, presented, NOW)
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(result: Result<T>, reason: &str) {
    match result {
        Err(Error::GrantRefused(text)) => assert!(text.contains(reason), "{text:?}"),
        other => panic!("expected a refusal ({reason}), got {other:?}"),
    }
}

fn request(chain: &[SignedGrant]) -> DelegateRequest {
    *present(chain.to_vec(), Permission::Find).request.request()
}

fn presented(chain: &[SignedGrant], signer: u8, request: DelegateRequest) -> Presentation {
    Presentation { chain: chain.to_vec(), request: SignedRequest::sign(request, &key(signer)) }
}

// kernel 58, 59
#[test]
fn a_good_grant_authorises_and_carries_its_root() {
    let chain = [root_link(|g| (g.use_limit, g.budget_tokens) = (Some(3), Some(500)))];
    let authority = ask(&journaled(&chain), &present(chain.to_vec(), Permission::Find)).unwrap();
    let grant = chain[0].grant();
    assert_eq!((authority.root, authority.size), (grant.root, grant.size));
    assert_eq!((authority.grant, authority.root_grant), (grant.id(), grant.id()));
    assert_eq!(authority.budget_tokens, Some(500));
    assert!(authority.counts_uses && authority.sees(&head(1)));
    assert_eq!(authority.audience_name, "helper");
}

#[test]
fn the_longest_chain_authorises_and_applies_every_link() {
    let mut chain = vec![root_link(|g| g.budget_tokens = Some(900))];
    for link in 1..GRANT_CHAIN_MAX {
        let n = u8::try_from(link).unwrap();
        let mut child = child_of(chain[link - 1].grant(), n + 2);
        child.budget_tokens = Some(900 - u32::from(n));
        child.include.tags = vec!["a".into()];
        child.exclude = Some(Selector { tags: vec!["x".into()], ..Selector::default() });
        chain.push(SignedGrant::sign(child, &key(n + 1)).unwrap());
    }
    let rows = journaled(&chain);
    let authority = ask(&rows, &present(chain.clone(), Permission::Find)).unwrap();
    assert_eq!(authority.root_grant, chain[0].id());
    assert_eq!(authority.grant, chain[GRANT_CHAIN_MAX - 1].id());
    assert_eq!(authority.budget_tokens, Some(893));
    assert_eq!((authority.includes.len(), authority.excludes.len()), (8, 7));
    let mut memory = head(1);
    assert!(!authority.sees(&memory));
    memory.tags = vec!["a".into()];
    assert!(authority.sees(&memory));

    let extra = child_of(chain[GRANT_CHAIN_MAX - 1].grant(), 10);
    chain.push(SignedGrant::sign(extra, &key(9)).unwrap());
    assert_refused(ask(&rows, &present(chain, Permission::Find)), "at most 8");
}

#[test]
fn no_grant_is_refused() {
    let request = request(&[root_link(|_| ())]);
    assert_refused(ask(&Rows::default(), &presented(&[], 2, request)), "no grant");
}

// kernel 72
#[test]
fn another_schema_is_refused() {
    let chain = [root_link(|g| g.schema = SCHEMA + 1)];
    let asked = present(chain.to_vec(), Permission::Find);
    assert_refused(ask(&journaled(&chain), &asked), "schema");
    let chain = two_links(|c| c.schema = SCHEMA + 1);
    assert_refused(ask(&journaled(&chain), &present(chain, Permission::Find)), "schema");
}

// kernel 59
#[test]
fn another_actor_is_refused() {
    let chain = [root_link(|g| g.actor = "other".into())];
    let asked = present(chain.to_vec(), Permission::Find);
    assert_refused(ask(&journaled(&chain), &asked), "another actor");
}

// kernel 59
#[test]
fn a_grant_that_is_not_journaled_is_refused() {
    let chain = vec![root_link(|_| ())];
    assert_refused(ask(&Rows::default(), &present(chain, Permission::Find)), "not in the journal");
}

#[test]
fn anyone_can_sign_a_grant_but_only_the_journaled_one_counts() {
    let rows = journaled(&[root_link(|_| ())]);
    let mut forged = grant();
    (forged.issuer, forged.audience) = (public(5), public(2));
    let chain = vec![SignedGrant::sign(forged, &key(5)).unwrap()];
    assert_refused(ask(&rows, &present(chain, Permission::Find)), "not in the journal");
}

#[test]
fn other_bytes_than_the_journaled_are_refused() {
    let chain = [root_link(|_| ())];
    let mut rows = Rows::default();
    let mut bytes = chain[0].to_bytes();
    *bytes.last_mut().unwrap() ^= 1;
    rows.put(keys::grant(chain[0].id()), codec::encode(&GrantState::new(bytes, 101)));
    assert_refused(ask(&rows, &present(chain.to_vec(), Permission::Find)), "differs");
}

#[test]
fn a_damaged_row_is_damage_and_not_a_refusal() {
    let chain = vec![root_link(|_| ())];
    let mut rows = Rows::default();
    rows.put(keys::grant(chain[0].id()), vec![0xff]);
    let result = ask(&rows, &present(chain, Permission::Find));
    assert!(matches!(result, Err(Error::Corrupt { .. })), "{result:?}");
}

#[test]
fn a_child_cannot_stand_first() {
    let chain = two_links(|_| ());
    let rows = journaled(&chain[1..]);
    let request = DelegateRequest { grant: chain[1].id(), ..request(&chain) };
    assert_refused(ask(&rows, &presented(&chain[1..], 3, request)), "the owner's");
}

// kernel 59
#[test]
fn a_revoked_link_kills_the_chain() {
    let chain = two_links(|_| ());
    ask(&journaled(&chain), &present(chain.clone(), Permission::Find)).unwrap();
    for revoked in &chain {
        let mut rows = journaled(&chain);
        rows.revoke(revoked.id());
        assert_refused(ask(&rows, &present(chain.clone(), Permission::Find)), "revoked");
    }
    let mut rows = journaled(&chain);
    rows.revoke(chain[1].id());
    ask(&rows, &present(chain[..1].to_vec(), Permission::Find)).unwrap();
}

// kernel 59
#[test]
fn a_link_with_a_wrong_signature_is_refused() {
    let mut chain = two_links(|_| ());
    let mut envelope = chain[1].envelope();
    envelope.signature[3] ^= 1;
    chain[1] = SignedGrant::open(&envelope).unwrap();
    assert_refused(ask(&journaled(&chain), &present(chain, Permission::Find)), "not signed");
    // The journal's own copy is checked as well.
    let mut envelope = root_link(|_| ()).envelope();
    envelope.signature[3] ^= 1;
    let chain = [SignedGrant::open(&envelope).unwrap()];
    let asked = present(chain.to_vec(), Permission::Find);
    assert_refused(ask(&journaled(&chain), &asked), "not signed");
}

// kernel 59
#[test]
fn a_link_that_adds_rights_is_refused() {
    let chain = two_links(|c| c.operations = Permission::ALL.to_vec());
    assert_refused(ask(&journaled(&chain), &present(chain, Permission::Find)), "adds an operation");
    // Signed by a stranger, naming the true parent.
    let first = root_link(|_| ());
    let mut stranger = child_of(first.grant(), 3);
    stranger.issuer = public(5);
    let chain = [first, SignedGrant::sign(stranger, &key(5)).unwrap()];
    let asked = present(chain.to_vec(), Permission::Find);
    assert_refused(ask(&journaled(&chain), &asked), "not issued by");
}

// kernel 59
#[test]
fn an_expired_grant_is_refused() {
    let chain = [root_link(|g| g.expires = Millis(g.issued.get() + 10))];
    let rows = journaled(&chain);
    let asked = present(chain.to_vec(), Permission::Find);
    ask_at(&rows, &asked, Millis(NOW.get() + 9)).unwrap();
    assert_refused(ask_at(&rows, &asked, Millis(NOW.get() + 10)), "expired");
    let chain = two_links(|c| c.expires = Millis(c.issued.get() + 10));
    let rows = journaled(&chain);
    let asked = present(chain, Permission::Find);
    assert_refused(ask_at(&rows, &asked, Millis(NOW.get() + 10)), "expired");
}

#[test]
fn a_grant_from_the_future_is_refused() {
    let chain = [root_link(|g| g.issued = Millis(NOW.get() + REQUEST_SKEW_MS_MAX + 1))];
    let asked = present(chain.to_vec(), Permission::Find);
    assert_refused(ask(&journaled(&chain), &asked), "future");
    let chain = [root_link(|g| g.issued = Millis(NOW.get() + REQUEST_SKEW_MS_MAX))];
    ask(&journaled(&chain), &present(chain.to_vec(), Permission::Find)).unwrap();
}

#[test]
fn a_grant_that_is_used_up_is_refused() {
    let chain = [root_link(|g| g.use_limit = Some(2))];
    let asked = present(chain.to_vec(), Permission::Find);
    let mut rows = Rows::default();
    rows.journal(&chain[0], 1);
    ask(&rows, &asked).unwrap();
    rows.journal(&chain[0], 2);
    assert_refused(ask(&rows, &asked), "used up");
    // A limit that only the child has counts the uses of the whole chain.
    let chain = two_links(|c| c.use_limit = Some(1));
    rows.journal(&chain[0], 1);
    assert_refused(ask(&rows, &present(chain, Permission::Find)), "used up");
}

#[test]
fn a_request_for_another_grant_is_refused() {
    let chain = two_links(|_| ());
    let request = DelegateRequest { grant: chain[0].id(), ..request(&chain) };
    assert_refused(ask(&journaled(&chain), &presented(&chain, 3, request)), "another grant");
}

// kernel 59
#[test]
fn a_stolen_grant_without_its_key_is_refused() {
    let chain = two_links(|_| ());
    for thief in [1, 2, 4] {
        let asked = presented(&chain, thief, request(&chain));
        assert_refused(ask(&journaled(&chain), &asked), "not signed by the delegate");
    }
}

#[test]
fn a_request_from_another_time_is_refused() {
    let chain = [root_link(|_| ())];
    let rows = journaled(&chain);
    for (offset, good) in [
        (REQUEST_SKEW_MS_MAX, true),
        (-REQUEST_SKEW_MS_MAX, true),
        (REQUEST_SKEW_MS_MAX + 1, false),
        (-REQUEST_SKEW_MS_MAX - 1, false),
        (i64::MIN, false),
        (i64::MAX, false),
    ] {
        let at = Millis(NOW.get().saturating_add(offset));
        let result = ask(&rows, &presented(&chain, 2, DelegateRequest { at, ..request(&chain) }));
        if good {
            result.unwrap();
        } else {
            assert_refused(result, "too far");
        }
    }
}

#[test]
fn a_request_signed_for_something_else_is_refused() {
    let chain = [root_link(|_| ())];
    let rows = journaled(&chain);
    let asked_for = present(chain.to_vec(), Permission::Find);
    let view = rows.view();
    let other = authorize(&view, &actor(), &asked_for, Permission::Read, asked(), NOW);
    assert_refused(other, "another operation");
    let other = authorize(&view, &actor(), &asked_for, Permission::Find, Digest::ZERO, NOW);
    assert_refused(other, "not what was signed");
}

// kernel 59
#[test]
fn an_operation_outside_the_grant_is_refused() {
    let chain = [root_link(|g| g.operations = vec![Permission::Read, Permission::Find])];
    let rows = journaled(&chain);
    for operation in Permission::ALL {
        let result = ask(&rows, &present(chain.to_vec(), operation));
        if matches!(operation, Permission::Read | Permission::Find) {
            result.unwrap();
        } else {
            assert_refused(result, "does not allow");
        }
    }
}

// kernel 59
#[test]
fn a_repeated_request_is_refused_by_the_guard() {
    let chain = [root_link(|_| ())];
    let asked = present(chain.to_vec(), Permission::Find);
    let mut guard = NonceGuard::default();
    ask(&journaled(&chain), &asked).unwrap();
    guard.check(&asked.request, NOW).unwrap();
    assert_refused(guard.check(&asked.request, NOW), "made before");
}

// kernel 59
#[test]
fn every_flipped_bit_of_a_presentation_is_refused() {
    let chain = two_links(|_| ());
    let rows = journaled(&chain);
    let bytes = present(chain, Permission::Find).to_bytes();
    for at in 0..bytes.len() {
        let mut bad = bytes.clone();
        bad[at] ^= 1 << (at % 8);
        let outcome = Presentation::decode(&bad).and_then(|presented| {
            authorize(&rows.view(), &actor(), &presented, Permission::Find, asked(), NOW)
        });
        assert!(outcome.is_err(), "byte {at}");
    }
}

fn issue(rows: &Rows, signed: &SignedGrant, now: Millis) -> Result<SignedGrant> {
    check_issue(&rows.view(), &actor(), &signed.to_bytes(), now)
}

#[test]
fn what_may_be_issued() {
    let mut rows = Rows::default();
    pin(&mut rows, grant().root, grant().size);
    let good = root_link(|_| ());
    assert_eq!(issue(&rows, &good, NOW).unwrap(), good);
    assert_refused(issue(&rows, &root_link(|g| g.actor = "other".into()), NOW), "actor");
    assert_refused(issue(&rows, &root_link(|g| g.schema += 1), NOW), "schema");
    assert_refused(issue(&rows, &two_links(|_| ())[1], NOW), "not journaled");
    assert_refused(issue(&rows, &good, Millis(NOW.get() + DAY)), "expired");
    assert_refused(issue(&rows, &good, Millis(NOW.get() - DAY)), "future");
    let mut envelope = good.envelope();
    envelope.signature[0] ^= 1;
    assert_refused(issue(&rows, &SignedGrant::open(&envelope).unwrap(), NOW), "not signed");
    rows.revoke(good.id());
    assert_refused(issue(&rows, &good, NOW), "revoked");
}

/// Puts a snapshot with this root and size into the state.
fn pin(rows: &mut Rows, root: Digest, size: u64) {
    let manifest = Manifest {
        schema: SCHEMA,
        actor: "default".into(),
        number: 1,
        size,
        journal_root: Digest::ZERO,
        heads_root: Digest::ZERO,
        edges_root: Digest::ZERO,
        root,
        previous: None,
        reason: "test".into(),
        live: 0,
        tombstoned: 0,
        edges: 0,
    };
    rows.put(keys::snapshot(1), codec::encode(&manifest));
    rows.put(keys::snapshot_by_root(root), 1u64.to_be_bytes().to_vec());
}

// kernel 59
#[test]
fn a_grant_is_pinned_to_a_snapshot() {
    let root = Digest::of("test", &[b"older"]);
    let older = root_link(|g| (g.root, g.size) = (root, 40));
    let mut rows = Rows::default();
    assert_refused(issue(&rows, &older, NOW), "not that of a snapshot");
    pin(&mut rows, root, 40);
    issue(&rows, &older, NOW).unwrap();
    let lying = root_link(|g| (g.root, g.size) = (root, 41));
    assert_refused(issue(&rows, &lying, NOW), "not that of a snapshot");
}

#[test]
fn uses_add_up_and_never_wrap() {
    let state = GrantState::new(root_link(|_| ()).to_bytes(), 5).used(2).used(3);
    assert_eq!((state.uses, state.seq), (5, 5));
    assert!(state.describe().unwrap().ends_with("used 5 times"));
    let full = GrantState { uses: u64::MAX, ..state };
    assert_eq!(full.used(1).uses, u64::MAX);
}
