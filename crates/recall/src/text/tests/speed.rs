//! Not a test: prints what writes and questions cost at a size given by `DOCS`. Run with `--release --ignored --nocapture`.

use std::time::Instant;

use super::harness::{Bench, Step};
use crate::text::{FLUSH_DOCS, Field};

/// A cheap sequence of numbers, the same on every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Words by rank: about as often as their rank is low.
    fn word(&mut self) -> String {
        let bits = self.next() % 17;
        format!("w{}", (1 << bits) + self.next() % (1 << bits))
    }
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    let docs: u64 = std::env::var("DOCS").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000);
    let mut numbers = Numbers(1);
    let mut bench = Bench::new(FLUSH_DOCS);
    let mut longest = std::time::Duration::ZERO;
    let mut writing = std::time::Duration::ZERO;
    for doc in 1..=docs {
        let terms = (0..60).map(|_| (Field::CONTENT, numbers.word())).collect();
        let step = Step::Put(doc, terms);
        let start = Instant::now();
        bench.step(&step);
        longest = longest.max(start.elapsed());
        writing += start.elapsed();
        bench.commit();
    }
    let bytes: usize = bench.text_rows().0.iter().map(|(key, value)| key.len() + value.len()).sum();
    println!(
        "{docs} documents: {:?} each, longest {longest:?}, {bytes} bytes",
        writing / u32::try_from(docs).unwrap()
    );
    for words in [3, 8] {
        let mut times = Vec::new();
        for _ in 0..200 {
            let query: Vec<_> = (0..words).map(|_| (numbers.word(), 1)).collect();
            let start = Instant::now();
            let best = bench.search(|search| search.top_k(&query, 10, &|_| true, &[]).unwrap());
            times.push(start.elapsed());
            let all = bench.search(|search| search.score_all(&query, &|_| true).unwrap());
            assert_eq!(best, all.into_iter().take(10).collect::<Vec<_>>());
        }
        times.sort_unstable();
        println!("{words} words: p50 {:?}, p99 {:?}", times[100], times[198]);
    }
}
