//! The top-level modules of a crate use each other in one direction.
//!
//! Edges come from `crate::a`, `crate::{a, b::c}` and from `super::` wherever it means the root of the crate. A name
//! that the root re-exports counts as a use of the module it comes from, so a cycle cannot hide behind `crate::Error`.
//! Tests may reach anywhere.

use std::collections::{BTreeMap, BTreeSet};

use crate::lexer::{Kind, Token, after_bracket, reads};
use crate::ratchet::Cycle;
use crate::source::Source;

/// Modules by what they use.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// Every cycle of every crate, as the set of modules that reach each other.
pub(crate) fn cycles(sources: &[Source<'_>]) -> BTreeSet<Cycle> {
    let members: BTreeSet<&str> = sources.iter().map(|source| source.member).collect();
    let of_member = |member: &str| {
        let files: Vec<_> = sources.iter().filter(|source| source.member == member).collect();
        let components = components(&graph(&files));
        let cycle = |modules| Cycle { member: member.to_owned(), modules };
        components.into_iter().map(cycle).collect::<Vec<_>>()
    };
    members.into_iter().flat_map(of_member).collect()
}

/// The place of a file in its crate's tree of modules; none for what is no part of the library or the program.
fn module_path<'s>(source: &'s Source<'_>) -> Option<Vec<&'s str>> {
    let inside = source.inside_src()?.strip_suffix(".rs")?;
    let mut path: Vec<&str> = inside.split('/').collect();
    match path[..] {
        ["lib" | "main"] => path.clear(),
        ["bin", ..] => return None,
        [.., "mod"] => {
            path.pop();
        }
        _ => {}
    }
    Some(path)
}

fn graph(files: &[&Source<'_>]) -> Graph {
    let placed: Vec<_> =
        files.iter().filter_map(|file| Some((module_path(file)?, *file))).collect();
    let mut graph = Graph::new();
    for module in placed.iter().filter_map(|(path, _)| path.first()) {
        graph.entry((*module).to_owned()).or_default();
    }
    let roots = placed.iter().filter(|(path, _)| path.is_empty()).map(|(_, file)| *file);
    let exports = re_exports(roots, &graph);
    for (path, file) in &placed {
        let Some(from) = path.first() else {
            continue;
        };
        for name in names_of_the_root(&file.production, path.len()) {
            let to = exports.get(name).map_or(name, String::as_str);
            if to != *from && graph.contains_key(to) {
                graph.entry((*from).to_owned()).or_default().insert(to.to_owned());
            }
        }
    }
    graph
}

/// Names that the root of a crate takes from its modules, with the module.
fn re_exports<'s>(
    roots: impl Iterator<Item = &'s Source<'s>>,
    modules: &Graph,
) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for root in roots {
        let tokens = &root.production;
        let mut at = 0;
        while at < tokens.len() {
            match tokens[at].text {
                "use" => {
                    let mut leaves = Vec::new();
                    at = use_tree(tokens, at + 1, &[], &mut leaves);
                    for leaf in leaves {
                        let path: Vec<&str> = leaf
                            .into_iter()
                            .skip_while(|step| ["crate", "self"].contains(step))
                            .collect();
                        if let [module, .., name] = path[..]
                            && modules.contains_key(module)
                        {
                            found.insert(name.to_owned(), module.to_owned());
                        }
                    }
                }
                "{" => at = after_bracket(tokens, at),
                _ => at += 1,
            }
        }
    }
    found
}

/// Adds every leaf of a `use` tree as a path; a leaf that is renamed ends with its new name. The answer is the place
/// after the tree.
fn use_tree<'t>(
    tokens: &[Token<'t>],
    mut at: usize,
    above: &[&'t str],
    leaves: &mut Vec<Vec<&'t str>>,
) -> usize {
    let mut path = above.to_vec();
    while let Some(token) = tokens.get(at) {
        match token.text {
            "{" => {
                let end = after_bracket(tokens, at);
                at += 1;
                while at + 1 < end {
                    at = use_tree(tokens, at, &path, leaves);
                    at += usize::from(reads(tokens, at, &[","]));
                }
                return end;
            }
            "," | "}" | ";" => break,
            "::" | "as" | "*" => {}
            word => path.push(word),
        }
        at += 1;
    }
    leaves.push(path);
    at
}

/// The names that code in a module `depth` levels below the root takes from the root.
fn names_of_the_root<'t>(tokens: &[Token<'t>], depth: usize) -> BTreeSet<&'t str> {
    let mut found = BTreeSet::new();
    // The ends of the inline modules around the present token: each is one level more.
    let mut inline: Vec<usize> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        inline.retain(|end| at < *end);
        if token.text == "mod" && reads(tokens, at + 2, &["{"]) {
            inline.push(after_bracket(tokens, at + 2));
        }
        if token.text == "crate" && reads(tokens, at + 1, &["::"]) {
            found.extend(first_names(tokens, at + 2));
        }
        let begins = at == 0 || tokens[at - 1].text != "::";
        if token.text == "super" && begins {
            let mut ups = 1;
            while reads(tokens, at + 2 * ups - 1, &["::", "super"]) {
                ups += 1;
            }
            let after = at + 2 * ups - 1;
            if ups == depth + inline.len() && reads(tokens, after, &["::"]) {
                found.extend(first_names(tokens, after + 1));
            }
        }
    }
    found
}

