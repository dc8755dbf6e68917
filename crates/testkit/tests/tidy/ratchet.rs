//! What is not yet as the rules want it, as data that may only shrink.
//!
//! `ratchet.txt` has one line for each thing that a rule still finds. More than is listed fails, and so does less: who
//! removes a finding removes its line, and it cannot come back. `TIDY_UPDATE=1` writes the file anew if nothing grew;
//! `TIDY_RESET=1` writes it whatever was found, which is for the day on which a rule or a crate begins.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// One thing that a rule found. Findings with the same rule and subject are added up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) rule: &'static str,
    /// One word: a crate, a name or a path.
    pub(crate) subject: String,
    pub(crate) amount: usize,
    pub(crate) place: String,
}

/// Modules of a crate that reach each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cycle {
    pub(crate) member: String,
    pub(crate) modules: BTreeSet<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ratchet {
    /// By rule and subject.
    pub(crate) counts: BTreeMap<(String, String), usize>,
    pub(crate) cycles: BTreeSet<Cycle>,
}

const CYCLE: &str = "module-cycle";

/// The first lines of the file.
const HEADER: &str = "\
# What the rules of crates/testkit/tests/tidy still find. This list may only shrink.
#
# After removing a finding:  TIDY_UPDATE=1 cargo test -p cortex-testkit --test tidy ratchet
# writes it anew, and refuses if anything grew. Lines are `rule subject number`, or `module-cycle crate module...`.
";

impl Ratchet {
    pub(crate) fn measured(findings: &[Finding], cycles: BTreeSet<Cycle>) -> Ratchet {
        let mut counts = BTreeMap::new();
        for finding in findings {
            *counts.entry((finding.rule.to_owned(), finding.subject.clone())).or_default() +=
                finding.amount;
        }
        Ratchet { counts, cycles }
    }

    pub(crate) fn parse(text: &str) -> Result<Ratchet, String> {
        let mut ratchet = Ratchet::default();
        for (number, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let is_new = match words[..] {
                [] => true,
                [first, ..] if first.starts_with('#') => true,
                [CYCLE, member, ref modules @ ..] if modules.len() > 1 => {
                    let modules = modules.iter().map(|&module| module.to_owned()).collect();
                    ratchet.cycles.insert(Cycle { member: member.to_owned(), modules })
                }
                [rule, subject, amount]
                    if amount.parse::<usize>().is_ok_and(|amount| amount > 0) =>
                {
                    let amount = amount.parse().expect("the guard parsed it");
                    ratchet.counts.insert((rule.to_owned(), subject.to_owned()), amount).is_none()
                }
                _ => false,
            };
            if !is_new {
                return Err(format!("ratchet.txt:{}: `{line}` is no line of its own", number + 1));
            }
        }
        Ok(ratchet)
    }

    pub(crate) fn render(&self) -> String {
        let mut text = HEADER.to_owned();
        let mut last = "";
        for cycle in &self.cycles {
            if last != CYCLE {
                text.push('\n');
            }
            last = CYCLE;
            let modules: Vec<&str> = cycle.modules.iter().map(String::as_str).collect();
            writeln!(text, "{CYCLE} {} {}", cycle.member, modules.join(" "))
                .expect("a String takes all");
        }
        for ((rule, subject), amount) in &self.counts {
            if last != rule {
                text.push('\n');
            }
            last = rule;
            writeln!(text, "{rule} {subject} {amount}").expect("a String takes all");
        }
        text
    }

    /// How much each rule finds in all, in one line.
    pub(crate) fn totals(&self) -> String {
        let mut totals: BTreeMap<&str, usize> = BTreeMap::new();
        for ((rule, _), amount) in &self.counts {
            *totals.entry(rule).or_default() += amount;
        }
        for cycle in &self.cycles {
            *totals.entry(CYCLE).or_default() += cycle.modules.len();
        }
        let totals: Vec<String> =
            totals.iter().map(|(rule, total)| format!("{rule} {total}")).collect();
        totals.join(", ")
    }
}

/// How what was measured differs from what is listed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) grown: Vec<String>,
    pub(crate) stale: Vec<String>,
}

pub(crate) fn compare(listed: &Ratchet, measured: &Ratchet, findings: &[Finding]) -> Difference {
    let mut difference = Difference::default();
    let keys: BTreeSet<_> = listed.counts.keys().chain(measured.counts.keys()).collect();
    for key in keys {
        let before = listed.counts.get(key).copied().unwrap_or(0);
        let now = measured.counts.get(key).copied().unwrap_or(0);
        let (rule, subject) = key;
        if now > before {
            difference.grown.push(format!(
                "{rule} {subject}: {before} listed, {now} found{}",
                places(key, findings)
            ));
        } else if now < before {
            difference.stale.push(format!("{rule} {subject}: {before} listed, {now} found"));
        }
    }
    for cycle in &measured.cycles {
        let is_part =
            |of: &Cycle| of.member == cycle.member && cycle.modules.is_subset(&of.modules);
        if !listed.cycles.iter().any(is_part) {
            difference
                .grown
                .push(format!("{CYCLE} {}: {:?} is not listed", cycle.member, cycle.modules));
        }
    }
    for cycle in listed.cycles.difference(&measured.cycles) {
        difference
            .stale
            .push(format!("{CYCLE} {}: {:?} is gone or smaller", cycle.member, cycle.modules));
    }
    difference
}

