//! How runs of this home, and the tools they start, are held in: what the settings say, and how a tool is started.
//!
//! What must stay true: the settings are checked before anything runs by them; a command line tool that the daemon
//! itself starts is held in as one that a run starts.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use api::{Error, ErrorCode, Fault, Result};
use llm::models::ProviderSettings;
use llm::providers::{Env, ToolConfinement};
use service::config::Config;
use talents::Layout;
use talents::confine::{
    ConfineMode, ExecSettings, FileGrant, RunPolicy, RunPolicyParts, VariableRules,
};

/// What `[exec]` of the configuration says.
pub fn exec_settings(config: &Config) -> Result<ExecSettings> {
    let settings: ExecSettings = config.section("exec", &[])?;
    settings.check().map_err(|why| Error::new(ErrorCode::Config, Fault::Caller, why))?;
    Ok(settings)
}

/// How a command line tool is started under a policy: through this program, which restricts itself first.
pub fn tool_confinement(policy: &RunPolicy, program: &Path) -> Option<ToolConfinement> {
    if policy.mode == ConfineMode::Off {
        return None;
    }
    // Made of paths and numbers, so it is always JSON; without it nothing may be reached at all.
    let text = serde_json::to_string(policy).unwrap_or_default();
    let words = ["talent", "confined", &text, "--"].map(OsString::from);
    Some(ToolConfinement {
        launcher: std::iter::once(program.into()).chain(words).collect(),
        scratch: policy.scratch.clone(),
    })
}

/// The same for a tool that the daemon starts itself, for a provider of the mind.
pub(crate) fn of_daemon(
    config: &Config,
    layout: &Layout,
    providers: &ProviderSettings,
    provider: &str,
    environment: &Env,
) -> Result<Option<ToolConfinement>> {
    let settings = exec_settings(config)?;
    // A program that cannot say where it is can start nothing through itself.
    let Ok(program) = std::env::current_exe() else { return Ok(None) };
    let variables = VariableRules::new(&settings, providers, environment);
    let policy = RunPolicy::new(RunPolicyParts {
        layout,
        settings: &settings,
        providers,
        asked: &BTreeSet::from([provider.to_owned()]),
        env: variables.base(),
        program: Some(&program),
        grant: &FileGrant::default(),
    });
    Ok(tool_confinement(&policy.with_scratch(layout.scratches().join("mind")), &program))
}
