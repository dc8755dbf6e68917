//! Files of other memory tools, read by every importer. The law: a dry run leaves the store as it is.

use std::fs;
use std::time::Duration;

use kernel::actor::ActorName;
use kernel::memory::{Millis, Salt};
use kernel::{Cortex, Options};
use transfer::{Format, Importer, import};

use super::{Check, shape};

const MADE: &str = "a store in a temporary folder";

/// What is not a database: those are SQLite's to read, and its pages have fuzzers of their own.
const FORMATS: &[(Format, &str)] = &[
    (Format::Cortex, "in.jsonl"),
    (Format::ServerMemory, "in.json"),
    (Format::Mem0, "in.json"),
    (Format::Markdown, "in.md"),
];

/// The first byte says which format; the file follows.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let files = [
        "{\"record\":\"header\",\"cortex_export\":1,\"actor\":\"me\",\"store\":\"a9\"}\n\
         {\"record\":\"memory\",\"id\":1,\"type\":\"Fact\",\"kind\":\"manual\",\"tags\":[],\"title\":\"T\",\
         \"content\":\"C\",\"created\":\"2026-01-01T00:00:00Z\"}\n{\"record\":\"end\",\"memories\":1}\n",
        "{\"type\":\"entity\",\"name\":\"redb\",\"entityType\":\"database\",\"observations\":[\"fast\"]}\n\
         {\"type\":\"relation\",\"from\":\"redb\",\"to\":\"cortex\",\"relationType\":\"used_by\"}\n",
        "[{\"id\":\"a\",\"memory\":\"Likes tea\",\"created_at\":\"2026-01-01T00:00:00Z\",\"metadata\":{\"k\":1}}]",
        "---\ntitle: T\ntags: [a, b]\ncreated: 2026-01-01\n---\n# A\n\nwords\n\n## B\n\n- more\n",
    ];
    let seed = |(n, text): (usize, &str)| {
        let mut bytes = vec![u8::try_from(n).unwrap_or(0)];
        bytes.extend_from_slice(text.as_bytes());
        bytes
    };
    files.into_iter().enumerate().map(seed).collect()
}

pub(super) fn open() -> Check {
    let folder = tempfile::tempdir().expect(MADE);
    let actor = ActorName::parse("ada").expect("a legal name");
    let options = Options { wait: Duration::from_secs(5), ..Options::default() };
    let cortex = Cortex::open(&folder.path().join("store"), &actor, options).expect(MADE);
    let before = cortex.root().expect(MADE);
    Box::new(move |bytes| {
        let Some((format, text)) = bytes.split_first() else { return Ok(0) };
        let (format, name) = FORMATS[usize::from(*format) % FORMATS.len()];
        let file = folder.path().join(name);
        fs::write(&file, text).map_err(|error| error.to_string())?;
        let importer = Importer {
            cortex: &cortex,
            now: Millis(1_767_225_600_000),
            by: "fuzz",
            run: None,
            salt: &|| Ok(Salt([1; 16])),
            mask_secrets: true,
            project: None,
            dry_run: true,
        };
        let outcome = import(&importer, Some(format), &file, &mut |_, _| {}, &mut |_, _| {});
        if cortex.root().map_err(|error| error.to_string())? != before {
            return Err("a dry run changed the store".to_owned());
        }
        Ok(match outcome {
            Ok(report) => shape(&format!("{report:?}")).rotate_left(1),
            Err(error) => shape(&error.to_string()),
        })
    })
}
