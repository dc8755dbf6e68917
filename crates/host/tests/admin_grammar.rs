//! What people type, and what it is understood as.

use host::admin_grammar::{AdminQuestion, EXAMPLES, ProcessKind, meant, nearest, parse};

fn list(kind: &str, project: Option<&str>) -> AdminQuestion {
    AdminQuestion::Listing { kind: kind.into(), project: project.map(Into::into) }
}

// mind 98, 101-104
#[test]
fn people_are_understood_without_a_model() {
    let worker = |id: &str| AdminQuestion::Inspect { kind: ProcessKind::Worker, id: id.into() };
    for (text, question) in [
        ("show me recent memory activity", AdminQuestion::RecentActivity { limit: 20 }),
        ("Show me the last 5 recent changes", AdminQuestion::RecentActivity { limit: 5 }),
        ("What is running?", AdminQuestion::Running),
        ("list channels", AdminQuestion::Channels),
        ("why is worker Build-7 stuck?", worker("Build-7")),
        ("inspect worker w1", worker("w1")),
        ("stop worker w1", AdminQuestion::Cancel { kind: ProcessKind::Worker, id: "w1".into() }),
        ("what do you know about Rust?", AdminQuestion::Recall { query: "Rust".into() }),
        ("Remember that Ada likes tea.", AdminQuestion::Remember { text: "Ada likes tea".into() }),
        ("why was memory #12 forgotten?", AdminQuestion::Memory { id: 12 }),
        ("restore memory 12", AdminQuestion::Restore { id: 12 }),
        ("undo run maintenance-1-2", AdminQuestion::Undo { run: "maintenance-1-2".into() }),
        ("run maintenance", AdminQuestion::RunJob { job: "maintenance".into() }),
        ("preview maintenance", AdminQuestion::DryRun { job: "maintenance".into() }),
        ("pause bulletin", AdminQuestion::PauseJob { job: "bulletin".into() }),
        ("show me the jobs", AdminQuestion::Jobs),
        ("how many tokens were spent today?", AdminQuestion::Budget),
        ("stop all models", AdminQuestion::KillSwitch { on: true }),
        ("explain the bulletin", AdminQuestion::ExplainBulletin),
        ("are you ready?", AdminQuestion::Status),
        ("help", AdminQuestion::Help),
    ] {
        assert_eq!(parse(text), question, "{text}");
    }
    for example in EXAMPLES {
        assert!(!matches!(parse(example), AdminQuestion::Unclear { .. }), "{example}");
    }
}

// T22: a question never changes anything, whatever words are in it
#[test]
fn questions_change_nothing() {
    for text in [
        "when did you last refresh the bulletin?",
        "when does maintenance run?",
        "who paused the patterns?",
        "did somebody stop all models?",
        "should I forget memory 12?",
        "can memory 12 be restored?",
        "what would undo the last run?",
        "did you get rid of memory 9?",
        "who brought memory 9 back?",
        "why may you not forget memory 12?",
        "what should I keep?",
    ] {
        let question = parse(text);
        assert!(!changes(&question), "{text}: {question:?}");
    }
}

fn changes(question: &AdminQuestion) -> bool {
    use AdminQuestion as Q;
    matches!(
        question,
        Q::Cancel { .. }
            | Q::Remember { .. }
            | Q::Forget { .. }
            | Q::Restore { .. }
            | Q::RunJob { .. }
            | Q::PauseJob { .. }
            | Q::ResumeJob { .. }
            | Q::Undo { .. }
            | Q::KillSwitch { .. }
            | Q::RefreshBulletin
            | Q::Reset
            | Q::Keep { .. }
            | Q::UndoLast
            | Q::Update { .. }
    )
}

