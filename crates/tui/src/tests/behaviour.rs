//! What keys, clicks, answers and new entries do.

use proof::memory::Millis;
use proptest::prelude::*;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::ask::{Answer, Ask};
use crate::page::{Page, Pane};
use crate::state::{Event, State, Tab};
use crate::tests::rig::{MINUTE, Rig};
use api::audit::{AuditAnswer, Concern, ExampleView, FindingView};
use api::change::ArchiveRequest;
use api::channel::{ChannelGetAnswer, ChannelListAnswer, ChannelRunAnswer, ChannelView, SaidView};
use api::mind::{JobsAnswer, RunsAnswer};
use api::read::GetRequest;
use api::talent_runs::TalentRunsAnswer;
use api::{Error, ErrorCode, Fault};

fn query(ask: &Ask) -> &str {
    match ask {
        Ask::Search(request) => &request.query,
        other => panic!("{other:?}"),
    }
}

// W25: what needs attention is on one screen, and the memory that a line is about can be acted on there.
#[test]
fn the_mind_shows_what_needs_attention_and_means_the_memory_of_the_line() {
    let mut rig = Rig::new(80, 24);
    rig.press(KeyCode::Char('7'));
    let example = ExampleView {
        ids: vec![2, 1],
        title: "Said twice".to_owned(),
        why: "as 1 says".to_owned(),
    };
    let finding = FindingView { examples: vec![example], ..FindingView::new(Concern::Copied, 1) };
    for request in std::mem::take(&mut rig.open) {
        let answer = match &request.ask {
            Ask::Jobs(_) => Answer::Jobs(JobsAnswer::default()),
            Ask::Audit(_) => Answer::Audit(AuditAnswer {
                findings: vec![finding.clone()],
                ..AuditAnswer::default()
            }),
            Ask::Changes(_) => Answer::Changes(RunsAnswer::default()),
            Ask::Runs(_) => Answer::Runs(TalentRunsAnswer::default()),
            _ => continue,
        };
        rig.state.update(Event::Answer(request.ticket, Box::new(Ok(answer))));
    }
    let screen = rig.screen();
    for words in ["Jobs", "1 are word for word copies of another", "Said twice", "Nothing yet."] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    assert_eq!(rig.state.memory(), None, "a heading is about no memory");
    for _ in 0..3 {
        rig.press(KeyCode::Down);
    }
    assert_eq!(rig.state.memory(), Some((2, "Said twice".to_owned())));
}

/// Answers what is asked of conversations; the rest waits.
fn converse(rig: &mut Rig, said: &[(&str, &str)], sent: &Result<ChannelRunAnswer, Error>) {
    let view = ChannelView {
        channel: "main".to_owned(),
        messages: said.len(),
        last_at: "2026-11-16T08:00:00Z".to_owned(),
        ..ChannelView::default()
    };
    let said = said.iter().map(|(by, text)| SaidView {
        by: (*by).to_owned(),
        text: (*text).to_owned(),
        at: view.last_at.clone(),
        ..SaidView::default()
    });
    let got = ChannelGetAnswer { said: said.collect(), view: view.clone() };
    for request in std::mem::take(&mut rig.open) {
        let answer = match &request.ask {
            Ask::Channels(_) => {
                Ok(Answer::Channels(ChannelListAnswer { channels: vec![view.clone()] }))
            }
            Ask::Channel(_) => Ok(Answer::Channel(got.clone())),
            Ask::Say(_) => sent.clone().map(Answer::Say),
            _ => continue,
        };
        rig.event(Event::Answer(request.ticket, Box::new(answer)));
    }
}

