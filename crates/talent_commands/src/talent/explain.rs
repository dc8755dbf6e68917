//! `cortex talent explain`: why this model.

use api::ErrorCode;
use clap::Args;
use llm::models::{ModelQuery, ModelTier};
use talents::TalentName;

use command_line::failure::{CommandResult, Failure};
use command_line::invocation::{CommandEnv, GlobalArgs};
use command_line::output::{Output, plain};

/// Tells which provider and model a talent would use, and why: what each place says, from the strongest to the weakest.
///
/// JSON: {context, provider, tier, model, disabled, reasons: [{layer, says}]}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex talent explain daily_brief
  cortex talent explain default --provider ollama --tier lite")]
pub(super) struct ExplainArgs {
    /// Name of the talent
    name: String,
    /// As if a request asked for this provider
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// As if a request asked for this tier: 1 or pro, 2 or flash, 3 or lite
    #[arg(long, value_name = "TIER", value_parser = tier)]
    tier: Option<ModelTier>,
    /// As if a request asked for this model
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
}

fn tier(text: &str) -> Result<ModelTier, String> {
    ModelTier::parse(text).ok_or_else(|| "1 or pro, 2 or flash, 3 or lite".to_owned())
}

pub(super) fn run(
    args: &ExplainArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let hands = crate::talent::hands(globals, env)?;
    let talent = hands.catalog.find(&TalentName::parse(&args.name)?)?;
    let asked =
        ModelQuery { provider: args.provider.clone(), tier: args.tier, model: args.model.clone() };
    match hands.choice(&talent, &asked) {
        Ok(choice) if out.is_json() => out.object(&choice),
        Ok(choice) => {
            let state = if choice.disabled || talent.front.disabled { " (disabled)" } else { "" };
            let (provider, model, tier) = (&choice.provider, &choice.model, choice.tier);
            out.line(format_args!("{}: {provider}, {model}, tier {tier}{state}", talent.name))?;
            out.line(format_args!("as {}", choice.context))?;
            for reason in &choice.reasons {
                out.line(format_args!("- {}", plain(&reason.to_string())))?;
            }
            Ok(())
        }
        Err(error) => {
            // The way there is told also if it leads nowhere.
            for reason in &error.reasons {
                out.say(format_args!("- {}", plain(&reason.to_string())));
            }
            let told =
                api::Error::new(ErrorCode::named(error.code()), api::Fault::Caller, error.why)
                    .with_hint("docs/talents.md tells how to name a provider and its models");
            Err(Failure::Operation(told))
        }
    }
}
