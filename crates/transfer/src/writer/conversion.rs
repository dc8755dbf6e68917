//! Records as the kernel takes them: bodies, provenance, scopes, and the patch of a head.

use kernel::journal::HeadPatch;
use kernel::memory::{
    Body, Fields, MemoryType, Millis, PinnedVersion, Provenance, Scope, Source, Visibility,
};
use serde_json::Value;

use crate::Result;
use crate::record::{HeadRecord, VersionRecord};
use crate::writer::ImportWriter;
use service::fields;

impl ImportWriter<'_> {
    pub(super) fn body(
        &mut self,
        memory_type: MemoryType,
        version: &VersionRecord,
    ) -> Result<Body> {
        let mut wanted = version.fields.clone();
        if let Some(Value::Array(evidence)) = wanted.get_mut("evidence") {
            let names = std::mem::take(evidence);
            for name in names {
                let name = name.as_str().map_or_else(|| name.to_string(), str::to_owned);
                match self.named(&name)? {
                    Some(id) => evidence.push(id.get().into()),
                    None => self.report.references_left_out += 1,
                }
            }
        }
        let mut typed = Fields::empty(memory_type);
        fields::set_json(&mut typed, &wanted)?;
        let (title, content) = (version.title.clone(), version.content.clone());
        Ok(Body { title, content, fields: typed })
    }

    /// A body of the type a memory has; the fields of another type do not fit it.
    pub(super) fn body_as(
        &mut self,
        here: MemoryType,
        wanted: MemoryType,
        version: &VersionRecord,
    ) -> Result<Body> {
        if here == wanted {
            return self.body(here, version);
        }
        let bare = VersionRecord { fields: serde_json::Map::new(), ..version.clone() };
        self.body(here, &bare)
    }

    pub(super) fn provenance(&mut self, version: &VersionRecord) -> Result<Provenance> {
        let source = version.source.as_deref().map_or(Ok(Source::Imported), Source::parse)?;
        let mut derived_from = Vec::new();
        for reference in &version.derived_from {
            let (name, n) = reference.rsplit_once('#').unwrap_or((reference, "1"));
            let pinned = match (self.named(name)?, n.parse::<u32>()) {
                (Some(id), Ok(version)) => Some(PinnedVersion { id, version }),
                _ => None,
            };
            let there = match pinned {
                Some(pinned) => self.reading.view().version(pinned.id, pinned.version)?.is_some(),
                None => false,
            };
            match pinned.filter(|_| there) {
                Some(pinned) => derived_from.push(pinned),
                None => self.report.references_left_out += 1,
            }
        }
        Ok(Provenance {
            source,
            derived_from,
            model: version.model.clone(),
            origin: version.origin.clone(),
        })
    }

    /// When it became true; what the journal cannot keep as the date of making is kept here.
    pub(super) fn valid_from(&self, version: &VersionRecord) -> Option<Millis> {
        let older = version.created.filter(|created| *created < self.floor.get());
        let kept = version.valid_from.or(older)?;
        version.valid_until.is_none_or(|until| kept < until).then_some(Millis(kept))
    }
}

pub(super) fn json_of(head: &HeadRecord) -> Vec<u8> {
    serde_json::to_vec(head).expect("a record of texts and numbers is JSON")
}

pub(super) fn scope(head: &HeadRecord) -> Result<Scope> {
    Ok(head.scope.as_deref().map_or(Ok(Scope::Project), Scope::parse)?)
}

pub(super) fn visibility(head: &HeadRecord) -> Result<Visibility> {
    Ok(head.visibility.as_deref().map_or(Ok(Visibility::Scoped), Visibility::parse)?)
}

/// The whole head as a change: what is absent is cleared.
pub(super) fn patch_of(head: &HeadRecord) -> Result<HeadPatch> {
    let text = |text: &Option<String>| Some(text.clone().unwrap_or_default());
    Ok(HeadPatch {
        kind: head.kind.clone(),
        project: text(&head.project),
        scope: Some(scope(head)?),
        visibility: Some(visibility(head)?),
        pinned: Some(head.pinned),
        archived: Some(head.archived),
        tags: Some(head.tags.clone()),
        topic_key: text(&head.topic_key),
        session: text(&head.session),
        channel: text(&head.channel),
        importance: head.importance,
        duplicates: Some(head.duplicates),
    })
}
