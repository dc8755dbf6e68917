//! The built-in model: one row of 256 small numbers for each token, and a text is the sum of its rows.
//!
//! The table is `model/minilm-static256-regressed-int8.bin` (made by `tools/model`, see `NOTICE`): u32 rows, u32 dims,
//! an f32 scale for each row, i8 rows. What must stay true: the float scales are turned into integers from their bits,
//! so no float is ever computed with; and `MODEL` changes whenever the table, the vocabulary or this arithmetic does.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};

use super::max_sim::MaxSim;
use super::{Embedder, Embedding, UNKNOWN, WordPiece, dot, widest};

pub const ROWS: usize = 30_522;
pub const DIMS: usize = 256;

/// The last part counts changes of the arithmetic; the one before is the table's digest.
const MODEL: &str = "minilm-static256-regressed-int8/030ce34d/1";

static TABLE: &[u8] = include_bytes!("../../model/minilm-static256-regressed-int8.bin");
pub(super) static VOCABULARY: &str = include_str!("../../model/vocab.txt");

const HEADER: usize = 8;
const BODY: usize = HEADER + ROWS * 4;

// Everything below indexes by these sizes, so a wrong file must not compile.
const _: () = {
    let table = include_bytes!("../../model/minilm-static256-regressed-int8.bin");
    assert!(table.len() == BODY + ROWS * DIMS);
    assert!(u32::from_le_bytes([table[0], table[1], table[2], table[3]]) as usize == ROWS);
    assert!(u32::from_le_bytes([table[4], table[5], table[6], table[7]]) as usize == DIMS);
};

/// Scales are kept in units of 2^-22: the largest (0.0043) then fits i16, so a product is one 16-bit multiplication.
const SCALE_BITS: u32 = 22;

/// Rows added up in i32 before they go to i64: 512 * 2^15 * 2^7 < 2^31.
const BATCH: usize = 511;

/// The table with its vocabulary: ids, rows, similarities of tokens.
pub struct TokenTable {
    pieces: WordPiece,
    scales: Vec<i16>,
    /// 2^32 / length of each row, computed when it is first asked for; 0 until then.
    inverses: Vec<AtomicI64>,
}

impl TokenTable {
    fn new() -> TokenTable {
        let (scales, _) = TABLE[HEADER..BODY].as_chunks::<4>();
        TokenTable {
            pieces: WordPiece::new(VOCABULARY),
            scales: scales.iter().map(|bytes| fixed_scale(u32::from_le_bytes(*bytes))).collect(),
            inverses: (0..ROWS).map(|_| AtomicI64::new(0)).collect(),
        }
    }

    pub fn len(&self) -> usize {
        self.scales.len()
    }

    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    pub fn knows(&self, id: u32) -> bool {
        usize::try_from(id).is_ok_and(|at| at < self.len())
    }

    pub fn token_ids(&self, text: &str) -> Vec<u32> {
        self.pieces.ids(text)
    }

    pub fn piece(&self, id: u32) -> Option<&str> {
        self.pieces.piece(id)
    }

    /// The row's direction as i8, the largest component 127. Empty for an id that does not exist.
    pub fn row(&self, id: u32) -> impl ExactSizeIterator<Item = i8> {
        row_bytes(id).iter().map(|byte| byte.cast_signed())
    }

    /// A row ready to be compared with many others; zeros for an id that does not exist.
    #[expect(clippy::inline_always, reason = "a call would leave the instructions of `widest`")]
    #[inline(always)]
    pub(super) fn widened(id: u32) -> [i16; DIMS] {
        let mut wide = [0; DIMS];
        wide.iter_mut().zip(row_bytes(id)).for_each(|(wide, value)| *wide = signed(*value));
        wide
    }

    /// See `MaxSim`, which is the thing to use for more than one document.
    pub fn max_sim(&self, question: &[(u32, u32)], document: &[u32]) -> i64 {
        MaxSim::new(self, question).score(document)
    }

