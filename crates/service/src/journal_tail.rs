//! What the newest entries of an actor's journal say: what was saved within the dedup window, and which sessions live.
//!
//! A view of the journal, kept in memory and brought up to date before each use by reading the entries it has not seen.
//! Whoever wrote them, through which interface, makes no difference.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;

use kernel::journal::{Entry, EntryKind, Payload, Write};
use kernel::memory::{MemoryId, Millis, Session};
use kernel::store::{KeyRange, View};
use kernel::{Digest, Reading, keys};

use crate::error::Result;
use crate::prompt::prompt_numbers;
use intake::dedup::{SaveKey, fingerprint};
use intake::project::alias::Aliases;

/// Entries looked at when an actor is opened. A window that held more than this remembers the newest of them.
const BACKLOG_MAX: u64 = 20_000;
/// Newest prompts that are looked at to see which session spoke.
const PROMPTS_MAX: usize = 500;

#[derive(Debug, Default)]
pub(super) struct JournalTail {
    loaded: bool,
    /// The last entry that was looked at.
    seen: u64,
    recent: BTreeMap<Digest, MemoryId>,
    /// The same by age, oldest first.
    order: VecDeque<(Millis, Digest)>,
    live: BTreeMap<String, LiveSession>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct LiveSession {
    project: Option<String>,
    /// The entry of its start or of its newest prompt: whoever asked last is who speaks.
    spoke: u64,
}

impl JournalTail {
    pub(super) fn catch_up(&mut self, reading: &Reading, now: Millis, window: i64) -> Result<()> {
        let view = reading.view();
        let size = view.counters()?.size;
        let since = Millis(now.get().saturating_sub(window));
        if !self.loaded {
            self.load(&view, size, since)?;
        }
        for seq in self.seen + 1..=size {
            if let Some(entry) = view.entry(seq)? {
                self.look_at(&view, &entry)?;
            }
        }
        self.seen = self.seen.max(size);
        while self.order.front().is_some_and(|(at, _)| *at < since) {
            if let Some((_, digest)) = self.order.pop_front()
                && !self.order.iter().any(|(_, other)| *other == digest)
            {
                self.recent.remove(&digest);
            }
        }
        Ok(())
    }

    fn load(&mut self, view: &View<'_>, size: u64, since: Millis) -> Result<()> {
        let mut sessions = Vec::new();
        each_session(view, &mut |session| {
            if session.ended.is_none() {
                sessions.push(session);
            }
        })?;
        for session in sessions {
            let live = LiveSession { project: session.project, spoke: session.seq };
            self.live.insert(session.id, live);
        }
        for seq in prompt_numbers(view)?.into_iter().take(PROMPTS_MAX) {
            if let Some(Payload::Prompt(prompt)) =
                view.entry(seq)?.map(|entry| entry.payload()).transpose()?
            {
                self.heard(prompt.session.as_deref(), seq);
            }
        }
        let (mut from, mut entries) = (size, Vec::new());
        while from > 0 && size - from < BACKLOG_MAX {
            // An entry that does not read says nothing of those before it.
            match view.entry(from)? {
                Some(entry) if entry.at < since => break,
                found => entries.extend(found),
            }
            from -= 1;
        }
        entries.iter().rev().try_for_each(|entry| self.look_at(view, entry))?;
        self.seen = size;
        self.loaded = true;
        Ok(())
    }

    fn heard(&mut self, session: Option<&str>, seq: u64) {
        if let Some(live) = session.and_then(|id| self.live.get_mut(id)) {
            live.spoke = live.spoke.max(seq);
        }
    }

    fn look_at(&mut self, view: &View<'_>, entry: &Entry) -> Result<()> {
        let seq = entry.seq;
        if !matches!(
            entry.kind,
            EntryKind::Write | EntryKind::SessionStart | EntryKind::SessionEnd | EntryKind::Prompt
        ) {
            return Ok(());
        }
        match entry.payload()? {
            Payload::Write(write) => self.saved(view, seq, entry.at, &write)?,
            // One that has ended meanwhile is not looked at again.
            Payload::SessionStart(start)
                if view.session(&start.session)?.is_some_and(|session| session.ended.is_none()) =>
            {
                let live = LiveSession { project: start.project, spoke: seq };
                self.live.insert(start.session, live);
            }
            Payload::SessionEnd(end) => drop(self.live.remove(&end.session)),
            Payload::Prompt(prompt) => self.heard(prompt.session.as_deref(), seq),
            _ => {}
        }
        Ok(())
    }

    fn saved(&mut self, view: &View<'_>, seq: u64, at: Millis, write: &Write) -> Result<()> {
        let Some(id) = MemoryId::new(seq) else { return Ok(()) };
        // What was erased has nothing to be compared with.
        let Some(sealed) = view.sealed(seq)? else { return Ok(()) };
        let body = sealed.open()?;
        let digest = fingerprint(&SaveKey {
            project: write.project.as_deref(),
            scope: write.scope,
            kind: &write.kind,
            title: &body.title,
            content: &body.content,
        });
        self.recent.insert(digest, id);
        self.order.push_back((at, digest));
        Ok(())
    }

    /// The memory that was saved with this fingerprint inside the window.
    pub(super) fn recent(&self, digest: &Digest) -> Option<MemoryId> {
        self.recent.get(digest).copied()
    }

    /// The live session of a project that spoke last, under whichever name. Sessions that only hold saves made
    /// without one do not count.
    pub(super) fn speaking(&self, project: Option<&str>, aliases: &Aliases) -> Option<String> {
        self.live
            .iter()
            .filter(|(id, live)| {
                aliases.of(live.project.as_deref()) == project
                    && !crate::default_session::is_default(id)
            })
            .max_by_key(|(_, live)| live.spoke)
            .map(|(id, _)| id.clone())
    }
}

/// Every session, in the order of their names.
pub fn each_session(view: &View<'_>, visit: &mut dyn FnMut(Session)) -> Result<()> {
    let mut ids = Vec::new();
    view.scan(&KeyRange::prefix(&keys::sessions()), &mut |key, _| {
        ids.push(key.to_vec());
        Ok(ControlFlow::Continue(()))
    })?;
    for key in ids {
        // `S | length | name`.
        let name = key.get(2..).and_then(|name| std::str::from_utf8(name).ok()).unwrap_or("");
        if let Some(session) = view.session(name)? {
            visit(session);
        }
    }
    Ok(())
}
