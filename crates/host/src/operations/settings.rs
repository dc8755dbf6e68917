//! What is set for this home, and setting it: for the owner, who typed it.

use api::settings::{SetSettingAnswer, SetSettingRequest, SettingsAnswer, SettingsRequest};
use api::{ErrorCode, Fault};
use service::Caller;
use service::access::for_owner;
use service::config::edit;
use service::error::{Error, Result};

use crate::home::Host;

impl Host {
    pub fn settings(&self, caller: &Caller, _: SettingsRequest) -> Result<SettingsAnswer> {
        for_owner(caller)?;
        edit::list(self.folder(), self.variables())
    }

    /// Sets one value. A program that a model drives may not: settings say what such programs may do.
    pub fn set_setting(
        &self,
        caller: &Caller,
        request: SetSettingRequest,
    ) -> Result<SetSettingAnswer> {
        for_owner(caller)?;
        if !caller.author.is_person() {
            let message = "settings are changed by a person";
            let error = Error::new(ErrorCode::PersonNeeded, Fault::Forbidden, message);
            return Err(error.with_hint("`cortex config set`, or the page"));
        }
        let SetSettingRequest { key, value } = request;
        edit::set(self.folder(), self.variables(), &key, value.as_deref())
    }
}
