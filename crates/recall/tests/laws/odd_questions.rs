//! No question is a syntax error and none takes the program down: an answer or a clear refusal, the same every time.

use recall::search::{SearchQuery, search};
use testkit::Disk;
use testkit::build::{at, fact, stamp};
use testkit::questions::odd;

use crate::support::Twice;

// recall: 500 adversarial queries give answers or clear errors, never a panic
#[test]
fn five_hundred_odd_questions_are_answered() {
    let twice = Twice::open(&Disk::new());
    let texts = ["the signing key", "ha ha ha", "数据库迁移", "שלום עולם", "🦀 crab", "w/w.rs"];
    for n in 1..=60u64 {
        let text = texts[usize::try_from(n % 6).unwrap()];
        twice.warm.write(stamp(1), fact(n, text, &format!("word{n} and some more"))).unwrap();
    }
    twice.warm.write(stamp(1), fact(61, "laughter", &"ha ".repeat(300))).unwrap();
    let questions = odd();
    assert!(questions.len() >= 500);
    let (warm, cold) = (twice.warm.read().unwrap(), twice.cold.read().unwrap());
    let (mut slowest, mut answered) = ((std::time::Duration::ZERO, String::new()), 0);
    for text in &questions {
        let query = SearchQuery::new(text.clone(), 10);
        let started = std::time::Instant::now();
        let first = search(&warm, None, &query, at(10)).unwrap();
        let name: String = text.chars().take(12).collect();
        slowest = slowest.max((started.elapsed(), name));
        if text.len() % 8 == 1 {
            assert_eq!(search(&cold, None, &query, at(10)).unwrap(), first, "{text:?}");
        }
        answered += usize::from(!first.hits.is_empty());
    }
    println!("{answered} of {} found something; slowest {slowest:?}", questions.len());
    assert!(answered > 100);
}
