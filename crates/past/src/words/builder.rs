//! Counts the words of turns while segments are made.
//!
//! What must stay true: the terms of a document are those that `recall`'s analyzer finds in its texts; a memo of words
//! changes the time and never a term. What a child was told, summaries and outputs are work, not speech. Of an output
//! that went well, and of the text of an edit, only some bytes are counted: they are most of a history, and nobody
//! looks for their middle.

use foldhash::HashMap;
use text::analyze::{ANALYZER_VERSION, Analyzer};
use text::index::{FIELDS, FieldWeight, FieldWeights, TextField, impact};

use super::part::{DocumentRow, PartWriter, Posting, PostingList, SegmentName};
use super::sketches::{self, SketchRows};
use crate::assembler::SegmentObserver;
use crate::catalog::SegmentRow;
use crate::limits::{EDIT_WORDS_BYTES_MAX, OUTPUT_WORDS_BYTES_MAX, POSTINGS_MAX};
use transcripts::cleaner::cut;
use transcripts::session::{ItemBody, PastItem, SessionInfo, SessionKind};

const TITLE: TextField = TextField::TITLE;
const ANSWER: TextField = TextField::CONTENT;
const PROMPT: TextField = TextField::TAGS;
const PATH: TextField = TextField::SPEAKER;
const WORK: TextField = TextField::ENTITIES;

/// Terms that are remembered from one part to the next. When there are more it starts over.
const TERMS_KEPT_MAX: usize = 300_000;
/// Words that are remembered with their terms.
const MEMO_WORDS_MAX: usize = 200_000;
/// A longer word is data and seldom comes again.
const MEMO_WORD_BYTES_MAX: usize = 40;
/// Bytes of a run without a space that are analyzed: what is longer is data.
const RUN_BYTES_MAX: usize = 512;

/// What an occurrence is worth, in sixteenths, and the length at which it is worth exactly that.
const fn field(sixteenths: u16, reference: u16) -> FieldWeight {
    FieldWeight { sixteenths, reference }
}

const NOTHING: FieldWeight = field(0, 1);
/// Title, answer, prompt, path.
const SPEECH: FieldWeights = FieldWeights {
    fields: [field(16, 8), field(16, 96), field(21, 32), field(16, 16), NOTHING, NOTHING],
};
const DEEDS: FieldWeights =
    FieldWeights { fields: [NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, field(16, 256)] };

/// Collects documents until they are made a part.
#[derive(Debug)]
pub(crate) struct WordsBuilder {
    analyzer: Analyzer,
    dictionary: TermDictionary,
    segments: Vec<SegmentName>,
    documents: Vec<DocumentRow>,
    /// In order of documents; a part wants them in order of terms.
    postings: Vec<TermPosting>,
    sketches: SketchRows,
    open: OpenDocument,
}

/// Terms by number, and words met before with the numbers of their terms.
#[derive(Debug, Default)]
struct TermDictionary {
    terms: HashMap<Box<str>, u32>,
    memo: HashMap<Box<str>, MemoRow>,
    memo_numbers: Vec<u32>,
}

/// Where the numbers of a word stand.
#[derive(Clone, Copy, Debug)]
struct MemoRow {
    start: u32,
    length: u32,
}

#[derive(Clone, Copy, Debug)]
struct TermPosting {
    term: u32,
    posting: Posting,
}

/// The document whose words are counted.
#[derive(Debug, Default)]
struct OpenDocument {
    /// Its number and one, so that zero is none.
    number: u32,
    lengths: [u32; FIELDS],
    counts: Vec<(u32, [u32; FIELDS])>,
    /// For each term, where it stands in `counts` of the document that had it last.
    places: Vec<TermPlace>,
}

#[derive(Clone, Copy, Debug, Default)]
struct TermPlace {
    document: u32,
    at: u32,
}

impl OpenDocument {
    fn count(&mut self, numbers: &[u32], field: TextField) {
        for number in numbers {
            let term = *number as usize;
            if self.places.len() <= term {
                self.places.resize(term + 1, TermPlace::default());
            }
            self.lengths[field.index()] += 1;
            let place = &mut self.places[term];
            if place.document != self.number {
                let at = u32::try_from(self.counts.len()).unwrap_or(u32::MAX);
                *place = TermPlace { document: self.number, at };
                self.counts.push((*number, [0; FIELDS]));
            }
            self.counts[place.at as usize].1[field.index()] += 1;
        }
    }
}

