//! Words of many languages, identifiers, questions, and any text at all.

use proptest::prelude::*;

use super::*;

fn all(language: Language, text: &str) -> Vec<(String, u32)> {
    let mut out = Vec::new();
    Analyzer::new(language).terms(text, &mut |term, at| out.push((term.to_owned(), at)));
    out
}

fn terms(language: Language, text: &str) -> Vec<String> {
    all(language, text).into_iter().map(|(term, _)| term).collect()
}

fn ask(text: &str) -> ParsedQuestion {
    Analyzer::new(Language::English).question(text)
}

/// Whether a document has every term and prefix the question asks for, its phrases in order.
fn finds(language: Language, question: &str, document: &str) -> bool {
    let question = Analyzer::new(language).question(question);
    let document = all(language, document);
    let has = |term: &String, at: Option<u32>| {
        document.iter().any(|(have, have_at)| have == term && at.is_none_or(|at| at == *have_at))
    };
    let phrase = |phrase: &Vec<String>| {
        document
            .iter()
            .any(|(_, start)| (*start..).zip(phrase).all(|(at, term)| has(term, Some(at))))
    };
    let prefix =
        |prefix: &String| document.iter().any(|(term, _)| term.starts_with(prefix.as_str()));
    question.phrases.iter().all(phrase)
        && question.prefixes.iter().all(prefix)
        && (question.terms.iter().any(|term| has(term, None)) || !question.prefixes.is_empty())
}

#[test]
fn words_are_stemmed_and_folded() {
    assert_eq!(terms(Language::English, "The Cafés' preferences"), ["the", "cafe", "prefer"]);
    assert_eq!(terms(Language::English, "Café"), terms(Language::English, "cafe"));
    assert_eq!(terms(Language::English, "Alice's don’t APIs"), ["alic", "dont", "api"]);
    assert_eq!(terms(Language::None, "Running ＦＵＬＬ ﬁn"), ["running", "full", "fin"]);
}

#[test]
fn identifiers_give_the_whole_and_the_parts() {
    let at = |text| all(Language::English, text);
    let own =
        |list: &[(&str, u32)]| list.iter().map(|(t, p)| ((*t).to_owned(), *p)).collect::<Vec<_>>();
    assert_eq!(
        at("parseHttpResponse now"),
        own(&[("parsehttprespons", 0), ("pars", 0), ("http", 1), ("respons", 2), ("now", 3)])
    );
    assert_eq!(
        at("snake_case_name"),
        own(&[("snake_case_name", 0), ("snake", 0), ("case", 1), ("name", 2)])
    );
    assert_eq!(
        at("(src/auth/middleware.rs)"),
        own(&[
            ("src/auth/middleware.rs", 0),
            ("src", 0),
            ("auth", 1),
            ("middleware.rs", 2),
            ("middlewar", 2),
            ("rs", 3)
        ])
    );
    assert_eq!(
        at("std::fs::File"),
        own(&[("std::fs::file", 0), ("std", 0), ("fs", 1), ("file", 2)])
    );
    assert_eq!(at("v1.2.3."), own(&[("v1.2.3", 0), ("v1", 0), ("2", 1), ("3", 2)]));
    assert_eq!(
        terms(Language::English, "HTTPServer Base64Encoder"),
        ["httpserver", "http", "server", "base64encoder", "base64", "encod"]
    );
    assert_eq!(terms(Language::English, "C++ C# c"), ["c++", "c", "c#", "c", "c"]);
    assert_eq!(terms(Language::English, "__init__ a--b x. -"), ["init", "a", "b", "x"]);
}

#[test]
fn names_are_found_however_written() {
    let en = Language::English;
    assert!(finds(en, "opentelemetry", "We use OpenTelemetry."));
    assert!(finds(en, "middleware.rs", "see src/auth/middleware.rs"));
    assert!(finds(en, "\"auth middleware\"", "the auth_middleware crate"));
    assert!(finds(en, "\"parseHttpResponse now\"", "call parseHttpResponse now"));
    assert!(finds(en, "decision/auth-model", "topic decision/auth-model"));
    assert!(finds(en, "C:\\work\\main.rs", "in C:\\work\\main.rs"));
    assert!(!finds(en, "\"middleware auth\"", "auth middleware"));
}

