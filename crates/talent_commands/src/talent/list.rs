//! `cortex talent list`.

use clap::Args;
use daemon::talents_host::TalentContext;
use llm::models::ModelQuery;
use serde_json::Value;
use talents::talent_files::{Talent, TalentKind, TalentProblem};

use command_line::failure::CommandResult;
use command_line::invocation::{CommandEnv, GlobalArgs};
use command_line::output::{Output, plain};

/// Lists all talents with schedule, priority, type, source, and the model that would be used.
///
/// JSON: [{name, title, description, type, source, schedule, priority, multi_facet, always, disabled, output, tools,
/// grant, provider, tier, model, no_model}]
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex talent list
  cortex talent list --schedule daily
  cortex talent list --json | jq '.[] | select(.schedule == \"segment\") | .name'")]
pub(super) struct ListArgs {
    /// Only those that run daily, for each segment, or only when asked
    #[arg(long, value_name = "WHEN", value_parser = ["daily", "segment", "none"])]
    schedule: Option<String>,
    /// Only those that use tools (cogitate) or only write an output (generate)
    #[arg(long = "type", value_name = "TYPE", value_parser = ["cogitate", "generate"])]
    kind: Option<String>,
}

pub(super) fn run(
    args: &ListArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let hands = crate::talent::hands(globals, env)?;
    let mut talents: Vec<&Talent> = hands
        .catalog
        .all()
        .filter(|talent| args.schedule.as_deref().is_none_or(|wanted| wanted == schedule(talent)))
        .filter(|talent| args.kind.as_deref().is_none_or(|kind| kind == talent.kind().as_str()))
        .collect();
    // In the order in which a day is worked through.
    talents.sort_by_key(|talent| {
        let place = talent.front.schedule.map_or("z", |schedule| match schedule {
            talents::talent_files::TalentSchedule::Segment => "a",
            talents::talent_files::TalentSchedule::Daily => "b",
        });
        (place, talent.front.priority, talent.name.clone())
    });
    if out.is_json() {
        let views: Vec<Value> = talents.iter().map(|talent| hands.shown(talent)).collect();
        out.object(&Value::Array(views))?;
    } else {
        let wide = talents.iter().map(|talent| talent.name.as_str().len()).max().unwrap_or(0);
        for talent in &talents {
            let priority =
                talent.front.priority.map_or_else(String::new, |number| number.to_string());
            let kind = match talent.kind() {
                TalentKind::Generator => "generator",
                TalentKind::Agent => "agent",
            };
            let facets = if talent.front.multi_facet { ", for each facet" } else { "" };
            out.line(format_args!(
                "{:<wide$}  {:<8} {priority:>3}  {kind:<9}  {:<6}  {}  {}{facets}",
                talent.name.as_str(),
                schedule(talent),
                talent.source.as_str(),
                model(&hands, talent),
                plain(talent.title()),
            ))?;
        }
    }
    let broken =
        hands.catalog.problems().iter().filter(|problem| TalentProblem::is_error(problem)).count();
    if broken > 0 {
        out.say(format_args!("{broken} problems in files; `cortex talent check` tells where"));
    }
    Ok(())
}

pub(super) fn schedule(talent: &Talent) -> &'static str {
    talent.front.schedule.map_or("none", talents::talent_files::TalentSchedule::as_str)
}

fn model(hands: &TalentContext, talent: &Talent) -> String {
    if talent.front.disabled {
        return "(disabled)".to_owned();
    }
    match hands.choice(talent, &ModelQuery::default()) {
        Ok(choice) if choice.disabled => "(disabled)".to_owned(),
        Ok(choice) => format!("{}/{}", choice.provider, choice.model),
        Err(_) => "(no model)".to_owned(),
    }
}
