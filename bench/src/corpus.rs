//! The generated corpus: memories and natural questions with the word frequencies of real text.
//!
//! Words are the whole words of the embedder's vocabulary, which stand there by frequency in English text (stop words
//! first), then made-up names. They are drawn by Zipf's law; a share comes from the topics of the session, so that memories
//! of one session resemble one another as real ones do. A memory is a function of (seed, number): every process that needs
//! the corpus makes the same one, and nothing has to be kept.

use std::collections::HashMap;

use kernel::memory::{MemoryType, Millis};
use recall::embedding::StaticEmbedder;

use crate::chance::Chance;

pub const SEED: u64 = 0x636f_7274_6578;

/// Words before this rank say nothing about a subject: no topic is made of them, no question asks for them.
const SUBJECTS_FROM: usize = 150;
/// Made-up names behind the words of the vocabulary.
const NAMES: usize = 100_000;
/// p(rank) ~ 1 / (rank + SHIFT)^POWER: "the" is then one word in twenty, names are one in thirteen.
const POWER: f64 = 1.15;
const SHIFT: f64 = 2.7;
const TOPIC_WORDS: usize = 30;
const TOPIC_SHARE: f64 = 0.22;
const SESSION_MEMORIES: u64 = 24;
const PROJECTS: usize = 20;
const TAGS: usize = 200;
const SPEAKERS: usize = 40;
/// 2026-01-01.
const START: i64 = 1_767_225_600_000;
const MINUTE: i64 = 60_000;

#[derive(Clone, Debug)]
pub struct Memory {
    pub number: u64,
    pub memory_type: MemoryType,
    pub title: String,
    pub content: String,
    pub tags: Vec<String>,
    pub project: String,
    pub session: String,
    pub speaker: Option<String>,
    pub at: Millis,
}

impl Memory {
    /// All that an engine with one field gets.
    pub fn text(&self) -> String {
        let speaker = self.speaker.as_deref().unwrap_or("");
        format!("{}\n{}\n{} {speaker}", self.title, self.content, self.tags.join(" "))
    }
}

pub struct Corpus {
    words: Vec<String>,
    ranks: HashMap<String, usize>,
    /// Share of all words up to each rank.
    cumulative: Vec<f64>,
}

impl Corpus {
    pub fn new() -> Corpus {
        let mut words = vocabulary();
        let mut ranks: HashMap<String, usize> =
            words.iter().enumerate().map(|(rank, word)| (word.clone(), rank)).collect();
        let mut chance = Chance::of(SEED, u64::MAX);
        let whole = words.len() + NAMES;
        while words.len() < whole {
            let name = made_up(&mut chance);
            if !ranks.contains_key(&name) {
                ranks.insert(name.clone(), words.len());
                words.push(name);
            }
        }
        let mut sum = 0.0;
        let mut cumulative: Vec<f64> = (0..words.len())
            .map(|rank| {
                sum += (rank as f64 + 1.0 + SHIFT).powf(-POWER);
                sum
            })
            .collect();
        cumulative.iter_mut().for_each(|share| *share /= sum);
        Corpus { words, ranks, cumulative }
    }

    pub fn memory(&self, number: u64) -> Memory {
        let mut chance = Chance::of(SEED, number);
        let session = number / SESSION_MEMORIES;
        let mut about = Chance::of(SEED ^ 1, session);
        let project = format!("project-{}", about.skewed(PROJECTS));
        let topics: Vec<usize> = (0..TOPIC_WORDS)
            .map(|_| SUBJECTS_FROM + about.skewed(self.words.len() - NAMES - SUBJECTS_FROM))
            .collect();
        let title_words = chance.between(3, 8);
        let title = self.sentence(&mut chance, &topics, title_words);
        // Most memories are a sentence or two, some are a page.
        let length = match chance.below(10) {
            0..4 => chance.between(12, 30),
            4..8 => chance.between(30, 80),
            _ => chance.between(80, 250),
        };
        let mut content = String::new();
        let mut left = length;
        while left > 0 {
            let count = chance.between(7, 18).min(left);
            left -= count;
            content.push_str(&self.sentence(&mut chance, &topics, count));
            if chance.below(6) == 0 {
                content.push_str(" in ");
                content.push_str(&self.identifier(&mut chance, &topics));
            }
            content.push_str(". ");
        }
        let tags = (0..chance.below(4)).map(|_| format!("tag-{}", chance.skewed(TAGS))).collect();
        let memory_type = MemoryType::ALL[chance.below(MemoryType::ALL.len())];
        let speaker = (memory_type == MemoryType::Event)
            .then(|| capital(&self.words[self.words.len() - 1 - chance.skewed(SPEAKERS)]));
        let at = Millis(START + number as i64 * MINUTE);
        let session = format!("session-{session}");
        let content = content.trim_end().to_owned();
        Memory { number, memory_type, title, content, tags, project, session, speaker, at }
    }

    fn word(&self, chance: &mut Chance, topics: &[usize]) -> &str {
        let rank = if chance.share() < TOPIC_SHARE {
            *chance.pick(topics)
        } else {
            let share = chance.share();
            self.cumulative.partition_point(|up_to| *up_to < share).min(self.words.len() - 1)
        };
        &self.words[rank]
    }