/// The name at a place, or those at the beginning of each branch of a tree in braces.
fn first_names<'t>(tokens: &[Token<'t>], at: usize) -> Vec<&'t str> {
    let is_word =
        |at: usize| tokens.get(at).filter(|token| token.kind == Kind::Word).map(|token| token.text);
    if !reads(tokens, at, &["{"]) {
        return is_word(at).into_iter().collect();
    }
    let end = after_bracket(tokens, at);
    let (mut names, mut next) = (Vec::new(), at + 1);
    while next < end {
        names.extend(is_word(next));
        while next < end && tokens[next].text != "," {
            next = if tokens[next].text == "{" { after_bracket(tokens, next) } else { next + 1 };
        }
        next += 1;
    }
    names
}

/// The sets of two and more modules that reach each other.
fn components(graph: &Graph) -> BTreeSet<BTreeSet<String>> {
    let reach = |from: &String| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(module) = open.pop() {
            for next in graph.get(module).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&String, BTreeSet<String>> =
        graph.keys().map(|module| (module, reach(module))).collect();
    let together = |module: &String| {
        let back = |other: &&String| reached.get(other).is_some_and(|from| from.contains(module));
        reached[module].iter().filter(back).cloned().collect::<BTreeSet<String>>()
    };
    graph.keys().map(together).filter(|component| component.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{made_up, sources};

    /// The cycles of a crate with these files in `src`, in words.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> =
            files.iter().map(|(path, text)| (format!("crates/a/src/{path}"), *text)).collect();
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let words = |cycle: Cycle| cycle.modules.into_iter().collect::<Vec<_>>().join(" ");
        cycles(&sources(&made_up(&files))).into_iter().map(words).collect()
    }

    #[test]
    fn one_direction_is_no_cycle() {
        let files = [
            ("lib.rs", "mod x; mod y; mod z; pub use x::X;"),
            ("x.rs", "use crate::y::Y; use crate::{z, y::{self, Z}};"),
            ("y/mod.rs", "mod deep; use super::z::A;"),
            (
                "y/deep.rs",
                "use super::super::z::B; use super::own; use crate::y::C; pub(crate) fn x() {}",
            ),
            ("z.rs", "// crate::x\nconst A: &str = \"crate::x\";"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }

    #[test]
    fn every_way_to_name_a_module_closes_a_cycle() {
        let ways = [
            ("y.rs", "use crate::x::X;"),
            ("y.rs", "use crate::{z::Z, x::X};"),
            ("y.rs", "use crate::{z::{A, B}, x};"),
            ("y.rs", "fn f() -> crate::x::X { g() }"),
            ("y.rs", "use super::x::X;"),
            ("y.rs", "use super::{z, x};"),
            ("y.rs", "mod inner { use super::super::x::X; }"),
            ("y.rs", "use crate::X;"),
            ("y.rs", "use crate::Other;"),
            ("y/mod.rs", "use super::x::X;"),
            ("y/deep.rs", "use super::super::x::X;"),
        ];
        for (path, text) in ways {
            let root = "mod x; mod y; mod z; pub use x::{X, Y as Other};";
            let files = [("lib.rs", root), ("x.rs", "use crate::y;"), ("z.rs", ""), (path, text)];
            assert_eq!(found(&files), ["x y"], "{path}: {text}");
        }
    }

    #[test]
    fn tests_may_reach_anywhere() {
        let test = "#[cfg(test)] mod tests { use crate::x::X; use super::super::x::Y; }";
        let files = [("lib.rs", "mod x; mod y;"), ("x.rs", "use crate::y;"), ("y.rs", test)];
        assert_eq!(found(&files), Vec::<String>::new());
    }

    #[test]
    fn cycles_that_touch_nowhere_are_two() {
        let files = [
            ("lib.rs", ""),
            ("a.rs", "use crate::b;"),
            ("b.rs", "use crate::{a, c};"),
            ("c.rs", "use crate::d;"),
            ("d.rs", "use crate::c;"),
            ("main.rs", "use crate::{a, b, c, d};"),
            ("bin/e.rs", "use crate::a;"),
        ];
        assert_eq!(found(&files), ["a b", "c d"]);
    }
}