#[test]
fn languages() {
    use Language::{English, French, German, Russian, Spanish, Turkish};
    assert!(finds(German, "Haus", "Die Häuser stehen"));
    assert!(finds(German, "Strasse", "auf der Straße"));
    assert!(finds(Russian, "книга", "много книг и книги"));
    assert!(finds(English, "книга", "mixed книги text"));
    assert!(finds(Russian, "preference", "его preferences"));
    assert!(finds(Spanish, "cancion", "la canción"));
    assert!(finds(Spanish, "canciones", "la canción"));
    assert!(finds(French, "amour", "l'amour"));
    assert!(finds(Turkish, "ankara", "ANKARA'DA"));
    assert!(finds(Turkish, "isik", "IŞIK"));
    assert!(finds(English, "ΛΌΓΟΣ", "λόγος"));
    for language in Language::ALL {
        assert_eq!(Language::parse(language.name()), Some(*language));
    }
    assert_eq!(Language::parse(" DE "), Some(German));
    assert_eq!(Language::parse("klingon"), None);
}

#[test]
fn scripts_without_spaces_give_bigrams() {
    let en = Language::English;
    assert_eq!(terms(en, "用户认证"), ["用户", "户认", "认证", "证"]);
    assert_eq!(all(en, "React用户x")[1], ("用户".to_owned(), 1));
    assert!(finds(en, "认证", "我们的用户认证模块"));
    assert!(finds(en, "\"用户认证\"", "我们的用户认证模块"));
    assert!(finds(en, "\"认证 module\"", "用户认证 module"));
    assert!(finds(en, "猫", "黒猫"));
    assert!(finds(en, "猫", "猫が好き"));
    assert!(finds(en, "ﾃｽﾄ", "単体テスト"));
    assert!(finds(en, "ฐานข้อมูล", "ใช้ฐานข้อมูลใหม่"));
    assert!(finds(en, "인증", "인증을 고쳤다"));
    assert_eq!(terms(en, "ที่นี่"), ["ที่นี่", "นี่"]);
    assert_eq!(terms(en, "bug修复v2"), ["bug", "修复", "复", "v2"]);
}

#[test]
fn questions() {
    let q = ask("What did Alice decide about the authentication of users?");
    assert_eq!(q.terms, ["alic", "decid", "authent", "user"]);
    assert_eq!(q.surface, ["alice", "decide", "authentication", "users"]);
    let q = ask("deploy \"blue green\" -staging -\"old cluster\" -\"legacy\" kube* -auth-model");
    assert_eq!(q.terms, ["deploy", "blue", "green"]);
    assert_eq!(q.phrases, [["blue", "green"]]);
    assert_eq!(q.prefixes, ["kube"]);
    assert_eq!(q.excluded, ["stage", "legaci", "auth-model"]);
    assert_eq!(q.excluded_phrases, [["old", "cluster"]]);
    assert_eq!(q.without_phrases().unwrap().phrases, Vec::<Vec<String>>::new());
    assert_eq!(q.without_phrases().unwrap().terms, q.terms);
    for only in ["\"blue green\"", "«blue green» -staging, \"old wall\"", "blue green"] {
        assert_eq!(ask(only).without_phrases(), None, "{only}");
    }
    assert_eq!(ask("to be or not to be").terms, ["to", "be", "or", "not"]);
    assert_eq!(
        ask("which 1.95.0 state-of-the-art").terms,
        ["1.95.0", "95", "state-of-the-art", "state", "art"]
    );
    assert_eq!(ask("src/auth*").prefixes, ["src/auth"]);
    assert_eq!(ask("cargo --release -v well -5").excluded, Vec::<String>::new());
    assert_eq!(ask("**bold** a*b").prefixes, Vec::<String>::new());
    assert!(ask("\u{385}*").is_empty(), "marks begin no word");
    assert_eq!(ask("say \"hello").terms, ["say", "hello"]);
    assert_eq!(ask("“blue green” «old wall»").phrases, [["blue", "green"], ["old", "wall"]]);
    assert!(ask("").is_empty() && ask("-\"\" * - \"\" ?").is_empty());
}

#[test]
fn strange_text_is_fine() {
    assert_eq!(
        terms(Language::English, "a\0b \u{200f}שלום\u{200e} 🎉👍🏽"),
        ["a", "b", "שלום", "🎉", "👍"]
    );
    assert_eq!(terms(Language::English, "\u{301}\u{301} ! \u{feff}"), Vec::<String>::new());
    let long = terms(Language::English, &"x".repeat(100));
    assert_eq!(long[0].len(), 64);
    assert_ne!(long, terms(Language::English, &"x".repeat(101)));
}

