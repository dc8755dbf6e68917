//! The ledger that nodes share, as commands use it: what is in it, and moving actors in and out.
//!
//! What must stay true: pushing and pulling overwrite nothing; an actor that is there must be the same one.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::{Error, ErrorCode, Fault};
use cluster::ledger::LedgerHandle;
use cluster::schema::InitReport;
use cluster::tokens::{IssuedToken, TokenDraft, TokenRole};
use cluster::{LedgerSettings, PostgresLedger};
use daemon::cluster_host::told;
use kernel::actor::ActorName;
use kernel::ledger::{
    CopyPurpose, Frame, LastEntry, SharedEntry, SharedJournal, SharedLedgers, SharedSource,
};
use kernel::{Cortex, Options};
use service::config::Config;
use service::{Environment as _, Service, SystemEnvironment};

pub use cluster::Peer;
pub use cluster::tokens::TokenRow;
pub use daemon::cluster_settings::settings;
pub use service::config::Config as HomeSettings;

use crate::failure::{CommandResult, Failure};

/// Told how far long work is: what is done, how much, of how much.
pub type MoveWatch = Arc<dyn Fn(&'static str, u64, u64) + Send + Sync>;

/// A ledger that commands ask.
#[derive(Debug)]
pub struct OpenLedger(Arc<PostgresLedger>);

/// What `ledger status` shows.
#[derive(Debug)]
pub struct LedgerState {
    pub place: String,
    pub version: i32,
    /// What one commit took.
    pub commit: Duration,
    pub actors: i64,
    pub nodes: Vec<Peer>,
}

pub fn init(settings: &LedgerSettings, parts: u32) -> CommandResult<InitReport> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Io { what: "a runtime".to_owned(), error })?;
    Ok(runtime.block_on(cluster::schema::init(settings, parts)).map_err(told)?)
}

pub fn parts_default() -> u32 {
    cluster::schema::PARTS_DEFAULT
}

impl OpenLedger {
    pub fn new(settings: Option<LedgerSettings>) -> CommandResult<OpenLedger> {
        let settings = settings.ok_or_else(|| {
            Error::new(ErrorCode::Config, Fault::Caller, "no ledger is named")
                .with_hint("give --ledger URL, or set CORTEX_LEDGER_URL or ledger.url")
        })?;
        let ledger = PostgresLedger::new(settings, "command").map_err(told)?;
        Ok(OpenLedger(ledger))
    }

    pub fn place(&self) -> &str {
        self.0.place()
    }

    pub fn state(&self) -> CommandResult<LedgerState> {
        let ledger = &self.0;
        // The first commit makes the connection, the second is timed.
        ledger.wait(ledger.check()).map_err(told)?;
        let started = Instant::now();
        ledger.wait(ledger.check()).map_err(told)?;
        let commit = started.elapsed();
        let actors = ledger.wait(ledger.actor_count()).map_err(told)?;
        let place = ledger.place().to_owned();
        Ok(LedgerState {
            place,
            version: cluster::schema::VERSION,
            commit,
            actors,
            nodes: self.nodes()?,
        })
    }

    pub fn nodes(&self) -> CommandResult<Vec<Peer>> {
        Ok(self.0.wait(self.0.nodes()).map_err(told)?)
    }

    pub fn issue(
        &self,
        actors: &str,
        is_administrator: bool,
        label: &str,
        lives: Option<Duration>,
    ) -> CommandResult<IssuedToken> {
        let role = if is_administrator { TokenRole::Administrator } else { TokenRole::Actor };
        let draft =
            TokenDraft { role, label: label.to_owned(), lives, ..TokenDraft::for_actors(actors) };
        Ok(self.0.wait(self.0.issue_token(&draft)).map_err(told)?)
    }

    pub fn tokens(&self) -> CommandResult<Vec<TokenRow>> {
        Ok(self.0.wait(self.0.tokens()).map_err(told)?)
    }

