//! Goal: the bytes of every hashed or stored format stay what they are, and each record has one encoding only.
//! Method: `golden/formats.txt` holds the bytes of one example each, made from a fixed history with fixed clock, salts
//! and keys. They are made again and compared, read back, and every other encoding of them is refused.
//!
//! A difference is a change of format. It needs a new `SCHEMA` and a migration; only then write the file anew with
//! `UPDATE_GOLDEN=1 cargo test -p cortex-kernel --test golden`.

#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kernel::Roots;
use kernel::codec;
use kernel::command::{Command, Draft};
use kernel::digest::encode_hex;
use kernel::find::{FieldValue, Predicate, Query};
use kernel::grants::{
    DelegateRequest, Grant, GrantState, Permission, Presentation, SignedGrant, SignedRequest,
};
use kernel::journal::Weights;
use kernel::journal::{Entry, EntryKind, Manifest, Payload, SCHEMA};
use kernel::keys;
use kernel::memory::{
    ArtifactRef, Body, Constraint, Decision, DecisionStatus, Edge, Event, Fact, Fields, Goal,
    GoalStatus, Head, Identity, MemoryType, Note, Outcome, Pattern, Polarity, Preference, Prompt,
    Relation, Scope, SealedBody, Session, Strength, Usage, Version,
};
use kernel::prove::{Subject, prove, prove_since, prove_slice};
use kernel::state::{Counters, IdempotencyRecord};
use kernel::{Digest, Result};
use minicbor::data::Type;
use minicbor::{Decode, Encode};
use proof::ProofFile;
use proof::merkle::{edge_key, head_key};
use support::{fill, grant_at, key};
use testkit::Disk;
use testkit::build::{ada, at, body, filtered, id, open, salt};

/// Reads bytes strictly and writes them again.
type Read = fn(&[u8]) -> Result<Vec<u8>>;

struct Example {
    name: String,
    bytes: Vec<u8>,
    /// Absent for what is never read back: keys and digests.
    read: Option<Read>,
}

fn record<T: Encode<()> + for<'b> Decode<'b, ()>>(name: &str, record: &T) -> Example {
    let read: Read = |bytes| Ok(codec::encode(&codec::decode::<T>("example", bytes)?));
    Example { name: name.into(), bytes: codec::encode(record), read: Some(read) }
}

fn read_entry(bytes: &[u8]) -> Result<Vec<u8>> {
    let entry = Entry::from_bytes(bytes)?;
    let payload = entry.payload()?.to_bytes();
    Ok(Entry { payload, ..entry }.to_bytes())
}

/// Every field of every type is set.
fn bodies() -> Vec<Body> {
    let some = |text: &str| Some(text.to_owned());
    let fields = [
        Fields::Identity(Identity {
            name: some("Ada"),
            aliases: vec!["the countess".into()],
            role: some("analyst"),
        }),
        Fields::Goal(Goal {
            status: GoalStatus::Paused,
            due: Some(at(1_000)),
            criteria: vec!["it runs".into()],
        }),
        Fields::Preference(Preference {
            topic: some("tabs"),
            polarity: Polarity::Avoid,
            strength: Some(750_000),
        }),
        Fields::Constraint(Constraint { strength: Strength::Hard, trigger: some("on deploy") }),
        Fields::Decision(Decision {
            rationale: some("simpler"),
            alternatives: vec!["two files".into()],
            status: DecisionStatus::Proposed,
        }),
        Fields::Fact(Fact {
            subject: some("the key"),
            predicate: some("rotates"),
            object: some("weekly"),
            as_of: Some(at(0)),
        }),
        Fields::Pattern(Pattern {
            strength: Some(500_000),
            coverage: Some(12),
            evidence: vec![id(2), id(300)],
        }),
        Fields::Event(Event {
            happened_at: Some(at(-5)),
            outcome: Some(Outcome::Partial),
            participants: vec!["ops".into()],
        }),
        Fields::ArtifactRef(ArtifactRef {
            uri: some("file:///a"),
            digest: some("sha256:00"),
            media_type: some("text/plain"),
            size: Some(1 << 40),
        }),
    ];
    let content = "Content with ä and \u{1f511}.".to_owned();
    fields
        .into_iter()
        .map(|fields| Body { title: "A title".into(), content: content.clone(), fields })
        .collect()
}

