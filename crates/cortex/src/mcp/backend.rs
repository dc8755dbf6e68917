//! Where tools get their answers: the daemon's socket, or operations in this process.

use std::sync::{Arc, Mutex, PoisonError};

use kernel::actor::ActorName;
use serde_json::Value;

use crate::daemon::client::{Client, GONE};
use crate::daemon::place::Place;
use crate::daemon::protocol::{From, encode};
use crate::daemon::start::connect_or_start;
use crate::ops::error::{Error, Result};
use crate::ops::wire::Operation;
use crate::ops::{Caller, Ops};

/// Connections kept for the next call.
const KEPT_MAX: usize = 4;

#[derive(Clone, Debug)]
pub enum Backend {
    /// Operations of this process.
    Local(Arc<Ops>, Caller),
    /// The daemon of a home, started if it is not there.
    Daemon(Arc<Pool>),
}

#[derive(Debug)]
pub struct Pool {
    place: Place,
    caller: Caller,
    free: Mutex<Vec<Client>>,
}

impl Pool {
    /// Connects at once, so that an agent learns early if something is wrong, and the daemon lives as long as the agent.
    pub fn new(place: Place, caller: Caller) -> Result<Pool> {
        let client = connect_or_start(&place)?;
        Ok(Pool { place, caller, free: Mutex::new(vec![client]) })
    }

    /// Asks one thing, and once more if the daemon went away meanwhile.
    pub(crate) fn ask<R: Operation + Clone>(&self, request: &R) -> Result<R::Answer> {
        let mut key = [0; 16];
        self.caller.world.fill(&mut key)?;
        let mut from = From::new(&self.caller);
        // A daemon that dies before it answers may have saved; asked again, it must not save twice.
        from.idempotency_key = Some(format!("mcp-{}", encode(&key)));
        self.with_client(|client| client.ask(&from, request.clone()))
    }

    /// How the daemon is.
    pub(crate) fn status(&self) -> Result<Value> {
        self.with_client(Client::status)
    }

    fn with_client<T>(&self, mut ask: impl FnMut(&mut Client) -> Result<T>) -> Result<T> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut client = match free {
            Some(client) => client,
            None => connect_or_start(&self.place)?,
        };
        let mut outcome = ask(&mut client);
        if outcome.as_ref().is_err_and(|error| error.code == GONE) {
            client = connect_or_start(&self.place)?;
            outcome = ask(&mut client);
        }
        if !outcome.as_ref().is_err_and(|error| error.code == GONE) {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            if free.len() < KEPT_MAX {
                free.push(client);
            }
        }
        outcome
    }
}

impl Backend {
    /// The same for another caller. A daemon's pool has the one it was made for.
    #[must_use]
    pub fn asked_by(self, caller: Caller) -> Backend {
        match self {
            Backend::Local(ops, _) => Backend::Local(ops, caller),
            daemon @ Backend::Daemon(_) => daemon,
        }
    }

    /// Whose memory it is.
    pub(super) fn actor(&self) -> &ActorName {
        match self {
            Backend::Local(_, caller) => &caller.actor,
            Backend::Daemon(pool) => &pool.caller.actor,
        }
    }

    /// Runs an operation on a thread that may block.
    pub async fn ask<R: Operation + Clone>(&self, request: R) -> Result<R::Answer> {
        let work = match self.clone() {
            Backend::Local(ops, caller) => {
                tokio::task::spawn_blocking(move || request.run(&ops, &caller)).await
            }
            Backend::Daemon(pool) => tokio::task::spawn_blocking(move || pool.ask(&request)).await,
        };
        work.unwrap_or_else(|error| Err(Error::internal(error.to_string())))
    }
}