/// Where the findings of one line are, as far as a reader wants to know.
fn places((rule, subject): &(String, String), findings: &[Finding]) -> String {
    let ours =
        findings.iter().filter(|finding| finding.rule == rule && finding.subject == *subject);
    ours.take(40).fold(String::new(), |text, finding| text + "\n    " + &finding.place)
}

/// What to do with the difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Check,
    Update,
    Reset,
}

/// The text to write if there is one, or why the check fails.
pub(crate) fn settle(
    mode: Mode,
    measured: &Ratchet,
    difference: &Difference,
) -> Result<Option<String>, String> {
    let Difference { grown, stale } = difference;
    match mode {
        Mode::Reset => Ok(Some(measured.render())),
        _ if !grown.is_empty() => {
            Err(format!("the list may only shrink, but\n{}", grown.join("\n")))
        }
        Mode::Update => Ok(Some(measured.render())),
        Mode::Check if !stale.is_empty() => Err(format!(
            "better than listed; run TIDY_UPDATE=1 cargo test -p cortex-testkit --test tidy ratchet\n{}",
            stale.join("\n")
        )),
        Mode::Check => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(subject: &str, amount: usize) -> Finding {
        Finding {
            rule: "wide-lines",
            subject: subject.to_owned(),
            amount,
            place: format!("{subject}.rs:7"),
        }
    }

    fn ratchet(lines: &str) -> Ratchet {
        Ratchet::parse(lines).expect("the lines are made well")
    }

    #[test]
    fn what_is_written_reads_the_same() {
        let cycle = ratchet("module-cycle kernel a b").cycles;
        let measured = Ratchet::measured(
            &[finding("kernel", 2), finding("kernel", 1), finding("mind", 1)],
            cycle,
        );
        assert_eq!(
            measured,
            ratchet("wide-lines kernel 3\nwide-lines mind 1\nmodule-cycle kernel b a")
        );
        assert_eq!(Ratchet::parse(&measured.render()), Ok(measured.clone()));
        assert_eq!(measured.totals(), "module-cycle 2, wide-lines 4");
    }

    #[test]
    fn a_line_that_says_nothing_or_says_it_twice_is_refused() {
        for lines in
            ["a b", "a b 0", "a b -1", "a b c d", "a b 1\na b 2", "module-cycle a b", "a b 1 # why"]
        {
            assert!(Ratchet::parse(lines).is_err(), "{lines}");
        }
    }

    #[test]
    fn more_is_refused_in_every_mode_but_reset_and_says_where() {
        let findings = [finding("kernel", 3)];
        let measured = Ratchet::measured(&findings, BTreeSet::new());
        for listed in ["", "wide-lines kernel 2", "wide-lines mind 9"] {
            let difference = compare(&ratchet(listed), &measured, &findings);
            for mode in [Mode::Check, Mode::Update] {
                let refused = settle(mode, &measured, &difference).expect_err("it grew");
                assert!(refused.contains("3 found\n    kernel.rs:7"), "{refused}");
            }
            assert_eq!(settle(Mode::Reset, &measured, &difference), Ok(Some(measured.render())));
        }
    }

    #[test]
    fn less_fails_until_the_list_is_written_anew() {
        let findings = [finding("kernel", 3)];
        let measured = Ratchet::measured(&findings, BTreeSet::new());
        let difference =
            compare(&ratchet("wide-lines kernel 4\ntype-name A 2"), &measured, &findings);
        assert_eq!(difference.stale.len(), 2);
        assert!(
            settle(Mode::Check, &measured, &difference)
                .is_err_and(|why| why.contains("TIDY_UPDATE"))
        );
        assert_eq!(settle(Mode::Update, &measured, &difference), Ok(Some(measured.render())));
        let same = compare(&measured, &measured, &findings);
        assert_eq!(settle(Mode::Check, &measured, &same), Ok(None));
    }

    #[test]
    fn a_cycle_may_lose_modules_and_fall_apart_but_not_grow_or_move() {
        let listed = ratchet("module-cycle kernel a b c d");
        for smaller in
            ["module-cycle kernel a b", "module-cycle kernel a b\nmodule-cycle kernel c d", ""]
        {
            let difference = compare(&listed, &ratchet(smaller), &[]);
            assert_eq!((difference.grown.len(), difference.stale.len()), (0, 1), "{smaller}");
        }
        for other in
            ["module-cycle kernel a b c d e", "module-cycle mind a b", "module-cycle kernel d e"]
        {
            assert!(!compare(&listed, &ratchet(other), &[]).grown.is_empty(), "{other}");
        }
        let apart = ratchet("module-cycle kernel a b\nmodule-cycle kernel c d");
        assert!(!compare(&apart, &listed, &[]).grown.is_empty(), "two cycles became one");
    }
}
