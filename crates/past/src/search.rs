//! Have we dealt with this before? Turns that answer a question, of all agents at once.
//!
//! Words and meaning are added up: every turn that has a word of the question, and those whose vectors are near. What
//! must stay true: filters apply before anything is counted; the same past and question give the same hits; a turn
//! that was taken back sinks and is marked, it does not vanish; one session does not fill the list.

use std::collections::HashMap;
use std::path::Path;

use recall::embedding::{Embedder as _, Embedding, ONE, StaticEmbedder};
use serde::Serialize;

use crate::browse::is_in_folder;
use crate::catalog::{SessionKey, SessionRow};
use crate::citation::TurnReference;
use crate::error::{Error, Result};
use crate::limits::{
    HIT_FILES_MAX, HITS_MAX, PREVIEW_BYTES_MAX, RANKED_TURNS_MAX, SEARCH_BLOCKS_MAX,
    TURN_BYTES_MAX, TURNS_OF_SESSION,
};
use crate::store::Past;
use crate::words::{self, TurnFilter, WordRanking, WordScore, WordsQuestion};
use transcripts::cleaner::cut;
use transcripts::session::{ItemBody, PastAgent, PastItem, SessionKind};

/// Hits among which a session may have no more than [`TURNS_OF_SESSION`].
const SPREAD_HITS: usize = 10;
const LIMIT: usize = 10;
/// Turns of a like meaning that are looked at, and of those that have words of the question.
const NEAR_TURNS: usize = 40;
const WORD_TURNS: usize = 40;
/// What full agreement of words, and of meaning, adds to a score.
const WORDS_SHARE: u64 = 600;
const MEANING_SHARE: u64 = 400;
/// Nearness of equal texts.
const NEAR_ONE: u64 = 1_000;
/// A turn without a word of the question has to be at least so near.
const NEAR_MIN: u64 = 450;

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
    pub score: u64,
    /// Different words of the question that the turn has.
    pub terms: u32,
    /// What each way to look at it said.
    pub arms: Vec<TurnArm>,
}

/// How well a turn does by one measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TurnArm {
    /// `words` or `meaning`.
    pub arm: &'static str,
    pub rank: usize,
    pub score: u64,
}

