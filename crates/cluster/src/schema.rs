//! The tables of a ledger, in SQL that engines with PostgreSQL's protocol have in common.
//!
//! `journal` and `body` are the truth; everything else can be lost without losing a memory. No advisory locks,
//! triggers, extensions or serial columns. Bodies are keyed by their entry and not by their hash, so that erasing one
//! never takes away another that says the same.

use proof::journal::SCHEMA;

use crate::error::{Error, Result, text_of};
use crate::pool;
use crate::settings::LedgerSettings;
use crate::tables;
use crate::tokens::{self, TokenDraft, TokenRole};

/// The version of the tables.
pub const VERSION: i32 = tables::VERSION;
/// Parts of `journal` and `body` unless told otherwise.
pub const PARTS_DEFAULT: u32 = 16;
/// The most parts.
pub const PARTS_MAX: u32 = 256;

const OTHERS: &str = "
CREATE TABLE IF NOT EXISTS cortex.node (
  name text PRIMARY KEY, url text NOT NULL, instance text NOT NULL, version text NOT NULL, entries int NOT NULL,
  started timestamptz NOT NULL, seen timestamptz NOT NULL, actors int8 NOT NULL, lag int8 NOT NULL);
CREATE TABLE IF NOT EXISTS cortex.token (
  hash bytea PRIMARY KEY, id text NOT NULL UNIQUE, role text NOT NULL, actors text NOT NULL, label text NOT NULL,
  made timestamptz NOT NULL, expires timestamptz, revoked timestamptz);
CREATE TABLE IF NOT EXISTS cortex.bearer (name text PRIMARY KEY, kept bytea NOT NULL, made timestamptz NOT NULL);
CREATE TABLE IF NOT EXISTS cortex.secret (name text PRIMARY KEY, value bytea NOT NULL);
CREATE TABLE IF NOT EXISTS cortex.barrier (name text PRIMARY KEY, n int8 NOT NULL);
CREATE TABLE IF NOT EXISTS cortex.schema (version int PRIMARY KEY, entries int NOT NULL, made timestamptz NOT NULL);
";

fn journal(parts: u32) -> String {
    let tables = [
        ("journal", "actor text NOT NULL, seq int8 NOT NULL, entry bytea NOT NULL"),
        ("body", "actor text NOT NULL, seq int8 NOT NULL, sealed bytea NOT NULL"),
    ];
    let mut sql = "CREATE SCHEMA IF NOT EXISTS cortex;\n".to_owned();
    for (name, columns) in tables {
        let by = if parts == 0 { "" } else { " PARTITION BY HASH (actor)" };
        sql.push_str(&format!(
            "CREATE TABLE IF NOT EXISTS cortex.{name} ({columns}, PRIMARY KEY (actor, seq)){by};\n"
        ));
        for part in 0..parts {
            sql.push_str(&format!(
                "CREATE TABLE IF NOT EXISTS cortex.{name}_{part} PARTITION OF cortex.{name} \
                 FOR VALUES WITH (MODULUS {parts}, REMAINDER {part});\n"
            ));
        }
    }
    // Whose memory there is, without a look at every entry.
    sql.push_str(
        "CREATE INDEX IF NOT EXISTS journal_first ON cortex.journal (actor) WHERE seq = 1;\n",
    );
    sql
}

/// What `init` made.
#[derive(Clone, Debug)]
pub struct InitReport {
    /// An administrator's token, told once; its hash is kept.
    pub token: String,
    pub token_id: String,
    /// False: the tables were there, and only the token is new.
    pub is_new: bool,
    pub version: i32,
}

/// Makes the tables if they are not there, and an administrator's token in any case.
pub async fn init(settings: &LedgerSettings, parts: u32) -> Result<InitReport> {
    if parts > PARTS_MAX {
        return Err(Error::Invalid(format!("a table has at most {PARTS_MAX} parts")));
    }
    let mut client = pool::connect_plainly(settings).await?;
    let refused = |error: tokio_postgres::Error| Error::Refused(text_of(&error));
    let is_new = pool::version_of(&client).await?.is_none();
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|error| Error::Invalid(error.to_string()))?;
    if is_new {
        let made = client.transaction().await.map_err(refused)?;
        made.batch_execute(&journal(parts)).await.map_err(refused)?;
        made.batch_execute(OTHERS).await.map_err(refused)?;
        made.execute(
            "INSERT INTO cortex.secret (name, value) VALUES ('nodes', $1) ON CONFLICT (name) DO NOTHING",
            &[&secret.as_slice()],
        )
        .await
        .map_err(refused)?;
        let entries = i32::try_from(SCHEMA).unwrap_or(i32::MAX);
        made.execute(
            "INSERT INTO cortex.schema (version, entries, made) VALUES ($1, $2, now()) \
             ON CONFLICT (version) DO NOTHING",
            &[&VERSION, &entries],
        )
        .await
        .map_err(refused)?;
        made.commit().await.map_err(refused)?;
    } else {
        pool::check_version(&client).await?;
    }
    let draft = TokenDraft { role: TokenRole::Administrator, ..TokenDraft::for_actors("*") };
    let issued = tokens::issue(&client, &draft).await?;
    Ok(InitReport { token: issued.token, token_id: issued.id, is_new, version: VERSION })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_shards_by_itself_gets_plain_tables() {
        assert!(!journal(0).contains("PARTITION"));
        assert_eq!(journal(4).matches("PARTITION OF").count(), 8);
    }
}
