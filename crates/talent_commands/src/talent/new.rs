//! `cortex talent new`: a talent of one's own, from a template that works.

use ::talents::TalentName;
use api::{Error, ErrorCode, Fault};
use clap::{Args, ValueEnum};
use serde_json::json;

use command_line::failure::{CommandResult, Failure};
use command_line::invocation::{CommandEnv, GlobalArgs};
use command_line::output::Output;

/// What starts a talent, and so what its template looks like.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum TemplateKind {
    /// Asked with `cortex talent run`
    #[default]
    Asked,
    /// Each day, when it is over
    Daily,
    /// Each segment, when it has closed
    Segment,
    /// At times of the clock
    Cron,
    /// When something happens in the memory
    Event,
}

/// Makes a talent of your own from a template that can be run as it is.
///
/// The file is talent/NAME.md of the home; one that is there already is left alone. JSON: {name, path}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex talent new weekly_review
  cortex talent new standup --when cron
  cortex talent run weekly_review 'What changed this week?'")]
pub(super) struct NewArgs {
    /// Small letters, digits and _
    name: String,
    /// When it is started
    #[arg(long, value_enum, default_value_t = TemplateKind::Asked, value_name = "WHEN")]
    when: TemplateKind,
}

fn template(name: &str, kind: TemplateKind) -> String {
    let title = name.replace('_', " ");
    let (front, body) = match kind {
        TemplateKind::Asked => (
            "  \"tools\": [\"memory_recall\", \"memory_get\"],\n  \"grant\": \"read\"",
            "Answer from the memory. Recall by the words of the question first; read what looks right. Name the\n\
             memories you rely on with their ids, as [#12]. Say it if the memory knows nothing about it.",
        ),
        TemplateKind::Daily => (
            "  \"schedule\": \"daily\",\n  \"priority\": 70,\n  \"output\": \"md\",\n  \
             \"load\": {\"transcripts\": true, \"talents\": true}",
            "Above is the record of {{ day_long or \"a day\" }}. Write what it means for the next one: three points,\n\
             most important first, each with what it rests on. If nothing happened, write one line that says so.",
        ),
        TemplateKind::Segment => (
            "  \"schedule\": \"segment\",\n  \"priority\": 50,\n  \"output\": \"md\",\n  \"load\": {\"transcripts\": \
             \"required\"}",
            "Above is the record of one stretch of a day. Write what was settled in it, one line for each, with who\n\
             settled it. If nothing was, write one line that says so.",
        ),
        TemplateKind::Cron => (
            "  \"schedule\": \"cron\",\n  \"cron\": \"0 9 * * mon-fri\",\n  \"jitter_seconds\": 60,\n  \
             \"runs_per_day_max\": 1,\n  \"tools\": [\"memory_recall\", \"memory_get\"],\n  \"grant\": \"read\"",
            "Recall what is open and due. Write at most seven lines, most pressing first, each with the id of the\n\
             memory it rests on, as [#12].",
        ),
        TemplateKind::Event => (
            "  \"on\": {\"event\": \"memory.saved\", \"kind\": \"decision\"},\n  \"runs_per_day_max\": 20,\n  \
             \"tools\": [\"memory_recall\", \"memory_get\"],\n  \"grant\": \"read\"",
            "The prompt says which memory was saved. Recall what was decided about the same matter before. Say in two\n\
             sentences whether the new decision contradicts an earlier one, and name both as [#12].",
        ),
    };
    format!("{{\n  \"title\": \"{title}\",\n{front}\n}}\n\n{body}\n")
}

pub(super) fn run(
    args: &NewArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let name = TalentName::parse(&args.name)?;
    let hands = super::hands(globals, env)?;
    let folder = hands.layout.talents();
    let path = folder.join(format!("{name}.md"));
    if path.exists() {
        let why = format!("{} is there already", path.display());
        let error = Error::new(ErrorCode::Exists, Fault::Conflict, why);
        return Err(error.with_hint("choose another name, or change that file").into());
    }
    std::fs::create_dir_all(&folder).map_err(|error| Failure::file(&folder, error))?;
    let text = template(name.as_str(), args.when);
    std::fs::write(&path, text).map_err(|error| Failure::file(&path, error))?;
    let said = format!(
        "{}\ntry it: cortex talent run {name} 'What do you know about me?'",
        path.display()
    );
    out.either(&json!({"name": name.as_str(), "path": path}), said)
}

#[cfg(test)]
mod tests {
    use super::*;

    // T21: every template is a talent without a fault
    #[test]
    fn every_template_can_be_used_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        for kind in TemplateKind::value_variants() {
            let name = format!("my_{}", format!("{kind:?}").to_lowercase());
            std::fs::write(dir.path().join(format!("{name}.md")), template(&name, *kind)).unwrap();
        }
        let catalog = ::talents::talent_files::TalentCatalog::open(dir.path());
        assert_eq!(catalog.problems(), []);
        for kind in TemplateKind::value_variants() {
            let name = format!("my_{}", format!("{kind:?}").to_lowercase());
            assert!(catalog.find(&TalentName::parse(&name).unwrap()).is_ok(), "{name}");
        }
    }
}
