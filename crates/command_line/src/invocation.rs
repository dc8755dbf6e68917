//! One run of the program: whose memory, by whom, at what time, with what chance.
//!
//! The kernel has no clock, no randomness and no environment. All three enter here, and here only. The hidden `--now`
//! and `--salt-seed` pin clock and chance, so that a run can be repeated to the same root.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_sessions::AgentSessions;
use api::{DEFAULT_ACTOR, GrantFiles};
use clap::Args;
use daemon::cluster_settings::sharing;
use host::Host;
use host::dispatch::HostOperation;
use kernel::actor::ActorName;
use kernel::home::Home;
use kernel::memory::Millis;
use kernel::{Cortex, Error, Options, RenewalWatch};
use service::caller::OperationWatch;
use service::config::{self, Config};
use service::{
    Caller, Environment as _, FixedEnvironment, Service, SystemEnvironment, grant_file, parse,
    renewal,
};

use crate::failure::{CommandResult, Failure};
use crate::output::{Output, ProgressLine, Talk};
use crate::process;

/// Seconds to wait for another process that has the actor open, unless told otherwise.
const WAIT_SECONDS_DEFAULT: u64 = 10;
/// The longest wait that can be asked for.
const WAIT_SECONDS_MAX: u64 = 3_600;

/// What a command has around it, without the outputs.
#[allow(missing_debug_implementations, reason = "it holds the input of a process")]
pub struct CommandEnv {
    pub cwd: PathBuf,
    pub variables: BTreeMap<String, String>,
    pub input: Box<dyn Read + Send>,
    pub input_is_terminal: bool,
    pub ops: Option<Arc<Host>>,
    pub talk: Talk,
}

#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Global options")]
pub struct GlobalArgs {
    /// Folder that holds everything [env: CORTEX_HOME] [default: ~/.cortex]
    #[arg(long, global = true, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// Whose memory to use [env: CORTEX_ACTOR] [default: default]
    #[arg(long, global = true, value_name = "NAME")]
    pub actor: Option<String>,
    /// Print JSON; errors become {"error": {code, message, hint}} on standard error
    #[arg(long, global = true)]
    pub json: bool,
    /// Author of changes [default: your user name]
    #[arg(long, global = true, value_name = "NAME")]
    pub by: Option<String>,
    /// Act as a delegate, with a file made by scope-grant
    #[arg(long, global = true, value_name = "FILE")]
    pub grant: Option<PathBuf>,
    /// The delegate's secret key, if it is not in the grant file
    #[arg(long, global = true, value_name = "FILE", requires = "grant")]
    pub grant_key: Option<PathBuf>,
    /// Seconds to wait for a daemon that does not answer, or a process that has the actor open [default: 10]
    #[arg(long, global = true, value_name = "SECONDS")]
    pub wait: Option<u64>,
    // For tests and replays: the clock stands still at this moment.
    #[arg(long, global = true, hide = true, value_name = "TIME")]
    pub now: Option<String>,
    // For tests and replays: salts, keys and nonces follow from this number. Never use it for real memories.
    #[arg(long, global = true, hide = true, value_name = "N")]
    pub salt_seed: Option<u64>,
}

/// What the person reads and types.
#[allow(missing_debug_implementations, reason = "it holds the input of a process")]
pub struct Input {
    pub reader: Box<dyn Read + Send>,
    pub is_terminal: bool,
}

pub struct Invocation {
    ops: Arc<Host>,
    /// True if nobody else uses these operations.
    own: bool,
    caller: Caller,
    cwd: PathBuf,
    variables: BTreeMap<String, String>,
    input: RefCell<Option<Input>>,
}

impl std::fmt::Debug for Invocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Invocation").field("caller", &self.caller).finish_non_exhaustive()
    }
}

/// The folder that holds everything.
pub fn home_folder(
    globals: &GlobalArgs,
    variables: &BTreeMap<String, String>,
    cwd: &Path,
) -> CommandResult<PathBuf> {
    let named = globals.home.clone().or_else(|| variables.get("CORTEX_HOME").map(Into::into));
    match named {
        Some(folder) => Ok(cwd.join(folder)),
        None => person_home(variables)
            .map(|home| home.join(".cortex"))
            .ok_or_else(|| Failure::input("there is no home folder; give --home DIR")),
    }
}

