//! How nodes know each other: each shows that it has the secret of the ledger, and the secret never travels.
//!
//! What must stay true: a seal is for one request, one sender, one receiver and one moment; the answer carries a seal
//! of its own, so that nobody can answer for a node either.

use proof::Digest;

/// How far the clocks of two nodes may be apart, and how long a request may be under way.
const SKEW_MS: i64 = 60_000;

/// What a seal covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SealedRequest<'a> {
    pub(crate) from: &'a str,
    pub(crate) to: &'a str,
    pub(crate) at: i64,
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    /// For whom it is passed on, as the receiver is to take it.
    pub(crate) who: &'a str,
    pub(crate) body: &'a [u8],
}

impl SealedRequest<'_> {
    pub(crate) fn seal(&self, secret: &[u8]) -> Digest {
        let at = self.at.to_be_bytes();
        let body = Digest::of("cortex/node-body/1", &[self.body]);
        let parts: [&[u8]; 7] = [
            self.from.as_bytes(),
            self.to.as_bytes(),
            &at,
            self.method.as_bytes(),
            self.path.as_bytes(),
            self.who.as_bytes(),
            body.as_bytes(),
        ];
        keyed(secret, &parts)
    }

    /// Is this the seal of the request, made a moment ago?
    pub(crate) fn is_sealed(&self, secret: &[u8], given: &Digest, now: i64) -> bool {
        now.abs_diff(self.at) <= SKEW_MS.unsigned_abs() && same(&self.seal(secret), given)
    }
}

/// What only a node that saw the seal of a request can answer with.
pub(crate) fn answer_seal(secret: &[u8], request: &Digest) -> Digest {
    keyed(secret, &[b"answer", request.as_bytes()])
}

/// Hashed twice with the key in front, so that a known seal helps nobody to make a longer one.
pub(crate) fn keyed(secret: &[u8], parts: &[&[u8]]) -> Digest {
    let mut framed = Vec::new();
    for part in parts {
        framed.extend_from_slice(&(part.len() as u64).to_be_bytes());
        framed.extend_from_slice(part);
    }
    let inner = Digest::of("cortex/node-seal/inner/1", &[secret, &framed]);
    Digest::of("cortex/node-seal/1", &[secret, inner.as_bytes()])
}

/// Compares all bytes, wherever the first difference is.
pub(crate) fn same(left: &Digest, right: &Digest) -> bool {
    let pairs = left.as_bytes().iter().zip(right.as_bytes());
    pairs.fold(0, |differences, (left, right)| differences | (left ^ right)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    // cluster 15
    #[test]
    fn a_seal_is_for_one_request_and_one_moment() {
        let request = SealedRequest {
            from: "a",
            to: "b",
            at: 1_000_000,
            method: "POST",
            path: "/api/x",
            who: "ada",
            body: b"{}",
        };
        let seal = request.seal(b"secret");
        assert!(request.is_sealed(b"secret", &seal, 1_000_500));
        assert!(!request.is_sealed(b"other", &seal, 1_000_500));
        assert!(!request.is_sealed(b"secret", &seal, 1_000_000 + SKEW_MS + 1));
        for other in [
            SealedRequest { to: "c", ..request },
            SealedRequest { who: "*", ..request },
            SealedRequest { path: "/api/", body: b"x{}", ..request },
            SealedRequest { method: "GET", ..request },
        ] {
            assert!(!other.is_sealed(b"secret", &seal, 1_000_500), "{other:?}");
        }
        assert_ne!(answer_seal(b"secret", &seal), seal);
    }
}
