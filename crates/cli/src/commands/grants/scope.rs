//! `cortex scope-grant`, `scope-revoke`, `scope-list`, `scope-keygen`: letting others see and change a part.

use std::path::PathBuf;

use api::grants::{GrantListRequest, GrantRequest, RevokeRequest, Slice};
use clap::Args;
use ed25519_dalek::SigningKey;
use proof::digest::encode_hex;
use proof::memory::MemoryId;
use serde::Serialize;

use crate::failure::{CommandResult, Failure};
use crate::invocation::Invocation;
use crate::output::{Output, plain};
use crate::wiring::words::{MemoryRef, write_secret};

/// Lets a delegate read or change a part of this memory.
///
/// The grant is written to a file that the delegate uses with --grant FILE. With --new-key the delegate's secret key is
/// in the file too, so the file alone is what you hand over: treat it like a password. A snapshot is taken first,
/// because a grant speaks of a state it can prove. Private memories are never shown.
///
/// The grant covers memories that fit all criteria given: a type AND a tag AND a project AND an id, each one of those
/// listed. Of these, everything that fits any --exclude-… is left out.
///
/// JSON: {id, delegate, file, operations, expires, use_limit, budget_tokens, public_key, root}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex scope-grant reviewer --new-key --operation read,find,context --type Decision --project web --expires 7d \\
      --out reviewer.grant
  cortex --grant reviewer.grant find --type Decision")]
pub(crate) struct GrantArgs {
    /// The delegate's name, for the journal
    name: String,
    /// The delegate's public key, 64 hexadecimal digits
    #[arg(
        long,
        value_name = "HEX",
        conflicts_with = "new_key",
        required_unless_present = "new_key"
    )]
    delegate_key: Option<String>,
    /// Make a key for the delegate and put it into the file
    #[arg(long)]
    new_key: bool,
    /// read, find, context, graph, prove, write, update, tombstone, edge or attest; repeat or separate with commas
    #[arg(long = "operation", value_name = "OP", value_delimiter = ',', required = true)]
    operations: Vec<String>,
    /// Memories of this type
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    types: Vec<String>,
    /// Memories with this tag
    #[arg(long = "tag", value_name = "TAG", value_delimiter = ',')]
    tags: Vec<String>,
    /// Memories of this project
    #[arg(long = "project", value_name = "NAME", value_delimiter = ',')]
    projects: Vec<String>,
    /// This memory
    #[arg(long = "id", value_name = "ID", value_delimiter = ',')]
    ids: Vec<MemoryRef>,
    /// Not memories of this type
    #[arg(long, value_name = "TYPE", value_delimiter = ',')]
    exclude_type: Vec<String>,
    /// Not memories with this tag
    #[arg(long, value_name = "TAG", value_delimiter = ',')]
    exclude_tag: Vec<String>,
    /// Not memories of this project
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    exclude_project: Vec<String>,
    /// Not this memory
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    exclude_id: Vec<MemoryRef>,
    /// 90s, 15m, 12h, 7d, 2w, or a time; at most 366 days
    #[arg(long, value_name = "WHEN", default_value = "7d")]
    expires: String,
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

/// Takes a grant back, and with it everything made from it.
///
/// JSON: {id, changed, seq, known}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex scope-revoke 5d41… --reason \"the review is done\"")]
pub(crate) struct RevokeArgs {
    /// Id of the grant, 64 hexadecimal digits
    id: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Lists the grants: for whom, for what, until when, how often used.
///
/// JSON: [{id, delegate, operations, include, exclude, issued, expires, expired, revoked, uses, use_limit?,
/// budget_tokens?, seq, line}]
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex scope-list")]
pub(crate) struct ListArgs {}

/// Makes a key pair for a delegate: the secret key goes to a file, the public key is printed.
///
/// The delegate keeps the file and sends the public key to the owner, who uses it with scope-grant --delegate-key.
///
/// JSON: {file, public_key}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex scope-keygen --out my.key")]
pub(crate) struct KeygenArgs {
    /// File to write; it must not exist
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Debug, Serialize)]
struct GrantedView {
    id: String,
    delegate: String,
    file: String,
    operations: Vec<String>,
    expires: String,
    use_limit: Option<u32>,
    budget_tokens: Option<u32>,
    public_key: String,
    root: String,
}

