//! `cortex ledger token`: who may come in.

use std::time::Duration;

use api::DEFAULT_ACTOR;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::PlaceArgs;
use crate::failure::{CommandResult, Failure};
use crate::output::{Output, plain};
use crate::wiring::ledger::{OpenLedger, TokenRow};

#[derive(Args, Debug)]
pub(crate) struct LedgerTokenArgs {
    #[command(subcommand)]
    step: TokenStep,
}

#[derive(Subcommand, Debug)]
enum TokenStep {
    /// Makes a token and prints it, once.
    ///
    /// JSON: {token, id, actors, administrator}
    Issue {
        /// An actor, or a pattern in which * stands for anything: ada, 'team-*' [default: default]
        actors: Option<String>,
        /// For everything: every actor, nodes, tokens, runs
        #[arg(long, conflicts_with = "actors")]
        administrator: bool,
        /// What it is for, shown in the list
        #[arg(long, value_name = "TEXT", default_value = "")]
        label: String,
        /// How long it counts: 90s, 15m, 8h or 30d [default: until it is revoked]
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Every token without its secret.
    ///
    /// JSON: [{id, role, actors, label, made, expires, revoked}]
    List {
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Takes a token back; every node knows within a second.
    ///
    /// JSON: {id, revoked}
    Revoke {
        /// Of the list
        id: String,
        #[command(flatten)]
        place: PlaceArgs,
    },
}

impl LedgerTokenArgs {
    pub(super) fn place(&self) -> &PlaceArgs {
        match &self.step {
            TokenStep::Issue { place, .. }
            | TokenStep::List { place }
            | TokenStep::Revoke { place, .. } => place,
        }
    }
}

pub(super) fn run(args: &LedgerTokenArgs, ledger: &OpenLedger, out: &mut Output) -> CommandResult {
    match &args.step {
        TokenStep::Issue { actors, administrator, label, expires, .. } => {
            let lives = expires.as_deref().map(lives).transpose()?;
            let everybody = if *administrator { "*" } else { DEFAULT_ACTOR };
            let actors = actors.as_deref().unwrap_or(everybody);
            let issued = ledger.issue(actors, *administrator, label, lives)?;
            let view = json!({
                "token": issued.token, "id": issued.id, "actors": actors,
                "administrator": administrator,
            });
            out.either(&view, &issued.token)
        }
        TokenStep::List { .. } => {
            let tokens = ledger.tokens()?;
            if out.is_json() {
                let view = |row: &TokenRow| {
                    json!({
                        "id": row.id, "role": row.role, "actors": row.actors, "label": row.label,
                        "made": row.made, "expires": row.expires, "revoked": row.revoked,
                    })
                };
                return out.object(&Value::Array(tokens.iter().map(view).collect()));
            }
            for row in tokens {
                let state = match (row.revoked, row.expires) {
                    (Some(_), _) => "revoked",
                    (None, Some(_)) => "expires",
                    (None, None) => "counts",
                };
                out.line(format_args!(
                    "{}  {state:<8} {:<14} {:<24} {}",
                    row.id,
                    row.role,
                    row.actors,
                    plain(&row.label)
                ))?;
            }
            Ok(())
        }
        TokenStep::Revoke { id, .. } => {
            ledger.revoke(id)?;
            out.either(&json!({"id": id, "revoked": true}), format_args!("revoked {}", plain(id)))
        }
    }
}

/// `90s`, `15m`, `8h`, `30d`.
fn lives(text: &str) -> CommandResult<Duration> {
    let seconds = |unit: &str| match unit {
        "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3_600),
        "d" => Some(86_400),
        _ => None,
    };
    let split = text.len().saturating_sub(1);
    let parsed =
        text.is_char_boundary(split).then(|| text.split_at(split)).and_then(|(n, unit)| {
            n.parse::<u64>().ok()?.checked_mul(seconds(unit)?).filter(|seconds| *seconds > 0)
        });
    parsed.map(Duration::from_secs).ok_or_else(|| {
        Failure::input(format!("--expires {text:?} is not a time such as 90s, 15m, 8h or 30d"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_nothing_else_is() {
        for (text, seconds) in [("90s", 90), ("15m", 900), ("8h", 28_800), ("30d", 2_592_000)] {
            assert_eq!(lives(text).ok(), Some(Duration::from_secs(seconds)), "{text}");
        }
        for wrong in ["", "s", "0d", "5", "-1d", "1y", "1é", "99999999999999999999d"] {
            assert!(lives(wrong).is_err(), "{wrong}");
        }
    }
}
