//! The readers that bytes are thrown at, and the law each must keep beside not breaking.
//!
//! A target gives valid inputs to begin with and a check. The check says which kind of answer it was, so that inputs
//! with new answers are mutated further, or which law was broken.

mod bytes;
mod frames;
mod front_matter;
mod importers;
mod lines;
mod past;
mod streams;

/// What an input came to: a number for each kind of answer, or the law that was broken.
pub(crate) type Outcome = Result<u64, String>;

pub(crate) type Check = Box<dyn FnMut(&[u8]) -> Outcome>;

pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// Valid inputs.
    pub(crate) seeds: fn() -> Vec<Vec<u8>>,
    /// Makes what the check needs once, such as a folder.
    pub(crate) open: fn() -> Check,
}

pub(crate) const TARGETS: &[Target] = &[
    Target { name: "codec", seeds: bytes::records, open: || Box::new(bytes::codec) },
    Target { name: "proofs", seeds: bytes::proof_files, open: || Box::new(bytes::proof) },
    Target { name: "grants", seeds: bytes::grant_seeds, open: || Box::new(bytes::grants) },
    Target { name: "frames", seeds: frames::seeds, open: frames::open },
    Target { name: "journal", seeds: bytes::payload_seeds, open: || Box::new(bytes::payloads) },
    Target { name: "socket", seeds: lines::socket_seeds, open: || Box::new(lines::socket) },
    Target { name: "bus", seeds: lines::bus_seeds, open: || Box::new(lines::bus) },
    Target { name: "filter", seeds: lines::filter_seeds, open: || Box::new(lines::filter) },
    Target { name: "front_matter", seeds: front_matter::seeds, open: front_matter::open },
    Target { name: "importers", seeds: importers::seeds, open: importers::open },
    Target { name: "past", seeds: past::seeds, open: past::open },
    Target { name: "streams", seeds: streams::seeds, open: || Box::new(streams::read) },
];

/// A number for an answer in words: numbers and quoted words in it do not make it another kind.
pub(crate) fn shape(told: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut quoted = false;
    for letter in told.chars().take(200) {
        if letter == '"' || letter == '`' {
            quoted = !quoted;
        }
        if !quoted && !letter.is_ascii_digit() {
            hash = (hash ^ u64::from(u32::from(letter))).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}
