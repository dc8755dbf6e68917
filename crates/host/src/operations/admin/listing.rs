//! Memories of one kind, as the admin chat lists them.
//!
//! "Rules" are all that binds, whatever word somebody saved them under; a goal that was reached is no goal anymore.

use std::ops::ControlFlow;

use api::memory::Memory;
use api::read::{GetRequest, ListAnswer, ListRequest};
use api::render::people;
use kernel::find::{MemoryReader, MemoryRow, Standing};
use kernel::keys;
use kernel::memory::{Fields, GoalStatus, MemoryType};
use service::caller::Caller;
use service::error::Result;

use super::{AdminReply, value};
use crate::home::Host;

/// Lines of a list.
const LINES: usize = 20;

/// The type that a word means as a whole; absent: the word is one kind among several of a type.
fn whole_type(kind: &str) -> Option<MemoryType> {
    match kind {
        "rule" => Some(MemoryType::Constraint),
        "todo" => Some(MemoryType::Goal),
        "decision" => Some(MemoryType::Decision),
        "preference" => Some(MemoryType::Preference),
        "fact" => Some(MemoryType::Fact),
        "event" => Some(MemoryType::Event),
        "identity" => Some(MemoryType::Identity),
        _ => None,
    }
}

impl Host {
    /// Memories of one kind, newest first.
    pub(super) fn listing_reply(
        &self,
        caller: &Caller,
        kind: String,
        project: Option<String>,
    ) -> Result<AdminReply> {
        let found = match whole_type(&kind) {
            Some(memory_type) => self.of_type(caller, memory_type, project.as_deref())?,
            None => {
                let (kind, limit) = (Some(kind), Some(LINES));
                let request = ListRequest { kind, project, limit, ..ListRequest::default() };
                self.service.list(caller, request)?
            }
        };
        Ok((people::listed(&found), value(&found)?))
    }

    fn of_type(
        &self,
        caller: &Caller,
        memory_type: MemoryType,
        project: Option<&str>,
    ) -> Result<ListAnswer> {
        let mut ids = Vec::new();
        {
            let (_, reading) = self.service.reading(caller)?;
            let view = reading.view();
            let lens = MemoryReader::new(&view, None, None, caller.now()?)?;
            let mut all = Vec::new();
            view.scan_index(&keys::by_type(memory_type), None, true, &mut |id| {
                all.push(id);
                Ok(ControlFlow::Continue(()))
            })?;
            for id in all {
                let Some(row) = lens.row(id)?.filter(|row| row.standing == Standing::Current)
                else {
                    continue;
                };
                let its = row.head.project.as_deref();
                let its = its.and_then(|name| self.service.named(&caller.actor, name));
                if (project.is_none() || its.as_deref() == project) && is_open(&lens, &row)? {
                    ids.push(id.get());
                }
            }
        }
        let total = ids.len();
        let memory = |id: u64| -> Result<Memory> {
            let request = GetRequest { id, quiet: true, ..GetRequest::default() };
            Ok(self.service.get(caller, request)?.memory)
        };
        let memories = ids.into_iter().take(LINES).map(memory).collect::<Result<Vec<Memory>>>()?;
        Ok(ListAnswer { memories, total })
    }
}

/// False for a goal that was reached or given up.
fn is_open(lens: &MemoryReader<'_>, row: &MemoryRow) -> Result<bool> {
    if row.head.memory_type != MemoryType::Goal {
        return Ok(true);
    }
    Ok(match lens.body(row)?.map(|body| body.fields) {
        Some(Fields::Goal(goal)) => {
            matches!(goal.status, GoalStatus::Active | GoalStatus::Paused)
        }
        _ => true,
    })
}
