//! This node: its heartbeat, its place among the others, and requests that it passes on to the node of their actor.
//!
//! What must stay true: a request is passed on once. If the other node cannot be reached, it is answered here:
//! placement is for warm caches, the ledger alone keeps entries apart. A request that changes something is passed
//! on with a key that makes it happen once, so that answering it here after all is safe.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use http_parts::header::{HeaderMap, HeaderName, HeaderValue};
use http_parts::{Method, Request, Response};
use proof::Digest;
use proof::digest::encode_hex;
use tokio::time::{sleep, timeout_at};

use crate::counters::{LedgerCounters, add};
use crate::error::{Error, Result};
use crate::ledger::PostgresLedger;
use crate::nodes::{Heartbeat, Peer};
use crate::placement::place;
use crate::seal::{SealedRequest, answer_seal, same};
use crate::tokens::{TokenAccess, TokenCache};

/// Between two heartbeats.
const BEAT: Duration = Duration::from_secs(1);
/// Between two looks at who came or went: many may at once.
const LOOK_PAUSE: Duration = Duration::from_millis(25);
/// How long a node that could not be reached is left alone.
const SUSPECT: Duration = Duration::from_secs(3);
/// How long another node may take to be reached, and to answer.
const REACH_WAIT: Duration = Duration::from_secs(1);
const ANSWER_WAIT: Duration = Duration::from_secs(4);
/// Bytes of an answer that is passed on.
const ANSWER_BYTES_MAX: usize = 16 << 20;
/// Rows of nodes are swept every so many heartbeats.
const SWEEP_EVERY: u32 = 600;

/// `NAME.MILLISECONDS.SEAL` of the node that passes a request on.
pub const NODE_HEADER: &str = "x-cortex-node";
/// For whom it does.
pub const WHO_HEADER: &str = "x-cortex-who";
const ANSWER_HEADER: &str = "x-cortex-node-seal";

/// Headers of a request that reach the other node.
const PASSED_ON: [&str; 8] = [
    "accept",
    "content-type",
    "idempotency-key",
    "user-agent",
    "x-cortex-actor",
    "x-cortex-at-least",
    "x-cortex-project",
    "if-match",
];

/// How this node takes part.
#[derive(Clone, Debug, Default)]
pub struct NodeSettings {
    /// Its name, its own among all nodes.
    pub name: String,
    /// Where the others reach it.
    pub url: String,
    /// Authorities for the certificates of the others, beside the system's.
    pub authority: Option<PathBuf>,
}

#[derive(Debug)]
pub struct Node {
    pub ledger: Arc<PostgresLedger>,
    settings: NodeSettings,
    secret: Vec<u8>,
    peers: RwLock<Arc<Vec<Peer>>>,
    suspects: Mutex<HashMap<String, Instant>>,
    tokens: TokenCache,
    client: reqwest::Client,
    actors: AtomicI64,
}

/// Why a request was not answered by another node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForwardFailure {
    /// It never got there.
    Unreached,
    /// It may have got there.
    Unanswered,
}

impl Node {
    /// Takes part from now on.
    pub fn join(ledger: Arc<PostgresLedger>, settings: NodeSettings) -> Result<Arc<Node>> {
        // Whoever was first chose the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut client = reqwest::Client::builder()
            .connect_timeout(REACH_WAIT)
            .timeout(ANSWER_WAIT)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy();
        if let Some(path) = &settings.authority {
            let wrong = |why: String| Error::Invalid(format!("{}: {why}", path.display()));
            let pem = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
            let roots = reqwest::Certificate::from_pem_bundle(&pem);
            for root in roots.map_err(|error| wrong(error.to_string()))? {
                client = client.add_root_certificate(root);
            }
        }
        let client = client.build().map_err(|error| Error::Invalid(error.to_string()))?;
        let secret = ledger.wait(ledger.node_secret())?;
        let node = Arc::new(Node {
            ledger,
            settings,
            secret,
            peers: RwLock::default(),
            suspects: Mutex::default(),
            tokens: TokenCache::default(),
            client,
            actors: AtomicI64::new(0),
        });
        let is_first = node.ledger.wait(node.beat())?;
        if !is_first {
            tracing::info!(name = node.name(), "a node of this name was there a moment ago");
        }
        node.ledger.spawn(live(Arc::downgrade(&node)));
        Ok(node)
    }

    pub fn name(&self) -> &str {
        &self.settings.name
    }

