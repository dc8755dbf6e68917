//! Against brute force over the full values, on real embeddings of made-up sentences.

use super::*;
use crate::embedding::{Embedder, HashEmbedder, ONE, StaticEmbedder};
use crate::vectors::Coder;
use proptest::prelude::*;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        usize::try_from(self.0 >> 33).unwrap() % n
    }
}

/// Sentences that hang together: most words from one of 300 topics, the rest from everywhere.
fn sentences(count: usize, seed: u64) -> Vec<Embedding> {
    let model = StaticEmbedder::shared();
    let words: Vec<&str> = (1996..20_000)
        .filter_map(|id| model.table().piece(id))
        .filter(|piece| piece.len() > 2 && piece.bytes().all(|b| b.is_ascii_lowercase()))
        .collect();
    let mut topics = Random(17);
    let topics: Vec<Vec<&str>> =
        (0..300).map(|_| (0..40).map(|_| words[topics.below(words.len())]).collect()).collect();
    let mut random = Random(seed);
    (0..count)
        .map(|_| {
            let topic = &topics[random.below(topics.len())];
            let length = 4 + random.below(12);
            let mut text = String::new();
            for _ in 0..length {
                let from = if random.below(3) == 0 { &words } else { topic };
                text.push_str(from[random.below(from.len())]);
                text.push(' ');
            }
            model.embed(&text)
        })
        .collect()
}

fn set(codes: &mut Codes, doc: u64, vectors: &[&Embedding]) -> bool {
    let coder = Coder::new(vectors.first().map_or(256, |vector| vector.dims()));
    codes.set(doc, &vectors.iter().map(|vector| coder.code(vector)).collect::<Vec<_>>())
}

fn filled(vectors: &[Embedding]) -> Codes {
    let mut codes = Codes::new(256);
    for (doc, vector) in (0u64..).zip(vectors) {
        assert!(set(&mut codes, doc, &[vector]));
    }
    codes
}

fn brute(
    vectors: &[Embedding],
    query: &Embedding,
    k: usize,
    filter: &dyn Fn(u64) -> bool,
) -> Vec<VectorHit> {
    let all = (0u64..).zip(vectors).filter(|(doc, _)| filter(*doc));
    best(all.map(|(doc, v)| VectorHit { doc, score: query.dot(v) }).collect(), k)
}

/// Found of each hundred thousand that brute force finds.
fn recall(
    vectors: &[Embedding],
    queries: &[Embedding],
    filter: &dyn Fn(u64) -> bool,
    find: &dyn Fn(&Embedding) -> Vec<VectorHit>,
) -> usize {
    let (mut found, mut wanted) = (0, 0);
    for query in queries {
        let got = find(query);
        assert!(got.iter().all(|hit| filter(hit.doc)));
        for want in brute(vectors, query, 10, filter) {
            wanted += 1;
            found += usize::from(got.iter().any(|hit| hit.doc == want.doc));
        }
    }
    found * 100_000 / wanted
}

#[test]
fn recall_with_and_without_sketches() {
    let vectors = sentences(30_000, 1);
    let queries = sentences(100, 2);
    let codes = filled(&vectors);
    assert!(codes.len() > EXACT_UP_TO && codes.bytes() < codes.len() * 340);
    let every = |_| true;
    let some = |doc: u64| doc.is_multiple_of(7);
    let few = |doc: u64| doc.is_multiple_of(500);
    for (name, filter) in
        [("every", &every as &dyn Fn(u64) -> bool), ("some", &some), ("few", &few)]
    {
        let coded = recall(&vectors, &queries, filter, &|q| codes.top_k(q, 10, filter));
        assert!(coded >= 98_000, "{name}: {coded}");
    }
    let small = &vectors[..EXACT_UP_TO / 4];
    let codes = filled(small);
    assert!(recall(small, &queries, &every, &|q| codes.top_k(q, 10, &every)) >= 99_000);
}

