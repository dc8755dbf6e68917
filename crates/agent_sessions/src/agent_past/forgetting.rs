//! Forgetting that holds, and the state of the files.

use api::change::DeleteRequest;
use api::past::{
    PastCheckAnswer, PastCheckRequest, PastForgetAnswer, PastForgetRequest, PastReadRequest,
    PastRebuildAnswer, PastRebuildRequest, PastRestoreAnswer, PastRestoreRequest, PastTombstone,
    PastTombstonesAnswer, PastTombstonesRequest,
};
use kernel::journal::Payload;
use past::{ForgetScope, TurnScope};

use super::questions::time;
use super::{agent_named, refused, tombstones};
use crate::AgentSessions;
use service::caller::Caller;
use service::error::{Error, Result};

impl AgentSessions {
    pub fn past_forget(
        &self,
        caller: &Caller,
        request: PastForgetRequest,
    ) -> Result<PastForgetAnswer> {
        let owner = self.past_owner(caller)?;
        let scope = ForgetScope {
            references: request.refs,
            agent: request.agent.as_deref().map(agent_named).transpose()?,
            folder: request.folder,
            before: time(request.before.as_deref())?,
            reason: request.reason,
            dry_run: request.dry_run,
        };
        let is_empty = scope.references.is_empty()
            && scope.agent.is_none()
            && scope.folder.is_none()
            && scope.before.is_none();
        if is_empty {
            return Err(Error::invalid(
                "refs",
                "name a session, a turn, an agent, a folder or a time",
            ));
        }
        if scope.reason.trim().is_empty() && !scope.dry_run {
            return Err(Error::invalid("reason", "say why; it is journaled with the tombstone"));
        }
        if !self.past.is_there() {
            return Ok(PastForgetAnswer { dry_run: scope.dry_run, ..PastForgetAnswer::default() });
        }
        let outcome = self.change_past(&owner, |past, tombstones| {
            past.forget(&scope, tombstones).map_err(refused)
        })?;
        let named = [outcome.sessions.clone(), outcome.turns.clone()].concat();
        let memories = self.kept_of_all(caller, &named)?;
        let memories_forgotten = request.with_memories && !scope.dry_run && !memories.is_empty();
        for id in memories.iter().filter(|_| memories_forgotten) {
            let reason = Some(scope.reason.clone());
            self.service
                .delete(caller, DeleteRequest { id: *id, reason, ..DeleteRequest::default() })?;
        }
        Ok(PastForgetAnswer {
            sessions: outcome.sessions,
            turns: outcome.turns,
            memories,
            memories_forgotten,
            dry_run: scope.dry_run,
        })
    }

    pub fn past_restore(
        &self,
        caller: &Caller,
        request: PastRestoreRequest,
    ) -> Result<PastRestoreAnswer> {
        let owner = self.past_owner(caller)?;
        let reference = request.reference;
        let lifted = self.change_past(&owner, |past, tombstones| {
            past.restore(&reference, tombstones).map_err(refused)
        })?;
        if lifted && owner.person_home.is_some() {
            self.past_read(&owner, PastReadRequest::default())?;
        }
        let scope = TurnScope { reference: reference.clone(), around: 0, work: false };
        let is_back = self
            .ask_past(caller, |past| {
                Ok(past.show(&scope).is_ok_and(|shown| !shown.turns.is_empty()))
            })?
            .unwrap_or(false);
        Ok(PastRestoreAnswer { reference, lifted, is_back })
    }

    pub fn past_tombstones(
        &self,
        caller: &Caller,
        _: PastTombstonesRequest,
    ) -> Result<PastTombstonesAnswer> {
        let owner = self.past_owner(caller)?;
        let cortex = self.service.existing(&owner)?;
        let mut answer = PastTombstonesAnswer::default();
        for entry in tombstones::entries(&cortex)? {
            if let Payload::PastForget(said) = entry.payload()? {
                answer.tombstones.push(PastTombstone {
                    seq: entry.seq,
                    at: entry.at.rfc3339(),
                    by: entry.by,
                    reason: said.reason,
                });
            }
        }
        Ok(answer)
    }

    pub fn past_check(&self, caller: &Caller, _: PastCheckRequest) -> Result<PastCheckAnswer> {
        let check = self.ask_past(caller, past::Past::verify)?.unwrap_or_default();
        Ok(PastCheckAnswer {
            sound: check.is_sound(),
            segments: check.segments,
            parts: check.parts,
            damaged: check.damaged,
            missing: check.missing,
            unreferenced: check.unreferenced,
        })
    }

    pub fn past_rebuild(
        &self,
        caller: &Caller,
        request: PastRebuildRequest,
    ) -> Result<PastRebuildAnswer> {
        let owner = self.past_owner(caller)?;
        if !self.past.is_there() {
            return Ok(PastRebuildAnswer::default());
        }
        self.change_past(&owner, |past, tombstones| {
            let counts = past.rebuild(tombstones, request.mask).map_err(refused)?;
            let agents = past.state().agents;
            Ok(PastRebuildAnswer {
                sessions: agents.values().map(|agent| agent.sessions + agent.children).sum(),
                turns: agents.values().map(|agent| agent.turns).sum(),
                masked: counts.masked.values().sum(),
            })
        })
    }
}
