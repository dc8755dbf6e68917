//! What `cortex eval` prints of relevance: whether it tells answered questions from the same ones asked elsewhere.

use serde_json::{Value, json};

use crate::failure::CommandResult;
use crate::output::Output;
use crate::wiring::evaluation::{Calibration, Separation};

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
