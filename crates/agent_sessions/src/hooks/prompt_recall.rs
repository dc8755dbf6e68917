//! Memories that answer a prompt, told before the agent begins: one to three, or none.
//!
//! What must stay true: what leads is told if the question is very likely answered, others only if relevance calls them
//! strong; once per session, of this project and of the person; private blocks of a prompt are not searched for.
//! Relevance was fitted on stores of many memories and promises less in small ones, where words are rare by chance:
//! there less is asked of it (`needed`), and a word in common besides. docs/agents.md has what was measured.

use api::hook::RECALL_TOKENS_MAX;
use api::render::model::{ToldMemory, may_be_told, recalled};
use api::search::{HitView, SearchRequest};

use recall::ranker::{AnswerLevel, Ranker};

use super::HookSubject;
use crate::{AgentSessions, lock};
use service::asked_before::SESSION_KIND;
use service::caller::Caller;
use service::error::Result;
use service::shared_words::{in_common, shares_word};

/// Above the lines.
const HEADING: &str = "From memory (earlier work, for reference):";
/// Memories that one prompt may bring up.
const TOLD_MAX: usize = 3;
/// Hits that are looked at for them.
const LOOKED_AT: usize = 8;
/// Characters of a prompt that are searched for: those of its beginning and of its end. Between them people paste.
const BEGINNING_CHARS: usize = 900;
const END_CHARS: usize = 300;
/// Words without which a prompt asks nothing: "go on", "yes, do that".
const WORDS_MIN: usize = 3;
/// Thousandths of relevance that are asked for in a store of at most so many memories, as a share of the way to strong.
const SMALL_STORE: [(u64, u16); 3] = [(100, 0), (300, 250), (1_000, 500)];
/// Thousandths of the estimate that something answers, from which on what leads is told: so few unrelated prompts
/// come to it. docs/agents.md has the figures.
const ANSWERED_MIN: u16 = 700;
/// From here on the estimate of a whole answer needs no word in common beside it.
const LARGE_STORE: u64 = 1_000;
/// Where that way begins: among thirty memories no unrelated prompt of `tests/hooks.rs` comes to it.
const RELEVANCE_MIN: u16 = 80;
/// In a store of at most so many memories relevance overlooks what says the same in other words; there, so many words
/// in common, at least half of those asked, are enough: a symptom finds the bug that was fixed.
const WORDED_STORE: u64 = 300;
const WORDS_SHARED_MIN: usize = 3;
/// Below so many tokens of room a session is not told anything.
const ROOM_MIN: usize = 40;

impl AgentSessions {
    pub(super) fn recall_for_prompt(
        &self,
        caller: &Caller,
        subject: &HookSubject<'_>,
        prompt: &str,
    ) -> Result<Option<(String, Vec<u64>)>> {
        let Some(question) = question(&self.service.screen().text(prompt)) else { return Ok(None) };
        let room = subject.key.as_ref().map(|key| lock(&self.told).room(key));
        let room = room.unwrap_or(RECALL_TOKENS_MAX).min(RECALL_TOKENS_MAX);
        if room < ROOM_MIN {
            return Ok(None);
        }
        let request = SearchRequest {
            query: question.clone(),
            default_project: true,
            limit: Some(LOOKED_AT),
            quiet: true,
            ..SearchRequest::default()
        };
        let here = self.service.project(caller, None).unwrap_or_default();
        let live = {
            let (_, reading) = self.service.reading(caller)?;
            reading.view().counters()?.live()
        };
        let needed = needed(live);
        let found = self.service.search(caller, request)?;
        let answered = found.answerable.as_ref().map_or(0, |answerable| answerable.probability);
        let is_answered = live > SMALL_STORE[0].0 && answered >= ANSWERED_MIN;
        // Where the session knows what answers best, what is left says less and is no news.
        let known = found.hits.iter().filter(|hit| self.was_told(subject, hit.id));
        let known_best = known.map(|hit| hit.relevance).max();
        let memories: Vec<ToldMemory> = found
            .hits
            .iter()
            .enumerate()
            .filter(|(place, hit)| {
                let says = || shares_word(&question, &format!("{} {}", hit.title, hit.preview));
                let leads = *place == 0 && is_answered && (live > LARGE_STORE || says());
                let tells_of_it = || {
                    // What is kept of a session quotes questions, and has their words.
                    live <= WORDED_STORE && hit.kind != SESSION_KIND && {
                        let said = format!("{} {}", hit.title, hit.preview);
                        let (shared, asked) = in_common(&said, &question);
                        shared >= WORDS_SHARED_MIN && shared * 2 >= asked
                    }
                };
                leads
                    || hit.level == "strong"
                    || (hit.relevance >= needed && says())
                    || tells_of_it()
            })
            .map(|(_, hit)| hit)
            .filter(|hit| hit.standing == "current" && hit.status.as_deref() != Some("superseded"))
            .filter(|hit| hit.scope == "personal" || hit.project == here)
            // What this session saved itself, it knows.
            .filter(|hit| subject.session.is_none_or(|id| hit.session_id != id))
            .filter(|hit| may_be_told(hit.author, &[&hit.title, &hit.preview]))
            .filter(|hit| !self.was_told(subject, hit.id))
            .filter(|hit| known_best.is_none_or(|best| hit.relevance >= best))
            .take(TOLD_MAX)
            .map(told)
            .collect();
        Ok(recalled(HEADING, &memories, &question, room))
    }
}

