//! The arms and the ranker for texts that are no memories.
//!
//! A store of its own kind, as that of what agents wrote down, knows by itself which of its texts may answer a question
//! and which of the words they have. What they mean, how they match word for word, who speaks, what stands around them
//! and which comes first is judged here as it is for memories. What must stay true: the order is a function of what is
//! handed in; whole numbers only; equal scores leave the order as it was.

use std::collections::{BTreeMap, BTreeSet};

use kernel::memory::Millis;

use super::HitOrder;
use super::asked_words::AskedWords;
use super::asking::is_of_asker;
use super::dates::DateWords;
use super::dense_question::DenseQuestion;
use super::evidence::{Evidence, NeighbourScores, SpeakerRole};
use super::fusion::{ArmScore, ArmWeights, LONG_TOKENS};
use super::neighbours::{Neighbours, as_smoothed, smooth};
use super::order::CandidateOrder;
use super::ranking::Ranking;
use super::retrievers::{CandidateSet, TERM_WEIGHT};
use super::scoring::{Candidate, TokensMet, asks, join, length, saying};
use super::sessions::{SessionScore, weigh};
use crate::embedding::{Embedding, ONE, StaticEmbedder};
use crate::entity_rows;
use crate::error::Result;
use crate::passages::{self, Passages};
use crate::ranker::AnswerEstimate;
use text::analyze::{Analyzer, ParsedQuestion, fold};
use text::entities::Entity;
use text::index::{WordMatch, idf};

/// What is asked, and what is known of its words where it is asked.
#[derive(Clone, Copy, Debug)]
pub struct TextQuestion<'q> {
    pub text: &'q str,
    pub parsed: &'q ParsedQuestion,
    pub analyzer: &'q Analyzer,
    /// Milliseconds since 1970.
    pub now: i64,
    /// Texts that are asked.
    pub documents: u64,
    /// How many of them have each of the question's terms, in the order of these.
    pub frequencies: &'q [u64],
    pub weights: ArmWeights,
}

/// A text that may answer.
#[derive(Clone, Debug, Default)]
pub struct TextCandidate<'t> {
    /// Its parts in order, whole or as much of it as is to be judged.
    pub parts: Vec<&'t str>,
    /// What it names besides, as files that were edited, a line each.
    pub named: &'t str,
    /// Folded.
    pub speakers: Vec<String>,
    /// Milliseconds since 1970.
    pub happened: i64,
    pub place: TextPlace,
    /// As scores of the index in crate `text` are: of each term sixteen times its rarity, times its impact.
    pub words: WordMatch,
    pub around: TextNeighbours,
}

/// Where a text stands in its session.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextPlace {
    /// A number for the session.
    pub session: usize,
    /// How many turns came before, and how many the session has.
    pub before: usize,
    pub turns: usize,
}

/// The turns around a text, as far as they may be in the answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextNeighbours {
    /// The turn before the one before.
    pub earlier: Option<TextNeighbour>,
    pub before: Option<TextNeighbour>,
    pub after: Option<TextNeighbour>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct TextNeighbour {
    pub words: u64,
    /// About how near it is, up to [`ONE`].
    pub near: u64,
    /// Its place among the candidates, if it is one.
    pub candidate: Option<usize>,
}

/// A turn that words or meaning found, whether or not it is a candidate: it tells what its session is about.
#[derive(Clone, Copy, Debug, Default)]
pub struct FoundTurn {
    pub session: usize,
    pub words: u64,
    /// About how near it is, up to [`ONE`].
    pub near: u64,
}

#[derive(Clone, Debug)]
pub struct TextOrder {
    /// Best first.
    pub placed: Vec<PlacedText>,
    /// Whether anything here answers the question.
    pub answerable: AnswerEstimate,
}

#[derive(Clone, Debug)]
pub struct PlacedText {
    /// The place of its candidate among those that were handed in.
    pub candidate: usize,
    /// Parts per million of the best possible.
    pub score: u64,
    /// How likely it answers, in thousandths.
    pub relevance: u16,
    /// How near its nearest part is, up to [`ONE`].
    pub near: u64,
    pub arms: Vec<ArmScore>,
}

