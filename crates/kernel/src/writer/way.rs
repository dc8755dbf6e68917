//! Who appends next, where nodes that do not know of each other serve one actor.
//!
//! A node that was overtaken takes over what the other wrote, judges its commands again and appends; the other needs
//! only the last of these steps, so it is first again and again for as long as it has something to write. What is
//! overtaken too often asks for the way, and whoever is asked writes nothing until the other did.
//!
//! What must stay true: only time depends on this. Nobody waits longer than `WAY_WAIT` for somebody who may be gone;
//! questions are answered meanwhile, and a node that is overtaken itself gives way to nobody.

use std::collections::VecDeque;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use super::work::take_catch_ups;
use super::{Job, WriterThread};
use crate::error::Error;
use crate::limits::QUEUE_COMMANDS_MAX;

/// Appends in a row that are overtaken before the way is asked for, and then between two times.
const OVERTAKEN_MAX: u32 = 3;
/// How long another node may take to append.
const WAY_WAIT: Duration = Duration::from_millis(500);
/// Between two looks at whether it did.
const LOOK_PAUSE: Duration = Duration::from_millis(5);

impl WriterThread {
    /// Counts appends that another node overtook, and asks for the way once there are too many.
    pub(super) fn note_overtaken(&mut self, error: &Error) {
        if !matches!(error, Error::Overtaken) {
            return;
        }
        self.overtaken = self.overtaken.saturating_add(1);
        if self.overtaken.is_multiple_of(OVERTAKEN_MAX) {
            self.storage.ask_for_way();
        }
    }

    /// Commits nothing until another node appended, for a moment at most.
    pub(super) fn give_way(&mut self, waiting: &mut VecDeque<Job>, jobs: &Receiver<Job>) {
        let until = Instant::now() + WAY_WAIT;
        let before = self.size();
        loop {
            // A failure is told to whoever asks next.
            let size = self.catch_up();
            let is_over = match (&before, &size) {
                (Ok(before), Ok(size)) => size > before || Instant::now() >= until,
                _ => true,
            };
            for answer in take_catch_ups(waiting) {
                super::held::reply(&answer, size.clone());
            }
            if is_over {
                break;
            }
            std::thread::sleep(LOOK_PAUSE);
            let room = QUEUE_COMMANDS_MAX.saturating_sub(waiting.len());
            waiting.extend(jobs.try_iter().take(room));
        }
        // Who asked twice was answered with this.
        waiting.retain(|job| !matches!(job, Job::GiveWay));
    }
}
