//! What a page said, version by version, and whether it still holds.

use std::collections::BTreeMap;

use kernel::find::{MemoryReader, Standing};
use kernel::grants::Gate;
use kernel::memory::{MemoryId, Millis};
use kernel::render::tokens;
use kernel::{Digest, Reading};
use serde::{Deserialize, Serialize};

use super::{PAGE_VERSIONS_MAX, PageSubject};
use crate::audience::Audience;
use crate::bulletin::input::{BulletinInput, InputItem};
use crate::bulletin::{Bulletin, BulletinState, BulletinStep, ModelUse, render};
use crate::error::Result;
use crate::settings::BulletinSettings;

/// A page over time: kept, except for a call to a model that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageState {
    /// The question that the current version answers.
    subject: PageSubject,
    tokens: u32,
    /// Its versions, and what a model was asked about them.
    pub versions: BulletinState,
    /// Each memory that the current version was made of, as it was.
    seen: BTreeMap<u64, String>,
}

impl PageState {
    pub fn new(audience: Audience) -> PageState {
        PageState {
            subject: PageSubject::default(),
            tokens: 0,
            versions: BulletinState::new(audience),
            seen: BTreeMap::new(),
        }
    }

    pub fn current(&self) -> Option<&Bulletin> {
        self.versions.current.as_ref()
    }

    /// The memory was asked. Nothing follows if the page says it already, and no model would word it anew.
    pub fn gathered(
        &mut self,
        reading: &Reading,
        gathered: &BulletinInput,
        budget: PageBudget<'_>,
        run: &str,
        model: ModelUse,
        now: Millis,
    ) -> Result<BulletinStep> {
        let settings = budget.settings_for(gathered, now);
        let may = model == ModelUse::Allowed && settings.use_model;
        let wants_model = may && self.versions.needs_model(gathered, now);
        if !wants_model && !self.is_outdated(reading, gathered, budget.tokens, now)? {
            self.versions.refreshed_unix_ms = Some(now.get());
            return Ok(BulletinStep::default());
        }
        self.subject = gathered.subject.clone().unwrap_or_default();
        self.tokens = budget.tokens;
        self.seen = gathered.items().map(|item| (item.id, fingerprint(item))).collect();
        Ok(self.versions.gathered(gathered, run, model, &settings, now))
    }

    /// The text of a memory was erased: no version that was made from it is kept. True if one was.
    pub fn erase(&mut self, id: u64) -> bool {
        let known = self.seen.remove(&id).is_some();
        self.versions.erase(id) || known
    }

    /// True if the page may have to say something else.
    fn is_outdated(
        &self,
        reading: &Reading,
        gathered: &BulletinInput,
        tokens: u32,
        now: Millis,
    ) -> Result<bool> {
        let Some(current) = self.current() else { return Ok(true) };
        let is_another = gathered.subject.as_ref() != Some(&self.subject) || tokens != self.tokens;
        // What ranks a little better than yesterday is no news; what is new or changed is.
        let is_news = |item: &InputItem| match self.seen.get(&item.id) {
            Some(before) => *before != fingerprint(item),
            None => item.seq > current.size,
        };
        if is_another || gathered.items().any(is_news) {
            return Ok(true);
        }
        let said = gathered.ids();
        let view = reading.view();
        let lens = MemoryReader::new(&view, Some(&gathered.audience as &dyn Gate), None, now)?;
        let cited = current.parts.iter().flat_map(|part| &part.lines).flat_map(|line| &line.cites);
        for id in self.seen.keys().chain(cited) {
            let row = MemoryId::new(*id).map(|id| lens.row(id)).transpose()?.flatten();
            let Some(row) = row.filter(|row| row.standing.is_shown()) else { return Ok(true) };
            let is_seen = self.seen.contains_key(id);
            // What was moved to another project, or closed, answers no longer.
            let left = row.head.seq > current.size && !said.contains(id);
            if is_seen && (left || row.standing == Standing::Superseded) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// What tells whether a line would be another one.
fn fingerprint(item: &InputItem) -> String {
    let links = item.links.to_be_bytes();
    let note = item.note.as_deref().unwrap_or_default();
    let also: Vec<u8> = item.also.iter().flat_map(|id| id.to_be_bytes()).collect();
    let (version, project) = (item.version.to_be_bytes(), item.project.as_bytes());
    let parts = [&version[..], &links, &also, note.as_bytes(), project];
    Digest::of("cortex/page-line/1", &parts).to_string()
}

/// How long a page may be, and how it is written.
#[derive(Clone, Copy, Debug)]
pub struct PageBudget<'a> {
    pub tokens: u32,
    pub bulletin: &'a BulletinSettings,
}

impl PageBudget<'_> {
    /// The bulletin's settings with as many words as make no more tokens than allowed.
    pub fn settings_for(&self, gathered: &BulletinInput, now: Millis) -> BulletinSettings {
        let allowed = self.tokens as usize;
        let mut max_words = allowed * 3 / 4;
        loop {
            let parts = render::by_rules(gathered, max_words, now);
            let text = render::text_of(gathered.subject.as_ref(), &parts, now);
            if tokens(&text) <= self.tokens || parts.is_empty() {
                break;
            }
            max_words = max_words * 9 / 10;
        }
        BulletinSettings {
            max_words,
            history: PAGE_VERSIONS_MAX,
            max_output_tokens: self.bulletin.max_output_tokens.min(u64::from(self.tokens)),
            ..self.bulletin.clone()
        }
    }
}
