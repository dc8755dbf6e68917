//! `cortex page`: questions that stand, answered from the memory and kept current.

use api::pages::{
    PageAddRequest, PageHistoryRequest, PageListRequest, PageRemoveRequest, PageRestoreRequest,
    PageShowRequest,
};
use api::render::people;
use clap::{Args, Subcommand};

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;

/// Keeps pages: questions that stand, answered from the memory, every line with the ids it comes from.
///
/// A page is written anew only when a memory it speaks of changed or a new one answers its question; earlier versions
/// are kept. Rules write it, or the model that [providers] names for `mind.bulletin`, checked line by line. Agents read
/// it as the resource cortex://page/NAME. No search finds the question itself.
///
/// JSON: {name, question, id, project, tokens_max, version, text, words, tokens, generated_at, age_seconds, made_by,
/// cited, changes: {added, removed, revised}, versions}; list: {pages}; history: {versions}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex page add payments \"What do we know about the payment service?\" --project shop
  cortex page list
  cortex page show payments
  cortex page history payments
  cortex page show payments --version 2
  cortex page remove payments
  cortex page restore payments")]
pub(crate) struct PageArgs {
    #[command(subcommand)]
    command: PageCommand,
}

#[derive(Debug, Subcommand)]
enum PageCommand {
    /// Add a page, or give the one of that name another question
    Add {
        /// Letters, digits and hyphens
        name: String,
        /// What it is to answer
        question: String,
        /// Only memories of this project, of none, and what is personal; all projects if absent
        #[arg(long, value_name = "NAME")]
        project: Option<String>,
        /// Tokens it may have: 100 to 4000; 800 if absent
        #[arg(long, value_name = "N")]
        tokens: Option<u32>,
    },
    /// All pages, by name
    List,
    /// What a page says now
    Show {
        /// As `cortex page list` shows it
        name: String,
        /// What it said in an earlier version
        #[arg(long, value_name = "N")]
        version: Option<u64>,
    },
    /// The versions of a page, newest first, and what changed in each
    History {
        /// As `cortex page list` shows it
        name: String,
    },
    /// Remove a page; its versions are kept until it is erased
    Remove {
        /// As `cortex page list` shows it
        name: String,
    },
    /// Bring back a page that was removed
    Restore {
        /// As `cortex page list` shows it
        name: String,
    },
}

pub(crate) fn run(args: &PageArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    match &args.command {
        PageCommand::Add { name, question, project, tokens } => {
            let (name, question, project) = (name.clone(), question.clone(), project.clone());
            let answer = inv.ask(PageAddRequest { name, question, project, tokens: *tokens })?;
            out.answer(&answer, people::page)
        }
        PageCommand::List => out.answer(&inv.ask(PageListRequest {})?, people::pages),
        PageCommand::Show { name, version } => {
            let (name, version) = (name.clone(), *version);
            let request = PageShowRequest { name, version, ..PageShowRequest::default() };
            out.answer(&inv.ask(request)?, people::page)
        }
        PageCommand::History { name } => {
            let answer = inv.ask(PageHistoryRequest { name: name.clone() })?;
            out.answer(&answer, people::page_history)
        }
        PageCommand::Remove { name } => {
            let answer = inv.ask(PageRemoveRequest { name: name.clone() })?;
            out.answer(&answer, people::page_removed)
        }
        PageCommand::Restore { name } => {
            let answer = inv.ask(PageRestoreRequest { name: name.clone() })?;
            out.answer(&answer, people::page)
        }
    }
}
