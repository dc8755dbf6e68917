//! Whether one text is put together from clauses of others.
//!
//! A clause is what stands between punctuation or joining words. Words are compared as they are folded; articles, forms
//! of "to be" in the present and a few others say nothing by themselves. What must stay true: of a sentence only whole
//! clauses are taken, one after the other, and nothing is added, reworded or moved inside of one, so that nothing can
//! be swapped, denied, ended or widened; a clause without its beginning follows only what it followed before; what
//! limits a sentence is not left out. A text that repeats a sentence is always put together from it.

use std::collections::BTreeSet;

use text::analyze::fold;

/// Words that say nothing by themselves.
const PLAIN: &str = "a an the and of in on at for is are be am it its this that these those there who whose as has \
have he she they them his her their we our i my you your";

/// Words between clauses that may be added, or left out.
const ADDED: &str = "and but while also";
/// Words that tie a clause to the one before. A text may leave one out, and may not add one.
const TIES: &str = "because so since therefore but although though while whereas however";

/// Words that a line, or a sentence it is taken from, may begin with.
const OPENERS: &str = "agreed also chose chosen decided decision goal known learned note prefers preference project \
short summary team user to";

/// Beginnings of words without which a sentence says more than it did: conditions, doubts, who claims it, what became
/// of it.
const LIMITS: &str = "abandon alleg allegedly almost assum believ cancel claim consider could denied denies deprecat \
disprov except false former guess hardly if instead maybe might nearly only perhaps plan postpon prevent previous \
propos rarely refus reject revert revok rumo said say says seem should suppos supersed suspend think unclear unless \
unlikely until untrue when would wrong";
/// The same for whole words: what is short begins too many others.
const LIMIT_WORDS: &str = "may can cant cannot not no never none nothing nobody neither nor without avoid avoids dont \
doesnt didnt isnt arent wasnt wont shouldnt mustnt nicht kein keine nie ohne wenn nur vielleicht falls";

/// Words of a text that is looked at.
pub(super) const WORDS_MAX: usize = 80;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    text: String,
    /// A clause begins with it.
    begins: bool,
    /// A sentence begins with it.
    opens: bool,
}

/// A text as words, without those that say nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Clauses {
    words: Vec<Word>,
}

/// Why a text is not put together from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mismatch {
    /// It says nothing.
    Empty,
    /// It has too many words to be looked at.
    Long,
    /// A word that is in none of them.
    Foreign(String),
    /// Words that are no clause of them.
    Clause(String),
    /// It leaves out what limits the sentence.
    Limit(String),
    /// The text at this place gave nothing to it.
    Unused(usize),
}

fn listed(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

impl Clauses {
    pub(super) fn of(text: &str) -> Clauses {
        let mut words: Vec<Word> = Vec::new();
        let (mut begins, mut opens) = (true, true);
        for part in text.replace('\u{2026}', " \u{2026} ").split_whitespace() {
            let bare = part.trim_matches([
                '\u{201c}', '\u{201d}', '"', '`', '\'', '\u{2019}', '[', ']', '(', ')', ',', ';',
                ':',
            ]);
            let bare = bare.trim_end_matches(['.', '!', '?', ',', ';', ':', ')', '"', '\u{201d}']);
            let is_mark =
                |c: char| matches!(c, '\u{201c}' | '"' | '(' | '[' | '\u{2014}' | '\u{2013}');
            begins |= part.starts_with(is_mark);
            let text = if bare == "\u{2026}" { bare.to_owned() } else { fold(bare) };
            let is_said = text.chars().any(|c| c.is_alphanumeric() || is_sign(c));
            if is_said {
                begins |= listed(TIES, &text) || text == "and" || text == "or";
                if !listed(PLAIN, &text) {
                    words.push(Word { text, begins, opens });
                    (begins, opens) = (false, false);
                }
            } else {
                begins = true;
            }
            let rest = part.trim_end_matches(['"', '\u{201d}', ')', ']', '\'', '`']);
            let ends = rest.ends_with(['.', '!', '?']) && is_said;
            opens |= ends;
            begins |= ends || part.ends_with([',', ';', ':', ')', ']', '"', '\u{201d}']);
        }
        Clauses { words }
    }

    fn sentences(&self) -> Vec<&[Word]> {
        let starts: Vec<usize> =
            (0..self.words.len()).filter(|at| *at == 0 || self.words[*at].opens).collect();
        let ends = starts.iter().skip(1).copied().chain(std::iter::once(self.words.len()));
        starts.iter().zip(ends).map(|(from, to)| &self.words[*from..to]).collect()
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|own| own.text == word)
    }

    /// Whether the text is put together from clauses of the others, each of which it takes something of.
    pub(super) fn are_from(&self, sources: &[Clauses]) -> Result<(), Mismatch> {
        if self.words.is_empty() {
            return Err(Mismatch::Empty);
        }
        if self.words.len() > WORDS_MAX {
            return Err(Mismatch::Long);
        }
        let mut search =
            Search { line: self, used: BTreeSet::new(), next: BTreeSet::new(), limit: None };
        search.next.insert((0, None));
        let (mut furthest, mut is_whole) = (0, false);
        while let Some((at, before)) = search.next.pop_first() {
            furthest = furthest.max(at);
            if at == self.words.len() {
                is_whole = true;
                continue;
            }
            for (place, source) in sources.iter().enumerate() {
                for sentence in source.sentences() {
                    search.follow(at, before, place, sentence);
                }
            }
        }
        if !is_whole {
            return Err(self.mismatch(furthest, sources, search.limit));
        }
        match (0..sources.len()).find(|place| !search.used.contains(place)) {
            Some(place) => Err(Mismatch::Unused(place)),
            None => Ok(()),
        }
    }

    fn mismatch(&self, at: usize, sources: &[Clauses], limit: Option<String>) -> Mismatch {
        let rest = &self.words[at..];
        let opener = |word: &&Word| listed(OPENERS, &word.text) || listed(ADDED, &word.text);
        let known = |word: &Word| {
            sources.iter().flat_map(|source| &source.words).any(|own| same(&own.text, &word.text))
        };
        if let Some(word) = rest.iter().filter(|word| !opener(word)).find(|word| !known(word)) {
            return Mismatch::Foreign(word.text.clone());
        }
        if let Some(limit) = limit {
            return Mismatch::Limit(limit);
        }
        let said: Vec<&str> = rest.iter().take(8).map(|word| word.text.as_str()).collect();
        Mismatch::Clause(said.join(" "))
    }
}

