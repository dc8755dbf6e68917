//! The places in which a value is a secret, one row each: signs, kind, what the value must be, pattern.
//!
//! Must stay true: a pattern is bounded, its first group is the value alone, and one of its signs is in every match.

use std::sync::OnceLock;

use regex::Regex;

/// What a value in a place must be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Judge {
    /// Anything but a placeholder.
    Any,
    /// Nothing that stands for a type or is an everyday word of settings.
    NoType,
    /// Letters and digits in it.
    Mixed,
    /// What a person would choose as a password: letters with digits or signs.
    Password,
    Random,
    /// Random, and a hash counts too: in this place it is a secret's.
    RandomOrHash,
    /// Forty random characters of all sorts, of which no part is a word: nothing around it says what it is.
    Bare,
}

pub(super) struct Place {
    pub(super) signs: &'static [&'static str],
    pub(super) kind: &'static str,
    pub(super) judge: Judge,
    pattern: &'static str,
    /// Made when a text first has a sign: to make all takes longer than most commands.
    compiled: OnceLock<Regex>,
}

const fn place(
    signs: &'static [&'static str],
    kind: &'static str,
    judge: Judge,
    pattern: &'static str,
) -> Place {
    Place { signs, kind, judge, pattern, compiled: OnceLock::new() }
}

impl Place {
    pub(super) fn compiled(&self) -> &Regex {
        self.compiled
            .get_or_init(|| Regex::new(self.pattern).expect("the patterns of this file are valid"))
    }
}

pub(super) const AWS_KIND: &str = "aws-secret";
/// Forty characters of base64, on their own.
const AWS_SECRET: &str = r"(?:^|[^A-Za-z0-9/+=_.-])([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=_-]|$)";

