//! What is kept of a session quotes what was asked in it, so that a question finds itself: here it is told whether
//! such a memory also answers.
//!
//! What must stay true: pure; a memory that only asks what is asked again is never said to answer it, in no answer and
//! no hook; it stays among the hits, behind the others.

use recall::ranker::{AnswerLevel, Ranker};
use recall::search::SearchOutcome;

use crate::shared_words::{covers, shares_word};

/// The kind of the memory that a session becomes.
pub const SESSION_KIND: &str = "session";
/// Before the first prompt of a session, and before each that followed.
pub const ASKED: &str = "Asked:";
pub const THEN: &str = "Then:";
/// Before what came of it.
pub const DECIDED: &str = "Decided:";
pub const ENDED_WITH: &str = "Ended with:";
pub const NEXT_STEPS: &str = "Next steps:";
/// Ends a prompt that was cut.
const CUT: &str = "...";

/// Puts memories that only ask behind those that may answer, and judges anew whether anything does.
pub(crate) fn set_back(answer: &mut SearchOutcome, question: &str) {
    let mut found = false;
    for hit in &mut answer.hits {
        let content = hit.body.as_ref().map_or("", |body| body.content.as_str());
        if hit.head.kind == SESSION_KIND && only_asks(content, question) {
            hit.relevance = 0;
            found = true;
        }
    }
    if !found {
        return;
    }
    // A stable order: those that lead for another reason stay as they were.
    answer.hits.sort_by_key(|hit| hit.relevance == 0 && hit.head.kind == SESSION_KIND);
    let best = answer.hits.iter().map(|hit| hit.relevance).max().unwrap_or(0);
    let level = Ranker::shared().level(best);
    answer.answerable.probability = answer.answerable.probability.min(best);
    answer.answerable.level = if level == AnswerLevel::Weak { AnswerLevel::Nothing } else { level };
}

/// Whether much the same was asked in a session, and what came of the session has no word of the question.
fn only_asks(content: &str, question: &str) -> bool {
    let asked = content
        .lines()
        .filter_map(|line| line.strip_prefix(ASKED).or_else(|| line.strip_prefix(THEN)));
    let mut same = asked.map(str::trim).filter(|prompt| {
        covers(prompt, question) || prompt.ends_with(CUT) && covers(question, prompt)
    });
    let mut came_of_it = content.lines().filter(|line| {
        [DECIDED, ENDED_WITH, NEXT_STEPS].iter().any(|label| line.starts_with(label))
    });
    same.next().is_some() && !came_of_it.any(|line| shares_word(line, question))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_was_asked_the_same_answers_only_if_it_says_something_of_it() {
        let asked =
            "Asked: Implement checkout\nThen: Which port does staging use?\nFiles: src/staging.rs";
        assert!(only_asks(asked, "which port does staging use?"));
        assert!(only_asks(asked, "Which port does the staging server use?"));
        assert!(!only_asks(asked, "Which port does the production database listen on?"));
        let answered = format!("{asked}\nEnded with: Staging uses 8443.");
        assert!(!only_asks(&answered, "which port does staging use?"));
        assert!(!only_asks("Which port does staging use?", "which port does staging use?"));
    }
}
