//! Languages: which Snowball stemmer reads which word.
//!
//! Owns the language names (journaled, so they never change) and the choice of a stemmer by script,
//! which is what makes mixed text in one memory work. Must stay true: a word's stemmer depends on the
//! word and the configured language only, never on its neighbours.

use snowball_stemmers_rs::Algorithm;

macro_rules! languages {
    ($($variant:ident $name:literal $code:literal;)*) => {
        /// A language the stemmer knows, or none.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        pub enum Language {
            $($variant,)*
            /// Words are folded but not stemmed, and a question keeps all its words.
            #[default]
            None,
        }

        impl Language {
            /// Every language, in the order of the enum.
            pub const ALL: &'static [Language] = &[$(Language::$variant,)* Language::None];

            /// The English name in lower case.
            pub fn name(self) -> &'static str {
                match self { $(Language::$variant => $name,)* Language::None => "none" }
            }

            /// A name or an ISO 639-1 code, any case.
            pub fn parse(text: &str) -> Option<Language> {
                let text = text.trim().to_ascii_lowercase();
                match text.as_str() {
                    $($name | $code => Some(Language::$variant),)*
                    "none" => Some(Language::None),
                    "no" | "nn" => Some(Language::Norwegian),
                    _ => None,
                }
            }

            /// The number that journals hold. It never changes: languages are added at the end.
            pub fn code(self) -> u32 {
                let place = Language::ALL.iter().position(|other| *other == self);
                match (self, place.and_then(|place| u32::try_from(place).ok())) {
                    (Language::None, _) | (_, None) => 0,
                    (_, Some(place)) => place + 1,
                }
            }

            pub fn of_code(code: u32) -> Option<Language> {
                Language::ALL.iter().copied().find(|language| language.code() == code)
            }

            fn algorithm(self) -> Option<Algorithm> {
                match self { $(Language::$variant => Some(Algorithm::$variant),)* Language::None => None }
            }
        }
    };
}

languages! {
    English "english" "en";
    German "german" "de";
    French "french" "fr";
    Spanish "spanish" "es";
    Portuguese "portuguese" "pt";
    Italian "italian" "it";
    Dutch "dutch" "nl";
    Russian "russian" "ru";
    Swedish "swedish" "sv";
    Danish "danish" "da";
    Norwegian "norwegian" "nb";
    Finnish "finnish" "fi";
    Hungarian "hungarian" "hu";
    Romanian "romanian" "ro";
    Turkish "turkish" "tr";
    Arabic "arabic" "ar";
    Greek "greek" "el";
    Tamil "tamil" "ta";
    Armenian "armenian" "hy";
    Basque "basque" "eu";
    Catalan "catalan" "ca";
    Czech "czech" "cs";
    Esperanto "esperanto" "eo";
    Estonian "estonian" "et";
    Hindi "hindi" "hi";
    Indonesian "indonesian" "id";
    Irish "irish" "ga";
    Lithuanian "lithuanian" "lt";
    Nepali "nepali" "ne";
    Persian "persian" "fa";
    Polish "polish" "pl";
    Serbian "serbian" "sr";
    Ukrainian "ukrainian" "uk";
    Yiddish "yiddish" "yi";
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    Latin,
    Cyrillic,
    Greek,
    Arabic,
    Hebrew,
    Armenian,
    Devanagari,
    Tamil,
    Other,
}

fn script(c: char) -> Script {
    match c {
        'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => Script::Latin,
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Script::Greek,
        '\u{400}'..='\u{52f}' => Script::Cyrillic,
        '\u{530}'..='\u{58f}' => Script::Armenian,
        '\u{590}'..='\u{5ff}' => Script::Hebrew,
        '\u{600}'..='\u{6ff}' | '\u{750}'..='\u{77f}' => Script::Arabic,
        '\u{900}'..='\u{97f}' => Script::Devanagari,
        '\u{b80}'..='\u{bff}' => Script::Tamil,
        _ => Script::Other,
    }
}

impl Language {
    fn script(self) -> Script {
        match self {
            Language::Russian | Language::Ukrainian => Script::Cyrillic,
            Language::Greek => Script::Greek,
            Language::Arabic | Language::Persian => Script::Arabic,
            Language::Armenian => Script::Armenian,
            Language::Hindi | Language::Nepali => Script::Devanagari,
            Language::Tamil => Script::Tamil,
            Language::Yiddish => Script::Hebrew,
            Language::None => Script::Other,
            _ => Script::Latin,
        }
    }

    /// The language a word is read in: the configured one where it is written in its script, else the
    /// commonest of the word's own script. Engineers write English words into text of any script.
    pub fn of_word(self, word: &str) -> Language {
        let written = word.chars().map(script).find(|script| *script != Script::Other);
        match (self, written) {
            (Language::None, _) | (_, None) => Language::None,
            // Serbian is written in both; its stemmer reads both.
            (Language::Serbian, Some(Script::Latin | Script::Cyrillic)) => self,
            (_, Some(written)) if written == self.script() => self,
            (_, Some(Script::Latin)) => Language::English,
            (_, Some(Script::Cyrillic)) => Language::Russian,
            (_, Some(Script::Greek)) => Language::Greek,
            (_, Some(Script::Arabic)) => Language::Arabic,
            (_, Some(Script::Armenian)) => Language::Armenian,
            (_, Some(Script::Devanagari)) => Language::Hindi,
            (_, Some(Script::Tamil)) => Language::Tamil,
            _ => Language::None,
        }
    }

    /// An apostrophe ends a word (`l'amour`, `dell'arte`, Turkish `Ankara'da`) instead of belonging to it.
    pub fn elides(self) -> bool {
        matches!(self, Language::French | Language::Italian | Language::Catalan | Language::Turkish)
    }

    /// The stemmer's rules look at accents, so the unaccented spelling may get another stem.
    pub fn accented(self) -> bool {
        self.script() == Script::Latin
            && !matches!(self, Language::English | Language::German | Language::Indonesian)
    }

    pub fn stem(self, word: &str) -> String {
        match self.algorithm() {
            Some(algorithm) => {
                snowball_stemmers_rs::Stemmer::create(algorithm).stem(word).into_owned()
            }
            None => word.to_owned(),
        }
    }
}
