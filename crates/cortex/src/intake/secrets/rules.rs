//! Tokens that their issuers made recognisable.
//!
//! One line per form: kind, pattern, and whether the value must also look random because words can have that form. Must
//! stay true: patterns are bounded or end with a run of one class of characters, so each search reads a text once.

use std::sync::LazyLock;

use regex::Regex;

use super::Span;
use super::randomness::is_random;

/// What a match must prove beside its form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proof {
    Form,
    Random,
}

use Proof::{Form, Random};

const RULES: [(&str, Proof, &str); 37] = [
    ("aws-key", Form, r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    ("github-token", Form, r"gh[pousr]_[A-Za-z0-9]{30,255}"),
    ("github-token", Form, r"github_pat_[A-Za-z0-9_]{40,255}"),
    (
        "gitlab-token",
        Form,
        r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|imt|ffct|oas)-[A-Za-z0-9_.-]{20,}",
    ),
    ("slack-token", Random, r"\bxox[abceoprs]-[A-Za-z0-9.-]{10,}"),
    ("slack-token", Form, r"\bxapp-[0-9]-[A-Za-z0-9]{5,}-[A-Za-z0-9-]{10,}"),
    (
        "slack-webhook",
        Form,
        r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,}",
    ),
    ("stripe-key", Form, r"\b[srp]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("stripe-key", Form, r"\bwhsec_[A-Za-z0-9+/=]{24,}"),
    ("google-key", Form, r"\bAIza[0-9A-Za-z_-]{35}"),
    ("google-token", Form, r"\bya29\.[0-9A-Za-z_-]{20,}"),
    ("google-secret", Form, r"\bGOCSPX-[0-9A-Za-z_-]{20,}"),
    ("anthropic-key", Form, r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    ("openai-key", Form, r"\bsk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}"),
    ("openrouter-key", Form, r"\bsk-or-v1-[0-9a-f]{32,}"),
    ("api-key", Random, r"\bsk-[A-Za-z0-9_-]{20,}"),
    ("api-key", Form, r"\bgsk_[A-Za-z0-9]{40,}"),
    ("api-key", Random, r"\b(?:xai|pplx)-[A-Za-z0-9]{30,}"),
    ("api-key", Form, r"\br8_[A-Za-z0-9]{30,}"),
    ("huggingface-token", Random, r"\bhf_[A-Za-z0-9]{30,}"),
    ("npm-token", Form, r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("pypi-token", Form, r"\bpypi-Ag[A-Za-z0-9_-]{50,}"),
    ("crates-token", Form, r"\bcio[A-Za-z0-9]{32}\b"),
    ("docker-token", Form, r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    ("digitalocean-token", Form, r"\bdo[opr]_v1_[0-9a-f]{64}"),
    ("sendgrid-key", Form, r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    ("twilio-key", Form, r"\bSK[0-9a-f]{32}\b"),
    ("telegram-token", Random, r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{32,33}\b"),
    ("vault-token", Form, r"\bhv[bsr]\.[A-Za-z0-9_-]{24,}"),
    ("age-key", Form, r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}"),
    ("shopify-token", Form, r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    ("databricks-token", Form, r"\bdapi[0-9a-f]{32}\b"),
    ("grafana-token", Form, r"\bgl(?:sa|c)_[A-Za-z0-9+/=_]{32,}"),
    ("linear-key", Form, r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    ("notion-token", Random, r"\bntn_[A-Za-z0-9]{40,}"),
    ("azure-signature", Form, r"[?&]sig=[A-Za-z0-9%+/]{40,}=*"),
    (
        "jwt",
        Form,
        r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]{4,}){0,2}",
    ),
];

static COMPILED: LazyLock<Vec<(&'static str, Proof, Regex)>> = LazyLock::new(|| {
    // Tokens are ASCII, so are their boundaries; Unicode ones would slow every text with an accent in it.
    let ascii = |text: &str| text.replace(r"\b", r"(?-u:\b)");
    let compile = |text| Regex::new(&ascii(text)).expect("the patterns of this table are valid");
    RULES.into_iter().map(|(kind, proof, text)| (kind, proof, compile(text))).collect()
});

/// Every token of a known form. Where two forms claim the same text, the first of the table names it.
pub(super) fn find(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    for (kind, proof, pattern) in COMPILED.iter() {
        let found = pattern.find_iter(text);
        let proven = found.filter(|found| *proof == Form || is_random(found.as_str()));
        spans.extend(proven.map(|found| Span { range: found.range(), kind }));
    }
    spans
}
