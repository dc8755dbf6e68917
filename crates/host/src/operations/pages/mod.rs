//! Pages: questions that stand. The question is a memory; what is said of it is gathered, written and kept here.
//!
//! What must stay true: whoever reads a page reads what the memory says now; a page is written anew only for a reason
//! (`mind::bulletin::page`); a model is asked only by the job, within its budget; a page that was removed can be
//! brought back with its versions.

mod definition;

use std::sync::Arc;

use api::change::{DeleteRequest, RestoreRequest, UpdateRequest};
use api::pages::{
    PAGE_QUESTION_MAX, PAGES_MAX, PageAddRequest, PageHistoryAnswer, PageHistoryRequest,
    PageListAnswer, PageListRequest, PageRemoveRequest, PageRestoreRequest, PageShowRequest,
    PageView,
};
use api::save::SaveRequest;
use api::{ErrorCode, Fault};
use kernel::Reading;
use kernel::memory::{Head, Millis};
use kernel::render::tokens;
use mind::audience::Audience;
use mind::bulletin::page::{
    PAGE_TOKENS, PAGE_TOKENS_MAX, PAGE_TOKENS_MIN, PageBudget, gather_page,
};
use mind::bulletin::{
    Bulletin, BulletinInput, BulletinState, GatherRequest, ModelUse, page_prompt,
};
use mind::fading::Fading;
use service::caller::Caller;
use service::error::{Error, Result};

use super::bulletin::{changes_of, made_by, refused_of};
use crate::home::Host;
use crate::mind_host::{ActorMind, lock};
use definition::{PageDefinition, definitions, page_name};

/// The run that a version names which was made because memories changed.
const LIVE: &str = "live";

impl Host {
    pub fn page_add(&self, caller: &Caller, request: PageAddRequest) -> Result<PageView> {
        let actor_mind = self.actor_mind(caller)?;
        let name = page_name(&request.name)?;
        let question = request.question.trim().to_owned();
        if question.is_empty() || question.chars().count() > PAGE_QUESTION_MAX {
            let reason = format!("has to be a question of 1 to {PAGE_QUESTION_MAX} characters");
            return Err(Error::invalid("question", reason));
        }
        let tokens = request.tokens.unwrap_or(PAGE_TOKENS);
        if !(PAGE_TOKENS_MIN..=PAGE_TOKENS_MAX).contains(&tokens) {
            let reason = format!("must lie between {PAGE_TOKENS_MIN} and {PAGE_TOKENS_MAX}");
            return Err(Error::invalid("tokens", reason));
        }
        self.service.opened(caller)?;
        let (_, reading) = self.service.reading(caller)?;
        let known = definitions(&reading)?;
        let (title, fields) = (PageDefinition::title(&name), PageDefinition::fields(&name, tokens));
        match known.iter().find(|page| page.name == name && !page.removed) {
            Some(page) => {
                let update = UpdateRequest {
                    id: page.id,
                    content: Some(question),
                    project: Some(request.project.unwrap_or_default()),
                    fields,
                    ..UpdateRequest::default()
                };
                self.service.update(caller, update)?;
            }
            None if known.iter().filter(|page| !page.removed).count() >= PAGES_MAX => {
                let message = format!("there are {PAGES_MAX} pages, and no more are kept");
                return Err(Error::new(ErrorCode::TooLarge, Fault::Caller, message)
                    .with_hint("`cortex page remove NAME` makes room"));
            }
            None => {
                let save = SaveRequest {
                    title,
                    content: question,
                    kind: Some(kernel::memory::PAGE_KIND.to_owned()),
                    project: request.project,
                    tags: vec![kernel::memory::PAGE_KIND.to_owned()],
                    topic_key: Some(format!("{}/{name}", kernel::memory::PAGE_KIND)),
                    fields,
                    ..SaveRequest::default()
                };
                self.service.save(caller, save)?;
            }
        }
        let (page, reading) = self.defined(caller, &name)?;
        self.look_at_page(&actor_mind, &reading, &page, LIVE, ModelUse::Never, caller)?;
        page_view(&actor_mind, &page, None, caller.now()?)
    }

    pub fn page_list(&self, caller: &Caller, _: PageListRequest) -> Result<PageListAnswer> {
        let actor_mind = self.actor_mind(caller)?;
        let (_, reading) = self.service.reading(caller)?;
        let now = caller.now()?;
        let mut pages = Vec::new();
        for page in definitions(&reading)?.iter().filter(|page| !page.removed) {
            let mut view = page_view(&actor_mind, page, None, now)?;
            view.text.clear();
            view.refused.clear();
            pages.push(view);
        }
        Ok(PageListAnswer { pages })
    }

    pub fn page_show(&self, caller: &Caller, request: PageShowRequest) -> Result<PageView> {
        let actor_mind = self.actor_mind(caller)?;
        let (page, reading) = self.defined(caller, &request.name)?;
        self.look_at_page(&actor_mind, &reading, &page, LIVE, ModelUse::Never, caller)?;
        let now = caller.now()?;
        let mut view = page_view(&actor_mind, &page, request.version, now)?;
        if request.as_prompt {
            let mut shelf = lock(&actor_mind.pages);
            let said = version_of(&shelf.page(&page.name)?.versions, view.version);
            view.text = said.map(page_prompt).unwrap_or_default();
        }
        Ok(view)
    }

