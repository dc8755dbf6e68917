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
const LIMIT_WORDS: &str = "\
may can cant cannot not no never none nothing nobody neither nor without avoid avoids dont doesnt \
didnt isnt arent wasnt wont shouldnt mustnt except excepting excluding barring besides provided \
providing pending once during outside temporarily provisional provisionally tentative draft trial \
unconfirmed unverified disputed stop stops stopped ended ends expired obsolete wish nicht kein keine \
keinen nie niemals ohne wenn nur vielleicht falls sofern solange ausser bis sauf jamais sans pas si \
nunca sin salvo excepto quiza";

/// Comparisons after which a line that is still not read to its end has too many readings.
const LOOKS_MAX: usize = 200_000;
/// Words that a label before a colon has at most, of those that say something.
const LABEL_WORDS: usize = 1;
/// Words of a text that is looked at.
pub(super) const WORDS_MAX: usize = 80;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    text: String,
    /// A clause begins with it.
    begins: bool,
    /// A sentence begins with it.
    opens: bool,
    /// It stands behind a colon or in quotes: somebody is told it, or says it.
    told: bool,
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
        let (mut begins, mut opens, mut told) = (true, true, false);
        for part in text.replace('\u{2026}', " \u{2026} ").split_whitespace() {
            let bare = part.trim_matches([
                '\u{201c}', '\u{201d}', '"', '`', '\'', '\u{2019}', '[', ']', '(', ')', ',', ';',
                ':',
            ]);
            let bare = bare.trim_end_matches(['.', '!', '?', ',', ';', ':', ')', '"', '\u{201d}']);
            let is_mark =
                |c: char| matches!(c, '\u{201c}' | '"' | '(' | '[' | '\u{2014}' | '\u{2013}');
            begins |= part.starts_with(is_mark);
            told |= part.starts_with(['\u{201c}', '"']);
            let text = if bare == "\u{2026}" { bare.to_owned() } else { fold(bare) };
            let is_said = text.chars().any(|c| c.is_alphanumeric() || is_sign(c));
            if is_said {
                begins |= listed(TIES, &text) || text == "and" || text == "or";
                if !listed(PLAIN, &text) {
                    words.push(Word { text, begins, opens, told });
                    (begins, opens) = (false, false);
                }
            } else {
                begins = true;
            }
            let rest = part.trim_end_matches(['"', '\u{201d}', ')', ']', '\'', '`']);
            let ends = rest.ends_with(['.', '!', '?']) && is_said;
            opens |= ends;
            // "Must: …" has a label, "Bo told the agent: …" says what somebody said.
            let before = words.iter().rev().position(|word| word.opens).unwrap_or_default();
            told = !ends && (told || (part.ends_with(':') && before >= LABEL_WORDS));
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
        let sentences = sources.iter().enumerate().flat_map(|(place, source)| {
            source.sentences().into_iter().map(move |words| Sentence::of(words, place, self))
        });
        let sentences: Vec<Sentence<'_>> = sentences.collect();
        let mut search = Search::new(self);
        let (mut furthest, mut is_whole) = (0, false);
        // The furthest place first: most lines are read to their end without a look at the other readings.
        while let Some((at, before)) = search.next.pop_last() {
            furthest = furthest.max(at);
            is_whole |= at == self.words.len();
            if is_whole && search.used.len() == sources.len() {
                return Ok(());
            }
            if at == self.words.len() {
                continue;
            }
            for sentence in &sentences {
                search.follow(at, before, sentence);
            }
            if search.looks > LOOKS_MAX {
                return Err(Mismatch::Long);
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

/// A sentence of a source, with what is looked up for every reading of it.
struct Sentence<'a> {
    words: &'a [Word],
    /// The source it is from.
    place: usize,
    /// Where its clauses begin.
    starts: Vec<usize>,
    /// A word that limits what it claims, and that the line leaves out.
    left_out: Option<&'a str>,
}

impl<'a> Sentence<'a> {
    fn of(words: &'a [Word], place: usize, line: &Clauses) -> Sentence<'a> {
        let because = words.iter().position(|word| word.text == "because");
        let claimed = &words[..because.unwrap_or(words.len())];
        let left_out = claimed.iter().find(|word| limits(&word.text) && !line.has(&word.text));
        let starts = (0..words.len()).filter(|at| *at == 0 || words[*at].begins).collect();
        Sentence { words, place, starts, left_out: left_out.map(|word| word.text.as_str()) }
    }
}

/// The ways to read a line from its beginning.
struct Search<'a> {
    line: &'a Clauses,
    used: BTreeSet<usize>,
    /// Where the next clause begins, and where the one before did.
    next: BTreeSet<(usize, Option<usize>)>,
    seen: BTreeSet<(usize, Option<usize>)>,
    limit: Option<String>,
    /// Comparisons of a line with a sentence.
    looks: usize,
}

impl<'a> Search<'a> {
    fn new(line: &'a Clauses) -> Search<'a> {
        let start = BTreeSet::from([(0, None)]);
        Search {
            line,
            used: BTreeSet::new(),
            next: start.clone(),
            seen: start,
            limit: None,
            looks: 0,
        }
    }

    /// Reads on from a place of the line with clauses of one sentence.
    fn follow(&mut self, at: usize, before: Option<usize>, sentence: &Sentence<'_>) {
        let line = &self.line.words;
        let is_first = before.is_none();
        let may_skip =
            |word: &Word| listed(ADDED, &word.text) || (is_first && listed(OPENERS, &word.text));
        let skipped = line[at..].iter().take_while(|word| may_skip(word)).count();
        for start in at..=at + skipped {
            for from in sentence.starts.iter().copied() {
                // Without the beginning of its sentence a clause would speak of what the line named last, and what
                // somebody was told or said would be said by the line.
                if from > 0 && (!is_first || sentence.words[from].told) {
                    continue;
                }
                self.looks += 1;
                for ends in runs(&line[start..].iter(), sentence.words, from) {
                    self.reach((start + ends, start), sentence);
                }
            }
            let goes_on = line.get(start).is_some_and(|word| word.begins);
            let Some(before) = before.filter(|_| goes_on) else { continue };
            // "Kafka for login and the dashboard" says of the dashboard what was said of the login.
            for shared in 1..at - before {
                self.looks += 1;
                let said = line[before..before + shared].iter().chain(&line[start..]);
                for ends in runs(&said, sentence.words, 0).into_iter().filter(|ends| *ends > shared)
                {
                    self.reach((start + ends - shared, before), sentence);
                }
            }
        }
    }

    /// The line is from a sentence up to a place; `start` is where the clause begins that others may share words with.
    fn reach(&mut self, (at, start): (usize, usize), sentence: &Sentence<'_>) {
        if self.line.words.get(at).is_some_and(|word| !word.begins) {
            return;
        }
        if let Some(limit) = sentence.left_out {
            self.limit.get_or_insert_with(|| limit.to_owned());
            return;
        }
        self.used.insert(sentence.place);
        let reached = (at, Some(start));
        if self.seen.insert(reached) {
            self.next.insert(reached);
        }
    }
}

/// How many words are the whole clauses of a sentence from one of them on.
fn runs<'a>(
    said: &(impl Iterator<Item = &'a Word> + Clone),
    sentence: &[Word],
    from: usize,
) -> Vec<usize> {
    let may_skip =
        |word: &&Word| listed(TIES, &word.text) || (from == 0 && listed(OPENERS, &word.text));
    let first = said.clone().next().map(|word| word.text.as_str()).unwrap_or_default();
    let mut ends = Vec::new();
    for begin in from..sentence.len() {
        if same(first, &sentence[begin].text) {
            let is_end = |count: &usize| sentence.get(begin + count).is_none_or(|word| word.begins);
            let alike = said
                .clone()
                .zip(&sentence[begin..])
                .take_while(|(a, b)| same(&a.text, &b.text))
                .count();
            ends.extend((1..=alike).filter(is_end));
        }
        if !may_skip(&&sentence[begin]) {
            break;
        }
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