    pub fn revoke(&self, id: &str) -> CommandResult<()> {
        if self.0.wait(self.0.revoke_token(id)).map_err(told)? {
            return Ok(());
        }
        let message = format!("there is no token {id} that counts");
        Err(Error::new(ErrorCode::NotFound, Fault::Missing, message)
            .with_hint("`cortex ledger token list` shows their ids")
            .into())
    }
}

/// An actor that was moved.
#[derive(Debug)]
pub struct MovedActor {
    pub actor: String,
    pub entries: u64,
    /// Those of them that were not there before.
    pub moved: u64,
    /// The same on both sides.
    pub root: String,
}

/// Puts actors of a home into the ledger: the one that is named, or all. Nobody else uses the home.
pub fn push(
    ledger: &OpenLedger,
    (folder, config, wait): (&Path, &Config, Duration),
    actor: Option<&str>,
    told_of: &MoveWatch,
) -> CommandResult<Vec<MovedActor>> {
    let service = Service::new(folder, config.settings(), wait);
    let actors = match actor {
        Some(name) => vec![ActorName::parse(name)?],
        None => service.home().actors_here()?,
    };
    let mut moved = Vec::new();
    for actor in actors {
        if !service.home().has(&actor) {
            return Err(service::Error::missing("actor", &actor).into());
        }
        let cortex = service.home().actor(&actor, SystemEnvironment.now()?)?;
        let report = cluster::push::push(&ledger.0, &actor, &cortex, &mut |done, total| {
            told_of("pushed", done, total);
        })
        .map_err(told)?;
        let (entries, root) = (report.found + report.pushed, cortex.root()?);
        // Read back into a copy of its own: what others will see must be what is here.
        let check = folder.join("ledger-check").join(actor.as_str());
        let copy = copied(ledger, &actor, &check, Options::default(), CopyPurpose::Cache, told_of)?;
        let found = copy.root()?;
        drop(copy);
        std::fs::remove_dir_all(&check)
            .map_err(|error| Failure::Io { what: check.display().to_string(), error })?;
        if found != root {
            return Err(roots_differ(&actor, &root.to_string(), &found.to_string()));
        }
        let (actor, root) = (actor.to_string(), root.to_string());
        moved.push(MovedActor { actor, entries, moved: report.pushed, root });
    }
    Ok(moved)
}

/// Makes actors of the ledger a home's own: the one that is named, or all. Nobody else uses the home.
pub fn pull(
    ledger: &OpenLedger,
    (folder, config, wait): (&Path, &Config, Duration),
    actor: Option<&str>,
    told_of: &MoveWatch,
) -> CommandResult<Vec<MovedActor>> {
    let service = Service::new(folder, config.settings(), wait);
    let handle = LedgerHandle(Arc::clone(&ledger.0));
    let actors = match actor {
        Some(name) => vec![ActorName::parse(name)?],
        None => handle.actors()?,
    };
    let mut moved = Vec::new();
    for actor in actors {
        if !handle.has(&actor)? {
            return Err(service::Error::missing("actor", &actor).into());
        }
        if service.home().has(&actor) {
            moved.push(found_here(&service, &handle, &actor)?);
            continue;
        }
        // Complete, it becomes the home's own by one rename; until then the next pull goes on with it.
        let stage = folder.join("ledger-pull").join(actor.as_str());
        let options = service.options().clone();
        let copy = copied(ledger, &actor, &stage, options, CopyPurpose::Home, told_of)?;
        let (root, entries) = (copy.root()?, copy.read()?.view().counters()?.size);
        drop(copy);
        let target = service.home().actor_folder(&actor);
        let failed = |error| Failure::Io { what: target.display().to_string(), error };
        std::fs::create_dir_all(target.parent().unwrap_or(folder)).map_err(failed)?;
        std::fs::rename(&stage, &target).map_err(failed)?;
        let own = service.home().actor(&actor, SystemEnvironment.now()?)?;
        if own.root()? != root {
            return Err(roots_differ(&actor, &root.to_string(), &own.root()?.to_string()));
        }
        let (actor, root) = (actor.to_string(), root.to_string());
        moved.push(MovedActor { actor, entries, moved: entries, root });
    }
    Ok(moved)
}

