//! The arms: each puts candidates forward and scores all of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::rc::Rc;

use kernel::keys;
use kernel::store::View;

use super::dates::DateWords;
use super::filter::{Lens, Row};
use super::{QUESTION_BYTES_MAX, Query};
use crate::analyze::{Analyzer, Question};
use crate::document::{happened, speakers};
use crate::embed::{Embedder, Embedding, MaxSim, StaticEmbedder};
use crate::error::{Error, Result};
use crate::hook::{settings, tokens_key, vector_key};
use crate::text::{Search, TailHandle, TextIndex};
use crate::vectors;

/// Candidates each arm puts forward.
const CANDIDATES: usize = 200;
/// The best of them bring their neighbours in the session along.
const WITH_NEIGHBOURS: usize = 60;
/// Terms that one prefix may stand for.
const PREFIX_TERMS: usize = 64;
/// The nearest vectors that are looked at more closely.
const TAKEN_MAX: usize = 2_000;

/// A memory that may answer, with what each arm says of it. All scores are as the arm measures them.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) row: Rc<Row>,
    pub(super) words: u64,
    pub(super) meaning: u64,
    pub(super) interaction: u64,
    pub(super) session: u64,
    /// Thousandths.
    pub(super) speaker: u64,
    pub(super) date: u64,
    /// Parts per million.
    pub(super) prior: u64,
}

pub(super) fn gather(
    view: &View<'_>,
    analyzer: &Analyzer,
    lens: &Lens<'_>,
    query: &Query,
) -> Result<Vec<Candidate>> {
    if query.text.len() > QUESTION_BYTES_MAX {
        let (size, max) = (query.text.len(), QUESTION_BYTES_MAX);
        return Err(Error::TooLarge { field: "question", size, max });
    }
    let question = analyzer.question(&query.text);
    let index = TextIndex::open_with(view, settings(), TailHandle::default())?;
    let search = Search::new(view, &index.handle())?;
    let words = word_scores(&search, lens, &question)?;
    let dense = DenseQuestion::new(analyzer, &search, lens, &question, &words)?;
    let meaning = dense.scores(view, lens)?;

    let mut ids: BTreeSet<u64> = words.order.iter().take(CANDIDATES).copied().collect();
    ids.extend(meaning.order.iter().take(CANDIDATES));
    let sessions = Sessions::of(view, lens, &words, &meaning, &mut ids)?;
    let dates = DateWords::of(&query.text);
    let mut candidates = Vec::new();
    let mut interaction = dense.interaction();
    for id in ids {
        if !lens.admits(id) {
            continue;
        }
        let Some(row) = lens.row(id)? else { continue };
        if excluded(analyzer, &question, &row) || !has_phrases(analyzer, &question, &row) {
            continue;
        }
        let tokens = read_tokens(view, id)?;
        let late = u64::try_from(interaction.score(&tokens)).unwrap_or(0);
        let body = row.body.as_ref();
        let named = body.is_some_and(|body| {
            speakers(body).iter().any(|s| question.surface.contains(&crate::analyze::fold(s)))
        });
        let at = body.and_then(happened).unwrap_or(row.head.created);
        candidates.push(Candidate {
            words: sessions.smooth(id, &words.scores),
            meaning: sessions.smooth(id, &meaning.scores),
            interaction: late,
            session: sessions.prior(id),
            speaker: u64::from(named) * 1_000,
            date: dates.matches(at),
            prior: u64::from(row.head.importance),
            row,
        });
    }
    Ok(candidates)
}

/// Scores of an arm, and the documents best first.
#[derive(Default)]
struct Scores {
    scores: HashMap<u64, u64>,
    order: Vec<u64>,
}

fn word_scores(search: &Search<'_>, lens: &Lens<'_>, question: &Question) -> Result<Scores> {
    let mut terms: Vec<(String, u32)> = question.terms.iter().map(|t| (t.clone(), 16)).collect();
    for prefix in &question.prefixes {
        terms.extend(search.prefix_terms(prefix, PREFIX_TERMS)?.into_iter().map(|t| (t, 16)));
    }
    let found =
        search.top_k(&terms, 4 * CANDIDATES, &|doc| lens.admits(doc), &question.excluded)?;
    let order = found.iter().map(|(doc, _)| *doc).collect();
    Ok(Scores { scores: found.into_iter().collect(), order })
}

