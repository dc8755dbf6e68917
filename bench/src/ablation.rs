//! Which arm earns its place: a labelled set asked with some arms left out.
//!
//! Through the ordinary save and search paths, like `cortex eval`. Beside it stands plain BM25 with stemming over the same
//! words, computed by brute force.

use std::collections::HashMap;
use std::path::Path;

use recall::evaluation::{self, LabelledQuestion, LabelledSet};
use recall::evaluation::{Means, MeansTable};
use recall::search::{Arm, ArmWeights, HitOrder, SearchQuery};

use crate::Outcome;
use crate::cortex_recall::{self, only};
use crate::measure::{row, say};
use crate::oracle::Oracle;

/// Hits asked for: for nearly all questions enough for ten sessions.
const LIMIT: usize = 100;

/// Means over all questions, of memories and of sessions.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    turn: Means,
    session: Means,
}

pub fn load(folder: &Path) -> Outcome<LabelledSet> {
    let text = |name: &str| {
        let path = folder.join(name);
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    Ok(LabelledSet::parse(
        &text(evaluation::CORPUS)?,
        &text(evaluation::QUESTIONS)?,
        &text(evaluation::ANSWERS)?,
    )?)
}

pub fn run(scratch: &Path, set: &LabelledSet) -> Outcome<()> {
    let cortex = cortex_recall::open(&scratch.join("ablation"))?;
    say(format_args!("saving {} memories", set.corpus.len()));
    let names = set.save(&cortex, &mut |_, _| {})?;
    let reading = cortex.read()?;
    let ask = |weights: ArmWeights| {
        asked(set, |question| {
            let (project, order) = (question.group.clone(), HitOrder::Weights);
            let query =
                SearchQuery { project, weights, order, ..SearchQuery::new(&*question.text, LIMIT) };
            let hits = cortex_recall::recall(&reading, &query)?.hits;
            Ok(hits.iter().filter_map(|hit| names.get(&hit.id.get()).cloned()).collect())
        })
    };

    println!("which arm earns its place: {} questions", answered(set).count());
    println!("{:<34} {:>10} {:>13} {:>9}", "arms", "turn R@10", "session R@10", "nDCG@10");
    say("asking plain BM25");
    let oracle = Oracle::of(&reading, names.keys().copied())?;
    let groups: HashMap<&str, Option<&str>> =
        set.corpus.iter().map(|line| (line.id.as_str(), line.group.as_deref())).collect();
    let plain = asked(set, |question| {
        let group = question.group.as_deref();
        let among = |id: u64| {
            group.is_none() || names.get(&id).is_some_and(|name| groups[name.as_str()] == group)
        };
        let found = oracle.baseline(&question.text, among);
        Ok(found.iter().take(LIMIT).filter_map(|id| names.get(id).cloned()).collect())
    })?;
    line("BM25 + stem, one field", &plain);
    let mut all = Measured::default();
    for (place, arm) in Arm::ALL.iter().enumerate() {
        say(format_args!("asking with {}", arm.name()));
        all = ask(only(|other| other <= place))?;
        let sign = if place == 0 { "" } else { "+ " };
        line(&format!("{sign}{}", arm.name()), &all);
    }
    if all.turn.recall_20 == 0.0 {
        return Err("no question found any of its answers: nothing was measured".into());
    }
    let mut without = Vec::new();
    for (place, arm) in Arm::ALL.iter().enumerate() {
        say(format_args!("asking without {}", arm.name()));
        let measured = ask(only(|other| other != place))?;
        line(&format!("all but {}", arm.name()), &measured);
        without.push((arm, measured));
    }
    println!();
    for (level, all, plain) in
        [("turn", all.turn, plain.turn), ("session", all.session, plain.session)]
    {
        row(
            &format!("{level} R@10"),
            format!("{:.3}", all.recall_10),
            format!("BM25 + stem {:.3}", plain.recall_10),
            "above BM25 + stem",
            all.recall_10 > plain.recall_10,
        );
    }
    for (arm, without) in without {
        // Judged by the measure that sees every place of the ten.
        row(
            &format!("{} earns its place", arm.name()),
            format!("nDCG@10 {:+.4}", all.turn.ndcg_10 - without.turn.ndcg_10),
            format!("turn R@10 {:+.4}", all.turn.recall_10 - without.turn.recall_10),
            "lowers nothing",
            all.turn.ndcg_10 >= without.turn.ndcg_10,
        );
    }
    Ok(())
}

fn answered(set: &LabelledSet) -> impl Iterator<Item = &LabelledQuestion> {
    set.questions.iter().filter(|question| set.relevant(question).is_some())
}

fn asked(
    set: &LabelledSet,
    mut answer: impl FnMut(&LabelledQuestion) -> Outcome<Vec<String>>,
) -> Outcome<Measured> {
    let (mut turns, mut sessions) = (MeansTable::default(), MeansTable::default());
    for question in answered(set) {
        let Some(relevant) = set.relevant(question) else { continue };
        let (turn, session) = set.judge(&answer(question)?, relevant);
        turns.add(question.category(), turn);
        if let Some(session) = session {
            sessions.add(question.category(), session);
        }
    }
    let all = |table: &MeansTable| table.means().get("all").copied().unwrap_or_default();
    Ok(Measured { turn: all(&turns), session: all(&sessions) })
}

fn line(arms: &str, measured: &Measured) {
    println!(
        "{arms:<34} {:>10.4} {:>13.4} {:>9.4}",
        measured.turn.recall_10, measured.session.recall_10, measured.turn.ndcg_10
    );
}
