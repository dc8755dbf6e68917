//! What is put comes back, also after the file was torn, damaged, deleted or shared.

use std::collections::BTreeMap;

use super::*;
use proptest::prelude::*;

const MODEL: &str = "model-for-tests/1";
const DIMS: usize = 16;

fn body(n: u64) -> Digest {
    Digest::of("test", &[&n.to_be_bytes()])
}

fn part(n: u64) -> TextPart {
    TextPart::whole(body(n))
}

/// A vector that looks random and depends on its number alone.
fn direction(dims: usize, n: u64) -> Embedding {
    let mut state = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let values = (0..dims).map(|_| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        state.cast_signed() >> 40
    });
    Embedding::from_sums(&values.collect::<Vec<i64>>())
}

fn vector(n: u64) -> Embedding {
    direction(DIMS, n)
}

fn open(folder: &Path) -> EmbeddingCache {
    EmbeddingCache::open(folder, MODEL, DIMS).unwrap()
}

fn put(cache: &mut EmbeddingCache, numbers: impl IntoIterator<Item = u64>) -> usize {
    let vectors: Vec<_> = numbers.into_iter().map(|n| (part(n), vector(n))).collect();
    cache.put_many(&vectors).unwrap()
}

fn assert_holds(cache: &EmbeddingCache, numbers: &[u64]) {
    assert_eq!(cache.len(), numbers.len());
    for n in numbers {
        assert_eq!(cache.get(&part(*n)).unwrap(), Some(vector(*n)), "{n}");
    }
    let mut seen = BTreeMap::new();
    cache.scan(&mut |part, vector| _ = seen.insert(part, vector)).unwrap();
    let want: BTreeMap<_, _> = numbers.iter().map(|n| (part(*n), vector(*n))).collect();
    assert_eq!(seen, want);
}

#[test]
fn what_is_put_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("cache");
    let mut cache = open(&inside);
    assert!(cache.is_empty() && cache.bytes() == 0 && !inside.exists());
    assert_eq!(put(&mut cache, [1, 2, 2, 3]), 3);
    assert_eq!(put(&mut cache, [3, 4]), 1);
    cache.put_many(&[(part(9), Embedding::zero(DIMS))]).unwrap();
    assert!(cache.get(&part(9)).unwrap().unwrap().is_zero());
    assert_eq!(cache.retain(&|b| *b != body(9)).unwrap(), 1);
    assert_holds(&cache, &[1, 2, 3, 4]);
    assert_holds(&open(&inside), &[1, 2, 3, 4]);
    assert_eq!(cache.get(&part(7)).unwrap(), None);
    let size = std::fs::metadata(&cache.file).unwrap().len();
    assert_eq!(size, cache.bytes());
}

#[test]
fn models_do_not_mix() {
    let folder = tempfile::tempdir().unwrap();
    put(&mut open(folder.path()), [1]);
    let mut other = EmbeddingCache::open(folder.path(), "another", 8).unwrap();
    assert!(other.is_empty());
    let wrong = other.put_many(&[(part(1), vector(1))]).unwrap_err();
    assert_eq!(wrong.code(), "cache_mismatch");
    // The same name with other dimensions is another model: it starts anew.
    let mut wide = EmbeddingCache::open(folder.path(), MODEL, 8).unwrap();
    assert_eq!((wide.len(), wide.damaged()), (0, 1));
    wide.put_many(&[(part(1), direction(8, 1))]).unwrap();
    assert_eq!(open(folder.path()).len(), 0);
    assert_eq!(EmbeddingCache::open(folder.path(), MODEL, 0).unwrap_err().code(), "cache_mismatch");
}

#[test]
fn it_may_be_cut_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let mut cache = open(folder.path());
    put(&mut cache, 0..4);
    let whole = std::fs::read(&cache.file).unwrap();
    for cut in (0..whole.len()).step_by(7) {
        std::fs::write(&cache.file, &whole[..cut]).unwrap();
        let mut torn = open(folder.path());
        let left: Vec<u64> = (0..4).filter(|n| torn.contains(&body(*n))).collect();
        assert_holds(&torn, &left);
        assert_eq!(put(&mut torn, 0..4), 4 - left.len());
        assert_holds(&open(folder.path()), &[0, 1, 2, 3]);
        assert_eq!(open(folder.path()).damaged(), 0);
    }
    // Cut while it is open: what is gone is not there, what is left is right.
    let open_one = open(folder.path());
    std::fs::write(&cache.file, &whole[..whole.len() / 2]).unwrap();
    assert!((0..4).any(|n| open_one.get(&part(n)).unwrap().is_none()));
    assert_eq!(put(&mut open(folder.path()), 0..4), 3);
}

