//! What became of a change.

use std::fmt::Write as _;

use super::super::untrusted::line;
use crate::change::ConfirmAnswer;

pub fn confirmed(answer: &ConfirmAnswer) -> String {
    let mut text = String::new();
    for one in &answer.confirmed {
        let verb = if one.changed { "confirmed" } else { "holds already:" };
        writeln!(text, "{verb} {}#{} {}", one.id, one.version, line(&one.title))
            .expect("a String takes any text");
    }
    text
}
