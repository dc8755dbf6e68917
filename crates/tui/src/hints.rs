//! What the footer and the help say about keys. Keys are given meaning in `keys`; here are only the words.

use ratatui::crossterm::event::KeyCode;

use crate::page::Page;
use crate::state::{State, Tab};

/// A key and what it does here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hint {
    pub(super) press: KeyCode,
    pub(super) key: &'static str,
    pub(super) does: &'static str,
}

const fn hint(press: KeyCode, key: &'static str, does: &'static str) -> Hint {
    Hint { press, key, does }
}

/// The help: sections of keys and what they do.
pub(super) const HELP: &[(&str, &[(&str, &str)])] = &[
    (
        "Everywhere",
        &[
            ("1 – 8", "Home, Search, Sessions, Projects, Archive, Live, Mind, Chat"),
            ("/", "search"),
            ("j k ↑ ↓", "move; PgUp PgDn Home End move further"),
            ("enter", "open what is selected"),
            ("esc q", "back; q at the top quits"),
            ("tab", "next pane: recent / sessions, text / history / proof"),
            ("u", "take back the last change, wherever you are"),
            ("r", "ask again"),
            ("? F1", "this help"),
            ("ctrl-c", "quit"),
        ],
    ),
    (
        "On a memory, in any list but the results of a search",
        &[
            ("t", "timeline: what was saved before and after it"),
            ("g", "graph: what it is connected to"),
            ("h v", "history of versions, and proof that it is in the journal"),
            ("e", "edit it in $VISUAL or $EDITOR (in a list: open it first)"),
            ("c", "copy its text (its id in a list) to the clipboard of the terminal"),
            ("p", "pin or unpin: pinned memories lead every context"),
            ("a", "archive: out of sight, until restored"),
            ("d", "forget: asks first; can be restored too"),
            ("b", "bring back what was archived or forgotten"),
        ],
    ),
    (
        "In the search line",
        &[
            ("any text", "searches while you type"),
            ("type: tag: …", "narrow it: type:bugfix tag:auth project:web since:2026-11-01"),
            ("↓ enter tab", "to the results; any letter goes back to the line"),
            ("ctrl-u ctrl-w", "delete all before the cursor, or one word"),
            ("ctrl-x", "search in all projects again"),
            ("esc", "leave the line"),
        ],
    ),
    (
        "In a conversation",
        &[
            ("any text", "what you say; enter sends it"),
            ("↑ ↓ PgUp PgDn", "read what was said before"),
        ],
    ),
    (
        "In the graph",
        &[("+ -", "walk further, or less far"), ("enter", "open"), ("o", "make it the centre")],
    ),
    (
        "Mouse",
        &[
            ("click", "selects; a second click opens; tabs, panes and hints can be clicked too"),
            ("wheel", "moves"),
        ],
    ),
];

impl State {
    /// What the footer says. The most useful first: a narrow terminal shows only the beginning.
    pub(super) fn hints(&self) -> Vec<Hint> {
        let letter =
            |c: char, key: &'static str, does: &'static str| hint(KeyCode::Char(c), key, does);
        if self.confirm.is_some() {
            return vec![letter('y', "y", "yes"), hint(KeyCode::Esc, "esc", "no")];
        }
        if self.help.is_some() {
            return vec![letter('j', "j/k", "scroll"), hint(KeyCode::Esc, "esc", "close")];
        }
        if self.is_typing() {
            let mut hints = vec![
                hint(KeyCode::Down, "↓", "results"),
                hint(KeyCode::Esc, "esc", "leave"),
                hint(KeyCode::F(1), "F1", "help"),
            ];
            if self.search.project.is_some() {
                hints.insert(1, hint(KeyCode::Null, "ctrl-x", "all projects"));
            }
            return hints;
        }
        let open = hint(KeyCode::Enter, "enter", "open");
        let (time, graph) = (letter('t', "t", "timeline"), letter('g', "g", "graph"));
        let mut hints = match self.pages.last() {
            Some(Page::Memory(page)) => {
                let put_away = page.load.value().is_some_and(|answer| {
                    answer.memory.archived || answer.memory.deleted_at.is_some()
                });
                let store = if put_away {
                    letter('b', "b", "bring back")
                } else {
                    letter('a', "a", "archive")
                };
                return vec![
                    hint(KeyCode::Tab, "tab", "pane"),
                    time,
                    graph,
                    store,
                    hint(KeyCode::Esc, "esc", "back"),
                    letter('?', "?", "help"),
                    letter('p', "p", "pin"),
                    letter('c', "c", "copy"),
                    letter('j', "j/k", "scroll"),
                ];
            }
            Some(Page::Timeline(_)) => vec![open, graph, letter('t', "t", "centre")],
            Some(Page::Graph(_)) => {
                vec![open, letter('o', "o", "centre"), letter('+', "+/-", "depth"), time]
            }
            Some(Page::Chat(_)) => {
                return vec![
                    hint(KeyCode::Enter, "enter", "say it"),
                    hint(KeyCode::Up, "↑ ↓", "read back"),
                    hint(KeyCode::Esc, "esc", "back"),
                    hint(KeyCode::F(1), "F1", "help"),
                ];
            }
            Some(Page::Session(_)) => vec![open, time, graph],
            Some(Page::Project(_)) => vec![open, letter('/', "/", "search here"), time, graph],
            None => match self.tab {
                Tab::Home if self.home.waiting_call().is_some() => {
                    vec![letter('Y', "Y", "approve"), letter('N', "N", "deny"), open]
                }
                Tab::Home => {
                    vec![open, hint(KeyCode::Tab, "tab", "pane"), letter('/', "/", "search")]
                }
                Tab::Search => {
                    return vec![
                        open,
                        hint(KeyCode::Up, "↑", "type"),
                        hint(KeyCode::Esc, "esc", "leave"),
                        hint(KeyCode::F(1), "F1", "help"),
                    ];
                }
                Tab::Sessions | Tab::Projects | Tab::Activity | Tab::Mind | Tab::Chat => {
                    vec![open, letter('/', "/", "search")]
                }
                Tab::Archive => {
                    vec![
                        letter('b', "b", "bring back"),
                        open,
                        hint(KeyCode::Tab, "tab", "archived/forgotten"),
                    ]
                }
            },
        };
        if self.pages.is_empty() {
            hints.push(letter('?', "?", "help"));
            hints.push(letter('q', "q", "quit"));
        } else {
            hints.push(hint(KeyCode::Esc, "esc", "back"));
            hints.push(letter('?', "?", "help"));
        }
        hints
    }
}
