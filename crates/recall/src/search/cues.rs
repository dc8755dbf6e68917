//! Cues: what the wording of a question asks for, and what the wording of a text offers.
//!
//! They are read from the tokens of the built-in model, whose words are English; a question without cues moves nothing.
//! What must stay true: a function of the tokens, in whole numbers, and bounded by the tokens looked at.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::embedding::StaticEmbedder;

/// Tokens of a question that are looked at in their order.
const SEQUENCE_MAX: usize = 256;

const FIRST_PERSON: &str = "i my me mine myself we our us";
const SECOND_PERSON: &str = "you your yours yourself";
const LATEST: &str = "latest current currently now recent recently newest updated today still";
const EARLIEST: &str = "first initially initial originally earliest began beginning started";
const WHOLE: &str =
    "order sequence summarize summary overview chronological throughout across timeline
    evolved overall";
const TIMES: &str = "when date year month day long since until deadline";
const COUNTS: &str = "many much percentage number score cost price total average age amount";
const MOMENTS: &str = "january february march april june july august september october november december monday tuesday
    wednesday thursday friday saturday sunday yesterday today tomorrow tonight ago week weeks month months year years
    weekend morning evening night days day last next";
const STANDING: &str =
    "always never prefer preferred prefers preference avoid whenever must dislike
    favorite favourite";

/// What a token says by itself, one bit each.
type CueBits = u16;

const IS_FIRST_PERSON: CueBits = 1;
const IS_SECOND_PERSON: CueBits = 1 << 1;
const IS_LATEST: CueBits = 1 << 2;
const IS_EARLIEST: CueBits = 1 << 3;
const IS_WHOLE: CueBits = 1 << 4;
const IS_TIME: CueBits = 1 << 5;
const IS_COUNT: CueBits = 1 << 6;
const IS_MOMENT: CueBits = 1 << 7;
const IS_STANDING: CueBits = 1 << 8;
const IS_END: CueBits = 1 << 9;
const IS_NUMBER: CueBits = 1 << 10;

const LISTS: [(CueBits, &str); 10] = [
    (IS_FIRST_PERSON, FIRST_PERSON),
    (IS_SECOND_PERSON, SECOND_PERSON),
    (IS_LATEST, LATEST),
    (IS_EARLIEST, EARLIEST),
    (IS_WHOLE, WHOLE),
    (IS_TIME, TIMES),
    (IS_COUNT, COUNTS),
    (IS_MOMENT, MOMENTS),
    (IS_STANDING, STANDING),
    (IS_END, ". ! ? :"),
];

/// The cues of each token of the model.
static CUES: LazyLock<Vec<CueBits>> = LazyLock::new(|| {
    let table = StaticEmbedder::shared().table();
    let digits =
        |piece: &str| piece.trim_start_matches('#').starts_with(|c: char| c.is_ascii_digit());
    let ids = (0u32..).take(table.len());
    let number = |id: u32| table.piece(id).is_some_and(digits);
    let mut cues: Vec<CueBits> = ids.map(|id| if number(id) { IS_NUMBER } else { 0 }).collect();
    for (bit, words) in LISTS {
        for word in words.split_whitespace() {
            // A word of several tokens cannot be told from its parts and is left out.
            if let [id] = table.token_ids(word)[..]
                && let Some(cue) = usize::try_from(id).ok().and_then(|at| cues.get_mut(at))
            {
                *cue |= bit;
            }
        }
    }
    cues
});

fn cues_of(token: u16) -> CueBits {
    CUES.get(usize::from(token)).copied().unwrap_or(0)
}

/// What kind of answer a question wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wanted {
    #[default]
    Any,
    Number,
    Moment,
}

/// A question as a sequence of tokens, with what its wording asks for.
#[derive(Clone, Debug, Default)]
pub(super) struct AskedTokens {
    sequence: Vec<u16>,
    /// Where in the question each of its tokens stands.
    places: FxHashMap<u16, Vec<usize>>,
    wanted: Wanted,
    cues: CueBits,
}

/// What the wording of one text says to a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TextCues {
    /// The longest run of the question's tokens.
    pub(super) run: u64,
    /// Tokens of its first sentence, and those of them that the question has.
    pub(super) opening: (u64, u64),
    /// Thousandths of its tokens that speak of the speaker.
    pub(super) own: u64,
    /// Thousandths of its tokens that the question has.
    pub(super) density: u64,
    /// It has what the question wants: 0 no, 1 nothing is wanted, 2 yes.
    pub(super) wanted: u64,
    /// It states a rule or a preference.
    pub(super) standing: bool,
    pub(super) numbers: u64,
}

/// Tokens of a first sentence that are looked at.
const OPENING_MAX: usize = 32;

