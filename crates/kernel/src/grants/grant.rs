//! The grant itself: its fields, its bytes and its signature.
//!
//! A grant is immutable and named by the hash of its canonical bytes. Everything that leaves `sign` or `decode` has
//! passed `check`, so code behind them need not doubt bounds or order. The signature is kept outside the signed bytes.

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use minicbor::{Decode, Encode};
use proof::actor::ActorName;
use proof::codec;
use proof::digest::{Digest, encode_hex};
use proof::memory::Millis;

use super::refused;
use super::selector::{Permission, Selector, ascending};
use crate::error::{Error, Result};
use crate::limits::BUDGET_TOKENS_MAX;
use crate::validate::check_name;

/// An Ed25519 public key.
pub type PublicKey = [u8; 32];

/// Bytes of one signed grant. Two full selectors of the longest names stay below it.
pub const GRANT_BYTES_MAX: usize = 20_480;
/// How long a grant may live, in milliseconds: 366 days.
pub const GRANT_LIFE_MS_MAX: i64 = 366 * 86_400_000;

const ID_DOMAIN: &str = "cortex/grant/1";
const SIGNATURE_DOMAIN: &str = "cortex/grant-signature/1";

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Grant {
    #[n(0)]
    pub schema: u32,
    #[n(1)]
    pub actor: String,
    /// Who signs: the owner, or in a later link the delegate of the link before.
    #[n(2)]
    #[cbor(with = "minicbor::bytes")]
    pub issuer: PublicKey,
    /// Who may use it, by proof of possession.
    #[n(3)]
    #[cbor(with = "minicbor::bytes")]
    pub audience: PublicKey,
    /// The delegate's name in journals and listings; it proves nothing.
    #[n(4)]
    pub audience_name: String,
    /// Sorted, no duplicates.
    #[n(5)]
    pub operations: Vec<Permission>,
    #[n(6)]
    pub include: Selector,
    #[n(7)]
    pub exclude: Option<Selector>,
    #[n(8)]
    pub issued: Millis,
    /// The first moment at which it no longer counts.
    #[n(9)]
    pub expires: Millis,
    #[n(10)]
    pub use_limit: Option<u32>,
    /// Cap on the tokens of one find or context.
    #[n(11)]
    pub budget_tokens: Option<u32>,
    /// The grant this one was made from; absent in the owner's own.
    #[n(12)]
    pub parent: Option<Digest>,
    #[n(13)]
    #[cbor(with = "minicbor::bytes")]
    pub nonce: [u8; 16],
    /// The overall root at issue and the journal size it covers, so that a slice can be checked with the grant alone.
    #[n(14)]
    pub root: Digest,
    #[n(15)]
    pub size: u64,
}

impl Grant {
    pub fn id(&self) -> Digest {
        Digest::of(ID_DOMAIN, &[&codec::encode(self)])
    }

    /// Bounds and order of every field. The schema is not judged here: a grant of another schema can be read and
    /// listed, it just does not authorise.
    pub fn check(&self) -> Result<()> {
        ActorName::parse(&self.actor)?;
        check_name("audience_name", &self.audience_name)?;
        if self.operations.is_empty() || !ascending(&self.operations) {
            return Err(Error::invalid("operations", "must be a sorted set with at least one"));
        }
        self.include.check("include")?;
        if let Some(exclude) = &self.exclude {
            exclude.check("exclude")?;
        }
        // A grant over an id that does not exist yet would be a grant over whatever is written there one day.
        if self.include.ids.iter().any(|id| id.get() > self.size) {
            return Err(Error::invalid("include", "names a memory younger than the grant's root"));
        }
        let life = self.expires.get().checked_sub(self.issued.get());
        if self.issued.get() < 0 || !life.is_some_and(|ms| (1..=GRANT_LIFE_MS_MAX).contains(&ms)) {
            return Err(Error::invalid("expires", "must lie 1 ms to 366 days after issue"));
        }
        if self.use_limit == Some(0) {
            return Err(Error::invalid("use_limit", "must allow at least one use"));
        }
        if self.budget_tokens.is_some_and(|tokens| !(1..=BUDGET_TOKENS_MAX).contains(&tokens)) {
            return Err(Error::invalid("budget_tokens", format!("use 1 to {BUDGET_TOKENS_MAX}")));
        }
        Ok(())
    }

