//! One run of the program: whose memory, by whom, at what time, with what chance.
//!
//! The kernel has no clock, no randomness and no environment. All three enter here, and here only. The hidden `--now` and
//! `--salt-seed` pin clock and chance, so that a run can be repeated to the same root.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use kernel::actor::ActorName;
use kernel::command::{Command, Receipt, Stamp};
use kernel::home::{Home, HomeLimits};
use kernel::memory::{Millis, Salt};
use kernel::scope::{Authority, Operation};
use kernel::{Cortex, Digest, Error, Options, Request};
use recall::RecallHook;
use recall::analyze::{Analyzer, Language};

use super::delegate::Delegate;
use super::failure::{Failure, Outcome};
use super::parse;

/// Seconds to wait for another process that has the actor open, unless told otherwise.
const WAIT_SECONDS_DEFAULT: u64 = 10;
/// The longest wait that can be asked for.
const WAIT_SECONDS_MAX: u64 = 3_600;
/// The actor that is always there.
const DEFAULT_ACTOR: &str = "default";

#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// Folder that holds everything [env: CORTEX_HOME] [default: ~/.cortex]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Whose memory to use [env: CORTEX_ACTOR] [default: default]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    /// Print JSON; errors become {"error": {code, message, hint}} on standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Author of changes [default: your user name]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// Act as a delegate, with a file made by scope-grant
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) grant: Option<PathBuf>,
    /// The delegate's secret key, if it is not in the grant file
    #[arg(long, global = true, value_name = "FILE", requires = "grant")]
    pub(crate) grant_key: Option<PathBuf>,
    /// Seconds to wait for another process that has the actor open [default: 10]
    #[arg(long, global = true, value_name = "SECONDS")]
    pub(crate) wait: Option<u64>,
    // For tests and replays: the clock stands still at this moment.
    #[arg(long, global = true, hide = true, value_name = "TIME")]
    pub(crate) now: Option<String>,
    // For tests and replays: salts, keys and nonces follow from this number. Never use it for real memories.
    #[arg(long, global = true, hide = true, value_name = "N")]
    pub(crate) salt_seed: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Invocation {
    folder: PathBuf,
    home: Home,
    options: Options,
    actor: ActorName,
    by: String,
    delegate: Option<Delegate>,
    now: Option<Millis>,
    seed: Option<u64>,
    drawn: Cell<u64>,
}

impl Invocation {
    /// `addressed` is the actor of a URI that the command names, used if nobody says otherwise.
    pub(crate) fn new(globals: &Globals, addressed: Option<&ActorName>) -> Outcome<Invocation> {
        let folder = match globals.home.clone().or_else(|| variable("CORTEX_HOME").map(Into::into))
        {
            Some(folder) => folder,
            None => std::env::home_dir()
                .map(|home| home.join(".cortex"))
                .ok_or_else(|| Failure::input("there is no home folder; give --home DIR"))?,
        };
        let delegate = globals
            .grant
            .as_deref()
            .map(|file| Delegate::load(file, globals.grant_key.as_deref()))
            .transpose()?;
        let actor = match globals.actor.clone().or_else(|| variable("CORTEX_ACTOR")) {
            Some(name) => ActorName::parse(&name)?,
            None => match (&delegate, addressed) {
                (Some(delegate), _) => delegate.actor().clone(),
                (None, Some(actor)) => actor.clone(),
                (None, None) => ActorName::parse(DEFAULT_ACTOR)?,
            },
        };
        // A delegate signs as itself, whatever it would like to be called.
        let by = delegate
            .as_ref()
            .map(|delegate| delegate.name().to_owned())
            .or_else(|| globals.by.clone())
            .or_else(|| ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(variable))
            .unwrap_or_else(|| "cli".to_owned());
        let wait = globals.wait.unwrap_or(WAIT_SECONDS_DEFAULT).min(WAIT_SECONDS_MAX);
        let options = Options {
            wait: Duration::from_secs(wait),
            hooks: Arc::new(|| vec![Box::new(RecallHook::new(analyzer()))]),
            ..Options::default()
        };
        Ok(Invocation {
            home: Home::new(&folder, options.clone(), HomeLimits::default()),
            options,
            folder,
            actor,
            by,
            delegate,
            now: globals.now.as_deref().map(parse::time).transpose()?,
            seed: globals.salt_seed,
            drawn: Cell::new(0),
        })
    }

