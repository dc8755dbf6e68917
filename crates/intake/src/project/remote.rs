//! The address of a repository, in the one form that all its spellings share.
//!
//! Must stay true: scheme, user, password, port, case, a final `.git` or slash and the hosts some services use for SSH
//! make no difference; a password in an address is never kept.

use crate::project::name;

/// A repository: where it is served and its path there, equal for every address of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// `host/owner/name` in lower case, without `.git` and outer slashes; no host for a repository on a disk.
    pub(super) address: String,
}

/// Hosts that services use for SSH only.
const SSH_HOSTS: [(&str, &str); 5] = [
    ("ssh.github.com", "github.com"),
    ("altssh.gitlab.com", "gitlab.com"),
    ("altssh.bitbucket.org", "bitbucket.org"),
    ("ssh.dev.azure.com", "dev.azure.com"),
    ("vs-ssh.visualstudio.com", "dev.azure.com"),
];

impl Remote {
    /// Reads `https://host/owner/name.git`, `ssh://git@host:22/owner/name`, `git@host:owner/name` and paths.
    pub fn parse(url: &str) -> Option<Remote> {
        let url = url.trim();
        let (authority, path) = if let Some((scheme, rest)) = url.split_once("://") {
            let local = scheme.eq_ignore_ascii_case("file");
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            (if local { "" } else { authority }, path)
        } else {
            match url.split_once(':') {
                // One letter before a colon is a drive; a slash before it makes it part of a path.
                Some((head, path)) if head.len() > 1 && !head.contains(['/', '\\']) => (head, path),
                _ => ("", url),
            }
        };
        let host = host_of(authority);
        let path = path.split(['?', '#']).next().unwrap_or(path).replace('\\', "/").to_lowercase();
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
        let path = if host == "dev.azure.com" { azure_path(path) } else { path.to_owned() };
        let path = path.strip_suffix("/.git").unwrap_or(&path).to_owned();
        path.chars()
            .any(char::is_alphanumeric)
            .then(|| Remote { address: format!("{host}/{path}") })
    }

    /// The last part of the path.
    pub fn name(&self) -> Option<String> {
        name::normalize(self.address.rsplit('/').next().unwrap_or(&self.address))
    }
}

/// The host of `user:password@host:port`.
fn host_of(authority: &str) -> String {
    let host = authority.rsplit('@').next().unwrap_or(authority).to_lowercase();
    let host = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address.to_owned(),
        None => host.split(':').next().unwrap_or(&host).to_owned(),
    };
    let host = without_ssh_alias(&host);
    let served = SSH_HOSTS.iter().find(|(ssh, _)| *ssh == host);
    served.map_or(host, |(_, host)| *host).to_owned()
}

/// People with two accounts name them `github.com-work` in their SSH settings. No top-level domain has a hyphen, but
/// for those in punycode.
fn without_ssh_alias(host: &str) -> &str {
    match host.rfind('.') {
        Some(dot) if !host[dot..].starts_with(".xn--") => {
            host[dot..].find('-').map_or(host, |hyphen| &host[..dot + hyphen])
        }
        _ => host,
    }
}

/// Azure writes one repository as `v3/org/project/name` and `org/project/_git/name`.
fn azure_path(path: &str) -> String {
    let parts = path.split('/').filter(|part| !matches!(*part, "v3" | "_git"));
    parts.collect::<Vec<_>>().join("/")
}