/// Puts texts in the order in which they answer.
pub fn order_texts(
    question: &TextQuestion<'_>,
    candidates: &[TextCandidate<'_>],
    found: &[FoundTurn],
) -> Result<TextOrder> {
    let names: BTreeSet<String> =
        candidates.iter().flat_map(|candidate| candidate.speakers.iter().cloned()).collect();
    let asked = (question.parsed, question.analyzer);
    let df = |stem: &str| Ok(question.frequency(stem));
    let dense = DenseQuestion::of(asked, question.documents, &df, &names)?;
    let rows: Vec<TextRow> =
        candidates.iter().map(|candidate| TextRow::of(candidate, &dense.vector)).collect();
    let mut interaction = dense.interaction();
    let tokens = rows.iter().flat_map(|row| row.passages.passages().flatten());
    interaction.learn(tokens.copied().map(u32::from));
    let mut sessions = sessions(found);
    let (dates, of_asker) =
        (DateWords::of(question.text, Millis(question.now)), is_of_asker(question.text));
    let surface = &question.parsed.surface;
    let named: BTreeSet<&String> = names.iter().filter(|name| surface.contains(name)).collect();
    let entities = named_things(question, candidates);
    let of_row = |row: &TextRow| TokensMet::of(&interaction, &row.passages, &dense.pairs);
    let met: Vec<TokensMet> = rows.iter().map(of_row).collect();
    let mut scored = Vec::with_capacity(rows.len());
    for (at, (candidate, row)) in candidates.iter().zip(&rows).enumerate() {
        let passages = &row.passages;
        join(&mut sessions.entry(candidate.place.session).or_default().covered, &met[at].anywhere);
        let around = candidate.around.neighbours();
        let saidby = around.map(|turn| turn.words);
        let nearby = around.map(|turn| {
            turn.candidate.and_then(|place| rows.get(place)).map_or(turn.near, |row| row.near)
        });
        let beside_it = |turn: Option<TextNeighbour>| {
            let place = turn.and_then(|turn| turn.candidate).filter(|place| *place < rows.len())?;
            (length(&rows[place].passages) <= LONG_TOKENS).then_some(&met[place])
        };
        let together =
            met[at].together(&interaction, beside_it(around.before), beside_it(around.after));
        let before = around.before.and_then(|turn| rows.get(turn.candidate?));
        let replies = before.is_some_and(|before| {
            asks(&before.passages) && before.passages.speakers != passages.speakers
        });
        let beside = |own: u64, scores: Neighbours<u64>| NeighbourScores {
            own,
            before: scores.before.unwrap_or(0),
            after: scores.after.unwrap_or(0),
        };
        let role = SpeakerRole::of(&passages.speakers);
        let is_named = passages.speakers.iter().any(|name| named.contains(name));
        let TextPlace { session, before, turns } = candidate.place;
        let (own, happened) = (candidate.words.score, Millis(candidate.happened));
        let evidence = Evidence {
            words: beside(own, saidby),
            matched: candidate.words,
            meaning: beside(row.near, nearby),
            whole: row.whole,
            // Which words the turns around have is not known one by one; it has no less than its own.
            covered: own,
            tokens: met[at].tokens,
            tokens_around: together,
            length: length(passages),
            role,
            asks: asks(passages),
            saying: saying(passages, role, of_asker),
            of_another: !named.is_empty() && !is_named,
            happened,
            session: Some((session, before, turns)),
        };
        scored.push(Candidate {
            id: at as u64,
            words: smooth(own, saidby, replies).saturating_add(as_smoothed(own)),
            meaning: smooth(row.near, nearby, replies),
            by_model: false,
            interaction: u64::midpoint(met[at].closest, together),
            session: 0,
            speaker: u64::from(is_named) * 1_000,
            date: dates.matches(happened),
            prior: 0,
            entities: entities[at],
            evidence,
        });
    }
    weigh(&mut sessions.values_mut().collect::<Vec<_>>(), &interaction);
    for (scored, candidate) in scored.iter_mut().zip(candidates) {
        scored.session = sessions.get(&candidate.place.session).map_or(0, |score| score.sum);
    }
    let set = CandidateSet { candidates: scored, asked: question.asked_words() };
    let order = CandidateOrder::new((question.weights, HitOrder::Ranker), &set);
    let placed = order.placed.iter().map(|place| {
        let at = usize::try_from(place.candidate.id).unwrap_or(usize::MAX);
        PlacedText {
            candidate: at,
            score: place.score,
            relevance: place.relevance,
            near: rows[at].near,
            arms: order.arms(place.candidate),
        }
    });
    Ok(TextOrder { placed: placed.collect(), answerable: order.answerable })
}

impl TextQuestion<'_> {
    /// In how many texts a stem stands. What is no term of the question tells nothing apart.
    fn frequency(&self, stem: &str) -> u64 {
        let place = self.parsed.terms.iter().position(|term| term == stem);
        place.and_then(|place| self.frequencies.get(place)).copied().unwrap_or(self.documents)
    }

    fn asked_words(&self) -> AskedWords {
        let documents = self.documents;
        let mut asked = AskedWords { documents, ..AskedWords::default() };
        for term in &self.parsed.terms {
            let df = self.frequency(term);
            let weight = u64::from(TERM_WEIGHT) * idf(documents, df);
            asked.terms = asked.terms.saturating_add(1);
            asked.total = asked.total.saturating_add(weight);
            if df == 0 {
                asked.unknown = asked.unknown.saturating_add(weight);
            } else {
                asked.rarest = asked.rarest.max(weight);
            }
        }
        asked
    }
}

