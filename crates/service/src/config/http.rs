//! Where HTTP is served, and who is let in.
//!
//! What must stay true: an address that others can reach needs a token, and the token itself is kept nowhere.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use api::{ErrorCode, Fault};
use kernel::Digest;

use crate::error::{Error, Result};

/// Where to listen, and who is let in.
#[derive(Clone)]
pub struct HttpServerSettings {
    pub address: SocketAddr,
    second_port: Option<u16>,
    /// Names under which it may be reached, beside those of this machine.
    pub hosts: Vec<String>,
    pub token: Option<Digest>,
    /// The certificate that is shown, and its key.
    pub tls: Option<(PathBuf, PathBuf)>,
}

impl std::fmt::Debug for HttpServerSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let secured = self.token.is_some();
        f.debug_struct("HttpSettings")
            .field("address", &self.address)
            .field("second_port", &self.second_port)
            .field("hosts", &self.hosts)
            .field("secured", &secured)
            .finish_non_exhaustive()
    }
}

/// Bytes a token must have at least: one that can be guessed is none.
const TOKEN_BYTES_MIN: usize = 16;

impl HttpServerSettings {
    /// `hosts`: names under which it may be reached, beside those of this machine.
    pub fn new(
        ip: IpAddr,
        port: u16,
        hosts: Vec<String>,
        token: Option<&str>,
    ) -> Result<HttpServerSettings> {
        let wrong = |message: String| Error::new(ErrorCode::Config, Fault::Caller, message);
        if token.is_some_and(|token| token.len() < TOKEN_BYTES_MIN) {
            let message = format!("the HTTP token has fewer than {TOKEN_BYTES_MIN} bytes");
            return Err(wrong(message));
        }
        let token = token.map(token_digest);
        let (address, second_port) = (SocketAddr::new(ip, port), None);
        Ok(HttpServerSettings { address, second_port, hosts, token, tls: None })
    }

    /// An address that others can reach needs a token.
    pub fn check_token(&self) -> Result<()> {
        let ip = self.address.ip();
        if ip.is_loopback() || self.token.is_some() {
            return Ok(());
        }
        let message = format!("http.host {ip} can be reached by others, and no token is set");
        Err(Error::new(ErrorCode::Config, Fault::Caller, message)
            .with_hint("set the variable that http.token_env names, or http.token_file"))
    }

    /// True if HTTP is HTTPS.
    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Answers on this port of the machine as well, if nobody else has it.
    #[must_use]
    pub(crate) fn with_second_port(mut self, port: Option<u16>) -> HttpServerSettings {
        self.second_port = port;
        self
    }

    /// The same doors at the second port.
    pub fn second(&self) -> Option<HttpServerSettings> {
        let ip = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
        let address = SocketAddr::new(ip, self.second_port?);
        Some(HttpServerSettings { address, second_port: None, ..self.clone() })
    }
}

/// Compared instead of the token, so that the time it takes says nothing about it.
pub fn token_digest(token: &str) -> Digest {
    Digest::of("cortex/http-token/1", &[token.as_bytes()])
}
