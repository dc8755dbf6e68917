//! What is said while an actor's index, made by another version of the program, is made again before it opens.
//!
//! A line when it begins, one for each tenth of a large store, and one when it is done; where they go is the caller's
//! affair.

use std::fmt;
use std::sync::Arc;

use kernel::{Error, RenewalWatch};

/// Says what happens with `say`.
pub fn told(say: impl Fn(fmt::Arguments<'_>) + Send + Sync + 'static) -> RenewalWatch {
    let say = Arc::new(say);
    Arc::new(move |actor, why| {
        match why {
            // A backup, or one that was restored, or somebody removed it: nothing is wrong.
            Error::NotFound { .. } => {
                say(format_args!("{actor}: there is no index; making it from the journal"));
            }
            why => say(format_args!("{actor}: {why}; making it again from the journal")),
        }
        let (say, actor, mut tenth) = (Arc::clone(&say), actor.clone(), 0);
        Box::new(move |entries, total| {
            let reached = entries.saturating_mul(10).checked_div(total).unwrap_or(10);
            if entries >= total {
                say(format_args!("{actor}: making it again: done, {total} entries"));
            } else if reached > tenth {
                tenth = reached;
                say(format_args!("{actor}: making it again: {entries} of {total} entries"));
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use kernel::actor::ActorName;

    use super::*;

    #[test]
    fn the_beginning_the_tenths_and_the_end_are_said() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&lines);
        let watch = told(move |line| heard.lock().unwrap().push(line.to_string()));
        let ada = ActorName::parse("ada").unwrap();
        let mut progress = watch(&ada, &Error::outdated("the index", "format 2, not 3"));
        for entries in [0, 5, 10, 14, 99, 100] {
            progress(entries, 100);
        }
        let expected = [
            "ada: the index was made by another version of this program: format 2, not 3; making it again from the \
             journal",
            "ada: making it again: 10 of 100 entries",
            "ada: making it again: 99 of 100 entries",
            "ada: making it again: done, 100 entries",
        ];
        assert_eq!(*lines.lock().unwrap(), expected);
    }
}