    pub fn url(&self) -> &str {
        &self.settings.url
    }

    pub fn counters(&self) -> &LedgerCounters {
        &self.ledger.counters
    }

    /// Says how many actors are open here, with the next heartbeat.
    pub fn note_actors(&self, open: usize) {
        self.actors.store(i64::try_from(open).unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    /// Says goodbye: the others take over at once.
    pub fn leave(&self) -> Result<()> {
        self.ledger.wait(self.ledger.leave(self.name()))
    }

    async fn beat(&self) -> Result<bool> {
        let beat = Heartbeat {
            name: self.name(),
            url: self.url(),
            actors: self.actors.load(Ordering::Relaxed),
            lag: i64::try_from(crate::counters::read(&self.ledger.counters.lag))
                .unwrap_or(i64::MAX),
        };
        let is_ours = self.ledger.beat(&beat).await?;
        self.look().await?;
        Ok(is_ours)
    }

    /// Looks who is there.
    async fn look(&self) -> Result<()> {
        let peers = self.ledger.nodes().await?;
        *self.peers.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(peers);
        Ok(())
    }

    /// The nodes as this one last saw them.
    pub fn peers(&self) -> Arc<Vec<Peer>> {
        Arc::clone(&self.peers.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The other node that serves this actor; `None`: this one does.
    pub fn elsewhere(&self, actor: &str) -> Option<Peer> {
        let peers = self.peers();
        let mut suspects = self.suspects.lock().unwrap_or_else(PoisonError::into_inner);
        suspects.retain(|_, at| at.elapsed() < SUSPECT);
        let is_there = |peer: &&Peer| {
            peer.name == self.name() || (peer.is_alive && !suspects.contains_key(&peer.name))
        };
        let names = peers.iter().filter(is_there).map(|peer| &*peer.name);
        // Until its first heartbeat a node knows only itself.
        let chosen = place(names.chain([self.name()]), actor)?;
        if chosen == self.name() {
            return None;
        }
        peers.iter().find(|peer| peer.name == chosen).cloned()
    }

    /// True if this node serves the actor.
    pub fn is_here(&self, actor: &str) -> bool {
        self.elsewhere(actor).is_none()
    }

    /// Who shows this token; `None` if it does not count.
    pub async fn find_token(&self, token: &str) -> Result<Option<TokenAccess>> {
        self.tokens.find(&self.ledger, token).await
    }

    /// Passes a request on. Its answer is the other node's.
    pub async fn forward(
        &self,
        to: &Peer,
        request: Request<Vec<u8>>,
        who: &TokenAccess,
    ) -> Result<Response<Vec<u8>>, ForwardFailure> {
        let outcome = self.pass_on(to, request, who).await;
        match &outcome {
            Ok(_) => add(&self.ledger.counters.forwarded, 1),
            Err(_) => {
                add(&self.ledger.counters.forward_failures, 1);
                let mut suspects = self.suspects.lock().unwrap_or_else(PoisonError::into_inner);
                suspects.insert(to.name.clone(), Instant::now());
            }
        }
        outcome
    }

    async fn pass_on(
        &self,
        to: &Peer,
        request: Request<Vec<u8>>,
        who: &TokenAccess,
    ) -> Result<Response<Vec<u8>>, ForwardFailure> {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let (at, told) = (now_ms(), who.told());
        let sealed = SealedRequest {
            from: self.name(),
            to: &to.name,
            at,
            method: parts.method.as_str(),
            path,
            who: &told,
            body: &body,
        };
        let seal = sealed.seal(&self.secret);
        let url = format!("{}{path}", to.url.trim_end_matches('/'));
        let mut asked = self.client.request(parts.method.clone(), url);
        for name in PASSED_ON {
            if let Some(value) = parts.headers.get(name) {
                asked = asked.header(name, value);
            }
        }
        let asked = asked
            .header(NODE_HEADER, format!("{}.{at}.{seal}", encode_hex(self.name().as_bytes())))
            .header(WHO_HEADER, told)
            .body(body);
        let mut answer = asked.send().await.map_err(|error| {
            tracing::debug!(to = to.name, "a request was not passed on: {error}");
            if error.is_connect() || error.is_builder() {
                ForwardFailure::Unreached
            } else {
                ForwardFailure::Unanswered
            }
        })?;
        let shown = answer.headers().get(ANSWER_HEADER).and_then(|value| value.to_str().ok());
        let shown = shown.and_then(|text| text.parse::<Digest>().ok());
        if !shown.is_some_and(|shown| same(&shown, &answer_seal(&self.secret, &seal))) {
            tracing::warn!(
                to = to.name,
                "what answers at the address of this node is not the node"
            );
            return Err(ForwardFailure::Unreached);
        }
        let mut response = Response::builder().status(answer.status());
        for (name, value) in answer.headers() {
            if is_of_answer(name) {
                response = response.header(name, value);
            }
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|_| ForwardFailure::Unanswered)? {
            if bytes.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(ForwardFailure::Unanswered);
            }
            bytes.extend_from_slice(&chunk);
        }
        response.body(bytes).map_err(|_| ForwardFailure::Unanswered)
    }

    /// For whom another node passes this request on; `None` if no node does.
    pub fn passed_on(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Option<PassedRequest> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let (shown, told) = (text(NODE_HEADER)?, text(WHO_HEADER)?);
        let mut parts = shown.split('.');
        let (from, at, given) = (parts.next()?, parts.next()?, parts.next()?);
        let from = proof::digest::decode_hex(from).and_then(|name| String::from_utf8(name).ok())?;
        let (at, given) = (at.parse().ok()?, given.parse::<Digest>().ok()?);
        let sealed = SealedRequest {
            from: &from,
            to: self.name(),
            at,
            method: method.as_str(),
            path,
            who: told,
            body,
        };
        if !sealed.is_sealed(&self.secret, &given, now_ms()) {
            return None;
        }
        let answer = answer_seal(&self.secret, &given).to_string();
        let who = TokenAccess::heard(told)?;
        Some(PassedRequest { who, answer: HeaderValue::from_str(&answer).ok()? })
    }
}

/// A request that another node passed on.
#[derive(Clone, Debug)]
pub struct PassedRequest {
    pub who: TokenAccess,
    answer: HeaderValue,
}

impl PassedRequest {
    /// Shows with the answer that this is the node that was asked.
    pub fn seal(&self, headers: &mut HeaderMap) {
        headers.insert(HeaderName::from_static(ANSWER_HEADER), self.answer.clone());
    }
}

/// Headers of one connection are not those of the next, and the seal is for the node alone.
fn is_of_answer(name: &HeaderName) -> bool {
    !["connection", "keep-alive", "transfer-encoding", "content-length", "date", ANSWER_HEADER]
        .contains(&name.as_str())
}

fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.ok().and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or_default()
}

/// A key that makes a request happen once, wherever it is answered.
pub fn draw_key() -> Result<String> {
    let mut drawn = [0; 16];
    getrandom::fill(&mut drawn).map_err(|error| Error::Invalid(error.to_string()))?;
    Ok(format!("node-{}", encode_hex(&drawn)))
}

/// Beats for as long as the node is there, and looks who else is as soon as it is told that somebody came or went, so
/// that no two serve one actor until the next heartbeat. Who is told does not beat, and so tells nobody anything.
async fn live(node: Weak<Node>) {
    let (mut beats, mut failed) = (0_u32, false);
    let mut due = Instant::now() + BEAT;
    loop {
        let Some(ledger) = node.upgrade().map(|node| Arc::clone(&node.ledger)) else { return };
        let told = timeout_at(due.into(), ledger.news.nodes_changed.notified()).await.is_ok();
        drop(ledger);
        let Some(node) = node.upgrade() else { return };
        // Whoever is told all the time has to beat nevertheless.
        if told && Instant::now() < due {
            if let Err(error) = node.look().await {
                tracing::debug!("who came or went is seen with the next heartbeat: {error}");
            }
            drop(node);
            sleep(LOOK_PAUSE).await;
            continue;
        }
        due = Instant::now() + BEAT;
        match node.beat().await {
            Ok(is_ours) => {
                if !is_ours {
                    tracing::warn!(
                        name = node.name(),
                        "another node has the same name; set ledger.node so that each has its own"
                    );
                }
                if std::mem::take(&mut failed) {
                    tracing::info!("the ledger answers again");
                }
            }
            Err(error) if !std::mem::replace(&mut failed, true) => {
                tracing::warn!("no heartbeat: {error}");
            }
            Err(_) => {}
        }
        beats = beats.wrapping_add(1);
        if beats.is_multiple_of(SWEEP_EVERY)
            && let Err(error) = node.ledger.sweep_nodes().await
        {
            tracing::debug!("rows of nodes that are gone: {error}");
        }
    }
}
