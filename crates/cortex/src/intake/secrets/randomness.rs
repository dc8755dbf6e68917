//! Is this text a random value, or words?
//!
//! Must stay true: names, paths, identifiers and placeholders are words; digits mixed into letters, or letters whose case
//! jumps, are random. Pure functions of the value alone.

/// Below this many characters nothing is called random.
const RANDOM_CHARS_MIN: usize = 16;
/// Below this many nothing is called a password.
const PASSWORD_CHARS_MIN: usize = 6;
/// Letters alone must be longer before their case says anything.
const LETTERS_CHARS_MIN: usize = 20;
/// Bits per character of a random value; English words joined by hyphens have fewer distinct parts, not fewer bits, and
/// are told apart by `is_words`.
const BITS_MIN: f64 = 3.0;

/// A value nobody would choose as a word: long, mixed, spread over many characters.
pub(super) fn is_random(value: &str) -> bool {
    let chars = value.chars().count();
    chars >= RANDOM_CHARS_MIN
        && (has_digit_and_letter(value) || case_jumps(value))
        && !is_words(value)
        && bits_per_char(value) >= BITS_MIN
        && !is_placeholder(value)
}

/// A value a person would choose as a password: letters with digits or signs, however short the list of them.
pub(super) fn is_password(value: &str) -> bool {
    let signs =
        value.chars().any(|c| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.' | '/' | ':'));
    let letters = value.chars().any(char::is_alphabetic);
    value.chars().count() >= PASSWORD_CHARS_MIN
        && !is_placeholder(value)
        && !is_code(value)
        && (has_digit_and_letter(value) && !is_words(value) || letters && signs || is_random(value))
}

/// Stands for a value instead of being one: `${TOKEN}`, `<password>`, `xxxx`, `your-api-key`, a mask.
pub(super) fn is_placeholder(value: &str) -> bool {
    if value.starts_with(super::MASK_START)
        || value.starts_with(['$', '<', '{', '%', '&', '*', '('])
        || value.contains("${")
        || value.contains("{{")
        || value.contains("...")
        || value.contains('…')
    {
        return true;
    }
    let bare: String =
        value.chars().filter(|c| c.is_alphabetic()).flat_map(char::to_lowercase).collect();
    let mut distinct: Vec<char> = value.chars().collect();
    distinct.sort_unstable();
    distinct.dedup();
    distinct.len() <= 2
        || PLACEHOLDERS.contains(&bare.as_str())
        || ["your", "example", "placeholder", "changeme", "redacted", "xxxx", "dummy"]
            .iter()
            .any(|word| bare.contains(word))
}

/// Words that stand where a value will stand, with or without digits behind them.
const PLACEHOLDERS: [&str; 18] = [
    "password",
    "passwd",
    "pass",
    "pwd",
    "secret",
    "token",
    "apikey",
    "key",
    "test",
    "string",
    "none",
    "null",
    "undefined",
    "true",
    "false",
    "foo",
    "bar",
    "foobar",
];

/// A member, a call or an index: `os.environ["X"]`, `config.password`, `get_token()`.
fn is_code(value: &str) -> bool {
    if value.contains(['(', '[', ']']) || value.contains("::") || value.contains("->") {
        return true;
    }
    let mut parts = value.split('.');
    value.contains('.')
        && parts.all(|part| {
            part.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && part.chars().all(|c| c.is_alphanumeric() || c == '_')
        })
        && !value.bytes().any(|b| b.is_ascii_digit())
}

/// Parts that are words or short numbers, joined by separators: `prod-db-2024`, `src/auth/token.rs`, `getAccessToken`.
fn is_words(value: &str) -> bool {
    is_code(value)
        || value.split(['-', '_', '.', '/', ':', '@', ',']).all(|part| {
            let digits = part.bytes().filter(u8::is_ascii_digit).count();
            let letters = part.chars().filter(|c| c.is_alphabetic()).count();
            let all = part.chars().count();
            let version = digits <= 2 && letters <= 1;
            all == letters && (all < LETTERS_CHARS_MIN || !case_jumps(part))
                || all == digits && all <= 8
                || all == digits + letters && version
        })
}

fn has_digit_and_letter(value: &str) -> bool {
    value.bytes().any(|b| b.is_ascii_digit()) && value.chars().any(char::is_alphabetic)
}

/// Case changes upwards more often than at the words of an identifier.
fn case_jumps(value: &str) -> bool {
    let chars: Vec<char> = value.chars().collect();
    let jumps = chars.windows(2).filter(|p| p[0].is_lowercase() && p[1].is_uppercase()).count();
    chars.len() >= LETTERS_CHARS_MIN && jumps * 5 >= chars.len()
}

/// Shannon's measure over the characters of the value itself.
fn bits_per_char(value: &str) -> f64 {
    let mut counts = std::collections::BTreeMap::<char, u32>::new();
    let mut all = 0_u32;
    for c in value.chars() {
        *counts.entry(c).or_default() += 1;
        all += 1;
    }
    let share = |count: u32| f64::from(count) / f64::from(all);
    counts.values().map(|count| -share(*count) * share(*count).log2()).sum()
}
