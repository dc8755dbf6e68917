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
static RULES: [Rule; 107] = [
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
    rule("slack-token", Random, &["xox"], r"\bxox[abcdeoprs]-[A-Za-z0-9.-]{10,}"),
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
    rule("google-token", Random, &["1//0"], r"\b1//0[A-Za-z0-9_-]{40,}").followed_by(40),
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
    rule("telegram-token", Random, &[":AA"], r"(?:\b|bot)[0-9]{8,10}:AA[A-Za-z0-9_-]{32,33}\b"),
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
    rule("adafruit-key", Random, &["aio_"], r"\baio_[A-Za-z0-9]{28}\b").followed_by(28),
    rule("adobe-secret", Random, &["p8e-"], r"\bp8e-[A-Za-z0-9_-]{28,32}\b").followed_by(28),
    rule("alibaba-key", Random, &["LTAI"], r"\bLTAI[A-Za-z0-9]{12,24}\b").followed_by(12),
    rule(
        "artifactory-token",
        Random,
        &["AKCp", "cmVmd"],
        r"\b(?:AKCp|cmVmd)[A-Za-z0-9]{55,}",
    ).followed_by(55),
    rule(
        "aws-session-token",
        Random,
        &["IQoJb3JpZ2lu", "FwoGZXIvYXdz", "FQoGZXIvYXdz"],
        r"\b(?:IQoJb3JpZ2lu|F[wQ]oGZXIvYXdz)[A-Za-z0-9/+=]{100,}",
    ),
    rule("aws-key", Random, &["ABSK"], r"\bABSK[A-Za-z0-9+/]{100,}={0,2}").followed_by(100),
    rule(
        "azure-secret",
        Random,
        &["0Q~", "1Q~", "2Q~", "3Q~", "4Q~", "5Q~", "6Q~", "7Q~", "8Q~", "9Q~"],
        r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}",
    ),
    rule("bitbucket-token", Random, &["ATBB"], r"\bATBB[A-Za-z0-9_=.-]{24,}").followed_by(24),
    rule("clojars-token", Form, &["CLOJARS_"], r"\bCLOJARS_[A-Za-z0-9]{60}"),
    rule("cloudflare-key", Form, &["v1.0-"], r"\bv1\.0-[0-9a-f]{24}-[0-9a-f]{146}"),
    rule("dropbox-token", Random, &["sl."], r"\bsl\.(?:u\.)?[A-Za-z0-9_=-]{120,}").followed_by(120),
    rule("duffel-token", Form, &["duffel_"], r"\bduffel_(?:test|live)_[A-Za-z0-9_=-]{40,}"),
    rule("easypost-key", Random, &["EZAK", "EZTK"], r"\bEZ[AT]K[A-Za-z0-9]{54}").followed_by(54),
    rule("facebook-token", Random, &["EAA"], r"\bEAA[A-Za-z0-9_-]{57,}").followed_by(57),
    rule("flutterwave-key", Form, &["FLWSECK"], r"\bFLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}"),
    rule("frameio-token", Form, &["fio-u-"], r"\bfio-u-[A-Za-z0-9_=-]{60,}"),
    rule("gocardless-token", Random, &["live_"], r"\blive_[A-Za-z0-9-]{35,}").followed_by(35),
    rule("grafana-token", Form, &["eyJrIjoi"], r"\beyJrIjoi[A-Za-z0-9]{70,400}={0,3}"),
    rule(
        "harness-token",
        Form,
        &["pat.", "sat."],
        r"\b[ps]at\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}\b",
    ).followed_by(22),
    rule(
        "hubspot-token",
        Form,
        &["pat-na", "pat-eu"],
        r"\bpat-(?:na|eu)[0-9]-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}",
    ),
    rule("infracost-key", Random, &["ico-"], r"\bico-[A-Za-z0-9]{32}\b").followed_by(32),
    rule(
        "mailchimp-key",
        Form,
        &["-us1", "-us2", "-us3", "-us4", "-us5", "-us6", "-us7", "-us8", "-us9"],
        r"\b[0-9a-f]{32}-us[0-9]{1,2}\b",
    ),
    rule(
        "mapbox-token",
        Form,
        &["pk.eyJ", "sk.eyJ", "tk.eyJ"],
        r"\b[pst]k\.eyJ[A-Za-z0-9_-]{40,}\.[A-Za-z0-9_-]{20,}",
    ),
    rule("maxmind-key", Form, &["_mmk"], r"\b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk\b"),
    rule(
        "teams-webhook",
        Form,
        &["webhook.office.com"],
        r"https://[a-z0-9-]{1,60}\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/-]{60,}",
    ),
    rule(
        "discord-webhook",
        Form,
        &["webhooks/"],
        r"\bdiscord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/[0-9]{16,20}/[A-Za-z0-9_-]{60,}",
    ),
    rule("octopus-key", Random, &["API-"], r"\bAPI-[A-Z0-9]{25,32}\b").followed_by(25),
    rule("openshift-token", Form, &["sha256~"], r"\bsha256~[A-Za-z0-9_-]{43}"),
    rule("1password-token", Form, &["ops_eyJ"], r"\bops_eyJ[A-Za-z0-9+/]{100,}={0,3}"),
    rule(
        "1password-key",
        Form,
        &["A3-"],
        r"\bA3-[A-Z0-9]{6}-[A-Z0-9]{6}-?[A-Z0-9]{5}(?:-[A-Z0-9]{5}){3}\b",
    ).followed_by(6),
    rule(
        "plaid-token",
        Form,
        &["access-"],
        r"\baccess-(?:sandbox|development|production)-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}",
    ).followed_by(30),
    rule("prefect-key", Random, &["pnu_"], r"\bpnu_[A-Za-z0-9]{36}\b").followed_by(36),
    rule("readme-key", Form, &["rdme_"], r"\brdme_[a-z0-9]{70}"),
    rule("scalingo-token", Form, &["tk-us-"], r"\btk-us-[A-Za-z0-9_-]{48}"),
    rule("shippo-token", Form, &["shippo_"], r"\bshippo_(?:live|test)_[0-9A-Fa-f]{40}"),
    rule("sonar-token", Form, &["squ_", "sqp_", "sqa_"], r"\bsq[upa]_[0-9a-f]{40}\b"),
    rule("typeform-token", Random, &["tfp_"], r"\btfp_[A-Za-z0-9_.=-]{40,}").followed_by(40),
    rule("yandex-key", Random, &["AQVN"], r"\bAQVN[A-Za-z0-9_-]{35,38}\b").followed_by(35),
    rule(
        "twitter-token",
        Random,
        &["AAAAAAAAAAAAAAAAAAAA"],
        r"\bA{20,24}[B-Zb-z0-9%][A-Za-z0-9%]{70,110}\b",
    ),
    rule("nuget-key", Random, &["oy2"], r"\boy2[a-z0-9]{43}\b").followed_by(43),
    rule("razorpay-key", Random, &["rzp_"], r"\brzp_(?:live|test)_[A-Za-z0-9]{14,}"),
    rule(
        "jetbrains-token",
        Form,
        &["perm:", "perm-"],
        r"\bperm[:-][A-Za-z0-9+/=_-]{2,60}\.[A-Za-z0-9+/=_-]{2,80}\.[A-Za-z0-9]{20,}",
    ),
    rule(
        "api-key",
        Random,
        &["nvapi-", "pcsk_", "tvly-", "jina_", "csk-", "fw_", "lsv2_", "napi_", "sk_", "fc-"],
        r"\b(?:nvapi-|pcsk_|tvly-|jina_|csk-|fw_|lsv2_|napi_|sk_|fc-)[A-Za-z0-9_-]{24,}",
    ).followed_by(24),
    rule("resend-key", Random, &["re_"], r"\bre_[A-Za-z0-9]{7,10}_[A-Za-z0-9]{20,}").followed_by(27),
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

