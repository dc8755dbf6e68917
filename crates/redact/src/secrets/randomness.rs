//! Is this text a random value, or words?
//!
//! Must stay true: names, paths, identifiers and placeholders are words; digits mixed into letters, or letters whose
//! case jumps, are random. Pure functions of the value alone.

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
        && !is_identifier(value)
        && bits_per_char(value) >= BITS_MIN
        && !is_placeholder(value)
}

/// A value a person would choose as a password: letters with digits or signs, however short the list of them.
pub(super) fn is_password(value: &str) -> bool {
    // What ends a sentence is no sign of a password.
    let core = value.trim_end_matches(['!', '?']);
    let signs =
        core.chars().any(|c| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.' | '/' | ':'));
    let letters = value.chars().any(char::is_alphabetic);
    value.chars().count() >= PASSWORD_CHARS_MIN
        && !is_placeholder(value)
        && !is_code(value)
        && (has_digit_and_letter(value) && !is_words(value) || letters && signs || is_random(value))
}

/// Stands for a value instead of being one: `${TOKEN}`, `<password>`, `xxxx`, `your-api-key`, a mask.
pub(super) fn is_placeholder(value: &str) -> bool {
    if value.starts_with(crate::secrets::MASK_START)
        || value.starts_with(['<', '{', '('])
        || value.starts_with("%(")
        || value.starts_with("$(")
        || is_variable(value)
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

/// `$DB_PASSWORD`, `$password`, `&password`, `%s`: what a value will be read from. With digits, only in capitals.
fn is_variable(value: &str) -> bool {
    let Some(name) = value.strip_prefix(['$', '&', '%', '*']) else { return false };
    let capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    !name.is_empty() && (name.chars().all(letter) || name.chars().all(capital))
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

/// A member, a call, an index or an escape: `os.environ["X"]`, `config.password`, `get_token()`, `a\\0b`.
fn is_code(value: &str) -> bool {
    value.contains(['(', '[', ']', '\\'])
        || value.contains("::")
        || value.contains("->")
        || value.contains('.') && is_identifier(value) && value.split('.').all(starts_as_name)
}

fn starts_as_name(part: &str) -> bool {
    part.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Parts as programmers name things: letters with at most one number in them, case changing at words (`Ed25519Key`).
fn is_identifier(value: &str) -> bool {
    value.split(['.', '_', '-', '/']).all(|part| {
        let chars: Vec<char> = part.chars().collect();
        let pairs = || chars.windows(2);
        let numbers = pairs().filter(|p| !p[0].is_ascii_digit() && p[1].is_ascii_digit()).count();
        let jumps = pairs().filter(|p| p[0].is_lowercase() && p[1].is_uppercase()).count();
        let leading = usize::from(chars.first().is_some_and(char::is_ascii_digit));
        chars.iter().all(|c| c.is_alphanumeric())
            && numbers + leading <= 1
            && jumps * 6 <= chars.len()
    })
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

/// Small letters, perhaps after a capital: a word of a sentence or several joined ones.
pub(super) fn is_prose(value: &str) -> bool {
    value.split(['-', '_', '.', '/']).all(|part| {
        let mut letters = part.chars();
        letters.next().is_none_or(char::is_alphabetic) && letters.all(char::is_lowercase)
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
