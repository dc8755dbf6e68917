//! Questions: natural language with optional quotes, prefixes and exclusions.
//!
//! Owns the question syntax. Must stay true: every string is a question; what is not syntax is words;
//! the terms of a question are those documents are indexed by.

use std::collections::HashSet;

use super::fold::normalize;
use super::scan::{Scanner, Token};
use super::{Analyzer, Language, Role, stop};

/// The clauses of a question, each list without repetition and in the order of the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParsedQuestion {
    /// Stems to rank by, those of quoted words included; stop words are left out unless nothing else is there.
    pub terms: Vec<String>,
    /// Quoted phrases: terms at consecutive positions.
    pub phrases: Vec<Vec<String>>,
    /// Beginnings of terms: `word*`, and a lone ideograph.
    pub prefixes: Vec<String>,
    /// Terms a result must not have: `-word`.
    pub excluded: Vec<String>,
    /// Phrases a result must not have: `-"two words"`.
    pub excluded_phrases: Vec<Vec<String>>,
    /// Folded content words as asked, not stemmed: for names and for dense queries.
    pub surface: Vec<String>,
    /// There are words outside the quotes: a quote is then the name of something, and what does not hold it may still
    /// answer.
    pub beside_phrases: bool,
}

impl ParsedQuestion {
    /// Nothing to search for; exclusions alone find nothing.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.phrases.is_empty() && self.prefixes.is_empty()
    }

    /// The question for which a phrase is its words; `None` if nothing but phrases was asked for.
    pub fn without_phrases(&self) -> Option<ParsedQuestion> {
        let loose = self.beside_phrases && !self.phrases.is_empty();
        loose.then(|| ParsedQuestion { phrases: Vec::new(), ..self.clone() })
    }
}

/// A list that keeps first appearances.
#[derive(Default)]
struct DistinctList {
    list: Vec<String>,
    seen: HashSet<String>,
}

impl DistinctList {
    fn push(&mut self, text: String) {
        if self.seen.insert(text.clone()) {
            self.list.push(text);
        }
    }
}

#[derive(Default)]
struct Parser {
    terms: DistinctList,
    /// Terms of stop words, used only if there is nothing else.
    stops: DistinctList,
    prefixes: DistinctList,
    excluded: DistinctList,
    surface: DistinctList,
    stop_surface: DistinctList,
    phrases: Vec<Vec<String>>,
    excluded_phrases: Vec<Vec<String>>,
    beside_phrases: bool,
}

pub(super) fn parse(analyzer: &Analyzer, text: &str) -> ParsedQuestion {
    let text = normalize(text);
    let mut parser = Parser::default();
    let mut plain = 0;
    let mut at = 0;
    let mut unmatched = UnmatchedQuotes::default();
    while let Some(found) = text[at..].find(is_opening) {
        let open = at + found;
        let quote = text[open..].chars().next().unwrap_or('"');
        let inside = open + quote.len_utf8();
        let Some(close) = unmatched.close(&text, inside, quote) else {
            // An unmatched quote is punctuation.
            at = inside;
            continue;
        };
        let (before, negated) = match text[plain..open].strip_suffix('-') {
            Some(before) if before.is_empty() || before.ends_with(char::is_whitespace) => {
                (before, true)
            }
            _ => (&text[plain..open], false),
        };
        parser.plain(analyzer, before);
        parser.quoted(analyzer, &text[inside..close], negated);
        at = close + text[close..].chars().next().map_or(0, char::len_utf8);
        plain = at;
    }
    parser.plain(analyzer, &text[plain..]);
    parser.finish()
}

fn is_opening(c: char) -> bool {
    matches!(c, '"' | '“' | '„' | '«' | '「' | '『')
}

/// Remembers quotes known to have no partner any more, so that a text full of them stays linear.
#[derive(Default)]
struct UnmatchedQuotes(Vec<char>);

impl UnmatchedQuotes {
    fn close(&mut self, text: &str, from: usize, quote: char) -> Option<usize> {
        if self.0.contains(&quote) {
            return None;
        }
        let closing: &[char] = match quote {
            '“' | '„' => &['”', '“', '"'],
            '«' => &['»'],
            '「' => &['」'],
            '『' => &['』'],
            _ => &['"', '”'],
        };
        let close = text[from..].find(closing).map(|found| from + found);
        if close.is_none() {
            self.0.push(quote);
        }
        close
    }
}

impl Parser {
    fn plain(&mut self, analyzer: &Analyzer, text: &str) {
        let mut scanner = Scanner::new(text, analyzer.language.elides());
        loop {
            let from = scanner.position();
            let Some(token) = scanner.next() else { return };
            let end = scanner.position();
            let start = end - token_len(token);
            match token {
                Token::Word(word) if is_negated(text, from, start, word) => {
                    self.exclude(analyzer, word);
                }
                Token::Word(word) if is_prefix(text, end, word) => {
                    self.prefix(analyzer, word);
                    scanner.seek(end + 1);
                    self.beside_phrases = true;
                }
                token => {
                    self.token(analyzer, token);
                    self.beside_phrases = true;
                }
            }
        }
    }