    /// 2^32 / length of a row; 0 for an id that does not exist.
    #[expect(clippy::inline_always, reason = "a call would leave the instructions of `widest`")]
    #[inline(always)]
    pub(super) fn inverse(&self, id: u32) -> i64 {
        let Some(known) = usize::try_from(id).ok().and_then(|at| self.inverses.get(at)) else {
            return 0;
        };
        // Whoever comes first computes it; two who come together compute the same.
        match known.load(Ordering::Relaxed) {
            0 => {
                let (row, wide) = (row_bytes(id), TokenTable::widened(id));
                // Eight fraction bits in the root keep the rounding below what a similarity can show.
                let length =
                    (u64::from(dot(&wide, row, signed).unsigned_abs()) << 16).isqrt().max(1);
                let inverse = ((1u64 << 40) / length).cast_signed();
                known.store(inverse, Ordering::Relaxed);
                inverse
            }
            inverse => inverse,
        }
    }

    fn sums(&self, ids: &[u32]) -> [i64; DIMS] {
        widest(|| self.add_up(ids))
    }

    #[expect(clippy::inline_always, reason = "a call would leave the instructions of `widest`")]
    #[inline(always)]
    fn add_up(&self, ids: &[u32]) -> [i64; DIMS] {
        let mut sums = [0i64; DIMS];
        for batch in ids.chunks(BATCH) {
            let mut partial = [0i32; DIMS];
            for &id in batch {
                let scale = usize::try_from(id).ok().and_then(|at| self.scales.get(at));
                // An unknown word must not make two texts alike just because both have one.
                let (Some(&scale), true) = (scale, id != UNKNOWN) else { continue };
                for (sum, &value) in partial.iter_mut().zip(row_bytes(id)) {
                    *sum += i32::from(scale) * i32::from(value.cast_signed());
                }
            }
            for (sum, part) in sums.iter_mut().zip(partial) {
                *sum += i64::from(part);
            }
        }
        sums
    }
}

impl fmt::Debug for TokenTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenTable").field("model", &MODEL).finish_non_exhaustive()
    }
}

/// The default embedder.
#[derive(Debug)]
pub struct StaticEmbedder {
    table: TokenTable,
}

impl StaticEmbedder {
    /// The one of this process: the vocabulary is indexed once.
    pub fn shared() -> &'static StaticEmbedder {
        static SHARED: OnceLock<StaticEmbedder> = OnceLock::new();
        SHARED.get_or_init(|| StaticEmbedder { table: TokenTable::new() })
    }

    pub fn table(&self) -> &TokenTable {
        &self.table
    }

    /// The vectors of a text in parts, by their tokens: that of the whole, and that of each part.
    pub(crate) fn embed_parts(&self, parts: &[Vec<u32>]) -> (Embedding, Vec<Embedding>) {
        let mut whole = [0i64; DIMS];
        let mut each = |ids: &Vec<u32>| {
            let sums = self.table.sums(ids);
            whole.iter_mut().zip(sums).for_each(|(whole, sum)| *whole += sum);
            Embedding::from_sums(&sums)
        };
        let each = parts.iter().map(&mut each).collect();
        (Embedding::from_sums(&whole), each)
    }

    /// The vector of tokens already cut: for a caller who left some out.
    pub fn embed_ids(&self, ids: &[u32]) -> Embedding {
        Embedding::from_sums(&self.table.sums(ids))
    }
}

impl Embedder for StaticEmbedder {
    fn model(&self) -> &'static str {
        MODEL
    }

    fn dims(&self) -> usize {
        DIMS
    }

    fn embed(&self, text: &str) -> Embedding {
        self.embed_ids(&self.table.token_ids(text))
    }
}

/// The bytes of a row; none for an id that does not exist.
#[inline]
pub(super) fn row_bytes(id: u32) -> &'static [u8] {
    let at = usize::try_from(id).unwrap_or(ROWS);
    if at < ROWS { &TABLE[BODY + at * DIMS..BODY + (at + 1) * DIMS] } else { &[] }
}

fn signed(byte: u8) -> i16 {
    byte.cast_signed().into()
}