// T22: what operators ask, in their words
#[test]
fn the_questions_of_operators_are_understood() {
    use AdminQuestion as Q;
    let memory = |id| Q::Memory { id };
    let questions: [(&str, Q); 54] = [
        ("list channels", Q::Channels),
        ("which channels are open?", Q::Channels),
        ("show me the conversations", Q::Channels),
        ("show memory 12", memory(12)),
        ("why was memory 12 forgotten?", memory(12)),
        ("history of memory #12", memory(12)),
        ("how much did we spend today?", Q::Budget),
        ("how many tokens were spent today", Q::Budget),
        ("how much money is left", Q::Budget),
        ("how many memories are there?", Q::Counts),
        ("count the memories", Q::Counts),
        ("statistics", Q::Counts),
        ("which workers are stuck?", Q::Workers),
        ("is anything stuck?", Q::Workers),
        ("list workers", Q::Workers),
        ("what did maintenance do?", Q::LastRun),
        ("what was put away last night?", Q::LastRun),
        ("what was forgotten by itself?", Q::LastRun),
        ("what is about to be put away?", Q::Due),
        ("what will be put away next?", Q::Due),
        ("keep memory 12", Q::Keep { id: 12 }),
        ("undo the last run", Q::UndoLast),
        ("undo the last maintenance", Q::UndoLast),
        ("is the system healthy?", Q::Health),
        ("is everything ok?", Q::Health),
        ("which projects are there?", Q::Projects),
        ("list projects", Q::Projects),
        ("are there contradictions?", Q::Audit),
        ("what needs attention?", Q::Audit),
        (
            "update memory 12: deploys happen on Tuesdays",
            Q::Update { id: 12, text: "deploys happen on Tuesdays".into() },
        ),
        ("delete memory 12", Q::Forget { id: 12 }),
        ("restore memory 12", Q::Restore { id: 12 }),
        ("which jobs are scheduled?", Q::Jobs),
        ("which breakers are open?", Q::Breakers),
        ("reset", Q::Reset),
        ("what patterns were found?", Q::Patterns),
        ("show me memory 12", memory(12)),
        ("show the history of memory 12", memory(12)),
        ("when does the next maintenance run?", Q::Jobs),
        ("run maintenance now", Q::RunJob { job: "maintenance".into() }),
        ("stop all spending", Q::KillSwitch { on: true }),
        ("allow spending again", Q::KillSwitch { on: false }),
        ("which talents ran today?", Q::TalentRuns { failed: false }),
        ("did any run fail today?", Q::TalentRuns { failed: true }),
        ("what failed last night?", Q::TalentRuns { failed: true }),
        ("which sessions were there?", Q::Sessions),
        ("how big is the store?", Q::Counts),
        ("what are my rules?", list("rule", None)),
        ("which goals are open?", list("todo", None)),
        ("what did we decide about the blog?", Q::Recall { query: "the blog".into() }),
        ("what waits for approval?", Q::Approvals),
        ("which pages are there?", Q::Pages),
        ("when was the bulletin written?", Q::Jobs),
        ("what happened today?", Q::RecentActivity { limit: 20 }),
    ];
    for (text, question) in questions {
        assert_eq!(parse(text), question, "{text}");
    }
}

