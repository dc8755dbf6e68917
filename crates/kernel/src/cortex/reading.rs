//! Reads of one consistent state: by URI, by query, as a context, and its root.

use std::sync::Arc;

use proof::Digest;
use proof::actor::ActorName;
use proof::memory::{Body, Head, MemoryId, Millis, Usage, Version};
use proof::merkle::Roots;

use crate::commitments::roots_at;
use crate::context::{Bundle, ContextQuery};
use crate::error::{Error, Result};
use crate::find::{FindAnswer, Query};
use crate::grants::{Authority, Gate};
use crate::graph::{Walk, WalkAnswer};
use crate::hook::SharedState;
use crate::store::{Side, StoreReader, View};
use crate::uri::Uri;

/// A consistent state of an actor's memory.
pub struct Reading {
    reader: Box<dyn StoreReader + Send>,
    side: Side,
    actor: ActorName,
    shared: Arc<[SharedState]>,
}

impl std::fmt::Debug for Reading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reading").field("actor", &self.actor).finish_non_exhaustive()
    }
}

/// A memory at a version, with what it says. `body` is gone when the memory was erased, also for a reading from before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedMemory {
    pub uri: Uri,
    pub head: Head,
    pub version: Version,
    pub usage: Usage,
    pub body: Option<Body>,
}

impl Reading {
    pub(super) fn new(
        reader: Box<dyn StoreReader + Send>,
        side: Side,
        actor: ActorName,
        shared: Arc<[SharedState]>,
    ) -> Reading {
        Reading { reader, side, actor, shared }
    }

    /// What a hook of the open actor keeps in memory, by its type.
    pub fn shared<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.shared.iter().find_map(|shared| Arc::clone(shared).downcast().ok())
    }

    pub fn view(&self) -> View<'_> {
        View::new(&*self.reader, self.side)
    }

    pub fn actor(&self) -> &ActorName {
        &self.actor
    }

    pub fn roots(&self) -> Result<Roots> {
        let view = self.view();
        roots_at(&view, view.counters()?.size)
    }

    pub fn root(&self) -> Result<Digest> {
        Ok(self.roots()?.overall(self.actor.as_str()))
    }

    pub fn find(&self, gate: Option<&dyn Gate>, query: &Query, now: Millis) -> Result<FindAnswer> {
        crate::find::find(&self.view(), gate, query, now)
    }

    pub fn context(&self, gate: Option<&Authority>, query: &ContextQuery) -> Result<Bundle> {
        let roots = self.roots()?;
        let root = roots.overall(self.actor.as_str());
        let gate = gate.map(|authority| authority as &dyn Gate);
        crate::context::context(&self.view(), &self.actor, gate, query, (root, roots.size))
    }

    pub fn walk(&self, gate: Option<&dyn Gate>, walk: &Walk, now: Millis) -> Result<WalkAnswer> {
        crate::graph::walk(&self.view(), gate, walk, now)
    }

    /// The exact version a URI names; old ones stay resolvable after updates and after forgetting.
    pub fn resolve(&self, uri: &Uri) -> Result<ResolvedMemory> {
        if uri.actor != self.actor {
            return Err(Error::not_found("memory", uri));
        }
        let resolved = self.resolve_version(uri.id, Some(uri.version))?;
        if resolved.head.memory_type != uri.memory_type {
            return Err(Error::not_found("memory", uri));
        }
        Ok(resolved)
    }

    /// A memory by id, at a version or at its current one.
    pub fn resolve_version(&self, id: MemoryId, version: Option<u32>) -> Result<ResolvedMemory> {
        let view = self.view();
        let head = view.required_head(id)?;
        let version = view.required_version(id, version.unwrap_or(head.version))?;
        // A body that this state still had may have been erased since: it is gone for every reader at once.
        let body = view.sound_body(&version)?;
        Ok(ResolvedMemory {
            uri: self.uri(&head, version.n),
            usage: view.usage(id)?,
            head,
            version,
            body,
        })
    }

    pub fn uri(&self, head: &Head, version: u32) -> Uri {
        Uri { actor: self.actor.clone(), memory_type: head.memory_type, id: head.id, version }
    }
}