fn read_tokens(view: &View<'_>, id: u64) -> Result<Vec<u32>> {
    let bytes = view.get(&tokens_key(id))?.unwrap_or_default();
    Ok(bytes.as_chunks::<2>().0.iter().map(|pair| u32::from(u16::from_be_bytes(*pair))).collect())
}

fn excluded(analyzer: &Analyzer, question: &Question, row: &Row) -> bool {
    if question.excluded.is_empty() && question.excluded_phrases.is_empty() {
        return false;
    }
    let terms = terms_of(analyzer, row);
    question.excluded.iter().any(|term| terms.iter().any(|t| t.0 == *term))
        || question.excluded_phrases.iter().any(|phrase| holds_phrase(&terms, phrase))
}

fn has_phrases(analyzer: &Analyzer, question: &Question, row: &Row) -> bool {
    question.phrases.is_empty() || {
        let terms = terms_of(analyzer, row);
        question.phrases.iter().all(|phrase| holds_phrase(&terms, phrase))
    }
}

fn terms_of(analyzer: &Analyzer, row: &Row) -> Vec<(String, u32)> {
    let mut terms = Vec::new();
    if let Some(body) = &row.body {
        let text = format!("{}\n{}", body.title, body.content);
        analyzer.terms(&text, &mut |term, position| terms.push((term.to_owned(), position)));
    }
    terms
}

/// The words of a phrase stand one after the other.
fn holds_phrase(terms: &[(String, u32)], phrase: &[String]) -> bool {
    let at = |word: &str, position: u32| terms.iter().any(|(t, p)| *p == position && t == word);
    let Some((first, rest)) = phrase.split_first() else { return true };
    terms.iter().filter(|(term, _)| term == first).any(|(_, start)| {
        rest.iter().zip(1..).all(|(word, step)| at(word, start.saturating_add(step)))
    })
}

/// The question as the vectors see it: without the names of who speaks, which every turn of theirs resembles.
struct DenseQuestion {
    vector: Embedding,
    tokens: Vec<(u32, u32)>,
}

impl DenseQuestion {
    fn new(
        analyzer: &Analyzer,
        search: &Search<'_>,
        lens: &Lens<'_>,
        question: &Question,
        words: &Scores,
    ) -> Result<DenseQuestion> {
        let mut names = BTreeSet::new();
        for id in words.order.iter().take(CANDIDATES) {
            if let Some(row) = lens.row(*id)?
                && let Some(body) = &row.body
            {
                names.extend(speakers(body).iter().map(|s| crate::analyze::fold(s)));
            }
        }
        let kept: Vec<&str> = question
            .surface
            .iter()
            .map(String::as_str)
            .filter(|word| !names.contains(*word))
            .collect();
        let text = kept.join(" ");
        let embedder = StaticEmbedder::shared();
        let documents = search.documents().max(1);
        let mut tokens = Vec::new();
        for word in kept {
            let mut rarest = documents;
            let mut stems = Vec::new();
            analyzer.terms(word, &mut |term, _| stems.push(term.to_owned()));
            for stem in stems {
                rarest = rarest.min(search.df(&stem)?.max(1));
            }
            let weight = crate::text::idf(documents, rarest);
            let weight = u32::try_from(weight).unwrap_or(u32::MAX).max(1);
            tokens.extend(embedder.table().token_ids(word).into_iter().map(|id| (id, weight)));
        }
        Ok(DenseQuestion { vector: embedder.embed(&text), tokens })
    }

