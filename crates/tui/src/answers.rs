//! What answers do to the state: each goes to the place that waits for it, and some make the next question.

use crate::ask::{Answer, Change, ChangeReport, Request, Slot, Ticket};
use crate::input::Input;
use crate::list::List;
use crate::page::Page;
use crate::state::{FEED_MAX, Notice, State, Tab, UNDO_MAX};
use crate::text;
use api::Result;
use api::activity::EntryView;
use api::server_tools::ApprovalState;

impl State {
    pub(super) fn answered(&mut self, ticket: Ticket, answer: Result<Answer>) -> Vec<Request> {
        let mut answer = Some(answer);
        if self.feed.poll.deliver(ticket, &mut answer) {
            return self.fed();
        }
        if self.change.deliver(ticket, &mut answer) {
            return self.changed();
        }
        if self.search.load.waits_for(ticket) {
            return self.searched(ticket, &mut answer).into_iter().collect();
        }
        for page in &mut self.pages {
            if page.slots().into_iter().any(|slot| slot.deliver(ticket, &mut answer)) {
                page.settle();
                self.settle_edit();
                return self.settle_chat();
            }
        }
        if self.home.decision.deliver(ticket, &mut answer) {
            return self.decided();
        }
        let slots: [&mut dyn Slot; 14] = [
            &mut self.home.stats,
            &mut self.home.approvals,
            &mut self.home.status,
            &mut self.home.recent.load,
            &mut self.home.sessions.load,
            &mut self.sessions.load,
            &mut self.projects.load,
            &mut self.archive.archived.load,
            &mut self.archive.forgotten.load,
            &mut self.mind.jobs,
            &mut self.mind.audit,
            &mut self.mind.changes,
            &mut self.mind.runs,
            &mut self.chat.load,
        ];
        for slot in slots {
            if slot.deliver(ticket, &mut answer) {
                break;
            }
        }
        self.keep_in_lists();
        Vec::new()
    }

    /// A person said yes or no to a call.
    fn decided(&mut self) -> Vec<Request> {
        self.notice = match (self.home.decision.failed(), self.home.decision.value()) {
            (Some(error), _) => Some(Notice::error(error)),
            (None, Some(call)) if call.state == ApprovalState::Approved => {
                Some(Notice::said(format!("approved {}, once", text::plain(&call.tool))))
            }
            (None, Some(call)) => Some(Notice::said(format!("denied {}", text::plain(&call.tool)))),
            (None, None) => None,
        };
        self.home.decision.clear();
        self.ask_shown()
    }

    /// What was said has arrived, so the line is free and the conversation has one message more; or it was refused, and
    /// stays in the line.
    fn settle_chat(&mut self) -> Vec<Request> {
        let Some(Page::Chat(page)) = self.pages.last_mut() else { return Vec::new() };
        if let Some(error) = page.sent.failed() {
            self.notice = Some(Notice::error(error));
            page.sent.clear();
            return Vec::new();
        }
        if page.sent.value().is_none() {
            return Vec::new();
        }
        page.sent.clear();
        page.input = Input::default();
        page.scroll = 0;
        vec![page.ask(&mut self.tickets)]
    }

    /// What the editor made of a memory is there: one more version can be taken back.
    fn settle_edit(&mut self) {
        let Some(old) = self.written_over.take() else { return };
        let now = match self.pages.last() {
            Some(Page::Memory(page)) if page.id == old.id => {
                page.load.value().filter(|_| !page.load.is_waiting())
            }
            _ => None,
        };
        match now.map(|answer| answer.memory.version) {
            Some(version) if version > old.version => {
                self.notice = Some(Notice::said(format!("edited {}; u takes it back", old.id)));
                self.keep_way_back(Change::Rewrite(Box::new(old)));
            }
            Some(_) => self.notice = Some(Notice::said("nothing to change")),
            None => self.written_over = Some(old),
        }
    }

    fn keep_way_back(&mut self, change: Change) {
        if self.undo.len() == UNDO_MAX {
            self.undo.remove(0);
        }
        self.undo.push(change);
    }

