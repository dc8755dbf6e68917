//! Turns over HTTP: sending, pauses, time-outs, and bytes into events. Which bytes mean what is the protocol's part.
//!
//! A turn is tried again only as long as nothing of it has been seen; after that the break is an error that carries
//! what was said. Pauses grow, have jitter, and obey the service up to a bound. Keys go to the chosen address only.

use std::fmt;
use std::time::Duration;

use jiff::fmt::rfc2822;
use reqwest::header::{DATE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use serde_json::Value;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, timeout, timeout_at};

use super::error::{chain, of_status};
use super::sse::{SseEvent, SseReader};
use super::{
    BoxFuture, ModelReply, ModelRequest, Provider, ProviderError, ProviderEvent, ReasonCode,
};
use crate::retry::{PauseJitter, Retries, RetryPolicy};

/// What is read of an answer that is an error.
const COMPLAINT_BYTES_MAX: usize = 64 * 1024;
/// What one turn may send altogether.
const TURN_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How long and how often a service is asked.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    pub connect: Duration,
    /// Until the answer begins.
    pub first_byte: Duration,
    /// Between two pieces of the answer.
    pub idle: Duration,
    /// For all of it, pauses included.
    pub whole: Duration,
    pub retry: RetryPolicy,
}

impl Default for HttpLimits {
    fn default() -> HttpLimits {
        HttpLimits {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_mins(3),
            idle: Duration::from_mins(2),
            whole: Duration::from_mins(10),
            retry: RetryPolicy {
                attempts: 5,
                first_pause: Duration::from_millis(800),
                longest_pause: Duration::from_mins(1),
            },
        }
    }
}

/// A protocol: what to send, and how to read what comes.
pub(super) trait Protocol: Send + Sync + fmt::Debug {
    fn url(&self, base: &str, call: &ModelRequest) -> Result<String, ProviderError>;
    fn headers(&self, key: Option<&str>) -> Result<HeaderMap, ProviderError>;
    fn body(&self, call: &ModelRequest) -> Value;
    fn reader(&self, call: &ModelRequest) -> Box<dyn StreamReader>;
}

/// Makes a reply of the events of one stream.
pub(super) trait StreamReader: Send {
    fn take(&mut self, event: &SseEvent, out: &mut Vec<ProviderEvent>)
    -> Result<(), ProviderError>;
    /// The stream has ended; if it ended too early, that is an error.
    fn finish(&mut self) -> Result<ModelReply, ProviderError>;
    fn said(&self) -> &str;
}

pub(super) fn header(key: &str) -> Result<HeaderValue, ProviderError> {
    let mut value = HeaderValue::from_str(key).map_err(|_| {
        ProviderError::new(ReasonCode::KeyInvalid, "the key holds characters that no key has")
    })?;
    value.set_sensitive(true);
    Ok(value)
}

pub(super) struct HttpProvider {
    name: String,
    base: String,
    key: Option<String>,
    protocol: Box<dyn Protocol>,
    client: Client,
    patience: HttpLimits,
    jitter: PauseJitter,
}

impl fmt::Debug for HttpProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpProvider")
            .field("name", &self.name)
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

impl HttpProvider {
    pub(super) fn new(
        name: &str,
        base: &str,
        key: Option<String>,
        protocol: Box<dyn Protocol>,
        patience: HttpLimits,
        seed: u64,
    ) -> Result<HttpProvider, ProviderError> {
        // Err: somebody in this process has chosen one before, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .user_agent(concat!("cortex/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(patience.connect)
            // A key must not follow to another address.
            .redirect(Policy::none());
        if let Some(rest) = base.strip_prefix("http://") {
            // Without TLS no certificates are needed, and not every machine has some.
            builder = builder.tls_certs_only([]);
            let host = rest.split(['/', ':']).next().unwrap_or_default();
            if matches!(host, "localhost" | "127.0.0.1" | "[") {
                builder = builder.no_proxy();
            }
        }
        let client = builder
            .build()
            .map_err(|error| ProviderError::new(ReasonCode::Unknown, chain(&error)))?;
        Ok(HttpProvider {
            name: name.to_owned(),
            base: base.trim_end_matches('/').to_owned(),
            key,
            protocol,
            client,
            patience,
            jitter: PauseJitter::new(seed),
        })
    }