// W25: every letter is for the line, what was refused stays in it, and what was said is in sight
#[test]
fn one_talks_in_a_conversation() {
    let mut rig = Rig::new(80, 24);
    let (arrived, before) = (Ok(ChannelRunAnswer::default()), [("user", "What is new?")]);
    rig.press(KeyCode::Char('8'));
    converse(&mut rig, &before, &arrived);
    assert!(rig.screen().contains("1 message"), "{}", rig.screen());
    rig.press(KeyCode::Enter);
    converse(&mut rig, &before, &arrived);
    assert!(rig.screen().contains("What is new?"), "{}", rig.screen());
    for c in "quit? 1 ad".chars() {
        rig.press(KeyCode::Char(c));
    }
    assert!(!rig.state.over && rig.state.confirm.is_none() && rig.state.help.is_none());
    rig.press(KeyCode::Enter);
    let refused = Err(Error::new(ErrorCode::NotServed, Fault::Busy, "no model is named"));
    converse(&mut rig, &before, &refused);
    let screen = rig.screen();
    assert!(screen.contains("no model is named") && screen.contains("> quit? 1 ad"), "{screen}");
    rig.press(KeyCode::Enter);
    converse(&mut rig, &before, &arrived);
    let after = [("user", "quit? 1 ad"), ("assistant", "**Nothing** is.")];
    converse(&mut rig, &after, &arrived);
    let screen = rig.screen();
    assert!(screen.contains("Nothing is.") && !screen.contains("> quit"), "{screen}");
    rig.press(KeyCode::Esc);
    assert_eq!((rig.state.tab, rig.state.pages.len()), (Tab::Chat, 0));
}

#[test]
fn while_a_search_is_on_its_way_the_next_one_waits_and_the_outdated_answer_is_dropped() {
    let mut rig = Rig::new(80, 24);
    rig.keys("/");
    for c in "redis".chars() {
        rig.press(KeyCode::Char(c));
    }
    // One question, for the first letter; the others wait for its answer.
    let asked: Vec<&str> = rig.asked().into_iter().map(query).collect();
    assert_eq!(asked, ["r"]);
    let first = rig.open.pop_front().unwrap();
    rig.answer(first);
    assert!(rig.state.search.load.value().is_none(), "nobody wants to know about r any more");
    let asked: Vec<&str> = rig.asked().into_iter().map(query).collect();
    assert_eq!(asked, ["redis"]);
    let second = rig.open.pop_front().unwrap();
    rig.answer(second.clone());
    assert_eq!(rig.state.search.load.value().unwrap().query, "redis");
    assert!(rig.asked().is_empty());
    // An answer that comes twice, or after the line was cleared, changes nothing.
    rig.control('u');
    rig.answer(second);
    assert!(rig.state.search.load.value().is_none());
}

#[test]
fn a_search_looks_without_leaving_a_trace() {
    let mut rig = Rig::new(80, 24);
    let id = rig.save("Umlaute", "Größe zählt", "discovery", "web");
    rig.keys("/größe zählt<down>");
    rig.settle();
    let hits = &rig.state.search.load.value().unwrap().hits;
    assert_eq!(hits.first().map(|hit| hit.id), Some(id));
    let memory = rig.ask(GetRequest { id, ..GetRequest::default() }).memory;
    assert_eq!(memory.accesses, 0);
}

#[test]
fn one_goes_from_a_hit_to_its_panes_and_back() {
    let mut rig = Rig::new(80, 24);
    rig.keys("/signed cookies<down><enter>");
    assert!(rig.screen().contains("version 2"));
    rig.keys("<tab>");
    assert!(rig.screen().contains("rotated every day"));
    assert!(rig.screen().contains("+ - a key is rotated"));
    rig.keys("<tab>");
    assert!(rig.screen().contains("is in the journal"));
    rig.keys("<tab>");
    assert!(matches!(rig.state.pages.last(), Some(Page::Memory(page)) if page.pane == Pane::Text));
    rig.keys("gt<esc><esc>");
    assert_eq!(rig.state.pages.len(), 1);
    rig.keys("q");
    assert_eq!((rig.state.tab, rig.state.pages.len()), (Tab::Search, 0));
    rig.keys("<esc>");
    assert_eq!(rig.state.tab, Tab::Home);
    assert!(!rig.state.over);
    rig.keys("q");
    assert!(rig.state.over);
}