#[test]
fn a_document_is_as_near_as_its_nearest_vector() {
    let vectors = sentences(300, 5);
    let query = &sentences(1, 6)[0];
    let mut codes = Codes::new(256);
    for (doc, three) in (1u64..).zip(vectors.chunks(3)) {
        assert!(set(&mut codes, doc, &three.iter().collect::<Vec<_>>()));
    }
    assert_eq!(codes.len(), 300);
    let single = filled(&vectors);
    let hits = codes.top_k(query, 100, &|_| true);
    assert_eq!(hits.len(), 100);
    for hit in hits {
        let own = (0..3).filter_map(|n| single.score(query, (hit.doc - 1) * 3 + n));
        assert_eq!(own.max(), Some(hit.score));
        assert_eq!(codes.score(query, hit.doc), Some(hit.score));
    }
    let docs = [0, 100, 3, 3, 101, 1];
    let one_by_one = docs.map(|doc| codes.score(query, doc));
    assert_eq!(codes.scores(query, &docs), one_by_one);
    assert_eq!(one_by_one.iter().flatten().count(), 4);
    assert!(set(&mut codes, 50, &[&vectors[0]]));
    assert_eq!(codes.len(), 298);
    assert_eq!(codes.score(query, 50), single.score(query, 0));
    assert_eq!(codes.score(query, 51), (150..153).filter_map(|n| single.score(query, n)).max());
}

#[test]
fn the_way_there_does_not_show() {
    let vectors = sentences(21_000, 3);
    let query = &sentences(1, 4)[0];
    let mut winding = Codes::new(256);
    for (doc, vector) in (0u64..21_000).zip(&vectors).step_by(2) {
        set(&mut winding, doc, &[vector]);
    }
    // Late comers in the middle, replacements and removals.
    for doc in [20_001, 7, 13_333] {
        set(&mut winding, doc, &[&vectors[0], &vectors[1]]);
    }
    for doc in [20_001, 13_333] {
        assert!(winding.set(doc, &[]) && winding.rows_of(doc).is_empty());
    }
    let mut straight = Codes::new(256);
    for (doc, vector) in (0u64..21_000).zip(&vectors) {
        if doc == 7 {
            set(&mut straight, doc, &[&vectors[0], &vectors[1]]);
        } else if doc.is_multiple_of(2) {
            set(&mut straight, doc, &[vector]);
        }
    }
    assert_eq!(winding.len(), straight.len());
    for filter in [&(|_| true) as &dyn Fn(u64) -> bool, &|doc| doc % 3 == 1] {
        let want = straight.top_k(query, 25, filter);
        assert_eq!(want.len(), 25);
        assert_eq!(winding.top_k(query, 25, filter), want);
    }
}

#[test]
fn edges() {
    let model = HashEmbedder::new(256);
    let mut codes = Codes::new(256);
    let word = model.embed("word");
    assert!(codes.top_k(&word, 5, &|_| true).is_empty());
    assert!(!set(&mut codes, 1, &[&HashEmbedder::new(64).embed("word")]));
    for doc in [9, 3, u64::MAX, 0] {
        assert!(set(&mut codes, doc, &[&word]));
    }
    let got = codes.top_k(&word, usize::MAX, &|_| true);
    assert_eq!(got.iter().map(|hit| hit.doc).collect::<Vec<_>>(), [0, 3, 9, u64::MAX]);
    assert!(got.iter().all(|hit| (hit.score - ONE).abs() < ONE / 100));
    assert!(codes.top_k(&word, 0, &|_| true).is_empty());
    assert!(codes.top_k(&Embedding::zero(256), 5, &|_| true).is_empty());
    assert!(codes.top_k(&word, 5, &|_| false).is_empty());
    assert!(set(&mut codes, 3, &[&Embedding::zero(256)]) && codes.rows_of(3).is_empty());
    assert_eq!(codes.len(), 3);
}

#[test]
fn equal_vectors_by_the_thousand_are_told_apart_by_doc() {
    let word = StaticEmbedder::shared().embed("the same again");
    let mut codes = Codes::new(256);
    for doc in 0..21_000 {
        set(&mut codes, doc, &[&word]);
    }
    let docs = |hits: Vec<VectorHit>| hits.iter().map(|hit| hit.doc).collect::<Vec<_>>();
    assert_eq!(docs(codes.top_k(&word, 3, &|_| true)), [0, 1, 2]);
    assert_eq!(docs(codes.top_k(&word, 3, &|doc| doc > 20_997)), [20_998, 20_999]);
    assert_eq!(codes.top_k(&word, usize::MAX, &|_| true).len(), 21_000);
}

proptest! {
    #[test]
    fn codes_are_close_and_bounded(a in "[a-z ]{1,60}", b in "[a-z ]{1,60}") {
        for dims in [64, 256, 384] {
            let model = HashEmbedder::new(dims);
            let (a, b) = (model.embed(&a), model.embed(&b));
            let mut codes = Codes::new(dims);
            set(&mut codes, 0, &[&b]);
            for hit in codes.top_k(&a, 1, &|_| true) {
                prop_assert!((hit.score - a.dot(&b)).abs() < ONE / 50);
            }
        }
    }
}
