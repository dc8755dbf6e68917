//! What is set about the mind: the tables of `[defaults]` and the model that `[providers]` names for it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use api::{ErrorCode, Fault};
use mind::settings::MindSettings;
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
    let settings = MindSettings {
        warmup: config.section("defaults", &["warmup"])?,
        cortex: config.section("defaults", &["cortex"])?,
        bulletin: config.section("defaults", &["bulletin"])?,
        patterns: config.section("defaults", &["patterns"])?,
        budget: config.section("defaults", &["budget"])?,
        supervision: config.section("defaults", &["supervision"])?,
        channel: config.section("defaults", &["channel"])?,
        rules: config.settings().rule_authors(),
    };
    settings.validate().map_err(|error| wrong(error.to_string()))?;
    Ok(settings)
}
