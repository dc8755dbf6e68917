//! What `cargo metadata` tells about our packages and everything they need.

use std::process::{Command, Output};

use serde_json::Value;

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a text, not {value}")).to_owned()
}

pub(crate) fn list<'v>(value: &'v Value, name: &str) -> &'v Vec<Value> {
    value[name].as_array().unwrap_or_else(|| panic!("{name} is a list"))
}

fn cargo(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        // Without a network the attempt to use it must end soon.
        .env("CARGO_NET_RETRY", "0")
        .env("CARGO_HTTP_TIMEOUT", "5")
        .output()
        .expect("cargo runs")
}

/// The packages of all platforms, or, when manifests of foreign platforms cannot be had (no network), of this one.
///
/// The first try is offline and the usual one: the network is asked once, on a machine that never saw these manifests.
pub(crate) fn metadata() -> Value {
    let version = String::from_utf8(cargo(&["-vV"]).stdout).expect("cargo speaks UTF-8");
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.expect("cargo -vV names the host");
    let base = ["metadata", "--format-version", "1", "--locked"];
    let tries: [&[&str]; 3] = [&["--offline"], &[], &["--offline", "--filter-platform", host]];
    let mut complaint = String::new();
    for more in tries {
        let answer = cargo(&[&base[..], more].concat());
        if answer.status.success() {
            return serde_json::from_slice(&answer.stdout).expect("cargo metadata prints JSON");
        }
        complaint = String::from_utf8_lossy(&answer.stderr).into_owned();
    }
    panic!("cargo metadata failed: {complaint}");
}
