//! A run from its first line to its last, without a gap and without a double.
//!
//! The subscription is made first, then the log is read, then the bus is heard. Every event is in the log before it
//! is on the bus and carries its place (`seq`), so what comes twice is known. Whoever falls behind on the bus reads
//! the log again from where it stands: the log is the truth, the bus only says that there is more. The end is given
//! when the bus has told it or the log has its final name, so that who follows finds the same as who listens: a log
//! under its final name, and a row in the index.

use std::collections::VecDeque;
use std::io;

use api::run::{RunEvent, RunEventKind};

use super::log::read::{self, LogLine};
use talents::bus::{BusFilter, BusMessage, Delivery, Hub, Subscription};
use talents::{Layout, UseId};

/// How much of a log is held in memory while it is followed.
const PART_BYTES_MAX: u64 = 1 << 20;

/// One event of a run that is followed.
#[derive(Clone, Debug, PartialEq)]
pub struct FollowedEvent {
    pub seq: u64,
    pub event: RunEvent,
    /// The event as one line of JSON, without the newline.
    pub line: String,
}

/// Follows one run.
#[derive(Debug)]
pub struct RunFollower {
    layout: Layout,
    run: UseId,
    subscription: Subscription,
    ready: VecDeque<LogLine>,
    /// The place of the next event to give.
    next: u64,
    /// How far the log was read, in bytes and in lines.
    offset: u64,
    index: u64,
    /// There may be more in the log than was read.
    behind: bool,
    ended: bool,
}

impl RunFollower {
    /// Follows a run from the event after `after`, or from its request.
    pub fn new(hub: &Hub, layout: &Layout, run: &UseId, after: Option<u64>) -> RunFollower {
        RunFollower {
            layout: layout.clone(),
            run: run.clone(),
            subscription: hub.subscribe(BusFilter::runs([run.to_string()])),
            ready: VecDeque::new(),
            next: after.map_or(0, |after| after.saturating_add(1)),
            offset: 0,
            index: 0,
            behind: true,
            ended: false,
        }
    }

    /// The next event; `None` after the one that ended the run. A run that nobody knows is an error of kind `NotFound`.
    pub async fn next(&mut self) -> io::Result<Option<FollowedEvent>> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                if is_passing(&line.event) {
                    let (event, line) = (line.event, line.text);
                    return Ok(Some(FollowedEvent {
                        seq: self.next.saturating_sub(1),
                        event,
                        line,
                    }));
                }
                self.ended = line.event.is_terminal();
                if line.seq >= self.next {
                    self.next = line.seq + 1;
                    return Ok(Some(FollowedEvent {
                        seq: line.seq,
                        event: line.event,
                        line: line.text,
                    }));
                }
            } else if self.ended {
                return Ok(None);
            } else if self.behind {
                self.read_on().await?;
            } else {
                self.hear().await;
            }
        }
    }

    async fn read_on(&mut self) -> io::Result<()> {
        let (layout, run) = (self.layout.clone(), self.run.clone());
        let (offset, index) = (self.offset, self.index);
        let part = tokio::task::spawn_blocking(move || {
            // Between the look and the opening the log may get its other name; the second look finds it there.
            let mut last = io::Error::new(io::ErrorKind::NotFound, format!("no run {run}"));
            for _ in 0..3 {
                let Some(found) = read::find(&layout, &run)? else { break };
                match read::read_part(&found.path, offset, index, PART_BYTES_MAX) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => last = error,
                    Ok(mut part) if found.active => {
                        part.leave_the_end();
                        return Ok(part);
                    }
                    part => return part,
                }
            }
            Err(last)
        })
        .await
        .map_err(io::Error::other)??;
        self.behind = part.offset > offset;
        self.offset = part.offset;
        self.index = part.index;
        self.ready.extend(part.lines);
        Ok(())
    }

    async fn hear(&mut self) {
        match self.subscription.next().await {
            Delivery::Dropped(_) => self.behind = true,
            Delivery::Event(event) => match event.message.seq() {
                Some(seq) if seq == self.next => self.ready.push_back(line(seq, &event.message)),
                Some(seq) if seq > self.next => self.behind = true,
                // A log that could not be written has no place for the end; the bus is all that tells it.
                None if event.message.ends_run() => {
                    self.ready.push_back(line(self.next, &event.message));
                }
                None if is_passing(&event.message.run_event()) => {
                    self.ready.push_back(line(self.next, &event.message));
                }
                // Seen already, or an answer that is no part of the run.
                _ => {}
            },
        }
    }
}

/// A piece of an answer, which is on the bus and in no log: who comes late gets the answer as a whole.
fn is_passing(event: &RunEvent) -> bool {
    event.kind() == RunEventKind::TextDelta && event.seq().is_none()
}

fn line(seq: u64, message: &BusMessage) -> LogLine {
    let event = message.run_event();
    let text = event.line();
    LogLine { seq, event, text }
}
