//! The bulletin by a model: what it is asked, and what of its answer is believed.
//!
//! What must stay true: an answer is taken only if every line cites memories that were shown and follows from them, it
//! leaves out little of what matters, it fits the words allowed and it holds nothing of the marks around the data.
//! Anything else is refused with a reason, and the rules write the bulletin. Who somebody is and what binds is said in
//! the program's own words, whatever the model wrote.

use api::render::untrusted;
use kernel::memory::Millis;
use kernel::render::{one_line, tokens};
use thiserror::Error;

use super::dimension::Dimension;
use super::input::{BulletinInput, InputSection};
use super::render::{self, BulletinLine, BulletinSection, line_of, words};
use super::support::{self, SupportGap};
use crate::quote::{self, Quotation, quoted};
use crate::settings::BulletinSettings;

/// Words that are kept free besides title, question and time, which are put before what the model writes.
const SPARE_WORDS: usize = 2;

/// What a model is to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelPrompt {
    pub system: String,
    pub user: String,
    pub max_output_tokens: u64,
    /// The mark around the quoted memories; a good answer never holds it.
    pub mark: String,
}

impl ModelPrompt {
    /// Tokens it costs at most, in and out.
    pub fn worst_tokens(&self) -> u64 {
        u64::from(tokens(&self.system)) + u64::from(tokens(&self.user)) + self.max_output_tokens
    }
}

/// What the program says itself, whoever writes the rest.
pub(super) fn own_words(
    gathered: &BulletinInput,
    settings: &BulletinSettings,
    now: Millis,
) -> Vec<BulletinSection> {
    let own: Vec<&InputSection> =
        gathered.sections.iter().filter(|section| !section.dimension.is_for_model()).collect();
    render::of_sections(gathered.subject.as_ref(), &own, settings.max_words / 2, now)
}

fn words_in(parts: &[BulletinSection]) -> usize {
    let lines = parts.iter().flat_map(|part| &part.lines).map(|line| words(&line.written()));
    lines.sum::<usize>() + parts.iter().map(|part| words(&part.heading)).sum::<usize>()
}

fn header_words(gathered: &BulletinInput, now: Millis) -> usize {
    words(&render::header(gathered.subject.as_ref(), now)) + SPARE_WORDS
}

pub(super) fn prompt(
    gathered: &BulletinInput,
    settings: &BulletinSettings,
    now: Millis,
) -> ModelPrompt {
    let own = words_in(&own_words(gathered, settings, now));
    let limit = settings.max_words.saturating_sub(header_words(gathered, now) + own);
    let headings: Vec<&str> = Dimension::ALL
        .iter()
        .filter(|d| d.is_for_model())
        .filter(|d| match gathered.subject {
            Some(_) => gathered.sections.iter().any(|section| section.dimension == **d),
            None => d.is_of_bulletin(),
        })
        .map(|d| d.heading())
        .collect();
    let task = match &gathered.subject {
        Some(_) => format!(
            "Write a page that answers a standing question from memory, in at most {limit} words, never more. \
Leave out what does not help to answer it."
        ),
        None => format!(
            "Write a brief memory bulletin: a {limit}-word briefing, never longer, that every conversation of the \
agent starts from.\n\
Cover these dimensions: identity (who the user is, who the agent is), recent events, active goals, important \
decisions, key preferences (likes and dislikes), rules and patterns.\n\
Focus on high-importance memories, recent activity, ongoing goals and core identity facts. Leave out \
low-importance observations, stale events and anything forgotten."
        ),
    };
    let system = format!(
        "You are the cortex, the part of an agent that tends its memory. {task} Join what belongs together; put \
memories that contradict each other side by side.\n\
Form: sections that begin with `## ` and one of these headings: {}. Below them lines that begin with `- `, in \
plain sentences. You choose, order and join: each line is made of whole clauses of the memories under its heading, \
word for word, as they stand between commas, full stops, \"and\" and \"because\". Clauses may be left out and memories \
joined with \"and\"; inside of a clause nothing is added, dropped, moved or said in other words, and conditions and \
doubts stay. Project, outcome and date, in parentheses, are added by the program. Leave out no section that you were \
given. Identity, rules and next steps are added by the program: use them to understand the rest, and do not repeat \
them. End every line with the ids it comes from, like [#12] or [#12, #40]. Cite only ids that you were given. A text \
with one line that is not so is not used. No title, no other text.\n{}",
        headings.join(", "),
        quote::RULE
    );
    let texts: Vec<String> = gathered
        .items()
        .map(|item| {
            let line = line_of(item).text;
            if item.detail.is_empty() { line } else { format!("{line}: {}", item.detail) }
        })
        .collect();
    let sections = gathered
        .sections
        .iter()
        .flat_map(|section| section.items.iter().map(|item| (section.dimension.heading(), item)));
    let items: Vec<Quotation<'_>> = sections
        .zip(&texts)
        .map(|((heading, item), text)| Quotation {
            id: item.id,
            kind: &item.kind,
            trust: Some(item.trust),
            section: Some(heading),
            text,
        })
        .collect();
    let (data, mark) = quoted(&items);
    let wish = match &gathered.subject {
        Some(subject) => {
            format!("The question: {}\nWrite the page now.", untrusted::line(&subject.question))
        }
        None => "Write the bulletin now.".to_owned(),
    };
    let user = format!("Memories, most important first in each section.\n{data}\n{wish}");
    ModelPrompt { system, user, max_output_tokens: settings.max_output_tokens, mark }
}

