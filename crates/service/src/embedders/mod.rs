//! The embedder that a home has chosen besides the built-in one: opened by its configuration, asked for questions
//! (`active`), and used to fill the cache of vectors (`fill`, `background`). The models themselves are in the crate
//! `embed`.
//!
//! What must stay true: nothing here is needed to save or to search. Vectors go into a cache that may be deleted at any
//! time; a search whose question gets no vector falls back to the built-in model and says so (`active`).

pub mod active;
pub mod background;
pub mod fill;

use std::path::{Path, PathBuf};

use embed::http::{self, EmbedRetryPolicy, HttpEmbedder, HttpError};
use embed::install::{self, InstallError};
use embed::settings::{EmbedderChoice, EmbedderKeys, SettingsError};
use embed::{CacheError, EmbeddingCache, MiniLm, ModelError};
use recall::embedding::{Embedder as _, Embedding};
use recall::models::LoadError;

use crate::config::Config;

#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Install(InstallError),
    #[error("the environment variable {0} holds no key")]
    NoKey(String),
    #[error("{0}; it is asked again in a while")]
    Away(String),
    #[error(transparent)]
    Config(#[from] crate::error::Error),
    #[error(transparent)]
    Store(#[from] kernel::Error),
}

impl From<InstallError> for EmbedError {
    /// A model that cannot be used is the same failure, whether it was just installed or there before.
    fn from(error: InstallError) -> EmbedError {
        match error {
            InstallError::Model(error) => EmbedError::Model(error),
            other => EmbedError::Install(other),
        }
    }
}

impl From<LoadError<CacheError>> for EmbedError {
    fn from(error: LoadError<CacheError>) -> EmbedError {
        match error {
            LoadError::Store(error) => EmbedError::Store(error),
            LoadError::Source(error) => EmbedError::Cache(error),
        }
    }
}

impl EmbedError {
    pub fn code(&self) -> &'static str {
        match self {
            EmbedError::Model(error) => error.code(),
            EmbedError::Http(error) => error.code(),
            EmbedError::Cache(error) => error.code(),
            EmbedError::Settings(_) | EmbedError::Config(_) => "settings",
            EmbedError::Install(error) => error.code(),
            EmbedError::NoKey(_) => "embedder_key_missing",
            EmbedError::Away(_) => "embedder_unreachable",
            EmbedError::Store(error) => error.code(),
        }
    }
}

/// What the configuration chooses.
pub fn choice(config: &Config) -> Result<EmbedderChoice, SettingsError> {
    EmbedderChoice::of(&EmbedderKeys {
        model: config.text("embedder.model"),
        base_url: config.text("embedder.base_url"),
        name: config.text("embedder.name"),
        dims: config.number("embedder.dims"),
        key_env: config.text("embedder.key_env"),
    })
}

/// A chosen embedder, ready to work. The built-in one is not among them: its vectors are in the store.
#[derive(Debug)]
pub enum ChosenEmbedder {
    MiniLm(Box<MiniLm>),
    Http(Box<HttpEmbedder>),
}

impl ChosenEmbedder {
    /// `None` for the built-in model. `variable` looks into the environment.
    pub fn open(
        choice: &EmbedderChoice,
        home: &Path,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<ChosenEmbedder>, EmbedError> {
        ChosenEmbedder::open_with(choice, home, variable, EmbedRetryPolicy::default())
    }

    /// The same, with as much patience for a service as the caller has.
    fn open_with(
        choice: &EmbedderChoice,
        home: &Path,
        variable: &dyn Fn(&str) -> Option<String>,
        policy: EmbedRetryPolicy,
    ) -> Result<Option<ChosenEmbedder>, EmbedError> {
        Ok(match choice {
            EmbedderChoice::Static => None,
            EmbedderChoice::MiniLm => Some(ChosenEmbedder::MiniLm(Box::new(install::open(home)?))),
            EmbedderChoice::Http(settings) => {
                let key = match &settings.key_env {
                    Some(name) => {
                        Some(variable(name).ok_or_else(|| EmbedError::NoKey(name.clone()))?)
                    }
                    None => None,
                };
                let embedder = HttpEmbedder::new(settings.clone(), key, policy)?;
                Some(ChosenEmbedder::Http(Box::new(embedder)))
            }
        })
    }

    pub fn model(&self) -> &str {
        match self {
            ChosenEmbedder::MiniLm(model) => model.model(),
            ChosenEmbedder::Http(model) => model.model(),
        }
    }

    pub fn dims(&self) -> usize {
        match self {
            ChosenEmbedder::MiniLm(model) => model.dims(),
            ChosenEmbedder::Http(model) => model.dims(),
        }
    }

    /// True if only the beginning of this text is read.
    pub fn cuts(&self, text: &str) -> bool {
        match self {
            ChosenEmbedder::MiniLm(model) => model.cuts(text),
            ChosenEmbedder::Http(_) => text.len() > http::TEXT_BYTES_MAX,
        }
    }

    /// Vectors in the order of the texts. MiniLM uses so many cores.
    pub fn embed_many(&self, texts: &[&str], cores: usize) -> Result<Vec<Embedding>, EmbedError> {
        match self {
            ChosenEmbedder::MiniLm(model) => Ok(on_cores(model, texts, cores)),
            ChosenEmbedder::Http(model) => Ok(model.embed_many(texts)?),
        }
    }

    /// The cache of this model for the actor in `folder`.
    pub fn cache(&self, folder: &Path) -> Result<EmbeddingCache, EmbedError> {
        Ok(EmbeddingCache::open(&cache_folder(folder), self.model(), self.dims())?)
    }
}

/// Where an actor keeps what may be deleted at any time.
pub(crate) fn cache_folder(actor_folder: &Path) -> PathBuf {
    actor_folder.join("cache")
}

fn on_cores(model: &MiniLm, texts: &[&str], cores: usize) -> Vec<Embedding> {
    if cores < 2 || texts.len() < 2 {
        return model.embed_many(texts);
    }
    let share = texts.len().div_ceil(cores).max(1);
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            texts.chunks(share).map(|part| scope.spawn(|| model.embed_many(part))).collect();
        workers
            .into_iter()
            .flat_map(|worker| {
                worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    })
}
