//! Who may come in: tokens of administrators and of actors, with an end and a way to take them back.
//!
//! What must stay true: a token itself is kept nowhere; it is looked up by its hash, so that the time it takes says
//! nothing about tokens that are there. What was taken back, or is past its end, counts nowhere any more once the time
//! for which an answer is remembered is over.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use proof::Digest;
use proof::actor::ActorName;
use proof::digest::encode_hex;
use tokio_postgres::Client;

use crate::error::{Error, Result, text_of};
use crate::ledger::PostgresLedger;

/// What a token starts with, so that people and programs see what it is.
const PREFIX: &str = "ct_";
/// How long an answer about a token is remembered: a revocation is seen everywhere after this long.
const REMEMBERED: Duration = Duration::from_millis(500);
/// Tokens that are remembered at once.
const REMEMBERED_MAX: usize = 8_192;
/// Bytes of a label, and of a pattern.
const TEXT_BYTES_MAX: usize = 128;
/// Tokens in one list.
const LISTED_MAX: i64 = 10_000;

/// What a token lets do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenRole {
    /// Everything, for every actor.
    Administrator,
    /// What an owner does with its memory, for the actors it names.
    Actor,
}

impl TokenRole {
    pub fn name(self) -> &'static str {
        match self {
            TokenRole::Administrator => "administrator",
            TokenRole::Actor => "actor",
        }
    }

    fn parse(text: &str) -> Option<TokenRole> {
        [TokenRole::Administrator, TokenRole::Actor].into_iter().find(|role| role.name() == text)
    }
}

/// A token to be made.
#[derive(Clone, Debug)]
pub struct TokenDraft {
    pub role: TokenRole,
    /// An actor, or a pattern in which `*` stands for anything.
    pub actors: String,
    pub label: String,
    pub lives: Option<Duration>,
}

impl TokenDraft {
    pub fn for_actors(actors: &str) -> TokenDraft {
        TokenDraft {
            role: TokenRole::Actor,
            actors: actors.to_owned(),
            label: String::new(),
            lives: None,
        }
    }
}

/// A token that was made; it is told once.
#[derive(Clone, Debug)]
pub struct IssuedToken {
    pub token: String,
    pub id: String,
}

/// What a list says of a token. Times are milliseconds since 1970.
#[derive(Clone, Debug)]
pub struct TokenRow {
    pub id: String,
    pub role: String,
    pub actors: String,
    pub label: String,
    pub made: i64,
    pub expires: Option<i64>,
    pub revoked: Option<i64>,
}

/// Who shows a token that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenAccess {
    pub id: String,
    pub role: TokenRole,
    pub actors: String,
}

impl TokenAccess {
    pub fn is_administrator(&self) -> bool {
        self.role == TokenRole::Administrator
    }

    pub fn allows(&self, actor: &str) -> bool {
        self.is_administrator() || matches(&self.actors, actor)
    }

    /// The one actor it is for, if it is for one.
    pub fn only_actor(&self) -> Option<&str> {
        (!self.is_administrator() && !self.actors.contains('*')).then_some(&*self.actors)
    }

    /// As one node tells another, under a seal.
    pub(crate) fn told(&self) -> String {
        format!("{} {} {}", self.role.name(), self.id, self.actors)
    }

    pub(crate) fn heard(text: &str) -> Option<TokenAccess> {
        let mut parts = text.splitn(3, ' ');
        let role = TokenRole::parse(parts.next()?)?;
        let (id, actors) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        Some(TokenAccess { id, role, actors })
    }
}

/// Does a pattern name the actor? `*` stands for any characters.
fn matches(pattern: &str, actor: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| actor.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(place) = rest.find(part) else { return false };
        rest = &rest[place + part.len()..];
    }
    rest.ends_with(last)
}

fn check_pattern(pattern: &str) -> Result<()> {
    let is_fine =
        pattern.len() <= TEXT_BYTES_MAX && ActorName::parse(&pattern.replace('*', "x")).is_ok();
    if is_fine {
        return Ok(());
    }
    let why = "an actor, or a pattern of names in which * stands for anything, such as team-*";
    Err(Error::Invalid(format!("{pattern:?} is not {why}")))
}

fn hash_of(token: &str) -> Digest {
    Digest::of("cortex/ledger-token/1", &[token.as_bytes()])
}

fn draw<const N: usize>() -> Result<[u8; N]> {
    let mut drawn = [0; N];
    getrandom::fill(&mut drawn).map_err(|error| Error::Invalid(error.to_string()))?;
    Ok(drawn)
}

pub(crate) async fn issue(client: &Client, draft: &TokenDraft) -> Result<IssuedToken> {
    check_pattern(&draft.actors)?;
    if draft.label.len() > TEXT_BYTES_MAX {
        return Err(Error::Invalid(format!("a label has at most {TEXT_BYTES_MAX} bytes")));
    }
    let token = format!("{PREFIX}{}", encode_hex(&draw::<32>()?));
    let id = encode_hex(&draw::<6>()?);
    let hash = hash_of(&token);
    let lives = draft.lives.map(|lives| i64::try_from(lives.as_secs()).unwrap_or(i64::MAX / 2));
    client
        .execute(
            "INSERT INTO cortex.token (hash, id, role, actors, label, made, expires) \
             VALUES ($1, $2, $3, $4, $5, now(), now() + $6::int8 * interval '1 second')",
            &[
                &hash.as_bytes().as_slice(),
                &id,
                &draft.role.name(),
                &draft.actors,
                &draft.label,
                &lives,
            ],
        )
        .await
        .map_err(|error| Error::Refused(text_of(&error)))?;
    Ok(IssuedToken { token, id })
}

