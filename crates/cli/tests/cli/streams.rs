//! Streams and several processes: an acknowledged memory is there, whatever happens to the process that saved it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::support::Home;

/// Rounds of the kill test; each opens, saves, dies, reopens and verifies.
const KILL_ROUNDS: u64 = 3;

#[test]
fn every_line_is_answered_in_order() {
    let home = Home::new();
    let input = concat!(
        "{\"title\":\"one\",\"tags\":[\"a\"],\"importance\":0.25}\n",
        "\n",
        "{\"title\":\"\"}\n",
        "no json\n",
        "{\"title\":\"goal\",\"type\":\"goal\",\"fields\":{\"criteria\":[\"x\",\"y\"]}}\n",
        "{\"title\":\"key\",\"idempotency_key\":\"k\"}\n",
        "{\"title\":\"key\",\"idempotency_key\":\"k\"}\n",
        "{\"title\":\"derived\",\"derived_from\":[\"1#1\"]}",
    );
    let ran = home.piped(&["save", "--lines"], input.as_bytes()).ends(2);
    let answers: Vec<Value> = ran.out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let lines: Vec<u64> = answers.iter().map(|a| a["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [1, 3, 4, 5, 6, 7, 8]);
    let ids: Vec<Option<u64>> = answers.iter().map(|a| a["id"].as_u64()).collect();
    assert_eq!(ids, [Some(1), None, None, Some(2), Some(3), Some(3), Some(4)]);
    assert_eq!(answers[1]["error"]["code"], "invalid");
    assert_eq!(answers[5]["replayed"], true);
    assert_eq!(home.run(&["get", "1", "--json"]).ok().json()["importance"], 0.25);
    assert_eq!(home.run(&["get", "4", "--json"]).ok().json()["source"], "derived");
    home.run(&["verify"]).ok();
}

#[test]
fn an_answer_comes_before_the_next_line_is_sent() {
    let home = Home::new();
    let mut child = home.command().args(["save", "--lines"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    for n in 1..=5_u64 {
        writeln!(input, "{{\"title\":\"memory {n}\"}}").unwrap();
        let answer: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
        assert_eq!(answer["id"], n);
    }
    // While it is open nobody else gets in, and says so.
    let busy = home.run(&["--wait", "0", "root", "--json"]).ends(6);
    assert_eq!(busy.error()["code"], "busy");
    drop(input);
    assert!(child.wait().unwrap().success());
    home.run(&["--wait", "0", "root"]).ok();
}

#[test]
fn an_import_in_bulk_is_answered_line_by_line() {
    let home = Home::new();
    let lines: String = (0..1_000).map(|n| format!("{{\"title\":\"memory {n}\"}}\n")).collect();
    let ran = home.piped(&["save", "--lines", "--bulk", "300"], lines.as_bytes()).ok();
    assert_eq!(ran.out.lines().count(), 1_000);
    assert!(ran.err.contains("1000 saved, 0 refused"), "{}", ran.err);
    for bad in ["0", "1000000"] {
        home.piped(&["save", "--lines", "--bulk", bad], b"").ends(2);
    }
}

/// Lines that a killed process had acknowledged: it is fed with `line(0)`, `line(1)` … and dies after `wanted` answers.
fn acknowledged_until_killed(
    home: &Home,
    wanted: u64,
    line: impl Fn(u64) -> String + Send + 'static,
) -> Vec<u64> {
    let mut child = home.command().args(["save", "--lines"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || {
        for n in 0_u64.. {
            if input.write_all(line(n).as_bytes()).is_err() {
                return;
            }
        }
    });
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut heard = Vec::new();
    for _ in 0..wanted {
        let mut line = String::new();
        assert!(output.read_line(&mut line).unwrap() > 0, "the stream ended by itself");
        heard.push(line);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    feeder.join().unwrap();
    // What is still in the pipe was acknowledged too; a torn last line was not.
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    heard.extend(rest.split_inclusive('\n').filter(|l| l.ends_with('\n')).map(Into::into));
    let id = |line: &String| {
        let answer: Value = serde_json::from_str(line).unwrap();
        answer["id"].as_u64().unwrap_or_else(|| panic!("{answer}"))
    };
    heard.iter().map(id).collect()
}

/// Kills a saving process at a random moment; everything it had acknowledged is there.
#[test]
fn kill_9_loses_nothing_acknowledged() {
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos();
    println!("seed {seed}");
    let home = Home::new();
    let mut acknowledged: Vec<(u64, String)> = Vec::new();
    for round in 0..KILL_ROUNDS {
        let wanted = 1 + (u64::from(seed) / (round + 1)) % 400;
        let ids = acknowledged_until_killed(&home, wanted, move |n| {
            format!("{{\"title\":\"round {round} memory {n}\",\"tags\":[\"t\"]}}\n")
        });
        let titles = (0..).map(|n| format!("round {round} memory {n}"));
        acknowledged.extend(ids.into_iter().zip(titles));
        home.run(&["verify"]).ok();
    }
    let journal = home.run(&["journal", "--kind", "write"]).ok().out;
    let stored: std::collections::BTreeSet<String> = journal
        .lines()
        .filter_map(|line| line.split_once("Fact ").map(|(_, rest)| rest.to_owned()))
        .collect();
    for (id, title) in &acknowledged {
        assert!(stored.contains(&format!("{id} {title:?}")), "{id} {title:?} is lost");
    }
    println!("{} acknowledged, {} stored", acknowledged.len(), stored.len());
}

/// The index becomes a run every 1,024 changes, and eight runs become one. A process that dies in such a commit leaves
/// an index that finds everything it had acknowledged. `verify` makes the index again and compares every row.
#[test]
fn kill_9_in_a_flush_or_a_merge_leaves_every_search_complete() {
    let home = Home::new();
    let word = |group: u64, n: u64| format!("w{group}x{n}");
    for (group, fill) in [(0, 700), (1, 6_300)] {
        let line = |n: u64| format!("{{\"title\":\"filling {}\"}}\n", word(group, n));
        let filling: String = (0..fill).map(line).collect();
        home.piped(&["save", "--lines", "--bulk", "1000"], filling.as_bytes()).ok();
        for round in 0..3 {
            let group = 10 * group + round + 2;
            let ids = acknowledged_until_killed(&home, 150 + 60 * round, move |n| {
                format!("{{\"title\":\"round {}\"}}\n", word(group, n))
            });
            let last = u64::try_from(ids.len()).unwrap() - 1;
            for n in [0, last / 3, last / 2, last - 1, last] {
                let found = home.run(&["search", &word(group, n), "--json"]).ok().json();
                let place = usize::try_from(n).unwrap();
                assert_eq!(found["hits"][0]["id"], ids[place], "{group} {n}: {found}");
            }
        }
        home.run(&["verify"]).ok();
    }
}

#[test]
fn processes_at_once_lose_nothing() {
    let home = Home::new();
    let streams: Vec<_> = (0..2)
        .map(|writer| {
            let mut child =
                home.command().args(["save", "--lines"]).stdin(Stdio::piped()).spawn().unwrap();
            let mut input = child.stdin.take().unwrap();
            let lines: String =
                (0..100).map(|n| format!("{{\"title\":\"stream {writer} {n}\"}}\n")).collect();
            input.write_all(lines.as_bytes()).unwrap();
            child
        })
        .collect();
    let singles: Vec<_> = (0..8)
        .map(|n| {
            let title = format!("single {n}");
            home.command().args(["save", &title, ""]).spawn().unwrap()
        })
        .collect();
    for child in streams.into_iter().chain(singles) {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let stats = home.run(&["stats", "--json"]).ok().json();
    assert_eq!(stats["observations"], 208);
    home.run(&["verify"]).ok();
}
