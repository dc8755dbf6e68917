//! Lists: what is selected, what is in sight, and the pages of memories and sessions behind them.
//!
//! What must stay true: the selected row is always in sight.

use crate::ask::{Ask, Load, Request, Tickets};
use api::memory::Memory;
use api::read::{LIST_MAX, ListAnswer, ListRequest};
use api::session::{SESSIONS_MAX, SessionListAnswer, SessionListRequest, SessionView};

/// Rows asked for at first, and more of them when the end comes in sight.
const PAGE: usize = 200;
/// Characters of each memory in a list.
const PREVIEW_CHARS: usize = 300;

/// Where somebody is in a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct List {
    pub(super) selected: usize,
    /// The first row in sight, as it was drawn last.
    pub(super) offset: usize,
}

impl List {
    /// Moves the selection by some rows, within `length` rows.
    pub(super) fn step(&mut self, by: isize, length: usize) {
        let last = length.saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    pub(super) fn to(&mut self, row: usize, length: usize) {
        self.selected = row.min(length.saturating_sub(1));
    }

    /// The first row to draw, so that the selected one is among the `rows` that fit.
    pub(super) fn first(&self, rows: usize, length: usize) -> usize {
        let rows = rows.max(1);
        let selected = self.selected.min(length.saturating_sub(1));
        let lowest = (selected + 1).saturating_sub(rows);
        self.offset.clamp(lowest, selected).min(length.saturating_sub(rows).max(lowest))
    }
}

/// A list of memories, newest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Memories {
    pub(super) request: ListRequest,
    pub(super) load: Load<ListAnswer>,
    pub(super) list: List,
}

impl Memories {
    pub(super) fn of(request: ListRequest) -> Memories {
        let request = ListRequest {
            limit: Some(request.limit.unwrap_or(PAGE)),
            preview: Some(PREVIEW_CHARS),
            ..request
        };
        Memories { request, load: Load::default(), list: List::default() }
    }

    pub(super) fn ask(&mut self, tickets: &mut Tickets) -> Request {
        self.load.ask(tickets, Ask::List(self.request.clone()))
    }

    pub(super) fn rows(&self) -> &[Memory] {
        self.load.value().map_or(&[], |answer| &answer.memories)
    }

    pub(super) fn selected(&self) -> Option<&Memory> {
        self.rows().get(self.list.selected)
    }

    /// Asks for more if the selection stands at the end of what is there, and there is more.
    pub(super) fn more(&mut self, tickets: &mut Tickets) -> Option<Request> {
        let total = self.load.value()?.total;
        let limit = self.request.limit.unwrap_or(PAGE);
        let at_end = self.list.selected + 1 == self.rows().len();
        if !at_end || self.rows().len() >= total || limit >= LIST_MAX || self.load.is_waiting() {
            return None;
        }
        self.request.limit = Some((limit + PAGE).min(LIST_MAX));
        Some(self.ask(tickets))
    }
}

/// A list of sessions, newest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Sessions {
    pub(super) load: Load<SessionListAnswer>,
    pub(super) list: List,
    limit: usize,
}

impl Sessions {
    pub(super) fn ask(&mut self, tickets: &mut Tickets) -> Request {
        let limit = self.limit.max(PAGE);
        let request = SessionListRequest { limit: Some(limit), ..SessionListRequest::default() };
        self.load.ask(tickets, Ask::Sessions(request))
    }

    pub(super) fn rows(&self) -> &[SessionView] {
        self.load.value().map_or(&[], |answer| &answer.sessions)
    }

    pub(super) fn selected(&self) -> Option<&SessionView> {
        self.rows().get(self.list.selected)
    }

    pub(super) fn more(&mut self, tickets: &mut Tickets) -> Option<Request> {
        let total = self.load.value()?.total;
        let limit = self.limit.max(PAGE);
        let at_end = self.list.selected + 1 == self.rows().len();
        let all = self.rows().len() >= total || limit >= SESSIONS_MAX;
        if !at_end || all || self.load.is_waiting() {
            return None;
        }
        self.limit = (limit + PAGE).min(SESSIONS_MAX);
        Some(self.ask(tickets))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_selected_row_is_always_in_sight(
            selected in 0_usize..300, offset in 0_usize..300, rows in 0_usize..60, length in 1_usize..300,
        ) {
            let list = List { selected: selected.min(length - 1), offset };
            let first = list.first(rows, length);
            prop_assert!(first <= list.selected);
            prop_assert!(list.selected < first + rows.max(1));
            // No empty rows at the end while there are rows above.
            prop_assert!(first == 0 || length - first >= rows.max(1).min(length));
        }
    }
}