pub(super) static PLACES: [Place; 30] = [
    place(
        &["assword", "assphrase", "asswort", "ASSWORD"],
        "password",
        Judge::NoType,
        concat!(
            r#"(?i)\b(?:password|passphrase|passwort)\s{1,4}(?:is|was|ist|"#,
            r#"lautet)\s{1,4}["'`]?([^\s"'`()\[\]{}<>]{6,})"#,
        ),
    ),
    place(
        &["assword:", "asswd:", "assphrase:"],
        "password",
        Judge::NoType,
        concat!(
            r#"(?im)^[ \t-]{0,40}[a-z_.-]{0,40}(?:password|passwd|passphrase):[ "#,
            r#"\t]{1,4}["']?([^\s"'`,;(){}<>\[\]|]{6,})["']?[ \t]*$"#,
        ),
    ),
    place(
        &["curl"],
        "password",
        Judge::Any,
        r#"\bcurl\b[^\n]{0,300}?\s(?:-u|--user)[ =]?["']?[^\s:"']{1,64}:([^\s"']{4,})"#,
    ),
    place(
        &["mysql", "mariadb"],
        "password",
        Judge::Any,
        r#"\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n]{0,200}?\s-p["']?([^\s"']{4,})"#,
    ),
    place(&["sshpass"], "password", Judge::Any, r#"\bsshpass\s+-p\s?["']?([^\s"']{4,})"#),
    place(
        &["machine "],
        "password",
        Judge::Any,
        r"\bmachine\s+\S{1,200}\s+login\s+\S{1,200}\s+password\s+(\S{4,})",
    ),
    place(
        &["ookie"],
        "cookie",
        Judge::RandomOrHash,
        r"(?i)\bcookie['\x22]?:[^\n]{0,2000}?[\w.-]{1,60}=([A-Za-z0-9%._~+/=-]{16,})",
    ),
    place(
        &["_TOKEN=", "_SECRET=", "_KEY=", "_PASSWD=", "_PASSWORD=", "_PASS=", "_PAT="],
        "credential",
        Judge::Mixed,
        r#"\b[A-Z][A-Z0-9_]{1,60}_(?:TOKEN|SECRET|KEY|PASSWD|PASSWORD|PASS|PAT)=["']?([A-Za-z0-9_+/=.~-]{8,})"#,
    ),
    place(&["aws", "AWS", "AKIA", "ASIA"], AWS_KIND, Judge::Random, AWS_SECRET),
    place(&[], AWS_KIND, Judge::Bare, AWS_SECRET),
    place(
        &["\"auth\""],
        "password",
        Judge::Random,
        r#""auth"\s{0,4}:\s{0,4}"([A-Za-z0-9+/]{16,}={0,2})""#,
    ),
    place(
        &[":5432:", ":*:"],
        "password",
        Judge::Any,
        r"(?m)^[a-zA-Z0-9.*-]+:(?:5432|\*):[a-zA-Z0-9_*-]+:[a-zA-Z0-9_*-]+:(\S{4,})$",
    ),
    place(
        &["docker", "podman", "helm", "skopeo", "buildah", "oras"],
        "password",
        Judge::Any,
        concat!(
            r"\b(?:docker|podman|helm|skopeo|buildah|oras)\b[^\n]{0,40}?\blogin\b[^\n]{0,200}?",
            r#"\s(?:-p|--password)[ =]["']?([^\s"']{4,})"#,
        ),
    ),
    place(
        &[
            "PGPASSWORD=",
            "MYSQL_PWD=",
            "REDISCLI_AUTH=",
            "SSHPASS=",
            "_PASSPHRASE=",
            "RESTIC_PASSWORD=",
        ],
        "password",
        Judge::Any,
        concat!(
            r"\b(?:PGPASSWORD|MYSQL_PWD|REDISCLI_AUTH|SSHPASS|[A-Z]{2,12}_PASSPHRASE|RESTIC_PASSWORD)=",
            r#"["']?([^\s"'`;]{4,})"#,
        ),
    ),
    place(
        &["redis-cli"],
        "password",
        Judge::Any,
        r#"\bredis-cli\b[^\n]{0,200}?\s(?:-a|--pass)[ =]["']?([^\s"']{4,})"#,
    ),
    place(
        &["smbclient", "rpcclient"],
        "password",
        Judge::Any,
        r#"\b(?:smb|rpc)client\b[^\n]{0,200}?\s-U[ =]?["']?[^\s%"']{1,64}%([^\s"']{4,})"#,
    ),
    place(&["pass:"], "password", Judge::Any, r#"\s-pass(?:in|out)?[ =]["']?pass:([^\s"']{4,})"#),
    place(
        &["ldap"],
        "password",
        Judge::Any,
        r#"\bldap(?:search|modify|add|delete|whoami|passwd)\b[^\n]{0,300}?\s-w ?["']?([^\s"']{4,})"#,
    ),
    place(
        &["sqlcmd", "osql", "bcp "],
        "password",
        Judge::Any,
        r#"\b(?:sqlcmd|osql|bcp)\b[^\n]{0,200}?\s-P ?["']?([^\s"']{4,})"#,
    ),
    place(
        &["htpasswd"],
        "password",
        Judge::Any,
        r#"\bhtpasswd\s+-[a-zA-Z]{0,6}b[a-zA-Z]{0,6}\s+\S{1,200}\s+\S{1,64}\s+["']?([^\s"']{4,})"#,
    ),
    place(
        &["sqlplus ", "oracle:thin:"],
        "password",
        Judge::Any,
        r#"(?:\bsqlplus\s+(?:-[A-Za-z]{1,8}\s+){0,3}|oracle:thin:)["']?[A-Za-z0-9_$#]{1,30}/([^\s@"'/]{4,64})@"#,
    ),
    place(
        &["--pass", "--pwd"],
        "password",
        Judge::Password,
        r#"\s--(?:password|passwd|passphrase|pass|pwd)[ =]["']?([^\s"'`$<\[]{6,})"#,
    ),
    place(
        &["_pass", "-pass", ".pass", "\"pass", "_PASS"],
        "credential",
        Judge::Mixed,
        concat!(
            r"(?i)(?:(?:db|ssh|become|sudo|smtp|mail|user|admin|root|ldap|redis|mysql|pg|postgres|ftp|proxy|",
            r#"api|wifi|svc|service|login|auth)[_.-]|")pass["']?\s{0,4}[:=]\s{0,4}["']?"#,
            r#"([^\s"'`,;(){}<>\[\]|]{6,})"#,
        ),
    ),
    place(
        &["assword>", "asswd>", "pwd>", "Pwd>", "ASSWORD>"],
        "password",
        Judge::Password,
        r"(?i)<[a-z:._-]{0,40}(?:password|passwd|pwd)>([^<>\s]{4,200})</",
    ),
    place(
        &[" value="],
        "password",
        Judge::Password,
        r#"(?i)(?:password|passwd|pwd)["']?\s{1,4}value=["']([^"'\s]{4,200})["']"#,
    ),
    place(
        &["_auth"],
        "password",
        Judge::Random,
        r#"(?m)^\S{0,200}_auth ?= ?["']?([A-Za-z0-9+/]{16,}={0,2})"#,
    ),
    place(
        &["asswort", "ennwort", "contrase", "mot de passe", "ot de passe", "密码", "口令"],
        "password",
        Judge::Mixed,
        concat!(
            r"(?i)(?:passwort|kennwort|contraseña|mot de passe|密码|口令)(?:\s{0,2}(?:[:：=]|是|为)|",
            r"\s{1,4}(?:ist|lautet|war|es|est))\s{0,4}[\x22'`“«„]{0,2}",
            r"([^\s\x22'`“”«»„()\[\]{}<>，。；,;]{6,})",
        ),
    ),
    place(
        &["pw:", "pw=", "PW:", "Pw:"],
        "password",
        Judge::Mixed,
        r#"(?i)\bpw[:=]\s{0,2}["'`]?([^\s"'`,;()\[\]{}<>]{6,})"#,
    ),
    place(
        &["uthorization", "UTHORIZATION", "-Signature=", "-signature="],
        "authorization",
        Judge::RandomOrHash,
        concat!(
            r#"(?i)(?:\bauthorization["']?\s{0,4}[:=]\s{0,4}["']?(?:[a-z][a-z0-9-]{1,20}\s{1,2})?"#,
            r"|\bx-(?:amz|goog)-signature=)([a-z0-9._~+/=-]{20,})",
        ),
    ),
    place(
        &["psk=", "psk =", "reshared", "Private-Lines:"],
        "private-key",
        Judge::Any,
        concat!(
            r#"(?:\bpsk ?= ?["']|\b[Pp]reshared-?[Kk]ey ?= ?|\bPrivate-Lines: [0-9]{1,3}\r?\n)"#,
            r"([^\s\x22']{8,63}(?:\r?\n[A-Za-z0-9+/=]{4,64}){0,60})",
        ),
    ),
];