/// What is set for the home.
pub fn home_config(globals: &GlobalArgs, env: &CommandEnv) -> CommandResult<Config> {
    let folder = home_folder(globals, &env.variables, &env.cwd)?;
    Ok(config::load(&folder, &env.variables)?)
}

fn person_home(variables: &BTreeMap<String, String>) -> Option<PathBuf> {
    variables.get("HOME").map(PathBuf::from).or_else(std::env::home_dir)
}

/// How long to wait for another process.
pub fn wait(globals: &GlobalArgs) -> Duration {
    Duration::from_secs(globals.wait.unwrap_or(WAIT_SECONDS_DEFAULT).min(WAIT_SECONDS_MAX))
}

/// Who asks, as far as flags and variables say.
pub fn caller(
    globals: &GlobalArgs,
    variables: &BTreeMap<String, String>,
    cwd: &Path,
    addressed: Option<&ActorName>,
) -> CommandResult<Caller> {
    let files = globals.grant.as_ref().map(|grant| GrantFiles {
        grant: cwd.join(grant),
        key: globals.grant_key.as_ref().map(|path| cwd.join(path)),
    });
    let delegate = files.map(grant_file::load).transpose()?;
    let addressed = delegate.as_ref().map(|(actor, _)| actor).or(addressed);
    let actor = match globals.actor.as_ref().or_else(|| variables.get("CORTEX_ACTOR")) {
        Some(name) => ActorName::parse(name)?,
        None => match addressed {
            Some(actor) => actor.clone(),
            None => ActorName::parse(DEFAULT_ACTOR)?,
        },
    };
    let by = globals
        .by
        .clone()
        .or_else(|| ["USER", "LOGNAME", "USERNAME"].iter().find_map(|n| variables.get(*n).cloned()))
        .unwrap_or_else(|| "cli".to_owned());
    let now = globals.now.as_deref().map(parse::time).transpose()?;
    let mut caller = Caller::new(actor, by);
    caller.cwd = Some(cwd.to_owned());
    caller.person_home = person_home(variables);
    caller.environment = Arc::new(FixedEnvironment::new(now, globals.salt_seed));
    if let Some((_, delegate)) = delegate {
        caller.act_as(delegate);
    }
    Ok(caller)
}

/// Tells the person why the first command after an update takes long.
pub fn told_of_renewals(talk: Talk) -> RenewalWatch {
    renewal::told(move |line| talk.say(line))
}

impl Invocation {
    /// `addressed` is the actor of a URI that the command names, used if nobody says otherwise.
    pub fn new(
        globals: &GlobalArgs,
        addressed: Option<&ActorName>,
        env: CommandEnv,
    ) -> CommandResult<Invocation> {
        let CommandEnv { cwd, variables, input, input_is_terminal, ops, talk } = env;
        let folder = home_folder(globals, &variables, &cwd)?;
        let caller = caller(globals, &variables, &cwd, addressed)?;
        let own = ops.is_none();
        let ops = match ops {
            Some(ops) => ops,
            None => {
                let config = config::load(&folder, &variables)?;
                let service = Service::new(&folder, config.settings(), wait(globals))
                    .with_embedder(variables.clone(), process::own_environment())
                    .telling(told_of_renewals(talk));
                let service = sharing(service, &config, &variables)?;
                Arc::new(Host::new(service, variables.clone()))
            }
        };
        let input = Input { reader: input, is_terminal: input_is_terminal };
        let input = RefCell::new(Some(input));
        Ok(Invocation { ops, own, caller, cwd, variables, input })
    }

    pub fn ops(&self) -> &Host {
        &self.ops
    }

    pub fn service(&self) -> &Service {
        &self.ops.service
    }

    pub fn agents(&self) -> &AgentSessions {
        &self.ops.agents
    }

    /// Asks an operation.
    pub fn ask<R: HostOperation>(&self, request: R) -> CommandResult<R::Answer> {
        self.ask_as(&self.caller, request)
    }

    /// The same with a key that makes a retry return the first answer.
    pub fn ask_with_key<R: HostOperation>(
        &self,
        key: Option<&String>,
        request: R,
    ) -> CommandResult<R::Answer> {
        self.ask_as(&Caller { idempotency_key: key.cloned(), ..self.caller.clone() }, request)
    }