    fn token(&mut self, analyzer: &Analyzer, token: Token<'_>) {
        match token {
            Token::Word(word) => {
                let stop = is_stop(analyzer, word);
                let surface = analyzer.folded(word);
                if surface.is_empty() {
                    return;
                }
                (if stop { &mut self.stop_surface } else { &mut self.surface }).push(surface);
                analyzer.word(word, 0, &mut |term| {
                    // `1.2.3` is asked for as one; its digits alone are everywhere. So are the small
                    // words of a hyphenated one.
                    let weak = term.role == Role::Part
                        && (term.text.chars().nth(1).is_none() || is_stop(analyzer, term.part));
                    (if stop || weak { &mut self.stops } else { &mut self.terms }).push(term.text);
                });
            }
            Token::Run(run) => {
                self.surface.push(run.to_owned());
                let mut grams = 0;
                Analyzer::run(run, 0, false, &mut |gram, _| {
                    grams += 1;
                    self.terms.push(gram.to_owned());
                });
                if grams == 1 && run.chars().nth(1).is_none() && !run.contains(is_kana) {
                    self.prefixes.push(run.to_owned());
                }
            }
            Token::Emoji(emoji) => self.terms.push(emoji.to_owned()),
        }
    }

    fn quoted(&mut self, analyzer: &Analyzer, text: &str, negated: bool) {
        let phrase = phrase(analyzer, text);
        match (negated, phrase.len()) {
            (_, 0) => {}
            (true, 1) => phrase.into_iter().for_each(|term| self.excluded.push(term)),
            (true, _) => self.excluded_phrases.push(phrase),
            (false, length) => {
                for token in Scanner::new(text, analyzer.language.elides()) {
                    self.token(analyzer, token);
                }
                if length > 1 && !self.phrases.contains(&phrase) {
                    self.phrases.push(phrase);
                }
            }
        }
    }

    /// Excluding an identifier excludes it as one; its parts are ordinary words.
    fn exclude(&mut self, analyzer: &Analyzer, word: &str) {
        analyzer.word(word, 0, &mut |term| {
            if matches!(term.role, Role::Word | Role::Whole) {
                self.excluded.push(term.text);
            }
        });
    }

    /// Documents hold stems, so a beginning longer than the stem is also tried as its own stem.
    fn prefix(&mut self, analyzer: &Analyzer, word: &str) {
        let folded = analyzer.folded(word);
        // Nothing is left of a word that is nothing but marks; as a beginning it would be that of every word.
        if folded.is_empty() {
            return;
        }
        self.surface.push(folded.clone());
        analyzer.word(word, 0, &mut |term| {
            let shorter = folded.starts_with(&term.text) && term.text.len() < folded.len();
            if matches!(term.role, Role::Word) && shorter {
                self.terms.push(term.text);
            }
        });
        self.prefixes.push(super::cut(folded));
    }

    fn finish(mut self) -> ParsedQuestion {
        let nothing = self.terms.list.is_empty() && self.prefixes.list.is_empty();
        if nothing {
            self.terms = self.stops;
            self.surface = self.stop_surface;
        }
        ParsedQuestion {
            terms: self.terms.list,
            phrases: self.phrases,
            prefixes: self.prefixes.list,
            excluded: self.excluded.list,
            excluded_phrases: self.excluded_phrases,
            surface: self.surface.list,
            beside_phrases: self.beside_phrases,
        }
    }
}

/// One term for every position.
fn phrase(analyzer: &Analyzer, text: &str) -> Vec<String> {
    let mut phrase = Vec::new();
    for token in Scanner::new(text, analyzer.language.elides()) {
        match token {
            Token::Word(word) => {
                analyzer.word(word, 0, &mut |term| {
                    if matches!(term.role, Role::Word | Role::Part) {
                        phrase.push(term.text);
                    }
                });
            }
            Token::Run(run) => {
                Analyzer::run(run, 0, false, &mut |gram, _| phrase.push(gram.to_owned()));
            }
            Token::Emoji(emoji) => phrase.push(emoji.to_owned()),
        }
    }
    phrase
}

fn token_len(token: Token<'_>) -> usize {
    match token {
        Token::Word(text) | Token::Run(text) | Token::Emoji(text) => text.len(),
    }
}

/// `-word` after a space. `--flag`, `-v` and `-5` are what they look like, not exclusions.
fn is_negated(text: &str, from: usize, start: usize, word: &str) -> bool {
    let gap = &text[from..start];
    gap.strip_suffix('-').is_some_and(|gap| {
        let open = if gap.is_empty() { from == 0 } else { gap.ends_with(char::is_whitespace) };
        open && word.chars().nth(1).is_some() && word.starts_with(char::is_alphabetic)
    })
}

/// `word*`, but not the end of `**bold**` or the middle of `a*b`.
fn is_prefix(text: &str, end: usize, word: &str) -> bool {
    let mut rest = text[end..].chars();
    rest.next() == Some('*')
        && word.chars().nth(1).is_some()
        && rest.next().is_none_or(|c| !c.is_alphanumeric() && c != '*')
}

fn is_kana(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}')
}

fn is_stop(analyzer: &Analyzer, word: &str) -> bool {
    let folded = analyzer.folded(word);
    let language = analyzer.language.of_word(&folded);
    language != Language::None && stop::is_stop(language, &folded)
}