/// What an earlier pull made of an actor, if this home has what the ledger has and nothing else. Its root was compared
/// then; now the last entry is.
fn found_here(
    service: &Service,
    handle: &LedgerHandle,
    actor: &ActorName,
) -> CommandResult<MovedActor> {
    let own = service.home().actor(actor, SystemEnvironment.now()?)?;
    let reading = own.read()?;
    let entries = reading.view().counters()?.size;
    let last = reading.view().entry_bytes(entries)?;
    let there = handle.journal(actor).read(entries.max(1))?;
    let is_same = match &*there {
        [only] => only.seq == entries && Some(&only.entry) == last.as_ref(),
        _ => false,
    };
    if !is_same {
        let message = format!("this home has another memory of {actor} already");
        return Err(Error::new(ErrorCode::Exists, Fault::Conflict, message)
            .with_hint("pull into another home with --home DIR; nothing was changed")
            .into());
    }
    let (actor, root) = (actor.to_string(), own.root()?.to_string());
    Ok(MovedActor { actor, entries, moved: 0, root })
}

fn roots_differ(actor: &ActorName, here: &str, there: &str) -> Failure {
    let message = format!("the roots of {actor} differ: {here} and {there}");
    Failure::Check { code: "root_mismatch", message }
}

/// A complete copy of an actor in a folder.
fn copied(
    ledger: &OpenLedger,
    actor: &ActorName,
    folder: &Path,
    options: Options,
    purpose: CopyPurpose,
    told_of: &MoveWatch,
) -> CommandResult<Cortex> {
    let sizes = ledger.0.wait(ledger.0.sizes(&[actor.as_str().to_owned()])).map_err(told)?;
    let total = sizes.first().and_then(|size| u64::try_from(*size).ok()).unwrap_or_default();
    let inner = LedgerHandle(Arc::clone(&ledger.0));
    let ledgers = Arc::new(WatchedLedgers { inner, total, told_of: Arc::clone(told_of) });
    let options = Options { shared: Some(SharedSource { ledgers, purpose }), ..options };
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::Io { what: folder.display().to_string(), error })?;
    Ok(Cortex::open(folder, actor, options)?)
}

/// A ledger that tells how far reading it is.
struct WatchedLedgers {
    inner: LedgerHandle,
    total: u64,
    told_of: MoveWatch,
}

impl std::fmt::Debug for WatchedLedgers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("WatchedLedgers").field(&self.inner).finish()
    }
}

impl SharedLedgers for WatchedLedgers {
    fn journal(&self, actor: &ActorName) -> Arc<dyn SharedJournal> {
        let (total, told_of) = (self.total, Arc::clone(&self.told_of));
        Arc::new(WatchedJournal { inner: self.inner.journal(actor), total, told_of })
    }

    fn has(&self, actor: &ActorName) -> kernel::Result<bool> {
        self.inner.has(actor)
    }

    fn actors(&self) -> kernel::Result<Vec<ActorName>> {
        self.inner.actors()
    }
}

struct WatchedJournal {
    inner: Arc<dyn SharedJournal>,
    total: u64,
    told_of: MoveWatch,
}

impl std::fmt::Debug for WatchedJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("WatchedJournal").field(&self.inner).finish()
    }
}

impl SharedJournal for WatchedJournal {
    fn append(&self, after: LastEntry<'_>, frame: &Frame<'_>) -> kernel::Result<()> {
        self.inner.append(after, frame)
    }

    fn read(&self, from: u64) -> kernel::Result<Vec<SharedEntry>> {
        let found = self.inner.read(from)?;
        let last = found.last().map_or(0, |entry| entry.seq);
        (self.told_of)("read", last.min(self.total), self.total);
        Ok(found)
    }
}