impl TextNeighbours {
    fn neighbours(self) -> Neighbours<TextNeighbour> {
        let TextNeighbours { earlier, before, after } = self;
        Neighbours { earlier, before, after }
    }
}

/// A candidate in passages.
struct TextRow {
    passages: Passages,
    near: u64,
    whole: u64,
}

impl TextRow {
    fn of(candidate: &TextCandidate<'_>, question: &Embedding) -> TextRow {
        let embedder = StaticEmbedder::shared();
        let parts = candidate.parts.iter().flat_map(|part| passages::cut(part));
        let tokens: Vec<Vec<u32>> = parts.map(|part| embedder.table().token_ids(part)).collect();
        let (whole, each) = embedder.embed_parts(&tokens);
        let near = |vector: &Embedding| u64::try_from(question.dot(vector)).unwrap_or(0);
        let whole = near(&whole);
        let nearest = each.iter().map(near).max().unwrap_or(0);
        let passages =
            Passages::new(Some(Millis(candidate.happened)), candidate.speakers.clone(), &tokens);
        TextRow { passages, near: nearest.max(whole), whole }
    }
}

/// What the turns that were found say about their sessions.
fn sessions(found: &[FoundTurn]) -> BTreeMap<usize, SessionScore> {
    let ranking = |score: fn(&FoundTurn) -> u64| {
        let best = found.iter().map(score).max().unwrap_or(0);
        Ranking::new(vec![(0, best)])
    };
    let (words, near) = (ranking(|turn| turn.words), ranking(|turn| turn.near));
    let mut sessions: BTreeMap<usize, SessionScore> = BTreeMap::new();
    for turn in found {
        let about = words.share(turn.words).saturating_add(near.share(turn.near));
        sessions.entry(turn.session).or_default().turns.push(about);
    }
    sessions
}

/// For each candidate how rare the things are that both the question and it name. What few candidates name tells them
/// apart.
fn named_things(question: &TextQuestion<'_>, candidates: &[TextCandidate<'_>]) -> Vec<u64> {
    let mut scores = vec![0_u64; candidates.len()];
    let asked: Vec<Entity> = entity_rows::asked(question.text);
    if asked.is_empty() {
        return scores;
    }
    let texts: Vec<String> = candidates
        .iter()
        .map(|candidate| {
            let text = format!("{}\n{}", candidate.parts.join("\n"), candidate.named);
            fold(&text).replace('\\', "/")
        })
        .collect();
    for key in asked.iter().map(Entity::key) {
        let naming: Vec<usize> = (0..texts.len()).filter(|at| names(&texts[*at], &key)).collect();
        let rarity = idf(question.documents, naming.len() as u64);
        naming.into_iter().for_each(|at| scores[at] = scores[at].saturating_add(rarity));
    }
    scores
}

