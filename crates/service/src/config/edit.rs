//! Setting one value in the file of a home, with everything else in it left as it stands.
//!
//! What must stay true: a value that would make the file wrong is refused before anything is written; comments and
//! order stay; whoever reads the file finds the old text or the new one.

use std::collections::BTreeMap;
use std::path::Path;

use api::settings::{SetSettingAnswer, SettingView, SettingsAnswer};
use api::{ErrorCode, Fault};
use serde_json::Value;
use toml_edit::{DocumentMut, Item, Table};

use super::{Config, KEYS, Key, load, path, suggestion};
use crate::error::{Error, Result};
use crate::files;

/// Said with every change.
const NOTE: &str =
    "a daemon that runs reads most settings when it starts: `cortex stop`, then `cortex serve`";

/// Every key with its value, its origin and what it may be.
pub fn list(home: &Path, variables: &BTreeMap<String, String>) -> Result<SettingsAnswer> {
    let config = load(home, variables)?;
    let settings = KEYS.iter().map(|key| view(key, &config)).collect();
    Ok(SettingsAnswer { path: path(home, variables).display().to_string(), settings })
}

fn view(key: &Key, config: &Config) -> SettingView {
    let (value, origin) = config
        .values
        .get(key.name)
        .map_or_else(|| ((key.default)(), String::new()), |(v, o)| (v.clone(), o.to_string()));
    SettingView {
        key: key.name.to_owned(),
        value,
        default: (key.default)(),
        origin,
        variable: key.variable(),
        about: key.about.to_owned(),
        expects: key.kind.expected(),
    }
}

/// Sets a key of the file, or takes it out of it.
pub fn set(
    home: &Path,
    variables: &BTreeMap<String, String>,
    name: &str,
    value: Option<&str>,
) -> Result<SetSettingAnswer> {
    let key = KEYS.iter().find(|key| key.name == name).ok_or_else(|| {
        let message = format!("unknown key {name:?}{}", suggestion(name));
        Error::new(ErrorCode::Config, Fault::Caller, message)
            .with_hint("`cortex config show` lists the keys")
    })?;
    let path = path(home, variables);
    let wrong = |why: String| {
        Error::new(ErrorCode::Config, Fault::Caller, format!("{}: {why}", path.display()))
    };
    let text = match super::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Error::io(path.display(), &error)),
    };
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| wrong(error.to_string()))?;
    let before = said(&document, name);
    match value {
        Some(value) => {
            let value = key.kind.read(value).map_err(|why| {
                Error::new(ErrorCode::Config, Fault::Caller, format!("{name}: {why}"))
            })?;
            put(&mut document, name, item(&value)).map_err(wrong)?;
        }
        None => take_out(&mut document, name),
    }
    let written = document.to_string();
    let config = Config::parse(&written, &path, variables)?;
    let changed = said(&document, name) != before;
    if changed {
        files::replace_file(&path, written.as_bytes())
            .map_err(|error| Error::io(path.display(), &error))?;
    }
    Ok(SetSettingAnswer { setting: view(key, &config), before, changed, note: NOTE.to_owned() })
}

/// What the file says of a key, as it would stand in a variable.
fn said(document: &DocumentMut, name: &str) -> Option<String> {
    let mut found = document.as_item();
    for part in name.split('.') {
        found = found.get(part)?;
    }
    let mut value = found.as_value()?.clone();
    value.decor_mut().clear();
    Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

fn put(document: &mut DocumentMut, name: &str, item: Item) -> Result<(), String> {
    let parts: Vec<&str> = name.split('.').collect();
    let Some((last, tables)) = parts.split_last() else { return Ok(()) };
    let mut table = document.as_table_mut() as &mut dyn toml_edit::TableLike;
    for part in tables {
        let entry = table.entry(part).or_insert(Item::Table(Table::new()));
        table = entry.as_table_like_mut().ok_or_else(|| format!("{part} is not a table"))?;
    }
    match table.get_mut(last).and_then(Item::as_value_mut) {
        // What stands behind the value, such as a comment, stays there.
        Some(old) => {
            if let Item::Value(mut value) = item {
                *value.decor_mut() = old.decor().clone();
                *old = value;
            }
        }
        None => {
            table.insert(last, item);
        }
    }
    Ok(())
}

fn take_out(document: &mut DocumentMut, name: &str) {
    let parts: Vec<&str> = name.split('.').collect();
    let Some((last, tables)) = parts.split_last() else { return };
    let mut table = document.as_table_mut() as &mut dyn toml_edit::TableLike;
    for part in tables {
        let Some(inner) = table.get_mut(part).and_then(Item::as_table_like_mut) else { return };
        table = inner;
    }
    table.remove(last);
}

fn item(value: &Value) -> Item {
    match value {
        Value::Bool(flag) => toml_edit::value(*flag),
        Value::Number(n) => match n.as_i64() {
            Some(whole) => toml_edit::value(whole),
            None => toml_edit::value(n.as_f64().unwrap_or_default()),
        },
        Value::String(text) => toml_edit::value(text.as_str()),
        // No kind of key reads anything else.
        other => toml_edit::value(other.to_string()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn file(home: &Path) -> String {
        std::fs::read_to_string(home.join("cortex.toml")).unwrap()
    }

    #[test]
    fn a_value_is_set_where_it_stands_and_taken_back() {
        let home = tempfile::tempdir().unwrap();
        let text = "# mine\n[http]\nport = 8000 # behind a proxy\n";
        std::fs::write(home.path().join("cortex.toml"), text).unwrap();
        let none = BTreeMap::new();
        let answer = set(home.path(), &none, "http.port", Some("9000")).unwrap();
        assert_eq!((answer.before.as_deref(), answer.changed), (Some("8000"), true));
        assert_eq!(file(home.path()), text.replace("8000", "9000"));
        let back = set(home.path(), &none, "http.port", answer.before.as_deref()).unwrap();
        assert!(back.changed);
        assert_eq!(file(home.path()), text);
        assert!(!set(home.path(), &none, "http.port", Some("8000")).unwrap().changed);
    }

    #[test]
    fn a_key_that_was_not_there_is_made_and_taken_out() {
        let home = tempfile::tempdir().unwrap();
        let none = BTreeMap::new();
        let answer = set(home.path(), &none, "daemon.idle_seconds", Some("60")).unwrap();
        assert_eq!(answer.before, None);
        assert_eq!(answer.setting.value, 60);
        set(home.path(), &none, "daemon.idle_seconds", None).unwrap();
        assert_eq!(load(home.path(), &none).unwrap().number("daemon.idle_seconds"), 600);
    }

    #[test]
    fn what_is_wrong_is_refused_and_nothing_is_written() {
        let home = tempfile::tempdir().unwrap();
        let none = BTreeMap::new();
        for (key, value) in [("http.port", "many"), ("http.prot", "8000")] {
            let error = set(home.path(), &none, key, Some(value)).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Config);
        }
        assert!(!home.path().join("cortex.toml").exists());
    }
}