    /// One line for a listing.
    pub fn describe(&self) -> String {
        use std::fmt::Write as _;
        let operations: Vec<_> = self.operations.iter().map(|o| o.name()).collect();
        let mut line = format!(
            "{} for {} ({}): {} on {}",
            self.id(),
            self.audience_name,
            encode_hex(&self.audience[..8]),
            operations.join(", "),
            self.include.describe(),
        );
        let mut add = |text: std::fmt::Arguments<'_>| {
            line.write_fmt(text).expect("writing to a String cannot fail");
        };
        if let Some(exclude) = &self.exclude {
            add(format_args!("; but not {}", exclude.describe()));
        }
        add(format_args!("; until {}", self.expires.rfc3339()));
        if let Some(limit) = self.use_limit {
            add(format_args!("; at most {limit} uses"));
        }
        if let Some(tokens) = self.budget_tokens {
            add(format_args!("; at most {tokens} tokens"));
        }
        if let Some(parent) = self.parent {
            add(format_args!("; made from {parent}"));
        }
        line
    }
}

/// Signed bytes as they travel: the body is a byte string, so that what is hashed and signed is literally what is sent.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub(super) struct Envelope {
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    pub(super) body: Vec<u8>,
    #[n(1)]
    #[cbor(with = "minicbor::bytes")]
    pub(super) signature: [u8; 64],
}

impl Envelope {
    pub(super) fn seal(domain: &str, body: Vec<u8>, key: &SigningKey) -> Envelope {
        let signature = key.sign(&message(domain, &body)).to_bytes();
        Envelope { body, signature }
    }
}

fn message(domain: &str, body: &[u8]) -> Vec<u8> {
    [domain.as_bytes(), body].concat()
}

/// Strict verification: no weak keys, no second signature for the same message by anyone but the signer.
pub(super) fn verify(domain: &str, body: &[u8], signature: &[u8; 64], key: &PublicKey) -> bool {
    VerifyingKey::from_bytes(key).is_ok_and(|key| {
        key.verify_strict(&message(domain, body), &Signature::from_bytes(signature)).is_ok()
    })
}

/// A grant that passed `check`, with a signature that may or may not be its issuer's: see `verify_signature`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedGrant {
    grant: Grant,
    signature: [u8; 64],
}

impl SignedGrant {
    pub fn sign(grant: Grant, key: &SigningKey) -> Result<SignedGrant> {
        grant.check()?;
        if key.verifying_key().to_bytes() != grant.issuer {
            return Err(Error::invalid("issuer", "is not the key that signs"));
        }
        let sealed = Envelope::seal(SIGNATURE_DOMAIN, codec::encode(&grant), key);
        Ok(SignedGrant { grant, signature: sealed.signature })
    }

    pub fn decode(bytes: &[u8]) -> Result<SignedGrant> {
        if bytes.len() > GRANT_BYTES_MAX {
            let (field, max) = ("grant", GRANT_BYTES_MAX);
            return Err(Error::TooLarge { field, size: bytes.len(), max });
        }
        SignedGrant::open(&codec::decode("signed grant", bytes)?)
    }

    pub(super) fn open(envelope: &Envelope) -> Result<SignedGrant> {
        let grant: Grant = codec::decode("grant", &envelope.body)?;
        grant.check()?;
        Ok(SignedGrant { grant, signature: envelope.signature })
    }

    pub(super) fn envelope(&self) -> Envelope {
        Envelope { body: codec::encode(&self.grant), signature: self.signature }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        codec::encode(&self.envelope())
    }

    pub fn grant(&self) -> &Grant {
        &self.grant
    }

    pub fn id(&self) -> Digest {
        self.grant.id()
    }

