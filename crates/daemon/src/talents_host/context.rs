//! What a home has for talents: its files, the models that may be asked, and which providers are ready.
//!
//! What must stay true: keys of services are looked up where they are used and stand in no text made here.

use std::path::Path;
use std::sync::Arc;

use api::{Error, ErrorCode, Fault, Result};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use llm::models::{ModelChoice, ModelQuery, NoModelError, Resolver};
use llm::providers::{ConfiguredProviders, Env, HttpLimits, ToolConfinement, usable};
use runs::process::TalentProcess;
use runs::runner::RunnerSettings;
use serde::Serialize;
use serde_json::{Value, json};
use service::caller::Environment;
use service::config::Config;
use talents::Layout;
use talents::confine::ExecSettings;
use talents::talent_files::{OutputFormat, Talent, TalentCatalog, TalentSchedule, ToolGrant};

use crate::talents_host::settings;
use host::confinement::exec_settings;

/// What a home has for talents: files, models, providers.
#[derive(Clone, Debug)]
pub struct TalentContext {
    pub layout: Layout,
    pub catalog: Arc<TalentCatalog>,
    pub resolver: Resolver,
    pub zone: TimeZone,
    pub(super) exec: ExecSettings,
    pub(super) env: Env,
}

/// Whether a provider could be asked.
#[derive(Clone, Debug, Serialize)]
pub struct Readiness {
    pub name: String,
    pub ready: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl TalentContext {
    /// Reads talents and settings of a home. `env` is the whole environment: it may hold keys.
    pub fn open(home: &Path, config: &Config, env: Env) -> Result<TalentContext> {
        let layout = Layout::new(home);
        let own = settings::own(config)?;
        // What others wrote into their file costs the models, and not the talents, the chronicle or the memory.
        let (settings, problem) = match settings::providers(&layout, config) {
            Ok(settings) => (settings, None),
            Err(error) => (own, Some(error.message)),
        };
        let catalog = Arc::new(TalentCatalog::open(&layout.talents()));
        let mut resolver = Resolver::new(settings.clone(), usable(&settings, &env));
        if let Some(why) = problem {
            resolver = resolver.unusable(why);
        }
        let (zone, exec) = (zone(config)?, exec_settings(config)?);
        Ok(TalentContext { layout, catalog, resolver, zone, exec, env })
    }

    /// The model a talent would use if nobody asks for another.
    pub fn choice(&self, talent: &Talent, asked: &ModelQuery) -> Result<ModelChoice, NoModelError> {
        let front = &talent.front;
        let own = ModelQuery {
            provider: front.provider.clone(),
            tier: front.tier,
            model: front.model.clone(),
        };
        self.resolver.resolve(&talent.context(), asked, &own)
    }

    /// Each provider that settings or talents name, or that has a key here, and why it could not be asked now. Asks
    /// nobody.
    pub fn providers(&self) -> Vec<Readiness> {
        let settings = self.resolver.settings();
        let mut names = settings.named();
        names.extend(usable(settings, &self.env));
        names.extend(self.catalog.all().filter_map(|talent| talent.front.provider.clone()));
        let configured = self.configured(0);
        let ready = |name: String| {
            let problem = configured.ready(&name).err().map(|error| error.to_string());
            Readiness { name, ready: problem.is_none(), problem }
        };
        names.into_iter().map(ready).collect()
    }

    /// Whether at least one talent of the schedule has a model to ask. Asks nobody.
    pub fn can_think(&self) -> bool {
        let can = |talent: &Talent| {
            let choice = self.choice(talent, &ModelQuery::default());
            !talent.front.disabled && choice.is_ok_and(|choice| !choice.disabled)
        };
        let daily = self.catalog.scheduled(TalentSchedule::Daily);
        self.catalog.scheduled(TalentSchedule::Segment).chain(daily).any(can)
    }

    fn configured(&self, seed: u64) -> ConfiguredProviders {
        ConfiguredProviders {
            settings: self.resolver.settings().clone(),
            env: self.env.clone(),
            home: self.layout.home().to_owned(),
            patience: HttpLimits::default(),
            seed,
            confinement: None,
        }
    }

    /// Everything the frontmatter says, and which model would be used.
    pub fn shown(&self, talent: &Talent) -> Value {
        let front = &talent.front;
        let choice = self.choice(talent, &ModelQuery::default());
        let chosen = choice.as_ref().ok();
        let grant = match front.grant {
            ToolGrant::None => "none",
            ToolGrant::Read => "read",
            ToolGrant::Write => "write",
        };
        json!({
            "name": talent.name.as_str(),
            "title": talent.title(),
            "description": front.description,
            "type": talent.kind().as_str(),
            "source": talent.source.as_str(),
            "schedule": front.schedule.map(TalentSchedule::as_str),
            "priority": front.priority,
            "multi_facet": front.multi_facet,
            "always": front.always,
            "disabled": front.disabled || chosen.is_some_and(|choice| choice.disabled),
            "output": front.output.map(OutputFormat::as_str),
            "tools": front.tools,
            "grant": grant,
            "provider": chosen.map(|choice| &choice.provider),
            "tier": chosen.map(|choice| choice.tier),
            "model": chosen.map(|choice| &choice.model),
            "no_model": choice.as_ref().err().map(|error| &error.why),
        })
    }

    /// Everything a talent process needs. Command line tools are started as `confinement` says.
    pub fn process(
        &self,
        toolbox: Arc<dyn runs::process::Toolbox>,
        environment: Arc<dyn Environment>,
        dry_run: bool,
        confinement: Option<ToolConfinement>,
    ) -> Result<TalentProcess> {
        let mut seed = [0; 8];
        environment.fill(&mut seed)?;
        let providers =
            ConfiguredProviders { confinement, ..self.configured(u64::from_be_bytes(seed)) };
        // Read once, so that a clock that cannot be read fails here and not in the middle of a run.
        let first = now(environment.as_ref(), &self.zone)?;
        let zone = self.zone.clone();
        Ok(TalentProcess {
            layout: self.layout.clone(),
            catalog: Arc::clone(&self.catalog),
            resolver: self.resolver.clone(),
            providers: Arc::new(providers),
            toolbox,
            clock: Arc::new(move || {
                now(environment.as_ref(), &zone).unwrap_or_else(|_| first.clone())
            }),
            dry_run,
        })
    }
}

/// The zone that days are counted in: the one of `runner.zone`, else the machine's.
pub fn zone(config: &Config) -> Result<TimeZone> {
    let name = config.section::<RunnerSettings>("runner", &[])?.zone;
    if name.is_empty() {
        return Ok(TimeZone::system());
    }
    TimeZone::get(&name).map_err(|_| {
        Error::new(ErrorCode::Config, Fault::Caller, format!("runner.zone: {name:?} is not known"))
    })
}

/// The time there.
pub fn now(environment: &dyn Environment, zone: &TimeZone) -> Result<Zoned> {
    let moment = Timestamp::from_millisecond(environment.now()?.0)
        .map_err(|error| Error::internal(format!("the clock: {error}")))?;
    Ok(moment.to_zoned(zone.clone()))
}