/// A turn among the candidates of a question.
#[derive(Clone, Copy, Debug)]
struct RankedTurn {
    hit: WordScore,
    words: Option<(usize, u64)>,
    meaning: Option<(usize, u64)>,
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
        let mut ranked = self.with_meaning(&request.question, &ranked, &asked, &rows)?;
        let is_undone = |hit: &WordScore| rows[hit.session as usize].1.undone.contains(&hit.turn);
        for turn in &mut ranked {
            // What was taken back, and what an agent told another, is worth half.
            let row = rows[turn.hit.session as usize].1;
            if row.undone.contains(&turn.hit.turn) || row.info.kind == SessionKind::Child {
                turn.hit.score /= 2;
            }
        }
        ranked.sort_by_key(|turn| {
            let hit = &turn.hit;
            (std::cmp::Reverse((hit.score, hit.at)), hit.session, hit.turn)
        });
        let spread = if only.is_some() { ranked } else { spread(ranked) };
        let mut hits = Vec::new();
        for hit in spread.iter().take(limit.min(SEARCH_BLOCKS_MAX)) {
            let (key, row) = rows[hit.hit.session as usize];
            let is_undone = is_undone(&hit.hit);
            hits.push(self.hit(key, row, hit, is_undone, &question.terms, request.work)?);
        }
        Ok(TurnHits { hits, matches })
    }

    /// The turns that have words of the question, with those of a like meaning; scores add both up. A turn without a
    /// word of the question counts only if its meaning is near enough.
    fn with_meaning(
        &self,
        text: &str,
        by_words: &WordRanking,
        asked: &WordsQuestion<'_>,
        rows: &[(&SessionKey, &SessionRow)],
    ) -> Result<Vec<RankedTurn>> {
        let model = StaticEmbedder::shared();
        let question = model.embed(text);
        let (disk, table) = (&*self.disk, self.table());
        let near = words::near(disk, &self.parts, table, &question, &asked.filter, NEAR_TURNS)?;
        let most = by_words.best.first().map_or(1, |hit| hit.score.max(1));
        let mut all: Vec<RankedTurn> = by_words
            .best
            .iter()
            .enumerate()
            .map(|(at, hit)| RankedTurn {
                hit: *hit,
                words: Some((at + 1, hit.score)),
                meaning: None,
            })
            .collect();
        let mut looked_at: Vec<usize> = (0..all.len().min(WORD_TURNS)).collect();
        let places: HashMap<(u32, u32), usize> = all
            .iter()
            .enumerate()
            .map(|(at, turn)| ((turn.hit.session, turn.hit.turn), at))
            .collect();
        let mut beyond = Vec::new();
        for turn in near {
            let words = by_words.of(turn.document);
            match places.get(&(turn.session, turn.turn)) {
                Some(place) if *place < WORD_TURNS => {}
                Some(place) => looked_at.push(*place),
                // It may have a word that was ruled out: the list of words tells only of the others.
                None if words.is_none() && !asked.question.excluded.is_empty() => {}
                None => {
                    let (score, terms) = words.unwrap_or_default();
                    let (session, turn, at) = (turn.session, turn.turn, turn.at);
                    let hit = WordScore { session, turn, at, score, terms };
                    if words.is_some() {
                        beyond.push(all.len());
                    }
                    looked_at.push(all.len());
                    all.push(RankedTurn { hit, words: None, meaning: None });
                }
            }
        }
        if !beyond.is_empty() {
            let scores: Vec<u64> = beyond.iter().map(|place| all[*place].hit.score).collect();
            for (place, rank) in beyond.into_iter().zip(by_words.ranks(&scores)) {
                all[place].words = Some((rank, all[place].hit.score));
            }
        }
        looked_at.truncate(SEARCH_BLOCKS_MAX);
        for place in &looked_at {
            let hit = all[*place].hit;
            let items = self.items_of(rows[hit.session as usize].0, Some(hit.turn))?;
            let nearest = nearness(&items, &question);
            all[*place].meaning = Some((0, nearest));
        }
        let mut by_meaning: Vec<usize> = looked_at;
        by_meaning.sort_by_key(|place| (std::cmp::Reverse(all[*place].meaning), *place));
        for (rank, place) in by_meaning.into_iter().enumerate() {
            if let Some((at, _)) = &mut all[place].meaning {
                *at = rank + 1;
            }
        }
        for turn in &mut all {
            let by_words = turn.hit.score * WORDS_SHARE / most;
            let by_meaning = turn.meaning.map_or(0, |(_, near)| near * MEANING_SHARE / NEAR_ONE);
            turn.hit.score = by_words + by_meaning;
        }
        all.retain(|turn| {
            turn.words.is_some() || turn.meaning.is_some_and(|(_, near)| near >= NEAR_MIN)
        });
        Ok(all)
    }

    fn session_key(&self, reference: &str) -> Result<SessionKey> {
        let citation = TurnReference::parse(reference)?;
        Ok(self.find_session(&citation.agent, &citation.session, reference)?.0.clone())
    }

    fn hit(
        &self,
        key: &SessionKey,
        row: &SessionRow,
        turn: &RankedTurn,
        is_undone: bool,
        terms: &[String],
        with_work: bool,
    ) -> Result<TurnHit> {
        let hit = &turn.hit;
        let items = self.items_of(key, Some(hit.turn))?;
        let arms = [("words", turn.words), ("meaning", turn.meaning)];
        let arms = arms.into_iter().filter_map(|(arm, said)| {
            let (rank, score) = said?;
            Some(TurnArm { arm, rank, score })
        });
        let prompt = items.iter().find_map(|item| match &item.body {
            ItemBody::Prompt { text, .. } => Some(cut(text, PREVIEW_BYTES_MAX).to_owned()),
            _ => None,
        });
        let (role, preview) = self.preview(&items, terms, with_work);
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
        Ok(TurnHit {
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
            files: files(&items),
            branch: row.info.branch.clone(),
            is_kept_only_here: !Path::new(&row.source).exists(),
            is_undone,
            score: hit.score,
            terms: hit.terms,
            arms: arms.collect(),
        })
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

/// How near the nearest passage of what was said is to a question, up to [`NEAR_ONE`].
fn nearness(items: &[PastItem], question: &Embedding) -> u64 {
    let said = |is_prompt: bool| {
        items.iter().filter_map(move |item| match &item.body {
            ItemBody::Prompt { text, .. } if is_prompt => Some(text.as_str()),
            ItemBody::Answer { text, .. } if !is_prompt => Some(text.as_str()),
            _ => None,
        })
    };
    let answers: Vec<&str> = said(false).collect();
    let passages = words::passages(said(true).next(), &answers);
    let model = StaticEmbedder::shared();
    let nearest = passages.iter().map(|passage| question.dot(&model.embed(passage))).max();
    let nearest = u64::try_from(nearest.unwrap_or(0)).unwrap_or(0);
    nearest * NEAR_ONE / ONE.unsigned_abs()
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
fn spread(ranked: Vec<RankedTurn>) -> Vec<RankedTurn> {
    let mut counts: HashMap<u32, usize> = HashMap::new();
    let (mut first, mut later) = (Vec::new(), Vec::new());
    for hit in ranked {
        let count = counts.entry(hit.hit.session).or_default();
        if first.len() < SPREAD_HITS && *count < TURNS_OF_SESSION {
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
