//! `cortex edit`: a memory in the editor of the person who types.
//!
//! What must stay true: what somebody else wrote meanwhile is never overwritten, and what was typed is never lost: if
//! it cannot be saved, the file stays and its name is said.

use std::path::Path;
use std::process::Command;

use api::ErrorCode;
use api::change::UpdateRequest;
use api::read::GetRequest;
use clap::Args;
use client::place::DaemonPlace;
use client::pool::ClientPool;

use crate::failure::{CommandResult, Failure};
use crate::invocation::{CommandEnv, GlobalArgs, caller, home_folder, wait};
use crate::output::Output;
use crate::process::own_variable;
use crate::wiring::words::MemoryRef;

/// Opens a memory in your editor and saves what you made of it as a new version.
///
/// The first line is the title, the rest the content. The editor is $VISUAL, $EDITOR, or vi. If somebody wrote a
/// version meanwhile, nothing is overwritten: your text stays in a file, and you are told where.
///
/// JSON: as `cortex update`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex edit 12
  EDITOR='code --wait' cortex edit 12")]
pub(crate) struct EditArgs {
    /// Memory: 12 or a URI
    #[arg(value_name = "ID")]
    memory: MemoryRef,
}

pub(crate) fn run(
    args: &EditArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let folder = home_folder(globals, &env.variables, &env.cwd)?;
    let addressed = args.memory.uri.as_ref().map(|uri| &uri.actor);
    let caller = caller(globals, &env.variables, &env.cwd, addressed)?;
    let pool = ClientPool::new(DaemonPlace::new(&folder).waiting(wait(globals)), caller.info())?;
    let id = args.memory.of(&caller.actor)?.get();
    let request = GetRequest { id, quiet: true, ..GetRequest::default() };
    let memory = api::ask(&pool, request)?.memory;
    let before = format!("{}\n\n{}\n", memory.title, memory.content.trim_end());
    let file = tempfile::Builder::new()
        .prefix(&format!("cortex-{id}-"))
        .suffix(".md")
        .tempfile()
        .map_err(|error| Failure::Io { what: "a temporary file".into(), error })?;
    let io = |error| Failure::Io { what: file.path().display().to_string(), error };
    std::fs::write(file.path(), &before).map_err(io)?;
    open_editor(file.path())?;
    let after = std::fs::read_to_string(file.path()).map_err(io)?;
    let Some((title, content)) = parts(&after) else {
        return Err(Failure::input("the file was left empty; nothing was changed"));
    };
    if after == before || (title == memory.title && content == memory.content.trim_end()) {
        return out.either(&memory, format_args!("unchanged {}", memory.uri));
    }
    let request = UpdateRequest {
        id,
        title: (title != memory.title).then_some(title),
        content: (content != memory.content.trim_end()).then_some(content),
        expected_version: Some(memory.latest),
        ..UpdateRequest::default()
    };
    match api::ask(&pool, request) {
        Ok(answer) => out.either(&answer, format_args!("updated {}", answer.memory.uri)),
        Err(error) => {
            let (_, path) = file.keep().map_err(|kept| Failure::Io {
                what: "the edited text".into(),
                error: kept.error,
            })?;
            out.say(format_args!("what you wrote is in {}", path.display()));
            if error.code == ErrorCode::VersionConflict {
                out.say(format_args!("`cortex get {id}` shows what somebody else wrote meanwhile"));
            }
            Err(error.into())
        }
    }
}

/// The editor's words are the shell's, so that it may have arguments.
fn open_editor(path: &Path) -> CommandResult {
    let editor = ["VISUAL", "EDITOR"].iter().find_map(|name| own_variable(name));
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(path);
    let status = command.status().map_err(|error| Failure::Io { what: editor.clone(), error })?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::input(format!("{editor} ended with {status}; nothing was changed")))
}

/// The first line and the rest; `None` if there is nothing.
fn parts(text: &str) -> Option<(String, String)> {
    let text = text.trim_start_matches(['\n', '\r', '\u{feff}']);
    let (title, rest) = text.split_once('\n').unwrap_or((text, ""));
    let title = title.trim();
    (!title.is_empty()).then(|| (title.to_owned(), rest.trim().to_owned()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_the_title() {
        let parts = |text| parts(text);
        assert_eq!(parts("A\n\nB\n\nC\n").unwrap(), ("A".into(), "B\n\nC".into()));
        assert_eq!(parts("\nA").unwrap(), ("A".into(), String::new()));
        assert_eq!(parts(" \n"), None);
    }
}
