//! Vectors from a service that speaks the protocol of OpenAI's `/embeddings` (so do Ollama, Fireworks and others).
//!
//! Blocking: a caller inside an async runtime puts it on a thread of its own. What must stay true: every call ends in
//! bounded time with bounded memory; the key goes to the chosen address only, and into no message and no log.

use std::fmt;
use std::io::Read as _;
use std::time::Duration;

use recall::embedding::{DIMS_MAX, Embedding};
use reqwest::StatusCode;
use reqwest::blocking::{Client, Response};
use reqwest::header::RETRY_AFTER;
use reqwest::redirect::Policy;
use serde::Deserialize;
use serde_json::json;

use crate::settings::HttpEmbedderSettings;

/// Texts and bytes in one request.
const BATCH_TEXTS: usize = 64;
const BATCH_BYTES: usize = 256 * 1_024;
/// What of a text is sent. Services refuse longer ones; the rest of the text is not in its vector.
pub const TEXT_BYTES_MAX: usize = 16 * 1_024;
/// One number as text.
const NUMBER_BYTES: usize = 32;
/// What an answer may have besides numbers.
const ANSWER_EXTRA: usize = 64 * 1_024;
/// What is shown of a service's complaint.
const COMPLAINT_CHARS: usize = 300;

/// How long and how often a service is asked.
#[derive(Clone, Copy, Debug)]
pub struct EmbedRetryPolicy {
    pub connect: Duration,
    pub answer: Duration,
    pub attempts: u32,
    pub first_pause: Duration,
    /// The longest pause between two attempts, also if the service asks for a longer one.
    pub longest_pause: Duration,
}

impl Default for EmbedRetryPolicy {
    fn default() -> EmbedRetryPolicy {
        EmbedRetryPolicy {
            connect: Duration::from_secs(5),
            answer: Duration::from_secs(30),
            attempts: 4,
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(30),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("the embedder at {url} cannot be used: {why}")]
    Client { url: String, why: String },
    #[error("the embedder at {url} did not answer: {why}")]
    Unreachable { url: String, why: String },
    #[error("the embedder at {url} did not answer within {seconds} s")]
    Timeout { url: String, seconds: f32 },
    #[error("the embedder at {url} answered {status}: {complaint}")]
    Status { url: String, status: u16, complaint: String },
    #[error("the embedder's answer is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the embedder's answer is not understood: {0}")]
    Answer(String),
    #[error("the embedder gives {found} dimensions, not {wanted}")]
    Dims { found: usize, wanted: usize },
}

impl HttpError {
    pub fn code(&self) -> &'static str {
        match self {
            HttpError::Client { .. } => "embedder_unusable",
            HttpError::Unreachable { .. } => "embedder_unreachable",
            HttpError::Timeout { .. } => "embedder_timeout",
            HttpError::Status { status: 401 | 403, .. } => "embedder_key_refused",
            HttpError::Status { .. } => "embedder_refused",
            HttpError::TooLarge(_) | HttpError::Answer(_) => "embedder_answer",
            HttpError::Dims { .. } => "embedder_dims",
        }
    }

    /// The service may have meant one text of many.
    pub fn is_about_the_texts(&self) -> bool {
        matches!(self, HttpError::Status { status: 400 | 413 | 422, .. })
    }

    /// Asking again may help.
    fn passes(&self) -> bool {
        match self {
            HttpError::Unreachable { .. } | HttpError::Timeout { .. } => true,
            HttpError::Status { status, .. } => {
                matches!(status, 408 | 429 | 500 | 502 | 503 | 504 | 529)
            }
            _ => false,
        }
    }
}

#[derive(Debug, Deserialize)]
struct EmbeddingsReply {
    data: Vec<EmbeddingsRow>,
}

#[derive(Debug, Deserialize)]
struct EmbeddingsRow {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

pub struct HttpEmbedder {
    client: Client,
    settings: HttpEmbedderSettings,
    url: String,
    id: String,
    key: Option<String>,
    policy: EmbedRetryPolicy,
}

impl fmt::Debug for HttpEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpEmbedder").field("id", &self.id).finish_non_exhaustive()
    }
}

impl HttpEmbedder {
    pub fn new(
        settings: HttpEmbedderSettings,
        key: Option<String>,
        policy: EmbedRetryPolicy,
    ) -> Result<HttpEmbedder, HttpError> {
        let url = format!("{}/embeddings", settings.base_url.as_str().trim_end_matches('/'));
        // An error says that another part of this process has installed a provider before, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .user_agent(concat!("cortex/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(policy.connect)
            .timeout(policy.answer)
            // A key must not follow to another address.
            .redirect(Policy::none());
        if settings.base_url.scheme() == "http" {
            // Without TLS no certificates are needed, and not every machine has some.
            builder = builder.tls_certs_only([]);
        }
        let client = builder
            .build()
            .map_err(|error| HttpError::Client { url: url.clone(), why: chain(&error) })?;
        let id = format!("http/{}/{}/{}", settings.base_url, settings.name, settings.dims);
        Ok(HttpEmbedder { client, settings, url, id, key, policy })
    }

    pub fn model(&self) -> &str {
        &self.id
    }

    pub fn dims(&self) -> usize {
        self.settings.dims
    }