fn examples() -> Vec<Example> {
    let cortex = open(&Disk::new());
    fill(&cortex);
    let reading = cortex.read().unwrap();
    let view = reading.view();
    let mut all = Vec::new();
    let mut seen = BTreeMap::new();
    for seq in 1..=view.last_seq().unwrap() {
        let entry = view.entry(seq).unwrap().unwrap();
        seen.entry(entry.kind).or_insert(entry);
    }
    assert_eq!(seen.len(), EntryKind::ALL.len(), "an example of every kind");
    for (kind, entry) in &seen {
        let name = format!("entry {}", kind.name());
        all.push(Example { name, bytes: entry.to_bytes(), read: Some(read_entry) });
    }
    for body in bodies() {
        all.push(record(&format!("body {}", body.fields.memory_type().name()), &body));
    }
    let sealed = view.sealed(2).unwrap().unwrap();
    let manifest = view.snapshot(2).unwrap().unwrap();
    let grant_entry = seen[&EntryKind::ScopeGrant].payload().unwrap();
    let Payload::ScopeGrant(granted) = grant_entry else { panic!() };
    all.extend([
        record::<SealedBody>("sealed body", &sealed),
        record::<Note>("note", &view.sealed(19).unwrap().unwrap().open_note().unwrap()),
        record::<Head>("head", &view.head(id(2)).unwrap().unwrap()),
        record::<Head>("head erased", &view.head(id(5)).unwrap().unwrap()),
        record::<Version>("version", &view.version(id(2), 2).unwrap().unwrap()),
        record::<Usage>("usage", &view.usage(id(4)).unwrap()),
        record::<Edge>("edge", &view.edge(id(4), Relation::Supersedes, id(2)).unwrap().unwrap()),
        record::<Session>("session", &view.session("s1").unwrap().unwrap()),
        record::<Prompt>("prompt", &view.prompt(19).unwrap().unwrap()),
        record::<Manifest>("manifest", &manifest),
        record::<Weights>("weights", &view.weights().unwrap()),
        record::<Counters>("counters", &view.counters().unwrap()),
        record::<IdempotencyRecord>("idempotency", &view.idempotency("first").unwrap().unwrap()),
        record::<GrantState>("grant state", &view.grant(granted.id).unwrap().unwrap()),
        record::<Roots>("roots", &reading.roots().unwrap()),
    ]);

    let signed = SignedGrant::sign(grant_at(&manifest, 30), &key(1)).unwrap();
    all.push(record::<Grant>("grant", signed.grant()));
    all.push(Example {
        name: "grant signed".into(),
        bytes: signed.to_bytes(),
        read: Some(|bytes| SignedGrant::decode(bytes).map(|grant| grant.to_bytes())),
    });
    let request = DelegateRequest {
        grant: signed.id(),
        operation: Permission::Read,
        digest: Digest([3; 32]),
        at: at(31),
        nonce: [5; 16],
    };
    let request = SignedRequest::sign(request, &key(2));
    all.push(Example {
        name: "grant presented".into(),
        bytes: Presentation { chain: vec![signed], request }.to_bytes(),
        read: Some(|bytes| Presentation::decode(bytes).map(|presented| presented.to_bytes())),
    });
    let filter = Predicate::And(vec![
        Predicate::HasTag("release".into()),
        Predicate::Gte("version.confidence".into(), FieldValue::number(900_000)),
    ]);
    let query = Query { types: vec![MemoryType::Fact], as_of: Some(at(9)), ..filtered(filter, 7) };
    all.push(Example {
        name: "query".into(),
        bytes: query.to_bytes(),
        read: Some(|bytes| Query::from_bytes(bytes).map(|query| query.to_bytes())),
    });
    let edge = Subject::Edge(id(4), Relation::Supersedes, id(2));
    for (name, file) in [
        ("memory", prove(&view, &ada(), Subject::Memory(id(2)), None)),
        ("no memory", prove(&view, &ada(), Subject::Memory(id(99)), None)),
        ("edge", prove(&view, &ada(), edge, None)),
        ("since", prove_since(&view, &ada(), 1)),
        ("slice", prove_slice(&view, &ada(), &[MemoryType::Fact], None, None)),
    ] {
        all.push(Example {
            name: format!("proof {name}"),
            bytes: file.unwrap().to_bytes(),
            read: Some(|bytes| Ok(ProofFile::from_bytes(bytes)?.to_bytes())),
        });
    }

    let draft = Draft::new(body(MemoryType::Fact, "a", "b"), salt(1));
    let digest = Command::Write(Box::new(draft)).request_digest(salt(1));
    let mut plain = |name: &str, bytes: Vec<u8>| {
        all.push(Example { name: name.into(), bytes, read: None });
    };
    plain("digest request", digest.0.to_vec());
    plain("digest body", sealed.hash().0.to_vec());
    plain("digest head leaf", view.head(id(2)).unwrap().unwrap().leaf_hash().0.to_vec());
    plain("digest manifest", manifest.digest().0.to_vec());
    plain("digest overall root", cortex.root().unwrap().0.to_vec());
    let (source, tie) = (id(4), Relation::Supersedes);
    let d = Digest([1; 32]);
    for (name, key) in [
        ("entry", keys::entry(258)),
        ("body", keys::body(258)),
        ("head", keys::head(id(2))),
        ("usage", keys::usage(id(2))),
        ("version", keys::version(id(2), 3)),
        ("kept head", keys::kept_head(id(2), 1)),
        ("edge out", keys::edge_out(source, tie, id(2))),
        ("edge in", keys::edge_in(id(2), tie, source)),
        ("by type", keys::by_type(MemoryType::Fact).row(1)),
        ("by tag", keys::by_tag("release").row(1)),
        ("by project", keys::by_project("web").row(1)),
        ("by session", keys::by_session("s1").row(1)),
        ("by topic key", keys::by_topic_key(Some("web"), Scope::Project, "k").row(1)),
        ("foremost", keys::foremost().row(1)),
        ("session", keys::session("s1")),
        ("prompt", keys::prompt(19)),
        ("idempotency", keys::idempotency("first")),
        ("attest", keys::attest("i1", 16)),
        ("checkpoint", keys::checkpoint("i1", "one")),
        ("run entry", keys::run_entry("mind-1", 9)),
        ("grant", keys::grant(d)),
        ("revoked", keys::revoked(d)),
        ("snapshot", keys::snapshot(1)),
        ("snapshot by root", keys::snapshot_by_root(d)),
        ("weights", keys::weights()),
        ("counters", keys::counters()),
        ("tree of a head", head_key(6, 2).to_vec()),
        ("tree of an edge", edge_key(4, 4, 2).to_vec()),
    ] {
        plain(&format!("key {name}"), key);
    }
    all
}

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/formats.txt");

