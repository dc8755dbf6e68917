//! Where the ledger is and how this node takes part, as settings say it.
//!
//! What must stay true: a password is never shown; what the address asks of TLS is done or the address is refused.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::checkpoints::CheckpointPlace;
use crate::error::{Error, Result};

/// Connections of one node to the database.
pub const CONNECTIONS_MAX: usize = 16;
/// How long a connection may take to come about.
pub(crate) const CONNECT_WAIT: Duration = Duration::from_secs(3);
/// How long the database may take for one statement.
pub(crate) const STATEMENT_WAIT: Duration = Duration::from_secs(5);
/// How long one append may take with all its repetitions.
pub(crate) const APPEND_WAIT: Duration = Duration::from_secs(8);
/// The same for a question: whoever asks can as well ask again.
pub(crate) const QUESTION_WAIT: Duration = Duration::from_secs(3);

/// What the certificate of the database is checked against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TlsRule {
    Off,
    /// If the server has it, and without a look at its certificate.
    IfOffered,
    /// The certificate must be for the host and signed by an authority of the system or of this file.
    Checked(Option<PathBuf>),
}

/// Where the ledger is.
#[derive(Clone)]
pub struct LedgerSettings {
    pub(crate) config: tokio_postgres::Config,
    pub(crate) tls: TlsRule,
    /// Connections at once.
    pub connections: usize,
    /// Where checkpoints are, for all nodes; without it there are none.
    pub checkpoints: Option<CheckpointPlace>,
}

impl fmt::Debug for LedgerSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LedgerSettings").field("at", &self.place()).finish_non_exhaustive()
    }
}

impl LedgerSettings {
    /// `password`: of the address if it names none.
    pub fn parse(url: &str, password: Option<&str>) -> Result<LedgerSettings> {
        let wrong = |why: String| Error::Address(why);
        if !(url.starts_with("postgres://") || url.starts_with("postgresql://")) {
            return Err(wrong("it begins with postgres://".to_owned()));
        }
        let (url, tls) = without_tls(url)?;
        let mut config: tokio_postgres::Config =
            url.parse().map_err(|error: tokio_postgres::Error| wrong(text(&error)))?;
        if config.get_hosts().is_empty() {
            return Err(wrong("it names no host".to_owned()));
        }
        if let Some(password) = password
            && config.get_password().is_none()
        {
            config.password(password);
        }
        config.ssl_mode(match tls {
            TlsRule::Off => tokio_postgres::config::SslMode::Disable,
            TlsRule::IfOffered => tokio_postgres::config::SslMode::Prefer,
            TlsRule::Checked(_) => tokio_postgres::config::SslMode::Require,
        });
        config
            .connect_timeout(CONNECT_WAIT)
            .tcp_user_timeout(STATEMENT_WAIT)
            .keepalives_idle(Duration::from_secs(10))
            // Of several hosts, the one that takes writes.
            .target_session_attrs(tokio_postgres::config::TargetSessionAttrs::ReadWrite);
        if config.get_application_name().is_none() {
            config.application_name("cortex");
        }
        Ok(LedgerSettings { config, tls, connections: CONNECTIONS_MAX, checkpoints: None })
    }

    /// Where it is, without a password.
    pub fn place(&self) -> String {
        let hosts: Vec<String> = self
            .config
            .get_hosts()
            .iter()
            .enumerate()
            .map(|(place, host)| {
                let ports = self.config.get_ports();
                let port = ports.get(place).or_else(|| ports.first()).copied().unwrap_or(5432);
                match host {
                    tokio_postgres::config::Host::Tcp(name) => format!("{name}:{port}"),
                    #[cfg(unix)]
                    tokio_postgres::config::Host::Unix(path) => path.display().to_string(),
                }
            })
            .collect();
        let database = self.config.get_dbname().or(self.config.get_user()).unwrap_or_default();
        format!("{}/{database}", hosts.join(","))
    }
}

fn text(error: &tokio_postgres::Error) -> String {
    crate::error::text_of(error)
}

/// True if an address holds a password.
pub fn has_password(url: &str) -> bool {
    let after = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = after.split(['/', '?']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    user.split_once(':').is_some_and(|(_, password)| !password.is_empty())
        || url.contains("password=")
}

/// Takes out what the address says of TLS, with the words that PostgreSQL's own tools have for it.
fn without_tls(url: &str) -> Result<(String, TlsRule)> {
    let Some((before, query)) = url.split_once('?') else {
        return Ok((url.to_owned(), TlsRule::IfOffered));
    };
    let (mut mode, mut authority, mut kept) = ("prefer", None, Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("sslmode", value)) => mode = value,
            Some(("sslrootcert", value)) => authority = Some(PathBuf::from(value)),
            _ => kept.push(pair),
        }
    }
    let rule = match mode {
        "disable" => TlsRule::Off,
        "allow" | "prefer" if authority.is_none() => TlsRule::IfOffered,
        "allow" | "prefer" | "require" | "verify-ca" | "verify-full" => TlsRule::Checked(authority),
        other => return Err(Error::Address(format!("sslmode={other} is not known"))),
    };
    let query = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
    Ok((format!("{before}{query}"), rule))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_where_and_how_and_shows_no_password() {
        let url = "postgres://cortex:hush@db1:5433,db2:5434/memory?sslmode=verify-full&sslrootcert=/ca.pem";
        let found = LedgerSettings::parse(url, None).unwrap();
        assert_eq!(found.place(), "db1:5433,db2:5434/memory");
        assert_eq!(found.tls, TlsRule::Checked(Some("/ca.pem".into())));
        assert!(!format!("{found:?}").contains("hush"));
        assert!(has_password(url) && !has_password("postgres://cortex@db/memory"));
        let plain = LedgerSettings::parse("postgres://cortex@db/memory", Some("hush")).unwrap();
        assert_eq!(plain.config.get_password(), Some(&b"hush"[..]));
        assert_eq!(plain.tls, TlsRule::IfOffered);
        for wrong in [
            "mysql://x/y",
            "postgres://",
            "postgres://h/d?sslmode=perhaps",
            "postgres://h/d?what=1",
        ] {
            assert!(
                matches!(LedgerSettings::parse(wrong, None), Err(Error::Address(_))),
                "{wrong}"
            );
        }
    }
}