    fn interaction(&self) -> MaxSim<'static> {
        MaxSim::new(StaticEmbedder::shared().table(), &self.tokens)
    }

    fn scores(&self, view: &View<'_>, lens: &Lens<'_>) -> Result<Scores> {
        if self.vector.is_zero() {
            return Ok(Scores::default());
        }
        // Reading a head costs more than comparing a vector: where it decides little, it is read for the best only.
        let late = lens.decided_by_indexes();
        let mut found: Vec<(u64, u64)> = Vec::new();
        view.scan(&kernel::store::KeyRange::prefix(&vector_key(0)[..1]), &mut |key, value| {
            let Some(id) = keys::trailing_u64(key) else { return Ok(ControlFlow::Continue(())) };
            let passes = if late { lens.indexed(id) } else { lens.admits(id) };
            if passes {
                let vector = vectors::decode(value)
                    .map_err(|error| Error::corrupt(format!("vector {id}"), error.to_string()))?;
                // What is less than alike says no more than nothing.
                found.push((id, u64::try_from(self.vector.dot(&vector)).unwrap_or(0)));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let best_first = |(id, score): &(u64, u64)| (std::cmp::Reverse(*score), *id);
        if late && found.len() > TAKEN_MAX {
            found.select_nth_unstable_by_key(TAKEN_MAX, best_first);
            found.truncate(TAKEN_MAX);
        }
        found.sort_unstable_by_key(best_first);
        if late {
            found.retain(|(id, _)| lens.admits(*id));
        }
        let order = found.iter().map(|(id, _)| *id).collect();
        Ok(Scores { scores: found.into_iter().collect(), order })
    }
}

/// Neighbours in a session: what was said before and after belongs to what was said.
struct Sessions {
    before: HashMap<u64, u64>,
    after: HashMap<u64, u64>,
    session_of: HashMap<u64, String>,
    priors: HashMap<String, u64>,
}

impl Sessions {
    /// Also adds the neighbours of the best candidates to `ids`.
    fn of(
        view: &View<'_>,
        lens: &Lens<'_>,
        words: &Scores,
        meaning: &Scores,
        ids: &mut BTreeSet<u64>,
    ) -> Result<Sessions> {
        let mut session_of = HashMap::new();
        let mut sessions: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for id in ids.iter() {
            let head = kernel::memory::MemoryId::new(*id).map(|id| view.head(id)).transpose()?;
            if let Some(session) = head.flatten().and_then(|head| head.session) {
                sessions.entry(session.clone()).or_default();
                session_of.insert(*id, session);
            }
        }
        let (mut before, mut after) = (HashMap::new(), HashMap::new());
        let mut priors = HashMap::new();
        for (session, members) in &mut sessions {
            view.scan_index(&keys::by_session(session), None, false, &mut |id| {
                if lens.admits(id.get()) {
                    members.push(id.get());
                }
                Ok(ControlFlow::Continue(()))
            })?;
            for pair in members.windows(2) {
                after.insert(pair[0], pair[1]);
                before.insert(pair[1], pair[0]);
            }
            // A session about the question has several turns about it.
            let mut best: Vec<u64> =
                members.iter().filter_map(|id| words.scores.get(id)).copied().collect();
            best.sort_unstable_by(|a, b| b.cmp(a));
            priors.insert(session.clone(), best.iter().take(5).sum());
        }
        let leaders: Vec<u64> = words
            .order
            .iter()
            .take(WITH_NEIGHBOURS)
            .chain(meaning.order.iter().take(WITH_NEIGHBOURS))
            .copied()
            .collect();
        for id in leaders {
            for neighbour in [before.get(&id), after.get(&id)].into_iter().flatten() {
                ids.insert(*neighbour);
                if let Some(session) = session_of.get(&id).cloned() {
                    session_of.insert(*neighbour, session);
                }
            }
        }
        Ok(Sessions { before, after, session_of, priors })
    }

    /// A score with a share of its neighbours'.
    fn smooth(&self, id: u64, scores: &HashMap<u64, u64>) -> u64 {
        let of = |id: Option<&u64>| id.and_then(|id| scores.get(id)).copied().unwrap_or(0);
        let own = of(Some(&id));
        own.saturating_mul(100)
            .saturating_add(of(self.before.get(&id)).saturating_mul(45))
            .saturating_add(of(self.after.get(&id)).saturating_mul(30))
    }

    fn prior(&self, id: u64) -> u64 {
        self.session_of.get(&id).and_then(|session| self.priors.get(session)).copied().unwrap_or(0)
    }
}