// T22: the same and more, asked in other words
#[test]
fn other_words_for_the_same_are_understood() {
    use AdminQuestion as Q;
    let memory = |id| Q::Memory { id };
    let questions: [(&str, Q); 44] = [
        ("which conversations do we have?", Q::Channels),
        ("who is connected right now?", Q::Running),
        ("tell me about memory 1", memory(1)),
        ("what does #2 say?", memory(2)),
        ("open number 3", memory(3)),
        ("who saved memory 4?", memory(4)),
        ("when was #4 last changed?", memory(4)),
        ("is memory 7 still true?", memory(7)),
        ("why is #1 in the bulletin?", Q::ExplainBulletin),
        ("how much money did you use this month?", Q::Budget),
        ("what did the models cost today?", Q::Budget),
        ("how many things do you remember?", Q::Counts),
        ("how many decisions are stored?", Q::Counts),
        ("is any worker hanging?", Q::Workers),
        ("what did you do last night?", Q::LastRun),
        ("what did maintenance change yesterday?", Q::LastRun),
        ("what did you clean up?", Q::LastRun),
        ("did you forget anything by itself?", Q::LastRun),
        ("take back what you did last", Q::UndoLast),
        ("revert the last maintenance run", Q::UndoLast),
        ("is everything all right?", Q::Health),
        ("anything broken?", Q::Health),
        ("is the provider reachable?", Q::Health),
        ("what projects do you know?", Q::Projects),
        ("do any memories disagree with each other?", Q::Audit),
        ("which memories are conflicting?", Q::Audit),
        (
            "fix memory 3: Release the checkout page in April",
            Q::Update { id: 3, text: "Release the checkout page in April".into() },
        ),
        ("change #3 to ship in May", Q::Update { id: 3, text: "ship in May".into() }),
        ("get rid of memory 9", Q::Forget { id: 9 }),
        ("bring back memory 9", Q::Restore { id: 9 }),
        ("bring memory 9 back", Q::Restore { id: 9 }),
        ("what will be forgotten soon?", Q::Due),
        ("what's going to be put away next?", Q::Due),
        ("don't put memory 12 away", Q::Keep { id: 12 }),
        ("never forget memory 12", Q::Keep { id: 12 }),
        ("what failed this week?", Q::TalentRuns { failed: true }),
        ("does anything need my approval?", Q::Approvals),
        ("what did I work on last?", list("session_summary", None)),
        ("where did we leave off?", list("session_summary", None)),
        ("which standing questions do I have?", Q::Pages),
        ("stop spending money on models", Q::KillSwitch { on: true }),
        ("you may spend again", Q::KillSwitch { on: false }),
        (
            "what do we know about forgotten passwords?",
            Q::Recall { query: "forgotten passwords".into() },
        ),
        ("how many tokens are left?", Q::Budget),
    ];
    for (text, question) in questions {
        assert_eq!(parse(text), question, "{text}");
    }
}

// T22: as people type when nobody looks: without marks, mistyped, in a hurry
#[test]
fn what_is_mistyped_or_said_in_passing_is_understood() {
    use AdminQuestion as Q;
    let memory = |id| Q::Memory { id };
    let bulletin = |project: &str| Q::Bulletin { project: Some(project.into()) };
    let questions: [(&str, Q); 58] = [
        ("whats running right now", Q::Running),
        ("what are you doing", Q::Running),
        ("what's going on", Q::Running),
        ("which agents are connected", Q::Running),
        ("waht is runing", Q::Running),
        ("what channels do i have", Q::Channels),
        ("lst chanels", Q::Channels),
        ("show me memory 12 pls", memory(12)),
        ("show 12", memory(12)),
        ("#12", memory(12)),
        ("what is memory 12", memory(12)),
        ("how much have i spent this month", Q::Budget),
        ("whats my budget", Q::Budget),
        ("how many tokens did the bulletin use", Q::Budget),
        ("which model are you using", Q::Budget),
        ("how many memorys do i have", Q::Counts),
        ("how mny memories", Q::Counts),
        ("how full is the disk", Q::Counts),
        ("what did the maintanance do last night", Q::LastRun),
        ("show me what you forgot last week", Q::LastRun),
        ("what got put away", Q::LastRun),
        ("what wil be put away", Q::Due),
        ("undo what maintenance did", Q::UndoLast),
        ("is teh system helthy", Q::Health),
        ("is evrything ok", Q::Health),
        ("what prjects are there", Q::Projects),
        ("any contradictons", Q::Audit),
        ("forget 12", Q::Forget { id: 12 }),
        ("remove memory number 12", Q::Forget { id: 12 }),
        ("restore 12 please", Q::Restore { id: 12 }),
        ("dont put 12 away", Q::Keep { id: 12 }),
        ("show recnt activty", Q::RecentActivity { limit: 20 }),
        ("show me the last 3 changes", Q::RecentActivity { limit: 3 }),
        ("what happened while i was away", Q::RecentActivity { limit: 20 }),
        ("when is the next maintenence", Q::Jobs),
        ("is maintenance paused", Q::Jobs),
        ("what does maintenance do", Q::Jobs),
        ("which jobs failed", Q::Jobs),
        ("run maintainance", Q::RunJob { job: "maintenance".into() }),
        ("pause maintenance for now", Q::PauseJob { job: "maintenance".into() }),
        ("turn off the models", Q::KillSwitch { on: true }),
        ("who reviews posts", Q::Unclear { text: "who reviews posts".into() }),
        ("turn the models back on", Q::KillSwitch { on: false }),
        ("show bulletin for project Shop", bulletin("Shop")),
        ("catch me up", Q::Bulletin { project: None }),
        ("rules of shop", list("rule", Some("shop"))),
        ("what rules apply to shop", list("rule", Some("shop"))),
        ("which goals of project Shop are open", list("todo", Some("Shop"))),
        ("open goals", list("todo", None)),
        ("show me my prefrences", list("preference", None)),
        ("list all bugs", list("bugfix", None)),
        ("what was the last session about", list("session_summary", None)),
        ("what do you remember about Ada?", Q::Recall { query: "Ada".into() }),
        ("tell me about the cache", Q::Recall { query: "the cache".into() }),
        ("show sesions", Q::Sessions),
        ("undo maintenance-17-2", Q::Undo { run: "maintenance-17-2".into() }),
        ("remember: the use of ten is fine", Q::Remember { text: "the use of ten is fine".into() }),
        ("hi", Q::Help),
    ];
    for (text, question) in questions {
        assert_eq!(parse(text), question, "{text}");
    }
}