impl TermDictionary {
    fn number(&mut self, term: &str) -> u32 {
        if let Some(number) = self.terms.get(term) {
            return *number;
        }
        let number = u32::try_from(self.terms.len()).unwrap_or(u32::MAX);
        self.terms.insert(term.into(), number);
        number
    }

    /// The numbers of the terms of a word, behind those that `memo_numbers` has.
    fn analyzed(&mut self, analyzer: &Analyzer, word: &str) -> MemoRow {
        let start = self.memo_numbers.len();
        analyzer.terms(word, &mut |term, _| {
            let number = self.number(term);
            self.memo_numbers.push(number);
        });
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        MemoRow { start: place(start), length: place(self.memo_numbers.len() - start) }
    }

    /// Keeps the numbers of a word for the next time; when there are too many words it starts over.
    fn remember(&mut self, word: &str, row: MemoRow) {
        if word.len() > MEMO_WORD_BYTES_MAX {
            self.memo_numbers.truncate(row.start as usize);
        } else if self.memo.len() >= MEMO_WORDS_MAX {
            self.memo.clear();
            self.memo_numbers.clear();
        } else {
            self.memo.insert(word.into(), row);
        }
    }

    fn numbers(&self, row: MemoRow) -> &[u32] {
        &self.memo_numbers[row.start as usize..][..row.length as usize]
    }
}

impl WordsBuilder {
    pub(crate) fn new(analyzer: Analyzer) -> WordsBuilder {
        WordsBuilder {
            analyzer,
            dictionary: TermDictionary::default(),
            segments: Vec::new(),
            documents: Vec::new(),
            postings: Vec::new(),
            sketches: SketchRows::default(),
            open: OpenDocument::default(),
        }
    }

    /// Which analyzer's terms a part holds.
    pub(crate) fn analysis(analyzer: &Analyzer) -> (u32, u32) {
        (ANALYZER_VERSION, analyzer.language().code())
    }

    pub(crate) fn is_full(&self) -> bool {
        self.postings.len() >= POSTINGS_MAX
    }

    /// The part of all documents so far; none if there are none.
    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        if self.documents.is_empty() {
            return None;
        }
        let (starts, sorted) = self.by_term();
        let mut terms: Vec<(&str, u32)> = self
            .dictionary
            .terms
            .iter()
            .map(|(term, number)| (&**term, *number))
            .filter(|(_, number)| starts[*number as usize] < starts[*number as usize + 1])
            .collect();
        terms.sort_unstable();
        let mut writer = PartWriter::default();
        for (term, number) in terms {
            let number = number as usize;
            let mut list = PostingList::default();
            sorted[starts[number] as usize..starts[number + 1] as usize]
                .iter()
                .for_each(|posting| list.push(*posting));
            writer.term(term.as_bytes(), list.bytes());
        }
        let analysis = Self::analysis(&self.analyzer);
        let segments = std::mem::take(&mut self.segments);
        let documents = std::mem::take(&mut self.documents);
        let sketches = std::mem::take(&mut self.sketches);
        self.postings = Vec::new();
        self.open = OpenDocument::default();
        if self.dictionary.terms.len() > TERMS_KEPT_MAX {
            self.dictionary = TermDictionary::default();
        }
        Some(writer.finish(analysis, segments, documents, &sketches))
    }

    /// The postings in order of their terms, and where those of each term begin.
    fn by_term(&self) -> (Vec<u32>, Vec<Posting>) {
        let mut starts = vec![0_u32; self.dictionary.terms.len() + 1];
        for row in &self.postings {
            starts[row.term as usize + 1] += 1;
        }
        for term in 1..starts.len() {
            starts[term] += starts[term - 1];
        }
        let mut next = starts.clone();
        let mut sorted = vec![Posting::default(); self.postings.len()];
        for row in &self.postings {
            let place = &mut next[row.term as usize];
            sorted[*place as usize] = row.posting;
            *place += 1;
        }
        (starts, sorted)
    }

    fn count(&mut self, field: TextField, text: &str) {
        for run in text.split_ascii_whitespace() {
            // Most runs are a word and nothing else.
            if run.len() <= RUN_BYTES_MAX && run.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                self.count_word(field, run);
                continue;
            }
            // Signs around a word make many runs of few words.
            let run = cut(run, RUN_BYTES_MAX);
            match self.analyzer.clone().words(run) {
                Some(words) => words.for_each(|word| self.count_word(field, word)),
                None => self.count_word(field, run),
            }
        }
    }

    fn count_word(&mut self, field: TextField, word: &str) {
        if let Some(row) = self.dictionary.memo.get(word) {
            self.open.count(self.dictionary.numbers(*row), field);
            return;
        }
        let row = self.dictionary.analyzed(&self.analyzer, word);
        self.open.count(self.dictionary.numbers(row), field);
        self.dictionary.remember(word, row);
    }

    fn begin_document(&mut self) {
        self.open.number = u32::try_from(self.documents.len() + 1).unwrap_or(u32::MAX);
        self.open.lengths = [0; FIELDS];
        self.open.counts.clear();
    }

    fn end_document(&mut self, row: DocumentRow) {
        self.documents.push(row);
        let (document, lengths) = (self.open.number - 1, &self.open.lengths);
        for (term, tfs) in &self.open.counts {
            let work = tfs[WORK.index()];
            let is_said = tfs.iter().sum::<u32>() > work;
            let speech = if is_said { impact(&SPEECH, lengths, tfs) } else { 0 };
            let work = if work > 0 { impact(&DEEDS, lengths, tfs) } else { 0 };
            let posting = Posting { document, speech, work };
            self.postings.push(TermPosting { term: *term, posting });
        }
    }

    fn count_item(&mut self, item: &PastItem, is_child: bool) {
        let [first, second, third] = item.body.texts();
        match &item.body {
            ItemBody::Prompt { .. } => self.count(if is_child { WORK } else { PROMPT }, first),
            ItemBody::Answer { .. } => self.count(ANSWER, first),
            ItemBody::Read { .. } => self.count(PATH, first),
            ItemBody::Edit { .. } => {
                self.count(PATH, first);
                self.count(WORK, cut(second, EDIT_WORDS_BYTES_MAX));
                self.count(WORK, cut(third, EDIT_WORDS_BYTES_MAX));
            }
            ItemBody::Output { error: false, .. } => {
                self.count(WORK, cut(first, OUTPUT_WORDS_BYTES_MAX));
            }
            _ => {
                self.count(WORK, first);
                self.count(WORK, second);
            }
        }
    }
}