/// The ways to read a line from its beginning.
struct Search<'a> {
    line: &'a Clauses,
    used: BTreeSet<usize>,
    /// Where the next clause begins, and where the one before did.
    next: BTreeSet<(usize, Option<usize>)>,
    limit: Option<String>,
}

impl Search<'_> {
    /// Reads on from a place of the line with clauses of one sentence.
    fn follow(&mut self, at: usize, before: Option<usize>, place: usize, sentence: &[Word]) {
        let line = &self.line.words;
        let is_first = before.is_none();
        let may_skip =
            |word: &Word| listed(ADDED, &word.text) || (is_first && listed(OPENERS, &word.text));
        let skipped = line[at..].iter().take_while(|word| may_skip(word)).count();
        for start in at..=at + skipped {
            let said: Vec<&Word> = line[start..].iter().collect();
            for from in (0..sentence.len()).filter(|from| *from == 0 || sentence[*from].begins) {
                // Without the beginning of its sentence a clause would speak of what the line named last.
                if from > 0 && !is_first {
                    continue;
                }
                for ends in runs(&said, sentence, from) {
                    self.reach((start + ends, start), place, sentence);
                }
            }
            let goes_on = line.get(start).is_some_and(|word| word.begins);
            let Some(before) = before.filter(|_| goes_on) else { continue };
            // "Kafka for login and the dashboard" says of the dashboard what was said of the login.
            for shared in 1..at - before {
                let said: Vec<&Word> =
                    line[before..before + shared].iter().chain(&line[start..]).collect();
                for ends in runs(&said, sentence, 0).into_iter().filter(|ends| *ends > shared) {
                    self.reach((start + ends - shared, before), place, sentence);
                }
            }
        }
    }

    /// The line is from a sentence up to a place; `start` is where the clause begins that others may share words with.
    fn reach(&mut self, (at, start): (usize, usize), place: usize, sentence: &[Word]) {
        let line = &self.line.words;
        if line.get(at).is_some_and(|word| !word.begins) {
            return;
        }
        let because = sentence.iter().position(|word| word.text == "because");
        let claimed = &sentence[..because.unwrap_or(sentence.len())];
        if let Some(limit) =
            claimed.iter().find(|word| limits(&word.text) && !self.line.has(&word.text))
        {
            self.limit.get_or_insert_with(|| limit.text.clone());
            return;
        }
        self.used.insert(place);
        self.next.insert((at, Some(start)));
    }
}

/// How many words are the whole clauses of a sentence from one of them on.
fn runs(said: &[&Word], sentence: &[Word], from: usize) -> BTreeSet<usize> {
    let may_skip =
        |word: &&Word| listed(TIES, &word.text) || (from == 0 && listed(OPENERS, &word.text));
    let skipped = sentence[from..].iter().take_while(may_skip).count();
    let mut ends = BTreeSet::new();
    for begin in from..=from + skipped {
        let alike =
            said.iter().zip(&sentence[begin..]).take_while(|(a, b)| same(&a.text, &b.text)).count();
        let is_end = |count: &usize| sentence.get(begin + count).is_none_or(|word| word.begins);
        ends.extend((1..=alike).filter(is_end));
    }
    ends
}

fn limits(word: &str) -> bool {
    listed(LIMIT_WORDS, word) || LIMITS.split(' ').any(|begins| word.starts_with(begins))
}

/// Signs that are words when they stand alone.
fn is_sign(c: char) -> bool {
    matches!(
        c,
        '/' | '\\'
            | '$'
            | '<'
            | '>'
            | '='
            | '|'
            | '&'
            | '~'
            | '^'
            | '*'
            | '+'
            | '%'
            | '@'
            | '#'
            | '\u{2026}'
    )
}

/// The same word; "use" and "uses" are one.
fn same(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    let is_word = short.len() > 2 && short.chars().all(char::is_alphabetic);
    long.strip_prefix(short)
        .is_some_and(|end| end.is_empty() || (is_word && matches!(end, "s" | "es")))
}

#[cfg(test)]
#[path = "clauses_tests.rs"]
mod tests;
