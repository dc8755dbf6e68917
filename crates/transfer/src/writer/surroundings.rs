//! What is around memories: edges, sessions, prompts.

use kernel::command::{Command, EdgeDraft, PromptDraft, SessionClose, SessionDraft};
use kernel::memory::Relation;

use crate::Result;
use crate::origin;
use crate::record::EdgeRecord;
use crate::report;
use crate::staging::StagedStep;
use crate::writer::{Effect, ImportWriter};

impl ImportWriter<'_> {
    pub(super) fn edge(&mut self, staged: &StagedStep, edge: &EdgeRecord) -> Result<()> {
        let (from, to) = (self.origin_of(&edge.from)?, self.origin_of(&edge.to)?);
        let key = origin::edge_key(&from, &edge.relation, &to, edge.weight);
        // Between two that were born here, the edges that hold are here already.
        let native = self.native_number(&from).is_some() && self.native_number(&to).is_some();
        if native || self.done(&key)? {
            self.report.edges.unchanged += 1;
            return Ok(());
        }
        let (from, to) = (self.named(&edge.from)?, self.named(&edge.to)?);
        let (Some(src), Some(dst)) = (from, to) else {
            let missing = if from.is_none() && !self.is_planned(&edge.from)? {
                Some(&edge.from)
            } else if to.is_none() && !self.is_planned(&edge.to)? {
                Some(&edge.to)
            } else {
                None
            };
            match missing {
                None => self.report.edges.new += 1,
                Some(missing) if staged.last_chance => {
                    let reason = format!("it points to {missing:?}, which is not here");
                    report::left_out(&mut self.report.skipped, &*staged.what, reason);
                }
                Some(_) => self.staging.put_off(staged)?,
            }
            return Ok(());
        };
        let relation = Relation::parse(&edge.relation)?;
        let draft = EdgeDraft { src, relation, dst, weight: edge.weight };
        let effect = Effect::Edge { dated: staged.at.is_some() };
        self.push(staged, Command::AddEdge(draft), Some(key), edge.by.as_ref(), effect)
    }

    /// In a dry run: the memory is not here, but would be.
    fn is_planned(&self, name: &str) -> Result<bool> {
        self.staging.is_planned(&self.origin_of(name)?)
    }

    /// A session of the past ends where it begins, so that no save of today becomes part of it.
    pub(super) fn session_start(
        &mut self,
        staged: &StagedStep,
        draft: SessionDraft,
        is_past: bool,
    ) -> Result<()> {
        let there = self.reading.view().session(&draft.session)?.is_some();
        if there || !self.sessions.insert(draft.session.clone()) {
            self.report.sessions.unchanged += 1;
            return Ok(());
        }
        let effect = Effect::Session { dated: staged.at.is_some() };
        let session = draft.session.clone();
        self.push(staged, Command::SessionStart(draft), None, None, effect)?;
        if !is_past || self.dry {
            return Ok(());
        }
        let close = SessionClose { session, summary: None, salt: (self.salt)()? };
        self.push(staged, Command::SessionEnd(close), None, None, Effect::SessionEnd)
    }

    pub(super) fn session_end(
        &mut self,
        staged: &StagedStep,
        session: &str,
        summary: Option<&String>,
    ) -> Result<()> {
        let here = self.reading.view().session(session)?;
        if here.is_some_and(|here| here.ended.is_some()) || self.dry {
            return Ok(());
        }
        let close = SessionClose {
            session: session.to_owned(),
            summary: summary.cloned(),
            salt: (self.salt)()?,
        };
        self.push(staged, Command::SessionEnd(close), None, None, Effect::SessionEnd)
    }

    pub(super) fn prompt(
        &mut self,
        staged: &StagedStep,
        origin: &str,
        draft: PromptDraft,
    ) -> Result<()> {
        let key = origin::key(origin);
        let native = self.native_number(origin).map(|seq| self.reading.view().prompt(seq));
        let here = native.transpose()?.flatten().is_some();
        if here || self.waiting.contains(origin) || self.done(&key)? {
            self.report.prompts.unchanged += 1;
            return Ok(());
        }
        self.waiting.insert(origin.to_owned());
        let effect = Effect::Prompt { dated: staged.at.is_some() };
        self.push(staged, Command::Prompt(draft), Some(key), None, effect)
    }
}
