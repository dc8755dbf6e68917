//! The analyzer: text into terms, and questions into clauses.
//!
//! Owns what counts as the same word. Must stay true: a word in a document is found by the same word
//! in a question; analysis is total (no input is a syntax error), linear and a function of the text,
//! the language and [`ANALYZER_VERSION`] alone. Any change to a term raises the version, because
//! indexes hold terms.
//!
//! Positions are those of parts: an identifier's whole stands where its first part stands, and its
//! parts follow one another, so the phrase `"auth middleware"` finds `auth_middleware` and a phrase
//! holding an identifier matches like any other.

mod fold;
mod language;
mod lexicon;
mod memo;
mod question;
mod scan;
mod stop;
#[cfg(test)]
mod tests;

pub use fold::{MAX_TERM, fold};
pub use language::Language;
pub use lexicon::{Lexicon, LexiconId};
pub use memo::Memo;
pub use question::ParsedQuestion;

use fold::{cut, lower, normalize, strip};
use scan::{Scanner, Token, is_joiner, parts, segments};

/// Raised whenever the same text gives other terms; an index of an older version is rebuilt.
pub const ANALYZER_VERSION: u32 = 1;

/// Turns text into terms for one configured language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Analyzer {
    language: Language,
}

impl Analyzer {
    pub fn new(language: Language) -> Analyzer {
        Analyzer { language }
    }

    pub fn language(&self) -> Language {
        self.language
    }

    /// Terms of a document in order, with their positions. Documents drop nothing: a phrase may need
    /// any word, and rarity is the ranking's business.
    pub fn terms(&self, text: &str, emit: &mut dyn FnMut(&str, u32)) {
        let text = normalize(text);
        let mut position = 0;
        for token in Scanner::new(&text, self.language.elides()) {
            position = match token {
                Token::Word(word) => {
                    self.word(word, position, &mut |term| emit(&term.text, term.position))
                }
                Token::Run(run) => Self::run(run, position, true, emit),
                Token::Emoji(emoji) => {
                    emit(emoji, position);
                    position + 1
                }
            };
        }
    }

