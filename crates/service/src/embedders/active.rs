//! The embedder that a home uses now: opened once, changed when its configuration does, and asked for vectors of
//! questions.
//!
//! What must stay true: a question waits for a service for a bounded time, and a service that did not answer is left
//! alone for a while, so that a search without it is as fast as one that never knew it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use embed::http::EmbedRetryPolicy;
use embed::settings::EmbedderChoice;
use embed::{EmbeddingCache, install};
use kernel::Reading;
use kernel::grants::Gate;
use kernel::memory::Millis;
use recall::embedding::Embedding;
use recall::models;
use recall::search::{ArmWeights, ModelQuestion, SearchQuery, question_text};

use crate::config;
use crate::embedders::{ChosenEmbedder, EmbedError, choice};

/// How long a question waits for a service, and how often it asks.
const QUESTION: EmbedRetryPolicy = EmbedRetryPolicy {
    connect: Duration::from_secs(1),
    answer: Duration::from_secs(2),
    attempts: 1,
    first_pause: Duration::ZERO,
    longest_pause: Duration::ZERO,
};
/// How long an embedder that failed is not asked for questions.
const LEFT_ALONE: Duration = Duration::from_secs(30);

/// What a file looked like when it was read.
type Look = Option<(SystemTime, u64)>;

fn look(path: &Path) -> Look {
    let data = std::fs::metadata(path).ok()?;
    Some((data.modified().ok()?, data.len()))
}

/// What a question is asked of: a reading, seen through a gate, at a time.
#[derive(Clone, Copy)]
pub struct QuestionContext<'a> {
    pub reading: &'a Reading,
    /// Absent for the owner.
    pub gate: Option<&'a dyn Gate>,
    pub now: Millis,
}

impl std::fmt::Debug for QuestionContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QuestionContext").field("now", &self.now).finish_non_exhaustive()
    }
}

/// An embedder that is open.
#[derive(Debug)]
pub struct OpenEmbedder {
    pub choice: EmbedderChoice,
    pub chosen: ChosenEmbedder,
    /// The same service with the patience that questions have.
    for_questions: Option<ChosenEmbedder>,
    /// Since when it has not answered, and why.
    away: Mutex<Option<(Instant, String)>>,
}

impl OpenEmbedder {
    pub fn new(
        choice: EmbedderChoice,
        home: &Path,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<OpenEmbedder>, EmbedError> {
        let Some(chosen) = ChosenEmbedder::open(&choice, home, variable)? else { return Ok(None) };
        let for_questions = match &choice {
            EmbedderChoice::Http(_) => {
                ChosenEmbedder::open_with(&choice, home, variable, QUESTION)?
            }
            _ => None,
        };
        Ok(Some(OpenEmbedder { choice, chosen, for_questions, away: Mutex::default() }))
    }

    fn away(&self) -> MutexGuard<'_, Option<(Instant, String)>> {
        self.away.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn vector(&self, text: &str) -> Result<Embedding, EmbedError> {
        if let Some((since, why)) = &*self.away()
            && since.elapsed() < LEFT_ALONE
        {
            return Err(EmbedError::Away(why.clone()));
        }
        let asked = self.for_questions.as_ref().unwrap_or(&self.chosen).embed_many(&[text], 1);
        *self.away() = match &asked {
            Err(error) => Some((Instant::now(), error.to_string())),
            Ok(_) => None,
        };
        Ok(asked?.pop().unwrap_or_else(|| Embedding::zero(self.chosen.dims())))
    }

    /// The query with its question in this model, and the vectors of the actor in `folder` ready to be compared with
    /// it.
    pub fn put_into(
        &self,
        query: &mut SearchQuery,
        folder: &Path,
        context: QuestionContext<'_>,
    ) -> Result<(), EmbedError> {
        let QuestionContext { reading, gate, now } = context;
        let text = question_text(reading, gate, query, now)?;
        if text.is_empty() {
            return Ok(());
        }
        let (model, dims) = (self.chosen.model(), self.chosen.dims());
        let cache = crate::embedders::cache_folder(folder);
        models::load(reading, model, || EmbeddingCache::open(&cache, model, dims))?;
        query.model = Some(ModelQuestion { model: model.to_owned(), vector: self.vector(&text)? });
        if query.weights == ArmWeights::default() {
            query.weights = ArmWeights::with_model();
        }
        Ok(())
    }
}

#[derive(Debug)]
enum EmbedderState {
    Ready(Option<Arc<OpenEmbedder>>),
    /// Could not be opened: why, and when that was found out.
    Failed(Arc<EmbedError>, Instant),
}

/// The embedder of a home.
#[derive(Debug)]
pub struct ActiveEmbedder {
    home: PathBuf,
    variables: BTreeMap<String, String>,
    /// The keys of services, by the names that the configuration tells.
    environment: BTreeMap<String, String>,
    known: Mutex<Option<([Look; 2], EmbedderState)>>,
    pub background: crate::embedders::background::Background,
}

impl ActiveEmbedder {
    /// `variables` are those that decide about the configuration.
    pub fn new(
        home: &Path,
        variables: BTreeMap<String, String>,
        environment: BTreeMap<String, String>,
    ) -> ActiveEmbedder {
        let background = crate::embedders::background::Background::default();
        ActiveEmbedder {
            home: home.to_owned(),
            variables,
            environment,
            known: Mutex::default(),
            background,
        }
    }

    /// What is chosen now; `None` for the built-in model. Opened again only if the configuration or the model changed.
    pub fn ready(&self) -> Result<Option<Arc<OpenEmbedder>>, Arc<EmbedError>> {
        let files = [config::path(&self.home, &self.variables), install::folder(&self.home)];
        let looks = [look(&files[0]), look(&files[1])];
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((seen, EmbedderState::Ready(ready))) if *seen == looks => return Ok(ready.clone()),
            Some((seen, EmbedderState::Failed(error, at)))
                if *seen == looks && at.elapsed() < LEFT_ALONE =>
            {
                return Err(Arc::clone(error));
            }
            _ => {}
        }
        let opened = self.open().map(|ready| ready.map(Arc::new)).map_err(Arc::new);
        let (answer, now_known) = match opened {
            Ok(ready) => (Ok(ready.clone()), EmbedderState::Ready(ready)),
            Err(error) => (Err(Arc::clone(&error)), EmbedderState::Failed(error, Instant::now())),
        };
        *known = Some((looks, now_known));
        answer
    }

    fn open(&self) -> Result<Option<OpenEmbedder>, EmbedError> {
        let choice = choice(&config::load(&self.home, &self.variables)?)?;
        let variable =
            |name: &str| self.variables.get(name).or_else(|| self.environment.get(name)).cloned();
        OpenEmbedder::new(choice, &self.home, &variable)
    }

    /// Gives the query its question in the chosen model. If that cannot be had, the query stays as it is, and what is
    /// returned says why.
    pub fn ask(
        &self,
        query: &mut SearchQuery,
        folder: &Path,
        context: QuestionContext<'_>,
    ) -> Option<String> {
        let without = |error: &EmbedError| {
            Some(format!("meaning was judged by the built-in model alone: {error}"))
        };
        match self.ready() {
            Ok(None) => None,
            Ok(Some(ready)) => match ready.put_into(query, folder, context) {
                Ok(()) => None,
                Err(error) => without(&error),
            },
            Err(error) => without(&error),
        }
    }
}
