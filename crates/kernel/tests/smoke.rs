//! First light: one actor through its life.
use kernel::command::*;
use kernel::store::{EngineOptions, RedbStorage};
use testkit::Disk;
use testkit::build::*;

#[test]
fn a_life() {
    let disk = Disk::new();
    let cortex = open(&disk);
    let r = cortex.write(stamp(1), fact(1, "Hello", "World of secretsauce")).unwrap();
    assert_eq!(r.seq, 1);
    let r2 = cortex.write(stamp(2), fact(2, "Second", "thing")).unwrap();
    cortex
        .add_edge(
            stamp(3),
            EdgeDraft {
                src: r.id.unwrap(),
                relation: kernel::memory::Relation::Supersedes,
                dst: r2.id.unwrap(),
                weight: 500_000,
            },
        )
        .unwrap();
    cortex.snapshot(stamp(4), "test").unwrap();
    cortex
        .update(
            stamp(5),
            Revision::new(
                id(1),
                Some(1),
                body(kernel::memory::MemoryType::Fact, "Hello 2", "x"),
                salt(9),
            ),
        )
        .unwrap();
    let root = cortex.root().unwrap();
    drop(cortex);
    let cortex = open(&disk);
    assert_eq!(cortex.root().unwrap(), root);
    cortex.rebuild(Box::new(|_, _| {})).unwrap();
    assert_eq!(cortex.root().unwrap(), root);
    let scratch =
        RedbStorage::open(Disk::new().medium(), EngineOptions::default(), || kernel::birth(&ada()))
            .unwrap();
    let report = cortex.verify_with(&scratch, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(report.root, Some(root));
    assert!(disk.bytes().windows(11).any(|w| w == b"secretsauce"));
    cortex.erase(stamp(6), Removal { id: id(1), expected: None, reason: "gdpr".into() }).unwrap();
    assert!(!disk.bytes().windows(11).any(|w| w == b"secretsauce"));
}
