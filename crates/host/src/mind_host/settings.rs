//! What is set about the mind: the tables of `[defaults]` and the model that `[providers]` names for it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use api::{ErrorCode, Fault};
use mind::settings::{MindSettings, Preset};
use service::config;
use service::config::Config;
use service::error::{Error, Result};

use crate::mind_host::model::{MindModel, is_named};

/// What a file looked like when it was read.
pub(super) type Look = Option<(SystemTime, u64)>;

pub(super) fn look(path: &Path) -> Look {
    let data = std::fs::metadata(path).ok()?;
    Some((data.modified().ok()?, data.len()))
}

/// Settings, and the model that may write.
#[derive(Debug)]
pub(crate) struct MindConfig {
    pub settings: MindSettings,
    pub model: Option<MindModel>,
    /// A model is named for whatever asks, whoever writes the bulletin.
    pub names_model: bool,
}

impl MindConfig {
    pub(super) fn load(home: &Path, variables: &BTreeMap<String, String>) -> Result<MindConfig> {
        let config = config::load(home, variables)?;
        let (settings, model) = (read(&config)?, MindModel::of(&config, home)?);
        Ok(MindConfig { settings, model, names_model: is_named(&config)? })
    }
}

/// The tables of the mind, checked.
pub fn read(config: &Config) -> Result<MindSettings> {
    const TABLES: [&str; 7] =
        ["warmup", "cortex", "bulletin", "patterns", "budget", "supervision", "channel"];
    let wrong = |message: String| Error::new(ErrorCode::Config, Fault::Caller, message);
    for (name, _) in config.in_sections() {
        let mut parts = name.split('.');
        if parts.next() == Some("defaults") {
            let table = parts.next().unwrap_or_default();
            if !TABLES.contains(&table) {
                let tables = TABLES.join(", ");
                return Err(wrong(format!("[defaults] has no {table:?}; its tables are {tables}")));
            }
        }
    }
    let set = MindSettings {
        warmup: config.section("defaults", &["warmup"])?,
        cortex: config.section("defaults", &["cortex"])?,
        bulletin: config.section("defaults", &["bulletin"])?,
        patterns: config.section("defaults", &["patterns"])?,
        budget: config.section("defaults", &["budget"])?,
        supervision: config.section("defaults", &["supervision"])?,
        channel: config.section("defaults", &["channel"])?,
        rules: config.settings().rule_authors(),
    };
    let preset = preset(config)?;
    let internal = |error: serde_json::Error| Error::internal(error.to_string());
    let mut values = serde_json::to_value(&set).map_err(internal)?;
    for (key, value) in preset_changes(config, preset) {
        let mut parts = key.split('.').skip(1);
        if let (Some(table), Some(name)) = (parts.next(), parts.next()) {
            values[table][name] = value;
        }
    }
    let settings: MindSettings = serde_json::from_value(values).map_err(internal)?;
    let settings = MindSettings { rules: set.rules, ..settings };
    settings.validate().map_err(|error| wrong(error.to_string()))?;
    Ok(settings)
}

/// The preset that is set.
fn preset(config: &Config) -> Result<Preset> {
    let name = config.text("mind.preset").unwrap_or("default");
    Preset::parse(name).ok_or_else(|| {
        let names: Vec<&str> = Preset::ALL.iter().map(|preset| preset.name()).collect();
        let message = format!("mind.preset: {name:?} is not one of {}", names.join(", "));
        Error::new(ErrorCode::Config, Fault::Caller, message)
    })
}

/// What the preset changes. A key that the file sets is the file's.
fn preset_changes(config: &Config, preset: Preset) -> Vec<(String, serde_json::Value)> {
    let set = config.in_sections();
    let is_set = |key: &str| set.iter().any(|(name, _)| name == key);
    preset.changes().into_iter().filter(|(key, _)| !is_set(key)).collect()
}

/// What the preset that is set changes, with the preset's name, for people.
pub fn by_preset(config: &Config) -> Result<(String, Vec<(String, serde_json::Value)>)> {
    let preset = preset(config)?;
    Ok((preset.name().to_owned(), preset_changes(config, preset)))
}
