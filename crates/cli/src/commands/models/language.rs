//! `cortex language`: in which language the memories of an actor are read.

use api::upkeep::{LanguageListRequest, LanguageRequest};
use clap::Args;

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
        let names = inv.ask(LanguageListRequest {})?.languages;
        if out.is_json() {
            return out.object(&names);
        }
        return names.iter().try_for_each(|name| out.line(name));
    }
    let mut request = LanguageRequest { language: args.language.clone(), dry_run: true };
    let mut answer = inv.ask(request.clone())?;
    if answer.changed {
        out.say(format_args!("reading every memory in {} …", answer.language));
        request.dry_run = false;
        answer = inv.ask(request)?;
    }
    out.either(&answer, &answer.language)
}
