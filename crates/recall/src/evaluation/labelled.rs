//! A labelled set: memories, questions, and which memories answer which question.
//!
//! Owns the format of such a set, how it becomes memories, and how an answer is judged by it. Files are the caller's:
//! the set comes in as text. What must stay true: a set is saved through the ordinary commands, one project per group,
//! so that what is measured is what users get.

use std::collections::{BTreeSet, HashMap};

use kernel::command::{Command, Draft, Stamp};
use kernel::memory::{Body, Event, Fields, Millis, Salt};
use kernel::{Cortex, Submission};
use serde::Deserialize;

use super::measure::{Means, measure};
use crate::error::{Error, Result};
use text::written_date::date_in;

pub const CORPUS: &str = "corpus.jsonl";
pub const QUESTIONS: &str = "queries.jsonl";
pub const ANSWERS: &str = "qrels.tsv";

/// Memories per commit while a set is saved.
const BULK: usize = 1_000;
const TITLE_CHARS_MAX: usize = 200;

#[derive(Clone, Debug, Deserialize)]
pub struct CorpusLine {
    #[serde(rename = "_id")]
    pub id: String,
    pub group: Option<String>,
    pub session: Option<String>,
    pub time: Option<String>,
    pub speaker: Option<String>,
    pub title: Option<String>,
    pub text: String,
    pub caption: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct LabelledQuestion {
    #[serde(rename = "_id")]
    pub id: String,
    pub group: Option<String>,
    pub category: Option<String>,
    pub text: String,
}

impl CorpusLine {
    /// When it happened, as far as its time can be read.
    pub fn happened(&self) -> Option<Millis> {
        self.time.as_deref().and_then(date_in)
    }
}

impl LabelledQuestion {
    pub fn category(&self) -> &str {
        self.category.as_deref().unwrap_or("uncategorised")
    }
}

#[derive(Clone, Debug, Default)]
pub struct LabelledSet {
    pub corpus: Vec<CorpusLine>,
    pub questions: Vec<LabelledQuestion>,
    answers: HashMap<String, BTreeSet<String>>,
    sessions: HashMap<String, String>,
}

impl LabelledSet {
    /// From the text of `CORPUS`, `QUESTIONS` and `ANSWERS`.
    pub fn parse(corpus: &str, questions: &str, answers: &str) -> Result<LabelledSet> {
        let corpus: Vec<CorpusLine> = lines(CORPUS, corpus)?;
        let mut set = LabelledSet { questions: lines(QUESTIONS, questions)?, ..Self::default() };
        for (n, line) in answers.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let mut columns = line.split('\t').map(str::trim);
            let [question, document, score] = [(); 3].map(|()| columns.next().unwrap_or_default());
            let score = if score.is_empty() { Ok(1.0) } else { score.parse::<f64>() };
            match score {
                // The first line may name the columns.
                Err(_) if n == 0 => {}
                Ok(score) if !question.is_empty() && !document.is_empty() => {
                    if score > 0.0 {
                        let relevant = set.answers.entry(question.to_owned()).or_default();
                        relevant.insert(document.to_owned());
                    }
                }
                _ => return Err(fault(ANSWERS, n, "is not QUESTION, tab, MEMORY, tab, NUMBER")),
            }
        }
        for line in &corpus {
            if let Some(session) = &line.session {
                set.sessions.insert(line.id.clone(), session.clone());
            }
        }
        set.corpus = corpus;
        Ok(set)
    }

    /// Saves the corpus as a user would import it; returns the set's name of each memory.
    pub fn save(
        &self,
        cortex: &Cortex,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<HashMap<u64, String>> {
        let mut names = HashMap::new();
        for (n, chunk) in self.corpus.chunks(BULK).enumerate() {
            progress(n * BULK, self.corpus.len());
            let requests = chunk.iter().enumerate().map(|(i, line)| request(n * BULK + i, line));
            for (line, receipt) in chunk.iter().zip(cortex.submit_bulk(requests.collect())?) {
                if let Some(id) = receipt?.id {
                    names.insert(id.get(), line.id.clone());
                }
            }
        }
        Ok(names)
    }

    /// What is in the answer to a question, if anybody marked it.
    pub fn relevant(&self, question: &LabelledQuestion) -> Option<&BTreeSet<String>> {
        self.answers.get(&question.id)
    }

    /// A group that a question is not about, another one for each question; `None` if there is but one.
    pub fn another_group(&self, question: &LabelledQuestion) -> Option<&str> {
        let groups: BTreeSet<&str> =
            self.questions.iter().filter_map(|question| question.group.as_deref()).collect();
        let groups: Vec<&str> = groups.into_iter().collect();
        let own = groups.iter().position(|group| question.group.as_deref() == Some(group))?;
        let place = self.questions.iter().position(|other| other.id == question.id)?;
        let others = groups.len().checked_sub(1).filter(|others| *others > 0)?;
        groups.get((own + 1 + place % others) % groups.len()).copied()
    }

    /// The measures of what was returned, best first: of the memories themselves, and of the sessions they are from.
    pub fn judge(
        &self,
        returned: &[String],
        relevant: &BTreeSet<String>,
    ) -> (Means, Option<Means>) {
        let session = |id: &String| self.sessions.get(id);
        let wanted: BTreeSet<&String> = relevant.iter().filter_map(session).collect();
        let by_session = (!wanted.is_empty()).then(|| {
            let mut seen = BTreeSet::new();
            let found: Vec<&String> =
                returned.iter().filter_map(session).filter(|s| seen.insert(*s)).collect();
            measure(&found, &wanted)
        });
        (measure(returned, relevant), by_session)
    }
}

fn lines<T: for<'d> Deserialize<'d>>(file: &str, text: &str) -> Result<Vec<T>> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(n, line)| serde_json::from_str(line).map_err(|error| fault(file, n, error)))
        .collect()
}