impl AskedTokens {
    pub(super) fn of(text: &str) -> AskedTokens {
        let ids = StaticEmbedder::shared().table().token_ids(text);
        let sequence: Vec<u16> =
            ids.into_iter().take(SEQUENCE_MAX).filter_map(|id| u16::try_from(id).ok()).collect();
        let cues = sequence.iter().fold(0, |cues, token| cues | cues_of(*token));
        let wanted = if cues & IS_COUNT != 0 {
            Wanted::Number
        } else if cues & IS_TIME != 0 {
            Wanted::Moment
        } else {
            Wanted::Any
        };
        let mut places: FxHashMap<u16, Vec<usize>> = FxHashMap::default();
        for (place, token) in sequence.iter().enumerate() {
            places.entry(*token).or_default().push(place);
        }
        AskedTokens { sequence, places, wanted, cues }
    }

    /// Tokens that were looked at.
    pub(super) fn len(&self) -> u64 {
        self.sequence.len() as u64
    }

    /// Who asks speaks of what they said or did themselves.
    pub(super) fn is_of_asker(&self) -> bool {
        self.cues & IS_FIRST_PERSON != 0
    }

    /// Who asks speaks of what the other one said.
    pub(super) fn is_of_other(&self) -> bool {
        self.cues & IS_SECOND_PERSON != 0
    }

    pub(super) fn wants_latest(&self) -> bool {
        self.cues & IS_LATEST != 0
    }

    pub(super) fn wants_earliest(&self) -> bool {
        self.cues & IS_EARLIEST != 0
    }

    /// It asks for many memories at once: an order of events, a summary.
    pub(super) fn wants_whole(&self) -> bool {
        self.cues & IS_WHOLE != 0
    }

    /// What the passages of a text say to the question.
    pub(super) fn cues<'t>(&self, passages: impl Iterator<Item = &'t [u16]>) -> TextCues {
        let mut found = TextCues::default();
        let (mut all, mut own, mut known) = (0u64, 0u64, 0u64);
        let mut met = false;
        let wanted = match self.wanted {
            Wanted::Any => 0,
            Wanted::Number => IS_NUMBER,
            Wanted::Moment => IS_NUMBER | IS_MOMENT,
        };
        // Runs that end at the token before: where in the question, and how long.
        let (mut runs, mut longer): (Vec<(usize, u64)>, Vec<(usize, u64)>) = <_>::default();
        for (place, tokens) in passages.enumerate() {
            if place == 0 {
                let end = tokens.iter().position(|token| cues_of(*token) & IS_END != 0);
                let opening = &tokens[..end.unwrap_or(tokens.len()).min(OPENING_MAX)];
                let shared = opening.iter().filter(|token| self.places.contains_key(token));
                found.opening = (opening.len() as u64, shared.count() as u64);
            }
            all += tokens.len() as u64;
            runs.clear();
            for token in tokens {
                let cues = cues_of(*token);
                own += u64::from(cues & IS_FIRST_PERSON != 0);
                found.standing |= cues & IS_STANDING != 0;
                found.numbers += u64::from(cues & IS_NUMBER != 0);
                longer.clear();
                if let Some(places) = self.places.get(token) {
                    known += 1;
                    for at in places {
                        let before = runs.iter().find(|(end, _)| end + 1 == *at);
                        let length = before.map_or(0, |(_, length)| *length) + 1;
                        found.run = found.run.max(length);
                        longer.push((*at, length));
                    }
                } else {
                    met |= cues & wanted != 0;
                }
                std::mem::swap(&mut runs, &mut longer);
            }
        }
        found.own = own * 1_000 / all.max(1);
        found.density = known * 1_000 / all.max(1);
        found.wanted = if self.wanted == Wanted::Any { 1 } else { u64::from(met) * 2 };
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cues(question: &str, text: &str) -> TextCues {
        let table = StaticEmbedder::shared().table();
        let tokens: Vec<u16> =
            table.token_ids(text).into_iter().filter_map(|id| u16::try_from(id).ok()).collect();
        AskedTokens::of(question).cues([&tokens[..]].into_iter())
    }

    // Q1
    #[test]
    fn wording_says_what_is_asked_for() {
        let asked = AskedTokens::of("What is my current score?");
        assert!(asked.is_of_asker() && asked.wants_latest());
        assert!(!asked.wants_whole() && !asked.is_of_other());
        assert!(AskedTokens::of("Summarize what you told me").wants_whole());
        assert_eq!(cues("How many cats are there?", "There are 12 cats").wanted, 2);
        assert_eq!(cues("How many cats are there?", "There are cats").wanted, 0);
        assert_eq!(cues("Which cats are there?", "There are 12 cats").wanted, 1);
        assert_eq!(cues("When did she leave?", "She left on monday").wanted, 2);
        assert!(cues("tables?", "Always add a table").standing);
    }

    // Q1
    #[test]
    fn a_run_is_found_wherever_it_stands() {
        let found = cues("fix the race in the writer", "today we fix the race in readers");
        assert_eq!(found.run, 4);
        assert_eq!(cues("fix the race", "").run, 0);
        assert_eq!(cues("add a cache", "Add a cache. And then more").opening, (3, 3));
    }

    #[test]
    fn a_question_of_any_length_is_bounded() {
        assert_eq!(AskedTokens::of(&"word ".repeat(10_000)).len(), SEQUENCE_MAX as u64);
    }
}
