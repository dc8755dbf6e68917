//! Rules about the repository itself, checked like any other test.
//!
//! A rule is a pure function over text: its own tests first show on made-up input that it fails, then it runs over the
//! repository. Some rules hold everywhere; what the others still find is listed in `ratchet.txt`, which may only shrink
//! (see `ratchet`). `make check` and `make test` run all of them.

mod crates;
mod documents;
mod edges;
mod fences;
mod format;
mod lexer;
mod lines;
mod metadata;
mod modules;
mod names;
mod packages;
mod patterns;
mod phrases;
mod ratchet;
mod source;

use ratchet::{Finding, Mode, Ratchet};
use source::Source;

const RATCHET: &str = "crates/testkit/tests/tidy/ratchet.txt";

/// Everything that rules with a list find in the repository.
fn findings(sources: &[Source<'_>]) -> Vec<Finding> {
    let mut found = names::ambiguous(sources);
    found.extend(names::participles(sources));
    found.extend(lines::crate_sizes(sources));
    for source in sources {
        found.extend(lines::wide(source));
        found.extend(lines::long(source));
        found.extend(phrases::loose_error_codes(source));
        found.extend(phrases::named_ignores(source));
    }
    let paths = source::paths();
    let existing = documents::endings(&paths);
    let checked = paths.iter().filter(|path| documents::is_checked(path)).cloned();
    for document in source::read(checked) {
        found.extend(documents::missing_paths(&document, &existing));
        found.extend(documents::miscounted_invariants(&document));
    }
    found
}

fn mode() -> Mode {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| value == "1");
    if is_set("TIDY_RESET") {
        Mode::Reset
    } else if is_set("TIDY_UPDATE") {
        Mode::Update
    } else {
        Mode::Check
    }
}

#[test]
fn every_file_has_a_header_and_a_name_and_is_finished() {
    let sources = source::repository();
    assert_eq!(
        lines::without_header(sources),
        Vec::<String>::new(),
        "these do not open with `//!`"
    );
    assert_eq!(
        names::rooms_for_leftovers(sources),
        Vec::<String>::new(),
        "these names say nothing"
    );
    let unfinished: Vec<String> = sources.iter().flat_map(phrases::unfinished).collect();
    assert_eq!(unfinished, Vec::<String>::new(), "these are not finished, or not run");
}

#[test]
fn the_ratchet_lists_what_is_found_and_no_more() {
    let sources = source::repository();
    assert!(sources.len() > 100, "the crates were read");
    let findings = findings(sources);
    let measured = Ratchet::measured(&findings, modules::cycles(sources));
    let path = source::root().join(RATCHET);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let listed = Ratchet::parse(&text).unwrap_or_else(|why| panic!("{why}"));
    let difference = ratchet::compare(&listed, &measured, &findings);
    match ratchet::settle(mode(), &measured, &difference) {
        Ok(None) => {}
        Ok(Some(text)) => {
            std::fs::write(&path, text).expect("the list can be written");
            println!("before: {}\nnow:    {}", listed.totals(), measured.totals());
        }
        Err(why) => panic!("{why}"),
    }
}
