//! What was typed wrong, told in words or as JSON.

use std::io::Write as _;
use std::num::{IntErrorKind, ParseIntError};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};

use crate::failure::FailureView;
use crate::output;

/// Help and version are no errors; anything else is wrong usage, in JSON if that was asked for.
pub(super) fn tell(error: &clap::Error) -> ExitCode {
    // Agents read exit code 2 of a hook as "stop": settings from another version must not stop anybody.
    if std::env::args_os().nth(1).is_some_and(|command| command == "hook") {
        // Nobody is left to be told when the output is closed.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let json = std::env::args_os().any(|argument| argument == "--json");
    if let (Some(message), false) = (bad_number(error), json) {
        // Nobody is left to be told when standard error is closed.
        let _ = writeln!(std::io::stderr(), "error: {}", output::plain(&message));
        return ExitCode::from(api::error::exit::BAD_INPUT);
    }
    if !error.use_stderr() || !json {
        // Nobody is left to be told when the output is closed.
        let _ = error.print();
        return ExitCode::from(if error.use_stderr() { api::error::exit::BAD_INPUT } else { 0 });
    }
    let text = error.render().to_string();
    // The first paragraph says what is wrong; the rest is about usage.
    let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
    let message = lines.collect::<Vec<_>>().join(" ");
    let message = message.strip_prefix("error: ").unwrap_or(&message).to_owned();
    let message = bad_number(error).unwrap_or(message);
    let hint = Some("`cortex help COMMAND` shows how it is used".to_owned());
    let view = FailureView { code: "usage".to_owned(), message, hint };
    // Nobody is left to be told when standard error is closed.
    let _ = writeln!(std::io::stderr(), "{}", serde_json::json!({ "error": view }));
    ExitCode::from(api::error::exit::BAD_INPUT)
}

/// What is wrong with a number, in words; `None` if something else is wrong.
fn bad_number(error: &clap::Error) -> Option<String> {
    let wrong = std::error::Error::source(error)?.downcast_ref::<ParseIntError>()?;
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let reason = match wrong.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "the number is out of range",
        _ => "give a whole number from 0",
    };
    let (value, name) = (context(ContextKind::InvalidValue)?, context(ContextKind::InvalidArg)?);
    Some(format!("invalid value '{value}' for '{name}': {reason}"))
}