    pub fn verify_signature(&self) -> Result<()> {
        let body = codec::encode(&self.grant);
        if verify(SIGNATURE_DOMAIN, &body, &self.signature, &self.grant.issuer) {
            Ok(())
        } else {
            Err(refused("a grant is not signed by its issuer"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grants::fixture::{DAY, grant, id, key};
    use crate::limits::SELECTOR_ITEMS_MAX;

    type Spoil = fn(&mut Grant);

    // kernel 59
    #[test]
    fn every_flipped_bit_of_a_signed_grant_is_noticed() {
        let signed = SignedGrant::sign(grant(), &key(1)).unwrap();
        let bytes = signed.to_bytes();
        assert_eq!(SignedGrant::decode(&bytes).unwrap(), signed);
        signed.verify_signature().unwrap();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut bad = bytes.clone();
                bad[at] ^= 1 << bit;
                let outcome = SignedGrant::decode(&bad).and_then(|g| g.verify_signature());
                assert!(outcome.is_err(), "byte {at} bit {bit}");
            }
        }
        for cut in 0..bytes.len() {
            assert!(SignedGrant::decode(&bytes[..cut]).is_err());
        }
        assert!(SignedGrant::decode(&[bytes.as_slice(), &[0]].concat()).is_err());
        assert!(SignedGrant::decode(&vec![0; GRANT_BYTES_MAX + 1]).is_err());
    }

    #[test]
    fn the_largest_grant_fits_its_bound() {
        let names = |n: usize| (0..n).map(|i| format!("{i:0>128}")).collect();
        let full = Selector { projects: names(SELECTOR_ITEMS_MAX), ..Selector::default() };
        let mut large = grant();
        large.actor = "a".repeat(64);
        large.audience_name = "n".repeat(128);
        large.operations = Permission::ALL.to_vec();
        large.include = full.clone();
        large.exclude = Some(full);
        large.parent = Some(Digest::ZERO);
        let bytes = SignedGrant::sign(large, &key(1)).unwrap().to_bytes();
        assert!(bytes.len() < GRANT_BYTES_MAX, "{}", bytes.len());
        SignedGrant::decode(&bytes).unwrap();
    }

    #[test]
    fn fields_out_of_bounds_are_refused_at_signing_and_reading() {
        let cases: [(&str, Spoil); 13] = [
            ("actor", |g| g.actor = "..".into()),
            ("audience name", |g| g.audience_name = String::new()),
            ("no operations", |g| g.operations.clear()),
            ("unsorted", |g| g.operations = vec![Permission::Find, Permission::Read]),
            ("empty include", |g| g.include = Selector::default()),
            ("empty exclude", |g| g.exclude = Some(Selector::default())),
            ("future id", |g| g.include.ids = vec![id(g.size + 1)]),
            ("no life", |g| g.expires = g.issued),
            ("too long a life", |g| g.expires = Millis(g.issued.get() + 367 * DAY)),
            ("endless", |g| (g.issued, g.expires) = (Millis(-1), Millis(i64::MAX))),
            ("no uses", |g| g.use_limit = Some(0)),
            ("no tokens", |g| g.budget_tokens = Some(0)),
            ("too many tokens", |g| g.budget_tokens = Some(BUDGET_TOKENS_MAX + 1)),
        ];
        for (what, spoil) in cases {
            let mut bad = grant();
            spoil(&mut bad);
            assert!(SignedGrant::sign(bad.clone(), &key(1)).is_err(), "{what}");
            let sealed = Envelope::seal(SIGNATURE_DOMAIN, codec::encode(&bad), &key(1));
            assert!(SignedGrant::decode(&codec::encode(&sealed)).is_err(), "{what}");
        }
        assert!(SignedGrant::sign(grant(), &key(2)).is_err(), "only the issuer's key signs");
    }

    #[test]
    fn a_grant_is_described_in_one_line() {
        let mut described = grant();
        described.use_limit = Some(3);
        let line = described.describe();
        for part in ["helper", "read, find", "type Fact", "2026-", "at most 3 uses"] {
            assert!(line.contains(part), "{part:?} in {line:?}");
        }
        assert!(!line.contains('\n'));
    }

    // The bytes are a published format.
    #[test]
    fn the_encoding_is_pinned() {
        let signed = SignedGrant::sign(grant(), &key(1)).unwrap();
        insta::assert_snapshot!(encode_hex(&signed.to_bytes()), @"a20058b7ac0001016764656661756c740258208a88e3dd7409f19\
            5fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c0358208139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df6\
            0f5b8fc9b394046668656c70657205840102060706a4008106018002800380081b000001a0c4506c00091b000001a0c976c8000d500\
            70707070707070707070707070707070e582080da0cc26e31b9cd5b3db2d4b41a4b5d4db95fe4d8690b67f0cee15536ad73400f1864\
            015840bd4f19b2a2f494f0619568f01dab95a38e10b9a835502bbfc6977d101f2e24cecd64da5c60171c35974673675c7e195aa2aaf\
            6c226c5d6a718b995e185fe870c");
        insta::assert_snapshot!(
            signed.id().to_string(),
            @"fd1118a77d614ded52d9c17264feaae5677fc60573428f036217ee936dc4a7cf"
        );
    }
}