// kernel 26, 28, 37, 56, 60, 72
#[test]
fn every_format_has_the_bytes_it_had() {
    let mut made = format!("schema: {SCHEMA}\n");
    for example in examples() {
        writeln!(made, "{}: {}", example.name, encode_hex(&example.bytes)).unwrap();
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(GOLDEN, &made).unwrap();
    }
    let kept = std::fs::read_to_string(GOLDEN).unwrap();
    assert_eq!(made.lines().count(), kept.lines().count(), "examples were added or removed");
    for (made, kept) in made.lines().zip(kept.lines()) {
        assert_eq!(made, kept, "a format changed: that needs a new SCHEMA and a migration");
    }
}

// kernel 26, 27, 37
#[test]
fn every_example_reads_back_and_no_other_encoding_of_it_does() {
    for Example { name, bytes, read } in examples() {
        let Some(read) = read else { continue };
        assert_eq!(read(&bytes).unwrap(), bytes, "{name}");
        let mut refused = variants(&bytes);
        if let Ok(entry) = Entry::from_bytes(&bytes) {
            let inside = variants(&entry.payload).into_iter();
            refused.extend(
                inside.map(|(what, payload)| (what, Entry { payload, ..entry.clone() }.to_bytes())),
            );
        }
        for (what, variant) in refused {
            let error = read(&variant).expect_err(&format!("{name}: {what}"));
            let code = error.code();
            assert!(["non_canonical", "proof_refused"].contains(&code), "{name}, {what}: {error}");
        }
    }
}