/// Whether a name stands in a text, and not as a part of a longer word.
fn names(text: &str, name: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(name).any(|(at, _)| {
        !is_word(text[..at].chars().next_back()) && !is_word(text[at + name.len()..].chars().next())
    })
}

/// About how near two vectors are whose sketches of so many bits differ in some: the cosine of the angle that this
/// share of bits stands for, up to [`ONE`].
pub fn near_by_bits(distance: u32, bits: u32) -> u64 {
    let half = u64::from(bits / 2).max(1);
    let agreed = half.saturating_sub(u64::from(distance)).min(half);
    // sin(x * pi / 2) is about x * (3 - x * x) / 2 for x from 0 to 1.
    let cube = half * half * half;
    ONE.unsigned_abs() * agreed * (3 * half * half - agreed * agreed) / (2 * cube)
}

#[cfg(test)]
mod tests {
    use super::*;
    use text::analyze::Language;

    fn ordered(text: &str, texts: &[&str], place: impl Fn(usize) -> TextPlace) -> TextOrder {
        let analyzer = Analyzer::new(Language::English);
        let parsed = analyzer.question(text);
        let frequencies = vec![1; parsed.terms.len()];
        let question = TextQuestion {
            text,
            parsed: &parsed,
            analyzer: &analyzer,
            now: 0,
            documents: 1_000,
            frequencies: &frequencies,
            weights: ArmWeights::default(),
        };
        let candidates: Vec<TextCandidate<'_>> = texts
            .iter()
            .enumerate()
            .map(|(at, text)| TextCandidate {
                parts: vec![text],
                place: place(at),
                ..TextCandidate::default()
            })
            .collect();
        let found: Vec<FoundTurn> = candidates
            .iter()
            .map(|candidate| FoundTurn { session: candidate.place.session, words: 1, near: 1 })
            .collect();
        order_texts(&question, &candidates, &found).unwrap()
    }

    fn alone(at: usize) -> TextPlace {
        TextPlace { session: at, before: 0, turns: 1 }
    }

    // past 44
    #[test]
    fn meaning_and_named_files_order_texts_without_a_word_in_common() {
        let texts =
            ["quarterly tax report", "a puppy was barking at night", "the parser in src/lex.rs"];
        let order = ordered("which dog barks", &texts, alone);
        assert_eq!(order.placed[0].candidate, 1);
        assert!(order.placed[0].near > order.placed[2].near);
        let order = ordered("what about src/lex.rs", &texts, alone);
        assert_eq!(order.placed[0].candidate, 2);
        let order = ordered("what about rc/lex.rs", &["see src/lex.rs", "see rc/lex.rs"], alone);
        assert_eq!(order.placed[0].candidate, 1, "a part of a name is none");
    }

    #[test]
    fn nothing_to_order_is_no_answer_and_equal_texts_keep_their_order() {
        assert!(ordered("dog", &[], alone).placed.is_empty());
        let order = ordered("dog", &["a dog", "a dog", "a dog"], alone);
        let places: Vec<usize> = order.placed.iter().map(|placed| placed.candidate).collect();
        assert_eq!(places, [0, 1, 2]);
    }

    #[test]
    fn fewer_different_bits_are_nearer() {
        let one = ONE.unsigned_abs();
        assert_eq!(
            (near_by_bits(0, 256), near_by_bits(128, 256), near_by_bits(256, 256)),
            (one, 0, 0)
        );
        let near: Vec<u64> = (0..=128).map(|distance| near_by_bits(distance, 256)).collect();
        assert!(near.windows(2).all(|pair| pair[0] > pair[1]));
        // A quarter of the bits is an angle of 45 degrees: 0.707, and the curve is within a fiftieth.
        assert!(near[64].abs_diff(one * 707 / 1_000) < one / 50);
    }
}