#[test]
fn long_text_is_linear() {
    let units = [
        "word ",
        "a/",
        "_",
        "-",
        "\"",
        "用",
        "\u{301}",
        "aB",
        "'",
        "x::",
        "-\"",
        "“",
        "a.",
        "ที่",
        "*",
        "\u{1100}",
    ];
    for unit in units {
        let took = |bytes: usize| {
            let text = unit.repeat(bytes / unit.len());
            let start = std::time::Instant::now();
            let analyzer = Analyzer::new(Language::English);
            analyzer.terms(&text, &mut |term, _| assert!(term.len() <= MAX_TERM));
            analyzer.question(&text);
            start.elapsed()
        };
        let short = (0..3).map(|_| took(1 << 18)).min().unwrap();
        let long = took(1 << 22);
        // Sixteen times the text: quadratic work would take 256 times as long.
        let most = short * 100 + std::time::Duration::from_millis(500);
        assert!(long < most, "{unit:?} {short:?} {long:?}");
    }
}

proptest! {
    #[test]
    fn any_text_has_bounded_terms_in_order(
        text in "\\PC{0,80}|[\\x00-\\x7f]{0,60}|[a-zA-Zäéßığ*\"'_./:-]{0,40}",
        pick in 0..Language::ALL.len(),
    ) {
        let language = Language::ALL[pick];
        let found = all(language, &text);
        prop_assert_eq!(&found, &all(language, &text));
        prop_assert!(found.iter().all(|(term, _)| !term.is_empty() && term.len() <= MAX_TERM));
        prop_assert!(found.windows(2).all(|pair| pair[0].1 <= pair[1].1));
        let question = Analyzer::new(language).question(&text);
        let lists = [&question.terms, &question.prefixes, &question.excluded];
        prop_assert!(lists.iter().all(|list| list.iter().all(|term| !term.is_empty() && term.len() <= MAX_TERM)));
    }

    #[test]
    fn a_word_is_found_by_itself(
        word in "\\w{1,20}|[a-zA-Z]{1,12}([._/-][a-zA-Z0-9]{1,8}){0,3}|[äöüéèñçßışğ]{2,6}[a-z]{2,6}",
        pick in 0..Language::ALL.len(),
    ) {
        let language = Language::ALL[pick];
        let have = all(language, &format!("before {word} after"));
        let question = Analyzer::new(language).question(&word);
        for term in &question.terms {
            prop_assert!(have.iter().any(|(have, _)| have == term), "{term} of {word} not in {have:?}");
        }
        prop_assert!(question.is_empty() == all(language, &word).is_empty(), "{question:?}");
        let quoted = Analyzer::new(language).question(&format!("\"{word}\""));
        for phrase in &quoted.phrases {
            let here = |start: u32| (start..).zip(phrase).all(|(at, term)| have.contains(&(term.clone(), at)));
            prop_assert!((0..have.len()).any(|start| here(u32::try_from(start).unwrap())), "{phrase:?} {have:?}");
        }
    }
}

#[test]
fn a_memo_changes_no_term() {
    let texts = [
        "Le fetchUser_v2 lié à src/auth.rs — l'été, 東京タワー 🎉 and running runners",
        "fetchUser_v2 running HTTPServer C++ a/b-c.d 10.2.3 naïve Naive",
    ];
    for language in [Language::English, Language::French, Language::Turkish] {
        let (analyzer, mut memo) = (Analyzer::new(language), Memo::default());
        for text in texts.iter().chain(&texts) {
            let (mut plain, mut known) = (Vec::new(), Vec::new());
            analyzer.terms(text, &mut |term, _| plain.push(term.to_owned()));
            analyzer.numbers(&mut memo, text, |number| known.push(number));
            let known: Vec<&str> = known.iter().map(|n| memo.lexicon().term(*n)).collect();
            assert_eq!(plain, known, "{language:?} {text}");
        }
    }
}

// Journals hold these numbers.
#[test]
fn language_codes_do_not_change() {
    let known = [
        (0, Language::None),
        (1, Language::English),
        (2, Language::German),
        (34, Language::Yiddish),
    ];
    for (code, language) in known {
        assert_eq!((language.code(), Language::of_code(code)), (code, Some(language)));
    }
    assert!(
        Language::ALL.iter().all(|language| Language::of_code(language.code()) == Some(*language))
    );
    assert_eq!(Language::of_code(99), None);
}

// A part that is nothing but marks is no word and takes no place.
#[test]
fn a_phrase_with_a_part_of_marks_is_found() {
    for word in ["\u{ae6}\u{fe70}\u{fe4d}a", "one \u{64b} two", "one __ two"] {
        phrase_is_found(word);
    }
}

fn phrase_is_found(word: &str) {
    let have = all(Language::English, &format!("before {word} after"));
    let quoted = Analyzer::new(Language::English).question(&format!("\"{word}\""));
    for phrase in &quoted.phrases {
        let here =
            |start: u32| (start..).zip(phrase).all(|(at, term)| have.contains(&(term.clone(), at)));
        assert!((0..9).any(here), "{phrase:?} {have:?}");
    }
    assert!(!quoted.phrases.is_empty());
}
