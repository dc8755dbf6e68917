//! Values that a sentence, a command line, a file format or a header makes a secret: "the password is …", `curl -u`,
//! `mysql -p`, `sshpass`, netrc, cookies, a YAML password, a short token in `NAME_TOKEN=`, a bare AWS secret, a card.
//! `places` has the table.
//!
//! Must stay true: only the value is masked; types, placeholders and ordinary words in the same place stay; each
//! pattern is bounded, and looked for only where its sign is in the text.

use std::sync::LazyLock;

use regex::Regex;

use crate::secrets::places::{AWS_KIND, Judge, PLACES, Place};
use crate::secrets::randomness::{is_password, is_placeholder, is_prose, is_random};
use crate::secrets::signs::{Pattern, Sign, Signs};
use crate::secrets::{MASK_START, Span};

/// A shorter value is not worth masking.
const VALUE_CHARS_MIN: usize = 6;
/// Characters before a number among which a word makes it a card's.
const CARD_LEAD_BYTES: usize = 40;

/// Digits in four groups of four, or sixteen of them in a row.
static CARD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?-u:\b)[3-6][0-9]{3}([ -]?)[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{3,4}(?-u:\b)")
        .expect("the pattern of card numbers is valid")
});

pub(super) fn signs() -> impl Iterator<Item = Sign> {
    PLACES.iter().enumerate().flat_map(|(at, place)| {
        place.signs.iter().map(move |sign| Sign::new(sign, Pattern::Place(at)))
    })
}

/// Whether a value of a place may be in a text. One that nothing around it names has its length for a sign.
fn may_hold(text: &str, at: usize, place: &Place, signs: &Signs) -> bool {
    let is_long = place.kind == AWS_KIND;
    if is_long && !signs.has_bare {
        return false;
    }
    match place.judge {
        Judge::Bare => text.contains(['/', '+']),
        _ => signs.has(Pattern::Place(at)),
    }
}

/// Every value of a known place.
pub(super) fn find(text: &str, signs: &Signs) -> Vec<Span> {
    let mut spans = Vec::new();
    for (at, place) in PLACES.iter().enumerate() {
        if !may_hold(text, at, place, signs) {
            continue;
        }
        for found in place.compiled().captures_iter(text) {
            let Some(value) = found.get(1) else { continue };
            let trimmed = value.as_str().trim_end_matches(['.', ',', ';', ')', '!']);
            if trimmed.contains(MASK_START) || !is_secret(place.judge, trimmed) {
                continue;
            }
            let range = value.start()..value.start() + trimmed.len();
            spans.push(Span { range, kind: place.kind });
        }
    }
    if signs.has_digits {
        cards(text, &mut spans);
    }
    spans
}

fn is_secret(judge: Judge, value: &str) -> bool {
    let digits = value.chars().any(|c| c.is_ascii_digit());
    let letters = value.chars().any(|c| c.is_ascii_alphabetic());
    if is_placeholder(value) || value.starts_with(['$', '<', '{', '%']) {
        return false;
    }
    match judge {
        Judge::Any => true,
        Judge::NoType => {
            value.chars().count() >= VALUE_CHARS_MIN && !is_type(value) && !value.contains("::")
        }
        Judge::Mixed => {
            digits && letters && !is_prose(value) && !value.contains("..") && !is_path(value)
        }
        Judge::Password => is_password(value) && !is_path(value),
        Judge::Random => is_random(value) && !is_hexadecimal(value),
        Judge::RandomOrHash => is_random(value),
        Judge::Bare => is_random(value) && is_of_all_sorts(value),
    }
}

