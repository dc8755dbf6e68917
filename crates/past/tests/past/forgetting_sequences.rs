//! What was forgotten stays so, whatever is done afterwards and in whatever order.

use past::ForgetScope;
use proptest::prelude::*;

use crate::histories::{Scene, answered, append, asked, text, text_of, turns};

const SESSIONS: usize = 3;

/// What a person, an agent or a broken machine may do.
#[derive(Clone, Copy, Debug)]
enum Step {
    Read,
    /// Forgets the turn with the canary of a session, or all of the session.
    Forget {
        session: usize,
        whole: bool,
    },
    Rebuild {
        mask: bool,
    },
    /// The agent goes on writing.
    Grow(usize),
    /// Another session begins as a copy of one.
    Fork(usize),
    DeleteSource(usize),
    DeletePast,
    DeleteIndex,
    DeleteCatalog,
    /// The process dies at the next change but so many.
    Die(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Read),
        4 => (0..SESSIONS, any::<bool>()).prop_map(|(session, whole)| Step::Forget { session, whole }),
        2 => any::<bool>().prop_map(|mask| Step::Rebuild { mask }),
        1 => (0..SESSIONS).prop_map(Step::Grow),
        2 => (0..SESSIONS).prop_map(Step::Fork),
        1 => (0..SESSIONS).prop_map(Step::DeleteSource),
        1 => Just(Step::DeletePast),
        1 => Just(Step::DeleteIndex),
        1 => Just(Step::DeleteCatalog),
        1 => (1_u64..6).prop_map(Step::Die),
    ]
}

fn canary(session: usize) -> String {
    format!("zanzibarcanary{session}")
}

/// Two ordinary turns, and between them one with the canary of the session.
fn lines(session: usize) -> Vec<serde_json::Value> {
    let (canary, name) = (canary(session), format!("s{session}"));
    let mut lines = turns(&name, 1);
    let id = |part: &str| format!("{name}-canary-{part}");
    lines.push(asked(&id("u"), 20, &format!("Where is {canary}?")));
    lines.push(answered(&id("a"), 20, &id("m"), text(&format!("{canary} is there."))));
    lines.push(serde_json::json!({"type": "ai-title", "aiTitle": format!("About {canary}")}));
    lines.extend(turns(&format!("{name}-after"), 1));
    lines
}

fn name(session: usize) -> String {
    format!("session{session}")
}

fn source(session: usize) -> String {
    format!(".claude/projects/-src-a/{}.jsonl", name(session))
}

/// The turn of the canary, wherever it is stored first.
fn place_of(scene: &Scene, session: usize) -> Option<String> {
    let question = canary(session);
    let request = past::TurnQuestion { question, ..past::TurnQuestion::default() };
    let hits = scene.past().search(&request).ok()?.hits;
    hits.into_iter().find(|hit| hit.text.contains(&canary(session))).map(|hit| hit.reference)
}

fn forget(scene: &mut Scene, session: usize, whole: bool) -> bool {
    let Some(turn) = place_of(scene, session) else { return false };
    let named = if whole { turn.split('#').next().unwrap_or_default().to_owned() } else { turn };
    let request = ForgetScope {
        references: vec![named],
        reason: "test".to_owned(),
        ..ForgetScope::default()
    };
    scene.past().forget(&request, &mut scene.tombstones).is_ok()
}

fn delete(scene: &Scene, is_it: impl Fn(&str) -> bool) {
    let names: Vec<String> = scene.disk.files().into_keys().filter(|name| is_it(name)).collect();
    names.iter().for_each(|name| scene.disk.delete(name));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    // past 32: a canary that was forgotten is in no byte after any sequence of reading, rebuilding, deleting
    #[test]
    fn a_canary_stays_forgotten_in_any_sequence(steps in prop::collection::vec(step(), 1..12)) {
        let mut scene = Scene::new();
        for session in 0..SESSIONS {
            scene.claude(&name(session), &lines(session));
        }
        scene.read();
        let mut forgotten = [false; SESSIONS];
        for session in 0..SESSIONS {
            prop_assert!(scene.disk.holds(&canary(session)), "the disk tells what it holds");
        }
        for (at, step) in steps.iter().enumerate() {
            match *step {
                Step::Read => drop(scene.read()),
                Step::Forget { session, whole } => {
                    forgotten[session] |= forget(&mut scene, session, whole);
                }
                Step::Rebuild { mask } => {
                    scene.past().rebuild(&scene.tombstones, mask).unwrap();
                }
                Step::Grow(session) => {
                    let path = scene.path(&source(session));
                    if path.exists() {
                        append(&path, &text_of(&turns(&format!("more{at}"), 1)));
                    }
                }
                Step::Fork(session) => {
                    let mut copy = lines(session);
                    copy.extend(turns(&format!("fork{at}"), 1));
                    scene.claude(&format!("fork{at}"), &copy);
                }
                Step::DeleteSource(session) => {
                    let _ = std::fs::remove_file(scene.path(&source(session)));
                }
                Step::DeletePast => scene.disk.delete_all(),
                Step::DeleteIndex => delete(&scene, |name| name.starts_with("index/")),
                Step::DeleteCatalog => delete(&scene, |name| name.starts_with("catalog")),
                Step::Die(change) => {
                    let mut past = scene.past();
                    scene.disk.die_at(change);
                    let _ = scene.try_read(&mut past);
                    drop(past);
                    scene.disk.revive();
                    scene.past().recover(&scene.tombstones).unwrap();
                }
            }
            for session in (0..SESSIONS).filter(|session| forgotten[*session]) {
                prop_assert!(!scene.disk.holds(&canary(session)), "{session} after {step:?}");
            }
        }
        scene.read();
        for (session, is_forgotten) in forgotten.into_iter().enumerate() {
            prop_assert!(!is_forgotten || !scene.disk.holds(&canary(session)), "at the end");
        }
        prop_assert!(scene.past().verify().unwrap().is_sound());
    }
}
