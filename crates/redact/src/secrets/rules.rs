//! Tokens that their issuers made recognisable.
//!
//! One line per form: kind, what it has to prove, texts of which one is in every such token, pattern. Must stay true: a
//! pattern reads only a text that holds one of its texts, so that ordinary texts cost the one look of `signs`;
//! patterns are bounded or end with a run of one class of characters, so each search reads a text once.

use std::sync::OnceLock;

use regex::Regex;

use crate::secrets::Span;
use crate::secrets::randomness::is_random;
use crate::secrets::signs::{Pattern, Sign, Signs};

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
    /// Characters of a token that stand behind a sign at least: what makes one that words have, too, a seldom one.
    followed_by: usize,
    pattern: &'static str,
    compiled: OnceLock<Regex>,
}

const fn rule(
    kind: &'static str,
    proof: Proof,
    signs: &'static [&'static str],
    pattern: &'static str,
) -> Rule {
    Rule { kind, proof, signs, followed_by: 0, pattern, compiled: OnceLock::new() }
}

/// Where two forms claim the same text, the first names it.
static RULES: [Rule; 62] = [
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
    rule("npm-token", Form, &["npm_"], r"\bnpm_[A-Za-z0-9]{36}\b").followed_by(36),
    rule("pypi-token", Form, &["pypi-Ag"], r"\bpypi-Ag[A-Za-z0-9_-]{50,}"),
    rule("crates-token", Form, &["cio"], r"\bcio[A-Za-z0-9]{32}\b").followed_by(32),
    rule("docker-token", Form, &["dckr_"], r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    rule("digitalocean-token", Form, &["_v1_"], r"\bdo[opr]_v1_[0-9a-f]{64}"),
    rule("sendgrid-key", Form, &["SG."], r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    rule("twilio-key", Form, &["SK"], r"\bSK[0-9a-f]{32}\b").followed_by(32),
    rule("telegram-token", Random, &[":AA"], r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{32,33}\b"),
    rule("vault-token", Form, &["hvb.", "hvs.", "hvr."], r"\bhv[bsr]\.[A-Za-z0-9_-]{24,}"),
    rule("age-key", Form, &["AGE-SECRET-KEY-1"], r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}"),
    rule(
        "shopify-token",
        Form,
        &["shpat_", "shpca_", "shppa_", "shpss_"],
        r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    ),
    rule("databricks-token", Form, &["dapi"], r"\bdapi[0-9a-f]{32}\b").followed_by(32),
    rule("grafana-token", Form, &["glsa_", "glc_"], r"\bgl(?:sa|c)_[A-Za-z0-9+/=_]{32,}"),
    rule("linear-key", Form, &["lin_"], r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    rule("notion-token", Random, &["ntn_"], r"\bntn_[A-Za-z0-9]{40,}"),
    rule(
        "discord-token",
        Random,
        &["MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"],
        r"\b[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}",
    ).followed_by(22),
    rule(
        "supabase-key",
        Form,
        &["sbp_", "sb_secret_"],
        r"\b(?:sbp_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{20,})",
    ),
    rule("atlassian-token", Form, &["ATATT3", "ATCTT3"], r"\bAT[AC]TT3[A-Za-z0-9_=-]{40,}"),
    rule("sentry-token", Form, &["sntrys_", "sntryu_"], r"\bsntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    rule("doppler-token", Form, &["dp."], r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,}"),
    rule("postman-key", Form, &["PMAK-"], r"\bPMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    rule(
        "newrelic-key",
        Form,
        &["NRAK-", "NRJS-", "NRII-", "NRIQ-"],
        r"\bNR(?:AK|JS|II|IQ)-[A-Za-z0-9_-]{19,}",
    ),
    rule("planetscale-token", Form, &["pscale_"], r"\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{30,}"),
    rule(
        "fly-token",
        Form,
        &["fm1", "fm2_", "fo1_"],
        r"\bf(?:m[12][ar]?|o1)_[A-Za-z0-9+/=_-]{40,}",
    ),
    rule("mailgun-key", Form, &["key-"], r"\bkey-[0-9a-f]{32}\b").followed_by(32),
    rule("firebase-key", Form, &[":APA91b"], r"\bAAAA[A-Za-z0-9_-]{7}:APA91b[A-Za-z0-9_-]{80,}"),
    rule(
        "terraform-token",
        Form,
        &[".atlasv1."],
        r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}",
    ),
    rule("figma-token", Form, &["figd_"], r"\bfigd_[A-Za-z0-9_-]{40,}"),
    rule("airtable-token", Form, &["pat"], r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}\b").followed_by(15),
    rule("square-token", Form, &["sq0"], r"\bsq0[a-z]{3}-[A-Za-z0-9_-]{22,}"),
    rule("heroku-key", Form, &["HRKU-"], r"\bHRKU-[A-Za-z0-9_-]{30,}"),
    rule("netlify-token", Form, &["nfp_"], r"\bnfp_[A-Za-z0-9]{36,}"),
    rule(
        "tailscale-key",
        Form,
        &["tskey-"],
        r"\btskey-[a-z]{2,12}-[A-Za-z0-9]{8,}-[A-Za-z0-9]{16,}",
    ),
    rule("brevo-key", Form, &["xkeysib-"], r"\bxkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    rule("dynatrace-token", Form, &["dt0c01."], r"\bdt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    rule("pulumi-token", Form, &["pul-"], r"\bpul-[0-9a-f]{40}\b"),
    rule("rubygems-key", Form, &["rubygems_"], r"\brubygems_[0-9a-f]{48}\b"),
    rule("buildkite-token", Form, &["bkua_"], r"\bbkua_[0-9a-f]{40}\b"),
    rule("sourcegraph-token", Form, &["sgp_"], r"\bsgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}\b"),
    rule("circleci-token", Form, &["CCIPAT_"], r"\bCCIPAT_[A-Za-z0-9]{10,}_[0-9a-f]{40}\b"),
    rule("azure-signature", Form, &["sig="], r"[?&]sig=[A-Za-z0-9%+/]{40,}=*").followed_by(40),
    rule(
        "jwt",
        Form,
        &["eyJ"],
        r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]{4,}){0,2}",
    ).followed_by(10),
];

impl Rule {
    const fn followed_by(mut self, count: usize) -> Rule {
        self.followed_by = count;
        self
    }

    fn compiled(&self) -> &Regex {
        self.compiled.get_or_init(|| {
            // Tokens are ASCII, so are their boundaries; Unicode ones would slow every text with an accent in it.
            let ascii = self.pattern.replace(r"\b", r"(?-u:\b)");
            Regex::new(&ascii).expect("the patterns of this table are valid")
        })
    }
}

pub(super) fn signs() -> impl Iterator<Item = Sign> {
    RULES.iter().enumerate().flat_map(|(place, rule)| {
        let sign = move |text: &&'static str| Sign {
            followed_by: rule.followed_by,
            ..Sign::new(text, Pattern::Rule(place))
        };
        rule.signs.iter().map(sign)
    })
}

/// Every token of a known form.
pub(super) fn find(text: &str, signs: &Signs) -> Vec<Span> {
    let mut spans = Vec::new();
    if !signs.has_rules() {
        return spans;
    }
    for (place, rule) in RULES.iter().enumerate() {
        if signs.has(Pattern::Rule(place)) {
            let found = rule.compiled().find_iter(text);
            let proven = found.filter(|found| rule.proof == Form || is_random(found.as_str()));
            spans.extend(proven.map(|found| Span { range: found.range(), kind: rule.kind }));
        }
    }
    spans
}
