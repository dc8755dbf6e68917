//! The policy of a run: what its process reaches, and what a command line tool that it starts reaches.
//!
//! The process is our own program: it reads talents and sources and writes outputs and conversations. A tool is
//! another's program whose model reads text that nobody vouches for: it has less, and nothing of the home that holds a
//! secret. Neither has the stores, the token or the person's own files, unless the talent's file names them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use llm::models::{ProviderKind, ProviderSettings, built_in};
use llm::providers::Env;
use serde::{Deserialize, Serialize};

use super::settings::{ConfineMode, ExecLimits, ExecSettings};
use super::system;
use crate::Layout;

/// The port of services on the internet, which every tool talks to.
const HTTPS: u16 = 443;

/// What a process reaches.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Reach {
    /// Files and what is in folders; programs in them may be started.
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    /// Ports that connections may go to; none given: any.
    pub ports: Option<BTreeSet<u16>>,
}

/// What a talent's file grants beyond the usual.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FileGrant {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    /// Connections may go to any port.
    pub network: bool,
    /// A command line tool may change the chronicle.
    pub chronicle: bool,
}

/// What a run may reach, as the runner tells its process.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct RunPolicy {
    pub mode: ConfineMode,
    pub limits: ExecLimits,
    pub process: Reach,
    pub tool: Reach,
    /// A folder of the run's own, gone when it ends.
    pub scratch: Option<PathBuf>,
}

/// What a policy is made of.
#[derive(Clone, Copy, Debug)]
pub struct RunPolicyParts<'a> {
    pub layout: &'a Layout,
    pub settings: &'a ExecSettings,
    pub providers: &'a ProviderSettings,
    /// Providers that this run may ask.
    pub asked: &'a BTreeSet<String>,
    /// The environment that the run begins with.
    pub env: &'a Env,
    /// This program, which the run and its tools start again.
    pub program: Option<&'a Path>,
    pub grant: &'a FileGrant,
}

impl RunPolicy {
    pub fn new(parts: RunPolicyParts<'_>) -> RunPolicy {
        let RunPolicyParts { layout, settings, providers, env, grant, .. } = parts;
        let home = env.get("HOME").map(Path::new);
        let wide: Vec<&Path> = home.into_iter().chain([layout.home()]).collect();
        let owned = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let expand = |paths: &[PathBuf]| {
            paths.iter().map(|path| system::expanded(path, home)).collect::<Vec<_>>()
        };
        let config = env.get("CORTEX_CONFIG").map(PathBuf::from);
        let mut tool = Reach {
            read: owned(system::READ),
            write: owned(system::WRITE),
            ports: (!grant.network).then(|| parts.ports()),
        };
        tool.read.extend(system::program_folders(env, &wide));
        tool.read.extend(parts.program.map(Path::to_owned));
        tool.read.extend([
            config.unwrap_or_else(|| layout.home().join("cortex.toml")),
            layout.talents(),
            layout.facets(),
            layout.chronicle(),
        ]);
        tool.read.extend(expand(&settings.read));
        tool.read.extend(expand(&grant.read));
        tool.write.extend(expand(&grant.write));
        for (kind, command) in parts.tools() {
            tool.read.extend(system::installation(&command, env, &wide));
            tool.write.extend(system::tool_state(kind, env, home, &wide));
        }
        let mut process = tool.clone();
        process.read.push(layout.contexts());
        process.read.extend(key_files(providers, layout.home()));
        process.write.extend([layout.chronicle(), layout.chats()]);
        if grant.chronicle {
            tool.write.push(layout.chronicle());
        }
        RunPolicy {
            mode: settings.confine,
            limits: settings.limits(),
            process,
            tool,
            scratch: None,
        }
    }

    /// The same with a folder of the run's own.
    #[must_use]
    pub fn with_scratch(mut self, folder: PathBuf) -> RunPolicy {
        self.process.write.push(folder.clone());
        self.tool.write.push(folder.clone());
        self.scratch = Some(folder);
        self
    }
}

impl RunPolicyParts<'_> {
    /// The command line tools that may be asked.
    fn tools(&self) -> Vec<(ProviderKind, PathBuf)> {
        let tool = |name: &String| {
            let set = self.providers.endpoints.get(name);
            let known = built_in(name);
            let kind = set.and_then(|set| set.kind).or(known.map(|known| known.kind))?;
            let command = set.and_then(|set| set.command.clone());
            let usual = || llm::providers::cli::command_of(kind).map(PathBuf::from);
            Some((kind, command.or_else(usual)?))
        };
        self.asked.iter().filter_map(tool).filter(|(kind, _)| kind.is_cli()).collect()
    }

    /// The ports of the providers that may be asked, and of what stands between them and us.
    fn ports(&self) -> BTreeSet<u16> {
        let mut ports = BTreeSet::from([HTTPS]);
        for name in self.asked {
            let set = self.providers.endpoints.get(name).and_then(|set| set.base_url.as_deref());
            let address = set.or(built_in(name).map(|known| known.base_url));
            ports.extend(address.and_then(system::port_of));
        }
        // A tool's own address, and that of a proxy, stand in variables.
        let of_addresses = self.env.iter().filter(|(name, _)| {
            name.ends_with("_URL") || name.to_ascii_uppercase().ends_with("_PROXY")
        });
        ports.extend(of_addresses.filter_map(|(_, value)| system::port_of(value)));
        ports
    }
}

