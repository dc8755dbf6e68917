//! The memory as talents and `think` reach it: the ordinary operations, asked of the daemon if one owns the home, else run in
//! this process for as long as the one question takes.
//!
//! A run may last an hour; the home must not be held for that long, because a daemon could not start meanwhile.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::config;
use crate::daemon::client::{Client, GONE};
use crate::daemon::place::Place;
use crate::daemon::protocol::{From, encode};
use crate::daemon::server::log;
use crate::ops::error::{Error, Result};
use crate::ops::wire::Operation;
use crate::ops::{Caller, Ops, renewal};

/// Between two looks at a home that somebody is about to open or close.
const STEP: Duration = Duration::from_millis(10);

#[derive(Clone, Debug)]
pub(crate) struct Memory {
    place: Place,
    caller: Caller,
    /// Those that decide about the configuration.
    variables: BTreeMap<String, String>,
    wait: Duration,
}

impl Memory {
    /// `caller` says whose memory it is; who asks is said with each question.
    pub(crate) fn new(
        place: Place,
        mut caller: Caller,
        variables: BTreeMap<String, String>,
        wait: Duration,
    ) -> Memory {
        // Where a process happens to stand says nothing about what a talent works on.
        caller.cwd = None;
        caller.any_folder = false;
        Memory { place, caller, variables, wait }
    }

    /// Whose memory it is.
    pub(crate) fn actor(&self) -> &str {
        self.caller.actor.as_str()
    }

    /// Asks in somebody's name, on a thread that may block.
    pub(crate) async fn ask<R: Operation + Clone>(
        &self,
        by: &str,
        request: R,
    ) -> Result<R::Answer> {
        let (memory, by) = (self.clone(), by.to_owned());
        let work = tokio::task::spawn_blocking(move || memory.ask_now(&by, request));
        work.await.unwrap_or_else(|error| Err(Error::internal(error.to_string())))
    }

    fn ask_now<R: Operation + Clone>(&self, by: &str, request: R) -> Result<R::Answer> {
        let mut caller = self.caller.clone();
        by.clone_into(&mut caller.by);
        let mut key = [0; 16];
        caller.world.fill(&mut key)?;
        caller.idempotency_key = Some(format!("talent-{}", encode(&key)));
        let until = Instant::now() + self.wait;
        loop {
            if let Some(mut client) = Client::connect(&self.place)? {
                match client.ask(&From::new(&caller), request.clone()) {
                    // Asked again of the next one; the key keeps it from being done twice.
                    Err(error) if error.code == GONE && Instant::now() < until => continue,
                    answer => return answer,
                }
            }
            if let Some(_lock) = self.place.share()? {
                let settings = config::load(&self.place.home, &self.variables)?.settings();
                let ops = Ops::new(&self.place.home, settings, self.wait)
                    .with_embedder(self.variables.clone())
                    .telling(renewal::told(log));
                let answer = request.run(&ops, &caller);
                let closed = ops.close(caller.now()?);
                return answer.and_then(|answer| closed.map(|()| answer));
            }
            if Instant::now() >= until {
                return Err(kernel::Error::Busy.into());
            }
            std::thread::sleep(STEP);
        }
    }
}
