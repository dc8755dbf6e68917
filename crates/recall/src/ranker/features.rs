//! The features that the ranker looks at: whole numbers of one candidate for one question.
//!
//! What must stay true: a model names the features it was trained with, in this order; whoever adds, removes or changes
//! one changes `FEATURES_VERSION`, and the model must be trained again.

/// Changes with every change of what a feature means.
pub const FEATURES_VERSION: u16 = 2;

/// Declares the features with their names and what they say.
macro_rules! features {
    ($($feature:ident $name:literal $about:literal,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Feature {
            $(#[doc = $about] $feature,)*
        }

        impl Feature {
            pub const ALL: [Feature; FEATURES] = [$(Feature::$feature,)*];

            pub fn name(self) -> &'static str {
                match self {
                    $(Feature::$feature => $name,)*
                }
            }

            /// What it says, in words.
            pub fn about(self) -> &'static str {
                match self {
                    $(Feature::$feature => $about,)*
                }
            }
        }

        pub const FEATURES: usize = [$($name,)*].len();
    };
}

features! {
    Fused "fused" "the arms added by weight, thousandths",
    FusedRank "fused_rank" "its place by that",
    FusedGap "fused_gap" "how far behind the first by that",
    WordsPlace "words_place" "words with its neighbours', between the least and the most",
    WordsShare "words_share" "words of its own, thousandths of the most that any has",
    WordsRank "words_rank" "its place by words of its own",
    WordsReach "words_reach" "words of its own, thousandths of what a text of nothing else would have",
    WordsPresent "words_present" "the question's words that it has, by rarity, thousandths",
    WordsMissing "words_missing" "how many of the question's words it lacks",
    WordsBefore "words_before" "words of the turn before, as words_share",
    WordsAfter "words_after" "words of the turn after, as words_share",
    MeaningPlace "meaning_place" "meaning with its neighbours', between the least and the most",
    MeaningNear "meaning_near" "cosine of its nearest passage, thousandths",
    MeaningRank "meaning_rank" "its place by meaning",
    MeaningGap "meaning_gap" "cosine behind the nearest of all",
    MeaningWhole "meaning_whole" "cosine of the whole text, thousandths",
    WholeGap "whole_gap" "the same behind the nearest of all",
    MeaningBefore "meaning_before" "cosine of the turn before",
    MeaningAfter "meaning_after" "cosine of the turn after",
    InteractionPlace "interaction_place" "word-for-word match, between the least and the most",
    InteractionBest "interaction_best" "the same, thousandths",
    InteractionRank "interaction_rank" "its place by that",
    TokensSame "tokens_same" "question tokens that its best passage has, by rarity",
    TokensAnywhere "tokens_anywhere" "question tokens that it has anywhere, by rarity",
    TokensAlike "tokens_alike" "question tokens that it has a like for, by rarity",
    TokenRarest "token_rarest" "how well the rarest token of the question is met",
    Pairs "pairs" "neighbouring tokens of the question that stand side by side in it, thousandths",
    SessionPlace "session_place" "how much its session is about the question",
    SessionRank "session_rank" "the place of its session by that",
    SessionCrowd "session_crowd" "candidates from the same session",
    SessionAhead "session_ahead" "candidates from the same session before it",
    SessionPosition "session_position" "where in its session it is, thousandths",
    Speaker "speaker" "the question names who speaks, thousandths",
    OfAnother "of_another" "the question names another who speaks",
    Date "date" "it happened when the question says, thousandths",
    Entities "entities" "named things in common, by rarity, between the least and the most",
    Length "length" "sixteenths of a doubling of its tokens",
    LengthShare "length_share" "the same, above the median of the candidates",
    Person "person" "a person says it to an assistant",
    Assistant "assistant" "an assistant says it",
    Asks "asks" "it ends in a question mark",
    Recency "recency" "how many of the candidates happened before it, thousandths",
    QuestionTerms "question_terms" "words of the question",
    QuestionUnknown "question_unknown" "the question's words that no memory has, by rarity, thousandths",
    QuestionRarest "question_rarest" "the rarity of the rarest word that a memory has",
    StoreSize "store_size" "sixteenths of a doubling of the memories",
    WordsAround "words_around" "the question's words that it and the turns around it have, by rarity, thousandths",
    TokensAround "tokens_around" "word-for-word match together with the turns next to it, thousandths",
}

/// The features of one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureRow(pub [i32; FEATURES]);

impl Default for FeatureRow {
    fn default() -> FeatureRow {
        FeatureRow([0; FEATURES])
    }
}

impl FeatureRow {
    pub fn get(&self, feature: Feature) -> i32 {
        self.0[feature as usize]
    }

    /// What does not fit is as much as fits.
    pub(crate) fn set(&mut self, feature: Feature, value: u64) {
        self.0[feature as usize] = i32::try_from(value).unwrap_or(i32::MAX);
    }
}