impl SegmentObserver for WordsBuilder {
    fn made(&mut self, row: &SegmentRow, info: &SessionInfo, items: &[PastItem]) {
        let segment = u32::try_from(self.segments.len()).unwrap_or(u32::MAX);
        self.segments.push(SegmentName { digest: row.digest });
        let mut by_turn: Vec<&PastItem> = items.iter().collect();
        by_turn.sort_by_key(|item| item.turn);
        let is_child = info.kind == SessionKind::Child;
        for turn in by_turn.chunk_by(|one, other| one.turn == other.turn) {
            self.begin_document();
            self.count(TITLE, info.title.as_deref().unwrap_or(""));
            turn.iter().for_each(|item| self.count_item(item, is_child));
            self.sketches.push(&sketches::sketches(&said(turn, is_child)));
            let at = turn.iter().map(|item| item.at).max().unwrap_or(0);
            self.end_document(DocumentRow { segment, turn: turn[0].turn, at });
        }
    }
}

/// The passages of what was said in a turn. What a child was told is work, and has none.
fn said<'t>(turn: &[&'t PastItem], is_child: bool) -> Vec<&'t str> {
    let prompt = turn.iter().find_map(|item| match &item.body {
        ItemBody::Prompt { text, .. } if !is_child => Some(text.as_str()),
        _ => None,
    });
    let answers = turn.iter().filter_map(|item| match &item.body {
        ItemBody::Answer { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let answers: Vec<&str> = answers.collect();
    sketches::passages(prompt, &answers)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use text::analyze::Language;

    use super::*;

    fn terms(analyzer: &Analyzer, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        analyzer.terms(text, &mut |term, _| found.push(term.to_owned()));
        found
    }

    proptest! {
        /// The memo is of words, and an index made with it has the terms that a question has.
        #[test]
        fn words_by_themselves_have_the_terms_of_their_run(
            run in "[a-zA-Z0-9_./:@#+'(){}\\[\\]<>=,;!?\"`|&*-]{1,40}",
            french in any::<bool>(),
        ) {
            let language = if french { Language::French } else { Language::English };
            let analyzer = Analyzer::new(language);
            let words = analyzer.words(&run).unwrap();
            let by_word: Vec<String> = words.flat_map(|word| terms(&analyzer, word)).collect();
            prop_assert_eq!(by_word, terms(&analyzer, &run));
        }
    }
}
