//! `cortex find`: typed questions.

use clap::Args;
use kernel::find::{Cursor, FieldValue, FindAnswer, FoundItem, Order, Predicate, Query};
use kernel::grants::Permission;
use kernel::memory::MemoryType;
use kernel::render::Form;
use serde::Serialize;
use service::parse::{self, from_ppm};

use crate::commands::memories::type_word;
use crate::failure::{CommandResult, Failure};
use crate::invocation::{Invocation, request_digest};
use crate::output::{Output, plain, plain_lines};

/// Finds memories by type, tag and conditions, the most salient first.
///
/// A filter is conditions side by side: field:value, field>=value, field~pattern, tag:name, with AND, OR, NOT and
/// parentheses; what holds spaces or brackets goes in double quotes. Fields are those of the memory (project, kind,
/// importance, created …), of its version (confidence, by …) and of its type (status, subject, strength …). Without a
/// type or tag, all types are looked through.
///
/// With --late the find is recorded in the journal, with the root it read and what it returned, and each result counts
/// as used: for finds that are acted upon.
///
/// JSON: {items: [{id, uri, version, type, memory_type, text, tokens, score, standing, superseded_by,
/// contradicted_by, tags, project, session_id, created_at, updated_at}], tokens, trimmed, next,
/// explain: {index, rows_examined, capped, matched}, late}
// Independent switches that people type; no two of them form a state.
#[allow(clippy::struct_excessive_bools)]
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex find --type decision
  cortex find tag:auth 'importance>=0.7' NOT 'title~\"(?i)draft\"'
  cortex find --type goal --where 'status=active due<2026-12-31' --order -created
  cortex find --type fact --as-of 2026-01-31 --limit 5 --form medium")]
pub(crate) struct FindArgs {
    /// Conditions
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    /// Only this type or kind; repeat or separate with commas
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    types: Vec<String>,
    /// Only with this tag; repeat or separate with commas for all of several
    #[arg(long = "tag", value_name = "TAG", value_delimiter = ',')]
    tags: Vec<String>,
    /// More conditions
    #[arg(long = "where", value_name = "FILTER")]
    conditions: Option<String>,
    /// salience, created, updated, importance, similarity, hop or id; - before it for downwards
    #[arg(long, value_name = "KEY", value_delimiter = ',', allow_hyphen_values = true)]
    order: Vec<String>,
    /// Memories at most
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,
    /// Tokens at most
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u32>,
    /// short, medium or full
    #[arg(long, default_value = "short")]
    form: String,
    /// What was known and true at this time instead of now
    #[arg(long, value_name = "TIME")]
    as_of: Option<String>,
    /// Forgotten ones too
    #[arg(long)]
    forgotten: bool,
    /// Archived ones too
    #[arg(long)]
    archived: bool,
    /// Say how the answer came about
    #[arg(long)]
    explain: bool,
    /// Go on where an earlier find ended
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// Record the find and count its results as used
    #[arg(long)]
    late: bool,
}

#[derive(Debug, Serialize)]
struct FoundView {
    items: Vec<ItemView>,
    tokens: u64,
    /// Items that did not fit the budget.
    trimmed: u32,
    next: Option<String>,
    explain: ExplainView,
    /// The journal entry of a late find.
    #[serde(skip_serializing_if = "Option::is_none")]
    late: Option<u64>,
}

#[derive(Debug, Serialize)]
struct ItemView {
    id: u64,
    uri: String,
    version: u32,
    #[serde(rename = "type")]
    kind: String,
    memory_type: &'static str,
    text: String,
    tokens: u32,
    score: f64,
    standing: &'static str,
    superseded_by: Vec<u64>,
    contradicted_by: Vec<u64>,
    tags: Vec<String>,
    /// Empty if it belongs to none, as in every answer about a memory.
    project: String,
    session_id: String,
    created_at: String,
    updated_at: String,
}

#[derive(Debug, Serialize)]
struct ExplainView {
    index: String,
    rows_examined: u32,
    capped: bool,
    matched: u32,
}

pub(crate) fn run(args: &FindArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let query = query(args)?;
    let cortex = inv.existing()?;
    let now = inv.now()?;
    let digest = request_digest(&[b"find", &query.to_bytes()]);
    let (found, late) = match inv.authority(&cortex, Permission::Find, digest)? {
        Some(_) if args.late => {
            return Err(Failure::input("a delegate cannot record a find with --late"));
        }
        Some(authority) => (cortex.find_for(&authority, &query, now)?, None),
        None if args.late => {
            let (found, receipt) = cortex.find_late(inv.stamp()?, &query, inv.salt()?)?;
            (found, Some(receipt.seq))
        }
        None => (cortex.find(&query, now)?, None),
    };
    if out.is_json() {
        return out.object(&view(inv, &found, late));
    }
    let form = query.form;
    for item in &found.items {
        show(item, form, out)?;
    }
    out.flush()?;
    tell(args, &found, out);
    Ok(())
}