impl PostgresLedger {
    pub async fn issue_token(&self, draft: &TokenDraft) -> Result<IssuedToken> {
        check_pattern(&draft.actors)?;
        let lease = self.pool.lease(Instant::now() + crate::settings::QUESTION_WAIT).await?;
        let issued = issue(&lease.connection.client, draft).await?;
        lease.keep();
        Ok(issued)
    }

    /// Every token, the newest first, without what they are.
    pub async fn tokens(&self) -> Result<Vec<TokenRow>> {
        let sql = "SELECT id, role, actors, label, (extract(epoch from made) * 1000)::int8, \
                   (extract(epoch from expires) * 1000)::int8, (extract(epoch from revoked) * 1000)::int8 \
                   FROM cortex.token ORDER BY made DESC, id LIMIT $1";
        let rows = self.pool.rows(sql, &[&LISTED_MAX]).await?;
        let row = |row: &tokio_postgres::Row| TokenRow {
            id: row.get(0),
            role: row.get(1),
            actors: row.get(2),
            label: row.get(3),
            made: row.get(4),
            expires: row.get(5),
            revoked: row.get(6),
        };
        Ok(rows.iter().map(row).collect())
    }

    /// Takes a token back. False: there is none of this id that counts.
    pub async fn revoke_token(&self, id: &str) -> Result<bool> {
        let sql = "UPDATE cortex.token SET revoked = now() WHERE id = $1 AND revoked IS NULL";
        Ok(self.pool.change(sql, &[&id]).await? > 0)
    }

    /// Keeps what a node keeps of a grant's token, so that the token counts at every node.
    pub async fn keep_bearer(&self, name: &str, kept: &[u8]) -> Result<()> {
        let sql = "INSERT INTO cortex.bearer (name, kept, made) VALUES ($1, $2, now()) \
                   ON CONFLICT (name) DO NOTHING";
        self.pool.change(sql, &[&name, &kept]).await.map(drop)
    }

    /// What is kept of a grant's token.
    pub async fn find_bearer(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let found =
            self.pool.row("SELECT kept FROM cortex.bearer WHERE name = $1", &[&name]).await?;
        Ok(found.map(|row| row.get(0)))
    }

    async fn find_token(&self, hash: &Digest) -> Result<Option<TokenAccess>> {
        let sql = "SELECT id, role, actors FROM cortex.token WHERE hash = $1 \
                   AND revoked IS NULL AND (expires IS NULL OR expires > now())";
        let found = self.pool.row(sql, &[&hash.as_bytes().as_slice()]).await?;
        let access = |row: tokio_postgres::Row| {
            let role = TokenRole::parse(row.get(1))?;
            Some(TokenAccess { id: row.get(0), role, actors: row.get(2) })
        };
        Ok(found.and_then(access))
    }
}

/// By the digest of a token: when it was asked for, and what it gives access to.
type TokenAnswers = HashMap<[u8; 32], (Instant, Option<TokenAccess>)>;

/// Answers about tokens that are fresh enough to be told again.
#[derive(Debug, Default)]
pub(crate) struct TokenCache {
    known: Mutex<TokenAnswers>,
}

impl TokenCache {
    pub(crate) async fn find(
        &self,
        ledger: &PostgresLedger,
        token: &str,
    ) -> Result<Option<TokenAccess>> {
        if !token.starts_with(PREFIX) {
            return Ok(None);
        }
        let hash = hash_of(token);
        let asked = Instant::now();
        if let Some((at, found)) = self.known().get(hash.as_bytes())
            && at.elapsed() < REMEMBERED
        {
            return Ok(found.clone());
        }
        let found = ledger.find_token(&hash).await?;
        let mut known = self.known();
        if known.len() >= REMEMBERED_MAX {
            known.retain(|_, (at, _)| at.elapsed() < REMEMBERED);
        }
        if known.len() < REMEMBERED_MAX {
            known.insert(*hash.as_bytes(), (asked, found.clone()));
        }
        Ok(found)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, TokenAnswers> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    // cluster 15
    #[test]
    fn a_pattern_names_what_it_says_and_nothing_else() {
        for (pattern, yes, no) in [
            ("ada", vec!["ada"], vec!["ad", "adam", "b"]),
            ("team-*", vec!["team-", "team-a"], vec!["team", "x-team-a"]),
            ("*", vec!["ada", "x"], vec![]),
            ("a*b*c", vec!["abc", "axbxc", "abbc"], vec!["ab", "acb", "abcd"]),
            ("a*a", vec!["aa", "aba"], vec!["a"]),
        ] {
            assert!(yes.iter().all(|name| matches(pattern, name)), "{pattern}");
            assert!(!no.iter().any(|name| matches(pattern, name)), "{pattern}");
        }
        assert!(check_pattern("team-*").is_ok() && check_pattern("*").is_ok());
        for wrong in ["", "Ada", "a/b", "../x"] {
            assert!(check_pattern(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_one_node_tells_another_reads_back() {
        for (role, actors) in [(TokenRole::Administrator, "*"), (TokenRole::Actor, "team-*")] {
            let access = TokenAccess { id: "ab12".to_owned(), role, actors: actors.to_owned() };
            assert_eq!(TokenAccess::heard(&access.told()), Some(access));
        }
        assert_eq!(TokenAccess::heard("king x *"), None);
    }
}
