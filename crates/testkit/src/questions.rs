//! Questions that nobody should ask: operators of other query languages, quotes, emoji, scripts from right to left,
//! control characters, and a hundred kilobytes of each. The same ones at every door.

/// Parts that mean something to some query language, or to nobody.
pub const PARTS: [&str; 40] = [
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

/// Bytes of a large question.
pub const LARGE: usize = 100_000;

/// More than five hundred questions: the parts, mixtures of them, and twenty of a hundred kilobytes.
pub fn odd() -> Vec<String> {
    let mut questions: Vec<String> = PARTS.map(String::from).to_vec();
    let mut state = 88_172_645_463_325_252u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % 1_000_003).expect("a million fits a usize") % below
    };
    for _ in 0..440 {
        let between = ["", " ", "\n", "\t"][next(4)];
        let parts: Vec<&str> = (0..=next(12)).map(|_| PARTS[next(PARTS.len())]).collect();
        questions.push(parts.join(between));
    }
    let large = LARGE;
    let distinct = |form: &str| -> String {
        let words = (0..12_000u64).map(|n| {
            let letters = |n: u64| char::from(b'a' + u8::try_from(n % 26).expect("26 fits a byte"));
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
