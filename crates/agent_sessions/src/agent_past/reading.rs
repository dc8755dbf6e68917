//! Reading what agents wrote since the last time, in steps.
//!
//! What must stay true: between two steps others may ask and forget; where agents keep their files is told by the
//! caller, never looked up here.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use api::past::{PastReadAnswer, PastReadRequest};
use past::{ReadPlan, ReadScope, ReadWorld};
use transcripts::surroundings::{HostSystem, PastSurroundings, VARIABLES};

use super::{agent_named, refused, views};
use service::caller::Caller;
use service::error::{Error, Result};
use service::parse;

use crate::AgentSessions;

/// Bytes of sources that are read before others may ask.
const STEP_BYTES: u64 = 64 << 20;
/// Bytes that are read on the way, to a question when nobody else follows what agents write, or when a turn ends.
const CATCH_UP_BYTES: u64 = 8 << 20;

/// A file that changed within this time is looked at more often than the others.
const HOT_MS: i64 = 24 * 3_600_000;

/// What is looked at to see whether agents wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowScope {
    /// Files that changed within a day.
    Hot,
    /// Every folder in which agents keep sessions.
    All,
}

impl AgentSessions {
    pub fn past_read(&self, caller: &Caller, request: PastReadRequest) -> Result<PastReadAnswer> {
        let owner = self.past_owner(caller)?;
        let scope = ReadScope {
            agents: request.agents.iter().map(|name| agent_named(name)).collect::<Result<_>>()?,
            since: request
                .since
                .as_deref()
                .map(parse::time)
                .transpose()?
                .map(kernel::memory::Millis::get),
            path: request.path.as_ref().map(PathBuf::from),
            known_since: None,
            dry_run: request.dry_run,
        };
        let surroundings = surroundings(&owner, &request.variables)?;
        let mut plan = self.past_plan(&owner, &scope, &surroundings)?;
        while !plan.is_done() && !request.dry_run {
            self.past_step(&owner, &mut plan, &surroundings, STEP_BYTES)?;
            let (done, total) = plan.progress();
            owner.tell("reading bytes", done, total);
        }
        let outcome = self.change_past(&owner, |past, _| Ok(past.outcome(plan)))?;
        Ok(views::read(outcome, request.dry_run))
    }

    /// Reads a little of what is new, so that a question finds it. Returns how many bytes are left.
    pub fn past_catch_up(
        &self,
        caller: &Caller,
        variables: &BTreeMap<String, String>,
    ) -> Result<u64> {
        let owner = self.past_owner(caller)?;
        let surroundings = surroundings(&owner, variables)?;
        let mut plan = self.past_plan(&owner, &ReadScope::default(), &surroundings)?;
        if !plan.is_done() {
            self.past_step(&owner, &mut plan, &surroundings, CATCH_UP_BYTES)?;
        }
        let (done, total) = plan.progress();
        Ok(total.saturating_sub(done))
    }

    /// Reads on as agents write: files that changed lately every time, and all of them when `all` is asked for.
    pub fn past_follow(
        &self,
        caller: &Caller,
        variables: &BTreeMap<String, String>,
        all: FollowScope,
    ) -> Result<()> {
        if !self.past.is_there() || !self.follows_past()? {
            return Ok(());
        }
        let owner = self.past_owner(caller)?;
        let surroundings = surroundings(&owner, variables)?;
        let since = owner.now()?.get().saturating_sub(HOT_MS);
        let known_since = (all == FollowScope::Hot).then_some(since);
        let scope = ReadScope { known_since, ..ReadScope::default() };
        let mut plan = self.past_plan(&owner, &scope, &surroundings)?;
        while !plan.is_done() {
            self.past_step(&owner, &mut plan, &surroundings, STEP_BYTES)?;
        }
        Ok(())
    }

    /// Reads on in the session of which an agent just said that it wrote. What is much is left to whoever follows.
    pub(crate) fn past_hear(
        &self,
        caller: &Caller,
        variables: &BTreeMap<String, String>,
        transcript: &Path,
    ) -> Result<()> {
        if !self.past.is_there() || !self.follows_past()? {
            return Ok(());
        }
        let owner = self.past_owner(caller)?;
        let surroundings = surroundings(&owner, variables)?;
        let is_plain = transcript.components().all(|part| part != Component::ParentDir)
            && transcript.symlink_metadata().is_ok_and(|data| data.is_file());
        let Some(agent) = past::agent_of(transcript, &surroundings).filter(|_| is_plain) else {
            return Ok(());
        };
        let path = Some(transcript.to_owned());
        let scope = ReadScope { agents: vec![agent], path, ..ReadScope::default() };
        let mut plan = self.past_plan(&owner, &scope, &surroundings)?;
        if plan.progress().1 <= CATCH_UP_BYTES && !plan.is_done() {
            self.past_step(&owner, &mut plan, &surroundings, CATCH_UP_BYTES)?;
        }
        Ok(())
    }

    fn past_plan(
        &self,
        owner: &Caller,
        scope: &ReadScope,
        surroundings: &PastSurroundings,
    ) -> Result<ReadPlan> {
        let (exclusion, now) = (self.exclusion(owner)?, owner.now()?.get());
        self.change_past(owner, |past, tombstones| {
            let world = ReadWorld {
                surroundings,
                exclusion: &exclusion,
                tombstones: &*tombstones,
                now,
                progress: &mut |_, _| {},
            };
            past.plan(scope, &world).map_err(refused)
        })
    }

    fn past_step(
        &self,
        owner: &Caller,
        plan: &mut ReadPlan,
        surroundings: &PastSurroundings,
        bytes: u64,
    ) -> Result<()> {
        let (exclusion, now) = (self.exclusion(owner)?, owner.now()?.get());
        self.change_past(owner, |past, tombstones| {
            let mut world = ReadWorld {
                surroundings,
                exclusion: &exclusion,
                tombstones: &*tombstones,
                now,
                progress: &mut |_, _| {},
            };
            past.read_step(plan, &mut world, bytes).map_err(refused)
        })
    }
}

/// Where the caller's agents keep their files.
pub(super) fn surroundings(
    caller: &Caller,
    variables: &BTreeMap<String, String>,
) -> Result<PastSurroundings> {
    let home = caller
        .person_home
        .clone()
        .ok_or_else(|| Error::invalid("home", "nobody knows the caller's home folder; set HOME"))?;
    let known = |(name, _): &(&String, &String)| VARIABLES.contains(&name.as_str());
    let variables =
        variables.iter().filter(known).map(|(name, value)| (name.clone(), value.clone())).collect();
    let system = if cfg!(windows) {
        HostSystem::Windows
    } else if cfg!(target_os = "macos") {
        HostSystem::MacOs
    } else {
        HostSystem::Linux
    };
    Ok(PastSurroundings { home, system, variables })
}