pub(crate) fn grant(args: &GrantArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    inv.owner_only("make grants")?;
    let request = GrantRequest {
        name: args.name.clone(),
        delegate_key: args.delegate_key.clone(),
        operations: args.operations.clone(),
        include: slice(inv, &args.types, &args.tags, &args.projects, &args.ids)?,
        exclude: slice(
            inv,
            &args.exclude_type,
            &args.exclude_tag,
            &args.exclude_project,
            &args.exclude_id,
        )?,
        expires: Some(args.expires.clone()),
        use_limit: args.uses,
        budget_tokens: args.budget,
    };
    // The place of the file is taken first: a grant in the journal that nobody holds would look given.
    let path = inv.path(&args.out);
    write_secret(&path, "").map_err(|error| Failure::file(&args.out, error))?;
    let granted = inv.ask(request);
    let granted = granted.and_then(|granted| {
        let text = serde_json::to_string_pretty(&granted.file)
            .map_err(|error| Failure::input(error.to_string()))?;
        std::fs::write(&path, text + "\n").map_err(|error| Failure::file(&args.out, error))?;
        Ok(granted)
    });
    let granted = granted.inspect_err(|_| {
        // An empty file that stays behind is no grant.
        let _ = std::fs::remove_file(&path);
    })?;
    let view = GrantedView {
        id: granted.id,
        delegate: granted.delegate,
        file: args.out.display().to_string(),
        operations: granted.operations,
        expires: granted.expires,
        use_limit: granted.use_limit,
        budget_tokens: granted.budget_tokens,
        public_key: granted.public_key,
        root: granted.root,
    };
    out.either(&view, format_args!("granted {}", plain(&granted.line)))?;
    if !out.is_json() && args.new_key {
        out.say(format_args!("{} holds a secret key; hand it over like a password", view.file));
    }
    Ok(())
}

fn slice(
    inv: &Invocation,
    types: &[String],
    tags: &[String],
    projects: &[String],
    ids: &[MemoryRef],
) -> CommandResult<Slice> {
    let ids = ids.iter().map(|id| Ok(id.of(inv.actor()).map(MemoryId::get)?));
    Ok(Slice {
        types: types.to_vec(),
        tags: tags.to_vec(),
        projects: projects.to_vec(),
        ids: ids.collect::<CommandResult<_>>()?,
    })
}

pub(crate) fn revoke(args: &RevokeArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    inv.owner_only("revoke grants")?;
    let request = RevokeRequest { id: args.id.clone(), reason: Some(args.reason.clone()) };
    let revoked = inv.ask(request)?;
    let verb = if revoked.changed { "revoked" } else { "was revoked before:" };
    out.either(&revoked, format_args!("{verb} {}", revoked.id))?;
    if !revoked.known {
        out.say(
            "this grant is not in the journal; it may be one that a delegate made from its own",
        );
    }
    Ok(())
}

pub(crate) fn list(_: &ListArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    inv.owner_only("list grants")?;
    let grants = inv.ask(GrantListRequest {})?.grants;
    if out.is_json() {
        return out.object(&grants);
    }
    for grant in grants {
        let state = match (grant.revoked, grant.expired) {
            (true, _) => "revoked",
            (_, true) => "expired",
            _ => "active ",
        };
        out.line(format_args!("{state}  {}", plain(&grant.line)))?;
    }
    Ok(())
}

pub(crate) fn keygen(args: &KeygenArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let key = SigningKey::from_bytes(&inv.random()?);
    let text = format!("{}\n", encode_hex(&key.to_bytes()));
    write_secret(&inv.path(&args.out), &text).map_err(|error| Failure::file(&args.out, error))?;
    let public = encode_hex(&key.verifying_key().to_bytes());
    let view = serde_json::json!({"file": args.out.display().to_string(), "public_key": public});
    out.either(&view, &public)
}
