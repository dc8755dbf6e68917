//! Calls of tools as agents record them: which are commands, reads and edits, and where their parts stand.
//!
//! What must stay true: a tool that is not in the table keeps its name and the beginning of its input.

use std::borrow::Cow;

use serde::Deserialize;

use crate::cleaner::{Cleaner, RecordPlace};
use crate::json::{JsonContent, JsonList, JsonText};
use crate::limits::EDITS_MAX;

/// What a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ToolEffect {
    Shell,
    Read,
    Edit,
    Patch,
}

/// Names of all agents; no name means different things to two of them.
const TABLE: [(ToolEffect, &[&str]); 4] = [
    (
        ToolEffect::Shell,
        &[
            "Bash",
            "bash",
            "shell",
            "Shell",
            "shell_command",
            "exec_command",
            "local_shell",
            "run_shell_command",
            "execute_command",
            "run_terminal_cmd",
            "run_terminal_command",
            "run_terminal_command_v2",
            "run_command",
            "run_in_terminal",
            "developer__shell",
            "terminal",
            "run_commands",
            "unified_exec",
            "container.exec",
        ],
    ),
    (
        ToolEffect::Read,
        &[
            "Read",
            "read",
            "read_file",
            "read_file_v2",
            "view",
            "NotebookRead",
            "read_many_files",
            "open_file",
            "view_file",
            "read_files",
        ],
    ),
    (
        ToolEffect::Edit,
        &[
            "Edit",
            "MultiEdit",
            "Write",
            "NotebookEdit",
            "edit",
            "multiedit",
            "write",
            "replace",
            "write_file",
            "write_to_file",
            "create_file",
            "create",
            "str_replace",
            "str_replace_editor",
            "search_replace",
            "replace_in_file",
            "edit_file",
            "edit_file_v2",
            "developer__text_editor",
            "text_editor",
            "apply_diff",
            "insert_edit_into_file",
            "replace_string_in_file",
            "editor",
        ],
    ),
    (ToolEffect::Patch, &["apply_patch", "patch", "ApplyPatch"]),
];

/// The parts of an input, under all the names that agents give them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolInput<'a> {
    #[serde(borrow, alias = "cmd", alias = "script", alias = "commands", alias = "CommandLine")]
    command: JsonContent<'a, JsonText<'a>>,
    #[serde(
        borrow,
        alias = "file_path",
        alias = "filePath",
        alias = "absolute_path",
        alias = "notebook_path",
        alias = "target_file",
        alias = "relativeWorkspacePath",
        alias = "TargetFile"
    )]
    path: JsonText<'a>,
    #[serde(borrow, alias = "old_str", alias = "oldString", alias = "oldText", alias = "search")]
    old_string: JsonText<'a>,
    #[serde(
        borrow,
        alias = "new_str",
        alias = "newString",
        alias = "newText",
        alias = "content",
        alias = "contents",
        alias = "file_text",
        alias = "new_source",
        alias = "code_edit"
    )]
    new_string: JsonText<'a>,
    #[serde(borrow, alias = "replacements")]
    edits: JsonList<EditPart<'a>>,
    #[serde(borrow, alias = "input", alias = "patchText", alias = "diff")]
    patch: JsonText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EditPart<'a> {
    #[serde(borrow, alias = "old_str", alias = "oldString", alias = "oldText", alias = "search")]
    old_string: JsonText<'a>,
    #[serde(borrow, alias = "new_str", alias = "newString", alias = "newText", alias = "replace")]
    new_string: JsonText<'a>,
}

/// Records the call of a tool. `input` is its JSON, or plain text where an agent passes that.
pub(crate) fn call(out: &mut Cleaner<'_>, place: RecordPlace<'_>, name: &str, input: &str) {
    let deed = TABLE.iter().find(|(_, names)| names.contains(&name)).map(|(deed, _)| *deed);
    let Some(deed) = deed else {
        return out.tool(place, name, input);
    };
    let parsed: ToolInput<'_> = match serde_json::from_str(input) {
        Ok(parsed) => parsed,
        Err(_) if deed == ToolEffect::Patch => {
            ToolInput { patch: JsonText(Cow::Borrowed(input)), ..ToolInput::default() }
        }
        Err(_) => return out.tool(place, name, input),
    };
    match deed {
        ToolEffect::Shell => {
            let line = command_line(&parsed.command);
            if line.is_empty() { out.tool(place, name, input) } else { out.command(place, &line) }
        }
        ToolEffect::Read if parsed.path.some().is_some() => out.read(place, parsed.path.as_str()),
        ToolEffect::Edit if parsed.path.some().is_some() => {
            let path = parsed.path.as_str();
            if parsed.edits.0.is_empty() {
                out.edit(place, path, parsed.old_string.as_str(), parsed.new_string.as_str());
            }
            for edit in parsed.edits.0.iter().take(EDITS_MAX) {
                out.edit(place, path, edit.old_string.as_str(), edit.new_string.as_str());
            }
        }
        ToolEffect::Edit | ToolEffect::Patch if parsed.patch.as_str().contains("*** ") => {
            patch(out, place, parsed.patch.as_str());
        }
        _ => out.tool(place, name, input),
    }
}

