//! Where an agent works, if it started us somewhere else: some clients start their servers in the home folder, and say
//! in their roots where they work.
//!
//! What must stay true: roots are asked for once, of clients that have them; one that does not answer costs a moment
//! and nothing else.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rmcp::{Peer, RoleServer};
use tokio::sync::OnceCell;

use crate::backend::Backend;

/// How long a client may take to say where it works.
const ROOTS_WAIT: Duration = Duration::from_secs(2);

/// Gives the answers for who works in a folder.
type AtFolder = dyn Fn(PathBuf) -> Option<Backend> + Send + Sync;

/// The answers for where the agent works, once that is known.
#[derive(Clone)]
pub(super) struct WorkFolder {
    at: Arc<AtFolder>,
    found: Arc<OnceCell<Option<Backend>>>,
}

impl WorkFolder {
    pub(super) fn new(at: impl Fn(PathBuf) -> Option<Backend> + Send + Sync + 'static) -> Self {
        WorkFolder { at: Arc::new(at), found: Arc::default() }
    }

    pub(super) async fn backend(&self, peer: &Peer<RoleServer>) -> Option<Backend> {
        let ask = || async { root(peer).await.and_then(|folder| (self.at)(folder)) };
        self.found.get_or_init(ask).await.clone()
    }
}

impl fmt::Debug for WorkFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WorkFolder")
    }
}

/// The first folder that the client says it works in.
#[expect(deprecated, reason = "clients of the revisions that have roots still say so")]
async fn root(peer: &Peer<RoleServer>) -> Option<PathBuf> {
    peer.peer_info()?.capabilities.roots.as_ref()?;
    let roots = tokio::time::timeout(ROOTS_WAIT, peer.list_roots()).await.ok()?.ok()?.roots;
    roots.iter().find_map(|root| folder_of(&root.uri))
}

/// The folder that `file:///home/ada/web` names.
fn folder_of(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?;
    let path = path.strip_prefix("localhost").unwrap_or(path);
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            let digits = std::str::from_utf8(&digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok().map(PathBuf::from).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_root_names_a_folder() {
        assert_eq!(
            folder_of("file:///home/ada/a%20b").as_deref(),
            Some(Path::new("/home/ada/a b"))
        );
        assert_eq!(folder_of("file://localhost/x").as_deref(), Some(Path::new("/x")));
        for none in ["https://x.org", "file://host", "file:///%", "file:///%zz", "file:///%ff"] {
            assert_eq!(folder_of(none), None, "{none}");
        }
    }
}
