//! Have we dealt with this before? Turns that answer a question, of all agents at once.
//!
//! `ranking` puts turns in order; here is what is asked, and what a hit tells. What must stay true: filters apply
//! before anything is counted; the same past and question give the same hits; a turn that was taken back sinks and is
//! marked, it does not vanish; one session does not fill the list.

use std::collections::HashMap;
use std::path::Path;

use serde::Serialize;

use crate::browse::is_in_folder;
use crate::catalog::{SessionKey, SessionRow};
use crate::citation::TurnReference;
use crate::error::{Error, Result};
use crate::limits::{
    HIT_FILES_MAX, HITS_MAX, PREVIEW_BYTES_MAX, RANKED_TURNS_MAX, TURN_BYTES_MAX, TURNS_OF_SESSION,
    TURNS_OF_SESSION_IN_FOLDER,
};
use crate::ranking::{self, RankedTurn, TurnArm};
use crate::store::Past;
use crate::turn_reader::TurnReader;
use crate::words::{self, TurnFilter, WordsQuestion};
use transcripts::cleaner::cut;
use transcripts::session::{ItemBody, PastAgent, PastItem, SessionKind};

/// Hits among which a session may have no more than some.
const SPREAD_HITS: usize = 10;
const LIMIT: usize = 10;
#[derive(Clone, Debug, Default)]
pub struct TurnQuestion {
    pub question: String,
    pub agent: Option<PastAgent>,
    pub folder: Option<String>,
    /// `AGENT:SESSION`: only its turns.
    pub session: Option<String>,
    pub since: Option<i64>,
    pub until: Option<i64>,
    /// Also commands, outputs, edits, summaries, and what agents told each other.
    pub work: bool,
    pub limit: Option<usize>,
    /// When it is asked, in milliseconds since 1970: a question may say "last week".
    pub now: i64,
}

#[derive(Clone, Debug, Serialize)]
pub struct TurnHits {
    pub hits: Vec<TurnHit>,
    /// Turns that have a word of the question.
    pub matches: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TurnHit {
    /// `AGENT:SESSION#TURN`.
    pub reference: String,
    pub agent: PastAgent,
    pub session: String,
    pub turn: u32,
    pub title: Option<String>,
    pub folder: Option<String>,
    pub at: i64,
    /// Whose words the preview is made of.
    pub role: &'static str,
    pub preview: String,
    /// The beginning of what was asked in the turn.
    pub prompt: Option<String>,
    /// The beginning of the last answer of the turn, where the preview is not of an answer.
    pub answered: Option<String>,
    /// What was said in the turn, a blank line between; of a long one the part around the preview.
    pub text: String,
    /// True if the text is only a part.
    pub is_cut: bool,
    /// Files that were edited or read in the turn.
    pub files: Vec<String>,
    pub branch: Option<String>,
    pub is_kept_only_here: bool,
    pub is_undone: bool,
    /// Its place in this answer, as parts per million; it says nothing about other questions.
    pub score: u64,
    /// Different words of the question that the turn has.
    pub terms: u32,
    /// What each way to look at it said.
    pub arms: Vec<TurnArm>,
}

impl Past {
    pub fn search(&self, request: &TurnQuestion) -> Result<TurnHits> {
        let limit = request.limit.unwrap_or(LIMIT);
        if limit == 0 || limit > HITS_MAX {
            return Err(Error::Invalid {
                field: "limit",
                problem: format!("must be 1 to {HITS_MAX}"),
            });
        }
        let question = self.analyzer.question(&request.question);
        if question.is_empty() {
            return Err(Error::Invalid {
                field: "question",
                problem: "has no word to search for".to_owned(),
            });
        }
        let only =
            request.session.as_deref().map(|reference| self.session_key(reference)).transpose()?;
        let rows: Vec<(&SessionKey, &SessionRow)> = self.catalog.sessions.iter().collect();
        let is_narrow = only.is_some() || request.agent.is_some() || request.folder.is_some();
        let shown: Option<Vec<bool>> = is_narrow.then(|| {
            let is_shown = |(key, row): &(&SessionKey, &SessionRow)| {
                only.as_ref().is_none_or(|only| only == *key)
                    && request.agent.is_none_or(|agent| agent == key.0)
                    && is_in_folder(&row.info, request.folder.as_deref())
            };
            rows.iter().map(is_shown).collect()
        });
        let asked = WordsQuestion {
            question: &question,
            filter: TurnFilter {
                sessions: shown.as_deref(),
                since: request.since,
                until: request.until,
            },
            with_work: request.work,
            most: RANKED_TURNS_MAX,
        };
        let ranked = words::rank(&*self.disk, &self.parts, self.table(), &asked)?;
        let matches = ranked.matches;
        let mut reader = TurnReader::new(self);
        let text = (request.question.as_str(), request.now);
        let mut ranked = ranking::ranked(self, text, &asked, &ranked, &rows, &mut reader)?;
        for turn in &mut ranked {
            // What was taken back, and what an agent told another, is worth half.
            let row = rows[turn.turn.session as usize].1;
            if row.undone.contains(&turn.turn.turn) || row.info.kind == SessionKind::Child {
                turn.score /= 2;
            }
        }
        ranked.sort_by_key(|ranked| {
            let turn = &ranked.turn;
            (std::cmp::Reverse((ranked.score, turn.at)), turn.session, turn.turn)
        });
        let of_session = match (&only, &request.folder) {
            (Some(_), _) => usize::MAX,
            (None, Some(_)) => TURNS_OF_SESSION_IN_FOLDER,
            (None, None) => TURNS_OF_SESSION,
        };
        let spread = spread(ranked, of_session);
        let mut hits = Vec::new();
        for hit in spread.iter().take(limit) {
            let (key, row) = rows[hit.turn.session as usize];
            let items = reader.turn(key, hit.turn.turn)?;
            hits.push(self.hit((key, row), hit, &items, &question.terms, request.work));
        }
        Ok(TurnHits { hits, matches })
    }

