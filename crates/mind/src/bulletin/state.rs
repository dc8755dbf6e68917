//! When a bulletin is made again and by whom, what was published, and what a model was asked about it.
//!
//! What must stay true: a model is asked only about memories that changed since it last wrote; whatever comes of a
//! call, a bulletin is published or the current one stays; what was erased is in nothing that is kept.

use std::collections::{BTreeSet, VecDeque};

use kernel::memory::Millis;
use serde::{Deserialize, Serialize};

use super::dimension::Dimension;
use super::input::BulletinInput;
use super::model::{self, ModelPrompt};
use super::render::{self, BulletinSection};
use super::{Bulletin, BulletinStep, Maker, ModelUse};
use crate::audience::Audience;
use crate::settings::{BulletinSettings, secs_ms};

/// Times a model is asked about the same memories before it waits for new ones.
const TRIES_MAX: u32 = 3;
/// Wait after the first failure; doubles.
const RETRY_MS: i64 = 600_000;
/// Wait after a call that was not made.
const DECLINED_MS: i64 = 3_600_000;
/// Refused answers that are kept, and characters of each.
const REFUSED_MAX: usize = 10;
const REFUSED_CHARS: usize = 4_000;

/// A call to a model that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PendingCall {
    run: String,
    prompt: ModelPrompt,
    gathered: BulletinInput,
    deadline: Millis,
}

/// What the model last wrote, and from what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ModelText {
    parts: Vec<BulletinSection>,
    model: String,
    /// Memories changed after this entry need the model again.
    size: u64,
    lines: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Tries {
    inputs: String,
    count: u32,
    not_before_unix_ms: i64,
}

/// An answer of a model that was not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedAnswer {
    pub at_unix_ms: i64,
    pub model: String,
    pub reason: String,
    /// Its beginning.
    pub text: String,
}

/// The bulletin of one audience over time: persistent, except for a call under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulletinState {
    pub audience: Audience,
    pub current: Option<Bulletin>,
    /// Earlier bulletins, newest last.
    pub history: VecDeque<Bulletin>,
    /// When the memories were last looked at, whether or not anything was new.
    pub refreshed_unix_ms: Option<i64>,
    curated: Option<ModelText>,
    /// Answers of models that were not used, newest last.
    #[serde(default)]
    pub refused: VecDeque<RefusedAnswer>,
    tries: Tries,
    published: u64,
    #[serde(skip)]
    pending: Option<PendingCall>,
}

impl BulletinState {
    pub fn new(audience: Audience) -> BulletinState {
        BulletinState {
            audience,
            current: None,
            history: VecDeque::new(),
            refreshed_unix_ms: None,
            curated: None,
            refused: VecDeque::new(),
            tries: Tries::default(),
            published: 0,
            pending: None,
        }
    }

    /// New memories were gathered. `model` says whether a model may write; the caller knows that one is configured.
    pub fn gathered(
        &mut self,
        gathered: &BulletinInput,
        run: &str,
        model: ModelUse,
        settings: &BulletinSettings,
        now: Millis,
    ) -> BulletinStep {
        self.refreshed_unix_ms = Some(now.get());
        let allowed = model == ModelUse::Allowed && settings.use_model;
        let wants = allowed && self.needs_model(gathered, now);
        if wants && self.pending.is_none() {
            let prompt = model::prompt(gathered, settings, now);
            let deadline = Millis(now.get().saturating_add(secs_ms(settings.model_timeout_secs)));
            self.pending = Some(PendingCall {
                run: run.to_owned(),
                prompt: prompt.clone(),
                gathered: gathered.clone(),
                deadline,
            });
            // Readers get a bulletin by rules at once; the model's text replaces it when it comes.
            let publish =
                self.current.is_none().then(|| self.by_rules(gathered, run, None, settings, now));
            return BulletinStep { publish, ask: Some((Box::new(prompt), deadline)) };
        }
        match &self.current {
            Some(current) if current.inputs == gathered.hash => BulletinStep::default(),
            _ => BulletinStep::publish(self.without_model(gathered, run, settings, now)),
        }
    }

