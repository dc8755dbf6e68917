//! The host of this process as interfaces see it: it answers the calls of one caller.

use std::sync::Arc;

use api::{Call, Handle, Result};
use serde_json::value::RawValue;
use service::Caller;

use crate::home::Host;

/// A host, for one caller.
#[derive(Clone, Debug)]
pub struct HostHandle {
    pub host: Arc<Host>,
    pub caller: Caller,
}

impl Handle for HostHandle {
    fn actor(&self) -> &str {
        self.caller.actor.as_str()
    }

    fn answer(&self, call: Call) -> Result<Box<RawValue>> {
        Ok(self.host.answer(&self.caller, call)?)
    }
}