    /// The words of a text as they stand in it: the terms of each by itself are together those of the text. None if
    /// the text has to be normalised before it has words.
    pub fn words<'t>(&self, text: &'t str) -> Option<impl Iterator<Item = &'t str> + use<'t>> {
        let words = text.is_ascii().then(|| Scanner::new(text, self.language.elides()));
        Some(words?.map(|token| match token {
            Token::Word(text) | Token::Run(text) | Token::Emoji(text) => text,
        }))
    }

    /// The same terms in the same order, by their numbers in the memo's lexicon and without positions.
    pub fn numbers(&self, memo: &mut Memo, text: &str, mut emit: impl FnMut(u32)) {
        let text = normalize(text);
        for token in Scanner::new(&text, self.language.elides()) {
            match token {
                Token::Word(word) => {
                    let analyze = |keep: &mut dyn FnMut(&str)| {
                        self.word(word, 0, &mut |term| keep(&term.text));
                    };
                    memo.word(word, analyze, &mut emit);
                }
                Token::Run(run) => {
                    Self::run(run, 0, true, &mut |term, _| emit(memo.term(term)));
                }
                Token::Emoji(emoji) => emit(memo.term(emoji)),
            }
        }
    }

    /// Parses a question; see [`ParsedQuestion`].
    pub fn question(&self, text: &str) -> ParsedQuestion {
        question::parse(self, text)
    }

    /// Terms of one word token; returns the position after it.
    fn word(&self, word: &str, at: u32, emit: &mut dyn FnMut(Term<'_>)) -> u32 {
        let mut position = at;
        let mut count = 0;
        parts(word_of_one_segment(word).unwrap_or(""), |_| count += 1);
        let joined = word.contains(is_joiner) || word.ends_with(['+', '#']);
        if !joined && count <= 1 {
            return at + u32::from(self.stems(word, word, at, Role::Word, emit));
        }
        if joined {
            emit(Term {
                text: cut(self.folded(word)),
                position: at,
                role: Role::Whole,
                part: word,
            });
        } else {
            // A camel-case name is also written as one plain word, and that gets stemmed.
            self.stems(word, word, at, Role::Whole, emit);
        }
        for segment in segments(word) {
            let mut within = 0;
            parts(segment, |_| within += 1);
            if within > 1 && segment.len() < word.len() {
                emit(Term {
                    text: cut(self.folded(segment)),
                    position,
                    role: Role::Segment,
                    part: segment,
                });
            }
            parts(segment, |part| {
                // A part that is nothing but marks says nothing and takes no place.
                if self.stems(part, part, position, Role::Part, emit) {
                    position += 1;
                }
            });
        }
        position
    }

    /// The folded form of a token, not stemmed.
    pub fn folded(&self, word: &str) -> String {
        strip(&lower(word, self.language == Language::Turkish))
    }

    /// The stem of one word; where accents steer the stemmer, also that of the spelling with them.
    /// The first is what every spelling shares. False if nothing of the word is left.
    fn stems(
        &self,
        word: &str,
        part: &str,
        position: u32,
        role: Role,
        emit: &mut dyn FnMut(Term<'_>),
    ) -> bool {
        let lowered = lower(word, self.language == Language::Turkish);
        let stripped = strip(&lowered);
        if stripped.is_empty() {
            return false;
        }
        // Stemming numbers and overlong runs gains nothing, and stemmers need not be linear.
        if stripped.len() > MAX_TERM || stripped.bytes().any(|byte| byte.is_ascii_digit()) {
            emit(Term { text: cut(stripped), position, role, part });
            return true;
        }
        let language = self.language.of_word(&stripped);
        let shared = stem(language, &stripped);
        let accented =
            (language.accented() && lowered != stripped).then(|| stem(language, &lowered));
        let accented = accented.filter(|stem| *stem != shared);
        emit(Term { text: shared, position, role, part });
        if let Some(text) = accented {
            emit(Term { text, position, role: Role::Variant, part });
        }
        true
    }

    /// Overlapping bigrams of a run without spaces. A document's run ends with its last character
    /// alone, so that a one-character question, asked as a prefix, finds every occurrence.
    fn run(run: &str, at: u32, document: bool, emit: &mut dyn FnMut(&str, u32)) -> u32 {
        let mut position = at;
        let mut before: Option<usize> = None;
        let mut start = 0;
        for (next, _) in
            run.char_indices().filter(|(_, c)| !is_attached(*c)).chain([(run.len(), ' ')])
        {
            if next == 0 {
                continue;
            }
            if let Some(before) = before {
                emit_bounded(&run[before..next], position, emit);
                position += 1;
            }
            before = Some(start);
            start = next;
        }
        // It shares the last bigram's position: a phrase goes on after the run either way.
        if let Some(last) = before.filter(|last| document || *last == 0) {
            emit_bounded(&run[last..], position.saturating_sub(1).max(at), emit);
        }
        position.max(at + 1)
    }
}

/// What a term is to its token; a question treats them differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// A plain word.
    Word,
    /// An identifier, path or version as one.
    Whole,
    /// One step of a path.
    Segment,
    /// One word of an identifier.
    Part,
    /// Another stem of the word just given.
    Variant,
}

struct Term<'a> {
    text: String,
    position: u32,
    role: Role,
    /// The text it came from.
    part: &'a str,
}

/// The word if it is no path: only then can it be a single plain word.
fn word_of_one_segment(word: &str) -> Option<&str> {
    let mut all = segments(word);
    all.next().filter(|_| all.next().is_none())
}

fn stem(language: Language, word: &str) -> String {
    let stem = strip(&language.stem(word));
    cut(if stem.is_empty() { word.to_owned() } else { stem })
}

/// Vowel and tone marks of Thai and its neighbours: part of the character before them.
fn is_attached(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

fn emit_bounded(gram: &str, position: u32, emit: &mut dyn FnMut(&str, u32)) {
    if gram.len() <= MAX_TERM {
        emit(gram, position);
    } else {
        emit(&cut(gram.to_owned()), position);
    }
}
