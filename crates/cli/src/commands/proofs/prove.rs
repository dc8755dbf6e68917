//! `cortex prove`: a file that convinces somebody who has nothing but a root.

use std::path::{Path, PathBuf};

use clap::Args;
use kernel::grants::Permission;
use kernel::memory::{MemoryType, Relation};
use kernel::prove::{self, Subject};
use proof::ProofFile;
use serde::Serialize;
use service::parse::MemoryRef;

use crate::failure::{CommandResult, Failure};
use crate::invocation::{Invocation, request_digest};
use crate::output::Output;

/// Writes a proof that anybody can check with `cortex verify-proof`, without the store.
///
/// It proves one thing: that a memory is there and says what it says (or that there is none with this id), that an edge
/// is there (or not), that nothing was rewritten since a snapshot, or which memories of some types there are.
///
/// The file holds what it proves in clear text.
///
/// JSON: {file, bytes, root, size, claim}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex prove 12 --out decision.proof
  cortex prove 12 --at-snapshot 1 --out then.proof
  cortex prove 14 --edge supersedes 12 --out edge.proof
  cortex prove --since 1 --out untouched.proof
  cortex prove --slice Decision --slice Constraint --out rules.proof")]
pub(crate) struct ProveArgs {
    /// Memory: 12 or a URI; it may be one that does not exist
    #[arg(value_name = "ID", required_unless_present_any = ["since", "slice"])]
    pub(crate) memory: Option<MemoryRef>,
    /// For the state of this snapshot instead of now
    #[arg(long, value_name = "N", conflicts_with = "since")]
    at_snapshot: Option<u64>,
    /// Prove the edge from ID to DST
    #[arg(long, num_args = 2, value_names = ["RELATION", "DST"], requires = "memory")]
    edge: Vec<String>,
    /// Prove that the journal only grew since this snapshot
    #[arg(long, value_name = "N", conflicts_with_all = ["memory", "slice"])]
    since: Option<u64>,
    /// Prove which memories of these types there are [default: of all types; for a delegate, those its grant names, as
    /// of the snapshot the grant is pinned to]
    #[arg(long, value_name = "TYPE", conflicts_with = "memory", value_delimiter = ',', num_args = 0..)]
    slice: Option<Vec<String>>,
    /// File to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Debug, Serialize)]
struct ProofView {
    file: String,
    bytes: usize,
    root: String,
    size: u64,
    claim: &'static str,
}

pub(crate) fn run(args: &ProveArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let file = make(args, inv)?;
    // A proof that cannot be checked must not leave the house.
    let checked = proof::check(&file)?;
    let bytes = file.to_bytes();
    write(&inv.path(&args.out), &bytes)?;
    let view = ProofView {
        file: args.out.display().to_string(),
        bytes: bytes.len(),
        root: checked.root.to_string(),
        size: checked.size,
        claim: claim_name(&checked.fact),
    };
    out.either(
        &view,
        format_args!("proof of {} bytes in {} for root {}", view.bytes, view.file, view.root),
    )
}

fn make(args: &ProveArgs, inv: &Invocation) -> CommandResult<ProofFile> {
    let cortex = inv.existing()?;
    let actor = cortex.actor();
    if let Some(names) = &args.slice {
        let types = names.iter().map(|name| MemoryType::parse(name));
        let mut types: Vec<MemoryType> =
            types.collect::<kernel::Result<_, kernel::ProofError>>()?;
        if let Some(authority) =
            inv.authority(&cortex, Permission::Prove, request_digest(&[b"slice"]))?
        {
            if !types.is_empty() || args.at_snapshot.is_some() {
                return Err(Failure::input(
                    "a grant says itself which slice it proves; give --slice alone",
                ));
            }
            return Ok(cortex.prove_slice_for(&authority, inv.now()?)?);
        }
        if types.is_empty() {
            types.extend(MemoryType::ALL);
        }
        let view = &cortex.read()?;
        return Ok(prove::prove_slice(&view.view(), actor, &types, None, args.at_snapshot)?);
    }
    inv.owner_only("prove anything but a slice")?;
    let reading = cortex.read()?;
    let view = reading.view();
    if let Some(number) = args.since {
        return Ok(prove::prove_since(&view, actor, number)?);
    }
    let Some(memory) = &args.memory else {
        return Err(Failure::input("name a memory, --since or --slice"));
    };
    let id = memory.of(actor)?;
    let subject = match args.edge.as_slice() {
        [relation, dst] => {
            let dst: MemoryRef = dst.parse()?;
            Subject::Edge(id, Relation::parse(relation)?, dst.of(actor)?)
        }
        _ => Subject::Memory(id),
    };
    Ok(prove::prove(&view, actor, subject, args.at_snapshot)?)
}

/// Writes beside the target and renames, so that a crash leaves no half proof.
fn write(path: &Path, bytes: &[u8]) -> CommandResult {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let written = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, path));
    written.map_err(|error| {
        // The part may not be there at all; the error that counts is the one above.
        let _ = std::fs::remove_file(&part);
        Failure::file(path, error)
    })
}

/// A name for the kind of claim.
pub(crate) fn claim_name(fact: &proof::ProvedFact) -> &'static str {
    match fact {
        proof::ProvedFact::Memory { .. } => "memory",
        proof::ProvedFact::NoMemory { .. } => "no_memory",
        proof::ProvedFact::Edge { .. } => "edge",
        proof::ProvedFact::NoEdge { .. } => "no_edge",
        proof::ProvedFact::AppendOnly { .. } => "append_only",
        proof::ProvedFact::Slice { .. } => "slice",
    }
}
