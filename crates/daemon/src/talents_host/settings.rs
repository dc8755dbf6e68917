//! The providers of a home: `[providers]` of `cortex.toml` over the `providers` of `chronicle/journal.json`, if that is
//! there.
//!
//! Both files have one shape. Each is checked by itself, so that a mistake is told with the file it is in; then they
//! are laid over each other key by key.

use std::path::{Path, PathBuf};

use api::{Error, ErrorCode, Fault, Result};
use llm::models::ProviderSettings;
use serde_json::{Map, Value};
use service::config::Config;
use talents::Layout;

/// The file other tools keep their settings in; only this part of it is ours.
const JOURNAL_FILE: &str = "journal.json";
const JOURNAL_BYTES_MAX: u64 = 1_048_576;
/// What we read of it. It has more, for others.
const KNOWN: [&str; 7] =
    ["default", "fallback", "contexts", "models", "endpoints", "prices", "windows"];

/// Where the lower layer is.
pub(crate) fn journal_file(layout: &Layout) -> PathBuf {
    layout.chronicle().join(JOURNAL_FILE)
}

/// What `cortex.toml` says by itself.
pub fn own(config: &Config) -> Result<ProviderSettings> {
    Ok(config.section("providers", &[])?)
}

pub fn providers(layout: &Layout, config: &Config) -> Result<ProviderSettings> {
    // For its errors, which name the file and the key.
    let own = own(config)?;
    let path = journal_file(layout);
    let Some(below) = journal(&path)? else { return Ok(own) };
    let over: Option<Value> = config.section("providers", &[])?;
    let mut merged = below;
    lay(&mut merged, over.unwrap_or_default());
    serde_json::from_value(merged).map_err(|error| wrong(&path, &error.to_string()))
}

/// What stands in the lower layer and has no meaning here. Other tools may use it; whoever wrote it for us should know.
pub fn unused(layout: &Layout) -> Result<Vec<String>> {
    let path = journal_file(layout);
    let Some(part) = part(&path)? else { return Ok(Vec::new()) };
    let unknown = part.keys().filter(|key| !KNOWN.contains(&key.as_str()));
    Ok(unknown.map(|key| format!("{}: providers.{key} is not used", path.display())).collect())
}

fn journal(path: &Path) -> Result<Option<Value>> {
    let Some(part) = part(path)? else { return Ok(None) };
    let known: Map<String, Value> =
        part.into_iter().filter(|(key, _)| KNOWN.contains(&key.as_str())).collect();
    let known = Value::Object(known);
    serde_json::from_value::<ProviderSettings>(known.clone())
        .map_err(|error| wrong(path, &format!("providers: {error}")))?;
    Ok(Some(known))
}

/// The providers in the file of others.
fn part(path: &Path) -> Result<Option<Map<String, Value>>> {
    match std::fs::metadata(path) {
        Ok(meta) if meta.len() > JOURNAL_BYTES_MAX => {
            return Err(wrong(path, &format!("larger than {JOURNAL_BYTES_MAX} bytes")));
        }
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(wrong(path, &error.to_string())),
    }
    let text = std::fs::read_to_string(path).map_err(|error| wrong(path, &error.to_string()))?;
    let mut value: Value =
        serde_json::from_str(&text).map_err(|error| wrong(path, &error.to_string()))?;
    match value.get_mut("providers").map(Value::take) {
        None => Ok(None),
        Some(Value::Object(part)) => Ok(Some(part)),
        Some(_) => Err(wrong(path, "\"providers\" is no object")),
    }
}

/// Lays a value over another: objects key by key, anything else as a whole.
fn lay(below: &mut Value, over: Value) {
    match (below, over) {
        (Value::Object(below), Value::Object(over)) => {
            for (key, value) in over {
                lay(below.entry(key).or_insert(Value::Null), value);
            }
        }
        (_, Value::Null) => {}
        (below, over) => *below = over,
    }
}

fn wrong(path: &Path, reason: &str) -> Error {
    Error::new(ErrorCode::Config, Fault::Caller, format!("{}: {reason}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(journal: &str, toml: &str) -> Result<ProviderSettings> {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        std::fs::create_dir_all(layout.chronicle()).unwrap();
        std::fs::write(journal_file(&layout), journal).unwrap();
        let config =
            Config::parse(toml, Path::new("cortex.toml"), &std::collections::BTreeMap::default())?;
        providers(&layout, &config)
    }

    // execution R105, R106, R107
    #[test]
    fn the_file_of_the_home_stands_over_the_one_in_the_chronicle() {
        let settings = read(
            r#"{"providers": {"generate": {"backup": "x"}, "default": {"provider": "google", "tier": 3},
                "contexts": {"talent.*": {"tier": 2}, "talent.system.default": {"tier": 1}}}, "env": {}}"#,
            "[providers]\ndefault = { provider = \"ollama\" }\n[providers.contexts.\"talent.*\"]\ndisabled = true\n",
        )
        .unwrap();
        assert_eq!(settings.default.provider.as_deref(), Some("ollama"));
        assert_eq!(settings.default.tier.map(llm::models::ModelTier::number), Some(3));
        let rule = &settings.contexts["talent.*"];
        assert_eq!(
            (rule.tier.map(llm::models::ModelTier::number), rule.disabled),
            (Some(2), Some(true))
        );
        assert_eq!(settings.contexts.len(), 2);
    }

    // execution 9.24: what has no effect is not dropped in silence
    #[test]
    fn keys_that_mean_nothing_here_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        assert!(unused(&layout).unwrap().is_empty());
        std::fs::create_dir_all(layout.chronicle()).unwrap();
        let text = r#"{"env": {}, "providers": {"generate": {"tier": 1}, "default": {}}}"#;
        std::fs::write(journal_file(&layout), text).unwrap();
        let told = unused(&layout).unwrap();
        assert_eq!(told.len(), 1);
        assert!(told[0].ends_with("journal.json: providers.generate is not used"), "{told:?}");
    }

    #[test]
    fn a_mistake_is_told_with_its_file() {
        let said = |journal: &str, toml: &str| read(journal, toml).unwrap_err().message;
        assert!(said("{", "").contains("journal.json: "), "{}", said("{", ""));
        let bad = r#"{"providers": {"default": {"tier": 9}}}"#;
        assert!(said(bad, "").contains("journal.json: providers: tier is 9"));
        assert!(said("{}", "[providers]\ndefalt = 1\n").contains("cortex.toml: [providers]"));
    }
}