    async fn tries(
        &self,
        call: &ModelRequest,
        events: &Sender<ProviderEvent>,
    ) -> Result<ModelReply, ProviderError> {
        let mut retries = Retries::new(self.patience.retry, &self.jitter);
        loop {
            let mut seen = false;
            let error = match self.once(call, events, &mut seen).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            if !error.passing || seen {
                return Err(error);
            }
            match retries.next_pause(error.retry_after) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Err(error),
            }
        }
    }

    async fn once(
        &self,
        call: &ModelRequest,
        events: &Sender<ProviderEvent>,
        seen: &mut bool,
    ) -> Result<ModelReply, ProviderError> {
        let url = self.protocol.url(&self.base, call)?;
        let request = self
            .client
            .post(url)
            .headers(self.protocol.headers(self.key.as_deref())?)
            .json(&self.protocol.body(call));
        let late = |limit: Duration| {
            let message =
                format!("{} did not begin to answer within {} s", self.name, limit.as_secs_f32());
            ProviderError::passing(ReasonCode::Timeout, message)
        };
        let limit = self.patience.first_byte;
        let begin_by = Instant::now() + limit;
        let response = timeout_at(begin_by, request.send())
            .await
            .map_err(|_| late(limit))?
            .map_err(|error| self.transport(&error))?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let mut reader = self.protocol.reader(call);
        let result = self.read(response, reader.as_mut(), events, seen, begin_by).await;
        result.map_err(|error| ProviderError { partial: reader.said().to_owned(), ..error })
    }

    async fn read(
        &self,
        mut response: Response,
        reader: &mut dyn StreamReader,
        events: &Sender<ProviderEvent>,
        seen: &mut bool,
        begin_by: Instant,
    ) -> Result<ModelReply, ProviderError> {
        let invalid = |why: String| {
            ProviderError::new(ReasonCode::ResponseInvalid, format!("{}: {why}", self.name))
        };
        let mut sse = SseReader::default();
        let (mut parts, mut out) = (Vec::new(), Vec::new());
        let (mut total, mut open) = (0_usize, true);
        while open {
            let until = if total == 0 { begin_by } else { Instant::now() + self.patience.idle };
            let piece = timeout_at(until, response.chunk()).await.map_err(|_| {
                let message = format!("{} stopped sending in the middle of its answer", self.name);
                ProviderError::passing(ReasonCode::Timeout, message)
            })?;
            match piece.map_err(|error| self.transport(&error))? {
                Some(piece) => {
                    total += piece.len();
                    if total > TURN_BYTES_MAX {
                        return Err(invalid(format!(
                            "more than {TURN_BYTES_MAX} bytes for one turn"
                        )));
                    }
                    sse.push(&piece, &mut parts).map_err(invalid)?;
                }
                None => {
                    open = false;
                    sse.end(&mut parts).map_err(invalid)?;
                }
            }
            for part in parts.drain(..) {
                reader.take(&part, &mut out)?;
                for event in out.drain(..) {
                    *seen = true;
                    // Nobody listens any more: the run is over, and so is the turn.
                    if events.send(event).await.is_err() {
                        return Err(ProviderError::new(ReasonCode::Unknown, "the run has ended"));
                    }
                }
            }
        }
        reader.finish()
    }

    async fn refused(&self, mut response: Response) -> ProviderError {
        let status = response.status().as_u16();
        let retry_after = pause_of(response.headers());
        let mut body = Vec::new();
        let read = async {
            while let Ok(Some(piece)) = response.chunk().await {
                body.extend_from_slice(&piece);
                if body.len() > COMPLAINT_BYTES_MAX {
                    break;
                }
            }
        };
        // A complaint that does not arrive is no reason to wait: the status says enough.
        let _ = timeout(self.patience.idle, read).await;
        of_status(&self.name, status, &body, retry_after)
    }

    fn transport(&self, error: &reqwest::Error) -> ProviderError {
        let why = in_words(error);
        if error.is_connect() {
            let said = format!("{} cannot be reached: {why}", self.name);
            return ProviderError::passing(ReasonCode::NetworkUnreachable, said);
        }
        ProviderError::passing(ReasonCode::Unavailable, format!("{} broke off: {why}", self.name))
    }
}

/// The cause at the bottom, as a person would say it. An address may hold what is private, and the message goes into
/// logs.
fn in_words(error: &reqwest::Error) -> String {
    let mut deepest: &dyn std::error::Error = error;
    while let Some(cause) = deepest.source() {
        deepest = cause;
    }
    let mut text = deepest.to_string();
    if let Some(url) = error.url() {
        text = text.replace(url.as_str(), "(address)");
    }
    let text = text.split(" (os error ").next().unwrap_or_default().trim();
    // "Connection refused" stands in the middle of a sentence; "DNS" stays as it is.
    if text.chars().nth(1).is_none_or(char::is_uppercase) {
        return text.to_owned();
    }
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

impl Provider for HttpProvider {
    fn name(&self) -> &str {
        &self.name
    }

    fn turn<'a>(
        &'a self,
        call: &'a ModelRequest,
        events: Sender<ProviderEvent>,
    ) -> BoxFuture<'a, Result<ModelReply, ProviderError>> {
        Box::pin(async move {
            let whole = call.whole.unwrap_or(self.patience.whole);
            super::within(&self.name, whole, self.tries(call, &events)).await
        })
    }
}

/// Seconds, or a date; a date is compared with the service's own clock.
fn pause_of(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let moment = |text: &str| rfc2822::parse(text).ok().map(|moment| moment.timestamp());
    let (then, now) = (moment(text)?, moment(headers.get(DATE)?.to_str().ok()?)?);
    Some(Duration::try_from(then.duration_since(now)).unwrap_or_default())
}
