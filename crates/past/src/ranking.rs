//! In which order turns answer a question.
//!
//! Words and sketches of vectors put turns forward, the best bring their neighbours along, and the texts of those that
//! do best by both are judged by the arms and the ranker of `recall`, as memories are. What must stay true: the same
//! past and question give the same order, however the index is cut into parts; no more blocks are unpacked than the
//! bound says; a turn without a word of the question counts only if its meaning is near enough, or if it stands beside
//! one that has a word.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use recall::embedding::{Embedder as _, ONE, StaticEmbedder};
use recall::search::{
    ArmWeights, FoundTurn, TextCandidate, TextNeighbour, TextNeighbours, TextPlace, TextQuestion,
    order_texts,
};
use serde::Serialize;
use text::analyze::{ParsedQuestion, fold};
use text::index::WordMatch;

use crate::catalog::{SessionKey, SessionRow};
use crate::error::{Error, Result};
use crate::limits::{JUDGED_BYTES_MAX, JUDGED_PROMPT_BYTES_MAX, JUDGED_TURNS_MAX};
use crate::store::Past;
use crate::turn_reader::TurnReader;
use crate::words::{self, Nearness, TableTurn, TurnFilter, WordRanking, WordsQuestion};
use transcripts::cleaner::cut;
use transcripts::session::{ItemBody, PastAgent, PastItem};

/// Turns that words, and sketches, put forward.
const PUT_FORWARD: usize = 120;
/// The best of them bring their neighbours in the session along.
const WITH_NEIGHBOURS: usize = 30;
/// A turn without a word of the question has to be at least so near, in thousandths.
const NEAR_MIN: u64 = 450;
/// Bytes of the name of somebody who speaks.
const SPEAKER_BYTES_MAX: usize = 60;
/// A whole score.
const WHOLE: u64 = 1_000_000;
/// What turns have at most whose texts were not judged: less than any that was.
const UNJUDGED: u64 = WHOLE / 5;

/// How well a turn does by one measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TurnArm {
    /// Its name, as for memories: `words`, `meaning`, `interaction`, `session`, `date`, `entities`.
    pub arm: &'static str,
    pub rank: usize,
    /// Thousandths of the best.
    pub score: u64,
}

/// A turn with its place.
#[derive(Clone, Debug)]
pub(crate) struct RankedTurn {
    pub(crate) turn: TableTurn,
    /// Parts per million.
    pub(crate) score: u64,
    /// Different words of the question that it has.
    pub(crate) terms: u32,
    pub(crate) arms: Vec<TurnArm>,
}

/// A turn that may be judged.
#[derive(Clone, Copy, Debug)]
struct PooledTurn {
    turn: TableTurn,
    words: WordMatch,
    near: u64,
    place: TextPlace,
    around: [Option<u32>; 3],
    /// Something speaks for it besides its nearness.
    has_reason: bool,
    before_judged: u64,
}

/// What words and sketches say of all turns.
struct Signals<'p> {
    past: &'p Past,
    words: &'p WordRanking,
    nearness: &'p Nearness,
    filter: TurnFilter<'p>,
    /// The turns of the sessions that were asked for, each with its nearness.
    sessions: HashMap<u32, Vec<(TableTurn, u64)>>,
}