// T22: a mistyped order is asked back, and whoever is not understood hears what can be asked
#[test]
fn a_mistyped_order_is_asked_back() {
    for (text, order) in [
        ("resotre memory 12", "restore memory 12"),
        ("forgte memory 12 please", "forget memory 12"),
        ("keep memroy 12", "keep memory 12"),
        ("undo that", "undo the last run"),
    ] {
        assert!(matches!(parse(text), AdminQuestion::Unclear { .. }), "{text}");
        assert_eq!(meant(text).as_deref(), Some(order), "{text}");
    }
    assert_eq!(meant("make me a sandwich"), None);
    let (command, examples) = nearest("how do i make a bakcup of the memory");
    assert!(command.unwrap().contains("cortex backup"), "{examples:?}");
    assert!(examples.iter().any(|example| example.contains("memory")), "{examples:?}");
    let (command, examples) = nearest("make me a sandwich");
    assert_eq!(command, None);
    assert!((1..=5).contains(&examples.len()));
}

#[test]
fn questions_for_a_judgement_are_left_to_a_model() {
    for text in [
        "which of my habits should worry me",
        "which projects should I work on next?",
        "what do you think of these patterns?",
    ] {
        assert!(matches!(parse(text), AdminQuestion::Unclear { .. }), "{text}");
    }
}

#[test]
fn what_is_not_understood_changes_nothing() {
    for text in [
        "undo everything now",
        "run for your life",
        "forget about it",
        "İİİ worker",
        "stop the music",
        "forget everything about invoices",
        "get rid of the invoices",
        "bring it back",
        "fix it",
    ] {
        let question = parse(text);
        assert!(
            matches!(
                question,
                AdminQuestion::Unclear { .. }
                    | AdminQuestion::Inspect { .. }
                    | AdminQuestion::Recall { .. }
            ),
            "{text}: {question:?}"
        );
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_parsed(text in ".{0,80}") {
        let _ = parse(&text);
        let _ = parse(&format!("why is worker {text} stuck"));
        let _ = parse(&format!("REMEMBER THAT {text}"));
        let _ = (meant(&text), nearest(&text));
    }
}
