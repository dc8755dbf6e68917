//! The tools of a run come in as a trait: this crate does not know the memory.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use thiserror::Error;

use llm::providers::{BoxFuture, ToolServer, ToolSpec};
use talents::names::{Day, Facet, TalentName, UseId};
use talents::talent_files::ToolGrant;

/// Stands between the name of a server and that of its tool.
pub(super) const BETWEEN: &str = "__";

/// Who uses a tool, and within which bounds.
#[derive(Clone, Debug)]
pub struct ToolScene {
    pub use_id: UseId,
    pub talent: TalentName,
    pub facet: Option<Facet>,
    pub day: Day,
    /// The conversation that the run belongs to.
    pub channel: Option<String>,
    pub grant: ToolGrant,
}

/// What a tool gave, and which memories were read for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolAnswer {
    pub value: Value,
    pub cited: Vec<u64>,
}

/// The memories a run has read so far. Shared, so that a run that breaks off still says what it read.
#[derive(Clone, Debug, Default)]
pub(super) struct Citations(Arc<Mutex<Vec<u64>>>);

impl Citations {
    pub(super) fn add(&self, memories: &[u64]) {
        let mut cited = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for memory in memories {
            if !cited.contains(memory) {
                cited.push(*memory);
            }
        }
    }

    /// In the order they were read.
    pub(super) fn all(&self) -> Vec<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What a run would have spent after its next request, in all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spending {
    pub tokens: u64,
    /// With fewer than these the request makes no sense.
    pub tokens_min: u64,
    pub dollars: f64,
}

/// A tool that failed says why in words that help a model to do better.
#[derive(Clone, Debug, Error, Eq, PartialEq)]
#[error("{why}")]
pub struct ToolError {
    pub why: String,
    pub blame: Blame,
}

/// What made a call of a tool fail.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Blame {
    /// What was asked.
    Call,
    /// The tool itself: asking it in other words does not help.
    Tool,
    /// It failed before, and was not asked.
    Past,
}

impl Blame {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Blame::Call => "call",
            Blame::Tool => "tool",
            Blame::Past => "past",
        }
    }
}

impl ToolError {
    /// What was asked cannot be done.
    pub fn new(why: impl Into<String>) -> ToolError {
        ToolError { why: why.into(), blame: Blame::Call }
    }

    /// Whatever is asked cannot be done now.
    pub fn broken(why: impl Into<String>) -> ToolError {
        ToolError { why: why.into(), blame: Blame::Tool }
    }
}

pub trait Toolbox: Send + Sync {
    fn tools(&self) -> Vec<ToolSpec>;

    fn call<'a>(
        &'a self,
        scene: &'a ToolScene,
        name: &'a str,
        args: Value,
    ) -> BoxFuture<'a, Result<ToolAnswer, ToolError>>;

    /// The tools of other servers (`SERVER__TOOL`) that a talent may use, and what is wrong with servers that could not
    /// be asked.
    fn others<'a>(
        &'a self,
        _talent: &'a TalentName,
    ) -> BoxFuture<'a, (Vec<ToolSpec>, Vec<String>)> {
        Box::pin(async { (Vec::new(), Vec::new()) })
    }

    /// Why a tool, of this toolbox or another, is not to be used now: it keeps failing and is left alone for a while.
    fn left_alone<'a>(&'a self, _: &'a ToolScene, _name: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }

    /// A program that serves the tools of this scene to a provider that runs its own loop, within the same bounds.
    fn server(&self, _: &ToolScene, _tools: &[String]) -> Option<ToolServer> {
        None
    }

    /// What an intent should know before it starts, for a talent that asks for it with `{cortex.bundle}`. `about` is
    /// what the run is to do.
    fn bundle<'a>(
        &'a self,
        _: Option<&'a Facet>,
        _about: Option<&'a str>,
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }

    /// May a run go on with so much in all, what it has spent included? Gives the tokens that it may have in all, or
    /// says why it may have none of it.
    fn may_spend<'a>(
        &'a self,
        _: &'a ToolScene,
        wanted: Spending,
    ) -> BoxFuture<'a, Result<u64, String>> {
        Box::pin(async move { Ok(wanted.tokens) })
    }

    /// What the memory says about the present, for runs that talk with somebody.
    fn bulletin<'a>(&'a self, _: Option<&'a Facet>) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }
}

/// No memory at all.
#[derive(Clone, Copy, Debug)]
pub struct NoTools;

impl Toolbox for NoTools {
    fn tools(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    fn call<'a>(
        &'a self,
        _: &'a ToolScene,
        name: &'a str,
        _: Value,
    ) -> BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        Box::pin(async move { Err(ToolError::new(format!("there is no tool {name:?}"))) })
    }
}
