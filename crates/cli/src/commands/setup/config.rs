//! `cortex config`: what is set, where it came from, and whether it is right.

use std::path::Path;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use service::config;

use crate::failure::CommandResult;
use crate::invocation::{CommandEnv, GlobalArgs, home_folder};
use crate::output::{Output, plain};

/// Shows what is set and where each value came from.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex config show
  cortex config check
  cortex config set http.port 7440
  cortex config unset http.port
  cortex config reference
  CORTEX_MEMORY_DEDUP_MINUTES=5 cortex config show --json")]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    step: ConfigStep,
}

#[derive(Subcommand, Debug)]
enum ConfigStep {
    /// Every key with its value and origin.
    ///
    /// JSON: [{key, value, origin, variable, about}]
    Show,
    /// Sets a key in the file, and leaves the rest of it as it is.
    ///
    /// JSON: {setting, before, changed, note}
    Set {
        /// The key, as `config show` lists it
        key: String,
        /// Its value
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Takes a key out of the file, so that its default counts.
    ///
    /// JSON: as `set`
    Unset {
        /// The key, as `config show` lists it
        key: String,
    },
    /// Where the file is, whether it is there or not.
    ///
    /// JSON: {path, exists}
    Path,
    /// Whether the file and the variables are right.
    ///
    /// JSON: {path, ok}
    Check,
    /// Everything that can be set, as Markdown; presets too.
    ///
    /// JSON: {markdown}
    Reference,
}

pub(crate) fn run(
    args: &ConfigArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let folder = home_folder(globals, &env.variables, &env.cwd)?;
    let path = config::path(&folder, &env.variables);
    match &args.step {
        ConfigStep::Set { key, value } => set(&folder, env, key, Some(value), out),
        ConfigStep::Unset { key } => set(&folder, env, key, None, out),
        ConfigStep::Path => {
            let view = json!({"path": path.display().to_string(), "exists": path.exists()});
            out.either(&view, path.display())
        }
        ConfigStep::Reference => {
            let markdown = config::reference();
            out.either(&json!({ "markdown": markdown }), markdown.trim_end())
        }
        ConfigStep::Check => {
            host::mind_host::read_settings(&config::load(&folder, &env.variables)?)?;
            let view = json!({"path": path.display().to_string(), "ok": true});
            out.either(&view, format_args!("{} is fine", path.display()))
        }
        ConfigStep::Show => {
            let config = config::load(&folder, &env.variables)?;
            let mut views = Vec::new();
            for (name, value, origin) in config.all() {
                let value = &config::shown(name, value);
                let key = config::KEYS.iter().find(|key| key.name == name);
                let about = key.map_or("", |key| key.about);
                if out.is_json() {
                    let variable = key.map(config::Key::variable);
                    views.push(json!({
                        "key": name, "value": value, "origin": origin.to_string(),
                        "variable": variable, "about": about,
                    }));
                } else {
                    let value = plain(&value.to_string());
                    out.line(format_args!("{name:<28} {value:<20} {origin}"))?;
                }
            }
            for (name, value) in config.in_sections() {
                let origin = path.display();
                if out.is_json() {
                    views.push(json!({"key": name, "value": value, "origin": origin.to_string()}));
                } else {
                    let value = plain(&value.to_string());
                    out.line(format_args!("{name:<28} {value:<20} {origin}"))?;
                }
            }
            let (preset, changes) = host::mind_host::by_preset(&config)?;
            for (name, value) in changes {
                let origin = format!("preset {preset}");
                if out.is_json() {
                    views.push(json!({"key": name, "value": value, "origin": origin}));
                } else {
                    let value = plain(&value.to_string());
                    out.line(format_args!("{name:<28} {value:<20} {origin}"))?;
                }
            }
            if out.is_json() { out.object(&Value::Array(views)) } else { Ok(()) }
        }
    }
}

fn set(
    folder: &Path,
    env: &CommandEnv,
    key: &str,
    value: Option<&str>,
    out: &mut Output,
) -> CommandResult {
    let answer = config::edit::set(folder, &env.variables, key, value)?;
    if answer.changed {
        out.say(&answer.note);
    }
    if !answer.setting.origin.contains('/') && answer.setting.origin != "default" {
        out.say(format_args!("{} wins over the file", answer.setting.origin));
    }
    let (key, value) = (&answer.setting.key, plain(&answer.setting.value.to_string()));
    let verb = if answer.changed { "set" } else { "unchanged" };
    out.either(&answer, format_args!("{verb} {key} = {value}"))
}