/// Files that hold nothing but the key of a provider.
fn key_files(providers: &ProviderSettings, home: &Path) -> Vec<PathBuf> {
    let file = |endpoint: &llm::models::EndpointSettings| match &endpoint.key {
        Some(llm::models::KeyRef::File(file)) => Some(home.join(file)),
        _ => None,
    };
    providers.endpoints.values().filter_map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(providers: &str, asked: &[&str], grant: &FileGrant) -> RunPolicy {
        let env = Env::from([
            ("HOME".to_owned(), "/home/me".to_owned()),
            ("PATH".to_owned(), "/usr/bin:/home/me/.npm/bin".to_owned()),
            ("ANTHROPIC_BASE_URL".to_owned(), "http://127.0.0.1:4000".to_owned()),
        ]);
        RunPolicy::new(RunPolicyParts {
            layout: &Layout::new("/home/me/.cortex"),
            settings: &ExecSettings { read: vec!["~/.volta".into()], ..ExecSettings::default() },
            providers: &toml::from_str(providers).expect("settings"),
            asked: &asked.iter().map(|name| (*name).to_owned()).collect(),
            env: &env,
            program: Some(Path::new("/opt/cortex/cortex")),
            grant,
        })
    }

    fn covers(paths: &[PathBuf], path: &str) -> bool {
        paths.iter().any(|granted| Path::new(path).starts_with(granted))
    }

    // F8: what a run never reaches
    #[test]
    fn secrets_and_stores_are_out_of_reach() {
        let mine = "[endpoints.mine]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9\"\n\
                    key = { file = \"keys/mine\" }";
        let policy = made(mine, &["mine", "claude"], &FileGrant::default());
        for reach in [&policy.process, &policy.tool] {
            for secret in [
                "/home/me/.ssh/id",
                "/home/me/notes.md",
                "/home/me/.codex/auth.json",
                "/home/me/.cortex/token",
                "/home/me/.cortex/actors/me/ledger",
                "/home/me/.cortex/run/lock",
                "/etc/shadow",
                "/root/.ssh/id",
                "/tmp/x",
                "/var/log/x",
            ] {
                assert!(!covers(&reach.read, secret) && !covers(&reach.write, secret), "{secret}");
            }
            assert!(covers(&reach.write, "/home/me/.claude/projects/x"), "the tool's own folder");
            assert!(covers(&reach.read, "/home/me/.volta/bin/x"));
            assert!(!covers(&reach.write, "/home/me/.cortex/talent/x.md"), "no run writes talents");
            assert!(!covers(&reach.write, "/home/me/.cortex/cortex.toml"));
        }
        assert!(covers(&policy.process.read, "/home/me/.cortex/keys/mine"));
        assert!(
            !covers(&policy.tool.read, "/home/me/.cortex/keys/mine"),
            "the key is not the tool's"
        );
        assert!(covers(&policy.process.write, "/home/me/.cortex/chronicle/20250109"));
        assert!(!covers(&policy.tool.write, "/home/me/.cortex/chronicle/20250109"));
        assert_eq!(policy.tool.ports, Some(BTreeSet::from([9, 443, 4_000])));
    }

    // F8: the talent's file grants, and nothing else does
    #[test]
    fn a_talent_grants_files_and_network() {
        let grant = FileGrant {
            read: vec!["~/notes".into()],
            write: vec!["/srv/out".into()],
            network: true,
            chronicle: true,
        };
        let policy = made("", &[], &grant);
        assert!(covers(&policy.tool.read, "/home/me/notes/a.md"));
        assert!(!covers(&policy.tool.write, "/home/me/notes/a.md"));
        assert!(covers(&policy.tool.write, "/srv/out/a.md"));
        assert!(covers(&policy.tool.write, "/home/me/.cortex/chronicle/x"));
        assert_eq!(policy.tool.ports, None);
        assert!(!covers(&policy.tool.write, "/home/me/.claude/x"), "no tool is asked");
        let line = serde_json::to_string(&policy.clone().with_scratch("/s".into())).expect("JSON");
        let read: RunPolicy = serde_json::from_str(&line).expect("a policy");
        assert!(covers(&read.tool.write, "/s/a") && read.process.read == policy.process.read);
    }
}
