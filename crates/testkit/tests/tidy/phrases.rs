//! Phrases of Rust that are not written here.

use crate::lexer::{Kind, reads};
use crate::ratchet::Finding;
use crate::source::Source;

/// What is bound for the sake of its `Drop` is called after what it holds.
const GUARDS: [&str; 4] = ["guard", "lock", "permit", "span"];

/// Error codes that are written as text where the error is made, instead of taken from the one list of codes.
pub(crate) fn loose_error_codes(source: &Source<'_>) -> Vec<Finding> {
    let tokens = &source.production;
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_text = tokens.get(at + 4).is_some_and(|argument| argument.kind == Kind::Text);
        if is_text && reads(tokens, at, &["Error", "::", "new", "("]) {
            let place = format!("{}: {}", source.place(token), tokens[at + 4].text);
            found.push(Finding {
                rule: "error-code",
                subject: source.member.to_owned(),
                amount: 1,
                place,
            });
        }
    }
    found
}

/// Results that are ignored under a name, `let _unheard = …`, instead of `let _ = …` with a comment that says why.
pub(crate) fn named_ignores(source: &Source<'_>) -> Vec<Finding> {
    let tokens = &source.production;
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let [keyword, name, after, ..] = &tokens[at..] else {
            continue;
        };
        let word = name
            .text
            .strip_prefix('_')
            .filter(|word| word.starts_with(|first: char| first.is_ascii_lowercase()));
        let is_guard =
            |word: &str| word.rsplit('_').next().is_some_and(|last| GUARDS.contains(&last));
        let is_binding = keyword.text == "let" && matches!(after.text, "=" | ":");
        if is_binding && word.is_some_and(|word| !is_guard(word)) {
            let place = format!("{}: {}", source.place(name), name.text);
            found.push(Finding {
                rule: "named-ignore",
                subject: source.member.to_owned(),
                amount: 1,
                place,
            });
        }
    }
    found
}

/// Code that is not finished, and tests that are not run, in tests too.
pub(crate) fn unfinished(source: &Source<'_>) -> Vec<String> {
    let tokens = &source.tokens;
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_macro =
            matches!(token.text, "todo" | "unimplemented" | "dbg") && reads(tokens, at + 1, &["!"]);
        let is_attribute = reads(tokens, at, &["#", "[", "ignore"]);
        if is_macro || is_attribute {
            let phrase = if is_macro { token.text } else { "ignore" };
            found.push(format!("{}: {phrase}", source.place(token)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{made_up, sources};

    fn places(text: &str, rule: fn(&Source<'_>) -> Vec<Finding>) -> Vec<String> {
        let files = made_up(&[("crates/a/src/lib.rs", text)]);
        rule(&sources(&files)[0]).into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn a_code_as_text_is_loose() {
        let text = "Error::new(\"io\", x);\nops::Error::new(\n\"usage\");\nError::new(code, \"io\");\n\
                    io::Error::new(ErrorKind::Other, \"x\"); // Error::new(\"io\")\n\
                    #[cfg(test)] mod tests { fn f() { Error::new(\"io\") } }";
        let expected = ["crates/a/src/lib.rs:1: \"io\"", "crates/a/src/lib.rs:2: \"usage\""];
        assert_eq!(places(text, loose_error_codes), expected);
    }

    #[test]
    fn an_ignored_result_has_no_name() {
        let text = "let _unheard = send();\nlet _ = send();\nlet _guard = lock();\nlet _told: () = f();\n\
                    let _state_lock = l();\nlet _A = 1; if let Some(_x) = y {} // let _x = 1;\n\
                    #[test] fn f() {}\n#[cfg(test)] mod tests { fn g() { let _home = h(); } }";
        assert_eq!(
            places(text, named_ignores),
            ["crates/a/src/lib.rs:1: _unheard", "crates/a/src/lib.rs:4: _told"]
        );
    }

    #[test]
    fn what_is_not_finished_is_named_in_tests_too() {
        let text = "fn f() { todo!() }\nfn g() { std::unimplemented!(\"x\"); dbg!(1) }\n// todo!()\n\
                    let a = \"todo!()\";\n\
                    #[cfg(test)] mod tests { #[test] #[ignore = \"slow\"] fn f() {} }\nfn todo() { ignore() }";
        let files = made_up(&[("crates/a/src/lib.rs", text)]);
        let expected = [
            "crates/a/src/lib.rs:1: todo",
            "crates/a/src/lib.rs:2: unimplemented",
            "crates/a/src/lib.rs:2: dbg",
            "crates/a/src/lib.rs:5: ignore",
        ];
        assert_eq!(unfinished(&sources(&files)[0]), expected);
    }
}
