//! A daemon that is a node: its copies follow the ledger, its cache has a bound, its place among the others is kept.
//!
//! What must stay true: without a ledger nothing here runs. A copy is thrown away only if nobody uses it; it is made
//! again from the ledger when it is wanted.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use api::{Error, ErrorCode, Fault, Result};
use cluster::ledger::LedgerHandle;
use cluster::node::NodeSettings;
use cluster::{JournalNews, LedgerSettings, Node, PostgresLedger};
use kernel::Digest;
use kernel::actor::ActorName;
use service::{ActorLimits, Service};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use host::Host;

/// How often open copies are compared with the ledger where news comes by itself, and where it does not.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const LOOK_OFTEN: Duration = Duration::from_secs(1);
/// How often the cache is measured.
const MEASURE_EVERY: u32 = 2;
/// Copies thrown away in one go.
const EVICTIONS_MAX: usize = 256;

/// How a daemon takes part in a cluster.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    pub ledger: LedgerSettings,
    /// Its own among all nodes; derived from the machine and the home if absent.
    pub name: Option<String>,
    /// Where others reach it; derived from the address of HTTP if absent.
    pub advertise: Option<String>,
    pub authority: Option<std::path::PathBuf>,
    pub cache_bytes: u64,
    /// Entries by which a journal has to grow for the next checkpoint.
    pub checkpoint_entries: u64,
    pub limits: ActorLimits,
}

/// What went wrong with the ledger, in the words of operations.
pub fn told(error: cluster::Error) -> Error {
    use cluster::Error as Cause;
    let message = error.to_string();
    match error {
        Cause::Kernel(error) => service::Error::from(error).into(),
        Cause::Away(_) => Error::new(ErrorCode::LedgerAway, Fault::Busy, message).with_hint(
            "try again in a moment; `cortex ledger status` says whether the database answers",
        ),
        Cause::Empty => Error::new(ErrorCode::Config, Fault::Caller, message)
            .with_hint("`cortex ledger init URL` makes one"),
        Cause::Version { .. } => Error::new(ErrorCode::Schema, Fault::Conflict, message)
            .with_hint("use the version of cortex that the other nodes have"),
        Cause::Address(_) | Cause::Invalid(_) => {
            Error::new(ErrorCode::Config, Fault::Caller, message)
        }
        Cause::Refused(_) => Error::new(ErrorCode::Config, Fault::Caller, message)
            .with_hint("check the address, the user and its rights"),
        Cause::OtherPast { .. } => Error::new(ErrorCode::Exists, Fault::Conflict, message)
            .with_hint("push into an empty ledger, or another actor's name; nothing was changed"),
    }
}

impl ClusterOptions {
    /// The ledger, and the operations on it.
    pub(crate) fn share(&self, service: Service) -> Result<(Arc<PostgresLedger>, Service)> {
        let name = self.node_name(service.folder());
        let ledger = PostgresLedger::new(self.ledger.clone(), &name).map_err(told)?;
        let handle = Arc::new(LedgerHandle(Arc::clone(&ledger)));
        Ok((ledger, service.sharing(handle, self.limits)))
    }

    fn node_name(&self, home: &Path) -> String {
        self.name.clone().unwrap_or_else(|| {
            let home = std::fs::canonicalize(home).unwrap_or_else(|_| home.to_owned());
            let digest = Digest::of("cortex/node-name/1", &[home.as_os_str().as_encoded_bytes()]);
            format!("{}-{}", machine(), &digest.to_string()[..6])
        })
    }

    /// Takes part, once it is known where HTTP listens.
    pub(crate) async fn join(
        &self,
        ledger: &Arc<PostgresLedger>,
        home: &Path,
        http: (std::net::SocketAddr, bool),
    ) -> Result<Arc<Node>> {
        let (address, is_tls) = http;
        let url = self.advertise.clone().unwrap_or_else(|| {
            let scheme = if is_tls { "https" } else { "http" };
            if address.ip().is_unspecified() {
                return format!("{scheme}://{}:{}", machine(), address.port());
            }
            format!("{scheme}://{address}")
        });
        let settings =
            NodeSettings { name: self.node_name(home), url, authority: self.authority.clone() };
        let ledger = Arc::clone(ledger);
        let joined = tokio::task::spawn_blocking(move || Node::join(ledger, settings)).await;
        joined.map_err(|error| Error::internal(error.to_string()))?.map_err(told)
    }
}