    /// A model answered, or did not. Returns the bulletin that follows; none if the call was not the one under way.
    pub fn answered(
        &mut self,
        run: &str,
        answer: Result<(String, String), String>,
        settings: &BulletinSettings,
        now: Millis,
    ) -> Option<Box<Bulletin>> {
        let pending = self.pending.take_if(|pending| pending.run == run)?;
        let gathered = pending.gathered;
        let read = answer.and_then(|(text, model)| {
            match model::read_answer(&text, &gathered, &pending.prompt, settings, now) {
                Ok(parts) => Ok((parts, model)),
                Err(rejected) => {
                    self.refuse(&text, model, rejected.to_string(), now);
                    Err(format!("the model's text was refused: {rejected}"))
                }
            }
        });
        match read {
            Ok((parts, model)) => {
                self.tries = Tries::default();
                let lines = parts.iter().map(|part| part.lines.len()).sum();
                let (size, of) = (gathered.size, model.clone());
                self.curated = Some(ModelText { parts: parts.clone(), model: of, size, lines });
                Some(self.publish(
                    &gathered,
                    parts,
                    Maker::Model { model },
                    run,
                    None,
                    settings,
                    now,
                ))
            }
            Err(why) => {
                if self.tries.inputs != gathered.hash {
                    self.tries = Tries { inputs: gathered.hash.clone(), ..Tries::default() };
                }
                let wait = RETRY_MS.saturating_mul(1 << self.tries.count.min(16));
                self.tries.count += 1;
                self.tries.not_before_unix_ms = now.get().saturating_add(wait);
                Some(self.by_rules(&gathered, run, Some(why), settings, now))
            }
        }
    }

    /// Keeps an answer that is not used, with the reason.
    fn refuse(&mut self, text: &str, model: String, reason: String, now: Millis) {
        let text = text.chars().take(REFUSED_CHARS).collect();
        self.refused.push_back(RefusedAnswer { at_unix_ms: now.get(), model, reason, text });
        while self.refused.len() > REFUSED_MAX {
            self.refused.pop_front();
        }
    }

    /// What a model failed at is tried again at once: whoever resets wants to know.
    pub fn reset(&mut self) {
        self.tries = Tries::default();
    }

    /// The call was not made: no budget, or the provider is left alone. Asked again in an hour; this is no failure of
    /// it.
    pub fn declined(
        &mut self,
        run: &str,
        why: String,
        settings: &BulletinSettings,
        now: Millis,
    ) -> Option<Box<Bulletin>> {
        let pending = self.pending.take_if(|pending| pending.run == run)?;
        let inputs = pending.gathered.hash.clone();
        let count = if self.tries.inputs == inputs { self.tries.count } else { 0 };
        let not_before_unix_ms = now.get().saturating_add(DECLINED_MS);
        self.tries = Tries { inputs, count, not_before_unix_ms };
        match self.current.as_mut().filter(|now| now.inputs == pending.gathered.hash) {
            // Rules said the same already, before anybody knew that no model would.
            Some(said) if said.fallback.is_none() && said.maker == Maker::Rules => {
                said.fallback = Some(why);
                Some(Box::new(said.clone()))
            }
            Some(_) => None,
            None => Some(self.by_rules(&pending.gathered, run, Some(why), settings, now)),
        }
    }

    /// The state of another audience has just written about exactly these memories: the same text serves here,
    /// without another call.
    pub fn adopt(
        &mut self,
        other: &BulletinState,
        gathered: &BulletinInput,
        run: &str,
        settings: &BulletinSettings,
        now: Millis,
    ) -> Option<BulletinStep> {
        let theirs = other.current.as_ref().filter(|theirs| theirs.inputs == gathered.hash)?;
        self.refreshed_unix_ms = Some(now.get());
        if self.current.as_ref().is_some_and(|ours| ours.parts == theirs.parts) {
            return Some(BulletinStep::default());
        }
        (self.curated, self.tries) = (other.curated.clone(), other.tries.clone());
        let (parts, maker, why) =
            (theirs.parts.clone(), theirs.maker.clone(), theirs.fallback.clone());
        let written = self.publish(gathered, parts, maker, run, why, settings, now);
        Some(BulletinStep::publish(written))
    }

    /// The text of a memory was erased: nothing that was written from it is kept. True if something was.
    pub fn erase(&mut self, id: u64) -> bool {
        let cites = |parts: &[BulletinSection]| {
            parts.iter().flat_map(|part| &part.lines).any(|line| line.cites.contains(&id))
        };
        // What a refused answer says of which memory is unknown.
        self.refused.clear();
        let before = self.history.len();
        self.history.retain(|bulletin| !cites(&bulletin.parts));
        let current = self.current.take_if(|bulletin| cites(&bulletin.parts)).is_some();
        let curated = self.curated.take_if(|curated| cites(&curated.parts)).is_some();
        // The prompt of a call under way, and its answer, may hold the erased text too.
        let pending =
            self.pending.take_if(|pending| pending.gathered.ids().contains(&id)).is_some();
        current || curated || pending || self.history.len() != before
    }

