//! `cortex version`, `completions` and `man`: what this program is, for people, shells and manuals.
//!
//! Completions and pages are made from the one definition of the command line, so they cannot say anything else.

use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;
use client::protocol::PROTOCOL;
use serde::Serialize;

use crate::failure::{CommandResult, Failure};
use crate::output::Output;
use crate::wiring::words;

/// Shows the version of this program and of what it writes: journal, search index, vectors.
///
/// JSON: {version, commit, schema, protocol, analyzer, model}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex version
  cortex version --json")]
pub(crate) struct VersionArgs {}

/// Prints a script that completes commands and options in your shell.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex completions bash > ~/.local/share/bash-completion/completions/cortex
  cortex completions zsh > ~/.zfunc/_cortex
  cortex completions fish > ~/.config/fish/completions/cortex.fish")]
pub(crate) struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints a manual page, or writes all of them into a folder.
///
/// JSON, with --out: {folder, pages}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex man | man -l -
  cortex man save | man -l -
  cortex man --out ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Of this command [default: of the whole program]
    #[arg(value_name = "COMMAND")]
    topic: Option<String>,
    /// Write cortex.1 and one page per command into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "topic")]
    out: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
pub(crate) struct BuildInfo {
    version: &'static str,
    /// Of the source it was built from, if whoever built it said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'static str>,
    /// Of the journal's entries.
    schema: u32,
    /// Between commands and the daemon.
    protocol: u32,
    /// Of the rules that make terms of words.
    analyzer: u32,
    /// The built-in model of meaning.
    model: String,
}

impl BuildInfo {
    pub(crate) fn of_this_program() -> BuildInfo {
        BuildInfo {
            version: env!("CARGO_PKG_VERSION"),
            commit: option_env!("CORTEX_COMMIT").filter(|commit| !commit.is_empty()),
            schema: proof::journal::SCHEMA,
            protocol: PROTOCOL,
            analyzer: words::ANALYZER_VERSION,
            model: words::built_in_model(),
        }
    }

    /// All of it on one line.
    pub(crate) fn line(&self) -> String {
        let commit = self.commit.map(|commit| format!(" ({commit})")).unwrap_or_default();
        format!(
            "cortex {}{commit}, schema {}, analyzer {}, model {}",
            self.version, self.schema, self.analyzer, self.model
        )
    }
}

pub(crate) fn version(_: &VersionArgs, out: &mut Output) -> CommandResult {
    let version = BuildInfo::of_this_program();
    out.either(&version, version.line())
}

pub(crate) fn completions(
    args: &CompletionsArgs,
    mut cli: Command,
    out: &mut Output,
) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli, "cortex", &mut script);
    out.line(String::from_utf8_lossy(&script).trim_end())
}

pub(crate) fn man(args: &ManArgs, mut cli: Command, cwd: &Path, out: &mut Output) -> CommandResult {
    cli.build();
    if let Some(folder) = &args.out {
        return write_all(&cwd.join(folder), &cli, out);
    }
    let command = match &args.topic {
        None => &cli,
        Some(topic) => cli.find_subcommand(topic).ok_or_else(|| {
            Failure::input(format!("no command {topic:?}; `cortex help` lists them"))
        })?,
    };
    out.line(page(command)?.trim_end())
}

fn page(command: &Command) -> CommandResult<String> {
    let name = command.get_bin_name().unwrap_or("cortex").replace(' ', "-");
    let mut roff = Vec::new();
    clap_mangen::Man::new(command.clone())
        .title(name)
        .render(&mut roff)
        .map_err(Failure::output)?;
    Ok(String::from_utf8_lossy(&roff).into_owned())
}

fn write_all(folder: &Path, cli: &Command, out: &mut Output) -> CommandResult {
    std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, error))?;
    let mut pages = 0;
    for command in std::iter::once(cli).chain(cli.get_subcommands()) {
        if command.is_hide_set() {
            continue;
        }
        let name = command.get_bin_name().unwrap_or("cortex").replace(' ', "-");
        let path = folder.join(format!("{name}.1"));
        std::fs::write(&path, page(command)?).map_err(|error| Failure::file(&path, error))?;
        pages += 1;
    }
    let view = serde_json::json!({"folder": folder.display().to_string(), "pages": pages});
    out.either(&view, format_args!("{pages} pages in {}", folder.display()))
}