#[test]
fn passages_stand_beside_the_whole_and_leave_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut cache = open(folder.path());
    let passage = |number, n| TextPart { body: body(number), n };
    let parts = [(passage(1, 1), vector(11)), (passage(1, 2), vector(12))];
    assert_eq!(cache.put_many(&parts).unwrap(), 2);
    // Without the whole the rest may be missing, too.
    assert!(!cache.contains(&body(1)));
    put(&mut cache, [1, 2]);
    assert!(cache.contains(&body(1)));
    let again = open(folder.path());
    assert_eq!(again.get(&passage(1, 2)).unwrap(), Some(vector(12)));
    assert_eq!(again.get(&passage(2, 1)).unwrap(), None);
    assert_eq!(forget_everywhere(folder.path(), &[body(1)]).unwrap(), 3);
    assert_holds(&open(folder.path()), &[2]);
}

#[test]
fn it_may_be_deleted_at_any_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut cache = open(folder.path());
    put(&mut cache, [1, 2]);
    std::fs::remove_file(&cache.file).unwrap();
    assert!(open(folder.path()).is_empty());
    put(&mut cache, [3]);
    assert_holds(&cache, &[3]);
}

#[test]
fn two_processes_may_append() {
    let folder = tempfile::tempdir().unwrap();
    let (mut a, mut b) = (open(folder.path()), open(folder.path()));
    put(&mut a, [1, 2]);
    assert_eq!(put(&mut b, [2, 3]), 1);
    put(&mut a, [4]);
    assert_holds(&a, &[1, 2, 3, 4]);
    std::thread::scope(|scope| {
        for worker in 0..4u64 {
            let folder = folder.path();
            scope.spawn(move || {
                let mut mine = open(folder);
                for n in 0..20 {
                    put(&mut mine, [10 + worker * 20 + n]);
                }
            });
        }
    });
    assert_eq!(open(folder.path()).len(), 84);
    assert_eq!(open(folder.path()).damaged(), 0);
}

#[test]
fn erased_bodies_leave_every_file() {
    let folder = tempfile::tempdir().unwrap();
    put(&mut open(folder.path()), 0..5);
    let mut other = EmbeddingCache::open(folder.path(), "another", DIMS).unwrap();
    put(&mut other, 3..8);
    std::fs::write(folder.path().join("embeddings-0000.bin"), b"no header of ours").unwrap();
    assert_eq!(forget_everywhere(folder.path(), &[body(3), body(4), body(99)]).unwrap(), 4);
    assert_holds(&open(folder.path()), &[0, 1, 2]);
    assert_eq!(EmbeddingCache::open(folder.path(), "another", DIMS).unwrap().len(), 3);
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(HASH).any(|window| window == body(3).as_bytes()));
    }
    assert!(!folder.path().join("embeddings-0000.bin").exists());
    assert_eq!(forget_everywhere(&folder.path().join("none"), &[body(1)]).unwrap(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Whatever bytes are changed: what comes back is what was put, or nothing.
    #[test]
    fn damage_never_shows(at in 0usize..2_000, flip in 1u8..) {
        let folder = tempfile::tempdir().unwrap();
        let mut cache = open(folder.path());
        put(&mut cache, 0..20);
        let mut bytes = std::fs::read(&cache.file).unwrap();
        let at = at % bytes.len();
        bytes[at] ^= flip;
        std::fs::write(&cache.file, &bytes).unwrap();
        let damaged = open(folder.path());
        prop_assert_eq!(damaged.damaged(), 1);
        for n in 0..20 {
            let got = damaged.get(&part(n)).unwrap();
            prop_assert!(got.is_none() || got == Some(vector(n)));
        }
        prop_assert!(damaged.is_empty() || damaged.len() == 19);
        let mut damaged = damaged;
        damaged.retain(&|_| true).unwrap();
        put(&mut damaged, 0..20);
        assert_holds(&open(folder.path()), &(0..20).collect::<Vec<_>>());
    }
}