#[test]
fn an_archived_memory_is_restored_from_the_archive() {
    let mut rig = Rig::new(80, 24);
    rig.keys("5");
    assert!(rig.screen().contains("Tabs or spaces"));
    rig.keys("b");
    assert!(rig.screen().contains("restored"));
    assert!(rig.screen().contains("Nothing is archived"));
    rig.keys("<tab>b<tab>1");
    assert!(rig.screen().contains("The build needs Java"));
    assert_eq!(rig.state.home.stats.value().unwrap().forgotten, 0);
}

#[test]
fn forgetting_is_asked_for_and_archiving_and_pinning_can_be_undone() {
    let mut rig = Rig::new(80, 24);
    let title = rig.state.memory().unwrap().1;
    rig.keys("dn");
    assert!(rig.screen().contains("nothing was changed"));
    rig.keys("dy");
    assert!(!rig.screen().contains(&title));
    rig.keys("p");
    assert!(rig.screen().contains("pinned"));
    rig.keys("p");
    assert!(rig.screen().contains("unpinned"));
    rig.keys("a");
    assert!(rig.screen().contains("archived"));
    rig.keys("5<enter>u<esc>");
    assert_eq!(rig.state.archive.archived.rows().len(), 1);
}

// W25
#[test]
fn words_such_as_a_type_and_a_colon_narrow_the_search() {
    let mut rig = Rig::new(80, 24);
    let id = rig.save("Cookies were signed twice", "By the proxy too.", "bugfix", "api");
    let found = |rig: &Rig| -> Vec<u64> {
        let answer = rig.state.search.load.value().unwrap();
        answer.hits.iter().map(|hit| hit.id).collect()
    };
    rig.keys("/cookies");
    assert!(found(&rig).len() > 1, "{:?}", found(&rig));
    rig.keys(" type:bugfix project:api");
    assert_eq!(found(&rig).first(), Some(&id));
    let hits = &rig.state.search.load.value().unwrap().hits;
    assert!(hits.iter().all(|hit| hit.kind == "bugfix" && hit.project == "api"), "{hits:?}");
    rig.control('u');
    rig.keys("project:api type:bugfix");
    assert!(found(&rig).contains(&id), "filters alone list the newest");
}

// W25
#[test]
fn letters_typed_in_search_never_act_on_rows() {
    let mut rig = Rig::new(80, 24);
    let before = rig.state.home.stats.value().unwrap().clone();
    rig.keys("/cookies<down>");
    assert!(!rig.state.is_typing());
    rig.keys("cart payment add qrhvtgo");
    assert_eq!(rig.state.search.input.text(), "cookiescart payment add qrhvtgo");
    assert!(rig.state.confirm.is_none() && rig.state.pages.is_empty() && !rig.state.over);
    // The same after a memory was opened from the results, and after another tab.
    rig.control('u');
    rig.keys("cookies<down><enter><esc>");
    rig.keys("adp");
    assert_eq!(rig.state.search.input.text(), "cookiesadp");
    rig.keys("<esc><esc>");
    rig.keys("12");
    rig.keys("aap");
    assert_eq!(rig.state.search.input.text(), "cookiesadpaap");
    rig.keys("<esc><esc>1");
    rig.settle();
    let after = rig.state.home.stats.value().unwrap();
    assert_eq!((after.archived, after.forgotten), (before.archived, before.forgotten));
}