fn query(args: &FindArgs) -> CommandResult<Query> {
    let (mut types, kinds) = type_word::of_filter(&args.types)?;
    let mut parts: Vec<Predicate> = Vec::new();
    if !kinds.is_empty() {
        let wanted = kinds.into_iter().map(FieldValue::Text).collect();
        parts.push(Predicate::In("head.kind".to_owned(), wanted));
    }
    let words = args.filter.join(" ");
    for text in [Some(words.as_str()), args.conditions.as_deref()].into_iter().flatten() {
        if !text.trim().is_empty() {
            parts.push(text.parse()?);
        }
    }
    parts.extend(args.tags.iter().cloned().map(Predicate::HasTag));
    // Somebody at a terminal who names nothing wants to see what there is; the rows examined are bounded all the same.
    if types.is_empty() && !parts.iter().any(narrows) {
        types = MemoryType::ALL.to_vec();
    }
    let filter = match parts.len() {
        0 => None,
        1 => parts.pop(),
        _ => Some(Predicate::And(parts)),
    };
    Ok(Query {
        types,
        filter,
        order_by: args.order.iter().map(|key| Order::parse(key)).collect::<kernel::Result<_>>()?,
        limit: Some(args.limit),
        budget_tokens: args.budget,
        form: Form::parse(&args.form)?,
        include_forgotten: args.forgotten,
        include_archived: args.archived,
        as_of: args.as_of.as_deref().map(parse::time).transpose()?,
        cursor: args.cursor.as_deref().map(Cursor::new),
        ..Query::default()
    })
}

/// A condition that names a type or a tag by itself.
fn narrows(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::HasTag(_) => true,
        Predicate::Eq(field, _) | Predicate::In(field, _) => field == "head.type",
        Predicate::And(parts) => parts.iter().any(narrows),
        Predicate::Or(parts) => !parts.is_empty() && parts.iter().all(narrows),
        _ => false,
    }
}

fn show(item: &FoundItem, form: Form, out: &mut Output) -> CommandResult {
    let mark = match item.standing {
        kernel::find::Standing::Current => String::new(),
        other => format!(" [{}]", other.name()),
    };
    if form == Form::Short {
        return out.line(format_args!(
            "{:>6}  {:<11} {:<12} {:>4}  {}{mark}",
            item.head.id,
            item.head.memory_type.name(),
            plain(&item.head.kind),
            item.tokens,
            plain(&item.text),
        ));
    }
    out.line(format_args!(
        "{} {} {} ({} tokens){mark}",
        item.head.id,
        item.head.memory_type.name(),
        plain(&item.head.kind),
        item.tokens,
    ))?;
    out.line(plain_lines(item.text.trim_end()))?;
    out.line("")
}

/// What is not data: how many, what is left, and with `--explain` how.
fn tell(args: &FindArgs, found: &FindAnswer, out: &Output) {
    let memories = if found.items.len() == 1 { "memory" } else { "memories" };
    out.say(format_args!("{} {memories}, {} tokens", found.items.len(), found.tokens));
    if found.trimmed > 0 {
        out.say(format_args!("{} more did not fit the budget", found.trimmed));
    }
    if found.explain.capped {
        out.say("not every row was looked through; narrow the question or order by -created");
    }
    if args.explain {
        let explain = &found.explain;
        out.say(format_args!(
            "index {}, {} rows examined, {} matched",
            explain.index, explain.rows_examined, explain.matched,
        ));
        for item in &found.items {
            let score = from_ppm(item.score);
            out.say(format_args!(
                "  {} salience {score:.6}, {}",
                item.head.id,
                item.standing.name()
            ));
        }
    }
    if let Some(next) = &found.next {
        out.say(format_args!("more with --cursor {}", next.as_str()));
    }
}

fn view(inv: &Invocation, found: &FindAnswer, late: Option<u64>) -> FoundView {
    FoundView {
        items: found.items.iter().map(|item| item_view(inv, item)).collect(),
        tokens: found.tokens,
        trimmed: found.trimmed,
        next: found.next.as_ref().map(|cursor| cursor.as_str().to_owned()),
        explain: ExplainView {
            index: found.explain.index.clone(),
            rows_examined: found.explain.rows_examined,
            capped: found.explain.capped,
            matched: found.explain.matched,
        },
        late,
    }
}

fn item_view(inv: &Invocation, item: &FoundItem) -> ItemView {
    let ids = |ids: &[kernel::memory::MemoryId]| ids.iter().map(|id| id.get()).collect();
    let uri = kernel::uri::Uri {
        actor: inv.actor().clone(),
        memory_type: item.head.memory_type,
        id: item.head.id,
        version: item.version.n,
    };
    ItemView {
        id: item.head.id.get(),
        uri: uri.to_string(),
        version: item.version.n,
        kind: item.head.kind.clone(),
        memory_type: item.head.memory_type.name(),
        text: item.text.clone(),
        tokens: item.tokens,
        score: from_ppm(item.score),
        standing: item.standing.name(),
        superseded_by: ids(&item.superseded_by),
        contradicted_by: ids(&item.contradicted_by),
        tags: item.head.tags.clone(),
        project: item.head.project.clone().unwrap_or_default(),
        session_id: item.head.session.clone().unwrap_or_default(),
        created_at: item.head.created.rfc3339(),
        updated_at: item.head.updated.rfc3339(),
    }
}