#[cfg(test)]
mod tests {
    use crate::secrets::mask;

    fn fill(alphabet: &str, count: usize) -> String {
        alphabet.chars().cycle().take(count).collect()
    }

    // S30: made of parts, so that nothing here looks like a secret to a scanner.
    #[test]
    fn tokens_of_many_issuers_are_masked() {
        let mixed = |count| fill("aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAbC", count);
        let hex = |count| fill("0a1b2c3d4e5f69788796a5b4c3d2e1f0", count);
        let upper = |count| fill("A1B2C3D4E5F6G7H8J9K0", count);
        let small = |count| fill("a1b2c3d4e5f6g7h8j9k0mnpqrs", count);
        let uuid = "550e8400-e29b-41d4-a716-446655440000";
        for (start, rest) in [
            ("aio_", mixed(28)),
            ("p8e-", small(32)),
            ("LTAI", mixed(20)),
            ("AKCp", mixed(69)),
            ("cmVmd", mixed(59)),
            ("IQoJb3JpZ2luX2Vj", mixed(200)),
            ("ABSK", mixed(128)),
            ("a1B8Q~", mixed(34)),
            ("ATBB", mixed(32)),
            ("CLOJARS_", small(60)),
            ("v1.0-", format!("{}-{}", hex(24), hex(146))),
            ("sl.", mixed(137)),
            ("duffel_live_", mixed(43)),
            ("EZAK", mixed(54)),
            ("EAAC", mixed(150)),
            ("FLWSECK_TEST-", hex(32)),
            ("fio-u-", mixed(64)),
            ("live_", mixed(40)),
            ("eyJrIjoi", mixed(84)),
            ("pat.", format!("{}.{}.{}", mixed(22), mixed(24), mixed(20))),
            ("pat-eu1-", uuid.to_owned()),
            ("ico-", mixed(32)),
            ("", format!("{}-us14", hex(32))),
            ("sk.eyJ1Ijoi", format!("{}.{}", mixed(60), mixed(22))),
            ("", format!("{}_{}_mmk", mixed(6), mixed(29))),
            ("API-", upper(26)),
            ("sha256~", mixed(43)),
            ("ops_eyJ", mixed(260)),
            ("access-production-", uuid.to_owned()),
            ("pnu_", mixed(36)),
            ("rdme_", small(70)),
            ("tk-us-", mixed(48)),
            ("shippo_live_", hex(40)),
            ("squ_", hex(40)),
            ("tfp_", mixed(59)),
            ("AQVN", mixed(36)),
            ("AAAAAAAAAAAAAAAAAAAAA", fill("cB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0z%3D", 90)),
            ("oy2", small(43)),
            ("rzp_live_", mixed(14)),
            ("perm:", format!("{}.{}.{}", mixed(8), mixed(12), mixed(26))),
            ("nvapi-", mixed(64)),
            ("pcsk_", mixed(70)),
            ("re_", format!("{}_{}", mixed(8), mixed(24))),
            ("1//0", mixed(90)),
            ("bot712345678:AA", mixed(33)),
            ("https://discord.com/api/webhooks/1183746251938475620/", mixed(68)),
            ("https://acme.webhook.office.com/webhookb2/", format!("{uuid}@{uuid}/x/{}", hex(32))),
        ] {
            let text = format!("the value {start}{rest} was used");
            let masked = mask(&text);
            assert!(!masked.text.contains(&rest), "{start}: {}", masked.text);
            assert!(masked.text.ends_with(" was used"), "{start}: {}", masked.text);
        }
    }

    #[test]
    fn words_that_begin_like_a_token_stay() {
        for text in [
            "fc-button-group fc-timegrid-slot-label-cushion-wide",
            "sk_buff_head_init_with_a_very_long_name re_compile_pattern_and_search_again",
            "ico-arrow-left-circle-outline-large aio_context_acquire_and_then_release",
            "live_migration_of_the_guest_was_started_again pat.matches.something.else",
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJl3dIeudNqd0OMYYVZ7Rr3yfJ2TsyIBxZHjfZdXtWqC ann",
            "access-control-allow-origin access-production-database-of-the-customer",
        ] {
            assert_eq!(mask(text).text, text);
        }
    }
}
