//! Lays a policy on this process: Landlock for files, ports and signals, no new privileges, no powers of the superuser
//! but those over files, and limits.
//!
//! What must stay true: it is called while the process has one thread, since the kernel restricts the thread that
//! asks and those it starts; what is laid on is never taken off; a path that does not exist grants nothing.

use std::fmt;
use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;

use super::policy::Reach;
use super::settings::{ConfineMode, ExecLimits};
use super::tree;

/// What of the confinement is in force, or could be.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Confinement {
    /// Files are out of reach but for those granted.
    pub files: bool,
    /// Connections over TCP go to granted ports only.
    pub ports: bool,
    /// Processes outside of the run get no signals from it.
    pub signals: bool,
}

impl Confinement {
    /// Whether the part that a run cannot do without is there.
    pub fn is_enough(self) -> bool {
        self.files
    }
}

impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [(self.files, "files"), (self.ports, "ports"), (self.signals, "signals")];
        let names = |there: bool| {
            let names = parts.iter().filter(|(has, _)| *has == there).map(|(_, name)| *name);
            names.collect::<Vec<_>>().join(", ")
        };
        match (names(true), names(false)) {
            (has, lacks) if lacks.is_empty() => write!(f, "{has}"),
            (has, lacks) if has.is_empty() => {
                write!(f, "nothing; this system has none for {lacks}")
            }
            (has, lacks) => write!(f, "{has}; this system has none for {lacks}"),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    #[error(
        "runs cannot be confined on this system (Landlock is not there), and exec.confine = \"require\" asks for it"
    )]
    Missing,
    #[error("the confinement failed: {0}")]
    Failed(String),
}

impl ConfineError {
    pub fn code(&self) -> &'static str {
        "not_confined"
    }
}

/// Restricts this process and all it will start.
pub fn enter(
    mode: ConfineMode,
    limits: ExecLimits,
    reach: &Reach,
) -> Result<Confinement, ConfineError> {
    if mode == ConfineMode::Off {
        return Ok(Confinement::default());
    }
    limit(limits).map_err(|error| ConfineError::Failed(format!("limits: {error}")))?;
    let there = landlock::restrict(reach);
    match (there, mode) {
        (Ok(there), ConfineMode::Require) if !there.is_enough() => Err(ConfineError::Missing),
        (Ok(there), _) => Ok(there),
        (Err(why), _) => Err(ConfineError::Failed(why)),
    }
}

/// What this system could do.
pub fn available() -> Confinement {
    landlock::available()
}

/// Bounds of this process and its children; one that is tighter already stays.
fn limit(limits: ExecLimits) -> io::Result<()> {
    // The kernel counts all tasks of the user, not those of the run.
    let processes = tree::tasks_of_user().saturating_add(limits.processes);
    let bounds = [
        (Resource::Nproc, processes),
        // Address space would be the plain word, but runtimes reserve far more of it than they use.
        (Resource::Data, limits.memory_bytes),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Nofile, limits.open_files),
        // What was in memory is nobody's to find in a file.
        (Resource::Core, 0),
    ];
    for (resource, bound) in bounds {
        let has = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let bound = Some(bound.min(has));
        setrlimit(resource, Rlimit { current: bound, maximum: bound })?;
    }
    Ok(())
}

#[cfg(target_os = "linux")]
mod landlock {
    use ::landlock::{
        ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, NetPort, Ruleset, RulesetAttr,
        RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
    };

    use rustix::thread::{
        CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
        remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
    };

    use super::{Confinement, Reach};

    /// The newest that these rules were tried with. Later ones forbid more, which is to be tried first.
    const TRIED: ABI = ABI::V7;

    pub(super) fn restrict(reach: &Reach) -> Result<Confinement, String> {
        set_no_new_privs(true).map_err(|error| error.to_string())?;
        drop_powers().map_err(|error| format!("powers of the superuser: {error}"))?;
        match rules(reach) {
            Ok(RulesetStatus::NotEnforced) => Ok(Confinement::default()),
            Ok(_) => {
                let could = available();
                Ok(Confinement { ports: could.ports && reach.ports.is_some(), ..could })
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Takes the superuser's powers away, but for those over files, which the rules bound: with the others a process
    /// could look into processes outside of its run, or undo what is laid on it.
    fn drop_powers() -> rustix::io::Result<()> {
        let kept = CapabilitySet::CHOWN
            | CapabilitySet::DAC_OVERRIDE
            | CapabilitySet::DAC_READ_SEARCH
            | CapabilitySet::FOWNER;
        let has = capabilities(None)?;
        if has.permitted.is_empty() {
            return Ok(());
        }
        for power in CapabilitySet::all().difference(kept).iter() {
            // A kernel that does not know it does not give it either.
            if capability_is_in_bounding_set(power) == Ok(true) {
                remove_capability_from_bounding_set(power)?;
            }
        }
        let sets = CapabilitySets {
            effective: has.effective & kept,
            permitted: has.permitted & kept,
            inheritable: has.inheritable & kept,
        };
        set_capabilities(None, sets)
    }

    fn rules(reach: &Reach) -> Result<RulesetStatus, RulesetError> {
        let mut ruleset = Ruleset::default()
            .handle_access(AccessFs::from_all(TRIED))?
            .scope(Scope::from_all(TRIED))?;
        if reach.ports.is_some() {
            ruleset = ruleset.handle_access(AccessNet::from_all(TRIED))?;
        }
        let ports = reach.ports.iter().flatten();
        let ports =
            ports.map(|port| Ok::<_, RulesetError>(NetPort::new(*port, AccessNet::ConnectTcp)));
        let status = ruleset
            .create()?
            .add_rules(path_beneath_rules(&reach.read, AccessFs::from_read(TRIED)))?
            .add_rules(path_beneath_rules(&reach.write, AccessFs::from_all(TRIED)))?
            .add_rules(ports)?
            .restrict_self()?;
        Ok(status.ruleset)
    }

    pub(super) fn available() -> Confinement {
        // A ruleset that nobody is restricted by tells what the kernel has.
        let base = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let files = base().handle_access(AccessFs::from_all(ABI::V1)).and_then(Ruleset::create);
        let ports = base().handle_access(AccessNet::from_all(ABI::V4)).and_then(Ruleset::create);
        let signals = base().scope(Scope::from_all(ABI::V6)).and_then(Ruleset::create);
        Confinement { files: files.is_ok(), ports: ports.is_ok(), signals: signals.is_ok() }
    }
}

#[cfg(not(target_os = "linux"))]
mod landlock {
    use super::{Confinement, Reach};

    #[allow(clippy::unnecessary_wraps, reason = "the same signature as where there is one")]
    pub(super) fn restrict(_: &Reach) -> Result<Confinement, String> {
        Ok(Confinement::default())
    }

    pub(super) fn available() -> Confinement {
        Confinement::default()
    }
}
