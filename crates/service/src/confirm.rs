//! Confirming: a person says that rules and preferences which others proposed hold.
//!
//! A confirmation is a new version with the same words, written by the person. So it is in the journal like any change,
//! it vouches for exactly those words, and the next version that an agent writes is a proposal again.
//!
//! What must stay true: nobody confirms but a person, whatever door they come through; all that is named is looked at
//! before the first is confirmed.

use api::change::{CONFIRM_MAX, ConfirmAnswer, ConfirmRequest, ConfirmationView};
use api::{ErrorCode, Fault};
use kernel::command::{Command, Receipt, Revision};
use kernel::context::RuleAuthors;
use kernel::memory::{Body, MemoryType, Provenance};
use kernel::{Cortex, ResolvedMemory};

use crate::Service;
use crate::access::for_owner;
use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::read::memory_id;

impl Service {
    pub fn confirm(&self, caller: &Caller, request: ConfirmRequest) -> Result<ConfirmAnswer> {
        for_owner(caller)?;
        if !caller.author.is_person() {
            let message = "only a person confirms a rule";
            let error = api::Error::new(ErrorCode::PersonNeeded, Fault::Forbidden, message);
            return Err(Error::from(error).with_hint("`cortex confirm ID` at a terminal does it"));
        }
        if request.ids.is_empty() {
            return Err(Error::invalid("ids", "name at least one memory"));
        }
        if request.ids.len() > CONFIRM_MAX {
            return Err(Error::invalid("ids", format!("at most {CONFIRM_MAX} at a time")));
        }
        let cortex = self.existing(caller)?;
        let reading = cortex.read()?;
        let mut named = Vec::with_capacity(request.ids.len());
        for id in &request.ids {
            let found = reading.resolve_version(memory_id(*id)?, None)?;
            let memory_type = found.head.memory_type;
            if !matches!(memory_type, MemoryType::Constraint | MemoryType::Preference) {
                let what = memory_type.name();
                let reason = format!("{id} is a {what}; only rules and preferences are confirmed");
                return Err(Error::invalid("ids", reason));
            }
            if found.head.tombstone.is_some() {
                return Err(kernel::Error::Tombstoned(*id).into());
            }
            named.push(found);
        }
        let mut confirmed = Vec::with_capacity(named.len());
        for (n, found) in named.into_iter().enumerate() {
            confirmed.push(self.confirm_one(&caller.for_part(n), &cortex, found)?);
        }
        Ok(ConfirmAnswer { confirmed })
    }

    fn confirm_one(
        &self,
        caller: &Caller,
        cortex: &Cortex,
        found: ResolvedMemory,
    ) -> Result<ConfirmationView> {
        let ResolvedMemory { head, version, body, .. } = &found;
        let id = head.id;
        let Some(body) = body.clone() else { return Err(kernel::Error::Erased(id.get()).into()) };
        let mut view = ConfirmationView {
            id: id.get(),
            title: body.title.clone(),
            kind: head.kind.clone(),
            memory_type: head.memory_type.name().to_owned(),
            created_at: head.created.rfc3339(),
            version: version.n,
            changed: false,
        };
        if !RuleAuthors::Persons.is_proposed(head, version) {
            return Ok(view);
        }
        let receipt = self.vouched(caller, cortex, &found, body)?;
        view.version = receipt.version.unwrap_or(version.n + 1);
        view.changed = receipt.changed;
        Ok(view)
    }

    /// The same words again, by a person. They vouch for the version they were shown, not for one that came after it.
    pub(super) fn vouched(
        &self,
        caller: &Caller,
        cortex: &Cortex,
        found: &ResolvedMemory,
        body: Body,
    ) -> Result<Receipt> {
        let version = &found.version;
        let mut revision = Revision::new(found.head.id, Some(version.n), body, caller.salt()?);
        revision.provenance = Provenance::user();
        revision.confidence = version.confidence;
        revision.valid_from = version.valid_from;
        revision.valid_until = version.valid_until;
        revision.expires = version.expires;
        self.submit(cortex, caller.stamp()?, Command::Update(Box::new(revision)))
    }

    /// Whose rules bind here.
    pub fn rule_authors(&self) -> RuleAuthors {
        self.settings.rule_authors()
    }
}