    pub fn page_history(
        &self,
        caller: &Caller,
        request: PageHistoryRequest,
    ) -> Result<PageHistoryAnswer> {
        let actor_mind = self.actor_mind(caller)?;
        let (page, reading) = self.defined(caller, &request.name)?;
        self.look_at_page(&actor_mind, &reading, &page, LIVE, ModelUse::Never, caller)?;
        let numbers: Vec<u64> = {
            let mut shelf = lock(&actor_mind.pages);
            let versions = &shelf.page(&page.name)?.versions;
            let all = versions.history.iter().chain(&versions.current);
            all.map(|version| version.number).rev().collect()
        };
        let now = caller.now()?;
        let mut versions = Vec::new();
        for number in numbers {
            let mut view = page_view(&actor_mind, &page, Some(number), now)?;
            view.text.clear();
            view.refused.clear();
            versions.push(view);
        }
        Ok(PageHistoryAnswer { versions })
    }

    pub fn page_remove(&self, caller: &Caller, request: PageRemoveRequest) -> Result<PageView> {
        let actor_mind = self.actor_mind(caller)?;
        let (page, _) = self.defined(caller, &request.name)?;
        let reason = Some("the page was removed".to_owned());
        let delete = DeleteRequest { id: page.id, reason, ..DeleteRequest::default() };
        self.delete(caller, delete)?;
        page_view(&actor_mind, &page, None, caller.now()?)
    }

    pub fn page_restore(&self, caller: &Caller, request: PageRestoreRequest) -> Result<PageView> {
        let actor_mind = self.actor_mind(caller)?;
        let name = page_name(&request.name)?;
        let (_, reading) = self.service.reading(caller)?;
        let known = definitions(&reading)?;
        if !known.iter().any(|page| page.name == name && !page.removed) {
            // The one that was removed last is what somebody wants back.
            let gone = known.iter().rfind(|page| page.name == name);
            let id = gone.ok_or_else(|| Error::missing("page", &name))?.id;
            let reason = Some("the page was brought back".to_owned());
            self.service
                .restore(caller, RestoreRequest { id, reason, ..RestoreRequest::default() })?;
        }
        let (page, reading) = self.defined(caller, &name)?;
        self.look_at_page(&actor_mind, &reading, &page, LIVE, ModelUse::Never, caller)?;
        page_view(&actor_mind, &page, None, caller.now()?)
    }

    /// Brings all pages up to date if the journal grew and rests. No model is asked.
    pub(crate) fn follow_pages(&self, actor_mind: &ActorMind, caller: &Caller) -> Result<()> {
        let (_, reading) = self.service.reading(caller)?;
        let size = reading.view().counters()?.size;
        let now = caller.now()?;
        if !lock(&actor_mind.pages).is_due(size, now) {
            return Ok(());
        }
        let outcome = self.write_pages(actor_mind, LIVE, ModelUse::Never, caller);
        lock(&actor_mind.pages).rest();
        outcome.map(drop)
    }

    /// Looks at every page in the name of a run; says what came of it.
    pub(crate) fn write_pages(
        &self,
        actor_mind: &ActorMind,
        run: &str,
        model: ModelUse,
        caller: &Caller,
    ) -> Result<String> {
        let (_, reading) = self.service.reading(caller)?;
        let size = reading.view().counters()?.size;
        let (mut pages, mut written, mut calls) = (0, 0, 0);
        for page in definitions(&reading)?.iter().filter(|page| !page.removed) {
            if self.minds.is_ending() || lock(&actor_mind.stopped).contains(run) {
                break;
            }
            let model = if calls < mind::PAGE_CALLS_MAX { model } else { ModelUse::Never };
            let look = self.look_at_page(actor_mind, &reading, page, run, model, caller)?;
            pages += 1;
            written += u32::from(look.is_new);
            calls += u32::from(look.asked);
        }
        if lock(&actor_mind.stopped).remove(run) {
            return Err(Error::internal("it was asked to stop"));
        }
        lock(&actor_mind.pages).looked(size);
        let looked = if pages == 1 { "1 page".to_owned() } else { format!("{pages} pages") };
        let asked = if calls == 1 {
            "1 call to a model".to_owned()
        } else {
            format!("{calls} calls to a model")
        };
        Ok(format!("{looked}, {written} written anew, {asked}"))
    }