// W25
#[test]
fn u_takes_back_the_last_change_wherever_the_cursor_is() {
    let mut rig = Rig::new(80, 24);
    let (first, _) = rig.state.memory().unwrap();
    rig.keys("a");
    rig.keys("jj");
    let third = rig.state.memory().unwrap().0;
    let is_pinned =
        |rig: &Rig| rig.ask(GetRequest { id: third, ..GetRequest::default() }).memory.pinned;
    let before = is_pinned(&rig);
    rig.keys("p");
    assert_ne!(is_pinned(&rig), before);
    assert!(rig.screen().contains("u takes it back"));
    // Elsewhere, with another row selected: the pin goes first, then the archive.
    rig.keys("4u");
    assert!(rig.screen().contains("taken back:"), "{}", rig.screen());
    assert_eq!(is_pinned(&rig), before);
    rig.keys("3u");
    assert!(rig.screen().contains(&format!("taken back: restored {first}")));
    rig.keys("u");
    assert!(rig.screen().contains("there is nothing to take back"));
    let memory = rig.ask(GetRequest { id: first, ..GetRequest::default() }).memory;
    assert!(!memory.archived);
    // What was brought back from among the forgotten is forgotten again.
    rig.keys("5<tab>b");
    let forgotten = rig.state.archive.forgotten.rows().len();
    rig.keys("1u5");
    assert_eq!(rig.state.archive.forgotten.rows().len(), forgotten + 1);
}

#[test]
fn what_is_saved_elsewhere_appears_by_itself() {
    let mut rig = Rig::new(80, 24);
    rig.keys("6");
    let id = rig.save("Saved by an agent", "while somebody watches", "discovery", "web");
    rig.pass(MINUTE);
    rig.tick();
    let screen = rig.screen();
    assert!(screen.contains(&format!("{id} + write")), "{screen}");
    assert!(screen.contains("Saved by an agent"));
    // Whoever reads further down keeps the entry.
    rig.keys("jj");
    let read = rig.state.feed.entries[rig.state.feed.list.selected].seq;
    rig.save("Another one", "from an agent", "discovery", "web");
    rig.tick();
    assert_eq!(rig.state.feed.entries[rig.state.feed.list.selected].seq, read);
    // The other screens follow too.
    rig.keys("1");
    rig.save("A third one", "from an agent", "discovery", "web");
    rig.tick();
    assert!(rig.screen().contains("A third one"));
    // And an open memory shows what became of it.
    rig.keys("<enter>");
    let id = rig.state.memory().unwrap().0;
    rig.ask(ArchiveRequest { id, reason: None });
    rig.tick();
    rig.settle();
    assert!(rig.screen().contains("archived"));
}

#[test]
fn more_entries_than_one_answer_holds_leave_no_gap_that_looks_like_none() {
    let mut rig = Rig::new(80, 24);
    for n in 0..230 {
        rig.save(&format!("number {n}"), "text", "discovery", "web");
    }
    rig.tick();
    let seqs: Vec<u64> = rig.state.feed.entries.iter().map(|entry| entry.seq).collect();
    assert!(seqs.windows(2).all(|pair| pair[0] == pair[1] + 1));
    // A long list is loaded further when its end is reached.
    rig.keys("4<enter>");
    assert_eq!(rig.state.pages.last_mut().unwrap().list().unwrap().1, 200);
    rig.keys("<end>");
    assert!(rig.state.pages.last_mut().unwrap().list().unwrap().1 > 230);
}

#[test]
fn clicks_do_what_keys_do() {
    let mut rig = Rig::new(120, 40);
    rig.click("4 Projects");
    assert_eq!(rig.state.tab, Tab::Projects);
    rig.click("api");
    rig.click("api");
    assert!(rig.screen().contains("Project api"));
    rig.click("esc back");
    rig.click("1 Home");
    // The first click selects, the second opens.
    rig.click("Forms carry");
    assert!(rig.state.pages.is_empty());
    rig.click("Forms carry");
    assert!(rig.screen().contains("Every form has a hidden field"));
    rig.click("Proof");
    assert!(rig.screen().contains("is in the journal"));
    rig.click("1 Home");
    rig.click("early-42");
    rig.click("early-42");
    assert!(rig.screen().contains("Session early-42"));
    rig.event(Event::Wheel(3));
    rig.click("2 Search");
    rig.click("F1 help");
    assert!(rig.screen().contains("Everywhere"));
}