    pub(crate) fn folder(&self) -> &std::path::Path {
        &self.folder
    }

    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    /// How actors are opened.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn actor(&self) -> &ActorName {
        &self.actor
    }

    /// Opens the actor, making it if it is new. A delegate makes no actors.
    pub(crate) fn cortex(&self) -> Outcome<Arc<Cortex>> {
        if self.delegate.is_some() { self.existing() } else { self.open() }
    }

    /// Opens the actor to read it. Only the default actor is made by reading: a name typed wrong must not become an
    /// actor.
    pub(crate) fn existing(&self) -> Outcome<Arc<Cortex>> {
        if self.actor.as_str() != DEFAULT_ACTOR && !self.home.has(&self.actor) {
            return Err(Error::not_found("actor", &self.actor).into());
        }
        self.open()
    }

    fn open(&self) -> Outcome<Arc<Cortex>> {
        Ok(self.home.actor(&self.actor, self.now()?)?)
    }

    pub(crate) fn now(&self) -> Outcome<Millis> {
        if let Some(now) = self.now {
            return Ok(now);
        }
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .ok()
            .and_then(|since| i64::try_from(since.as_millis()).ok())
            .map(Millis)
            .ok_or_else(|| Failure::input("the clock of this machine stands before 1970"))
    }

    pub(crate) fn stamp(&self) -> Outcome<Stamp> {
        Ok(Stamp::new(self.now()?, &self.by))
    }

    pub(crate) fn salt(&self) -> Outcome<Salt> {
        self.random().map(Salt)
    }

    /// Random bytes, at most 32.
    pub(crate) fn random<const N: usize>(&self) -> Outcome<[u8; N]> {
        let mut bytes = [0; N];
        if let Some(seed) = self.seed {
            let drawn = self.drawn.get();
            self.drawn.set(drawn + 1);
            let digest =
                Digest::of("cortex/cli-seed/1", &[&seed.to_be_bytes(), &drawn.to_be_bytes()]);
            bytes.copy_from_slice(&digest.as_bytes()[..N]);
            return Ok(bytes);
        }
        fill_random(&mut bytes)?;
        Ok(bytes)
    }

    // ---- delegates ----

    /// For operations that no grant allows.
    pub(crate) fn owner_only(&self, what: &str) -> Outcome {
        if self.delegate.is_some() {
            return Err(Error::OutsideGrant(format!("only the owner may {what}")).into());
        }
        Ok(())
    }

    /// The authority to do one thing, if a delegate asks; `None` for the owner.
    pub(crate) fn authority(
        &self,
        cortex: &Cortex,
        operation: Operation,
        request: Digest,
    ) -> Outcome<Option<Authority>> {
        let Some(delegate) = &self.delegate else { return Ok(None) };
        let now = self.now()?;
        let presented = delegate.present(operation, request, now, self.random()?);
        Ok(Some(cortex.authorize(&presented, operation, request, now)?))
    }

    /// Runs one command, as the owner or within a grant.
    pub(crate) fn change(
        &self,
        cortex: &Cortex,
        command: Command,
        operation: Option<Operation>,
    ) -> Outcome<Receipt> {
        self.change_stamped(cortex, self.stamp()?, command, operation)
    }

    pub(crate) fn change_stamped(
        &self,
        cortex: &Cortex,
        stamp: Stamp,
        command: Command,
        operation: Option<Operation>,
    ) -> Outcome<Receipt> {
        let authority = if let Some(operation) = operation {
            self.authority(cortex, operation, command.request_digest(Salt::NONE))?
        } else {
            self.owner_only("do this")?;
            None
        };
        Ok(cortex.submit(Request { stamp, command, authority })?)
    }
}

/// How words become terms. Saves and searches must agree.
pub(crate) fn analyzer() -> Analyzer {
    Analyzer::new(Language::English)
}

/// Bytes that nobody can guess.
pub(crate) fn fill_random(bytes: &mut [u8]) -> Outcome {
    getrandom::fill(bytes).map_err(|error| {
        let error = std::io::Error::other(error.to_string());
        Failure::Io { what: "random bytes".into(), error }
    })
}

/// What a read asks, as a delegate signs it: the arguments, each with its length before it.
pub(crate) fn request_digest(arguments: &[&[u8]]) -> Digest {
    let mut bytes = Vec::new();
    for argument in arguments {
        bytes.extend_from_slice(&(argument.len() as u64).to_be_bytes());
        bytes.extend_from_slice(argument);
    }
    Digest::of("cortex/cli-request/1", &[&bytes])
}

/// An environment variable that is set to something.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
