//! Connections to the daemon that several threads share.
//!
//! What must stay true: a call that is repeated because the daemon went away meanwhile carries the same idempotency
//! key, so that it never acts twice.

use std::sync::{Mutex, MutexGuard, PoisonError};

use api::{Call, CallerInfo, ErrorCode, Handle, Result};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::connection::DaemonClient;
use crate::place::DaemonPlace;
use crate::protocol::encode;
use crate::start::connect_or_start;

/// Connections kept for the next call.
const IDLE_MAX: usize = 4;

/// Connections to the daemon of a home for one caller; the daemon is started if it is not there.
#[derive(Debug)]
pub struct ClientPool {
    place: DaemonPlace,
    caller: CallerInfo,
    idle: Mutex<Vec<DaemonClient>>,
}

impl ClientPool {
    /// Connects at once, so that an agent learns early if something is wrong, and the daemon lives as long as the
    /// agent.
    pub fn new(place: DaemonPlace, caller: CallerInfo) -> Result<ClientPool> {
        let client = connect_or_start(&place)?;
        Ok(ClientPool { place, caller, idle: Mutex::new(vec![client]) })
    }

    /// How the daemon is.
    pub fn status(&self) -> Result<Value> {
        self.with_client(DaemonClient::status)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<DaemonClient>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_client<T>(&self, mut ask: impl FnMut(&mut DaemonClient) -> Result<T>) -> Result<T> {
        let idle = self.idle().pop();
        let mut client = match idle {
            Some(client) => client,
            None => connect_or_start(&self.place)?,
        };
        let mut outcome = ask(&mut client);
        if outcome.as_ref().is_err_and(|error| error.code == ErrorCode::DaemonGone) {
            client = connect_or_start(&self.place)?;
            outcome = ask(&mut client);
        }
        if !outcome.as_ref().is_err_and(|error| error.code == ErrorCode::DaemonGone) {
            let mut idle = self.idle();
            if idle.len() < IDLE_MAX {
                idle.push(client);
            }
        }
        outcome
    }
}

impl Handle for ClientPool {
    fn actor(&self) -> &str {
        &self.caller.actor
    }

    fn answer(&self, call: Call) -> Result<Box<RawValue>> {
        let mut key = [0; 16];
        getrandom::fill(&mut key)
            .map_err(|error| api::Error::internal(format!("random bytes: {error}")))?;
        // A daemon that dies before it answers may have saved; asked again, it must not save twice.
        let idempotency_key = Some(format!("mcp-{}", encode(&key)));
        let from = CallerInfo { idempotency_key, ..self.caller.clone() };
        self.with_client(|client| client.answer(&from, call.clone()))
    }
}
