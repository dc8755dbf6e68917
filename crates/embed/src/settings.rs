//! Which embedder is chosen: the `[embedder]` keys of the configuration.
//!
//! What must stay true: a key is never in the file, only the name of the environment variable that holds it; comments
//! and other tables survive a change.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use recall::embedding::DIMS_MAX;
use reqwest::Url;
use toml_edit::{DocumentMut, Item, Table, value};

const TABLE: &str = "embedder";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EmbedderChoice {
    /// The built-in table.
    #[default]
    Static,
    MiniLm,
    Http(HttpEmbedderSettings),
}

impl EmbedderChoice {
    pub fn name(&self) -> &'static str {
        match self {
            EmbedderChoice::Static => "static",
            EmbedderChoice::MiniLm => "minilm",
            EmbedderChoice::Http(_) => "http",
        }
    }
}

/// A service that speaks the protocol of OpenAI's embeddings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpEmbedderSettings {
    /// Everything before `/embeddings`.
    pub base_url: Url,
    pub name: String,
    pub dims: usize,
    /// The environment variable that holds the key.
    pub key_env: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("{}: {error}", file.display())]
    Io { file: PathBuf, error: io::Error },
    #[error("{}: {why}", file.display())]
    Syntax { file: PathBuf, why: String },
    #[error("[{TABLE}] {0}")]
    Refused(String),
}

fn refused(why: impl Into<String>) -> SettingsError {
    SettingsError::Refused(why.into())
}

impl HttpEmbedderSettings {
    pub fn new(
        base_url: &str,
        name: &str,
        dims: usize,
        key_env: Option<&str>,
    ) -> Result<HttpEmbedderSettings, SettingsError> {
        let url = Url::parse(base_url.trim_end_matches('/'))
            .map_err(|error| refused(format!("base_url: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(refused("base_url must begin with http:// or https://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("base_url must not hold a name or password; use key_env"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(refused("base_url must end with a path"));
        }
        if name.is_empty() || name.len() > 256 || name.chars().any(char::is_control) {
            return Err(refused("name must have 1 to 256 bytes, none of them a control character"));
        }
        if dims == 0 || dims > DIMS_MAX {
            return Err(refused(format!("dims must lie between 1 and {DIMS_MAX}")));
        }
        if let Some(variable) = key_env {
            let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if variable.is_empty() || !variable.chars().all(letter) {
                return Err(refused(
                    "key_env is the name of an environment variable, not the key itself",
                ));
            }
            if url.scheme() == "http" && !is_this_machine(&url) {
                return Err(refused("a key is sent by https only, except to this machine"));
            }
        }
        let key_env = key_env.map(str::to_owned);
        Ok(HttpEmbedderSettings { base_url: url, name: name.to_owned(), dims, key_env })
    }
}

fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let address = host.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// The `[embedder]` keys as somebody wrote them, before they are checked. A key that is not set is `None`.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmbedderKeys<'k> {
    pub model: Option<&'k str>,
    pub base_url: Option<&'k str>,
    pub name: Option<&'k str>,
    /// 0 where nobody set it.
    pub dims: u64,
    pub key_env: Option<&'k str>,
}

impl EmbedderChoice {
    /// What the keys choose: the built-in model if they name none.
    pub fn of(keys: &EmbedderKeys<'_>) -> Result<EmbedderChoice, SettingsError> {
        match keys.model {
            None | Some("static") => Ok(EmbedderChoice::Static),
            Some("minilm") => Ok(EmbedderChoice::MiniLm),
            Some("http") => {
                let base_url = needed("base_url", keys.base_url)?;
                let name = needed("name", keys.name)?;
                let dims = usize::try_from(keys.dims).unwrap_or(usize::MAX);
                let settings = HttpEmbedderSettings::new(base_url, name, dims, keys.key_env)?;
                Ok(EmbedderChoice::Http(settings))
            }
            Some(other) => {
                Err(refused(format!("model {other:?} is unknown; known are static, minilm, http")))
            }
        }
    }
}

fn needed<'k>(key: &str, value: Option<&'k str>) -> Result<&'k str, SettingsError> {
    value.ok_or_else(|| refused(format!("model \"http\" needs {key}")))
}

