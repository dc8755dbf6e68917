//! Many writers at once: nothing lost, nothing reordered, every acknowledgement true.

use std::collections::BTreeSet;
use std::sync::Mutex;

use kernel::store::{EngineOptions, RedbStorage};
use testkit::Disk;
use testkit::build::{ada, fact, open, stamp};

const THREADS: u64 = 32;
const EACH: u64 = 40;

#[test]
fn thirty_two_writers_lose_and_reorder_nothing() {
    let disk = Disk::new();
    let cortex = open(&disk);
    let acknowledged = Mutex::new(Vec::new());
    std::thread::scope(|threads| {
        for writer in 0..THREADS {
            let (cortex, acknowledged) = (&cortex, &acknowledged);
            threads.spawn(move || {
                let mut last = 0;
                for n in 0..EACH {
                    let title = format!("writer {writer} memory {n}");
                    let receipt =
                        cortex.write(stamp(0), fact(writer * EACH + n, &title, "x")).unwrap();
                    // A caller's own writes keep their order.
                    assert!(receipt.seq > last);
                    last = receipt.seq;
                    // What was acknowledged can be read at once, by anybody.
                    let found =
                        cortex.read().unwrap().resolve_version(receipt.id.unwrap(), None).unwrap();
                    assert_eq!(found.body.unwrap().title, title);
                    acknowledged.lock().unwrap().push((receipt.id.unwrap(), title));
                }
            });
        }
    });
    let acknowledged = acknowledged.into_inner().unwrap();
    let ids: BTreeSet<_> = acknowledged.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids.len() as u64, THREADS * EACH, "every write has an id of its own");
    assert!(disk.syncs() < THREADS * EACH, "waiting writers share commits");
    drop(cortex);

    let cortex = open(&disk);
    let reading = cortex.read().unwrap();
    for (id, title) in acknowledged {
        assert_eq!(reading.resolve_version(id, None).unwrap().body.unwrap().title, title);
    }
    drop(reading);
    let scratch =
        RedbStorage::open(Disk::new().medium(), EngineOptions::default(), || kernel::birth(&ada()));
    let report = cortex.verify_with(&scratch.unwrap(), &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}
