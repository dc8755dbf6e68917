//! Large imports, and one that is killed.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::sources;
use crate::support::Home;

const ROWS: u32 = 10_000;

/// Ten thousand rows arrive once, by date, and a second run adds nothing. Killed in the middle before, at several
/// places.
#[test]
fn an_import_that_is_killed_goes_on_where_it_was() {
    let home = Home::new();
    let path = sources::engram_of(home.path(), ROWS);
    let path = path.to_str().unwrap();
    let store = home.path().join("actors");
    for wait in [2_u64, 4] {
        let mut child = home.command().args(["import", path]).spawn().unwrap();
        let started = Instant::now();
        // Until it has written something more, so that the kill is in the middle of writing.
        let before = size(&store);
        while started.elapsed() < Duration::from_mins(1)
            && child.try_wait().unwrap().is_none()
            && size(&store) < before + wait * 400_000
        {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let stats = home.run(&["stats", "--json"]).ok().json();
        println!("after a kill: {stats}");
    }
    let report = home.run(&["import", path, "--json"]).ok().json();
    assert_eq!(report["skipped"]["total"], 0, "{report}");
    let (new, unchanged) = (&report["memories"]["new"], &report["memories"]["unchanged"]);
    assert_eq!(new.as_u64().unwrap() + unchanged.as_u64().unwrap(), u64::from(ROWS), "{report}");
    assert!(unchanged.as_u64().unwrap() > 0, "every kill came too early: {report}");

    let out = home.run(&["export"]).ok().out;
    let memories: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["record"] == "memory")
        .collect();
    assert_eq!(memories.len(), ROWS as usize);
    let mut origins: Vec<&str> = memories.iter().map(|m| m["origin"].as_str().unwrap()).collect();
    origins.sort_unstable();
    origins.dedup();
    assert_eq!(origins.len(), ROWS as usize);
    // Ids follow the dates, and the dates are those of the origin.
    let dates: Vec<&str> = memories.iter().map(|m| m["created"].as_str().unwrap()).collect();
    assert!(dates.is_sorted());
    assert_eq!(dates[0], "2025-02-01T10:00:00.000Z");

    let root = home.root();
    let again = home.run(&["import", path, "--json"]).ok().json();
    assert_eq!(again["memories"], json!({"new": 0, "changed": 0, "unchanged": ROWS}));
    assert_eq!(home.root(), root);
}

fn size(folder: &std::path::Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let sizes = entries.filter_map(Result::ok).map(|entry| match entry.metadata() {
        Ok(data) if data.is_dir() => size(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    });
    sizes.sum()
}
