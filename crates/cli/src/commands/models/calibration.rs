//! What `cortex eval` prints of relevance: whether it tells answered questions from the same ones asked elsewhere.

use std::path::Path;

use recall::evaluation::{AskedGroup, Calibration, Separation, features_head, features_of};
use recall::search::{ArmWeights, HitOrder, SearchQuery};
use serde_json::{Value, json};

use super::eval::{Asker, LIMIT};
use crate::failure::{CommandResult, Failure};
use crate::output::{Output, ProgressLine};

fn object(apart: &Separation) -> Value {
    json!({
        "auc": apart.auc,
        "coverage": apart.coverage,
        "false_alarms": apart.false_alarms,
        "likely": apart.likely,
        "likely_others": apart.likely_others,
    })
}

/// `null` for a set of one group: nothing can be asked elsewhere.
pub(super) fn view(calibration: &Calibration) -> Value {
    let Some(apart) = calibration.apart() else { return Value::Null };
    let mut view = object(&apart);
    view["near_misses"] = calibration.near_misses().map_or(Value::Null, |near| object(&near));
    let curve = calibration.curve().into_iter().map(|step| {
        json!({"questions": step.questions, "promised": step.promised, "answered": step.answered})
    });
    view["curve"] = Value::Array(curve.collect());
    view
}

pub(super) fn print(calibration: &Calibration, out: &mut Output) -> CommandResult {
    let Some(apart) = calibration.apart() else {
        return out.line("relevance: one group, so no question can be asked of another's memories");
    };
    out.line(format_args!(
        "relevance, against questions asked of another group: AUC {:.3}; {:.3} kept at .03 false alarms; {:.3} false \
         alarms at .9 kept; called likely or strong: {:.3} of answered, {:.3} of others",
        apart.auc, apart.coverage, apart.false_alarms, apart.likely, apart.likely_others
    ))?;
    if let Some(near) = calibration.near_misses() {
        out.line(format_args!(
            "against the set's own questions without an answer: AUC {:.3}",
            near.auc
        ))?;
    }
    out.line(format_args!("{:<10} {:>5} {:>9}", "promised", "n", "answered"))?;
    for step in calibration.curve() {
        out.line(format_args!(
            "{:<10.3} {:>5} {:>9.3}",
            step.promised, step.questions, step.answered
        ))?;
    }
    Ok(())
}

impl Asker<'_> {
    /// Asks every question of its own group and of another one, and writes the features of what was found.
    pub(super) fn calibrate(
        &self,
        weights: ArmWeights,
        features: Option<&Path>,
        folder: &Path,
        out: &Output,
    ) -> CommandResult<Calibration> {
        let kind = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let kind = kind.unwrap_or_default();
        let mut calibration = Calibration::default();
        let mut lines = features_head();
        let mut progress = ProgressLine::new(out, "judged");
        let questions = &self.set.questions;
        for (n, question) in questions.iter().enumerate() {
            progress.at(n as u64 + 1, questions.len() as u64);
            let known = self.categories.iter().any(|name| name == question.category());
            if !self.categories.is_empty() && !known {
                continue;
            }
            let marked = self.set.relevant(question).is_some();
            let own = if marked { AskedGroup::Own } else { AskedGroup::Unanswered };
            let other = self.set.another_group(question).filter(|_| marked);
            let asked = [(own, question.group.as_deref()), (AskedGroup::Other, other)];
            let asked = asked.into_iter().filter(|(of, group)| *of == own || group.is_some());
            for (of, group) in asked {
                let project = group.map(str::to_owned);
                let order = HitOrder::Weights;
                let asking = SearchQuery::new(&*question.text, LIMIT);
                let mut query = SearchQuery { project, weights, order, ..asking };
                self.meant(&mut query)?;
                let answer = recall::search::search(&self.reading, None, &query, self.now)?;
                match of {
                    AskedGroup::Own => calibration.answered(answer.answerable),
                    AskedGroup::Other => calibration.other(answer.answerable),
                    AskedGroup::Unanswered => calibration.unanswered(answer.answerable),
                }
                if features.is_some() {
                    let name = |id: u64| self.ids.get(&id);
                    lines += &features_of(self.set, &kind, question, of, &answer.hits, name);
                }
            }
        }
        if let Some(path) = features {
            std::fs::write(path, lines).map_err(|error| Failure::file(path, error))?;
        }
        Ok(calibration)
    }
}
