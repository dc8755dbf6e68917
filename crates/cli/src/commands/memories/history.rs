//! `cortex history`: all versions of a memory.

use clap::Args;
use serde::Serialize;
use service::parse::{MemoryRef, from_ppm};

use crate::commands::memories::get;
use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::{Output, plain};

/// Lists the versions of a memory, oldest first.
///
/// JSON: [{version, uri, title, type, memory_type, project, by, created_at, confidence, source, valid_from,
/// valid_until, expires, seq}]; created_at is when the version was written
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex history 12
  cortex history 12 --json")]
pub(crate) struct HistoryArgs {
    /// Memory: 12 or a URI
    #[arg(value_name = "ID")]
    pub(crate) memory: MemoryRef,
}

#[derive(Debug, Serialize)]
struct HistoryVersion {
    version: u32,
    uri: String,
    /// Null after erasure.
    title: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    memory_type: &'static str,
    project: String,
    by: String,
    /// When this version was written, not when the memory was.
    created_at: String,
    confidence: f64,
    source: &'static str,
    valid_from: Option<String>,
    valid_until: Option<String>,
    expires: Option<String>,
    seq: u64,
}

pub(crate) fn run(args: &HistoryArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    // Reading the current version first gives one answer to the question who may see this memory.
    let id = args.memory.of(inv.actor())?;
    get::read(inv, &MemoryRef { id, version: None, uri: None }, None, None)?;
    let cortex = inv.existing()?;
    let reading = cortex.read()?;
    let view = reading.view();
    let head = view.required_head(id)?;
    let mut versions = Vec::new();
    for version in view.versions(head.id)? {
        let time = |time: Option<kernel::memory::Millis>| time.map(kernel::memory::Millis::rfc3339);
        versions.push(HistoryVersion {
            version: version.n,
            uri: reading.uri(&head, version.n).to_string(),
            title: view.body(&version)?.map(|body| body.title),
            kind: head.kind.clone(),
            memory_type: head.memory_type.name(),
            project: head.project.clone().unwrap_or_default(),
            by: version.by.clone(),
            created_at: version.created.rfc3339(),
            confidence: from_ppm(version.confidence),
            source: version.provenance.source.name(),
            valid_from: time(version.valid_from),
            valid_until: time(version.valid_until),
            expires: time(version.expires),
            seq: version.seq,
        });
    }
    if out.is_json() {
        return out.object(&versions);
    }
    for version in versions {
        let title = version.title.as_deref().map_or("[erased]".into(), plain);
        out.line(format_args!(
            "#{:<3} {}  {:<12} {title}",
            version.version,
            version.created_at,
            plain(&version.by),
        ))?;
    }
    Ok(())
}