    fn sentence(&self, chance: &mut Chance, topics: &[usize], count: usize) -> String {
        let words: Vec<&str> = (0..count).map(|_| self.word(chance, topics)).collect();
        capital(&words.join(" "))
    }

    /// A path, a function, a constant or a version.
    fn identifier(&self, chance: &mut Chance, topics: &[usize]) -> String {
        let [a, b, c] = [0; 3].map(|_| self.words[*chance.pick(topics)].clone());
        match chance.below(5) {
            0 => format!("src/{a}/{b}_{c}.rs"),
            1 => format!("{a}{}{}", capital(&b), capital(&c)),
            2 => format!("{a}_{b}"),
            3 => format!("{}_{}", a.to_uppercase(), chance.between(100, 9_999)),
            _ => format!("{a}-{}.{}.{}", chance.below(9), chance.below(30), chance.below(30)),
        }
    }

    /// A question that one of the first `memories` answers, in the words people use: four to ten of them, stop words included.
    pub fn question(&self, number: u64, memories: u64) -> String {
        let mut chance = Chance::of(SEED ^ 2, number);
        let memory = self.memory(chance.next() % memories.max(1));
        let whole: Vec<&str> = memory.content.split_whitespace().collect();
        let mut subjects: Vec<(usize, String)> = whole
            .iter()
            .map(|word| word.trim_end_matches('.').to_lowercase())
            .filter_map(|word| Some((*self.ranks.get(&word)?, word)))
            .filter(|(rank, _)| *rank >= SUBJECTS_FROM)
            .collect();
        subjects.sort_unstable();
        subjects.dedup();
        // The rarer half of what the memory says, and anything else it is about.
        let (common, rare) = subjects.split_at(subjects.len() / 2);
        let fallback = [(0, memory.tags.first().cloned().unwrap_or_else(|| "everything".into()))];
        let rare = if rare.is_empty() { &fallback } else { rare };
        let common = if common.is_empty() { rare } else { common };
        let identifier = whole.iter().find(|word| word.contains(['/', '_']));
        let first = match identifier.filter(|_| chance.below(3) == 0) {
            Some(identifier) => identifier.trim_end_matches('.').to_owned(),
            None => chance.pick(rare).1.clone(),
        };
        let (second, third) = (&chance.pick(common).1, &chance.pick(common).1);
        match chance.below(10) {
            0 => format!("what did we decide about the {first} and {second}?"),
            1 => format!("where is {first} used in the {second}?"),
            2 => format!("why does the {second} fail when {first} is {third}?"),
            3 => format!("how do i set up the {second} for {first}?"),
            4 => format!("who said that {first} was {second}?"),
            5 => format!("when did we change the {first} of the {second}?"),
            6 => format!("is there any {second} with {first} and {third}?"),
            7 => format!("which {second} has the {first}?"),
            8 => format!("what was the problem with {first} {second} in {third}?"),
            _ => format!("tell me about {first} {second}"),
        }
    }
}

/// The whole words of the embedder's vocabulary in their order, which is that of frequency.
fn vocabulary() -> Vec<String> {
    let table = StaticEmbedder::shared().table();
    let pieces = (0..table.len() as u32).filter_map(|id| table.piece(id));
    let is_word = |piece: &&str| piece.len() > 1 && piece.bytes().all(|b| b.is_ascii_lowercase());
    let mut words: Vec<String> = pieces.filter(is_word).map(str::to_owned).collect();
    // Words of one letter stand among the characters there.
    words.insert(4, "a".into());
    words.insert(9, "i".into());
    words
}

fn made_up(chance: &mut Chance) -> String {
    let mut name = String::new();
    for _ in 0..chance.between(2, 4) {
        name.push(char::from(*chance.pick(b"bcdfghjklmnprstvwz")));
        name.push(char::from(*chance.pick(b"aeiou")));
        if chance.below(3) == 0 {
            name.push(char::from(*chance.pick(b"lnrstk")));
        }
    }
    name
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_corpus_has_the_frequencies_of_text_and_is_the_same_every_time() {
        let corpus = Corpus::new();
        assert_eq!(corpus.memory(7).text(), Corpus::new().memory(7).text());
        let mut counts: HashMap<String, usize> = HashMap::new();
        let mut all = 0;
        for number in 0..2_000 {
            for word in corpus.memory(number).content.to_lowercase().split_whitespace() {
                *counts.entry(word.trim_end_matches('.').to_owned()).or_default() += 1;
                all += 1;
            }
        }
        let the = counts["the"] as f64 / all as f64;
        assert!((0.03..0.08).contains(&the), "\"the\" is {the} of all words");
        let once = counts.values().filter(|count| **count == 1).count();
        assert!(once * 5 > counts.len(), "many words occur once: {once} of {}", counts.len());
    }

    #[test]
    fn questions_are_short_and_have_stop_words() {
        let corpus = Corpus::new();
        for number in 0..200 {
            let question = corpus.question(number, 1_000);
            let words = question.split_whitespace().count();
            assert!((4..=10).contains(&words), "{question}");
        }
    }
}
