//! `cortex facet`: the contexts that days are worked through in.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use talents::chronicle::{FacetFile, add_facet, list_facets, mute_facet, read_facet};
use talents::{Facet, Layout};

use command_line::failure::CommandResult;
use command_line::invocation::{CommandEnv, GlobalArgs, home_folder};
use command_line::output::{Output, plain};

/// Sets up facets: parts of a life or projects of work, for which talents write apart.
///
/// A facet and a project of the same name are the same thing: a run for a facet sees the memories of that project.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex facet add work --title 'Work' --description 'The day job: the web shop and its team'
  cortex facet list
  cortex facet mute work")]
pub struct FacetArgs {
    #[command(subcommand)]
    step: FacetStep,
}

#[derive(Subcommand, Debug)]
enum FacetStep {
    /// Adds a facet.
    ///
    /// JSON: {name, title, description, muted}
    Add {
        /// A word of a-z, 0-9, _ and -, which starts with a letter
        name: String,
        /// What people call it
        #[arg(long, value_name = "TEXT")]
        title: Option<String>,
        /// What belongs to it; talents read this
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
    },
    /// Lists all facets.
    ///
    /// JSON: [{name, title, description, muted}]
    List,
    /// Keeps a facet but starts nothing for it.
    ///
    /// JSON: {name, title, description, muted}
    Mute {
        /// Name of the facet
        name: String,
    },
    /// Takes the muting back.
    ///
    /// JSON: {name, title, description, muted}
    Unmute {
        /// Name of the facet
        name: String,
    },
}

pub fn run(
    args: &FacetArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let layout = Layout::new(home_folder(globals, &env.variables, &env.cwd)?);
    match &args.step {
        FacetStep::Add { name, title, description } => {
            let facet = Facet::parse(name)?;
            let file = FacetFile {
                title: title.clone().unwrap_or_else(|| name.clone()),
                description: description.clone().unwrap_or_default(),
                ..FacetFile::default()
            };
            add_facet(&layout, &facet, &file)?;
            out.either(&view(&facet, &file), format_args!("added facet {facet}"))
        }
        FacetStep::List => list(&layout, out),
        FacetStep::Mute { name } => mute(&layout, name, true, out),
        FacetStep::Unmute { name } => mute(&layout, name, false, out),
    }
}

fn mute(layout: &Layout, name: &str, muted: bool, out: &mut Output) -> CommandResult {
    let facet = Facet::parse(name)?;
    let before = read_facet(layout, &facet)?;
    let word = if muted { "muted" } else { "not muted" };
    if before.muted == muted {
        return out.either(&view(&facet, &before), format_args!("{facet} is {word} already"));
    }
    let file = mute_facet(layout, &facet, muted)?;
    out.either(&view(&facet, &file), format_args!("{facet} is {word} now"))
}

fn list(layout: &Layout, out: &mut Output) -> CommandResult {
    let (facets, problems) = list_facets(layout)?;
    if out.is_json() {
        let views: Vec<Value> = facets.iter().map(|(facet, file)| view(facet, file)).collect();
        out.object(&Value::Array(views))?;
    } else {
        for (facet, file) in &facets {
            let muted = if file.muted { " (muted)" } else { "" };
            let about = match file.description.as_str() {
                "" => String::new(),
                text => format!(": {}", plain(text)),
            };
            out.line(format_args!("{facet}  {}{muted}{about}", plain(&file.title)))?;
        }
        if facets.is_empty() {
            out.say("there are no facets yet; `cortex facet add NAME` makes one");
        }
    }
    for problem in problems {
        out.say(format_args!("warning: {}", plain(&problem)));
    }
    Ok(())
}

fn view(facet: &Facet, file: &FacetFile) -> Value {
    json!({
        "name": facet.as_str(), "title": file.title, "description": file.description,
        "muted": file.muted,
    })
}
