//! The store as a whole: checked against its journal, made again from it, fixed in a snapshot, read in a language.
//!
//! What must stay true: all of this is the owner's; a journal that gives another root than it had is an error and
//! replaces nothing.

use std::path::{Path, PathBuf};

use api::ErrorCode;
use api::health::LedgerCheckView;
use api::upkeep::{
    LanguageAnswer, LanguageListAnswer, LanguageListRequest, LanguageRequest, RebuildAnswer,
    RebuildRequest, SNAPSHOT_PAGE_MAX, SnapshotListAnswer, SnapshotListRequest, SnapshotRequest,
    SnapshotView, StoreProblem, VerifyStoreAnswer, VerifyStoreRequest,
};
use kernel::Cortex;
use kernel::command::Command;
use kernel::journal::Manifest;
use kernel::ledger::is_of_truth;
use recall::language;
use text::analyze::Language;

use crate::Service;
use crate::access::only_owner;
use crate::caller::Caller;
use crate::error::{Error, Result};

impl Service {
    /// Checks every byte of the store against a replay of its journal.
    pub fn verify(&self, caller: &Caller, _: VerifyStoreRequest) -> Result<VerifyStoreAnswer> {
        only_owner(caller, "verify the store")?;
        let cortex = self.opened(caller)?;
        let scratch = self.scratch(&cortex, "verify");
        clear(&scratch)?;
        let report =
            cortex.verify(&scratch, &mut |done, total| caller.tell("checked", done, total))?;
        let problems = report.problems.iter().map(|problem| StoreProblem {
            place: problem.place.clone(),
            reason: problem.reason.clone(),
        });
        let problems: Vec<StoreProblem> = problems.collect();
        let of_truth = problems.iter().filter(|problem| is_of_truth(&problem.place));
        let check = LedgerCheckView {
            at: caller.now()?.rfc3339(),
            entries: report.entries,
            problems: of_truth.cloned().collect(),
        };
        if !cortex.is_read_only() {
            // A disk without room keeps no note; whoever asked is answered all the same.
            let _ = self.keep_check(&caller.actor, &check);
        }
        Ok(VerifyStoreAnswer {
            clean: report.is_clean(),
            entries: report.entries,
            rows: report.rows,
            root: report.root.map(|root| root.to_string()),
            problems,
        })
    }

    /// A folder for what is made while an actor is looked at. One that is only read has it among what is temporary; no
    /// actor is called like that.
    pub(crate) fn scratch(&self, cortex: &Cortex, name: &str) -> PathBuf {
        match &self.options.read_only_scratch {
            Some(scratch) if cortex.is_read_only() => scratch.join(format!(".{name}")),
            _ => self.home.actor_folder(cortex.actor()).join("cache").join(name),
        }
    }

    /// Makes everything derived again. A store that cannot be opened because of what is derived is healed by it.
    pub fn rebuild(&self, caller: &Caller, _: RebuildRequest) -> Result<RebuildAnswer> {
        only_owner(caller, "rebuild the store")?;
        let cortex = match self.opened(caller) {
            Err(damage) if damage.code() == ErrorCode::Corrupt => {
                return self.repair(caller, &damage);
            }
            opened => opened?,
        };
        let told = caller.clone();
        let report =
            cortex.rebuild(Box::new(move |done, total| told.tell("rebuilt", done, total)))?;
        let damage = "what was derived had another root than what the journal gives";
        Ok(RebuildAnswer {
            entries: report.entries,
            root: report.root.to_string(),
            unchanged: report.is_unchanged,
            damage: (!report.is_unchanged).then(|| damage.to_owned()),
        })
    }

    /// A store that cannot be opened has no root to compare with; what the journal gives is what there is.
    fn repair(&self, caller: &Caller, damage: &Error) -> Result<RebuildAnswer> {
        let folder = self.home.actor_folder(&caller.actor);
        let told = &mut |done, total| caller.tell("rebuilt", done, total);
        let options = self.options.clone();
        let (cortex, entries) = Cortex::rebuild_in(&folder, &caller.actor, options, told)?;
        let root = cortex.root()?.to_string();
        Ok(RebuildAnswer { entries, root, unchanged: false, damage: Some(damage.to_string()) })
    }

    /// Fixes the state as it is, so that proofs can speak of it later.
    pub fn snapshot(&self, caller: &Caller, request: SnapshotRequest) -> Result<SnapshotView> {
        only_owner(caller, "take or list snapshots")?;
        let cortex = self.opened(caller)?;
        let manifest = cortex.snapshot(caller.plain_stamp()?, &request.reason)?;
        Ok(snapshot_view(&manifest))
    }

    pub fn snapshot_list(
        &self,
        caller: &Caller,
        request: SnapshotListRequest,
    ) -> Result<SnapshotListAnswer> {
        only_owner(caller, "take or list snapshots")?;
        let cortex = self.opened(caller)?;
        let reading = cortex.read()?;
        let view = reading.view();
        let last = view.counters()?.snapshot.map_or(0, |snapshot| snapshot.number);
        let first = request.from.max(1);
        let end = last.min(first.saturating_add(u64::from(SNAPSHOT_PAGE_MAX) - 1));
        let mut snapshots = Vec::new();
        for number in first..=end {
            let manifest =
                view.snapshot(number)?.ok_or_else(|| Error::missing("snapshot", number))?;
            snapshots.push(snapshot_view(&manifest));
        }
        Ok(SnapshotListAnswer { snapshots, next: (end < last).then_some(end + 1) })
    }

    /// The language in which memories and questions are read. A change reads every text anew.
    pub fn language(&self, caller: &Caller, request: LanguageRequest) -> Result<LanguageAnswer> {
        let wanted = request.language.as_deref().map(parse_language).transpose()?;
        only_owner(caller, "language")?;
        let cortex = self.opened(caller)?;
        let current = language::language(&cortex.read()?)?;
        let changes_to = wanted.filter(|wanted| *wanted != current);
        if let Some(to) = changes_to
            && !request.dry_run
        {
            let command = Command::Migration(language::change(current, to));
            self.submit(&cortex, caller.plain_stamp()?, command)?;
        }
        Ok(LanguageAnswer {
            language: changes_to.unwrap_or(current).name().to_owned(),
            changed: changes_to.is_some(),
        })
    }

    pub fn language_list(&self, _: &Caller, _: LanguageListRequest) -> Result<LanguageListAnswer> {
        let languages = Language::ALL.iter().map(|language| language.name().to_owned()).collect();
        Ok(LanguageListAnswer { languages })
    }
}

/// A check that was killed leaves its scratch store behind; the actor's lock says that nobody uses it.
fn clear(scratch: &Path) -> Result<()> {
    match std::fs::remove_dir_all(scratch) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io(scratch.display(), &error))
        }
        _ => Ok(()),
    }
}

fn parse_language(name: &str) -> Result<Language> {
    Language::parse(name).ok_or_else(|| {
        Error::invalid("language", format!("{name:?} is not one; see `cortex language --list`"))
    })
}

fn snapshot_view(manifest: &Manifest) -> SnapshotView {
    SnapshotView {
        number: manifest.number,
        size: manifest.size,
        root: manifest.root.to_string(),
        manifest: manifest.digest().to_string(),
        previous: manifest.previous.map(|digest| digest.to_string()),
        reason: manifest.reason.clone(),
        memories: manifest.live,
        forgotten: manifest.tombstoned,
        edges: manifest.edges,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_check_names_as_many_problems_as_the_store_does() {
        assert_eq!(api::upkeep::PROBLEMS_NAMED_MAX, kernel::PROBLEMS_MAX);
    }
}