/// The least relevance, in thousandths, that counts as strong in a store of so many memories.
fn needed(live: u64) -> u16 {
    let ranker = Ranker::shared();
    let strong = (0..=1_000).find(|r| ranker.level(*r) == AnswerLevel::Strong).unwrap_or(1_000);
    let Some((_, share)) = SMALL_STORE.into_iter().find(|(most, _)| live <= *most) else {
        return strong;
    };
    let way = u32::from(strong.saturating_sub(RELEVANCE_MIN)) * u32::from(share) / 1_000;
    RELEVANCE_MIN + u16::try_from(way).unwrap_or(0)
}

fn told(hit: &HitView) -> ToldMemory {
    let day = hit.revised_at.as_ref().or(hit.happened_at.as_ref()).unwrap_or(&hit.created_at);
    ToldMemory {
        id: hit.id,
        kind: hit.kind.clone(),
        status: hit.status.clone(),
        day: day.get(..10).unwrap_or(day).to_owned(),
        title: hit.title.clone(),
        text: hit.preview.clone(),
        by: hit.by.clone(),
        author: hit.author,
        proposed: hit.proposed,
    }
}

/// What of a prompt is searched for; nothing if it is an order to the agent's program, or too short to ask anything.
fn question(prompt: &str) -> Option<String> {
    let prompt = prompt.trim();
    let is_order = prompt.starts_with('/') && !prompt[1..].starts_with('/')
        || prompt.starts_with('!')
        || prompt.starts_with('#');
    let count = prompt.chars().count();
    // Ideographs stand for a word each.
    let words = prompt
        .split_whitespace()
        .map(|word| word.chars().filter(|c| *c >= '\u{3040}').count().max(1))
        .sum::<usize>();
    if is_order || words < WORDS_MIN {
        return None;
    }
    if count <= BEGINNING_CHARS + END_CHARS {
        return Some(plain(prompt));
    }
    let beginning: String = prompt.chars().take(BEGINNING_CHARS).collect();
    let end: String = prompt.chars().skip(count - END_CHARS).collect();
    Some(plain(&format!("{beginning} {end}")))
}

/// A prompt is no question to a search: what a quotation mark, a hyphen or a star would mean there, nobody meant here.
/// OpenCode puts a whole prompt in quotation marks.
fn plain(text: &str) -> String {
    let bare = text.replace(['"', '\u{201c}', '\u{201d}'], " ");
    let words = bare.split_whitespace();
    let words = words.map(|word| word.trim_start_matches('-').trim_end_matches('*'));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_and_nods_ask_nothing() {
        for prompt in ["/compact", "!ls -la src", "yes", "go on", "# remember", "  "] {
            assert_eq!(question(prompt), None, "{prompt}");
        }
        assert!(question("which port does staging use?").is_some());
        assert!(question("我们用哪个数据库").is_some());
        let quoted = question("\"which port does -staging use?\" test*");
        assert_eq!(quoted.as_deref(), Some("which port does staging use? test"));
        let pasted = format!("why does this fail {} at last", "log line\n".repeat(5_000));
        let asked = question(&pasted).unwrap_or_default();
        assert!(asked.starts_with("why does") && asked.ends_with("at last"));
        assert!(asked.chars().count() <= BEGINNING_CHARS + END_CHARS + 1);
    }
}