    /// Asks the memory a page's question, and writes the page if that makes a difference.
    fn look_at_page(
        &self,
        actor_mind: &ActorMind,
        reading: &Reading,
        page: &PageDefinition,
        run: &str,
        model: ModelUse,
        caller: &Caller,
    ) -> Result<PageLook> {
        let now = caller.now()?;
        let (config, settings) = {
            let slot = actor_mind.slot();
            (Arc::clone(&slot.config), slot.mind.settings.bulletin.clone())
        };
        let model = if config.model.is_some() { model } else { ModelUse::Never };
        let gathered = self.gather_for_page(actor_mind, reading, page, caller)?;
        let budget = PageBudget { tokens: page.tokens, bulletin: &settings };
        let call = format!("{run}/{}", page.name);
        let step = {
            let mut shelf = lock(&actor_mind.pages);
            let state = shelf.page(&page.name)?;
            let step = state.gathered(reading, &gathered, budget, &call, model, now)?;
            if step.publish.is_some() {
                shelf.keep(&page.name)?;
            }
            step
        };
        let mut look = PageLook { is_new: step.publish.is_some(), asked: false };
        let Some((prompt, deadline)) = step.ask else { return Ok(look) };
        let reserved = actor_mind.slot().mind.reserve(&call, &prompt, now, deadline);
        let outcome = match (&reserved, &config.model) {
            (Ok(()), Some(model)) => {
                look.asked = true;
                let outcome = model.ask(&prompt, now, deadline);
                actor_mind.slot().mind.settle(&call, &outcome, caller.now()?);
                outcome.map(|answer| (answer.text, answer.model)).map_err(|failure| failure.why)
            }
            _ => Err("no provider is configured".to_owned()),
        };
        let now = caller.now()?;
        let mut shelf = lock(&actor_mind.pages);
        let versions = &mut shelf.page(&page.name)?.versions;
        let settings = budget.settings_for(&gathered, now);
        let written = match reserved {
            Ok(()) => versions.answered(&call, outcome, &settings, now),
            Err(why) => versions.declined(&call, why, &settings, now),
        };
        look.is_new |= written.is_some();
        shelf.keep(&page.name)?;
        Ok(look)
    }

    fn gather_for_page(
        &self,
        actor_mind: &ActorMind,
        reading: &Reading,
        page: &PageDefinition,
        caller: &Caller,
    ) -> Result<BulletinInput> {
        let now = caller.now()?;
        let (settings, days) = {
            let slot = actor_mind.slot();
            (slot.mind.settings.clone(), slot.mind.maintenance.days.clone())
        };
        let fading = Fading::new(&settings.cortex, &days);
        let project = Some(page.project.as_str()).filter(|project| !project.is_empty());
        let concerns = |head: &Head| self.concerns(caller, project, head);
        let request = GatherRequest {
            audience: &Audience::Owner,
            concerns: Some(&concerns),
            projects: &[],
            settings: &settings.bulletin,
            fading: &fading,
            rules: settings.rules,
            due: &[],
            since: None,
            now,
        };
        Ok(gather_page(reading, &page.subject(), request)?)
    }

    /// The definition of a page that is there, and the state that it was read from.
    fn defined(&self, caller: &Caller, name: &str) -> Result<(PageDefinition, Reading)> {
        let name = page_name(name)?;
        let (_, reading) = self.service.reading(caller)?;
        let all = definitions(&reading)?;
        match all.into_iter().find(|page| page.name == name && !page.removed) {
            Some(page) => Ok((page, reading)),
            None => Err(Error::missing("page", &name)
                .with_hint("`cortex page list` names those that are there")),
        }
    }
}

/// What came of a look at a page.
struct PageLook {
    is_new: bool,
    asked: bool,
}

fn version_of(versions: &BulletinState, number: u64) -> Option<&Bulletin> {
    versions.history.iter().chain(&versions.current).find(|version| version.number == number)
}

/// What a page says, or said in a version.
fn page_view(
    actor_mind: &ActorMind,
    page: &PageDefinition,
    number: Option<u64>,
    now: Millis,
) -> Result<PageView> {
    let mut shelf = lock(&actor_mind.pages);
    let versions = &shelf.page(&page.name)?.versions;
    let mut view = PageView {
        name: page.name.clone(),
        question: page.question.clone(),
        id: page.id,
        project: page.project.clone(),
        tokens_max: page.tokens,
        versions: versions.history.len() + usize::from(versions.current.is_some()),
        ..PageView::default()
    };
    let current = versions.current.as_ref();
    let Some(number) = number.or(current.map(|current| current.number)) else {
        return Ok(view);
    };
    let Some(said) = version_of(versions, number) else {
        let kept: Vec<String> =
            versions.history.iter().chain(current).map(|one| one.number.to_string()).collect();
        return Err(Error::missing("version", number)
            .with_hint(format!("versions that are kept: {}", kept.join(", "))));
    };
    let before = versions.history.iter().rfind(|one| one.number < number);
    let age = now.get().saturating_sub(said.generated_unix_ms).max(0) / 1_000;
    view.version = number;
    view.text.clone_from(&said.text);
    view.words = said.words;
    view.tokens = tokens(&said.text);
    view.generated_at = Millis(said.generated_unix_ms).rfc3339();
    view.age_seconds = u64::try_from(age).unwrap_or_default();
    view.made_by = made_by(said);
    view.fallback.clone_from(&said.fallback);
    view.cited = said.cited.keys().copied().collect();
    view.changes = changes_of(said, before);
    view.refused = refused_of(versions);
    Ok(view)
}
