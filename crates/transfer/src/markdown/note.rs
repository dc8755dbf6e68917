//! One memory as a note: YAML front matter, heading, text, relations.

use std::fmt::Write as _;

use kernel::limits::EDGES_PER_MEMORY_MAX;
use kernel::memory::{Head, Millis};
use kernel::{Reading, ResolvedMemory};
use serde_json::Value;

use crate::Result;
use crate::export::Selection;
use crate::markdown::names;
use service::fields;
use service::parse::from_ppm;

/// Path, text and number of edges of a memory's note.
pub(super) fn note(
    reading: &Reading,
    selection: &Selection,
    head: &Head,
    origin: &str,
) -> Result<(String, String, u64)> {
    let resolved = reading.resolve_version(head.id, None)?;
    let Some(body) = &resolved.body else {
        return Err(kernel::Error::Erased(head.id.get()).into());
    };
    let folder = names::folder(head.project.as_deref());
    let path = format!("{folder}/{}.md", names::file(&body.title, head.id.get()));
    let mut text = front_matter(&resolved, &body.title, origin);
    write!(text, "\n# {}\n", body.title).expect("a String takes any text");
    if !body.content.trim().is_empty() {
        write!(text, "\n{}\n", body.content.trim_end()).expect("a String takes any text");
    }
    let view = reading.view();
    let mut relations = String::new();
    let mut edges = 0;
    for edge in view.edges_out(head.id, EDGES_PER_MEMORY_MAX as usize)? {
        let Some(target) = view.head(edge.dst)?.filter(|target| selection.takes(target)) else {
            continue;
        };
        let version = view.required_version(target.id, target.version)?;
        let title = view.body(&version)?.map(|body| body.title).unwrap_or_default();
        let link = names::file(&title, target.id.get());
        writeln!(relations, "- {} [[{link}]]", edge.relation.name())
            .expect("a String takes any text");
        edges += 1;
    }
    if !relations.is_empty() {
        write!(text, "\n## Relations\n\n{relations}").expect("a String takes any text");
    }
    Ok((path, text, edges))
}

fn front_matter(resolved: &ResolvedMemory, title: &str, origin: &str) -> String {
    let ResolvedMemory { uri, head, version, usage, body } = resolved;
    let mut front = Lines("---\n".to_owned());
    front.text("title", title);
    front.text("type", head.memory_type.name());
    front.text("kind", &head.kind);
    front.number("id", head.id.get());
    front.text("uri", &uri.to_string());
    front.text("cortex_origin", origin);
    front.maybe("project", head.project.as_deref());
    front.text("scope", head.scope.name());
    // A tag in Obsidian has no spaces.
    let tags: Vec<String> =
        head.tags.iter().map(|tag| tag.split_whitespace().collect::<Vec<_>>().join("-")).collect();
    front.list("tags", &tags);
    front.maybe("topic_key", head.topic_key.as_deref());
    front.maybe("session", head.session.as_deref());
    front.text("created", &head.created.rfc3339());
    front.text("modified", &head.updated.rfc3339());
    front.maybe("valid_from", version.valid_from.map(Millis::rfc3339).as_deref());
    front.maybe("valid_until", version.valid_until.map(Millis::rfc3339).as_deref());
    front.maybe("expires", version.expires.map(Millis::rfc3339).as_deref());
    front.plain("importance", from_ppm(head.importance));
    front.plain("confidence", from_ppm(version.confidence));
    front.text("source", version.provenance.source.name());
    front.number("version", u64::from(version.n));
    front.number("accesses", usage.accesses);
    if head.pinned {
        front.plain("pinned", true);
    }
    if head.archived {
        front.plain("archived", true);
    }
    if let Some(tombstone) = &head.tombstone {
        front.text("forgotten", &tombstone.reason);
    }
    if let Some(Value::Object(typed)) = body.as_ref().map(|body| fields::to_json(&body.fields)) {
        for (name, value) in typed {
            front.plain(&format!("field_{name}"), value);
        }
    }
    front.0.push_str("---\n");
    front.0
}

/// Lines of YAML. A JSON string is a double-quoted YAML scalar, so no text can become structure.
struct Lines(String);

impl Lines {
    fn text(&mut self, key: &str, text: &str) {
        self.plain(key, Value::from(text));
    }

    fn maybe(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(key, text);
        }
    }

    fn number(&mut self, key: &str, number: u64) {
        self.plain(key, number);
    }

    fn list(&mut self, key: &str, items: &[String]) {
        if !items.is_empty() {
            self.plain(key, Value::from(items.to_vec()));
        }
    }

    fn plain(&mut self, key: &str, value: impl std::fmt::Display) {
        writeln!(self.0, "{key}: {value}").expect("a String takes any text");
    }
}
