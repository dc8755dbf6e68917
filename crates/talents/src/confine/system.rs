//! What every program needs of the system, and where a command line tool and its files are.
//!
//! What must stay true: no folder here holds the person's own folder or the home of the memory, so that granting a
//! program never grants what lies beside it. Such folders are called `wide` here.

use std::path::{Path, PathBuf};

use llm::models::ProviderKind;
use llm::providers::Env;

/// Programs, libraries, certificates, names of hosts, zones; what runtimes ask about the machine.
pub(super) const READ: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/run/current-system",
    "/home/linuxbrew/.linuxbrew",
    "/snap",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/machine-id",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl",
    "/etc/static",
    "/etc/terminfo",
    "/etc/timezone",
    // What an administrator has set for the tools; it can only forbid more.
    "/etc/claude-code",
    "/etc/codex",
    "/etc/gemini-cli",
    // Other processes show no more than their names here: the kernel keeps their memory and variables from a
    // confined process.
    "/proc",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/sys/kernel/mm",
    "/run/NetworkManager",
    "/run/resolvconf",
    "/run/systemd/resolve",
    "/var/lib/ca-certificates",
];

/// Devices that hold nothing.
pub(super) const WRITE: &[&str] = &[
    "/dev/full",
    "/dev/null",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/random",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];

/// A path as it is written in settings: `~` is the person's folder.
pub(super) fn expanded(path: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

/// The folders that programs are looked up in.
pub(super) fn program_folders(env: &Env, wide: &[&Path]) -> Vec<PathBuf> {
    let path = env.get("PATH").map(String::as_str).unwrap_or_default();
    std::env::split_paths(path).filter(|folder| is_narrow(folder, wide)).collect()
}

/// Whether a folder can be granted for what it holds: it is absolute, and neither a wide one nor above one.
fn is_narrow(folder: &Path, wide: &[&Path]) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = real(folder);
    let holds = |wide: &&Path| real(wide).starts_with(&folder);
    folder.is_absolute() && folder.parent().is_some() && !wide.iter().any(holds)
}

/// The command of a tool and the folders it is installed in: where its link leads, and that of the interpreter most of
/// them need.
pub(super) fn installation(command: &Path, env: &Env, wide: &[&Path]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for program in [command, Path::new("node")] {
        let at = if program.components().count() > 1 {
            Some(program.to_owned())
        } else {
            let path = env.get("PATH").map(String::as_str).unwrap_or_default();
            std::env::split_paths(path)
                .map(|folder| folder.join(program))
                .find(|file| file.is_file())
        };
        let Some(at) = at.and_then(|at| at.canonicalize().ok()) else { continue };
        // A package of Node finds its dependencies beside itself.
        let package = at.ancestors().filter(|folder| folder.ends_with("node_modules")).last();
        let folder = package.or(at.parent()).filter(|folder| is_narrow(folder, wide));
        found.extend(folder.map(Path::to_owned));
        found.push(at);
    }
    found
}

/// Where a tool keeps its login, its settings and its sessions.
pub(super) fn tool_state(
    kind: ProviderKind,
    env: &Env,
    home: Option<&Path>,
    wide: &[&Path],
) -> Vec<PathBuf> {
    let (variable, usual): (&str, &[&str]) = match kind {
        ProviderKind::Claude => (
            "CLAUDE_CONFIG_DIR",
            &[
                ".claude",
                ".claude.json",
                ".local/state/claude",
                ".local/share/claude",
                ".cache/claude",
            ],
        ),
        ProviderKind::Codex => ("CODEX_HOME", &[".codex"]),
        ProviderKind::Gemini => ("GEMINI_CLI_HOME", &[".gemini"]),
        ProviderKind::Anthropic | ProviderKind::Openai | ProviderKind::Google => return Vec::new(),
    };
    let own = env.get(variable).map(PathBuf::from).filter(|folder| is_narrow(folder, wide));
    let usual = home.into_iter().flat_map(|home| usual.iter().map(|name| home.join(name)));
    own.into_iter().chain(usual).collect()
}

/// The port of an address such as `https://host:8443/v1`.
pub(super) fn port_of(address: &str) -> Option<u16> {
    let (scheme, rest) = address.split_once("://")?;
    let usual = match scheme.to_ascii_lowercase().as_str() {
        "https" | "wss" => 443,
        "http" | "ws" => 80,
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    // The colons of an IPv6 address stand in brackets.
    match host.rsplit(']').next()?.rsplit_once(':') {
        Some((_, port)) => port.parse().ok(),
        None => Some(usual),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_of_an_address_is_read() {
        for (address, port) in [
            ("https://api.example.org/v1", Some(443)),
            ("http://127.0.0.1:11434/v1", Some(11_434)),
            ("http://user:pass@host:81?x=1", Some(81)),
            ("http://[::1]:8080/", Some(8_080)),
            ("HTTP://[::1]", Some(80)),
            ("socks5://host:1080", None),
            ("host:443", None),
            ("https://host:99999", None),
        ] {
            assert_eq!(port_of(address), port, "{address}");
        }
    }

    // F8: a program beside a key does not grant the key
    #[test]
    fn the_persons_folder_is_never_granted_for_a_program_in_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let home = dir.path();
        let bin = home.join("bin");
        std::fs::create_dir(&bin).expect("a folder");
        for file in [home.join("claude"), bin.join("codex")] {
            std::fs::write(file, "").expect("a file");
        }
        let env =
            Env::from([("PATH".to_owned(), format!("{}:{}:/:", home.display(), bin.display()))]);
        assert_eq!(program_folders(&env, &[home]), std::slice::from_ref(&bin));
        let granted = installation(&home.join("claude"), &env, &[home]);
        assert!(!granted.iter().any(|path| home.starts_with(path)), "{granted:?}");
        assert!(granted.iter().any(|path| path.ends_with("claude")), "{granted:?}");
        let granted = installation(Path::new("codex"), &env, &[home]);
        assert!(granted.iter().any(|path| path.ends_with("bin")), "{granted:?}");
        let state = tool_state(
            ProviderKind::Claude,
            &Env::from([("CLAUDE_CONFIG_DIR".to_owned(), home.display().to_string())]),
            Some(home),
            &[home],
        );
        assert!(!state.iter().any(|path| home.starts_with(path)), "{state:?}");
    }
}
