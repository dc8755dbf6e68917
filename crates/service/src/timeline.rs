//! What was saved before and after a memory, in its session; without one, in its project.
//!
//! A delegate that may find sees of it what its grant shows, and nothing of the session.

use std::ops::ControlFlow;

use api::memory::Brief;
use api::timeline::{SIDE_MAX, TimelineAnswer, TimelineRequest};
use kernel::grants::Permission;
use kernel::keys::{self, Index};
use kernel::memory::{Head, MemoryId, MemoryType};

use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::read::memory_id;
use crate::{Service, session, views};

/// Characters of a neighbour, and of the memory in the middle.
const NEIGHBOUR_CHARS: usize = 150;

const FOCUS_CHARS: usize = 500;

/// Memories that are put into the order in which they happened; of more, the order in which they were recorded counts.
const DATED_MAX: usize = 2_000;

impl Service {
    pub fn timeline(&self, caller: &Caller, request: TimelineRequest) -> Result<TimelineAnswer> {
        let id = memory_id(request.id)?;
        let access = self.access(caller, Permission::Find, &request)?;
        access.check_sight(caller, Permission::Find, id)?;
        let reading = &access.reading;
        let view = reading.view();
        let head = view.required_head(id)?;
        if !views::is_live(&head) {
            return Err(Error::missing("memory", id)
                .with_hint(format!("it is put away; `cortex restore {id}` brings it back")));
        }
        let indexes: Vec<Index> = match (&head.session, &head.project) {
            (Some(session), _) => vec![keys::by_session(session)],
            (None, Some(project)) => vec![keys::by_project(project)],
            (None, None) => MemoryType::ALL.iter().map(|t| keys::by_type(*t)).collect(),
        };
        // In the middle of a long list only the neighbours are of interest, but all of them are counted.
        let mut ids: Vec<MemoryId> = Vec::new();
        for index in &indexes {
            view.scan_index(index, None, false, &mut |other| {
                if access.authority.is_none() || access.sees(&view.required_head(other)?) {
                    ids.push(other);
                }
                Ok(ControlFlow::Continue(()))
            })?;
        }
        if ids.len() <= DATED_MAX {
            let mut dated = ids
                .into_iter()
                .map(|id| Ok((views::when_happened(&view, &view.required_head(id)?)?, id)))
                .collect::<Result<Vec<_>>>()?;
            dated.sort_unstable();
            ids = dated.into_iter().map(|(_, id)| id).collect();
        } else {
            ids.sort_unstable();
        }
        let side = |n: Option<usize>| n.filter(|n| *n > 0).unwrap_or(5).min(SIDE_MAX);
        let shown = |other: &Head| {
            views::is_live(other) && other.session == head.session && other.project == head.project
        };
        let take = |ids: &mut dyn Iterator<Item = MemoryId>, wanted: usize| -> Result<Vec<Brief>> {
            let mut briefs = Vec::new();
            while briefs.len() < wanted {
                let Some(other) = ids.next() else { break };
                let other = view.required_head(other)?;
                if shown(&other) {
                    briefs.push(views::brief(
                        reading,
                        &other,
                        NEIGHBOUR_CHARS,
                        self.rule_authors(),
                    )?);
                }
            }
            Ok(briefs)
        };
        let place = ids.iter().position(|other| *other == id).unwrap_or(ids.len());
        let mut before = take(&mut ids[..place].iter().rev().copied(), side(request.before))?;
        let rest = ids.get(place + 1..).unwrap_or_default();
        let mut after = take(&mut rest.iter().copied(), side(request.after))?;
        let mut budget = access.budget();
        // The nearest ones stay.
        budget.keep(&mut before, crate::views::brief_tokens);
        before.reverse();
        budget.keep(&mut after, crate::views::brief_tokens);
        let session = match &head.session {
            // What a session is about may lie outside a grant.
            Some(name) if access.authority.is_none() => {
                let aliases = self.known_aliases(&caller.actor);
                view.session(name)?
                    .map(|s| session::shown(&view, &aliases, s, false))
                    .transpose()?
            }
            _ => None,
        };
        let focus = views::brief(reading, &head, FOCUS_CHARS, self.rule_authors())?;
        if !request.quiet {
            self.note_opened(caller, &[id])?;
        }
        Ok(TimelineAnswer { session, before, focus, after, total: ids.len() })
    }
}
