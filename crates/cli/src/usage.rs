//! What was typed wrong, told in words or as JSON.

use std::io::Write as _;
use std::num::{IntErrorKind, ParseIntError};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::failure::FailureView;
use crate::{help, output};

/// Help and version are no errors; anything else is wrong usage, in JSON if that was asked for.
pub(super) fn tell(error: &clap::Error) -> ExitCode {
    // Agents read exit code 2 of a hook as "stop": settings from another version must not stop anybody.
    if std::env::args_os().nth(1).is_some_and(|command| command == "hook") {
        // Nobody is left to be told when the output is closed.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    // A command that has commands of its own, called without one, lists them.
    let is_list = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if !error.use_stderr() || is_list {
        // Nobody is left to be told when the output is closed.
        let _ = error.print();
        return ExitCode::from(if is_list { api::error::exit::BAD_INPUT } else { 0 });
    }
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let (message, hint) = (told(error), hint(error, &arguments));
    let line = if arguments.iter().any(|argument| argument == "--json") {
        let view = FailureView { code: "usage".to_owned(), message, hint: Some(hint) };
        serde_json::json!({ "error": view }).to_string()
    } else {
        format!("error: {}\nhint: {}", output::plain(&message), output::plain(&hint))
    };
    // Nobody is left to be told when standard error is closed.
    let _ = writeln!(std::io::stderr(), "{line}");
    ExitCode::from(api::error::exit::BAD_INPUT)
}

/// What was said of one thing around an error.
fn one(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        _ => None,
    }
}

/// The nearest of what it may have been, the best first.
fn many(error: &clap::Error, kind: ContextKind) -> Vec<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text],
        // The parser gives the most likely one last.
        Some(ContextValue::Strings(texts)) => texts.iter().rev().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

/// What is wrong, in a line of our own; for rare kinds the parser's first paragraph.
fn told(error: &clap::Error) -> String {
    let or = |kind, mark: &str| {
        let all: Vec<_> =
            many(error, kind).iter().map(|word| [mark, word, mark].concat()).collect();
        if all.is_empty() { String::new() } else { format!("; did you mean {}?", all.join(" or ")) }
    };
    let argument = one(error, ContextKind::InvalidArg).unwrap_or_default();
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let typed = one(error, ContextKind::InvalidSubcommand).unwrap_or_default();
            format!("no command \"{typed}\"{}", or(ContextKind::SuggestedSubcommand, "`"))
        }
        ErrorKind::UnknownArgument if argument.starts_with('-') => {
            format!("no option {argument} here{}", or(ContextKind::SuggestedArg, ""))
        }
        ErrorKind::UnknownArgument => {
            format!(
                "\"{argument}\" is one word too many; put quotes around a text of several words"
            )
        }
        ErrorKind::MissingRequiredArgument => {
            let mut missing = many(error, ContextKind::InvalidArg);
            missing.reverse();
            let verb = if missing.len() == 1 { "is" } else { "are" };
            format!("{} {verb} missing", missing.join(" and "))
        }
        ErrorKind::InvalidValue => {
            let typed = one(error, ContextKind::InvalidValue).unwrap_or_default();
            if typed.is_empty() {
                return format!("{argument} needs a value");
            }
            let mut known = many(error, ContextKind::ValidValue);
            known.reverse();
            let nearest = or(ContextKind::SuggestedValue, "");
            format!("{argument}: \"{typed}\" is not one of {}{nearest}", known.join(", "))
        }
        _ => bad_number(error).unwrap_or_else(|| first_paragraph(error)),
    }
}

fn first_paragraph(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
    let message = lines.collect::<Vec<_>>().join(" ");
    message.strip_prefix("error: ").unwrap_or(&message).to_owned()
}

/// What to do: how the command is used, and where its examples are.
fn hint(error: &clap::Error, arguments: &[String]) -> String {
    let usage = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string(),
        _ => String::new(),
    };
    // The first word is whatever the program is called here.
    let rest = usage.split_whitespace().skip_while(|word| *word == "Usage:").skip(1);
    let words: Vec<_> = rest.collect();
    let is_command = |word: &&str| word.starts_with(|letter: char| letter.is_ascii_lowercase());
    let mut command: Vec<_> = words.iter().copied().take_while(is_command).collect();
    if command.is_empty() {
        command.extend(arguments.iter().map(String::as_str).find(|word| help::is_command(word)));
    }
    if command.is_empty() {
        return "`cortex help` lists the commands".to_owned();
    }
    let command = command.join(" ");
    if error.kind() == ErrorKind::MissingRequiredArgument {
        return format!("cortex {}; `cortex help {command}` has examples", words.join(" "));
    }
    format!("`cortex help {command}` shows how it is used")
}

/// What is wrong with a number, in words; `None` if something else is wrong.
fn bad_number(error: &clap::Error) -> Option<String> {
    let wrong = std::error::Error::source(error)?.downcast_ref::<ParseIntError>()?;
    let reason = match wrong.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "the number is out of range",
        _ => "give a whole number from 0",
    };
    let (value, name) =
        (one(error, ContextKind::InvalidValue)?, one(error, ContextKind::InvalidArg)?);
    Some(format!("invalid value '{value}' for '{name}': {reason}"))
}