/// Puts the turns that may answer in order, best first.
pub(crate) fn ranked(
    past: &Past,
    (text, now): (&str, i64),
    asked: &WordsQuestion<'_>,
    by_words: &WordRanking,
    rows: &[(&SessionKey, &SessionRow)],
    reader: &mut TurnReader<'_>,
) -> Result<Vec<RankedTurn>> {
    // As the arms see it: without the words that every question has.
    let question = StaticEmbedder::shared().embed(&asked.question.surface.join(" "));
    let table = past.table();
    let nearness =
        words::near(&*past.disk, &past.parts, table, &question, &asked.filter, PUT_FORWARD)?;
    let mut signals = Signals {
        past,
        words: by_words,
        nearness: &nearness,
        filter: asked.filter,
        sessions: HashMap::new(),
    };
    let pool = signals.pool(asked.question);
    let (mut judged, mut texts) = (Vec::new(), Vec::new());
    for turn in pool {
        if judged.len() == JUDGED_TURNS_MAX {
            break;
        }
        let key = rows[turn.turn.session as usize].0;
        if let Some(items) = reader.turn_within_bound(key, turn.turn.turn)? {
            judged.push(turn);
            texts.push(items);
        }
    }
    let places: HashMap<u32, usize> =
        judged.iter().enumerate().map(|(at, turn)| (turn.turn.document, at)).collect();
    let files: Vec<String> = texts.iter().map(|items| files(items)).collect();
    let candidates: Vec<TextCandidate<'_>> = judged
        .iter()
        .zip(texts.iter().zip(&files))
        .map(|(turn, (items, files))| TextCandidate {
            parts: said(items),
            named: files,
            speakers: speakers(rows[turn.turn.session as usize].0.0, items),
            happened: turn.turn.at,
            place: turn.place,
            words: turn.words,
            around: signals.around(turn, &places),
        })
        .collect();
    let request = TextQuestion {
        text,
        parsed: asked.question,
        analyzer: &past.analyzer,
        now,
        documents: by_words.documents,
        frequencies: &by_words.frequencies,
        weights: ArmWeights::default(),
    };
    let order = order_texts(&request, &candidates, &signals.found())
        .map_err(|error| Error::Invalid { field: "question", problem: error.to_string() })?;
    let mut ranked = Vec::new();
    for placed in order.placed {
        let turn = &judged[placed.candidate];
        if !turn.has_reason && placed.near * 1_000 / ONE.unsigned_abs() < NEAR_MIN {
            continue;
        }
        let arms = placed.arms.iter().filter(|arm| arm.score > 0).map(|said| TurnArm {
            arm: said.arm.name(),
            rank: said.rank,
            score: said.score / 1_000,
        });
        let (turn, terms) = (turn.turn, turn.words.terms);
        ranked.push(RankedTurn { turn, score: placed.score, terms, arms: arms.collect() });
    }
    let most = by_words.best.first().map_or(1, |hit| hit.score.max(1));
    for (at, hit) in by_words.best.iter().enumerate() {
        if places.contains_key(&hit.document) {
            continue;
        }
        let turn =
            TableTurn { session: hit.session, turn: hit.turn, at: hit.at, document: hit.document };
        let arm = TurnArm { arm: "words", rank: at + 1, score: hit.score * 1_000 / most };
        let terms = by_words.of(hit.document).unwrap_or_default().terms;
        let score = hit.score * (UNJUDGED - 1) / most;
        ranked.push(RankedTurn { turn, score, terms, arms: vec![arm] });
    }
    Ok(ranked)
}

impl Signals<'_> {
    fn near(&self, document: u32) -> u64 {
        self.nearness.of(document)
    }

    fn words(&self, document: u32) -> WordMatch {
        self.words.of(document).unwrap_or_default()
    }

    /// The turns of a session that may be shown, in order.
    fn turns_of(&mut self, session: u32) -> &[(TableTurn, u64)] {
        let (past, nearness, filter) = (self.past, self.nearness, self.filter);
        self.sessions.entry(session).or_insert_with(|| {
            let mut turns: Vec<(TableTurn, u64)> = Vec::new();
            for (turn, document) in past.table().turns_of(&past.parts, session, &filter) {
                let near = nearness.of(document);
                match turns.last_mut() {
                    // What stands in two segments is one turn.
                    Some((last, known)) if last.turn == turn.turn => *known = near.max(*known),
                    _ => turns.push((turn, near)),
                }
            }
            turns
        })
    }

    /// The turns that may be judged, those first that do best by words and sketches with a share of their neighbours.
    fn pool(&mut self, question: &ParsedQuestion) -> Vec<PooledTurn> {
        let by_words = self.words.best.iter().take(PUT_FORWARD);
        let by_words: Vec<(u32, u32)> = by_words.map(|hit| (hit.session, hit.document)).collect();
        // A near turn may have a word that was ruled out: the list of words tells only of the others.
        let is_ruled_out = !question.excluded.is_empty() || !question.excluded_phrases.is_empty();
        let near = self.nearness.best.iter();
        let near = near.filter(|turn| !is_ruled_out || self.words.of(turn.document).is_some());
        let near: Vec<(u32, u32)> = near.map(|turn| (turn.session, turn.document)).collect();
        let mut pool: BTreeMap<u32, PooledTurn> = BTreeMap::new();
        for (session, document) in by_words.iter().chain(&near) {
            self.add(&mut pool, *session, *document, false);
        }
        if !is_ruled_out {
            let leaders = by_words.iter().take(WITH_NEIGHBOURS).map(|leader| (leader, true));
            let near = near.iter().take(WITH_NEIGHBOURS).map(|leader| (leader, false));
            for ((session, document), has_words) in leaders.chain(near).collect::<Vec<_>>() {
                let around = pool.get(document).map_or([None; 3], |turn| turn.around);
                for neighbour in around.into_iter().skip(1).flatten() {
                    self.add(&mut pool, *session, neighbour, has_words);
                }
            }
        }
        let most_words = pool.values().map(|turn| turn.words.score).max().unwrap_or(0).max(1);
        let most_near = pool.values().map(|turn| turn.near).max().unwrap_or(0).max(1);
        let own = |words: u64, near: u64| words * WHOLE / most_words + near * WHOLE / most_near;
        let mut pool: Vec<PooledTurn> = pool.into_values().collect();
        for turn in &mut pool {
            let around = turn.around.iter().skip(1).flatten();
            let beside: u64 =
                around.map(|at| own(self.words(*at).score, self.near(*at))).sum::<u64>() / 3;
            turn.before_judged = own(turn.words.score, turn.near) + beside;
        }
        pool.sort_by_key(|turn| {
            (Reverse((turn.before_judged, turn.turn.at)), turn.turn.session, turn.turn.turn)
        });
        pool
    }

    /// Adds a turn with what stands around it.
    fn add(
        &mut self,
        pool: &mut BTreeMap<u32, PooledTurn>,
        session: u32,
        document: u32,
        is_beside_words: bool,
    ) {
        if let Some(known) = pool.get_mut(&document) {
            known.has_reason |= is_beside_words;
            return;
        }
        let turns = self.turns_of(session);
        let Some(at) = turns.iter().position(|(turn, _)| turn.document == document) else { return };
        let (turn, near) = turns[at];
        let beside = |place: Option<usize>| Some(turns.get(place?)?.0.document);
        let around = [beside(at.checked_sub(2)), beside(at.checked_sub(1)), beside(Some(at + 1))];
        let number = usize::try_from(session).unwrap_or(usize::MAX);
        let place = TextPlace { session: number, before: at, turns: turns.len() };
        let words = self.words(document);
        let has_reason = is_beside_words || words.terms > 0;
        let pooled = PooledTurn { turn, words, near, place, around, has_reason, before_judged: 0 };
        pool.insert(document, pooled);
    }

    fn around(&self, turn: &PooledTurn, places: &HashMap<u32, usize>) -> TextNeighbours {
        let [earlier, before, after] = turn.around.map(|document| {
            document.map(|document| TextNeighbour {
                words: self.words(document).score,
                near: self.near(document),
                candidate: places.get(&document).copied(),
            })
        });
        TextNeighbours { earlier, before, after }
    }

    /// All turns that words or sketches found: they tell what their sessions are about.
    fn found(&self) -> Vec<FoundTurn> {
        let by_words = self.words.best.iter().map(|hit| (hit.document, hit.session));
        let near = self.nearness.best.iter().map(|turn| (turn.document, turn.session));
        let found: BTreeMap<u32, u32> = by_words.chain(near).collect();
        let turn = |(document, session): (u32, u32)| FoundTurn {
            session: usize::try_from(session).unwrap_or(usize::MAX),
            words: self.words(document).score,
            near: self.near(document),
        };
        found.into_iter().map(turn).collect()
    }
}