    /// Vectors of texts, in their order. A text without a letter gets the zero vector and is not sent.
    pub fn embed_many(&self, texts: &[&str]) -> Result<Vec<Embedding>, HttpError> {
        let mut out = vec![Embedding::zero(self.settings.dims); texts.len()];
        let mut batch: Vec<(usize, &str)> = Vec::new();
        let mut bytes = 0;
        for (place, text) in texts.iter().enumerate() {
            let text = beginning(text, TEXT_BYTES_MAX);
            if text.trim().is_empty() {
                continue;
            }
            if batch.len() == BATCH_TEXTS || bytes + text.len() > BATCH_BYTES {
                self.ask(&mut batch, &mut out)?;
                bytes = 0;
            }
            bytes += text.len();
            batch.push((place, text));
        }
        self.ask(&mut batch, &mut out)?;
        Ok(out)
    }

    /// The dimensions of what the service answers.
    pub fn probe(&self) -> Result<usize, HttpError> {
        let rows = self.rows(&["dimensions"])?;
        Ok(rows.first().map_or(0, Vec::len))
    }

    fn ask(&self, batch: &mut Vec<(usize, &str)>, out: &mut [Embedding]) -> Result<(), HttpError> {
        if batch.is_empty() {
            return Ok(());
        }
        let texts: Vec<&str> = batch.iter().map(|(_, text)| *text).collect();
        let rows = self.rows(&texts)?;
        for ((place, _), row) in batch.drain(..).zip(rows) {
            if row.len() != self.settings.dims {
                return Err(HttpError::Dims { found: row.len(), wanted: self.settings.dims });
            }
            out[place] = Embedding::from_floats(&row);
        }
        Ok(())
    }

    /// One request, repeated with growing pauses as long as that may help.
    fn rows(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, HttpError> {
        let mut pause = self.policy.first_pause;
        for attempt in 1.. {
            let (error, wanted) = match self.once(texts) {
                Ok(rows) => return Ok(rows),
                Err(failed) => failed,
            };
            if attempt >= self.policy.attempts || !error.passes() {
                return Err(error);
            }
            std::thread::sleep(wanted.unwrap_or(pause).min(self.policy.longest_pause));
            pause = pause.saturating_mul(2);
        }
        Ok(Vec::new())
    }

    /// The error with the pause that the service asked for.
    fn once(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, (HttpError, Option<Duration>)> {
        let body = json!({"model": self.settings.name, "input": texts});
        let mut request = self.client.post(&self.url).json(&body);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key);
        }
        let response = request.send().map_err(|error| (self.transport(&error), None))?;
        let status = response.status();
        let pause = pause_of(&response);
        // A probe does not know the dimensions yet.
        let dims = self.settings.dims.max(DIMS_MAX);
        let most = ANSWER_EXTRA + texts.len() * dims * NUMBER_BYTES;
        let body = self.read(response, most).map_err(|error| (error, None))?;
        if status != StatusCode::OK {
            let complaint = complaint(&body);
            let (url, status) = (self.url.clone(), status.as_u16());
            return Err((HttpError::Status { url, status, complaint }, pause));
        }
        rows_of(&body, texts.len()).map_err(|why| (HttpError::Answer(why), None))
    }

    fn read(&self, response: Response, most: usize) -> Result<Vec<u8>, HttpError> {
        let mut body = Vec::new();
        let mut limited = response.take(most as u64 + 1);
        limited.read_to_end(&mut body).map_err(|error| {
            let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<reqwest::Error>());
            match inner {
                Some(inner) => self.transport(inner),
                None => HttpError::Unreachable { url: self.url.clone(), why: error.to_string() },
            }
        })?;
        if body.len() > most { Err(HttpError::TooLarge(most)) } else { Ok(body) }
    }

    fn transport(&self, error: &reqwest::Error) -> HttpError {
        let url = self.url.clone();
        if error.is_timeout() {
            return HttpError::Timeout { url, seconds: self.policy.answer.as_secs_f32() };
        }
        HttpError::Unreachable { url, why: chain(error) }
    }
}

fn rows_of(body: &[u8], count: usize) -> Result<Vec<Vec<f32>>, String> {
    let answer: EmbeddingsReply =
        serde_json::from_slice(body).map_err(|error| error.to_string())?;
    if answer.data.len() != count {
        return Err(format!("{} vectors for {count} texts", answer.data.len()));
    }
    let mut rows: Vec<Option<Vec<f32>>> = vec![None; count];
    for (place, row) in answer.data.into_iter().enumerate() {
        let slot = rows.get_mut(row.index.unwrap_or(place)).filter(|slot| slot.is_none());
        let slot = slot.ok_or("the indexes of the vectors are not those of the texts")?;
        if row.embedding.iter().any(|value| !value.is_finite()) {
            return Err("a vector holds something that is no number".into());
        }
        *slot = Some(row.embedding);
    }
    Ok(rows.into_iter().flatten().collect())
}

fn pause_of(response: &Response) -> Option<Duration> {
    let text = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    text.trim().parse().ok().map(Duration::from_secs)
}

/// What a service says is wrong, on one line and not too long.
fn complaint(body: &[u8]) -> String {
    let text = match serde_json::from_slice::<serde_json::Value>(body) {
        Ok(value) => {
            let error = &value["error"];
            let message = error["message"].as_str().or_else(|| error.as_str());
            message.map_or_else(|| value.to_string(), str::to_owned)
        }
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(COMPLAINT_CHARS).collect()
}

/// An error with its causes; the first alone often says nothing.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

fn beginning(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests;
