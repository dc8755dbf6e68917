//! `cortex prove`: a file that convinces somebody who has nothing but a root.

use std::path::{Path, PathBuf};

use api::proof::ClaimRequest;
use clap::Args;
use serde::Serialize;

use crate::failure::{CommandResult, Failure};
use crate::invocation::Invocation;
use crate::output::Output;
use crate::wiring::words::MemoryRef;

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
    claim: String,
}

pub(crate) fn run(args: &ProveArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let proved = inv.ask(claim(args, inv)?)?;
    let file = client::protocol::decode(&proved.proof)?;
    write(&inv.path(&args.out), &file)?;
    let view = ProofView {
        file: args.out.display().to_string(),
        bytes: proved.bytes,
        root: proved.root,
        size: proved.size,
        claim: proved.claim,
    };
    out.either(
        &view,
        format_args!("proof of {} bytes in {} for root {}", view.bytes, view.file, view.root),
    )
}

/// What the options say is to be proved.
fn claim(args: &ProveArgs, inv: &Invocation) -> CommandResult<ClaimRequest> {
    let snapshot = args.at_snapshot;
    if let Some(types) = &args.slice {
        return Ok(ClaimRequest::Slice { types: types.clone(), snapshot });
    }
    if let Some(snapshot) = args.since {
        return Ok(ClaimRequest::Since { snapshot });
    }
    let Some(memory) = &args.memory else {
        return Err(Failure::input("name a memory, --since or --slice"));
    };
    let id = memory.of(inv.actor())?.get();
    Ok(match args.edge.as_slice() {
        [relation, dst] => {
            let dst: MemoryRef = dst.parse()?;
            let dst = dst.of(inv.actor())?.get();
            ClaimRequest::Edge { src: id, relation: relation.clone(), dst, snapshot }
        }
        _ => ClaimRequest::Memory { id, snapshot },
    })
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