fn machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Follows the ledger until the daemon ends: what other nodes write is taken over, and the cache kept within its bound.
pub(crate) async fn follow(
    host: Arc<Host>,
    node: Arc<Node>,
    cache_bytes: u64,
    mut ending: watch::Receiver<bool>,
) {
    let mut news = node.ledger.follow();
    let mut look = interval(LOOK_OFTEN);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut looks, mut since_look) = (0_u32, Duration::ZERO);
    loop {
        tokio::select! {
            () = ended(&mut ending) => break,
            Some(heard) = news.recv() => {
                let host = Arc::clone(&host);
                blocking(move || act_on(&host, &heard)).await;
            }
            _ = look.tick() => {
                since_look += LOOK_OFTEN;
                node.note_actors(host.service.home().open_count());
                if node.ledger.is_listening() && since_look < LOOK_EVERY {
                    continue;
                }
                since_look = Duration::ZERO;
                looks = looks.wrapping_add(1);
                let (host, node) = (Arc::clone(&host), Arc::clone(&node));
                blocking(move || {
                    look_at_all(&host, &node);
                    if looks % MEASURE_EVERY == 1
                        && let Err(error) = evict(&host, &node, cache_bytes)
                    {
                        tracing::warn!("the cache of the ledger: {error}");
                    }
                }).await;
            }
        }
    }
    let leaving = Arc::clone(&node);
    blocking(move || {
        if let Err(error) = leaving.leave() {
            tracing::debug!("the others find out by themselves that this node is gone: {error}");
        }
    })
    .await;
}

/// What another node says concerns whoever has the actor open.
fn act_on(host: &Host, heard: &JournalNews) {
    let (JournalNews::Grown { actor, .. } | JournalNews::AsksForWay { actor }) = heard;
    let Ok(actor) = ActorName::parse(actor) else { return };
    let Some(cortex) = host.service.home().if_open(&actor) else { return };
    let outcome = match heard {
        JournalNews::Grown { .. } => cortex.catch_up().map(drop),
        JournalNews::AsksForWay { .. } => cortex.give_way(),
    };
    if let Err(error) = outcome {
        tracing::debug!(%actor, "not up to date: {error}");
    }
}

async fn ended(ending: &mut watch::Receiver<bool>) {
    // An error means that the daemon is gone, which is an end as well.
    let _ = ending.wait_for(|ending| *ending).await;
}

async fn blocking(work: impl FnOnce() + Send + 'static) {
    if let Err(error) = tokio::task::spawn_blocking(work).await {
        tracing::warn!("following the ledger: {error}");
    }
}

/// Compares every open copy with the ledger in one question.
fn look_at_all(host: &Host, node: &Node) {
    let home = host.service.home();
    let open = home.open_actors();
    let names: Vec<String> = open.iter().map(|actor| actor.as_str().to_owned()).collect();
    if names.is_empty() {
        node.counters().lag.store(0, Ordering::Relaxed);
        return;
    }
    let Ok(sizes) = node.ledger.wait(node.ledger.sizes(&names)) else { return };
    let mut most = 0;
    for (actor, size) in open.iter().zip(sizes) {
        let Some(cortex) = home.if_open(actor) else { continue };
        mark_used(&home.actor_folder(actor));
        let here = cortex.read().and_then(|reading| Ok(reading.view().counters()?.size));
        let behind =
            u64::try_from(size).unwrap_or_default().saturating_sub(here.unwrap_or_default());
        most = most.max(behind);
        if behind > 0
            && let Err(error) = cortex.catch_up()
        {
            tracing::debug!(%actor, "not up to date: {error}");
        }
    }
    node.counters().lag.store(most, Ordering::Relaxed);
}

/// What is open counts as used now; `measure` reads it back when the cache is too large.
fn mark_used(folder: &Path) {
    let lock = std::fs::File::options().write(true).open(folder.join("lock"));
    // A copy that is not marked goes a little earlier.
    let _ = lock.and_then(|lock| lock.set_modified(SystemTime::now()));
}

/// Throws copies away until the rest fits: those that were not used for longest first.
fn evict(host: &Host, node: &Node, cache_bytes: u64) -> kernel::Result<()> {
    let home = host.service.home();
    let mut copies = BTreeMap::new();
    let mut total = 0;
    for actor in home.actors_here()? {
        let (bytes, used) = measure(&home.actor_folder(&actor));
        total += bytes;
        copies.insert((used, actor), bytes);
    }
    let mut left = EVICTIONS_MAX;
    for ((_, actor), bytes) in copies {
        if total <= cache_bytes || left == 0 {
            break;
        }
        if home.if_open(&actor).is_none() && home.drop_copy(&actor)? {
            total -= bytes.min(total);
            left -= 1;
            node.counters().cache_evictions.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// Bytes of a folder's files on disk, and when the newest of them changed.
fn measure(folder: &Path) -> (u64, SystemTime) {
    let (mut bytes, mut used) = (0, SystemTime::UNIX_EPOCH);
    let Ok(entries) = std::fs::read_dir(folder) else { return (bytes, used) };
    for entry in entries.flatten() {
        let Ok(found) = entry.metadata() else { continue };
        let (inner, changed) = if found.is_dir() {
            measure(&entry.path())
        } else {
            (allocated(&found), found.modified().unwrap_or(SystemTime::UNIX_EPOCH))
        };
        bytes += inner;
        used = used.max(changed);
    }
    (bytes, used)
}

/// What a file takes on the disk: segments are longer than what is in them.
fn allocated(found: &std::fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    found.blocks().saturating_mul(512)
}
