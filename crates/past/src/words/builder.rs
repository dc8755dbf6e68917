//! Counts the words of turns while segments are made.
//!
//! What must stay true: the terms of a document are those that `recall`'s analyzer finds in its texts; a memo of words
//! changes the time and never a term. What a child was told, summaries and outputs are work, not speech.

use foldhash::HashMap;
use recall::analyze::{ANALYZER_VERSION, Analyzer};
use recall::text::{FIELDS, FieldWeight, FieldWeights, TextField, impact};

use super::part::{self, DocumentRow, Posting, PostingList, SegmentName};
use super::sketches;
use crate::assembler::SegmentObserver;
use crate::catalog::SegmentRow;
use crate::limits::POSTINGS_MAX;
use crate::session::{ItemBody, PastItem, SessionInfo, SessionKind};

const TITLE: TextField = TextField::TITLE;
const ANSWER: TextField = TextField::CONTENT;
const PROMPT: TextField = TextField::TAGS;
const PATH: TextField = TextField::SPEAKER;
const WORK: TextField = TextField::ENTITIES;

/// Words that are remembered with their terms. When there are more it starts over.
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
    terms: HashMap<Box<str>, u32>,
    lists: Vec<PostingList>,
    /// Words met before, with the numbers of their terms.
    memo: HashMap<Box<str>, Box<[u32]>>,
    segments: Vec<SegmentName>,
    documents: Vec<DocumentRow>,
    postings: usize,
    /// The sketches of each document, in order.
    sketches: Vec<u8>,
    /// For each term, where it stands among the terms of the document that was counted last with it.
    places: Vec<TermPlace>,
}

#[derive(Clone, Copy, Debug, Default)]
struct TermPlace {
    /// The number of the document after it, so that zero is none.
    document: u32,
    at: usize,
}

impl WordsBuilder {
    pub(crate) fn new(analyzer: Analyzer) -> WordsBuilder {
        WordsBuilder {
            analyzer,
            terms: HashMap::default(),
            lists: Vec::new(),
            memo: HashMap::default(),
            segments: Vec::new(),
            documents: Vec::new(),
            postings: 0,
            sketches: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Which analyzer's terms a part holds.
    pub(crate) fn analysis(analyzer: &Analyzer) -> (u32, u32) {
        (ANALYZER_VERSION, analyzer.language().code())
    }

    pub(crate) fn is_full(&self) -> bool {
        self.postings >= POSTINGS_MAX
    }

    /// The part of all documents so far; none if there are none.
    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        let fresh = WordsBuilder::new(self.analyzer.clone());
        let full = std::mem::replace(self, fresh);
        if full.documents.is_empty() {
            self.memo = full.memo;
            self.terms = full.terms;
            self.lists = full.lists;
            return None;
        }
        let mut terms: Vec<(&str, u32)> =
            full.terms.iter().map(|(term, number)| (&**term, *number)).collect();
        terms.sort_unstable();
        let lists = terms
            .iter()
            .map(|(term, number)| (*term, &full.lists[*number as usize]))
            .filter(|(_, list)| list.length() > 0);
        let analysis = Self::analysis(&full.analyzer);
        Some(part::pack(analysis, full.segments, full.documents, lists, &full.sketches))
    }

    fn number(terms: &mut HashMap<Box<str>, u32>, lists: &mut Vec<PostingList>, term: &str) -> u32 {
        if let Some(number) = terms.get(term) {
            return *number;
        }
        let number = u32::try_from(lists.len()).unwrap_or(u32::MAX);
        lists.push(PostingList::default());
        terms.insert(term.into(), number);
        number
    }

    fn count(&mut self, field: TextField, text: &str, found: &mut Vec<(u32, TextField)>) {
        for word in text.split_ascii_whitespace() {
            if let Some(numbers) = self.memo.get(word) {
                found.extend(numbers.iter().map(|number| (*number, field)));
                continue;
            }
            let word = &word[..word.floor_char_boundary(RUN_BYTES_MAX)];
            let (terms, lists) = (&mut self.terms, &mut self.lists);
            let mut numbers: Vec<u32> = Vec::new();
            self.analyzer
                .terms(word, &mut |term, _| numbers.push(Self::number(terms, lists, term)));
            found.extend(numbers.iter().map(|number| (*number, field)));
            if word.len() <= MEMO_WORD_BYTES_MAX {
                if self.memo.len() >= MEMO_WORDS_MAX {
                    self.memo.clear();
                }
                self.memo.insert(word.into(), numbers.into());
            }
        }
    }

    fn document(&mut self, row: DocumentRow, found: &[(u32, TextField)]) {
        let document = u32::try_from(self.documents.len()).unwrap_or(u32::MAX);
        self.documents.push(row);
        let mut lengths = [0_u32; FIELDS];
        let mut counts: Vec<(u32, [u32; FIELDS])> = Vec::new();
        self.places.resize(self.lists.len(), TermPlace::default());
        for (number, field) in found {
            lengths[field.index()] += 1;
            let place = &mut self.places[*number as usize];
            if place.document != document + 1 {
                *place = TermPlace { document: document + 1, at: counts.len() };
                counts.push((*number, [0; FIELDS]));
            }
            counts[place.at].1[field.index()] += 1;
        }
        self.postings += counts.len();
        for (number, tfs) in counts {
            let work = tfs[WORK.index()];
            let is_said = tfs.iter().sum::<u32>() > work;
            let speech = if is_said { impact(&SPEECH, &lengths, &tfs) } else { 0 };
            let work = if work > 0 { impact(&DEEDS, &lengths, &tfs) } else { 0 };
            self.lists[number as usize].push(Posting { document, speech, work });
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
            let mut found = Vec::new();
            self.count(TITLE, info.title.as_deref().unwrap_or(""), &mut found);
            for item in turn {
                let [first, second, third] = item.body.texts();
                match &item.body {
                    ItemBody::Prompt { .. } => {
                        self.count(if is_child { WORK } else { PROMPT }, first, &mut found);
                    }
                    ItemBody::Answer { .. } => self.count(ANSWER, first, &mut found),
                    ItemBody::Read { .. } => self.count(PATH, first, &mut found),
                    ItemBody::Edit { .. } => {
                        self.count(PATH, first, &mut found);
                        self.count(WORK, second, &mut found);
                        self.count(WORK, third, &mut found);
                    }
                    _ => {
                        self.count(WORK, first, &mut found);
                        self.count(WORK, second, &mut found);
                    }
                }
            }
            sketches::push(&sketches::sketches(&said(turn, is_child)), &mut self.sketches);
            let at = turn.iter().map(|item| item.at).max().unwrap_or(0);
            self.document(DocumentRow { segment, turn: turn[0].turn, at }, &found);
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
