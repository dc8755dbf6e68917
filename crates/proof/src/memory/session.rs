//! Sessions and prompts: the frame around saves that agents keep.

use minicbor::{Decode, Encode};

use super::Millis;
use crate::digest::Digest;

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Session {
    #[n(0)]
    pub id: String,
    #[n(1)]
    pub project: Option<String>,
    #[n(2)]
    pub directory: Option<String>,
    #[n(3)]
    pub agent: Option<String>,
    #[n(4)]
    pub started: Millis,
    #[n(5)]
    pub ended: Option<Millis>,
    /// The entry that holds the summary, if the session ended with one.
    #[n(6)]
    pub summary_seq: Option<u64>,
    #[n(7)]
    pub seq: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Prompt {
    /// The entry that holds the text.
    #[n(0)]
    pub seq: u64,
    #[n(1)]
    pub session: Option<String>,
    #[n(2)]
    pub project: Option<String>,
    #[n(3)]
    pub at: Millis,
    #[n(4)]
    pub body_hash: Digest,
}
