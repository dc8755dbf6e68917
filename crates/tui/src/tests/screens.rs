//! Every screen, as people see it on a small and on a large terminal.

use crate::tests::rig::Rig;

/// Keys that lead to a screen, and its name.
const SCREENS: &[(&str, &str)] = &[
    ("home", ""),
    ("search_empty", "/"),
    ("search_typing", "/login cookies"),
    ("search_results", "/login cookies<down><down>"),
    ("memory_text", "/signed cookies<enter><enter>"),
    ("memory_history", "/signed cookies<enter><enter>h"),
    ("memory_proof", "/signed cookies<enter><enter>v"),
    ("timeline", "/signed cookies<enter><enter>t"),
    ("graph", "/forged requests<enter><enter>g+"),
    ("sessions", "3"),
    ("session", "3<down><enter>"),
    ("projects", "4"),
    ("project", "4<enter>"),
    ("archive", "5"),
    ("forgotten", "5<tab>"),
    ("activity", "6"),
    ("help", "?"),
    ("forget", "2<esc>1d"),
];

fn check(width: u16, height: u16) {
    for (name, keys) in SCREENS {
        let mut rig = Rig::new(width, height);
        rig.keys(keys);
        let screen = rig.screen();
        for line in screen.lines() {
            let cells = crate::text::width(line.split(" Hidden by").next().unwrap());
            assert_eq!(cells, usize::from(width) + 2, "{name}: {line}");
        }
        insta::assert_snapshot!(format!("{name}_{width}x{height}"), without_sizes(&screen));
    }
}

/// How large a file is belongs to the store, not to the screen.
fn without_sizes(screen: &str) -> String {
    // What a file takes depends on the disk, and with it the unit; the cells of the line stay as many.
    let same_size = |text: &str| {
        let rest = text.split_once('B').map_or(text, |(_, rest)| rest).trim_start();
        format!("#.# MB{rest:>room$}", room = text.chars().count().saturating_sub(6))
    };
    let lines = screen.lines().map(|line| match line.split_once(" entries, ") {
        Some((before, after)) => format!("{before} entries, {}", same_size(after)),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

// agent-memory 133
#[test]
fn screens_of_a_small_terminal() {
    check(80, 24);
}

#[test]
fn screens_of_a_large_terminal() {
    check(120, 40);
}

#[test]
fn a_tiny_terminal_is_told_what_is_missing() {
    let mut rig = Rig::new(40, 8);
    insta::assert_snapshot!("tiny_40x8", rig.screen());
    // Nothing is too small to be drawn on.
    for (width, height) in [(1, 1), (2, 30), (200, 1), (59, 16), (60, 15)] {
        Rig::empty(width, height).screen();
    }
}

#[test]
fn the_smallest_terminal_shows_every_screen() {
    for (name, keys) in SCREENS {
        let mut rig = Rig::new(60, 16);
        rig.keys(keys);
        assert!(!rig.screen().contains("needs a terminal"), "{name}");
    }
    let mut rig = Rig::new(60, 16);
    insta::assert_snapshot!("home_60x16", without_sizes(&rig.screen()));
}

#[test]
fn an_empty_home_says_what_to_do() {
    let mut rig = Rig::empty(80, 24);
    insta::assert_snapshot!("empty_80x24", without_sizes(&rig.screen()));
    rig.keys("/zyzzyva");
    assert!(rig.screen().contains("Nothing was found."));
    rig.keys("<esc>");
    for tab in ["2", "<esc>3", "4", "5", "6"] {
        rig.keys(tab);
        rig.screen();
    }
}

#[test]
fn without_colours_nothing_is_coloured_and_all_is_said() {
    for (name, keys) in SCREENS {
        let mut rig = Rig::new(80, 24);
        let coloured = {
            rig.keys(keys);
            rig.screen()
        };
        assert!(!rig.is_colourless(), "{name}");
        rig.theme.is_plain = true;
        assert!(rig.is_colourless(), "{name}");
        assert_eq!(rig.screen(), coloured, "{name}: the words are the same");
    }
}