    /// The same for long work: how far it is is shown on a terminal.
    pub fn ask_watched<R: HostOperation>(
        &self,
        request: R,
        out: &Output,
    ) -> CommandResult<R::Answer> {
        self.ask_as(&self.watching(out), request)
    }

    fn ask_as<R: HostOperation>(&self, caller: &Caller, request: R) -> CommandResult<R::Answer> {
        Ok(request.run(&self.ops, caller)?)
    }

    /// The caller who sees on a terminal how far long work is.
    pub fn watching(&self, out: &Output) -> Caller {
        let line = Mutex::new(ProgressLine::new(out));
        let watch = OperationWatch::new(move |doing, done, total| {
            // A panic while the line was written is no reason to stop the work that it tells of.
            line.lock().unwrap_or_else(PoisonError::into_inner).at(doing, done, total);
        });
        Caller { watch: Some(watch), ..self.caller.clone() }
    }

    /// Who asks.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Variables that say where agents keep their files, as far as they are set.
    pub fn variables_of_agents(&self) -> BTreeMap<String, String> {
        let set = |name: &&str| {
            self.variables.get(*name).map(|value| ((*name).to_owned(), value.clone()))
        };
        ::transcripts::surroundings::VARIABLES.iter().filter_map(set).collect()
    }

    /// True if nobody else uses these operations.
    pub fn is_own(&self) -> bool {
        self.own
    }

    /// What is set for this home, by the caller's variables.
    pub fn config(&self) -> CommandResult<Config> {
        Ok(config::load(self.folder(), &self.variables)?)
    }

    /// Where that is written.
    pub fn config_path(&self) -> PathBuf {
        self.cwd.join(config::path(self.folder(), &self.variables))
    }

    /// A variable that a setting names: the caller's, or this process's own.
    pub fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned().or_else(|| process::own_variable(name))
    }

    /// A path as the person means it.
    pub fn path(&self, path: &Path) -> PathBuf {
        self.cwd.join(path)
    }

    /// Standard input, once.
    pub fn take_input(&self) -> CommandResult<Input> {
        self.input
            .borrow_mut()
            .take()
            .ok_or_else(|| Failure::input("standard input can be read once only"))
    }

    pub fn input_is_terminal(&self) -> bool {
        self.input.borrow().as_ref().is_some_and(|input| input.is_terminal)
    }

    /// Writes down what is pending, if nobody else will.
    pub fn finish(&self) -> CommandResult {
        if self.own {
            self.ops.service.close(self.now()?)?;
        }
        Ok(())
    }

    pub fn folder(&self) -> &Path {
        self.ops.folder()
    }

    pub fn home(&self) -> &Home {
        self.ops.service.home()
    }

    /// How actors are opened.
    pub fn options(&self) -> &Options {
        self.ops.service.options()
    }

    pub fn actor(&self) -> &ActorName {
        &self.caller.actor
    }

    /// The actor's name, if it is not the one that is always there.
    pub fn other_actor(&self) -> Option<&str> {
        Some(self.actor().as_str()).filter(|name| *name != DEFAULT_ACTOR)
    }

    /// Opens the actor to read it. Only the default actor is made by reading: a name typed wrong must not become an
    /// actor.
    pub fn existing(&self) -> CommandResult<Arc<Cortex>> {
        Ok(self.ops.service.opened(&self.caller)?)
    }

    pub fn now(&self) -> CommandResult<Millis> {
        Ok(self.caller.now()?)
    }

    /// Random bytes, at most 32.
    pub fn random<const N: usize>(&self) -> CommandResult<[u8; N]> {
        let mut bytes = [0; N];
        self.caller.environment.fill(&mut bytes)?;
        Ok(bytes)
    }

    // ---- delegates ----

    /// For operations that no grant allows.
    pub fn owner_only(&self, what: &str) -> CommandResult {
        if self.caller.delegate.is_some() {
            return Err(Error::OutsideGrant(format!("only the owner may {what}")).into());
        }
        Ok(())
    }
}

/// Bytes that nobody can guess.
pub fn fill_random(bytes: &mut [u8]) -> CommandResult {
    Ok(SystemEnvironment.fill(bytes)?)
}
