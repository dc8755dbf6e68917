//! A whole segment of a ledger, opened as the one of an actor of which nothing else is left.
//!
//! The law: opening names what is wrong or gives a store, and a memory that can be read in it is, word for word, the
//! one that was written under its number. Nothing else is ever shown for it.

use std::fs;
use std::time::Duration;

use kernel::memory::MemoryId;
use kernel::{Cortex, Options};
use tempfile::TempDir;

use super::bytes::{MADE, owner, with_store};
use super::{Check, Outcome, shape};

const SEGMENT: &str = "ledger/00000000000000000001.log";

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let whole = with_store(|cortex| {
        let folder = cortex.folder().expect("it lives in a folder");
        fs::read(folder.join(SEGMENT)).expect(MADE)
    });
    // Behind the frames lies room for more of them.
    let end = whole.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let torn = whole[..end.saturating_sub(40)].to_vec();
    let mut with_room = whole[..end].to_vec();
    with_room.resize(end + 512, 0);
    vec![whole[..end].to_vec(), torn, with_room]
}

pub(super) fn open() -> Check {
    let above = tempfile::tempdir().expect(MADE);
    Box::new(move |bytes| read(&above, bytes))
}

fn read(above: &TempDir, bytes: &[u8]) -> Outcome {
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let folder = above.path().join("actor");
    let outcome = fs::create_dir_all(folder.join("ledger"))
        .and_then(|()| fs::write(folder.join(SEGMENT), bytes))
        .map_err(|error| told(&error))
        .and_then(|()| {
            let options = Options { wait: Duration::from_secs(5), ..Options::default() };
            Ok(match Cortex::open(&folder, &owner(), options) {
                Ok(cortex) => memories(&cortex)?,
                Err(error) => shape(&error.to_string()),
            })
        });
    fs::remove_dir_all(&folder).map_err(|error| told(&error))?;
    outcome
}

/// How many memories can be read, and what was noted as damaged.
fn memories(cortex: &Cortex) -> Outcome {
    let Ok(reading) = cortex.read() else { return Ok(2) };
    let view = reading.view();
    let Ok(last) = view.last_seq() else { return Ok(3) };
    let mut answer = last << 8;
    for id in (1..=last.min(1_000)).filter_map(MemoryId::new) {
        let Ok(found) = reading.resolve_version(id, None) else { continue };
        let Some(body) = found.body else { continue };
        let written = format!("memory {}", id.get() - 1);
        if body.title != written || body.content != "Its words." {
            return Err(format!("memory {} reads {:?}", id.get(), body.title));
        }
        answer += 1;
    }
    for note in cortex.damage() {
        answer ^= shape(&format!("{note:?}")).rotate_left(9);
    }
    Ok(answer)
}
