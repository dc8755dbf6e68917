//! The sharper oracle: BM25F in f64, by brute force, over the analysed terms.
//!
//! It shares with the index only the analyzer and the published parameters. The index stores impacts in 255ths and rarities in
//! 256ths, so its order may differ from the exact one where exact scores are closer than that rounding, and nowhere else.

use std::collections::{BTreeMap, HashMap};

use kernel::Reading;
use kernel::memory::MemoryId;
use text::analyze::Memo;
use recall::document::document;
use text::index::{FIELDS, FieldWeights, MemtableHandle, TextSearch};

use crate::Outcome;
use crate::cortex_recall::{analyzer, terms};

/// Of BM25: how soon more occurrences stop counting, and how much of the length counts.
const K1: f64 = 0.9;
const B: f64 = 0.75;
/// What the index multiplies a score of one by: impact, rarity, the weight of a word in a question.
const SCALE: f64 = 255.0 * 256.0 * 16.0;

/// Memories by their words.
#[derive(Default)]
pub struct Oracle {
    lengths: HashMap<u64, [u32; FIELDS]>,
    /// Occurrences by term, memory and field.
    postings: HashMap<String, BTreeMap<u64, [u32; FIELDS]>>,
}

/// What comparing with the index came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Agreement {
    pub questions: usize,
    /// The same ten in the same order.
    pub same_order: usize,
    /// The same up to scores that rounding cannot tell apart.
    pub within_rounding: usize,
    /// The largest difference of one score, as a share of what rounding explains.
    pub worst: f64,
}

impl Oracle {
    /// From the memories themselves, not from any row of recall.
    pub fn of(reading: &Reading, ids: impl Iterator<Item = u64>) -> Outcome<Oracle> {
        let (view, analyzer, mut memo) = (reading.view(), analyzer(), Memo::default());
        let mut oracle = Oracle::default();
        for id in ids {
            let head = view.required_head(MemoryId::new(id).ok_or("ids begin with 1")?)?;
            let version = view.required_version(head.id, head.version)?;
            let Some(body) = view.body(&version)? else { continue };
            let lengths = oracle.lengths.entry(id).or_default();
            let document = document(&analyzer, &mut memo, &head, &body);
            for (field, term) in document.words(memo.lexicon()) {
                lengths[field.index()] += 1;
                let postings = oracle.postings.entry(term.to_owned()).or_default();
                let occurrences = postings.entry(id).or_default();
                occurrences[field.index()] += 1;
            }
        }
        Ok(oracle)
    }

    fn rarity(&self, df: usize) -> f64 {
        let (all, df) = (self.lengths.len() as f64, df as f64);
        (1.0 + (all - df + 0.5) / (df + 0.5)).log2()
    }

    /// Every memory with a word of the question, best first, and how far rounding may move a score.
    fn ranked(&self, question: &[(String, u32)]) -> (Vec<(u64, f64)>, f64) {
        let mut scores: BTreeMap<u64, f64> = BTreeMap::new();
        let mut rounding = 0.0;
        for (term, _) in question {
            let Some(postings) = self.postings.get(term) else { continue };
            let rarity = self.rarity(postings.len());
            // An impact is rounded to a 255th, but never to nothing; a rarity is cut to a 256th.
            rounding += rarity / 255.0 + 1.0 / 256.0;
            for (id, occurrences) in postings {
                let lengths = &self.lengths[id];
                let fields =
                    FieldWeights::default().fields.into_iter().zip(lengths).zip(occurrences);
                let weighted: f64 = fields
                    .map(|((field, length), tf)| {
                        let relative = f64::from(*length) / f64::from(field.reference);
                        f64::from(field.sixteenths) / 16.0 * f64::from(*tf)
                            / (1.0 - B + B * relative)
                    })
                    .sum();
                *scores.entry(*id).or_default() += rarity * weighted / (weighted + K1);
            }
        }
        (best_first(scores), rounding)
    }

    /// Asks both and compares the ten best.
    pub fn compare(&self, reading: &Reading, questions: &[String]) -> Outcome<Agreement> {
        let view = reading.view();
        let search = TextSearch::new(&view, &MemtableHandle::default())?;
        let mut agreement = Agreement { questions: questions.len(), ..Agreement::default() };
        for question in questions {
            let question = terms(question);
            let (exact, rounding) = self.ranked(&question);
            let scores: HashMap<u64, f64> = exact.iter().copied().collect();
            let found = search.top_k(&question, 10, &|_| true, &[])?;
            let ids = found.iter().map(|(id, _)| *id);
            let best = exact.iter().take(10).map(|(id, _)| *id);
            agreement.same_order += usize::from(ids.eq(best));
            // Each score is right up to rounding, and each place is held by a memory that may hold it.
            let mut off: f64 = if found.len() == exact.len().min(10) { 0.0 } else { f64::INFINITY };
            for ((id, score), (_, due)) in found.iter().zip(&exact) {
                let exactly = scores.get(id).copied().unwrap_or(0.0);
                off = off.max((*score as f64 / SCALE - exactly).abs() / rounding);
                off = off.max((exactly - due).abs() / (2.0 * rounding));
            }
            agreement.worst = agreement.worst.max(off);
            agreement.within_rounding += usize::from(off <= 1.0);
        }
        Ok(agreement)
    }

    /// Plain BM25 with one field over the same terms, of some memories only: the baseline that every arm has to beat.
    pub fn baseline(&self, question: &str, among: impl Fn(u64) -> bool) -> Vec<u64> {
        let length = |id: &u64| f64::from(self.lengths[id].iter().sum::<u32>());
        let mean = self.lengths.keys().map(length).sum::<f64>() / self.lengths.len().max(1) as f64;
        let mut scores: BTreeMap<u64, f64> = BTreeMap::new();
        for (term, _) in terms(question) {
            let Some(postings) = self.postings.get(&term) else { continue };
            let rarity = self.rarity(postings.len());
            for (id, occurrences) in postings.iter().filter(|(id, _)| among(**id)) {
                let tf = f64::from(occurrences.iter().sum::<u32>());
                let norm = K1 * (1.0 - B + B * length(id) / mean);
                *scores.entry(*id).or_default() += rarity * tf / (tf + norm);
            }
        }
        best_first(scores).into_iter().map(|(id, _)| id).collect()
    }
}

fn best_first(scores: BTreeMap<u64, f64>) -> Vec<(u64, f64)> {
    let mut ranked: Vec<(u64, f64)> = scores.into_iter().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    ranked
}
