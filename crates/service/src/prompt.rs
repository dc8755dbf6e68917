//! Prompts: what people asked, as they said it.

use std::ops::ControlFlow;

use api::prompt::{
    PROMPTS_MAX, PromptListAnswer, PromptListRequest, PromptSaveRequest, PromptView,
};
use kernel::command::{Command, PromptDraft};
use kernel::keys;
use kernel::store::{KeyRange, View};

use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::read::memory_id;
use crate::{Service, wording};
use intake::cleaner::IntakeCleaner;
use intake::project::alias::Aliases;

impl Service {
    /// The session and the words of the prompt with this number; `None` if it is no prompt, or a memory has the number.
    pub fn prompt_text(&self, caller: &Caller, seq: u64) -> Result<Option<(String, String)>> {
        let (_, reading) = self.reading(caller)?;
        let view = reading.view();
        if view.head(memory_id(seq)?)?.is_some() {
            return Ok(None);
        }
        let session = view.prompt(seq)?.and_then(|prompt| prompt.session);
        let Some((session, sealed)) = session.zip(view.sealed(seq)?) else { return Ok(None) };
        Ok(Some((session, sealed.open_note()?.text)))
    }

    pub fn prompt_save(&self, caller: &Caller, request: PromptSaveRequest) -> Result<PromptView> {
        if request.content.trim().is_empty() {
            return Err(Error::invalid("content", "is empty"));
        }
        let cortex = self.cortex(caller)?;
        let state = self.state(&caller.actor);
        let project = self.claimed_project(caller, request.project.as_deref());
        let session = self.attach(
            caller,
            &cortex,
            &state,
            request.session_id.as_deref(),
            project.as_deref(),
            request.default_session,
        )?;
        let mut screen = self.screen();
        let text = IntakeCleaner::default().text(screen.text(&request.content));
        let draft = PromptDraft {
            session: session.clone(),
            project: project.clone(),
            text: text.clone(),
            salt: caller.salt()?,
        };
        let receipt = self.submit(&cortex, caller.stamp()?, Command::Prompt(draft))?;
        Ok(PromptView {
            id: receipt.seq,
            content: text,
            session_id: session.unwrap_or_default(),
            project: project.unwrap_or_default(),
            created_at: receipt.at.rfc3339(),
            redacted: screen.report().note().unwrap_or_default(),
        })
    }

    pub fn prompt_list(
        &self,
        caller: &Caller,
        request: PromptListRequest,
    ) -> Result<PromptListAnswer> {
        let (_, reading) = self.reading(caller)?;
        let view = reading.view();
        let limit = request.limit.unwrap_or(20).min(PROMPTS_MAX);
        let project = self.read_project(caller, request.project.as_deref(), false);
        let is_any = request.project.as_deref().is_none_or(wording::is_every_project);
        let wanted_words = request.query.as_deref().map(str::to_lowercase);
        let (mut prompts, mut total) = (Vec::new(), 0);
        let aliases = self.known_aliases(&caller.actor);
        for seq in prompt_numbers(&view)? {
            let Some(shown) = prompt_view(&view, &aliases, seq)? else { continue };
            let wanted = (is_any || project.as_deref().unwrap_or("") == shown.project)
                && request.session_id.as_ref().is_none_or(|id| *id == shown.session_id)
                && wanted_words
                    .as_ref()
                    .is_none_or(|words| shown.content.to_lowercase().contains(words));
            if !wanted {
                continue;
            }
            if total >= request.offset && prompts.len() < limit {
                prompts.push(shown);
            }
            total += 1;
        }
        Ok(PromptListAnswer { prompts, total })
    }
}

/// The entries of all prompts, newest first.
pub(super) fn prompt_numbers(view: &View<'_>) -> Result<Vec<u64>> {
    let mut numbers = Vec::new();
    let range = KeyRange::prefix(&keys::prompts()).reversed();
    view.scan(&range, &mut |key, _| {
        numbers.extend(keys::trailing_u64(key));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(numbers)
}

/// A prompt under the name that its project has now, unless its text was erased.
pub(super) fn prompt_view(
    view: &View<'_>,
    aliases: &Aliases,
    seq: u64,
) -> Result<Option<PromptView>> {
    let Some(prompt) = view.prompt(seq)? else { return Ok(None) };
    let Some(sealed) = view.sealed(seq)? else { return Ok(None) };
    Ok(Some(PromptView {
        id: seq,
        content: sealed.open_note()?.text,
        session_id: prompt.session.unwrap_or_default(),
        project: aliases.of(prompt.project.as_deref()).unwrap_or_default().to_owned(),
        created_at: prompt.at.rfc3339(),
        redacted: String::new(),
    }))
}
