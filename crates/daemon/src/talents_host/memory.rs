//! The memory as talents and `think` reach it: the ordinary operations, asked of the daemon if one owns the home, else
//! run in this process for as long as the one question takes.
//!
//! A run may last an hour; the home must not be held for that long, because a daemon could not start meanwhile.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use api::author::Author;
use api::{Error, ErrorCode, Result};
use client::connection::DaemonClient;
use client::place::DaemonPlace;
use client::protocol::encode;
use mind::active_days::TALENT_KEYS;
use service::{Caller, Service, config, renewal};

use host::Host;
use host::dispatch::HostOperation;

/// Between two looks at a home that somebody is about to open or close.
const STEP: Duration = Duration::from_millis(10);

#[derive(Clone, Debug)]
pub struct MemoryHandle {
    place: DaemonPlace,
    caller: Caller,
    /// Those that decide about the configuration.
    variables: BTreeMap<String, String>,
    /// The keys of services, by the names that the configuration tells.
    environment: BTreeMap<String, String>,
}

impl MemoryHandle {
    /// `place` says how long to wait for another process, `caller` whose memory it is; who asks is said with each
    /// question.
    pub fn new(
        place: DaemonPlace,
        mut caller: Caller,
        variables: BTreeMap<String, String>,
        environment: BTreeMap<String, String>,
    ) -> MemoryHandle {
        // Where a process happens to stand says nothing about what a talent works on.
        caller.cwd = None;
        // Whoever started the run, what it writes is written by a model.
        caller.author = Author::Agent;
        MemoryHandle { place, caller, variables, environment }
    }

    /// Whose memory it is.
    pub fn actor(&self) -> &str {
        self.caller.actor.as_str()
    }

    /// Asks in somebody's name, on a thread that may block.
    pub async fn ask<R: HostOperation + Clone>(&self, by: &str, request: R) -> Result<R::Answer> {
        let (memory, by) = (self.clone(), by.to_owned());
        let work = tokio::task::spawn_blocking(move || memory.ask_now(&by, request));
        work.await.unwrap_or_else(|error| Err(Error::internal(error.to_string())))
    }

    fn ask_now<R: HostOperation + Clone>(&self, by: &str, request: R) -> Result<R::Answer> {
        let mut caller = self.caller.clone();
        by.clone_into(&mut caller.by);
        let mut key = [0; 16];
        caller.environment.fill(&mut key)?;
        caller.idempotency_key = Some(format!("{TALENT_KEYS}{}", encode(&key)));
        let until = Instant::now() + self.place.patience;
        loop {
            if let Some(mut client) = DaemonClient::connect(&self.place)? {
                match client.ask(&caller.info(), request.clone()) {
                    // Asked again of the next one; the key keeps it from being done twice.
                    Err(error) if error.code == ErrorCode::DaemonGone && Instant::now() < until => {
                        continue;
                    }
                    answer => return answer,
                }
            }
            if let Some(_lock) = self.place.share()? {
                let settings = config::load(&self.place.home, &self.variables)?.settings();
                let service = Service::new(&self.place.home, settings, self.place.patience)
                    .with_embedder(self.variables.clone(), self.environment.clone())
                    .telling(renewal::told(|line| tracing::info!("{line}")));
                let host = Host::new(service, self.variables.clone());
                let answer = request.run(&host, &caller);
                let closed = host.service.close(caller.now()?);
                return Ok(answer.and_then(|answer| closed.map(|()| answer))?);
            }
            if Instant::now() >= until {
                return Err(service::Error::from(kernel::Error::Busy).into());
            }
            std::thread::sleep(STEP);
        }
    }
}
