//! Passive capture: the learnings an agent wrote at the end of its report become memories. Also: suggested topic keys.

use api::capture::{CaptureAnswer, CaptureRequest, SuggestAnswer, SuggestRequest};
use api::save::{SaveRequest, SaveStatus};
use kernel::memory::Scope;

use crate::Service;
use crate::caller::Caller;
use crate::error::Result;
use intake::capture::learnings;
use intake::dedup::normal_text;
use intake::topic;

impl Service {
    /// Saves each learning once: what the project already knows, at whatever age, is counted and not saved again.
    pub fn capture(&self, caller: &Caller, request: CaptureRequest) -> Result<CaptureAnswer> {
        let learned = learnings(&self.screen().text(&request.content))?;
        let mut answer = CaptureAnswer {
            extracted: learned.extracted(),
            duplicates: learned.repeated,
            ..CaptureAnswer::default()
        };
        let project = self.claimed_project(caller, request.project.as_deref());
        let source = request.source.unwrap_or_else(|| "mcp-passive".to_owned());
        for (n, learning) in learned.learnings.into_iter().enumerate() {
            if self.is_known(caller, project.as_deref(), &learning.content)? {
                answer.duplicates += 1;
                continue;
            }
            let save = SaveRequest {
                title: learning.title,
                content: learning.content,
                kind: Some("passive".to_owned()),
                project: Some(project.clone().unwrap_or_default()),
                session_id: request.session_id.clone(),
                default_session: true,
                channel: Some(source.clone()),
                source: Some("observed".to_owned()),
                ..SaveRequest::default()
            };
            let saved = self.save(&caller.for_part(n), save)?;
            if saved.status == SaveStatus::Created {
                answer.saved += 1;
                answer.ids.push(saved.id);
            } else {
                answer.duplicates += 1;
            }
        }
        Ok(answer)
    }

    /// Does the project hold a memory that says exactly this?
    fn is_known(&self, caller: &Caller, project: Option<&str>, content: &str) -> Result<bool> {
        let (_, reading) = self.reading(caller)?;
        let query = recall::search::SearchQuery {
            project: project.map(str::to_owned),
            scope: Some(Scope::Project),
            ..recall::search::SearchQuery::new(content, 10)
        };
        let answer = recall::search::search(&reading, None, &query, caller.now()?)?;
        let wanted = normal_text(content);
        Ok(answer
            .hits
            .iter()
            .filter_map(|hit| hit.body.as_ref())
            .any(|body| normal_text(&body.content) == wanted))
    }

    /// A stable key for a topic: the same words always give the same key.
    pub fn suggest(&self, _: &Caller, request: SuggestRequest) -> Result<SuggestAnswer> {
        let clean = |text: Option<String>| self.screen().text(&text.unwrap_or_default());
        let kind = request.kind.unwrap_or_default();
        let (title, content) = (clean(request.title), clean(request.content));
        let topic_key = topic::suggest(&kind, &title, &content)?;
        Ok(SuggestAnswer { topic_key })
    }
}
