//! What of a memory needs attention: said twice, disagreeing, out of date, never used, secret, or under two names.

use serde::{Deserialize, Serialize};

pub const EXAMPLES_MAX: usize = 1_000;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct AuditRequest {
    /// Only this project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Examples of each finding; 5 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Only memories before this id: the `next` of an answer, to go on where it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct AuditAnswer {
    /// Memories in sight that were looked at.
    pub memories: usize,
    /// How many of them, the newest, were also compared by meaning.
    pub compared: usize,
    /// The worst first; nothing if all is well.
    pub findings: Vec<FindingView>,
    /// Older memories were not looked at, because there is too much text for one answer: ask again with this as
    /// `before`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct FindingView {
    pub problem: Concern,
    pub count: usize,
    /// The problem in words.
    pub says: String,
    /// What to do.
    pub remedy: String,
    pub examples: Vec<ExampleView>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ExampleView {
    /// The memories it is about; none for names of projects.
    pub ids: Vec<u64>,
    pub title: String,
    pub why: String,
}

/// What can be the matter, the worst first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Concern {
    Secret,
    Contradicting,
    Disagreeing,
    Copied,
    Alike,
    Outdated,
    Prompt,
    Vague,
    Unused,
    Unplaced,
    Projects,
}

impl Concern {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Concern::Secret => (
                "hold what looks like a secret",
                "`cortex erase ID --reason TEXT` removes it from every version for good",
            ),
            Concern::Contradicting => (
                "contradict each other, and both are current",
                "`cortex relate NEW supersedes OLD` says which one holds",
            ),
            Concern::Disagreeing => (
                "read alike but say different things",
                "`cortex relate NEW supersedes OLD` if only one is true",
            ),
            Concern::Copied => ("are word for word copies of another", "`cortex delete ID`"),
            Concern::Alike => (
                "say what another says in nearly the same words",
                "`cortex mind run maintenance --dry-run` shows what it would join",
            ),
            Concern::Outdated => {
                ("are past their own date", "`cortex archive ID`, or `cortex update ID`")
            }
            Concern::Prompt => {
                ("repeat what a person asked instead of what was learned", "`cortex delete ID`")
            }
            Concern::Vague => {
                ("say too little to be of use", "`cortex update ID`, or `cortex delete ID`")
            }
            Concern::Unused => (
                "are older than 30 days and were never used",
                "`cortex archive ID` puts one away; by itself only what was captured goes, and it is announced first",
            ),
            Concern::Unplaced => ("belong to no project", "`cortex update ID --project NAME`"),
            Concern::Projects => (
                "names of projects may mean the same one",
                "`cortex projects merge OLD --into NEW`",
            ),
        }
    }
}

impl FindingView {
    pub fn new(problem: Concern, count: usize) -> FindingView {
        let (says, remedy) = problem.words();
        let (says, remedy) = (says.to_owned(), remedy.to_owned());
        FindingView { problem, count, says, remedy, examples: Vec::new() }
    }
}