/// Why an answer is not used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum AnswerRejection {
    #[error("it is empty")]
    Empty,
    #[error("it has {words} words, {max} are allowed")]
    TooLong { words: usize, max: usize },
    #[error("it cites memory {0}, which was not shown")]
    UnknownId(u64),
    #[error("it has a line without a citation: {0:?}")]
    Uncited(String),
    #[error("it has a heading that was not asked for: {0:?}")]
    Heading(String),
    #[error("it repeats the marks around the data")]
    Marks,
    #[error("it says a proposed rule as if it held: {0:?}")]
    Proposed(String),
    #[error("{line:?}: {gap}")]
    Unsupported { line: String, gap: SupportGap },
    #[error("{0}")]
    Incomplete(SupportGap),
}

/// The parts of an answer, checked line by line.
pub(super) fn read_answer(
    answer: &str,
    gathered: &BulletinInput,
    prompt: &ModelPrompt,
    settings: &BulletinSettings,
    now: Millis,
) -> Result<Vec<BulletinSection>, AnswerRejection> {
    if answer.contains(&prompt.mark) {
        return Err(AnswerRejection::Marks);
    }
    let known = gathered.ids();
    let mut parts: Vec<BulletinSection> = Vec::new();
    for line in answer.lines().map(one_line).filter(|line| !line.is_empty()) {
        if let Some(heading) = line.strip_prefix("## ") {
            let asked = Dimension::ALL.iter().find(|d| d.heading().eq_ignore_ascii_case(heading));
            let heading = asked.ok_or_else(|| AnswerRejection::Heading(shown(heading)))?.heading();
            parts.push(BulletinSection { heading: heading.to_owned(), lines: Vec::new() });
            continue;
        }
        if line.starts_with('#') && !line.starts_with("#[") {
            return Err(AnswerRejection::Heading(shown(&line)));
        }
        let line = line.trim_start_matches(['-', '*', ' ']).to_owned();
        let (text, cites) = cited(&line).ok_or_else(|| AnswerRejection::Uncited(shown(&line)))?;
        if let Some(unknown) = cites.iter().find(|id| !known.contains(id)) {
            return Err(AnswerRejection::UnknownId(*unknown));
        }
        let Some(part) = parts.last_mut() else {
            return Err(AnswerRejection::Uncited(shown(&line)));
        };
        let line = BulletinLine { text: untrusted::line(&text), cites };
        if !gathered.may_say(&part.heading, &line) {
            return Err(AnswerRejection::Proposed(shown(&line.text)));
        }
        let text = shown(&line.text);
        let line = support::checked(&part.heading, line, gathered)
            .map_err(|gap| AnswerRejection::Unsupported { line: text, gap })?;
        part.lines.push(line);
    }
    parts.retain(|part| !part.lines.is_empty());
    if parts.is_empty() {
        return Err(AnswerRejection::Empty);
    }
    let own =
        |heading: &str| Dimension::ALL.iter().any(|d| !d.is_for_model() && d.heading() == heading);
    parts.retain(|part| !own(&part.heading));
    support::check_coverage(&parts, gathered).map_err(AnswerRejection::Incomplete)?;
    let parts = in_order(own_words(gathered, settings, now), parts);
    let (count, max) = (header_words(gathered, now) + words_in(&parts), settings.max_words);
    if count > max {
        return Err(AnswerRejection::TooLong { words: count, max });
    }
    Ok(parts)
}

/// Both kinds of sections in the order in which a bulletin speaks of them.
pub(super) fn in_order(
    own: Vec<BulletinSection>,
    written: Vec<BulletinSection>,
) -> Vec<BulletinSection> {
    let place = |part: &BulletinSection| {
        Dimension::ALL.iter().position(|d| d.heading() == part.heading).unwrap_or(usize::MAX)
    };
    let mut parts = [own, written].concat();
    parts.sort_by_key(place);
    parts
}

fn shown(line: &str) -> String {
    line.chars().take(80).collect()
}

/// A line's text and the ids it ends with; citations in its middle count too.
fn cited(line: &str) -> Option<(String, Vec<u64>)> {
    let (mut text, mut cites) = (String::new(), Vec::new());
    let mut rest = line;
    while let Some(open) = rest.find("[#") {
        let close = rest[open..].find(']').map(|at| open + at)?;
        let ids: Option<Vec<u64>> = rest[open + 1..close]
            .split(',')
            .map(|id| id.trim().strip_prefix('#').and_then(|id| id.parse().ok()))
            .collect();
        for id in ids? {
            if !cites.contains(&id) {
                cites.push(id);
            }
        }
        text.push_str(rest[..open].trim_end());
        text.push(' ');
        rest = rest[close + 1..].trim_start();
        if rest.starts_with(['.', ',', ';']) {
            text.truncate(text.trim_end().len());
        }
    }
    text.push_str(rest);
    let text = text.trim().trim_end_matches('.').trim().to_owned();
    (!cites.is_empty() && words(&text) > 0).then_some((text, cites))
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