    /// True while a model writes.
    pub fn is_waiting(&self) -> bool {
        self.pending.is_some()
    }

    /// Gives up a call whose time is over.
    pub fn tick(&mut self, settings: &BulletinSettings, now: Millis) -> Option<Box<Bulletin>> {
        let late = self.pending.as_ref().filter(|pending| now >= pending.deadline);
        let run = late.map(|pending| pending.run.clone())?;
        self.answered(&run, Err("the model did not answer in time".into()), settings, now)
    }

    /// A model is needed when something in the bulletin was written or changed since it last wrote. Time alone is no
    /// cause.
    pub(super) fn needs_model(&self, gathered: &BulletinInput, now: Millis) -> bool {
        let seen = self.curated.as_ref().map_or(0, |curated| curated.size);
        let fresh = gathered.model_items().any(|item| item.seq > seen);
        let tried = self.tries.inputs == gathered.hash
            && (self.tries.count >= TRIES_MAX || now.get() < self.tries.not_before_unix_ms);
        fresh && !tried
    }

    /// What the model wrote without lines whose memories are no longer there; by rules if too little of it is left.
    fn without_model(
        &mut self,
        gathered: &BulletinInput,
        run: &str,
        settings: &BulletinSettings,
        now: Millis,
    ) -> Box<Bulletin> {
        let known = gathered.ids();
        let fresh = |size: u64| gathered.model_items().any(|item| item.seq > size);
        if let Some(curated) = self.curated.as_ref().filter(|curated| !fresh(curated.size)) {
            let mut parts = curated.parts.clone();
            for part in &mut parts {
                let heading = part.heading.clone();
                part.lines.retain(|line| {
                    let is_known = line.cites.iter().all(|id| known.contains(id));
                    is_known && gathered.may_say(&heading, line)
                });
            }
            // What the program says itself is said as it is now.
            let own = model::own_words(gathered, settings, now);
            parts.retain(|part| !part.lines.is_empty() && is_models(&part.heading));
            parts = model::in_order(own, parts);
            let left: usize = parts.iter().map(|part| part.lines.len()).sum();
            if 2 * left > curated.lines {
                let maker = Maker::Model { model: curated.model.clone() };
                return self.publish(gathered, parts, maker, run, None, settings, now);
            }
        }
        self.by_rules(gathered, run, None, settings, now)
    }

    fn by_rules(
        &mut self,
        gathered: &BulletinInput,
        run: &str,
        fallback: Option<String>,
        settings: &BulletinSettings,
        now: Millis,
    ) -> Box<Bulletin> {
        let parts = render::by_rules(gathered, settings.max_words, now);
        self.publish(gathered, parts, Maker::Rules, run, fallback, settings, now)
    }

    #[expect(clippy::too_many_arguments, reason = "a bulletin is put together in one place")]
    fn publish(
        &mut self,
        gathered: &BulletinInput,
        parts: Vec<BulletinSection>,
        maker: Maker,
        run: &str,
        fallback: Option<String>,
        settings: &BulletinSettings,
        now: Millis,
    ) -> Box<Bulletin> {
        let text = render::text_of(gathered.subject.as_ref(), &parts, now);
        let ids: BTreeSet<u64> =
            parts.iter().flat_map(|part| &part.lines).flat_map(|line| line.cites.clone()).collect();
        let versions = gathered.items().map(|item| (item.id, item.version));
        self.published += 1;
        let bulletin = Bulletin {
            number: self.published,
            audience: self.audience.clone(),
            words: render::words(&text),
            text,
            generated_unix_ms: now.get(),
            maker,
            fallback,
            inputs: gathered.hash.clone(),
            size: gathered.size,
            run: run.to_owned(),
            parts,
            cited: versions.filter(|(id, _)| ids.contains(id)).collect(),
        };
        if let Some(before) = self.current.replace(bulletin.clone()) {
            self.history.push_back(before);
        }
        while self.history.len() > settings.history {
            self.history.pop_front();
        }
        Box::new(bulletin)
    }
}

/// True for a section that a model may word.
fn is_models(heading: &str) -> bool {
    Dimension::ALL.iter().any(|d| d.is_for_model() && d.heading() == heading)
}