/// Writes the choice; everything else in the file stays as it is.
pub fn store(file: &Path, choice: &EmbedderChoice) -> Result<(), SettingsError> {
    let mut document = read(file)?;
    let table = document.entry(TABLE).or_insert(Item::Table(Table::new()));
    let table = table.as_table_like_mut().ok_or_else(|| refused("is not a table"))?;
    let mut set = |key: &str, new: Option<toml_edit::Value>| match (table.get_mut(key), new) {
        // In place, so that a comment behind the value stays.
        (Some(Item::Value(old)), Some(mut new)) => {
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        (_, Some(new)) => _ = table.insert(key, value(new)),
        (_, None) => _ = table.remove(key),
    };
    set("model", Some(choice.name().into()));
    // The settings of a service stay when another model is chosen: one may come back to it.
    if let EmbedderChoice::Http(http) = choice {
        set("base_url", Some(http.base_url.as_str().into()));
        set("name", Some(http.name.as_str().into()));
        set("dims", Some(i64::try_from(http.dims).unwrap_or(i64::MAX).into()));
        set("key_env", http.key_env.as_deref().map(Into::into));
    }
    let io = |error| SettingsError::Io { file: file.to_owned(), error };
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(io)?;
    let unfinished = folder.join(format!(".cortex.toml.{}", std::process::id()));
    let written = fs::File::create(&unfinished).and_then(|mut out| {
        out.write_all(document.to_string().as_bytes())?;
        out.sync_all()
    });
    written.and_then(|()| fs::rename(&unfinished, file)).map_err(io)
}

fn read(file: &Path) -> Result<DocumentMut, SettingsError> {
    match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(DocumentMut::new()),
        Err(error) => Err(SettingsError::Io { file: file.to_owned(), error }),
        Ok(text) => text.parse().map_err(|error: toml_edit::TomlError| SettingsError::Syntax {
            file: file.to_owned(),
            why: error.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http() -> EmbedderChoice {
        let settings =
            HttpEmbedderSettings::new("https://host/v1/", "m", 768, Some("MY_KEY")).unwrap();
        EmbedderChoice::Http(settings)
    }

    fn load(file: &Path) -> EmbedderChoice {
        let document = read(file).unwrap();
        let key = |name: &str| document.get(TABLE).and_then(|table| table.get(name));
        let text = |name: &str| key(name).and_then(Item::as_str);
        let dims = key("dims").and_then(Item::as_integer).unwrap_or(0);
        let keys = EmbedderKeys {
            model: text("model"),
            base_url: text("base_url"),
            name: text("name"),
            dims: u64::try_from(dims).unwrap(),
            key_env: text("key_env"),
        };
        EmbedderChoice::of(&keys).unwrap()
    }

    #[test]
    fn a_choice_comes_back_and_comments_stay() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("cortex.toml");
        assert_eq!(load(&file), EmbedderChoice::Static);
        let before = "# mine\n[memory]\narchive = false # keep\n\n[embedder]\n# why\nmodel = \"static\" # for now\n";
        fs::write(&file, before).unwrap();
        for choice in [http(), EmbedderChoice::MiniLm, EmbedderChoice::Static] {
            store(&file, &choice).unwrap();
            assert_eq!(load(&file), choice);
        }
        let after = fs::read_to_string(&file).unwrap();
        for kept in
            ["# mine", "archive = false # keep", "# why", "\"static\" # for now", "name = \"m\""]
        {
            assert!(after.contains(kept), "{after}");
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let http =
            EmbedderKeys { model: Some("http"), base_url: Some("http://h"), ..<_>::default() };
        for keys in [
            EmbedderKeys { model: Some("word2vec"), ..EmbedderKeys::default() },
            EmbedderKeys { name: Some("m"), ..http },
            EmbedderKeys { dims: 3, ..http },
        ] {
            assert!(EmbedderChoice::of(&keys).is_err(), "{keys:?}");
        }
        assert!(EmbedderChoice::of(&EmbedderKeys { name: Some("m"), dims: 3, ..http }).is_ok());
    }

    #[test]
    fn addresses_that_leak_or_lead_nowhere_are_refused() {
        let new = |url, key| HttpEmbedderSettings::new(url, "m", 8, key);
        for url in ["ftp://h/v1", "h/v1", "http://", "https://u:p@h/v1", "https://h/v1?key=1"] {
            assert!(new(url, None).is_err(), "{url}");
        }
        assert!(new("http://example.org/v1", Some("KEY")).is_err());
        assert!(new("http://127.0.0.1:11434/v1", Some("KEY")).is_ok());
        assert!(new("http://[::1]:1/v1", Some("KEY")).is_ok());
        assert!(new("https://h/v1", Some("sk-123")).is_err());
        assert!(HttpEmbedderSettings::new("https://h", "m", DIMS_MAX + 1, None).is_err());
    }
}
