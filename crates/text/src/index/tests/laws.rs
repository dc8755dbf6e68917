//! The laws of the index: the same answers as a naive scorer, however it was flushed, merged or rebuilt.

use kernel::store::{Side, View};
use proptest::prelude::*;

use super::harness::{Bench, Naive, Step, WORDS, query, steps, word};
use crate::index::{DocScores, IndexSettings, MemtableHandle, TextField, TextIndex, TextSearch};

fn everything(_: u64) -> bool {
    true
}

/// All that a search says must be what the naive scorer says.
fn assert_equal(
    search: &TextSearch<'_>,
    naive: &Naive,
    query: &[(String, u32)],
    excluded: &[String],
) {
    let wanted = naive.scores(query);
    assert_eq!(search.documents(), naive.documents());
    for term in WORDS {
        assert_eq!(search.df(term).unwrap(), naive.df(term), "df of {term}");
    }
    let alive: Vec<&str> = WORDS.into_iter().filter(|word| naive.df(word) > 0).collect();
    assert_eq!(search.prefix_terms("", 99).unwrap(), alive);
    let odd = |doc: u64| doc % 2 == 1;
    let filtered: DocScores = wanted.iter().copied().filter(|(doc, _)| odd(*doc)).collect();
    let barred = |doc: u64| excluded.iter().any(|term| naive.has(doc, term));
    for k in [0, 1, 2, 5, 1000] {
        let first = |all: &DocScores| all.iter().take(k).copied().collect::<DocScores>();
        assert_eq!(search.top_k(query, k, &everything, &[]).unwrap(), first(&wanted));
        let kept: DocScores = filtered.iter().copied().filter(|(doc, _)| !barred(*doc)).collect();
        assert_eq!(search.top_k(query, k, &odd, excluded).unwrap(), first(&kept));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    // For every history and flush size the answers are those of the naive scorer, with the memtable in memory, with the
    // memtable read from the store, and after a reopen.
    #[test]
    fn searches_equal_the_naive_scorer(
        steps in steps(true, 160), query in query(), excluded in prop::collection::vec(word(), 0..2),
        group in 1usize..9,
    ) {
        let naive = Naive::after(&steps);
        for flush_docs in [1, 3, 20, 1024] {
            let mut bench = Bench::after(flush_docs, group, &steps);
            bench.search(|search| assert_equal(search, &naive, &query, &excluded));
            bench.search_cold(|search| assert_equal(search, &naive, &query, &excluded));
            bench.reopen();
            bench.search(|search| assert_equal(search, &naive, &query, &excluded));
            let mut large_entries = Bench::new(flush_docs);
            for (n, chunk) in steps.chunks(group).enumerate() {
                large_entries.entry(chunk);
                if n % 2 == 0 {
                    large_entries.commit();
                }
            }
            large_entries.commit();
            large_entries.search(|search| assert_equal(search, &naive, &query, &excluded));
        }
    }

    // The rows do not depend on how changes were grouped into commits, on reopening, or on batches that were aborted.
    #[test]
    fn rows_follow_from_the_history(
        steps in steps(true, 80), group in 1usize..20, cut in 0usize..80, lost in steps(true, 5),
        flush_docs in prop_oneof![Just(1u32), Just(4), Just(16)],
    ) {
        let wanted = Bench::after(flush_docs, 1, &steps).text_rows();
        prop_assert_eq!(&Bench::after(flush_docs, group, &steps).text_rows(), &wanted);
        let cut = cut.min(steps.len());
        let mut bench = Bench::after(flush_docs, group, &steps[..cut]);
        bench.steps(&lost);
        bench.abort(lost.len() as u64);
        bench.steps(&steps[cut..]);
        bench.commit();
        prop_assert_eq!(&bench.text_rows(), &wanted);
        let mut reopened = Bench::after(flush_docs, group, &steps[..cut]);
        reopened.reopen();
        reopened.steps(&steps[cut..]);
        reopened.commit();
        prop_assert_eq!(&reopened.text_rows(), &wanted);
    }

    // Once a document is erased, every answer is that of a history that never knew what it said; and a history that
    // never knew it is not changed by the erasure.
    #[test]
    fn an_erased_document_is_found_by_nothing(
        steps in steps(false, 60), doc in 1u64..30, more in steps(false, 10), query in query(),
    ) {
        let is_kept = |step: &&Step| !matches!(step, Step::Put(other, _) if *other == doc);
        let known: Vec<Step> = steps.clone();
        let unknown: Vec<Step> = steps.iter().filter(is_kept).cloned().collect();
        let play = |mut all: Vec<Step>, erase: bool| {
            all.extend(erase.then_some(Step::Erase(doc)));
            // Ids are never used again.
            all.extend(more.iter().filter(is_kept).cloned());
            Bench::after(7, 3, &all)
        };
        let answers = |bench: &Bench| {
            bench.search(|search| search.top_k(&query, 20, &everything, &[]).unwrap())
        };
        let wanted = play(unknown.clone(), false);
        prop_assert_eq!(answers(&play(known, true)), answers(&wanted));
        prop_assert_eq!(answers(&play(unknown, true)), answers(&wanted));
    }
}

fn plain(doc: u64, text: &str) -> Step {
    let word = |word: &str| (TextField::CONTENT, word.to_owned());
    Step::Put(doc, text.split(' ').map(word).collect())
}

fn ask(words: &str) -> Vec<(String, u32)> {
    words.split(' ').map(|word| (word.to_owned(), 1)).collect()
}

#[test]
fn rare_words_win_and_ties_go_to_the_smaller_id() {
    let steps =
        [plain(9, "cat dog"), plain(4, "cat dog"), plain(7, "cat elk"), plain(5, "cat cow")];
    let bench = Bench::after(2, 1, &steps);
    let found = bench.search(|search| search.top_k(&ask("cat elk"), 3, &everything, &[]).unwrap());
    assert_eq!(found.iter().map(|(doc, _)| *doc).collect::<Vec<_>>(), [7, 4, 5]);
}

#[test]
fn nothing_is_visible_before_the_commit() {
    let mut bench = Bench::after(100, 1, &[plain(1, "cat")]);
    bench.step(&plain(2, "cat"));
    assert_eq!(bench.search(|search| search.df("cat").unwrap()), 1);
    bench.commit();
    assert_eq!(bench.search(|search| search.df("cat").unwrap()), 2);
}

// A view from before a commit keeps its answers although the memtable in memory has moved on, across a flush too.
#[test]
fn a_search_sees_the_commit_of_its_view() {
    let mut bench = Bench::after(3, 1, &[plain(1, "cat"), plain(2, "cat dog")]);
    let before = bench.rows.clone();
    bench.step(&plain(3, "cat"));
    bench.commit();
    bench.step(&Step::Put(1, Vec::new()));
    bench.commit();
    let view = View::new(&before, Side::A);
    let search = TextSearch::new(&view, &bench.index.handle()).unwrap();
    assert_equal(&search, &Naive::after(&[plain(1, "cat"), plain(2, "cat dog")]), &ask("cat"), &[]);
}

// Runs that are mostly dead are joined: updating the same documents over and over does not grow the index without end.
#[test]
fn updates_do_not_pile_up() {
    let round = |n: u64| {
        (1..=64u64).map(move |doc| plain(doc, WORDS[usize::try_from((doc + n) % 12).unwrap()]))
    };
    let steps: Vec<Step> = (0..80).flat_map(round).collect();
    let mut bench = Bench::after(4, 16, &steps[..64 * 20]);
    let early = bench.text_rows().0.len();
    bench.steps(&steps[64 * 20..]);
    bench.commit();
    assert!(bench.text_rows().0.len() < 2 * early, "{early} -> {}", bench.text_rows().0.len());
    bench.search(|search| assert_equal(search, &Naive::after(&steps), &ask("cat dog"), &[]));
}

// Every change does a slice of the merge under way, and documents die in the runs it is made of.
#[test]
fn answers_hold_in_every_slice_of_a_merge() {
    let mut seed = 11u64;
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut words = || WORDS[usize::try_from(next(12).min(next(12))).unwrap()];
    let texts: Vec<String> = (0..900).map(|_| [words(), words(), words()].join(" ")).collect();
    let steps: Vec<Step> = texts.iter().map(|text| plain(1 + next(150), text)).collect();
    let mut bench = Bench::new(48);
    for (n, step) in steps.iter().enumerate() {
        bench.step(step);
        bench.commit();
        if n % 2 == 0 {
            let naive = Naive::after(&steps[..=n]);
            bench.search(|search| assert_equal(search, &naive, &ask("cat dog jay"), &[]));
        }
    }
    assert!(Bench::after(48, 7, &steps).text_rows() == bench.text_rows(), "rows depend on commits");
}

// Large enough for lists of many blocks over several windows, and for terms that are skipped.
#[test]
fn long_lists_are_skipped_through_correctly() {
    let mut seed = 7u64;
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut steps = Vec::new();
    for n in 1..=9000u64 {
        let doc = if next(5) == 0 { 1 + next(n) } else { n };
        if next(12) == 0 {
            steps.push(Step::Put(doc, Vec::new()));
        } else {
            // The first words are in most documents, the last in few.
            let mut text: Vec<&str> = Vec::new();
            for (rank, word) in WORDS.into_iter().enumerate() {
                if next(1 << rank) == 0 {
                    text.extend(std::iter::repeat_n(word, 1 + usize::try_from(next(4)).unwrap()));
                }
            }
            steps.push(plain(doc, &text.join(" ")));
        }
    }
    let naive = Naive::after(&steps);
    for flush_docs in [100, 700, 1024] {
        let bench = Bench::after(flush_docs, 50, &steps);
        bench.search(|search| {
            for words in [
                "ada",
                "ada jay",
                "bee cat hen",
                "ada bee cat cow dog eel elk fox gnu hen ibis jay",
            ] {
                assert_equal(search, &naive, &ask(words), &["ibis".to_owned()]);
            }
        });
    }
}

// One block among many holds the best document; all others cannot beat what the first window gave.
#[test]
fn the_best_document_is_found_in_any_block() {
    for best in [4096, 6000, 8191, 9999] {
        let text = |doc| if doc == best { "ada ada" } else { "ada bee cat cow dog eel elk fox" };
        let steps: Vec<Step> = (1..=10_000).map(|doc| plain(doc, text(doc))).collect();
        // All in one run, so that windows have many blocks of one list; and in many.
        for flush_docs in [10_000, 1024] {
            let bench = Bench::after(flush_docs, 100, &steps);
            let found = bench.search(|search| search.top_k(&ask("ada"), 2, &everything, &[]));
            assert_eq!(found.unwrap().iter().map(|(doc, _)| *doc).collect::<Vec<_>>(), [best, 1]);
        }
    }
}

#[test]
fn other_settings_are_refused() {
    let bench = Bench::after(4, 1, &[plain(1, "cat")]);
    let view = View::new(&bench.rows, Side::A);
    let other = IndexSettings { flush_docs: 4, analyzer: 2, ..IndexSettings::default() };
    let refused = TextIndex::open_with(&view, other, MemtableHandle::default()).unwrap_err();
    assert_eq!(refused.code(), "outdated");
}
