//! What a search of one project finds outside of it: personal memories belong to the answer, others are counted.
//!
//! What must stay true: the order among the project's own hits stays; the same number of relevance means the same in
//! both searches, so that what is personal stands where it belongs.

use std::collections::BTreeMap;

use kernel::memory::Scope;
use recall::ranker::{AnswerLevel, Ranker};
use recall::search::{Arm, Hit, SearchOutcome};

/// Puts what is personal among the hits of a project, if that was asked for, and says how much more there is in
/// other projects.
pub(super) fn joined(
    answer: &mut SearchOutcome,
    anywhere: SearchOutcome,
    project: &str,
    limit: usize,
    with_personal: bool,
) -> Option<String> {
    let is_outside = |hit: &Hit| hit.head.project.as_deref() != Some(project);
    let outside = anywhere.hits.into_iter().filter(is_outside);
    let (personal, others): (Vec<Hit>, Vec<Hit>) =
        outside.partition(|hit| with_personal && hit.head.scope == Scope::Personal);
    for hit in personal {
        let level = Ranker::shared().level(hit.relevance);
        if level > answer.answerable.level {
            answer.answerable.level = level;
            answer.answerable.probability = hit.relevance;
        }
        let place = answer.hits.iter().position(|other| other.relevance < hit.relevance);
        answer.hits.insert(place.unwrap_or(answer.hits.len()), hit);
    }
    answer.hits.truncate(limit);
    if answer.hits.is_empty() { instead(&others, project) } else { besides(&others) }
}

/// "nothing in web; 7 in other projects: api (5), docs (2) (project: all)".
fn instead(others: &[Hit], project: &str) -> Option<String> {
    if others.is_empty() {
        return None;
    }
    let mut counts = BTreeMap::new();
    for hit in others {
        *counts.entry(hit.head.project.as_deref().unwrap_or("no project")).or_insert(0_usize) += 1;
    }
    let named: Vec<String> = counts.iter().map(|(name, n)| format!("{name} ({n})")).collect();
    let count = others.len();
    Some(format!(
        "nothing in {project}; {count} in other projects: {} (project: all)",
        named.join(", ")
    ))
}

/// "5 more in other projects (project: all)", of those that have a word of the question or are likely to answer.
fn besides(others: &[Hit]) -> Option<String> {
    let is_about = |hit: &&Hit| {
        let worded = hit.arms.iter().any(|arm| arm.arm == Arm::Words && arm.score > 0);
        worded || Ranker::shared().level(hit.relevance) >= AnswerLevel::Likely
    };
    let count = others.iter().filter(is_about).count();
    (count > 0).then(|| format!("{count} more in other projects (project: all)"))
}
