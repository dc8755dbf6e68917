//! Trust over lineage, and private memories in shared places.

use kernel::memory::{MemoryId, MemoryType, PinnedVersion, Provenance, Source, Visibility};
use kernel::salience::DecayPolicy;
use mind::audience::{Audience, Trust, trust};
use mind::fading::Fading;
use mind::memory_recall::{RecallMode, RecallRequest, memory_recall};
use testkit::Disk;

use crate::store::{day, of, open, save};

fn from(source: Source, parents: &[u64]) -> Provenance {
    let pin = |id: &u64| PinnedVersion { id: MemoryId::new(*id).unwrap(), version: 1 };
    Provenance {
        source,
        derived_from: parents.iter().map(pin).collect(),
        model: None,
        origin: None,
    }
}

// Issue 6, point 10
#[test]
fn trust_is_the_lowest_of_the_whole_lineage() {
    let cortex = open(&Disk::new());
    let saved = |n: u64, provenance: Provenance| {
        let mut draft = of(MemoryType::Fact, n, &format!("Statement number {n}"));
        draft.provenance = provenance;
        save(&cortex, day(0), draft)
    };
    let said = saved(1, Provenance::user());
    let imported = saved(2, from(Source::Imported, &[]));
    let summary = saved(3, from(Source::Derived, &[said]));
    let mixed = saved(4, from(Source::Derived, &[summary, imported]));
    // Written as if the user had said it, but made of something imported.
    let laundered = saved(5, from(Source::User, &[mixed]));
    let reading = cortex.read().unwrap();
    let of = |id: u64| {
        let memory = reading.resolve_version(MemoryId::new(id).unwrap(), None).unwrap();
        trust(&reading.view(), &memory.version).unwrap()
    };
    assert_eq!(
        [said, imported, summary, mixed, laundered].map(of),
        [Trust::Stated, Trust::Imported, Trust::Inferred, Trust::Imported, Trust::Imported,]
    );
}

// Section 11, point 15
#[test]
fn no_mode_of_recall_shows_private_memories_to_a_shared_channel() {
    let cortex = open(&Disk::new());
    let open_id = save(&cortex, day(0), of(MemoryType::Fact, 1, "The salary round is in May"));
    let mut secret = of(MemoryType::Fact, 2, "The salary of Ada is a secret");
    secret.visibility = Visibility::Private;
    let secret = save(&cortex, day(0), secret);
    let reading = cortex.read().unwrap();
    for mode in [RecallMode::Recent, RecallMode::Important, RecallMode::Typed, RecallMode::Hybrid] {
        let request = RecallRequest {
            query: "salary".into(),
            memory_types: vec!["fact".into()],
            mode,
            ..RecallRequest::default()
        };
        let ids = |audience: &Audience| -> Vec<u64> {
            let fading = Fading::by_calendar(DecayPolicy::default());
            let found = memory_recall(&reading, audience, &request, &fading, day(1)).unwrap();
            let mut ids: Vec<u64> = found.memories.iter().map(|m| m.id().get()).collect();
            ids.sort_unstable();
            ids
        };
        assert_eq!(ids(&Audience::Owner), [open_id, secret], "{mode:?}");
        assert_eq!(ids(&Audience::Shared), [open_id], "{mode:?}");
    }
}