    /// A list may have become shorter.
    fn keep_in_lists(&mut self) {
        let memories =
            [&mut self.home.recent, &mut self.archive.archived, &mut self.archive.forgotten];
        for memories in memories {
            let length = memories.rows().len();
            memories.list.to(memories.list.selected, length);
        }
        for sessions in [&mut self.home.sessions, &mut self.sessions] {
            let length = sessions.rows().len();
            sessions.list.to(sessions.list.selected, length);
        }
        let length = self.projects.load.value().map_or(0, |answer| answer.projects.len());
        self.projects.list.to(self.projects.list.selected, length);
        let length = self.mind.rows().len();
        self.mind.list.to(self.mind.list.selected, length);
        let length = self.chat.rows().len();
        self.chat.list.to(self.chat.list.selected, length);
    }

    /// A search was answered. If the line says something else by now, the answer is dropped and the new question asked.
    fn searched(&mut self, ticket: Ticket, answer: &mut Option<Result<Answer>>) -> Option<Request> {
        let search = &mut self.search;
        if search.wanted().as_ref() != Some(&search.asked) {
            search.load.forget_question();
            return self.ask_search();
        }
        let chosen = self.hit().map(|(id, _)| id);
        let search = &mut self.search;
        search.load.deliver(ticket, answer);
        let same = search.asked == search.shown;
        search.shown = search.asked.clone();
        let hits = search.load.value().map_or(&[][..], |answer| &answer.hits[..]);
        let place = chosen.and_then(|id| hits.iter().position(|hit| hit.id == id));
        search.list = match place {
            // Asked again because something was saved: whoever reads keeps the place.
            Some(place) if same => List { selected: place, ..search.list },
            _ => List::default(),
        };
        None
    }

    /// New entries have come: they are shown, and what they may have changed is asked for again.
    fn fed(&mut self) -> Vec<Request> {
        let Some(answer) = self.feed.poll.value() else { return Vec::new() };
        let (size, fresh) = (answer.size, answer.entries.clone());
        let feed = &mut self.feed;
        let Some(seen) = feed.size.replace(size) else {
            (feed.entries, feed.old) = (fresh, size);
            return Vec::new();
        };
        let fresh: Vec<EntryView> = fresh.into_iter().filter(|entry| entry.seq > seen).collect();
        if fresh.is_empty() {
            return Vec::new();
        }
        // More came than one answer lists: what lies between was never seen, so what lies before is not shown as if it
        // followed.
        if fresh.last().is_some_and(|oldest| oldest.seq > seen + 1) {
            feed.entries.clear();
            feed.list = List::default();
        }
        // At the top one sees what comes; elsewhere the entry one reads stays where it is.
        if feed.list.selected > 0 {
            feed.list.selected += fresh.len();
            feed.list.offset += fresh.len();
        }
        let changes: Vec<Option<u64>> = fresh
            .iter()
            .filter(|entry| entry.kind != "touch")
            .map(|entry| entry.memory_id)
            .collect();
        feed.entries.splice(0..0, fresh);
        feed.entries.truncate(FEED_MAX);
        feed.list.to(feed.list.selected, feed.entries.len());
        let is_stale = match self.pages.last() {
            Some(Page::Memory(page)) => changes.contains(&Some(page.id)),
            Some(Page::Timeline(_)) => false,
            // An audit reads everything, so it is made when somebody looks or asks again, not at every save.
            _ => !changes.is_empty() && !matches!(self.tab, Tab::Activity | Tab::Mind),
        };
        if is_stale { self.ask_shown() } else { Vec::new() }
    }

    fn changed(&mut self) -> Vec<Request> {
        if let Some(error) = self.change.failed() {
            self.notice = Some(Notice::error(error));
            self.change.clear();
            return Vec::new();
        }
        if let Some(ChangeReport { change, changed }) = self.change.value().cloned() {
            let text = match (self.way_back.take(), changed) {
                (_, false) => "nothing to change".to_owned(),
                (Some(way_back), true) => {
                    self.keep_way_back(way_back);
                    format!("{}; u takes it back", change.done())
                }
                (None, true) => {
                    self.undo.pop();
                    format!("taken back: {}", change.done())
                }
            };
            self.notice = Some(Notice::said(text));
        }
        self.change.clear();
        self.ask_shown()
    }
}
