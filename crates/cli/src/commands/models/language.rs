//! `cortex language`: in which language the memories of an actor are read.

use clap::Args;
use kernel::command::Command;
use kernel::{Error, Submission};
use recall::analyze::Language;
use recall::language;
use serde_json::json;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;

/// Shows or sets the language in which an actor's memories and questions are read.
///
/// It decides which forms of a word count as one: in English `houses` and `house`, in German `Häuser` and `Haus`. Words
/// in another script are read in a language of that script whatever is set here, and text without spaces needs no
/// language. The choice is an entry of the journal; with it every text is read anew, about a second for each 5,000
/// memories.
///
/// JSON: {language, changed}; with --list [language]
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex language
  cortex language german
  cortex language --list")]
pub(crate) struct LanguageArgs {
    /// A name or a two-letter code; none reads every word as it is written
    language: Option<String>,
    /// List the languages there are
    #[arg(long, conflicts_with = "language")]
    list: bool,
}

pub(crate) fn run(args: &LanguageArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    if args.list {
        let names: Vec<&str> = Language::ALL.iter().map(|language| language.name()).collect();
        if out.is_json() {
            return out.object(&json!(names));
        }
        for name in names {
            out.line(format_args!("{name}"))?;
        }
        return Ok(());
    }
    let wanted = args.language.as_deref().map(parse).transpose()?;
    inv.owner_only("language")?;
    let cortex = inv.existing()?;
    let current = language::language(&cortex.read()?)?;
    let changes_to = wanted.filter(|wanted| *wanted != current);
    if let Some(to) = changes_to {
        out.say(format_args!("reading every memory in {} …", to.name()));
        let command = Command::Migration(language::change(current, to));
        cortex.submit(Submission { stamp: inv.stamp()?, command, authority: None })?;
    }
    let now = changes_to.unwrap_or(current);
    if out.is_json() {
        return out.object(&json!({"language": now.name(), "changed": changes_to.is_some()}));
    }
    out.line(format_args!("{}", now.name()))
}

fn parse(name: &str) -> kernel::Result<Language> {
    Language::parse(name).ok_or_else(|| {
        Error::invalid("language", format!("{name:?} is not one; see `cortex language --list`"))
    })
}