/// What was said in a turn, as much of it as is judged: of many answers the first ones and the last.
fn said(items: &[PastItem]) -> Vec<&str> {
    let texts = |is_prompt: bool| {
        items.iter().filter_map(move |item| match &item.body {
            ItemBody::Prompt { text, .. } if is_prompt => Some(text.as_str()),
            ItemBody::Answer { text, .. } if !is_prompt => Some(text.as_str()),
            _ => None,
        })
    };
    let answers: Vec<&str> = texts(false).filter(|text| !text.trim().is_empty()).collect();
    let most = if answers.is_empty() { JUDGED_BYTES_MAX } else { JUDGED_PROMPT_BYTES_MAX };
    let mut parts: Vec<&str> = texts(true).map(|text| cut(text, most)).take(1).collect();
    let room = JUDGED_BYTES_MAX - parts.iter().map(|part| part.len()).sum::<usize>();
    let Some((last, others)) = answers.split_last() else { return parts };
    let all: usize = answers.iter().map(|text| text.len()).sum();
    // What was found out stands at the end.
    let last = cut(last, if all <= room { last.len() } else { room / 2 });
    let mut left = room - last.len().min(room);
    for answer in others {
        let part = cut(answer, left);
        left -= part.len();
        if !part.is_empty() {
            parts.push(part);
        }
    }
    parts.push(last);
    parts
}

/// Who speaks in a prompt of a talk that came in our own lines, which write names before texts. Agents talk with one
/// person.
fn speakers(agent: PastAgent, items: &[PastItem]) -> Vec<String> {
    let prompt = items.iter().find_map(|item| match &item.body {
        ItemBody::Prompt { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let name = prompt.filter(|_| agent == PastAgent::Lines).and_then(|text| text.split_once(": "));
    let is_name = |name: &&str| name.len() <= SPEAKER_BYTES_MAX && !name.contains('\n');
    name.map(|(name, _)| name).filter(is_name).map(fold).into_iter().collect()
}

/// The files that a turn read or edited, a line each.
fn files(items: &[PastItem]) -> String {
    let is_file =
        |item: &&PastItem| matches!(item.body, ItemBody::Read { .. } | ItemBody::Edit { .. });
    let mut paths: Vec<&str> =
        items.iter().filter(is_file).map(|item| item.body.texts()[0]).collect();
    paths.sort_unstable();
    paths.dedup();
    paths.join("\n")
}
