//! `cortex open`: the page in a browser, as its owner.
//!
//! What must stay true: the link is on no command line, where other users of the machine could read it before the
//! browser does: a browser is given a file that only its owner can read and that leads to the link.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use api::{Error, ErrorCode, Fault};
use clap::Args;
use client::connection::DaemonClient;
use client::place::DaemonPlace;
use client::start::connect_or_start;

use crate::failure::{CommandResult, Failure};
use crate::invocation::{CommandEnv, GlobalArgs, home_folder, wait};
use crate::output::Output;

/// Programs that show a file in the browser of the person, the first that is there.
const BROWSERS: [&str; 3] = ["xdg-open", "open", "wslview"];

/// Opens the page of this home in your browser, as its owner.
///
/// The link works once; the browser is yours for a week from then on. --print shows it instead, for another browser. A
/// daemon is started if none runs, and stays until `cortex stop`; one that an agent started begins to serve the page.
///
/// JSON: {page, http}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex open
  cortex open --print")]
pub(crate) struct OpenArgs {
    /// Print the link and open nothing
    #[arg(long)]
    print: bool,
}

pub(crate) fn run(
    args: &OpenArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let home = home_folder(globals, &env.variables, &env.cwd)?;
    let place = DaemonPlace::new(&home).waiting(wait(globals));
    let link = connect_or_start(&place)?.open_page()?;
    let page = link["page"].as_str().unwrap_or_default();
    if args.print || out.is_json() {
        return out.either(&link, page);
    }
    let file = leading_file(&place, page)?;
    let shown = BROWSERS.iter().find(|browser| show(browser, &file));
    match shown {
        Some(browser) => out.line(format_args!("opened with {browser}")),
        None => {
            out.say("no browser could be started; open this link, it works once:");
            out.line(page)
        }
    }
}

/// The daemon of the home, which must be there: a link leads to one.
pub(crate) fn daemon(place: &DaemonPlace) -> CommandResult<DaemonClient> {
    DaemonClient::connect(place)?.ok_or_else(|| {
        let message = format!("no daemon runs for {}", place.home.display());
        Error::new(ErrorCode::NotRunning, Fault::Missing, message)
            .with_hint("`cortex serve` starts one")
            .into()
    })
}

/// A file for the browser, which leads to the link.
fn leading_file(place: &DaemonPlace, page: &str) -> CommandResult<PathBuf> {
    let path = place.home.join("run").join("open.html");
    let text = format!(
        "<!doctype html><meta charset=\"utf-8\"><title>Cortex</title>\
         <meta http-equiv=\"refresh\" content=\"0;url={page}\"><a href=\"{page}\">Cortex</a>\n"
    );
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::file(&path, error))?;
    Ok(path)
}

fn show(browser: &str, file: &Path) -> bool {
    let mut command = Command::new(browser);
    command.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