/// A command as one line: `["bash", "-lc", "make test"]` is what the shell is given.
fn command_line<'a>(command: &'a JsonContent<'a, JsonText<'a>>) -> Cow<'a, str> {
    match command {
        JsonContent::Text(text) => Cow::Borrowed(text),
        JsonContent::Blocks(words) => match &words[..] {
            [shell, flag, line] if is_shell(shell.as_str()) && flag.as_str().starts_with('-') => {
                Cow::Borrowed(line.as_str())
            }
            words => Cow::Owned(words.iter().map(JsonText::as_str).collect::<Vec<_>>().join(" ")),
        },
    }
}

fn is_shell(program: &str) -> bool {
    ["sh", "bash", "zsh", "dash"].contains(&program.rsplit('/').next().unwrap_or(program))
}

/// Edits of a patch in the form of `apply_patch`: one for each file.
fn patch(out: &mut Cleaner<'_>, place: RecordPlace<'_>, text: &str) {
    let (mut path, mut removed, mut added) = (None, String::new(), String::new());
    let mut edits = 0;
    for line in text.lines().chain(["*** End Patch"]) {
        if let Some(command) = line.strip_prefix("*** ") {
            if let Some(path) = path.take()
                && edits < EDITS_MAX
            {
                out.edit(place, path, &removed, &added);
                edits += 1;
            }
            removed.clear();
            added.clear();
            path = ["Update File: ", "Add File: ", "Delete File: "]
                .iter()
                .find_map(|verb| command.strip_prefix(verb));
        } else if let Some(line) = line.strip_prefix('-') {
            removed.push_str(line);
            removed.push('\n');
        } else if let Some(line) = line.strip_prefix('+') {
            added.push_str(line);
            added.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cleaner::{PastEvent, ReaderMemory};
    use crate::session::ItemBody;

    fn bodies(name: &str, input: &str) -> Vec<ItemBody> {
        let mut events = Vec::new();
        call(
            &mut Cleaner::new(&mut events, ReaderMemory::default(), 1),
            RecordPlace::default(),
            name,
            input,
        );
        let body = |event| match event {
            PastEvent::Item(item) => item.body,
            other => panic!("{other:?}"),
        };
        events.into_iter().map(body).collect()
    }

    fn edit(path: &str, removed: &str, added: &str) -> ItemBody {
        ItemBody::Edit {
            path: path.to_owned(),
            removed: removed.to_owned(),
            added: added.to_owned(),
        }
    }

    #[test]
    fn calls_are_told_apart() {
        let command = |line: &str| vec![ItemBody::Command { line: line.to_owned() }];
        assert_eq!(bodies("Bash", r#"{"command":"make test"}"#), command("make test"));
        assert_eq!(
            bodies("shell", r#"{"command":["bash","-lc","make test"]}"#),
            command("make test")
        );
        assert_eq!(bodies("shell", r#"{"command":["make","test"]}"#), command("make test"));
        assert_eq!(
            bodies("Read", r#"{"file_path":"/a"}"#),
            [ItemBody::Read { path: "/a".to_owned() }]
        );
        assert_eq!(
            bodies("Edit", r#"{"file_path":"/a","old_string":"x","new_string":"y"}"#),
            [edit("/a", "x", "y")]
        );
        assert_eq!(
            bodies(
                "MultiEdit",
                r#"{"file_path":"/a","edits":[{"old_string":"1","new_string":"2"},{"new_string":"3"}]}"#
            ),
            [edit("/a", "1", "2"), edit("/a", "", "3")]
        );
        let unknown = ItemBody::Tool { name: "Task".to_owned(), input: r#"{"x":1}"#.to_owned() };
        assert_eq!(bodies("Task", r#"{"x":1}"#), [unknown]);
        assert_eq!(bodies("Bash", "torn").len(), 1);
    }

    #[test]
    fn a_patch_is_an_edit_of_each_file() {
        let text = "*** Begin Patch\n*** Update File: a.rs\n@@\n-old\n+new\n same\n\
            *** Add File: b.rs\n+b\n*** End Patch";
        let expected = [edit("a.rs", "old\n", "new\n"), edit("b.rs", "", "b\n")];
        assert_eq!(bodies("apply_patch", text), expected);
        let json = serde_json::json!({ "input": text }).to_string();
        assert_eq!(bodies("apply_patch", &json), expected);
    }
}