    fn session_key(&self, reference: &str) -> Result<SessionKey> {
        let citation = TurnReference::parse(reference)?;
        Ok(self.find_session(&citation.agent, &citation.session, reference)?.0.clone())
    }

    fn hit(
        &self,
        (key, row): (&SessionKey, &SessionRow),
        ranked: &RankedTurn,
        items: &[PastItem],
        terms: &[String],
        with_work: bool,
    ) -> TurnHit {
        let hit = &ranked.turn;
        let prompt = items.iter().find_map(|item| match &item.body {
            ItemBody::Prompt { text, .. } => Some(cut(text, PREVIEW_BYTES_MAX).to_owned()),
            _ => None,
        });
        let (role, preview) = self.preview(items, terms, with_work);
        let answered = items.iter().rev().find_map(|item| match &item.body {
            ItemBody::Answer { text, .. } if !text.trim().is_empty() && role != "answer" => {
                Some(cut(text.trim(), PREVIEW_BYTES_MAX).to_owned())
            }
            _ => None,
        });
        let said: Vec<&str> = items
            .iter()
            .filter(|item| matches!(item.body, ItemBody::Prompt { .. } | ItemBody::Answer { .. }))
            .map(|item| item.body.texts()[0])
            .collect();
        let said = said.join("\n\n");
        let text = window(&said, said.find(&preview).unwrap_or(0), TURN_BYTES_MAX);
        TurnHit {
            reference: format!("{}:{}#{}", key.0.name(), key.1, hit.turn),
            agent: key.0,
            session: key.1.clone(),
            turn: hit.turn,
            title: row.info.title.clone(),
            folder: row.info.folder.clone(),
            at: hit.at,
            role,
            is_cut: text.len() < said.len(),
            text: text.to_owned(),
            preview,
            prompt,
            answered,
            files: files(items),
            branch: row.info.branch.clone(),
            is_kept_only_here: !Path::new(&row.source).exists(),
            is_undone: row.undone.contains(&hit.turn),
            score: ranked.score,
            terms: ranked.terms,
            arms: ranked.arms.clone(),
        }
    }

    /// The item that has most words of the question, around the first of them; an answer rather than a prompt.
    fn preview(
        &self,
        items: &[PastItem],
        terms: &[String],
        with_work: bool,
    ) -> (&'static str, String) {
        let mut best: Option<(usize, u8, &'static str, &str, usize)> = None;
        for item in items {
            let preference = match item.body {
                ItemBody::Answer { .. } => 2,
                ItemBody::Prompt { .. } => 1,
                _ if with_work => 0,
                _ => continue,
            };
            for text in item.body.texts().into_iter().filter(|text| !text.is_empty()) {
                let (count, at) = self.matching(text, terms);
                let better =
                    best.is_none_or(|(known, rank, ..)| (count, preference) > (known, rank));
                if better {
                    best = Some((count, preference, item.body.role(), text, at));
                }
            }
        }
        best.map_or(("note", String::new()), |(_, _, role, text, at)| {
            (role, window(text, at, PREVIEW_BYTES_MAX).to_owned())
        })
    }

    /// How many different terms a text has, and where the first of them stands.
    fn matching(&self, text: &str, terms: &[String]) -> (usize, usize) {
        let (mut found, mut first) = (Vec::new(), None);
        for word in text.split_whitespace() {
            let at = word.as_ptr() as usize - text.as_ptr() as usize;
            self.analyzer.terms(cut(word, PREVIEW_BYTES_MAX), &mut |term, _| {
                if let Some(place) = terms.iter().position(|asked| asked == term) {
                    first.get_or_insert(at);
                    if !found.contains(&place) {
                        found.push(place);
                    }
                }
            });
        }
        (found.len(), first.unwrap_or(0))
    }
}

/// A part of a text with this place in it, from the beginning of a line where one is near.
fn window(text: &str, at: usize, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let from = text.floor_char_boundary(at.saturating_sub(max / 4));
    let line = text[from..at].find('\n').map_or(from, |end| from + end + 1);
    cut(&text[line..], max)
}

/// Files that the items of a turn name, each once, what was edited first.
fn files(items: &[PastItem]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let edited = items.iter().filter(|item| matches!(item.body, ItemBody::Edit { .. }));
    let read = items.iter().filter(|item| matches!(item.body, ItemBody::Read { .. }));
    for path in edited.chain(read).map(|item| item.body.texts()[0]) {
        if found.len() == HIT_FILES_MAX {
            break;
        }
        if !found.iter().any(|known| known == path) {
            found.push(path.to_owned());
        }
    }
    found
}

/// Keeps the order, but of one session no more than a few among the first.
fn spread(ranked: Vec<RankedTurn>, of_session: usize) -> Vec<RankedTurn> {
    let mut counts: HashMap<u32, usize> = HashMap::new();
    let (mut first, mut later) = (Vec::new(), Vec::new());
    for hit in ranked {
        let count = counts.entry(hit.turn.session).or_default();
        if first.len() < SPREAD_HITS && *count < of_session {
            *count += 1;
            first.push(hit);
        } else {
            later.push(hit);
        }
    }
    // When there are too few sessions for that, the others follow in their order.
    first.extend(later);
    first
}
