//! How a question is put: whether it speaks of who asks, and whether it asks for a whole history.
//!
//! "Can you list the order in which I brought up …, in order (mention 7 items)?" is about what comes after "brought
//! up". The rest frames it, and every memory that speaks of lists and orders resembles it. So the frame of such a
//! question is left out before its words are looked for. What must stay true: a question that asks for one thing is
//! left as it is, and a topic is never empty.

use text::analyze::fold;

/// Words by which somebody speaks of themselves. Those that mean something else in another language are not among them.
const OF_ASKER: [&str; 25] = [
    "i", "my", "mine", "myself", "we", "our", "ours", "ich", "mein", "meine", "meinem", "meinen",
    "meiner", "wir", "unser", "unsere", "je", "mon", "nous", "notre", "nos", "yo", "nuestro",
    "nuestra", "minha",
];

/// What asks for the parts of something in their order, as words that follow one another.
const IN_ORDER: [&[&str]; 14] = [
    &["order", "in", "which"],
    &["in", "which", "order"],
    &["in", "what", "order"],
    &["in", "chronological", "order"],
    &["progress", "in", "order"],
    &["conversations", "in", "order"],
    &["from", "start", "to", "finish"],
    &["from", "beginning", "to", "end"],
    &["the", "whole", "history"],
    &["the", "entire", "history"],
    &["the", "full", "history"],
    &["in", "welcher", "reihenfolge"],
    &["dans", "quel", "ordre"],
    &["en", "que", "orden"],
];

/// What asks for all of it in short, at the beginning of a sentence or of what somebody is told to do.
const SUM_UP: [&str; 8] = [
    "summarize",
    "summarise",
    "recap",
    "recapitulate",
    "resumez",
    "resumir",
    "riassumi",
    "zusammenfassen",
];
/// What may stand before `SUM_UP`.
const TOLD_TO: [&str; 8] = ["you", "please", "to", "me", "kannst", "du", "bitte", "puedes"];

/// The same as a thing, followed by what it is of.
const SUMMARY: [&str; 8] = [
    "summary",
    "overview",
    "recap",
    "chronology",
    "timeline",
    "zusammenfassung",
    "uberblick",
    "resumen",
];
const OF_WHAT: [&str; 9] =
    ["of", "about", "covering", "that", "capturing", "von", "uber", "de", "sobre"];

/// Words of the frame; none of them says what the history is of.
const FRAME: [&str; 74] = [
    "all",
    "aspect",
    "aspects",
    "beginning",
    "brief",
    "bring",
    "brought",
    "capture",
    "captures",
    "capturing",
    "chronological",
    "chronology",
    "complete",
    "comprehensive",
    "concise",
    "conversation",
    "conversations",
    "cover",
    "covered",
    "covering",
    "describe",
    "detailed",
    "different",
    "discussed",
    "discussion",
    "discussions",
    "end",
    "entire",
    "everything",
    "explain",
    "finish",
    "full",
    "give",
    "history",
    "integrating",
    "involved",
    "item",
    "items",
    "key",
    "list",
    "main",
    "mention",
    "mentioned",
    "order",
    "overall",
    "overview",
    "point",
    "points",
    "process",
    "progress",
    "progressed",
    "progression",
    "provide",
    "recap",
    "scope",
    "sequence",
    "session",
    "sessions",
    "start",
    "summaries",
    "summarise",
    "summarize",
    "summary",
    "talked",
    "tell",
    "thorough",
    "throughout",
    "time",
    "timeline",
    "topic",
    "various",
    "walk",
    "went",
    "whole",
];

/// Whether a question speaks of who asks it: then what they said themselves answers it rather than what an assistant
/// said back.
pub(super) fn is_of_asker(question: &str) -> bool {
    words(question).any(|(_, word)| OF_ASKER.contains(&word.as_str()))
}

/// What a question that asks for a whole history wants the history of; `None` for any other question.
pub(super) fn topic_of_history(question: &str) -> Option<String> {
    let all: Vec<(&str, String)> = words(question).collect();
    let folded: Vec<&str> = all.iter().map(|(_, word)| word.as_str()).collect();
    if !asks_for_history(&folded) {
        return None;
    }
    let kept = all.iter().filter(|(word, folded)| {
        // "(mention 7 items)": how many are wanted says nothing of what.
        let counts = word.chars().all(|c| c.is_ascii_digit()) && word.len() < 3;
        !counts && !FRAME.contains(&folded.as_str())
    });
    let kept: Vec<&str> = kept.map(|(word, _)| *word).collect();
    let says = |word: &&str| word.chars().nth(3).is_some();
    kept.iter().any(says).then(|| kept.join(" "))
}

fn asks_for_history(words: &[&str]) -> bool {
    let in_order = |wanted: &&[&str]| words.windows(wanted.len()).any(|found| found == *wanted);
    let sums_up = |(at, word): (usize, &&str)| {
        let before = at.checked_sub(1).map(|before| words[before]);
        SUM_UP.contains(word) && before.is_none_or(|before| TOLD_TO.contains(&before))
    };
    let summary = |pair: &[&str]| SUMMARY.contains(&pair[0]) && OF_WHAT.contains(&pair[1]);
    IN_ORDER.iter().any(in_order)
        || words.iter().enumerate().any(sums_up)
        || words.windows(2).any(summary)
}

/// The words of a text, as written and folded.
fn words(text: &str) -> impl Iterator<Item = (&str, String)> {
    let words = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.' | '/'));
    let words = words.map(|word| word.trim_matches(['-', '.', '/']));
    words.filter(|word| !word.is_empty()).map(|word| (word, fold(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Q7
    #[test]
    fn a_question_for_a_whole_history_is_about_its_topic() {
        for (question, topic) in [
            (
                "How did my talks about the message store progress in order (mention 7 items)?",
                "How did my talks about the message store in",
            ),
            ("Please summarise the migration to redb-4", "Please the migration to redb-4"),
            (
                "Can you give me a summary of how we secured the login?",
                "Can you me a of how we secured the login",
            ),
            ("In which order did Ada visit the towns?", "In which did Ada visit the towns"),
            (
                "Kannst du den Umzug zusammenfassen? Eine Zusammenfassung von allem",
                "Kannst du den Umzug zusammenfassen Eine Zusammenfassung von allem",
            ),
        ] {
            assert_eq!(topic_of_history(question).as_deref(), Some(topic), "{question}");
        }
    }

    #[test]
    fn other_questions_stay_as_they_are() {
        for question in [
            "What did Ada order in the café?",
            "Emit a summary in the report",
            "Why does the summary page need a timeline?",
            "restart the daemon in order to read the file",
            "my resume analyzer",
            "",
            "summary of",
            "Summarize everything",
        ] {
            assert_eq!(topic_of_history(question), None, "{question}");
        }
    }

    #[test]
    fn who_asks_about_themselves_is_noticed() {
        assert!(is_of_asker("Which port did I choose?") && is_of_asker("Wie heißt mein Hund?"));
        assert!(!is_of_asker("Tell me which port Ada chose"));
    }
}
