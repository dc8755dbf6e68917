//! A timeline: a memory in the middle of what was saved before and after it.
//!
//! Neighbours are those of its session; without one, of its project; without that, of all memories. What was saved first
//! has the smaller id, so the order is that of ids. The gate is asked for every neighbour, and what is forgotten, archived,
//! expired or not seen is not told from what does not exist.

use std::ops::ControlFlow;

use crate::error::{Error, Result};
use crate::find::{Lens, Row, at_most};
use crate::keys::{self, Index};
use crate::limits::{FIND_LIMIT_MAX, ROWS_EXAMINED_MAX};
use crate::memory::{Body, MemoryId, MemoryType, Millis, Session};
use crate::scope::Gate;
use crate::store::View;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineQuery {
    pub id: MemoryId,
    /// Neighbours on each side, at most `FIND_LIMIT_MAX`.
    pub before: u32,
    pub after: u32,
}

/// What the neighbours have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Among {
    Session(String),
    Project(String),
    Everything,
}

#[derive(Clone, Debug)]
pub struct Moment {
    pub row: Row,
    /// `None` when it was erased.
    pub body: Option<Body>,
}

/// Oldest first, on both sides.
#[derive(Clone, Debug)]
pub struct Timeline {
    pub among: Among,
    /// The frame of the session, if it was opened as one.
    pub session: Option<Session>,
    pub before: Vec<Moment>,
    pub focus: Moment,
    pub after: Vec<Moment>,
    /// More rows would have had to be looked at than a read may.
    pub capped: bool,
}

pub fn timeline(
    view: &View<'_>,
    gate: Option<&dyn Gate>,
    query: &TimelineQuery,
    now: Millis,
) -> Result<Timeline> {
    at_most("before", Some(query.before), FIND_LIMIT_MAX)?;
    at_most("after", Some(query.after), FIND_LIMIT_MAX)?;
    let lens = Lens::new(view, gate, None, now)?;
    let focus = lens.row(query.id)?.ok_or_else(|| Error::not_found("memory", query.id))?;
    if focus.head.erased {
        return Err(Error::Erased(query.id.get()));
    }
    if focus.standing.is_forgotten() {
        return Err(Error::Tombstoned(query.id.get()));
    }
    let (among, indexes) = match (&focus.head.session, &focus.head.project) {
        (Some(session), _) => (Among::Session(session.clone()), vec![keys::by_session(session)]),
        (None, Some(project)) => (Among::Project(project.clone()), vec![keys::by_project(project)]),
        (None, None) => (Among::Everything, MemoryType::ALL.map(keys::by_type).to_vec()),
    };
    let session = match &among {
        Among::Session(name) => view.session(name)?,
        _ => None,
    };
    let mut side = Side { lens: &lens, from: query.id, examined: 0, capped: false };
    let mut before = side.nearest(&indexes, query.before, true)?;
    before.reverse();
    let after = side.nearest(&indexes, query.after, false)?;
    let capped = side.capped;
    let focus = side.moment(focus)?;
    Ok(Timeline { among, session, before, focus, after, capped })
}

struct Side<'a> {
    lens: &'a Lens<'a>,
    from: MemoryId,
    examined: u32,
    capped: bool,
}

impl Side<'_> {
    /// The nearest shown memories on one side, the nearest first.
    fn nearest(&mut self, indexes: &[Index], most: u32, backwards: bool) -> Result<Vec<Moment>> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut rows: Vec<Row> = Vec::new();
        for index in indexes.iter().filter(|_| most > 0) {
            let mut found = 0;
            let (lens, from) = (self.lens, Some(self.from.get()));
            lens.view.scan_index(index, from, backwards, &mut |id| {
                if self.examined == ROWS_EXAMINED_MAX {
                    self.capped = true;
                    return Ok(ControlFlow::Break(()));
                }
                self.examined += 1;
                if let Some(row) = lens.row(id)?.filter(|row| row.standing.is_shown()) {
                    rows.push(row);
                    found += 1;
                }
                let full = found == most;
                Ok(if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })?;
        }
        // Several indexes give several runs.
        rows.sort_unstable_by_key(|row| row.head.id);
        if backwards {
            rows.reverse();
        }
        rows.into_iter().take(most).map(|row| self.moment(row)).collect()
    }

    fn moment(&self, row: Row) -> Result<Moment> {
        Ok(Moment { body: self.lens.body(&row)?, row })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find::fixture::{Fixture, NotPrivate, id, now};
    use crate::memory::Visibility;

    fn ids(moments: &[Moment]) -> Vec<u64> {
        moments.iter().map(|moment| moment.row.head.id.get()).collect()
    }

    fn around(store: &Fixture, n: u64, gate: Option<&dyn Gate>) -> Result<Timeline> {
        let query = TimelineQuery { id: id(n), before: 2, after: 2 };
        timeline(&store.view(), gate, &query, now())
    }

    /// Odd ones in one session, even ones in a project, every fifth in neither; over more than one segment of an index.
    fn store() -> Fixture {
        let mut store = Fixture::default();
        for n in 1..=1_100u64 {
            let memory_type = MemoryType::ALL[usize::try_from(n).unwrap() % 3];
            store.add(memory_type, "m", |draft| match n {
                n if n % 5 == 0 => {}
                n if n % 2 == 1 => draft.head.session = Some("s".into()),
                _ => draft.head.project = Some("web".into()),
            });
        }
        store
    }

    // agent-memory 50, 95
    #[test]
    fn neighbours_are_those_of_the_session_then_of_the_project_then_all() {
        let store = store();
        let session = around(&store, 513, None).unwrap();
        assert_eq!(session.among, Among::Session("s".into()));
        assert_eq!(
            (ids(&session.before), ids(&session.after)),
            (vec![509, 511], vec![517, 519]),
            "oldest first on both sides"
        );
        let project = around(&store, 2, None).unwrap();
        assert_eq!(project.among, Among::Project("web".into()));
        assert_eq!((ids(&project.before), ids(&project.after)), (vec![], vec![4, 6]));
        let all = around(&store, 1_100, None).unwrap();
        assert_eq!(all.among, Among::Everything);
        assert_eq!((ids(&all.before), ids(&all.after)), (vec![1_098, 1_099], vec![]));
        assert!(!session.capped && !project.capped && !all.capped);
    }

    // agent-memory 173
    #[test]
    fn what_is_put_away_or_not_seen_is_not_there() {
        let mut store = Fixture::default();
        for n in 1..=6 {
            store.add(MemoryType::Fact, "m", |draft| {
                draft.head.session = Some("s".into());
                draft.head.archived = n == 2;
                if n == 4 {
                    draft.head.visibility = Visibility::Private;
                }
            });
        }
        store.forget(id(5), now());
        let owner = around(&store, 3, None).unwrap();
        assert_eq!((ids(&owner.before), ids(&owner.after)), (vec![1], vec![4, 6]));
        let delegate = around(&store, 3, Some(&NotPrivate)).unwrap();
        assert_eq!(ids(&delegate.after), [6]);
        let unseen = around(&store, 4, Some(&NotPrivate)).unwrap_err();
        assert_eq!(unseen, Error::not_found("memory", 4), "as if it did not exist");
        assert_eq!(around(&store, 5, None).unwrap_err(), Error::Tombstoned(5));
        assert!(around(&store, 99, None).is_err());
    }
}
