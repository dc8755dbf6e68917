//! No question is a syntax error and none takes the program down: an answer or a clear refusal, the same every time.

use recall::search::{Query, search};
use testkit::Disk;
use testkit::build::{at, fact, stamp};

use crate::support::Twice;

/// Parts that mean something to some query language, or to nobody.
const PARTS: [&str; 40] = [
    "\"",
    "“",
    "«",
    "-",
    "--",
    "*",
    "-\"",
    "\"-",
    "(",
    ")",
    "[a-z]+",
    "(?=x)",
    ".*",
    "\\",
    "^$",
    "AND",
    "OR NOT",
    "NEAR/3",
    "title:",
    "'; DROP TABLE memory; --",
    "%_",
    "\0",
    "\u{1}",
    "🦀",
    "👩‍👩‍👧‍👦",
    "🏳️‍🌈",
    "שלום",
    "\u{202e}abc",
    "مرحبا",
    "Z̷̢̛͇a̶͎͑l̵̰̈́g̴̱̒o̸",
    "\u{feff}",
    "\u{200b}",
    "数据",
    "ไทย",
    "the of and",
    "?!.,;:",
    "word",
    "key*",
    "-key",
    "\u{fffd}\u{fffd}",
];

fn odd() -> Vec<String> {
    let mut questions: Vec<String> = PARTS.map(String::from).to_vec();
    let mut state = 88_172_645_463_325_252u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % 1_000_003).unwrap() % below
    };
    for _ in 0..440 {
        let between = ["", " ", "\n", "\t"][next(4)];
        let parts: Vec<&str> = (0..=next(12)).map(|_| PARTS[next(PARTS.len())]).collect();
        questions.push(parts.join(between));
    }
    let large = 100_000;
    let distinct = |form: &str| -> String {
        let words = (0..12_000u64).map(|n| {
            let letters = |n: u64| char::from(b'a' + u8::try_from(n % 26).unwrap());
            let word: String = [n, n / 26, n / 676, n * 7 / 3].map(letters).into_iter().collect();
            form.replace('w', &word)
        });
        let mut all: String = words.collect();
        all.truncate(large);
        all
    };
    questions.extend([
        "x".repeat(large),
        "word ".repeat(large / 5),
        "\"".repeat(large),
        "\"word word\" ".repeat(large / 12),
        format!("\"{}\"", "ha ".repeat(large / 3)),
        format!("-\"{}\"", "ha ".repeat(large / 3)),
        "a*".repeat(large / 2),
        "-a ".repeat(large / 3),
        "é".repeat(large / 2),
        "a\u{301}\u{302}".repeat(large / 5),
        "\u{202e}".repeat(large / 3),
        "数".repeat(large / 3),
        "🦀".repeat(large / 4),
        "the ".repeat(large / 4),
        distinct("w "),
        distinct("w* "),
        distinct("-w "),
        distinct("\"w x\" "),
        distinct("-\"w x\" "),
        distinct("w/w.rs "),
    ]);
    questions
}

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
        let query = Query::new(text.clone(), 10);
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
