//! `cortex verify-proof`: checking a proof file, without a store.

use std::io::Read;
use std::path::PathBuf;

use api::memory::Memory;
use clap::Args;
use proof::memory::{Body, Head, MemoryId, MemoryType, Usage, Version};
use proof::{CheckedProof, Digest, PROOF_BYTES_MAX, ProofFile, ProvedFact};
use serde_json::{Value, json};

use crate::failure::{CommandResult, Failure};
use crate::output::{Output, plain, plain_lines};
use crate::wiring::words::{RuleAuthors, Uri, edge_view, memory_view};

/// Checks a proof file. Needs no home and no store.
///
/// Everything is recomputed from the file up to its root. A proof is worth as much as the root: compare it with one you
/// trust, with --root.
///
/// Exit code 0 if the proof holds, 1 if it is refused or its root is another.
///
/// JSON: {valid, actor, root, size, claim, statement, …} with memory, edge, since or slice according to the claim;
/// memory is as in `cortex get`, without what a proof cannot speak of
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex verify-proof decision.proof
  cortex verify-proof decision.proof --root $(cat trusted-root.txt)")]
pub(crate) struct VerifyProofArgs {
    /// File written by `cortex prove`; - reads standard input
    file: PathBuf,
    /// The root you trust
    #[arg(long, value_name = "HEX")]
    root: Option<String>,
}

pub(crate) fn run(args: &VerifyProofArgs, out: &mut Output) -> CommandResult {
    let trusted = args.root.as_deref().map(|text| text.trim().parse::<Digest>()).transpose()?;
    let bytes = read(args)?;
    // Whatever is wrong with the file, it is the proof that is refused.
    let checked =
        ProofFile::from_bytes(&bytes).and_then(|file| proof::check(&file)).map_err(|error| {
            match error {
                refused @ proof::Error::ProofRefused(_) => refused,
                other => proof::Error::ProofRefused(other.to_string()),
            }
        })?;
    if let Some(expected) = trusted
        && expected != checked.root
    {
        return Err(Failure::other_root(&expected, &checked.root));
    }
    let statement = statement(&checked);
    if out.is_json() {
        return out.object(&view(&checked, &statement));
    }
    out.line("valid")?;
    out.line(&statement)?;
    if let ProvedFact::Memory { body: Some(body), .. } = &checked.fact {
        out.line(format_args!("  title:   {}", plain(&body.title)))?;
        for line in plain_lines(&body.content).lines() {
            out.line(format_args!("  content: {line}"))?;
        }
    }
    out.line(format_args!("  actor:   {}", checked.actor))?;
    out.line(format_args!("  root:    {}", checked.root))?;
    out.line(format_args!("  entries: {}", checked.size))?;
    if trusted.is_none() {
        out.say("compare the root with one you trust, or give it with --root");
    }
    Ok(())
}

fn read(args: &VerifyProofArgs) -> CommandResult<Vec<u8>> {
    let mut bytes = Vec::new();
    let taken = if args.file.as_os_str() == "-" {
        std::io::stdin().take(PROOF_BYTES_MAX + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(&args.file)
            .and_then(|file| file.take(PROOF_BYTES_MAX + 1).read_to_end(&mut bytes))
    };
    taken.map_err(|error| Failure::file(&args.file, error))?;
    Ok(bytes)
}

/// What is proved, in words.
fn statement(checked: &CheckedProof) -> String {
    match &checked.fact {
        ProvedFact::Memory { head, version, body } => {
            let uri = uri(checked, head.memory_type, head.id, version.n);
            let state = match (body, &head.tombstone) {
                (None, _) if head.erased => "is there, but its content was erased",
                (None, _) => "was there; its text is not shown",
                (_, Some(_)) => "is there, is forgotten, and says what follows",
                _ => "is there and says what follows",
            };
            format!(
                "{uri} {state}, written by {} at {}",
                plain(&version.by),
                version.created.rfc3339()
            )
        }
        ProvedFact::NoMemory { id } => format!("no memory of any type has the id {id}"),
        ProvedFact::Edge { edge } => {
            format!("memory {} {} memory {}", edge.src, edge.relation.name(), edge.dst)
        }
        ProvedFact::NoEdge { src, relation, dst } => {
            format!("there is no edge {src} {} {dst}", relation.name())
        }
        ProvedFact::AppendOnly { since } => format!(
            "the first {} of {} entries are those of snapshot {} with the root {}: nothing was rewritten since",
            since.size, checked.size, since.number, since.root,
        ),
        ProvedFact::Slice { types, shown, .. } if types.is_empty() => {
            format!("{shown} memories are there and say what is shown; there may be others")
        }
        ProvedFact::Slice { types, shown, hidden } => {
            let names: Vec<_> = types.iter().map(|t| t.name()).collect();
            format!(
                "there are exactly {} memories of type {}; {shown} are shown, {hidden} are not",
                shown + hidden,
                names.join(", "),
            )
        }
    }
}

fn uri(checked: &CheckedProof, memory_type: MemoryType, id: MemoryId, version: u32) -> Uri {
    Uri { actor: checked.actor.clone(), memory_type, id, version }
}

/// The memory as every answer shows it, without what the proof cannot speak of: how often it was used, and the text
/// that was erased or is not shown.
fn proved_memory(uri: String, head: &Head, version: &Version, body: Option<&Body>) -> Value {
    let unused = Usage::default();
    let memory = memory_view(uri, head, version, &unused, body, RuleAuthors::Persons);
    let memory = Memory { happened_at: None, ..memory };
    let mut shown = json!(memory);
    if let Some(object) = shown.as_object_mut() {
        let text: &[&str] = if body.is_some() { &[] } else { &["title", "content", "fields"] };
        for unproved in ["accesses", "citations"].iter().chain(text) {
            object.remove(*unproved);
        }
    }
    shown
}

fn view(checked: &CheckedProof, statement: &str) -> Value {
    let mut view = json!({
        "valid": true,
        "actor": checked.actor.as_str(),
        "root": checked.root.to_string(),
        "size": checked.size,
        "claim": checked.fact.name(),
        "statement": statement,
    });
    let (name, detail) = match &checked.fact {
        ProvedFact::Memory { head, version, body } => {
            let uri = uri(checked, head.memory_type, head.id, version.n).to_string();
            ("memory", proved_memory(uri, head, version, body.as_deref()))
        }
        ProvedFact::NoMemory { id } => ("id", json!(id.get())),
        ProvedFact::Edge { edge } => ("edge", json!(edge_view(edge))),
        ProvedFact::NoEdge { src, relation, dst } => {
            ("edge", json!({"src": src.get(), "relation": relation.name(), "dst": dst.get()}))
        }
        ProvedFact::AppendOnly { since } => {
            let (size, root) = (since.size, since.root.to_string());
            (
                "since",
                json!({"snapshot": since.number, "size": size, "root": root, "reason": since.reason}),
            )
        }
        ProvedFact::Slice { types, shown, hidden } => {
            let types: Vec<_> = types.iter().map(|t| t.name()).collect();
            ("slice", json!({"types": types, "shown": shown, "hidden": hidden}))
        }
    };
    view[name] = detail;
    view
}
