//! `cortex scope-attenuate`: handing on a part of a grant, without the owner.

use std::path::PathBuf;

use api::GrantFiles;
use api::grants::Slice;
use clap::Args;

use crate::failure::CommandResult;
use crate::invocation::CommandEnv;
use crate::output::Output;
use crate::wiring::grants::{PartPlan, attenuate};

/// Makes a grant for less out of one that you hold, for somebody else. Needs neither the owner nor a home.
///
/// What is not given stays as it is in the grant it is made of; nothing can be added. The owner can revoke it alone by
/// its id, or together with the grant it is made of.
///
/// JSON: {id, delegate, file, operations, expires, public_key, line}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex scope-attenuate reviewer.grant helper --new-key --operation read --expires 1d --out helper.grant
  cortex scope-attenuate reviewer.grant helper --delegate-key 3b6a… --type Decision --out helper.grant")]
pub(crate) struct AttenuateArgs {
    /// The grant that you hold
    from: PathBuf,
    /// The name of whoever gets the new one
    name: String,
    /// Your secret key, if it is not in the grant
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The public key of whoever gets it, 64 hexadecimal digits
    #[arg(
        long,
        value_name = "HEX",
        conflicts_with = "new_key",
        required_unless_present = "new_key"
    )]
    delegate_key: Option<String>,
    /// Make a key for them and put it into the file
    #[arg(long)]
    new_key: bool,
    /// Only these operations; repeat or separate with commas
    #[arg(long = "operation", value_name = "OP", value_delimiter = ',')]
    operations: Vec<String>,
    /// Only memories of this type
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    types: Vec<String>,
    /// Only memories with this tag
    #[arg(long = "tag", value_name = "TAG", value_delimiter = ',')]
    tags: Vec<String>,
    /// Only memories of this project
    #[arg(long = "project", value_name = "NAME", value_delimiter = ',')]
    projects: Vec<String>,
    /// Only this memory
    #[arg(long = "id", value_name = "ID", value_delimiter = ',')]
    ids: Vec<u64>,
    /// 90s, 15m, 12h, 7d, 2w, or a time; the same as the grant's if absent
    #[arg(long, value_name = "WHEN")]
    expires: Option<String>,
    /// How often it may be used
    #[arg(long, value_name = "N")]
    uses: Option<u32>,
    /// Tokens of one find or context
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u32>,
    /// File to write; it must not exist
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub(crate) fn run(args: &AttenuateArgs, env: &CommandEnv, out: &mut Output) -> CommandResult {
    let plan = PartPlan {
        held: GrantFiles {
            grant: env.cwd.join(&args.from),
            key: args.key.as_ref().map(|key| env.cwd.join(key)),
        },
        name: &args.name,
        delegate_key: args.delegate_key.as_deref(),
        operations: &args.operations,
        include: Slice {
            types: args.types.clone(),
            tags: args.tags.clone(),
            projects: args.projects.clone(),
            ids: args.ids.clone(),
        },
        expires: args.expires.as_deref(),
        uses: args.uses,
        budget: args.budget,
    };
    let made = attenuate(plan, &env.cwd.join(&args.out))?;
    let view = serde_json::json!({
        "id": made.id,
        "delegate": made.delegate,
        "file": args.out.display().to_string(),
        "operations": made.operations,
        "expires": made.expires,
        "public_key": made.public_key,
        "line": made.line,
    });
    out.either(&view, &made.line)?;
    if args.new_key {
        out.say(format_args!(
            "{} holds a secret key; hand it over like a password",
            args.out.display()
        ));
    }
    Ok(())
}