/// Words that stand where a value would.
fn is_type(value: &str) -> bool {
    const WORDS: [&str; 67] = [
        "string",
        "boolean",
        "number",
        "required",
        "optional",
        "hashed",
        "encrypted",
        "varchar",
        "nullable",
        "undefined",
        "unknown",
        "secret",
        "password",
        "passwd",
        "invalid",
        "incorrect",
        "missing",
        "wrong",
        "stored",
        "empty",
        "changed",
        "expired",
        "correct",
        "always",
        "checked",
        "salted",
        "masked",
        "redacted",
        "rotated",
        "default",
        "strong",
        "visible",
        "hidden",
        "needed",
        "updated",
        "rejected",
        "leaked",
        "mandatory",
        "entered",
        "deleted",
        "removed",
        "generated",
        "provided",
        "specified",
        "validated",
        "accepted",
        "printed",
        "logged",
        "ignored",
        "unchanged",
        "compared",
        "verified",
        "shared",
        "revoked",
        "disabled",
        "enabled",
        "longer",
        "shorter",
        "identical",
        "falsch",
        "korrekt",
        "gesetzt",
        "geändert",
        "gespeichert",
        "erforderlich",
        "ungültig",
        "abgelaufen",
    ];
    let lower = value.to_lowercase();
    WORDS.contains(&lower.as_str()) || lower.starts_with("option<") || lower.starts_with("z.")
}

/// Small and large letters and digits mixed throughout, as no path, no name and no word is.
fn is_of_all_sorts(value: &str) -> bool {
    let is_word = |part: &str| {
        let bare = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let small = bare.chars().skip(1).filter(char::is_ascii_lowercase).count();
        bare.len() >= 3 && small + 1 >= bare.len()
    };
    let count = |is: fn(&char) -> bool| value.chars().filter(is).count();
    count(char::is_ascii_uppercase) >= 8
        && count(char::is_ascii_lowercase) >= 8
        && count(char::is_ascii_digit) >= 2
        && !value.split(['/', '+']).any(is_word)
}

fn is_path(value: &str) -> bool {
    value.starts_with(['/', '.', '~']) && value.contains('/')
}

