//! Integer BM25F: what a term is worth in a document (`impact`) and in the corpus (`idf`).
//!
//! An impact is stored with the posting, so it may depend on nothing but the document and constants: the reference
//! lengths are frozen. There are no floats: the same document has the same impact on every machine.

/// A part of a document. Terms of all fields share one dictionary; the field decides what an occurrence is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextField(u8);

pub const FIELDS: usize = 6;

impl TextField {
    pub const TITLE: TextField = TextField(0);
    pub const CONTENT: TextField = TextField(1);
    pub const TAGS: TextField = TextField(2);
    pub const SPEAKER: TextField = TextField(3);
    pub const DATE: TextField = TextField(4);
    pub const ENTITIES: TextField = TextField(5);

    pub const ALL: [TextField; FIELDS] = [
        TextField::TITLE,
        TextField::CONTENT,
        TextField::TAGS,
        TextField::SPEAKER,
        TextField::DATE,
        TextField::ENTITIES,
    ];

    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// What an occurrence in a field is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldWeight {
    /// In sixteenths: 16 is one.
    pub sixteenths: u16,
    /// The length, in terms, at which an occurrence is worth exactly its weight; longer fields count less.
    pub reference: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldWeights {
    pub fields: [FieldWeight; FIELDS],
}

impl Default for FieldWeights {
    fn default() -> FieldWeights {
        let field = |weight: u16, reference| FieldWeight { sixteenths: weight * 16, reference };
        // Short fields have short references: against 64 terms a title of six would count threefold on top of its
        // weight.
        FieldWeights {
            fields: [field(3, 8), field(1, 64), field(2, 4), field(1, 2), field(1, 4), field(2, 8)],
        }
    }
}

/// k1 = 0.9 in 1/65536.
const K1: u64 = 58_982;

/// Occurrences beyond this change nothing: the impact is saturated long before.
const TF_MAX: u32 = 65_535;

/// How much of the largest possible contribution a term makes to a document, 1..=255: `255 * t / (t + k1)` where `t` is
/// the sum over the fields of weight * tf / (1/4 + 3/4 * length / reference).
pub fn impact(weights: &FieldWeights, lengths: &[u32; FIELDS], tfs: &[u32; FIELDS]) -> u8 {
    let mut total = 0u64;
    for ((field, length), tf) in weights.fields.iter().zip(lengths).zip(tfs) {
        let reference = u64::from(field.reference.max(1));
        let weighted = u64::from(field.sixteenths) * u64::from((*tf).min(TF_MAX));
        // 4096 is 65536 / 16; b = 3/4 turns the length norm into (reference + 3 * length) / (4 * reference).
        let scaled = weighted * 4 * reference * 4096 / (reference + 3 * u64::from(*length));
        total = total.saturating_add(scaled).min(1 << 48);
    }
    let whole = total + K1;
    u8::try_from((255 * total + whole / 2) / whole).unwrap_or(u8::MAX).max(1)
}

/// How rare a term is: log2 of 1 + (N - df + 1/2) / (df + 1/2) in 1/256, at least 1.
pub fn idf(documents: u64, df: u64) -> u64 {
    let df = df.min(documents);
    let ratio = log2(2 * documents + 2).saturating_sub(log2(2 * df + 1));
    (ratio >> 8).max(1)
}

/// log2 in 1/65536, by repeated squaring: each squaring gives one more binary digit.
pub fn log2(n: u64) -> u64 {
    let n = n.max(1);
    let zeros = n.leading_zeros();
    let mut result = u64::from(63 - zeros);
    // In [1, 2), scaled by 2^31.
    let mut mantissa = (n << zeros) >> 32;
    for _ in 0..16 {
        mantissa = (mantissa * mantissa) >> 31;
        result <<= 1;
        if mantissa >= 1 << 32 {
            mantissa >>= 1;
            result |= 1;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn log2_is_exact_at_powers_and_close_between() {
        for power in 0..64 {
            assert_eq!(log2(1 << power), power << 16);
        }
        // log2(3) = 1.5849625…, log2(10) = 3.3219280…
        assert_eq!(log2(3), 103_872);
        assert_eq!(log2(10), 217_705);
    }

    #[test]
    fn known_impacts() {
        let weights = FieldWeights::default();
        let content = |length, tf| impact(&weights, &[0, length, 0, 0, 0, 0], &[0, tf, 0, 0, 0, 0]);
        // At the reference length an occurrence counts once: 255 * 1 / 1.9.
        assert_eq!(content(64, 1), 134);
        assert_eq!(content(64, 2), 176);
        assert_eq!(content(64, 0), 1);
        assert!(content(1000, 1) < content(64, 1));
        let title = impact(&weights, &[8, 64, 0, 0, 0, 0], &[1, 0, 0, 0, 0, 0]);
        assert_eq!(title, 196);
    }

    proptest! {
        #[test]
        fn more_occurrences_never_count_less(
            lengths: [u32; FIELDS], mut tfs: [u32; FIELDS], field in 0..FIELDS, more: u32,
        ) {
            let weights = FieldWeights::default();
            let before = impact(&weights, &lengths, &tfs);
            tfs[field] = tfs[field].saturating_add(more);
            prop_assert!(impact(&weights, &lengths, &tfs) >= before);
        }

        #[test]
        fn rarer_terms_never_count_less(documents in 1u64..1 << 40, df in 1u64..1 << 40) {
            let df = df.min(documents);
            prop_assert!(idf(documents, df - 1) >= idf(documents, df));
            prop_assert!(idf(documents, df) >= 1);
        }
    }
}