// kernel 10
#[test]
fn a_tenth_type_does_not_decode() {
    for body in bodies() {
        let code = body.fields.memory_type().code();
        let fields = codec::encode(&body.fields);
        assert_eq!(fields[..2], [0x82, code], "the type comes first");
        for other in [0, 10, 23] {
            let tenth = [&[0x82, other], &fields[2..]].concat();
            let error = codec::decode::<Fields>("fields", &tenth).unwrap_err();
            assert_eq!(error.code(), "non_canonical");
        }
    }
    for code in 0..=u8::MAX {
        let bytes = codec::encode(&code);
        let known = codec::decode::<MemoryType>("type", &bytes).is_ok();
        assert_eq!(known, (1..=9).contains(&code));
        assert_eq!(MemoryType::from_code(code).is_some(), known);
    }
}

/// Other encodings of the same or nearly the same value.
fn variants(bytes: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut decoder = minicbor::Decoder::new(bytes);
    let kind = decoder.datatype().unwrap();
    let (pairs, major) = match kind {
        Type::Map => (decoder.map().unwrap().unwrap(), 0xa0),
        Type::Array => (decoder.array().unwrap().unwrap(), 0x80),
        other => panic!("{other:?}"),
    };
    let start = decoder.position();
    let inside = &bytes[start..];
    let header = |count: u64| -> Vec<u8> {
        let count = u8::try_from(count).unwrap();
        if count < 24 { vec![major | count] } else { vec![major | 0x18, count] }
    };
    // A length written in more bytes than it needs.
    let wide = [major | 0x19, 0, u8::try_from(pairs).unwrap()];
    let open_ended = [&[major | 0x1f], inside, &[0xff]].concat();
    let mut variants = vec![
        ("trailing byte", [bytes, &[0]].concat()),
        ("longer length", [&wide, inside].concat()),
        ("indefinite length", open_ended),
        ("cut off", bytes[..bytes.len() - 1].to_vec()),
    ];
    if kind == Type::Map {
        let mut items = Vec::new();
        for _ in 0..pairs {
            let from = decoder.position();
            decoder.skip().unwrap();
            decoder.skip().unwrap();
            items.push(&bytes[from..decoder.position()]);
        }
        let first = items[0];
        assert!(first[0] < 24, "keys are small numbers");
        let longer = [&[0x18, first[0]], &first[1..]].concat();
        let rest = items[1..].concat();
        variants.push(("longer key", [header(pairs), longer, rest.clone()].concat()));
        let twice = [header(pairs + 1), first.to_vec(), first.to_vec(), rest];
        variants.push(("key twice", twice.concat()));
        let unknown = [header(pairs + 1), inside.to_vec(), vec![0x18, 99, 0xf6]].concat();
        variants.push(("unknown key", unknown));
        if items.len() > 1 {
            items.swap(0, 1);
            variants.push(("unsorted keys", [header(pairs), items.concat()].concat()));
        }
    }
    variants
}
