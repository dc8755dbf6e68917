//! Tokens that their issuers made recognisable.
//!
//! One line per form: kind, what it has to prove, texts of which one is in every such token, pattern. Must stay true: a
//! pattern is compiled only for a text that holds one of its texts, so that ordinary texts cost one plain search;
//! patterns are bounded or end with a run of one class of characters, so each search reads a text once.

use std::sync::{LazyLock, OnceLock};

use regex::Regex;

use crate::secrets::Span;
use crate::secrets::randomness::is_random;

/// What a match must prove beside its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Proof {
    /// Nothing: no words have this form.
    Form,
    /// That it looks random: words can have this form.
    Random,
}

use Proof::{Form, Random};

#[derive(Debug)]
struct Rule {
    kind: &'static str,
    proof: Proof,
    signs: &'static [&'static str],
    pattern: &'static str,
    compiled: OnceLock<Regex>,
}

const fn rule(
    kind: &'static str,
    proof: Proof,
    signs: &'static [&'static str],
    pattern: &'static str,
) -> Rule {
    Rule { kind, proof, signs, pattern, compiled: OnceLock::new() }
}

/// Where two forms claim the same text, the first names it.
static RULES: [Rule; 37] = [
    rule(
        "aws-key",
        Form,
        &["AKIA", "ASIA", "ABIA", "ACCA"],
        r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
    ),
    rule(
        "github-token",
        Form,
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        r"gh[pousr]_[A-Za-z0-9]{30,255}",
    ),
    rule("github-token", Form, &["github_pat_"], r"github_pat_[A-Za-z0-9_]{40,255}"),
    rule(
        "gitlab-token",
        Form,
        &[
            "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-",
            "glimt-", "glffct-", "gloas-",
        ],
        r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|imt|ffct|oas)-[A-Za-z0-9_.-]{20,}",
    ),
    rule("slack-token", Random, &["xox"], r"\bxox[abceoprs]-[A-Za-z0-9.-]{10,}"),
    rule("slack-token", Form, &["xapp-"], r"\bxapp-[0-9]-[A-Za-z0-9]{5,}-[A-Za-z0-9-]{10,}"),
    rule(
        "slack-webhook",
        Form,
        &["hooks.slack.com"],
        r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,}",
    ),
    rule("stripe-key", Form, &["k_live_", "k_test_"], r"\b[srp]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    rule("stripe-key", Form, &["whsec_"], r"\bwhsec_[A-Za-z0-9+/=]{24,}"),
    rule("google-key", Form, &["AIza"], r"\bAIza[0-9A-Za-z_-]{35}"),
    rule("google-token", Form, &["ya29."], r"\bya29\.[0-9A-Za-z_-]{20,}"),
    rule("google-secret", Form, &["GOCSPX-"], r"\bGOCSPX-[0-9A-Za-z_-]{20,}"),
    rule("anthropic-key", Form, &["sk-ant-"], r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    rule("openai-key", Form, &["sk-"], r"\bsk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}"),
    rule("openrouter-key", Form, &["sk-or-v1-"], r"\bsk-or-v1-[0-9a-f]{32,}"),
    rule("api-key", Random, &["sk-"], r"\bsk-[A-Za-z0-9_-]{20,}"),
    rule("api-key", Form, &["gsk_"], r"\bgsk_[A-Za-z0-9]{40,}"),
    rule("api-key", Random, &["xai-", "pplx-"], r"\b(?:xai|pplx)-[A-Za-z0-9]{30,}"),
    rule("api-key", Form, &["r8_"], r"\br8_[A-Za-z0-9]{30,}"),
    rule("huggingface-token", Random, &["hf_"], r"\bhf_[A-Za-z0-9]{30,}"),
    rule("npm-token", Form, &["npm_"], r"\bnpm_[A-Za-z0-9]{36}\b"),
    rule("pypi-token", Form, &["pypi-Ag"], r"\bpypi-Ag[A-Za-z0-9_-]{50,}"),
    rule("crates-token", Form, &["cio"], r"\bcio[A-Za-z0-9]{32}\b"),
    rule("docker-token", Form, &["dckr_"], r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    rule("digitalocean-token", Form, &["_v1_"], r"\bdo[opr]_v1_[0-9a-f]{64}"),
    rule("sendgrid-key", Form, &["SG."], r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    rule("twilio-key", Form, &["SK"], r"\bSK[0-9a-f]{32}\b"),
    rule("telegram-token", Random, &[":AA"], r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{32,33}\b"),
    rule("vault-token", Form, &["hvb.", "hvs.", "hvr."], r"\bhv[bsr]\.[A-Za-z0-9_-]{24,}"),
    rule("age-key", Form, &["AGE-SECRET-KEY-1"], r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}"),
    rule(
        "shopify-token",
        Form,
        &["shpat_", "shpca_", "shppa_", "shpss_"],
        r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    ),
    rule("databricks-token", Form, &["dapi"], r"\bdapi[0-9a-f]{32}\b"),
    rule("grafana-token", Form, &["glsa_", "glc_"], r"\bgl(?:sa|c)_[A-Za-z0-9+/=_]{32,}"),
    rule("linear-key", Form, &["lin_"], r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    rule("notion-token", Random, &["ntn_"], r"\bntn_[A-Za-z0-9]{40,}"),
    rule("azure-signature", Form, &["sig="], r"[?&]sig=[A-Za-z0-9%+/]{40,}=*"),
    rule(
        "jwt",
        Form,
        &["eyJ"],
        r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]{4,}){0,2}",
    ),
];

impl Rule {
    fn compiled(&self) -> &Regex {
        self.compiled.get_or_init(|| {
            // Tokens are ASCII, so are their boundaries; Unicode ones would slow every text with an accent in it.
            let ascii = self.pattern.replace(r"\b", r"(?-u:\b)");
            Regex::new(&ascii).expect("the patterns of this table are valid")
        })
    }
}

/// Any sign of any rule: what most texts are asked, and all they are asked.
static SIGNS: LazyLock<Regex> = LazyLock::new(|| {
    let signs = RULES.iter().flat_map(|rule| rule.signs).map(|sign| regex::escape(sign));
    let any = signs.collect::<Vec<_>>().join("|");
    Regex::new(&any).expect("escaped texts are a valid pattern")
});

/// Every token of a known form.
pub(super) fn find(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    if !SIGNS.is_match(text) {
        return spans;
    }
    for rule in &RULES {
        if rule.signs.iter().any(|sign| text.contains(sign)) {
            let found = rule.compiled().find_iter(text);
            let proven = found.filter(|found| rule.proof == Form || is_random(found.as_str()));
            spans.extend(proven.map(|found| Span { range: found.range(), kind: rule.kind }));
        }
    }
    spans
}
