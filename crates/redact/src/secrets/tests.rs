//! What must be masked, what must stay, and how much work it takes. The secrets are made up here from parts, so that
//! nothing in this file looks like one to a scanner.

use proptest::prelude::*;

use crate::secrets::signs::Signs;
use crate::secrets::{mask, mask_by};

const ALNUM: &str = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAbC";
const HEX: &str = "0a1b2c3d4e5f69788796a5b4c3d2e1f0";
const UPPER: &str = "A1B2C3D4E5F6G7H8J9K0";
const DIGITS: &str = "1234567890";

/// `count` characters from `alphabet`, over and over.
fn fill(alphabet: &str, count: usize) -> String {
    alphabet.chars().cycle().take(count).collect()
}

/// A prefix that says whose token it is, and its random part.
fn made(prefix: &[&str], alphabet: &str, count: usize) -> String {
    format!("{}{}", prefix.concat(), fill(alphabet, count))
}

/// The text around a value, the value, and the kind that has to be named.
fn secrets() -> Vec<(&'static str, String, &'static str)> {
    let jwt = format!(
        "{}{}.{}{}.{}",
        "ey",
        fill("JhbGciOiJIUzI1NiJ9", 18),
        "ey",
        fill("JzdWIiOiIxMjM0NTY3ODkwIn0", 25),
        fill(ALNUM, 43)
    );
    let key_lines = format!("{}\n{}\n{}", fill(ALNUM, 64), fill(HEX, 64), fill(ALNUM, 20));
    let block = |name: &str| {
        format!("-----{} {name}-----\n{key_lines}\n-----{} {name}-----", "BEGIN", "END")
    };
    vec![
        ("id {} used", made(&["AK", "IA"], UPPER, 16), "aws-key"),
        ("aws_access_key_id = {}", made(&["AS", "IA"], UPPER, 16), "aws-key"),
        (
            "aws_secret_access_key = {}",
            format!("{}/+{}", fill(ALNUM, 20), fill(HEX, 18)),
            "credential",
        ),
        ("export GITHUB_TOKEN={}", made(&["gh", "p_"], ALNUM, 36), "github-token"),
        ("{}", made(&["gh", "s_"], ALNUM, 36), "github-token"),
        ("({})", made(&["github", "_pat_"], ALNUM, 82), "github-token"),
        (
            "https://oauth2:{}@gitlab.example.com/a/b.git",
            made(&["gl", "pat-"], ALNUM, 20),
            "gitlab-token",
        ),
        ("{}", made(&["gl", "rt-"], ALNUM, 20), "gitlab-token"),
        (
            "slack: {}",
            format!("{}{}-{}-{}", "xo", "xb", fill(DIGITS, 12), fill(ALNUM, 24)),
            "slack-token",
        ),
        (
            "post to {}",
            format!(
                "https://hooks.{}/services/T{}/B{}/{}",
                "slack.com",
                fill(UPPER, 8),
                fill(UPPER, 8),
                fill(ALNUM, 24)
            ),
            "slack-webhook",
        ),
        ("{}", made(&["sk", "_live_"], ALNUM, 24), "stripe-key"),
        ("{}", made(&["rk", "_test_"], ALNUM, 24), "stripe-key"),
        ("{}", made(&["wh", "sec_"], ALNUM, 32), "stripe-key"),
        ("key={}&q=1", made(&["AI", "za"], ALNUM, 35), "google-key"),
        ("{}", made(&["ya", "29."], ALNUM, 60), "google-token"),
        ("{}", made(&["GOC", "SPX-"], ALNUM, 28), "google-secret"),
        ("ANTHROPIC_API_KEY={}", made(&["sk-", "ant-api03-"], ALNUM, 93), "anthropic-key"),
        ("OPENAI_API_KEY={}", made(&["sk-", "proj-"], ALNUM, 48), "openai-key"),
        ("key {}", made(&["sk", "-"], ALNUM, 48), "api-key"),
        ("{}", made(&["sk-", "or-v1-"], HEX, 64), "openrouter-key"),
        ("{}", made(&["h", "f_"], ALNUM, 34), "huggingface-token"),
        ("_authToken={}", made(&["np", "m_"], ALNUM, 36), "npm-token"),
        ("{}", made(&["dop", "_v1_"], HEX, 64), "digitalocean-token"),
        ("{}", format!("S{}.{}.{}", "G", fill(ALNUM, 22), fill(ALNUM, 43)), "sendgrid-key"),
        ("{}", made(&["hv", "s."], ALNUM, 40), "vault-token"),
        ("{}", made(&["AGE-SECRET", "-KEY-1"], UPPER, 58), "age-key"),
        (
            "bot {}",
            format!(
                "M{}.{}.{}",
                fill("TIzNDU2Nzg5MDEyMzQ1Njc4", 23),
                fill(ALNUM, 6),
                fill(ALNUM, 30)
            ),
            "discord-token",
        ),
        ("{}", made(&["sb", "p_"], HEX, 40), "supabase-key"),
        ("{}", made(&["ATA", "TT3xFfGF0"], ALNUM, 80), "atlassian-token"),
        ("{}", made(&["sntr", "ys_"], ALNUM, 64), "sentry-token"),
        ("{}", made(&["dp", ".pt."], ALNUM, 43), "doppler-token"),
        ("{}", format!("PM{}-{}-{}", "AK", fill(HEX, 24), fill(HEX, 34)), "postman-key"),
        ("{}", made(&["NR", "AK-"], UPPER, 27), "newrelic-key"),
        ("{}", made(&["psc", "ale_tkn_"], ALNUM, 43), "planetscale-token"),
        ("{}", made(&["fo", "1_"], ALNUM, 43), "fly-token"),
        ("{}", made(&["ke", "y-"], HEX, 32), "mailgun-key"),
        ("{}", format!("AAAA{}:AP{}{}", fill(ALNUM, 7), "A91b", fill(ALNUM, 134)), "firebase-key"),
        ("{}", format!("{}.atlas{}.{}", fill(ALNUM, 14), "v1", fill(ALNUM, 67)), "terraform-token"),
        ("cookie: session={}; path=/", jwt.clone(), "jwt"),
        ("Authorization: Bearer {}", jwt, "jwt"),
        ("curl -H 'Authorization: Bearer {}' x", fill(ALNUM, 40), "authorization"),
        ("\"authorization\": \"Basic {}\"", format!("{}==", fill(ALNUM, 22)), "authorization"),
        ("Authorization: Basic {}", "dXNlcjpwYXNz".to_owned(), "authorization"),
        ("sent bearer {} twice", fill(HEX, 40), "authorization"),
        ("postgres://app:{}@db.internal:5432/main", "hunter2".to_owned(), "password"),
        ("mongodb+srv://u:{}@cluster0.example.net", "p@ss:w0rd".to_owned(), "password"),
        ("redis://:{}@localhost:6379/0", fill(HEX, 24), "password"),
        ("postgres://app:{}@db/main", "%40hunter2".to_owned(), "password"),
        ("mysql://root:{}@db/main", "$ecr3t".to_owned(), "password"),
        ("password={}", "hunter2".to_owned(), "credential"),
        ("DB_PASSWORD: {}", "Tr0ub4dor&3".to_owned(), "credential"),
        ("password = \"{}\"", "a,b;c|d1<x>".to_owned(), "credential"),
        ("Server=db;User=sa;Password={};Timeout=3", "S3cr!t99".to_owned(), "credential"),
        ("{\"client_secret\": \"{}\"}", fill(ALNUM, 32), "credential"),
        ("client_secret={}", fill(HEX, 40), "credential"),
        ("api_key => '{}'", "550e8400-e29b-41d4-a716-446655440000".to_owned(), "credential"),
        ("tool --token {} run", fill(ALNUM, 32), "credential"),
        ("AccountKey={};x", format!("{}==", fill(ALNUM, 86)), "credential"),
        ("secret: pwd={}", "hunter2".to_owned(), "credential"),
        (r#""{\"password\": \"{}\"}""#, "hunter2x!".to_owned(), "credential"),
        ("API_TOKEN={}", fill(ALNUM, 2_000), "credential"),
        ("https://x.example/cb#access_token={}&state=ok", fill(ALNUM, 22), "credential"),
        ("the token: {}.", fill(ALNUM, 24), "credential"),
        ("before\n{}\nafter", block("RSA PRIVATE KEY"), "private-key"),
        ("{}", block("OPENSSH PRIVATE KEY"), "private-key"),
        ("{}", block("PRIVATE KEY"), "private-key"),
        ("{}", block("PGP PRIVATE KEY BLOCK"), "private-key"),
        ("key: \"{}\"", block("EC PRIVATE KEY").replace('\n', "\\n"), "private-key"),
        (
            "{}",
            block("PGP PRIVATE KEY BLOCK").replacen('\n', "\nComment: key of Ann (work)\n\n", 1),
            "private-key",
        ),
        ("    {}", block("PRIVATE KEY").replace('\n', "\n    "), "private-key"),
    ]
}

// agent-memory 10.11, 13.10
#[test]
fn secrets_are_masked_and_their_kind_is_named() {
    for (around, value, kind) in secrets() {
        let text = around.replacen("{}", &value, 1);
        let masked = mask(&text);
        let expected = around.replacen("{}", &format!("[REDACTED:{kind}]"), 1);
        assert_eq!(masked.text, expected, "{text}");
        assert_eq!(masked.counts.into_iter().collect::<Vec<_>>(), [(kind, 1)], "{text}");
        assert_eq!(mask(&expected).text, expected, "masked once is masked");
    }
}

#[test]
fn what_is_no_secret_stays() {
    let image = format!(
        "![x](data:image/png;base64,iVBORw0KGgo{}AIza{}=)",
        fill(ALNUM, 400),
        fill(ALNUM, 60)
    );
    let integrity = format!("integrity sha512-{}==", fill(ALNUM, 86));
    for text in [
        "plain words about a password and a token",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "git log 3f78685..89e6c98",
        "id 550e8400-e29b-41d4-a716-446655440000",
        "checksum = \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "\"shasum\": \"3f786850e387550fdab836ed7e6dc881de23001b\"",
        &integrity,
        &image,
        "password: required, at least 12 characters",
        "password: string",
        "password=${DB_PASSWORD}",
        "password=$DB_PASSWORD",
        "password = os.environ[\"DB_PASSWORD\"]",
        "password = config.database.password",
        "password=<your-password>",
        "password: ********",
        "password=changeme123",
        "const token = getAccessTokenFromStorage()",
        "token: parse_token_from_header",
        "token_count: 4096, max_tokens=200000",
        "secret_name: prod-db-credentials-2024",
        "api_key: your_api_key_here_1234567890",
        "API_KEY=xxxxxxxxxxxxxxxxxxxxxxxx",
        "colon2_token: node.colon2_token,",
        "private_key: ed25519.Ed25519PrivateKey, other",
        "let raw_private_key: Curve25519SeedBin<'_> = private_key",
        "def __init__(self, password: bytes):",
        "fn login(password: &str, token: Option<Token2>)",
        "`Bearer Token`: https://tools.example.org/html/rfc6750",
        r"Access-Control-Allow-Credentials: hell\0o\r\nBread: x",
        "Is that the password: really?",
        "the secret santa list",
        "postgres://user:password@localhost/db",
        "postgres://app:${PGPASSWORD}@db/main",
        "postgres://app@db.internal:5432/main",
        "http://localhost:8080/path@v2",
        "https://example.com:443/a?b=c@d",
        "git@github.com:acme/api.git",
        "Authorization: Bearer <token>",
        "Authorization: Bearer $TOKEN",
        "Authorization: Basic authentication is required",
        "Authorization: token access_token_of_the_user",
        "use bearer authentication-with-tokens here",
        "class=\"sk-fading-circle sk-cube-grid-container-inner\"",
        "xoxb-your-token-here",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQ\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----\nMIIBIjANBgkqhkiG9w0BAQ\n-----END CERTIFICATE-----",
        "grep for -----BEGIN RSA PRIVATE KEY----- in the repository!",
        "sk-learn and scikit-learn, gsk_ and ghp_ are prefixes",
        "eyJhbGciOiJub25lIn0 is a header",
        "src/auth/token.rs:120: let secret = derive(&key);",
        "見てください: パスワード=秘密",
    ] {
        let masked = mask(text);
        assert_eq!(masked.text, text);
        assert!(masked.counts.is_empty());
    }
}

#[test]
fn a_key_block_that_is_cut_off_is_masked_as_far_as_it_goes() {
    let head = format!("-----{} PRIVATE KEY-----", "BEGIN");
    let text = format!("{head}\n{}\n{}\n\nThis is prose again.", fill(ALNUM, 64), fill(HEX, 30));
    assert_eq!(mask(&text).text, "[REDACTED:private-key]\n\nThis is prose again.");
    let two = format!("{head}\n{}\n{head}\n{}", fill(ALNUM, 64), fill(HEX, 64));
    assert_eq!(mask(&two).text, "[REDACTED:private-key]\n[REDACTED:private-key]");
}

#[test]
fn the_words_of_a_mask_name_nothing() {
    let text = format!(
        "[REDACTED:github-token] {} and [REDACTED:password] {}",
        fill(HEX, 40),
        fill(ALNUM, 30)
    );
    assert_eq!(mask(&text).text, text);
}

#[test]
fn all_at_once_are_counted_apart() {
    let text: String = secrets()
        .iter()
        .map(|(around, value, _)| around.replacen("{}", value, 1) + "\n\n")
        .collect();
    let masked = mask(&text);
    for (_, value, _) in secrets() {
        assert!(!masked.text.contains(&value), "{value}");
    }
    assert_eq!(masked.counts["private-key"], 7);
    assert_eq!(masked.counts["github-token"], 3);
    assert_eq!(masked.counts.values().sum::<usize>(), secrets().len());
}

/// The engine reads a text once per search. These texts would make searches start over at every step if a rule looked
/// further than it consumes, and a megabyte of them would then take hours.
#[test]
fn a_megabyte_made_to_be_slow_is_read_all_the_same() {
    let head = format!("-----{} PRIVATE KEY-----\n", "BEGIN");
    for piece in ["eyJaaaaaaaaaaaa.", "a://b:c@", "sk-", &head, "=\""] {
        let text = piece.repeat(1_048_576 / piece.len());
        assert!(!mask(&text).text.is_empty());
    }
}

#[test]
fn repeated_beginnings_of_secrets_are_masked_once_and_for_all() {
    let head = format!("-----{} PRIVATE KEY-----\n", "BEGIN");
    for piece in [
        "eyJaaaaaaaaaaaa.",
        "password=",
        "a://b:c",
        "a://b:c@",
        "Bearer ",
        "sk-",
        "AKIA",
        "gh",
        &head,
        "data:;base64,",
        "=",
        "token: \"",
        "x",
        "token=",
        "token=1a",
        "authorization: bearer aaaaaaaa.",
        "-----BEGIN ",
        "\u{301}",
        "[REDACTED:",
        "secret secret ",
    ] {
        let text = piece.repeat(16_384 / piece.len());
        let once = mask(&text).text.into_owned();
        assert_eq!(mask(&once).text, once, "{piece}");
    }
}

/// The signs say which patterns read a text. As if all of them did, the outcome is the same.
#[test]
fn signs_leave_out_no_pattern_that_could_match() {
    for (around, value, _) in secrets() {
        let text = around.replacen("{}", &value, 1);
        for text in [text.clone(), format!("{text} {text}"), text.to_uppercase()] {
            assert_eq!(mask(&text), mask_by(&text, Signs::plainly), "{text}");
        }
    }
    for text in [include_str!("mod.rs"), include_str!("surroundings.rs"), include_str!("tests.rs")]
    {
        assert_eq!(mask(text), mask_by(text, Signs::plainly));
    }
}

proptest! {
    #[test]
    fn signs_change_nothing(
        parts in prop::collection::vec(
            prop_oneof![
                (any::<prop::sample::Index>(), 0_usize..40).prop_map(|(which, cut)| {
                    let all = secrets();
                    let (around, value, _) = which.get(&all);
                    around.replacen("{}", value, 1).chars().skip(cut).collect::<String>()
                }),
                "[0-9 -]{10,24}", "[A-Za-z0-9/+]{36,44}", "[ \n=:\"']{1,3}", "\\PC{0,12}",
            ],
            0..8,
        )
    ) {
        let text = parts.concat();
        prop_assert_eq!(mask(&text), mask_by(&text, Signs::plainly));
    }

    #[test]
    fn a_known_token_is_found_in_any_surroundings(
        before in "[ \\n\"'(=:,A-Za-z]{0,12}[ \\n\"'(=:,]", after in "[ \\n\"'),.;][ -~]{0,12}",
        tail in "[A-Za-z0-9]{36}",
    ) {
        let token = format!("{}{}{tail}", "gh", "p_");
        let text = format!("{before}{token}{after}");
        prop_assert!(!mask(&text).text.contains(&tail), "{}", text);
    }

    #[test]
    fn masking_twice_changes_nothing(
        parts in prop::collection::vec(
            prop_oneof![
                Just("password=".to_owned()), Just("token: \"".to_owned()), Just("://u:".to_owned()),
                Just("@h".to_owned()),
                Just("Bearer ".to_owned()), Just("authorization: basic ".to_owned()), Just("[REDACTED".to_owned()),
                Just("]".to_owned()), Just("data:;base64,".to_owned()), Just("\n".to_owned()),
                Just(format!("-----{} PRIVATE KEY-----", "BEGIN")), "[A-Za-z0-9+/=]{4,40}", "\\PC{0,8}",
            ],
            0..12,
        )
    ) {
        let once = mask(&parts.concat()).text.into_owned();
        let again = mask(&once);
        prop_assert_eq!(&again.text, &once);
        prop_assert!(again.counts.is_empty());
    }
}
