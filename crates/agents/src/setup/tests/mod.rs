//! Setting up and taking back, over texts and over real files.

mod disk;
mod generated;
mod texts;

use crate::agent::Agent;
use crate::setup::launch::Launch;
use crate::setup::places::Scope;
use crate::setup::places::{Surroundings, System, places};
use crate::setup::plan::{adding, removing};
use crate::setup::recipe::{Content, targets};

/// What a user's settings get when `program` is set up.
fn content_of(agent: Agent, program: &str) -> Vec<Content> {
    let at = Surroundings {
        system: System::Linux,
        home: "/h".into(),
        project: "/p".into(),
        variables: std::collections::BTreeMap::new(),
    };
    let launch = Launch {
        program: program.into(),
        globals: Vec::new(),
        tools: "core".into(),
        system: System::Linux,
    };
    let places = places(agent, Scope::User, &at).unwrap();
    targets(agent, &places, &launch).into_iter().map(|target| target.content).collect()
}

/// The laws that hold for any file: adding twice changes nothing, removing gives back the bytes from before. Returns
/// the text that was set up.
#[track_caller]
fn check_laws(content: &Content, before: Option<&str>) -> String {
    let step = adding(content, before, None).unwrap().expect("there is something to add");
    let again = adding(content, Some(&step.text), Some(&step.trace)).unwrap();
    assert!(again.is_none(), "a second run changed {}", step.text);
    assert!(adding(content, Some(&step.text), None).unwrap().is_none(), "without a record");
    let settings = content.read(&step.text).unwrap();
    for entry in content.entries() {
        assert!(entry.is_in(&settings), "{:?} is not in {}", entry.path, step.text);
    }
    let back = removing(content, &step.text, Some(&step.trace)).unwrap();
    assert_eq!(back.as_deref(), before, "removing left a trace");
    step.text
}
