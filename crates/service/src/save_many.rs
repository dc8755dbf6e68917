//! Many saves in one commit: what arrives as a stream or as a file of lines.
//!
//! What must stay true: each save is judged by itself, and what is refused does not stop the others; nothing is
//! answered before it is on disk.

use api::save::{
    KeyedSave, SAVE_MANY_MAX, SaveManyAnswer, SaveManyRequest, SaveOutcome, SaveReceipt,
};
use kernel::command::{Command, Receipt};
use kernel::grants::Permission;
use kernel::memory::Salt;
use kernel::{Cortex, Submission};

use crate::Service;
use crate::caller::Caller;
use crate::error::{Error, Result};

impl Service {
    pub fn save_many(&self, caller: &Caller, request: SaveManyRequest) -> Result<SaveManyAnswer> {
        let count = request.saves.len();
        if count > SAVE_MANY_MAX {
            let field = "saves";
            return Err(kernel::Error::TooMany { field, count, max: SAVE_MANY_MAX }.into());
        }
        // A delegate makes no actors.
        let cortex = match caller.delegate {
            None => self.cortex(caller)?,
            Some(_) => self.opened(caller)?,
        };
        // Each save says itself which project it is of; a folder is looked at once per save, not once per line.
        let caller = Caller { cwd: None, ..caller.clone() };
        let mut submissions = Vec::new();
        // Why each was refused, or nothing if it is among the submissions.
        let mut judged: Vec<Option<Error>> = Vec::with_capacity(count);
        for save in &request.saves {
            match self.submission(&caller, &cortex, save) {
                Ok(submission) => {
                    submissions.push(submission);
                    judged.push(None);
                }
                Err(error) => judged.push(Some(error)),
            }
        }
        let receipts =
            if submissions.is_empty() { Vec::new() } else { cortex.submit_bulk(submissions)? };
        let mut receipts = receipts.into_iter();
        let outcomes = judged.into_iter().map(|refused| {
            let receipt = match refused {
                Some(error) => Err(error),
                None => match receipts.next() {
                    Some(receipt) => receipt.map_err(Error::from),
                    None => Err(kernel::Error::Closed.into()),
                },
            };
            match receipt.and_then(|receipt| saved(&cortex, &receipt)) {
                Ok(receipt) => SaveOutcome::Saved(receipt),
                Err(error) => SaveOutcome::Refused(error.into()),
            }
        });
        Ok(SaveManyAnswer { outcomes: outcomes.collect() })
    }

    fn submission(&self, caller: &Caller, cortex: &Cortex, save: &KeyedSave) -> Result<Submission> {
        let draft = self.draft(caller, &save.save)?;
        let mut stamp = caller.plain_stamp()?;
        stamp.idempotency_key = caller.journaled_key(save.idempotency_key.as_deref());
        let command = Command::Write(Box::new(draft));
        let digest = command.request_digest(Salt::NONE);
        let authority = self.authority(caller, cortex, Permission::Write, digest)?;
        Ok(Submission { stamp, command, authority })
    }
}

fn saved(cortex: &Cortex, receipt: &Receipt) -> Result<SaveReceipt> {
    let reading = cortex.read()?;
    let id = receipt.id.ok_or_else(|| Error::missing("memory", receipt.seq))?;
    let head = reading.view().required_head(id)?;
    let version = receipt.version.unwrap_or(head.version);
    Ok(SaveReceipt {
        id: id.get(),
        uri: reading.uri(&head, version).to_string(),
        version,
        kind: head.kind,
        memory_type: head.memory_type.name().to_owned(),
        seq: receipt.seq,
        replayed: receipt.replayed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_the_store_takes_at_once() {
        assert_eq!(SAVE_MANY_MAX, kernel::limits::BULK_COMMANDS_MAX);
    }
}