/// A positive f32, by its bits, in units of 2^-22, rounded; anything out of range ends at the range.
fn fixed_scale(bits: u32) -> i16 {
    let exponent = (bits >> 23) & 0xff;
    let mantissa = u64::from(bits & 0x7f_ffff) | 0x80_0000;
    // The value is mantissa * 2^(exponent - 150).
    let fixed = match 150u32.checked_sub(exponent + SCALE_BITS) {
        Some(0) => mantissa,
        Some(down) if down < 32 => (mantissa + (1 << (down - 1))) >> down,
        Some(_) => 0,
        None => u64::MAX,
    };
    i16::try_from(fixed).unwrap_or(i16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedding::ONE;
    use sha2::{Digest, Sha256};

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().fold(String::new(), |all, byte| format!("{all}{byte:02x}"))
    }

    #[test]
    fn files_are_the_ones_the_id_names() {
        assert_eq!(WordPiece::new(VOCABULARY).len(), ROWS);
        assert!(hex(&Sha256::digest(TABLE)).starts_with("030ce34d"));
        assert!(hex(&Sha256::digest(VOCABULARY)).starts_with("07eced37"));
        assert!(MODEL.contains("030ce34d"));
    }

    #[test]
    fn scales_keep_their_value() {
        let table = StaticEmbedder::shared().table();
        let (raw, _) = TABLE[HEADER..BODY].as_chunks::<4>();
        for (bytes, fixed) in raw.iter().zip(&table.scales) {
            let want = f64::from(f32::from_le_bytes(*bytes)) * f64::from(1 << SCALE_BITS);
            assert!((want - f64::from(*fixed)).abs() <= 0.5 && *fixed < i16::MAX);
        }
    }

    /// The same sum in floats, as the measurements made it.
    fn reference(text: &str) -> Vec<f64> {
        let table = StaticEmbedder::shared().table();
        let (scales, _) = TABLE[HEADER..BODY].as_chunks::<4>();
        let mut sum = vec![0f64; DIMS];
        for id in table.token_ids(text) {
            let scale = f64::from(f32::from_le_bytes(scales[id as usize]));
            for (sum, value) in sum.iter_mut().zip(table.row(id)) {
                *sum += scale * f64::from(value);
            }
        }
        sum
    }

    #[test]
    fn agrees_with_the_float_table() {
        for text in
            ["dog", "We met at the harbour on 8 May 2023.", "the of and to", &"x y z ".repeat(900)]
        {
            let (want, got) = (reference(text), StaticEmbedder::shared().embed(text));
            let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>().sqrt();
            let dot: f64 = want.iter().zip(got.values()).map(|(a, b)| a * f64::from(*b)).sum();
            let lengths = norm(&mut want.iter().copied())
                * norm(&mut got.values().iter().map(|v| f64::from(*v)));
            assert!(dot / lengths > 0.9999, "{text:.30}: {}", dot / lengths);
        }
    }

    #[test]
    fn alike_is_near() {
        let model = StaticEmbedder::shared();
        let cos = |a: &str, b: &str| model.embed(a).dot(&model.embed(b));
        for (text, near, far) in [
            ("a dog barks", "the puppy is barking", "quarterly tax report"),
            ("She moved to Paris", "living in France", "replace the bicycle chain"),
            ("database backup failed", "could not restore the server", "grandmother's apple pie"),
        ] {
            assert!(cos(text, near) > cos(text, far), "{text}");
            assert!((cos(text, text) - ONE).abs() < ONE / 1000);
        }
        assert!(model.embed("").is_zero() && model.embed("\u{1f600}").is_zero());
        assert_eq!(model.embed("tea \u{1f600}"), model.embed("tea"));
    }

    /// A change here changes every stored vector: it needs another `MODEL`.
    #[test]
    fn golden_digest() {
        let mut all = Sha256::new();
        for text in [
            "",
            "a dog barks",
            "Caf\u{e9} at the corner, 8 May 2023!",
            "\u{4e2d}\u{6587} and \u{d55c}\u{ad6d}",
            "fn main() { println!(\"{}\", x); }",
            &"the long text goes on and on. ".repeat(300),
        ] {
            for value in StaticEmbedder::shared().embed(text).values() {
                all.update(value.to_le_bytes());
            }
        }
        assert_eq!(
            hex(&all.finalize()),
            "7dbaea9ed1e56195fb21bc7c33737f9b7a817ffa628dc7a976efbb1515fa4358"
        );
    }
}