fn is_hexadecimal(value: &str) -> bool {
    value.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

/// Numbers that pass the check of cards: in groups, or where a word says that it is one.
fn cards(text: &str, spans: &mut Vec<Span>) {
    for found in CARD.captures_iter(text) {
        let Some(whole) = found.get(0) else { continue };
        let digits: Vec<u32> = whole.as_str().chars().filter_map(|c| c.to_digit(10)).collect();
        let is_grouped = found.get(1).is_some_and(|sign| !sign.as_str().is_empty());
        let before = &text[text.floor_char_boundary(whole.start().saturating_sub(CARD_LEAD_BYTES))
            ..whole.start()];
        let before = before.to_lowercase();
        let is_said =
            ["card", "visa", "karte", "tarjeta", "carte"].iter().any(|word| before.contains(word));
        if (15..=16).contains(&digits.len()) && (is_grouped || is_said) && passes_check(&digits) {
            spans.push(Span { range: whole.range(), kind: "card-number" });
        }
    }
}

/// The check digit of card numbers.
fn passes_check(digits: &[u32]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| match (place % 2, digit * 2) {
            (0, _) => *digit,
            (_, double) if double > 9 => double - 9,
            (_, double) => double,
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use crate::secrets::mask;

    fn random(count: usize) -> String {
        "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAbC".chars().cycle().take(count).collect()
    }

    // S30
    #[test]
    fn places_that_make_a_value_a_secret() {
        let secret = format!("{}/+{}", random(19), random(19));
        for (text, value) in [
            ("db:\n  password: {}\n", "correcthorse"),
            ("the password is {}.", "swordfish7"),
            ("curl -s -u admin:{} https://x.example", "pa55"),
            ("mysql -u root -p{} shop", "s3same"),
            ("sshpass -p {} ssh host", "letmein"),
            ("machine x.example login ann password {}", "opensesame"),
            ("Cookie: lang=de; session={}", random(32).as_str()),
            ("> cookie: sid={}", "9b0e1f6c2d8a4735b1c0de42f7a96358"),
            ("this one works: {}", "wJ4lrXUtnF9MI/K7MD2NG/bPxRf8CYbGfKFI6mAe"),
            ("\"auth\": \"{}\"", "YW5uOnN3b3JkZmlzaDc3OTk="),
            ("db.example:5432:shop:ann:{}", "swordfish"),
            ("X_API_KEY={}", "550e8400-e29b-41d4-a716-446655440000"),
            ("DEPLOY_TOKEN={}", "a1b2c3d4"),
            ("aws: {} is the secret", secret.as_str()),
            ("card 4111 1111 1111 {} exp 12/29", "1111"),
            ("docker login ghcr.io -u ann -p {}", "whale-77"),
            ("PGPASSWORD={} psql -h db", "opensesame"),
            ("redis-cli -h cache -a {} ping", "crane12"),
            ("smbclient //nas/share -U ann%{}", "stork88"),
            ("openssl rsa -in k.pem -passin pass:{}", "riverbank"),
            ("ldapsearch -x -D cn=admin -w {} uid=ann", "kingfisher"),
            ("sqlcmd -S db -U sa -P '{}'", "Pa$$w0rdX"),
            ("sqlplus scott/{}@//db/orcl", "wombat42"),
            ("DB_PASS={}", "marten-9000"),
            ("ansible_become_pass: {}", "sable_2031!"),
            ("<password>{}</password>", "badger5"),
            ("<add key=\"ClearTextPassword\" value=\"{}\" />", "lynx#77x"),
            ("//npm.example/:_auth={}", "YW5uOnN3b3JkZmlzaC05"),
            ("das Kennwort lautet {}", "Biber2026!"),
            ("la contraseña es {}", "nutria-2026"),
            ("mot de passe : {}", "loutre_88!"),
            ("服务器密码是{}", "haita2026!"),
            ("login ann pw: {}", "polecat!44"),
            ("Authorization: {}", "9b0e1f6c2d8a4735b1c0de42f7a963589b0e1f6c"),
            ("psk=\"{}\"", "our-home-network"),
            ("mongodump --username ann --password {} --db shop", "Otter77x"),
        ] {
            let whole = text.replace("{}", value);
            let masked = mask(&whole).text.into_owned();
            assert!(!masked.contains(value), "{masked}");
        }
    }

    #[test]
    fn types_and_ordinary_words_stay() {
        for text in [
            "password: string",
            "  password: String,",
            "password: z.string().min(8)",
            "the password is required",
            "password: ${DB_PASSWORD}",
            "curl -u \"$USER:$PASS\" x",
            "MAX_KEY=12",
            "CACHE_KEY=user_sessions",
            "order 4111111111111112",
            "id 1234 5678 9012 3456",
            "Cookie: lang=de; theme=dark",
            "see src/Components/CheckoutForm2/AddressV1ab now",
            "import x from org/Example/HttpClientV2/Abc1234567890ab",
            "listen on 127.0.0.1:5432:tcp",
            "the password was updated by ops, then rejected",
            "a password is mandatory for login, das Passwort ist falsch",
            "aws_region=eu-central-1 sha1 da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "la contraseña es incorrecta, le mot de passe est oublié, 密码是必填项",
            "docker login --password-stdin < token.txt, tests pass: 12, fail: 3",
            "<input type=\"password\" value=\"\">, <password>string</password>",
            "ldapsearch -x -w \"$BIND_PASSWORD\" uid=ann",
        ] {
            assert_eq!(mask(text).text, text);
        }
    }

    // S30: no false positive on more than 2,000 lines of ordinary code, hashes and lock files.
    #[test]
    fn a_lock_file_and_source_are_left_alone() {
        let texts = [
            include_str!("../../../../Cargo.lock"),
            include_str!("mod.rs"),
            include_str!("blocks.rs"),
            include_str!("../private.rs"),
            include_str!("../../../service/src/save.rs"),
            include_str!("../../../service/src/config/mod.rs"),
        ];
        let lines: usize = texts.iter().map(|text| text.lines().count()).sum();
        assert!(lines >= 2_000, "{lines}");
        for text in texts {
            let masked = mask(text);
            assert_eq!(masked.counts, std::collections::BTreeMap::new());
        }
        let ids: String = (0..500_u64)
            .map(|n| {
                let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                format!("{mixed:016x}{:016x} {mixed:08x}-1234-4abc-8def-{n:012x}\n", !mixed)
            })
            .collect();
        assert_eq!(mask(&ids).counts, std::collections::BTreeMap::new());
    }
}
