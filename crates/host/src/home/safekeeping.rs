//! Keeping memories safe while nobody asks, as the settings say: one round at a time.

use std::collections::BTreeMap;
use std::sync::Mutex;

use api::DEFAULT_ACTOR;
use kernel::actor::ActorName;
use service::{Caller, config};

use super::Host;

/// Who does it, in the log.
const BY: &str = "safekeeping";

#[derive(Debug)]
pub(crate) struct Safekeeping {
    variables: BTreeMap<String, String>,
    under_way: Mutex<()>,
}

impl Safekeeping {
    pub(crate) fn new(variables: BTreeMap<String, String>) -> Safekeeping {
        Safekeeping { variables, under_way: Mutex::new(()) }
    }
}

impl Host {
    /// Does what is due: a backup, the read of a ledger.
    pub fn keep_safe(&self) -> service::Result<()> {
        let Ok(_alone) = self.safekeeping.under_way.try_lock() else { return Ok(()) };
        let plan = config::load(self.folder(), &self.safekeeping.variables)?.safety_plan();
        let caller = Caller::new(ActorName::parse(DEFAULT_ACTOR)?, BY);
        let report = self.service.keep_safe(&caller, &plan)?;
        if let Some(folder) = &report.backup {
            tracing::info!(folder = %folder.display(), "backed up");
        }
        if !report.checked.is_empty() {
            tracing::info!(ledgers = report.checked.len(), "ledgers read and compared");
        }
        Ok(())
    }
}