/// What is wrong with a line.
fn fault(file: &str, place: usize, what: impl std::fmt::Display) -> Error {
    Error::invalid("set", format!("{file} line {}: {what}", place + 1))
}

fn request(n: usize, line: &CorpusLine) -> Submission {
    let caption = line.caption.as_deref().map(|c| format!(" [{c}]")).unwrap_or_default();
    let content = format!("{}{caption}", line.text);
    let happened_at = line.happened();
    let title = line.title.clone().or_else(|| line.speaker.clone());
    let title = title.filter(|t| !t.trim().is_empty()).unwrap_or_else(|| "untitled".into());
    let speaker = line.speaker.as_ref().filter(|name| !name.trim().is_empty());
    let participants = speaker.into_iter().cloned().collect();
    let event = Event { happened_at, outcome: None, participants };
    let title = title.lines().next().unwrap_or("untitled").chars().take(TITLE_CHARS_MAX).collect();
    let body = Body { title, content, fields: Fields::Event(event) };
    let mut salt = [7; 16];
    salt[..8].copy_from_slice(&(n as u64).to_be_bytes());
    let mut draft = Draft::new(body, Salt(salt));
    draft.project.clone_from(&line.group);
    draft.session.clone_from(&line.session);
    let at = Millis(1_700_000_000_000 + i64::try_from(n).unwrap_or(0));
    let stamp = Stamp::new(at, "eval");
    Submission { stamp, command: Command::Write(Box::new(draft)), authority: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORPUS_TEXT: &str = r#"
{"_id": "a", "group": "g", "session": "s1", "time": "1:56 pm on 8 May, 2023", "speaker": "Ada", "text": "Hello"}
{"_id": "b", "group": "g", "session": "s1", "text": "World"}
{"_id": "c", "text": "Alone", "title": ""}
"#;
    const QUESTIONS_TEXT: &str =
        r#"{"_id": "q", "group": "g", "category": "easy", "text": "Who?", "answer": 2022}"#;
    const ANSWERS_TEXT: &str = "query-id\tcorpus-id\tscore\nq\ta\t1\n";

    #[test]
    fn a_set_is_read_and_judges_by_memory_and_by_session() {
        let set = LabelledSet::parse(CORPUS_TEXT, QUESTIONS_TEXT, ANSWERS_TEXT).unwrap();
        assert_eq!((set.corpus.len(), set.questions.len()), (3, 1));
        assert_eq!(set.questions[0].category(), "easy");
        let relevant = set.relevant(&set.questions[0]).unwrap();
        let (memory, session) = set.judge(&["b".into(), "c".into()], relevant);
        assert!(memory.recall_10 < 1e-9, "b is not the answer");
        assert!((session.unwrap().recall_10 - 1.0).abs() < 1e-9, "but from the same session");
        let elsewhere = BTreeSet::from(["c".to_owned()]);
        assert_eq!(set.judge(&["c".into()], &elsewhere).1, None, "c has no session");
    }

    #[test]
    fn a_broken_line_is_named() {
        let error = LabelledSet::parse("{}\n", "", "").unwrap_err().to_string();
        assert!(error.contains("corpus.jsonl line 1"), "{error}");
    }

    // Q10
    #[test]
    fn a_broken_label_is_named_and_a_file_needs_no_names_of_columns() {
        let parse = |answers: &str| LabelledSet::parse(CORPUS_TEXT, QUESTIONS_TEXT, answers);
        for broken in ["q\ta\t1\nq\t\t1\n", "q\ta\t1\nq b 1\n", "q\ta\t1\nq\tb\tyes\n"] {
            let error = parse(broken).unwrap_err().to_string();
            assert!(error.contains("qrels.tsv line 2"), "{error}");
        }
        let set = parse("q\ta\t1\nq\tb\t0\n\n").unwrap();
        let relevant = set.relevant(&set.questions[0]).unwrap();
        assert_eq!(relevant.iter().collect::<Vec<_>>(), ["a"], "the first line is a label");
    }

    #[test]
    fn a_line_becomes_an_event_of_its_group() {
        let set = LabelledSet::parse(CORPUS_TEXT, QUESTIONS_TEXT, ANSWERS_TEXT).unwrap();
        let Command::Write(draft) = request(0, &set.corpus[0]).command else { panic!("a write") };
        assert_eq!((draft.project.as_deref(), draft.session.as_deref()), (Some("g"), Some("s1")));
        assert_eq!(draft.body.title, "Ada");
        let Command::Write(draft) = request(2, &set.corpus[2]).command else { panic!("a write") };
        assert_eq!(draft.body.title, "untitled");
    }
}
