//! `cortex find`: typed questions.

use api::find::{FindItem, FindRequest, FoundMemories};
use clap::Args;

use crate::commands::memories::type_word;
use crate::failure::CommandResult;
use crate::invocation::Invocation;
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
/// explain: {index, rows_examined, capped, matched}, all_types, late}
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
    /// Only what is near this text in meaning; how near counts in the salience
    #[arg(long, value_name = "TEXT")]
    about: Option<String>,
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

pub(crate) fn run(args: &FindArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let found = inv.ask(request(args)?)?;
    if out.is_json() {
        return out.object(&found);
    }
    let short = args.form == "short";
    for item in &found.items {
        show(item, short, out)?;
    }
    out.flush()?;
    tell(args, &found, out);
    Ok(())
}

fn request(args: &FindArgs) -> CommandResult<FindRequest> {
    let (types, kinds) = type_word::of_filter(&args.types)?;
    let conditions = [Some(args.filter.join(" ")), args.conditions.clone()];
    Ok(FindRequest {
        memory_types: types.iter().map(|known| known.name().to_owned()).collect(),
        kinds,
        tags: args.tags.clone(),
        conditions: conditions.into_iter().flatten().collect(),
        order: args.order.clone(),
        limit: Some(args.limit),
        budget: args.budget,
        form: Some(args.form.clone()),
        as_of: args.as_of.clone(),
        about: args.about.clone(),
        forgotten: args.forgotten,
        archived: args.archived,
        cursor: args.cursor.clone(),
        late: args.late,
    })
}

fn show(item: &FindItem, short: bool, out: &mut Output) -> CommandResult {
    let mark = match item.standing.as_str() {
        "current" => String::new(),
        other => format!(" [{other}]"),
    };
    if short {
        return out.line(format_args!(
            "{:>6}  {:<11} {:<12} {:>4}  {}{mark}",
            item.id,
            item.memory_type,
            plain(&item.kind),
            item.tokens,
            plain(&item.text),
        ));
    }
    out.line(format_args!(
        "{} {} {} ({} tokens){mark}",
        item.id,
        item.memory_type,
        plain(&item.kind),
        item.tokens,
    ))?;
    out.line(plain_lines(item.text.trim_end()))?;
    out.line("")
}

/// What is not data: how many, what is left, and with `--explain` how.
fn tell(args: &FindArgs, found: &FoundMemories, out: &Output) {
    let memories = if found.items.len() == 1 { "memory" } else { "memories" };
    out.say(format_args!("{} {memories}, {} tokens", found.items.len(), found.tokens));
    if found.all_types {
        out.say("no type or tag is named, so all types were looked through");
    }
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
            out.say(format_args!("  {} salience {:.6}, {}", item.id, item.score, item.standing));
        }
    }
    if let Some(next) = &found.next {
        out.say(format_args!("more with --cursor {next}"));
    }
}
