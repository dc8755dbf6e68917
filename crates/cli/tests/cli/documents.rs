//! Goal: what README and the Start pages tell people to type works, and every link in the documents leads somewhere.
//! Method: the real program in an empty home runs each command of each `console` block, in order; what it prints is
//! compared with what the document shows, with figures that differ from run to run taken out of both. A block that
//! shows no output is only run.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

const RUN: [&str; 6] = [
    "README.md",
    "docs/start/install.md",
    "docs/start/first-hour.md",
    "docs/start/agents.md",
    "docs/guides/proofs.md",
    "docs/guides/costs.md",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// One command of a document, with the output that it shows.
struct Shown {
    line: usize,
    command: String,
    output: String,
}

/// The commands of the `console` blocks of a document, in order.
fn commands(text: &str) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    let mut inside = false;
    for (number, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            inside = line == "```console";
            continue;
        }
        if !inside {
            continue;
        }
        if let Some(command) = line.strip_prefix("$ ") {
            let command = command.to_owned();
            found.push(Shown { line: number + 1, command, output: String::new() });
        } else if let Some(last) = found.last_mut()
            && !line.trim().is_empty()
        {
            last.output.push_str(line.trim_end());
            last.output.push('\n');
        }
    }
    found
}

/// A text without what differs from run to run: roots, times, names of people, figures.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let words = line.trim_end().split(' ').map(|word| {
            let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
            let is_hex = bare.len() >= 32 && bare.chars().all(|c| c.is_ascii_hexdigit());
            let is_figure = bare.starts_with(|c: char| c.is_ascii_digit())
                && bare.chars().all(|c| c.is_ascii_digit() || ".:-TZ,%".contains(c));
            if is_hex || is_figure { "…" } else { word }
        });
        masked.push_str(&words.collect::<Vec<_>>().join(" "));
        masked.push('\n');
    }
    masked
}

// everywhere E12
#[test]
fn every_command_that_people_are_told_to_type_works() {
    for document in RUN {
        let text = std::fs::read_to_string(root().join(document)).unwrap();
        let home = TempDir::new().unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_cortex"));
        let folder = program.parent().unwrap().display();
        let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
        for Shown { line, command, output } in commands(&text) {
            let ran = Command::new("sh")
                .args(["-c", &format!("{command} 2>&1")])
                .current_dir(home.path())
                .env("HOME", home.path())
                .env("CORTEX_HOME", home.path().join("home"))
                .env("USER", "ada")
                .env("PATH", &path)
                .env_remove("CORTEX_ACTOR")
                .output()
                .unwrap();
            let printed = String::from_utf8(ran.stdout).unwrap();
            let place = format!("{document}:{line}: {command}\n{printed}");
            assert_eq!(ran.status.success(), !output.starts_with("error:"), "{place}");
            if !output.is_empty() {
                assert_eq!(masked(&printed), masked(&output), "{place}");
            }
        }
    }
}

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "md") {
            found.push(path);
        }
    }
}

/// Where the links of a document lead, outside of code.
fn links(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            inside = !inside;
        }
        if inside {
            continue;
        }
        // What stands between two backticks is code.
        let plain: String = line.split('`').step_by(2).collect();
        for part in plain.split("](").skip(1) {
            found.extend(part.split(')').next().map(str::to_owned));
        }
    }
    found
}

// everywhere E12
#[test]
fn every_link_of_the_documents_leads_somewhere_and_every_page_is_in_the_book() {
    let root = root();
    let mut documents: Vec<PathBuf> = Vec::new();
    pages(&root.join("docs"), &mut documents);
    let listed = links(&std::fs::read_to_string(root.join("docs/SUMMARY.md")).unwrap());
    let mut wrong = Vec::new();
    for document in &documents {
        let name = document.strip_prefix(root.join("docs")).unwrap().display().to_string();
        if name != "SUMMARY.md" && !listed.contains(&name) {
            wrong.push(format!("{name} is not in SUMMARY.md"));
        }
    }
    documents.push(root.join("README.md"));
    for document in &documents {
        let text = std::fs::read_to_string(document).unwrap();
        for link in links(&text) {
            let target = link.split('#').next().unwrap_or_default();
            if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            if !document.parent().unwrap().join(target).exists() {
                wrong.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

// W27: a figure that sells was measured, and where it was measured is written down.
#[test]
fn every_figure_that_readme_gives_as_a_reason_stands_among_the_benchmarks() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let readme = read("README.md");
    let reasons = readme.split("## Why it is different").nth(1).unwrap();
    let reasons = reasons.split("\n## ").next().unwrap();
    let benchmarks = read("docs/benchmarks.md").replace(',', "");
    let outside_code: String = reasons.split('`').step_by(2).collect();
    let figures: Vec<String> = outside_code
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_ascii_digit()).replace(',', ""))
        .filter(|word| word.len() > 1)
        .collect();
    assert!(figures.len() >= 8, "{figures:?}");
    for figure in figures.iter().filter(|figure| *figure != "2026") {
        assert!(benchmarks.contains(figure.as_str()), "{figure} is not in docs/benchmarks.md");
    }
}

#[test]
fn figures_are_taken_out_and_words_stay() {
    assert_eq!(masked("saved 12 at 2026-11-18T05:00:00.000Z"), "saved … at …\n");
    assert_eq!(masked("saved cortex://default/Fact/2#1"), "saved cortex://default/Fact/2#1\n");
}
