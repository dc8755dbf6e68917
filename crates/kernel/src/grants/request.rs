//! What a delegate presents: its chain of grants, and a request signed with its own key.
//!
//! A grant may be seen by anyone; only a fresh signature over the very request shows that the caller holds the key it
//! was made for. The signed request names the grant, so it cannot be moved to another chain, actor or question.

use ed25519_dalek::SigningKey;
use minicbor::{Decode, Encode};
use proof::Digest;
use proof::codec;
use proof::memory::Millis;

use super::grant::{Envelope, GRANT_BYTES_MAX, PublicKey, SignedGrant, verify};
use super::selector::Permission;
use super::token;
use crate::error::{Error, Result};
use crate::limits::GRANT_CHAIN_MAX;

/// Bytes of a whole presentation: a full chain and room for the request.
pub const PRESENTATION_BYTES_MAX: usize = GRANT_CHAIN_MAX * GRANT_BYTES_MAX + 1_024;

const REQUEST_DOMAIN: &str = "cortex/grant-request/1";

/// What the delegate signs, once per call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct DelegateRequest {
    /// The last grant of the chain.
    #[n(0)]
    pub grant: Digest,
    #[n(1)]
    pub operation: Permission,
    /// Digest of what is asked; for a command `Command::request_digest`.
    #[n(2)]
    pub digest: Digest,
    #[n(3)]
    pub at: Millis,
    #[n(4)]
    #[cbor(with = "minicbor::bytes")]
    pub nonce: [u8; 16],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedRequest {
    request: DelegateRequest,
    signature: [u8; 64],
}

impl SignedRequest {
    pub fn sign(request: DelegateRequest, key: &SigningKey) -> SignedRequest {
        let sealed = Envelope::seal(REQUEST_DOMAIN, codec::encode(&request), key);
        SignedRequest { request, signature: sealed.signature }
    }

    pub fn request(&self) -> &DelegateRequest {
        &self.request
    }

    pub fn is_signed_by(&self, key: &PublicKey) -> bool {
        verify(REQUEST_DOMAIN, &codec::encode(&self.request), &self.signature, key)
    }
}

/// A chain from the owner's grant down to the caller's, and the caller's signed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presentation {
    pub chain: Vec<SignedGrant>,
    pub request: SignedRequest,
}

#[derive(Encode, Decode)]
#[cbor(map)]
struct PresentationBytes {
    #[n(0)]
    chain: Vec<Envelope>,
    #[n(1)]
    request: Envelope,
}

impl Presentation {
    pub fn to_bytes(&self) -> Vec<u8> {
        codec::encode(&PresentationBytes {
            chain: self.chain.iter().map(SignedGrant::envelope).collect(),
            request: Envelope {
                body: codec::encode(&self.request.request),
                signature: self.request.signature,
            },
        })
    }

    pub fn decode(bytes: &[u8]) -> Result<Presentation> {
        if bytes.len() > PRESENTATION_BYTES_MAX {
            let (field, max) = ("grant token", PRESENTATION_BYTES_MAX);
            return Err(Error::TooLarge { field, size: bytes.len(), max });
        }
        let PresentationBytes { chain, request } = codec::decode("grant token", bytes)?;
        if chain.len() > GRANT_CHAIN_MAX {
            let (field, count) = ("grant token", chain.len());
            return Err(Error::TooMany { field, count, max: GRANT_CHAIN_MAX });
        }
        Ok(Presentation {
            chain: chain.iter().map(SignedGrant::open).collect::<Result<_>>()?,
            request: SignedRequest {
                request: codec::decode("grant request", &request.body)?,
                signature: request.signature,
            },
        })
    }

    /// For a header or an argument.
    pub fn to_token(&self) -> String {
        token::encode(&self.to_bytes())
    }

    pub fn from_token(text: &str) -> Result<Presentation> {
        if text.len() > token::encoded_len(PRESENTATION_BYTES_MAX) {
            let max = token::encoded_len(PRESENTATION_BYTES_MAX);
            return Err(Error::TooLarge { field: "grant token", size: text.len(), max });
        }
        let bytes = token::decode(text)
            .ok_or_else(|| Error::invalid("grant token", "is not base64url without padding"))?;
        Presentation::decode(&bytes)
    }
}

impl SignedGrant {
    /// For handing a grant to its delegate as text.
    pub fn to_token(&self) -> String {
        token::encode(&self.to_bytes())
    }

    pub fn from_token(text: &str) -> Result<SignedGrant> {
        if text.len() > token::encoded_len(GRANT_BYTES_MAX) {
            let max = token::encoded_len(GRANT_BYTES_MAX);
            return Err(Error::TooLarge { field: "grant", size: text.len(), max });
        }
        let bytes = token::decode(text)
            .ok_or_else(|| Error::invalid("grant", "is not base64url without padding"))?;
        SignedGrant::decode(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grants::fixture::{child_of, grant, key, present};
    use proof::digest::encode_hex;

    fn chain(links: usize) -> Vec<SignedGrant> {
        let mut chain = vec![SignedGrant::sign(grant(), &key(1)).unwrap()];
        for link in 1..links {
            let parent = chain[link - 1].grant();
            let signer = u8::try_from(link + 1).unwrap();
            chain.push(SignedGrant::sign(child_of(parent, signer + 1), &key(signer)).unwrap());
        }
        chain
    }

    #[test]
    fn presentations_and_grants_survive_bytes_and_text() {
        for links in 1..=GRANT_CHAIN_MAX {
            let presented = present(chain(links), Permission::Find);
            assert_eq!(Presentation::decode(&presented.to_bytes()).unwrap(), presented);
            assert_eq!(Presentation::from_token(&presented.to_token()).unwrap(), presented);
            let last = presented.chain.last().unwrap();
            assert_eq!(SignedGrant::from_token(&last.to_token()).unwrap(), *last);
        }
    }

    #[test]
    fn malformed_presentations_are_refused() {
        let presented = present(chain(2), Permission::Find);
        let bytes = presented.to_bytes();
        for cut in 0..bytes.len() {
            assert!(Presentation::decode(&bytes[..cut]).is_err());
        }
        assert!(Presentation::decode(&[bytes.as_slice(), &[0]].concat()).is_err());
        assert!(Presentation::decode(&vec![0; PRESENTATION_BYTES_MAX + 1]).is_err());
        assert!(Presentation::from_token(&(presented.to_token() + "=")).is_err());
        assert!(Presentation::from_token("").is_err());
        let long = present(chain(GRANT_CHAIN_MAX + 1), Permission::Find);
        assert!(matches!(Presentation::decode(&long.to_bytes()), Err(Error::TooMany { .. })));
    }

    // The bytes are a published format.
    #[test]
    fn the_encoding_of_a_request_is_pinned() {
        let presented = present(chain(1), Permission::Find);
        insta::assert_snapshot!(encode_hex(&codec::encode(presented.request.request())), @"a5005820fd1118a77d614ded52d9\
            c17264feaae5677fc60573428f036217ee936dc4a7cf0102025820c7936c26dfc5495c4a24490dbafc09cedef5f26020558c4b7be99\
            5ea75fe09c0031b000001a0c4506c00045009090909090909090909090909090909");
        insta::assert_snapshot!(encode_hex(&presented.request.signature), @"874c7394044e5041c1b8360f14027a0e6c6de1eea9b\
            051bdaed36a007fe356f052dd2c85b2d790416ba45df91b678132d21455023069f5bea7bb60dad5d06a06");
    }
}
