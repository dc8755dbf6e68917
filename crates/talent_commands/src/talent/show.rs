//! `cortex talent show`: what a run of a talent would be told.

use clap::Args;
use daemon::talents_host;
use talents::chronicle::list_facets;
use talents::talent_files::{InstructionNote, Instructions, Scene};
use talents::{Day, Facet, Segment, TalentName};

use command_line::failure::CommandResult;
use command_line::invocation::{CommandEnv, GlobalArgs, caller};
use command_line::output::{Output, plain_lines};

/// Shows what a talent says about itself, and the instructions a run would get, part by part.
///
/// The first part is the same for all runs, the second tells the moment, the third is the talent's own text. What the
/// memory says today is added when a run begins. JSON: the keys of `talent list`, and {system_instruction,
/// extra_context, user_instruction}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex talent show default
  cortex talent show followups --day 20260109 --facet work")]
pub(super) struct ShowArgs {
    /// Name of the talent
    name: String,
    /// The day it would be about, YYYYMMDD
    #[arg(long, value_name = "DAY")]
    day: Option<String>,
    /// The segment it would be about, HHMMSS_SECONDS
    #[arg(long, value_name = "KEY", requires = "day")]
    segment: Option<String>,
    /// The facet it would be for
    #[arg(long, value_name = "NAME")]
    facet: Option<String>,
}

pub(super) fn run(
    args: &ShowArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let hands = crate::talent::hands(globals, env)?;
    let talent = hands.catalog.find(&TalentName::parse(&args.name)?)?;
    let caller = caller(globals, &env.variables, &env.cwd, None)?;
    let (facets, problems) = list_facets(&hands.layout)?;
    for problem in problems {
        out.say(format_args!("warning: {problem}"));
    }
    let facets = facets
        .iter()
        .filter(|(_, file)| !file.muted)
        .map(|(name, file)| InstructionNote {
            name: name.to_string(),
            title: file.title.clone(),
            description: file.description.clone(),
        })
        .collect();
    let scene = Scene {
        now: talents_host::now(caller.environment.as_ref(), &hands.zone)?,
        use_id: None,
        day: args.day.as_deref().map(Day::parse).transpose()?,
        segment: args.segment.as_deref().map(Segment::parse).transpose()?,
        facet: args.facet.as_deref().map(Facet::parse).transpose()?,
        facets,
        prompt: None,
        output: talent.front.output,
        input: None,
        bulletin: None,
    };
    let parts = Instructions::build(&hands.catalog, &talent, &scene)?;
    let mut view = hands.shown(&talent);
    if out.is_json() {
        view["system_instruction"] = parts.system.into();
        view["extra_context"] = parts.context.into();
        view["user_instruction"] = parts.user.into();
        return out.object(&view);
    }
    for (key, value) in view.as_object().into_iter().flatten() {
        let shown = match value {
            serde_json::Value::Null => continue,
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        out.line(format_args!("{key:<12} {}", plain_lines(&shown)))?;
    }
    for (title, text) in [
        ("1. for every run", &parts.system),
        ("2. of the moment", &parts.context),
        ("3. of the talent", &parts.user),
    ] {
        out.line(format_args!("\n---- {title}\n{}", plain_lines(text.trim())))?;
    }
    Ok(())
}
