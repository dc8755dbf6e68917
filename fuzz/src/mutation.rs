//! Changes inputs as damage, clumsiness and malice would: bits, lengths, doubled and cut pieces, words of others.

/// A generator of numbers that gives the same ones for the same seed (SplitMix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `end`; 0 if that is 0.
    fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end.max(1)).unwrap_or(1);
        usize::try_from(self.next() % end).unwrap_or(0)
    }
}

/// Bytes that mean something to one reader or another.
const WORDS: &[&[u8]] = &[
    b"",
    b"\0",
    b"\xff\xff\xff\xff",
    b"\x9f",
    b"\x1b\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\xbf\x00\xff",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x92\xa5",
    b"\r\n",
    b"\n\n",
    b"{",
    b"}",
    b"[[[[[[[[",
    b"\"",
    b"\\u0000",
    b"\\ud800",
    b"null",
    b"true",
    b"-1",
    b"1e999",
    b"18446744073709551616",
    b"9223372036854775807",
    b"NaN",
    b":",
    b",",
    b"(",
    b")",
    b"NOT ",
    b" OR ",
    b"tag:",
    b"data: ",
    b"event: ",
    b"../",
    b"---\n",
    b"{{ ",
    b"{% if ",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xae",
];

pub(crate) struct Mutator {
    chance: Chance,
    bytes_max: usize,
}

impl Mutator {
    pub(crate) fn new(seed: u64, bytes_max: usize) -> Mutator {
        Mutator { chance: Chance(seed), bytes_max }
    }

    /// One of the inputs, changed in one to eight places.
    pub(crate) fn mutate(&mut self, pool: &[Vec<u8>]) -> Vec<u8> {
        let mut input = pool[self.chance.below(pool.len())].clone();
        for _ in 0..=self.chance.below(8) {
            self.change(&mut input, pool);
        }
        input.truncate(self.bytes_max);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, pool: &[Vec<u8>]) {
        let at = self.chance.below(input.len() + 1);
        match self.chance.below(9) {
            0 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << self.chance.below(8);
                }
            }
            1 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte = u8::try_from(self.chance.below(256)).unwrap_or(0);
                }
            }
            2 => input.truncate(at),
            3 => {
                let end = (at + 1 + self.chance.below(16)).min(input.len());
                input.drain(at.min(end)..end);
            }
            4 | 5 => {
                let word = WORDS[self.chance.below(WORDS.len())];
                input.splice(at..at, word.iter().copied());
            }
            6 => {
                let end = (at + 1 + self.chance.below(64)).min(input.len());
                let piece = input[at.min(end)..end].to_vec();
                for _ in 0..=self.chance.below(4) {
                    input.splice(at..at, piece.iter().copied());
                }
            }
            7 => {
                let other = &pool[self.chance.below(pool.len())];
                let from = self.chance.below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            _ => {
                let word = WORDS[self.chance.below(WORDS.len())];
                let end = (at + word.len()).min(input.len());
                input.splice(at..end, word.iter().copied());
            }
        }
        input.truncate(self.bytes_max);
    }
}