#[test]
fn help_opens_over_everything_and_any_other_key_closes_it() {
    let mut rig = Rig::new(80, 24);
    rig.keys("?");
    assert!(rig.screen().contains("Everywhere"));
    rig.keys("<end>");
    assert!(rig.screen().contains("wheel"));
    rig.keys("x");
    assert!(!rig.screen().contains("Everywhere"));
    // While somebody types, ? is a letter and F1 helps.
    rig.keys("/why?<f1>");
    assert!(rig.screen().contains("Everywhere"));
    rig.keys("<esc>");
    assert_eq!(rig.state.search.input.text(), "why?");
}

#[test]
fn a_project_is_searched_alone_until_told_otherwise() {
    let mut rig = Rig::new(80, 24);
    rig.keys("4<down><enter>/");
    assert_eq!(rig.state.search.project.as_deref(), Some("api"));
    rig.keys("cookies");
    assert!(rig.screen().contains("Search in project api"));
    assert!(!rig.screen().contains("Use signed cookies"));
    rig.control('x');
    assert!(rig.screen().contains("Use signed cookies"));
}

#[test]
fn an_error_is_shown_where_it_belongs_and_work_goes_on() {
    let mut rig = Rig::new(80, 24);
    rig.keys("3");
    rig.press(KeyCode::Char('r'));
    let request = rig.open.pop_back().unwrap();
    let error = Error::new(ErrorCode::DaemonGone, Fault::Busy, "the daemon went away")
        .with_hint("try again");
    rig.event(Event::Answer(request.ticket, Box::new(Err(error))));
    assert!(rig.screen().contains("the daemon went away"));
    rig.keys("r");
    assert!(rig.screen().contains("early-42"));
}

#[test]
fn ctrl_c_and_a_signal_end_it_from_anywhere() {
    for keys in ["", "/typing", "?", "d", "<enter>g"] {
        let mut rig = Rig::new(80, 24);
        rig.keys(keys);
        rig.control('c');
        assert!(rig.state.over, "{keys}");
        let mut rig = Rig::new(80, 24);
        rig.keys(keys);
        rig.event(Event::End);
        assert!(rig.state.over, "{keys}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// No key, however odd, on an interface that is still waiting for every answer.
    #[test]
    fn no_keys_confuse_a_state_without_answers(
        codes in prop::collection::vec((0_u8..20, any::<char>(), any::<bool>()), 0..80),
    ) {
        let (mut state, _) = State::new("default", Millis(0));
        for (what, c, control) in codes {
            let code = match what {
                0 => KeyCode::Enter, 1 => KeyCode::Esc, 2 => KeyCode::Tab, 3 => KeyCode::Down,
                4 => KeyCode::Up, 5 => KeyCode::PageDown, 6 => KeyCode::End, 7 => KeyCode::BackTab,
                8 => KeyCode::Backspace, 9..=12 => KeyCode::Char((b'1' + what - 9) as char),
                13 => KeyCode::Char('/'), 14 => KeyCode::Char('t'), 15 => KeyCode::Char('g'),
                _ => KeyCode::Char(c),
            };
            let modifiers = if control { KeyModifiers::CONTROL } else { KeyModifiers::NONE };
            state.update(Event::Key(KeyEvent::new(code, modifiers)));
        }
    }

    /// Nor on one that has all of them.
    #[test]
    fn any_keys_leave_a_screen_that_can_be_drawn(keys in "[jkqrhvtgoaupdy?/1-7+x]{0,25}") {
        let mut rig = Rig::new(70, 18);
        rig.keys(&keys);
        prop_assert!(rig.screen().lines().count() == 18);
    }
}
