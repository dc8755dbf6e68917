//! Reading a ledger once from its first byte to its last, against its checksums and the hash tree.
//!
//! Unlike a verification it derives nothing, so it costs one read of the segments and a few digests of memory, and can
//! be done in idle time. What must stay true: it holds no lock while others write; what was erased is no damage.

use std::ops::ControlFlow;

use proof::Digest;
use proof::journal::{Entry, Payload};
use proof::memory::SealedBody;
use proof::merkle::log::{RunningRoot, leaf_hash};

use super::{Ledger, LedgerEntry, LedgerPart};
use crate::error::Result;
use crate::store::DamageNote;

/// Problems that one check names.
pub const CHECK_PROBLEMS_MAX: usize = 100;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerCheck {
    /// Entries that were read.
    pub entries: u64,
    pub problems: Vec<DamageNote>,
}

impl LedgerCheck {
    fn add(&mut self, place: impl Into<String>, reason: impl Into<String>) {
        if self.problems.len() < CHECK_PROBLEMS_MAX {
            self.problems.push(DamageNote::new(place, reason));
        }
    }
}

/// Reads the first `size` entries. `told` are roots that the journal had with so many entries.
pub(crate) fn check_ledger(
    ledger: &dyn Ledger,
    size: u64,
    mut told: Vec<(u64, Digest)>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<LedgerCheck> {
    const PROGRESS_ENTRIES: u64 = 1_024;
    told.retain(|(entries, _)| *entries > 0 && *entries <= size);
    let (mut check, mut tree, mut last) = (LedgerCheck::default(), RunningRoot::default(), 0);
    if size > 0 {
        ledger.read(1, &mut |found| {
            for missing in last + 1..found.seq.min(size + 1) {
                check.add(format!("entry {missing}"), "the frame that held it does not read");
            }
            if found.seq > size {
                return Ok(ControlFlow::Break(()));
            }
            last = found.seq;
            check.entries += 1;
            if check.entries % PROGRESS_ENTRIES == 0 {
                progress(last, size);
            }
            let (leaf, problem) = judge(&found);
            leaf.into_iter().for_each(|leaf| tree.push(leaf));
            problem.into_iter().for_each(|(place, reason)| check.add(place, reason));
            // Once an entry is lost the tree is another one, and that is named already.
            if tree.size() == last
                && let Some((_, root)) = told.iter().find(|(entries, _)| *entries == last)
                && tree.root() != *root
            {
                let found = tree.root();
                let reason =
                    format!("with {last} entries it has the root {found}, told was {root}");
                check.add("journal", reason);
            }
            Ok(if last < size { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        for missing in last + 1..=size {
            check.add(format!("entry {missing}"), "the frame that held it does not read");
        }
    }
    progress(size, size);
    Ok(check)
}

/// The leaf of an entry, if it reads, and what is wrong with it or with its body.
fn judge(found: &LedgerEntry) -> (Option<Digest>, Option<(String, String)>) {
    let (leaf, expected) = match read_entry(found) {
        Ok(read) => read,
        Err(reason) => return (None, Some((format!("entry {}", found.seq), reason))),
    };
    let reason = match &found.body {
        LedgerPart::Absent | LedgerPart::Erased => None,
        LedgerPart::Damaged => Some(WRONG_CHECKSUM),
        LedgerPart::Whole(bytes) => match SealedBody::from_bytes(bytes) {
            Ok(sealed) if Some(sealed.hash()) == expected => None,
            Ok(_) => Some("does not match the hash in its entry"),
            Err(_) => Some("does not read"),
        },
    };
    (Some(leaf), reason.map(|reason| (format!("body {}", found.seq), reason.to_owned())))
}

const WRONG_CHECKSUM: &str = "its checksum does not match";

/// The leaf of an entry and the hash of its body, or why it does not read.
fn read_entry(found: &LedgerEntry) -> std::result::Result<(Digest, Option<Digest>), String> {
    let LedgerPart::Whole(bytes) = &found.entry else { return Err(WRONG_CHECKSUM.to_owned()) };
    let wrong = |error: proof::Error| error.to_string();
    let entry = Entry::from_bytes(bytes).map_err(wrong)?;
    if entry.seq != found.seq {
        return Err(format!("holds entry {}", entry.seq));
    }
    let expected = match entry.payload().map_err(wrong)? {
        Payload::Write(write) => Some(write.body_hash),
        Payload::Update(update) => Some(update.body_hash),
        Payload::Prompt(prompt) => Some(prompt.body_hash),
        Payload::FindLate(find) => Some(find.query_hash),
        Payload::SessionEnd(end) => end.summary_hash,
        _ => None,
    };
    Ok((leaf_hash(bytes), expected))
}
