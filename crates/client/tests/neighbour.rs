//! Goal: nothing is said to a daemon that another user plays.
//! Method: this very program as another user, listening where the daemon of a home would. Needs root.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use api::ErrorCode;
use client::connection::DaemonClient;
use client::place::DaemonPlace;

/// The user that plays the neighbour, and the variable that says where it is to listen.
const NOBODY: u32 = 65_534;
const LISTENS_AT: &str = "CORTEX_TEST_LISTENS_AT";

/// Not a test of its own: what the other user does.
#[test]
fn neighbour() {
    let Some(path) = std::env::var_os(LISTENS_AT) else { return };
    let listener = UnixListener::bind(&path).unwrap();
    println!("\nlistening");
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut heard = Vec::new();
    // It ends when the caller closes, having said something or nothing.
    let _ = stream.read_to_end(&mut heard);
    println!("\nheard {} bytes", heard.len());
}

fn open(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

// F3
#[test]
fn a_daemon_of_another_user_hears_nothing() {
    if client::private::own_uid() != 0 {
        eprintln!("NOT TESTED: a second user needs root to be played");
        return;
    }
    let folder = tempfile::TempDir::new().unwrap();
    let run = folder.path().join("run");
    std::fs::create_dir(&run).unwrap();
    open(folder.path(), 0o755);
    open(&run, 0o777);
    let place = DaemonPlace::new(folder.path());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["neighbour", "--exact", "--nocapture"]).env(LISTENS_AT, place.socket());
    command.current_dir("/").stdout(Stdio::piped()).uid(NOBODY).gid(NOBODY);
    let Ok(mut child) = command.spawn() else {
        eprintln!("NOT TESTED: the other user cannot start this program");
        return;
    };
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "listening"));
    // The folder tells nothing now; only who listens does.
    open(&run, 0o700);
    let error = DaemonClient::connect(&place).unwrap_err();
    assert_eq!(error.code, ErrorCode::PeerRefused, "{error:?}");
    assert!(error.message.contains(&NOBODY.to_string()), "{error:?}");
    assert!(lines.any(|line| line.unwrap() == "heard 0 bytes"));
    child.wait().unwrap();
    open(&run, 0o777);
    assert_eq!(DaemonClient::connect(&place).map(|found| found.is_some()), Ok(false), "it is gone");
}
