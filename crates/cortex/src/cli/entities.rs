//! `cortex entities`: what memories name.

use clap::Args;
use kernel::scope::{Gate, Operation};
use recall::entities::{self, EntityKind};
use serde::Serialize;

use super::failure::{Failure, Outcome};
use super::open::{Invocation, request_digest};
use super::output::{Output, plain};

/// Lists the files, packages, symbols and the like that memories name, the most named first.
///
/// `cortex search NAME` finds the memories that name one.
///
/// JSON: {entities: [{kind, value, memories}], total}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex entities
  cortex entities --kind file --project web")]
pub(crate) struct EntitiesArgs {
    /// file, url, package, symbol, endpoint, env_var, version or error
    #[arg(long)]
    kind: Option<String>,
    /// Only named in this project
    #[arg(long)]
    project: Option<String>,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
}

#[derive(Debug, Serialize)]
struct EntitiesView {
    entities: Vec<EntityView>,
    total: usize,
}

#[derive(Debug, Serialize)]
struct EntityView {
    kind: &'static str,
    value: String,
    memories: u32,
}

pub(crate) fn run(args: &EntitiesArgs, inv: &Invocation, out: &mut Output) -> Outcome {
    let kind = |name: &String| {
        EntityKind::parse(name).ok_or_else(|| {
            let kinds = EntityKind::ALL.map(EntityKind::name).join(", ");
            Failure::input(format!("no kind of entity {name:?}; use {kinds}"))
        })
    };
    let kind = args.kind.as_ref().map(kind).transpose()?;
    let cortex = inv.existing()?;
    let digest = request_digest(&[b"entities", format!("{args:?}").as_bytes()]);
    let authority = inv.authority(&cortex, Operation::Find, digest)?;
    let gate = authority.as_ref().map(|authority| authority as &dyn Gate);
    let reading = cortex.read()?;
    let listed = entities::list(&reading, gate, kind, args.project.as_deref(), inv.now()?)?;
    let total = listed.len();
    let entities: Vec<EntityView> = listed
        .into_iter()
        .take(args.limit)
        .map(|listed| EntityView {
            kind: listed.entity.kind.name(),
            value: listed.entity.value,
            memories: listed.memories,
        })
        .collect();
    if out.is_json() {
        return out.object(&EntitiesView { entities, total });
    }
    for entity in &entities {
        let value = plain(&entity.value);
        out.line(format_args!("{:>6}  {:<8} {value}", entity.memories, entity.kind))?;
    }
    out.flush()?;
    if total > entities.len() {
        out.say(format_args!("{} more with a higher --limit", total - entities.len()));
    }
    Ok(())
}
