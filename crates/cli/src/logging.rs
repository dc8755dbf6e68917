//! Where log lines go, and which.
//!
//! A daemon in the background writes JSON lines, which its starter points at `logs/daemon.log`; one in the foreground
//! writes lines for people on standard error. Either way the newest lines are kept for its page. Other commands log
//! only if `CORTEX_LOG` asks for it. What must stay true: standard output carries data and never a log line; no secret
//! and no text of a memory is logged at the level `info` or above.

use std::io;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::fmt::writer::MakeWriterExt as _;

/// The variable that says what is logged, like `info` or `daemon=debug,http=warn`.
pub(crate) const VARIABLE: &str = "CORTEX_LOG";

/// What is logged if nobody says otherwise: what our own crates tell, and the warnings of all others, because some of
/// them tell of every request.
const DEFAULT: &str = "warn,agent_sessions=info,agents=info,api=info,cli=info,client=info,cluster=info,\
    command_line=info,daemon=info,embed=info,host=info,http=info,intake=info,kernel=info,llm=info,mcp=info,mind=info,\
    past=info,proof=info,recall=info,redact=info,runs=info,service=info,talent_commands=info,talents=info,text=info,\
    transcripts=info,transfer=info,tui=info";

/// Who reads the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// A person at a terminal.
    Text,
    /// A program, from a file.
    Json,
}

/// Starts logging as the variable says; each line also goes to `keep`.
pub(crate) fn start(format: LogFormat, wanted: Option<&str>, keep: fn(&str)) {
    let filter = match wanted.map(EnvFilter::try_new) {
        Some(Ok(filter)) => filter,
        None => EnvFilter::new(DEFAULT),
        Some(Err(error)) => {
            eprintln!("{VARIABLE} is not understood ({error}); logging as by default");
            EnvFilter::new(DEFAULT)
        }
    };
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_span_events(FmtSpan::NONE)
        .with_writer(io::stderr.and(move || TailWriter(keep)));
    // Only a second start in one process could fail, and then the first one goes on.
    let _ = match format {
        LogFormat::Text => lines.with_target(false).with_ansi(false).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).with_span_list(false).try_init(),
    };
}

/// Keeps each line for the page. A line comes whole.
struct TailWriter(fn(&str));

impl io::Write for TailWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.0)(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Starts logging for a command that is no daemon: only if somebody asks for it.
pub(crate) fn start_if_wanted(wanted: Option<&str>) {
    if wanted.is_some() {
        start(LogFormat::Text, wanted, |_| {});
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_any_of_our_crates_tells_is_logged() {
        let crates = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        for folder in std::fs::read_dir(crates).unwrap() {
            let name = folder.unwrap().file_name().into_string().unwrap();
            let is_listed = DEFAULT.split(',').any(|one| one == format!("{name}=info"));
            assert!(is_listed || name == "testkit", "{name} is not in DEFAULT");
        }
        assert!(EnvFilter::try_new(DEFAULT).is_ok());
    }
}
