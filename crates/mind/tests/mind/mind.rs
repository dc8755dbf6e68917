//! The mind as a daemon would run it: every effect is carried out against a real store, only the model is made up.

use kernel::Cortex;
use kernel::memory::{MemoryType, Millis, Visibility};
use mind::audience::Audience;
use mind::budget::Cost;
use mind::bulletin::{BulletinInput, GatherRequest, Maker, ModelUse, gather};
use mind::fading::Fading;
use mind::patterns::{Observation, Occurrence};
use mind::proposal::carry_out;
use mind::settings::MindSettings;
use mind::supervision::{ProcessEvent, ProcessId};
use mind::warmup::{ProcessType, WarmStep, WarmupState};
use mind::{
    BULLETIN, Mind, MindEffect, MindEvent, MindState, ModelAnswer, ModelProvider, maintenance,
};
use testkit::Disk;
use testkit::build::salt;
use text::analyze::Language;

use crate::store::{HOUR, START, day, fill, of, open, save, submit};

struct Daemon {
    cortex: Cortex,
    mind: Mind,
    /// What the model answers; `None`: it fails.
    model_works: bool,
    calls: u32,
    published: Vec<(Audience, Maker, Option<String>)>,
    cold: u32,
    salts: u64,
    gathered: Option<BulletinInput>,
}

impl Daemon {
    fn new(cortex: Cortex, provider: bool, settings: MindSettings, state: MindState) -> Daemon {
        let provider = provider.then(|| ModelProvider {
            name: "made-up".into(),
            input_price: 1_000_000,
            output_price: 5_000_000,
        });
        let mind = Mind::new("ada", settings, provider, state, Millis(START));
        Daemon {
            cortex,
            mind,
            model_works: true,
            calls: 0,
            published: Vec::new(),
            cold: 0,
            salts: 9_000_000,
            gathered: None,
        }
    }

    fn send(&mut self, event: MindEvent, now: Millis) {
        let effects = self.mind.handle(event, now, &mut |_| 0);
        self.carry_all(effects, now);
    }

    fn carry_all(&mut self, mut waiting: Vec<MindEffect>, now: Millis) {
        while !waiting.is_empty() {
            let effect = waiting.remove(0);
            if let Some(event) = self.carry(effect, now) {
                waiting.extend(self.mind.handle(event, now, &mut |_| 0));
            }
        }
    }

    /// Carries out one effect; returns the event that answers it.
    fn carry(&mut self, effect: MindEffect, now: Millis) -> Option<MindEvent> {
        match effect {
            MindEffect::Gather { run, audience, model } => {
                let settings = &self.mind.settings;
                let reading = self.cortex.read().unwrap();
                let fading = Fading::by_calendar(settings.cortex.decay_policy());
                let request = GatherRequest {
                    audience: &audience,
                    concerns: None,
                    projects: &[],
                    settings: &settings.bulletin,
                    fading: &fading,
                    rules: settings.rules,
                    due: &[],
                    since: None,
                    now,
                };
                let found = gather(&reading, request).unwrap();
                self.gathered = Some(found.clone());
                Some(MindEvent::Gathered { run, audience, model, outcome: Ok(found) })
            }
            MindEffect::AskModel { run, prompt, .. } => {
                self.calls += 1;
                let mut lines = Vec::new();
                for section in &self.gathered.as_ref().unwrap().sections {
                    lines.push(format!("## {}", section.dimension.heading()));
                    let item = &section.items[0];
                    lines.push(format!("- {} [#{}]", item.text, item.id));
                }
                let cost = Cost { tokens: prompt.worst_tokens() / 2, micro_dollars: 100 };
                let answer = ModelAnswer { text: lines.join("\n"), model: "m".into(), cost };
                let outcome =
                    if self.model_works { Ok(answer) } else { Err("status 500".to_owned().into()) };
                Some(MindEvent::Answered { run, outcome })
            }
            MindEffect::Publish(bulletin) => {
                self.published.push((bulletin.audience, bulletin.maker, bulletin.fallback));
                None
            }
            MindEffect::Warm { pass, step } => {
                Some(MindEvent::Warmed { pass, step, outcome: Ok(()) })
            }
            MindEffect::Maintain { run } => {
                let reading = self.cortex.read().unwrap();
                let settings = &self.mind.settings.cortex;
                let (plan, state) =
                    maintenance::plan(&reading, &self.mind.maintenance, settings, now).unwrap();
                let summary = self.submit(&plan, &run, now);
                Some(MindEvent::Maintained { run, outcome: Ok((summary, state)) })
            }
            MindEffect::FindPatterns { run } => {
                let look = self.mind.patterns_input(Language::English);
                let plan = look.plan(&self.cortex.read().unwrap(), now).unwrap();
                assert!(self.mind.apply_patterns(look));
                let outcome = Ok(self.submit(&plan, &run, now));
                Some(MindEvent::PatternsFound { run, outcome })
            }
            // No question stands here.
            MindEffect::WritePages { run, .. } => {
                Some(MindEvent::PagesWritten { run, outcome: Ok("0 pages".into()) })
            }
            MindEffect::ColdDispatch { .. } => {
                self.cold += 1;
                None
            }
            MindEffect::StopJob { .. } | MindEffect::Supervise(_) | MindEffect::Persist => None,
        }
    }

    fn submit(&mut self, plan: &mind::proposal::MindPlan, run: &str, now: Millis) -> String {
        let mut salts = || {
            self.salts += 1;
            salt(self.salts)
        };
        let mut door = |stamp, command| submit(&self.cortex, stamp, command);
        carry_out(plan, run, now, &mut salts, &mut door).unwrap().summary()
    }

    fn hours(&mut self, hours: std::ops::Range<i64>) {
        for hour in hours {
            self.send(MindEvent::Tick, Millis(START + hour * HOUR));
        }
    }
}

fn memories(cortex: &Cortex) {
    for (n, memory_type) in (1..).zip([
        MemoryType::Identity,
        MemoryType::Goal,
        MemoryType::Decision,
        MemoryType::Preference,
        MemoryType::Fact,
    ]) {
        save(
            cortex,
            day(-1),
            of(memory_type, n, &format!("A {} worth knowing", memory_type.name())),
        );
    }
}

// T10, mind 1, 3, 27, 33; issue 6: a week of idling with a provider costs one call
#[test]
fn a_week_of_the_whole_mind_costs_one_call_and_a_restart_none() {
    let cortex = open(&Disk::new());
    memories(&cortex);
    let mut daemon = Daemon::new(cortex, true, MindSettings::default(), MindState::default());
    daemon.hours(0..7 * 24);
    assert_eq!(daemon.calls, 1);
    let status = daemon.mind.warmup.status(Millis(START + 7 * 24 * HOUR));
    assert_eq!((status.state, status.last_error), (WarmupState::Warm, None));
    for audience in [Audience::Owner, Audience::Shared] {
        let bulletin = daemon.mind.bulletin(&audience).unwrap();
        assert_eq!(bulletin.maker, Maker::Model { model: "m".into() });
    }
    let jobs = daemon.mind.jobs.view();
    assert_eq!(jobs.len(), 4);
    assert!(jobs.iter().all(|job| job.breaker.failures == 0 && job.runs >= 7), "{jobs:#?}");
    let line = daemon.mind.budget.ledger().next().unwrap();
    assert!(line.who.starts_with("bulletin-") && line.cost.tokens > 0 && !line.assumed);

    let text = serde_json::to_string(&daemon.mind.state()).unwrap();
    let state: MindState = serde_json::from_str(&text).unwrap();
    let mut again = Daemon::new(daemon.cortex, true, MindSettings::default(), state);
    assert!(again.mind.bulletin(&Audience::Owner).is_some(), "there at once after a restart");
    again.hours(7 * 24..9 * 24);
    assert_eq!(again.calls, 0);
}

// T12: what rules say of 5,000 memories makes the agent ready; a model may take its time
#[test]
fn the_agent_is_warm_before_any_model_has_answered() {
    let cortex = open(&Disk::new());
    fill(&cortex, 5_000);
    let mut daemon = Daemon::new(cortex, true, MindSettings::default(), MindState::default());
    let now = Millis(START);
    let mut waiting = daemon.mind.handle(MindEvent::Tick, now, &mut |_| 0);
    let mut asked = 0;
    while !waiting.is_empty() {
        match waiting.remove(0) {
            // The model never answers.
            MindEffect::AskModel { .. } => asked += 1,
            effect => {
                if let Some(event) = daemon.carry(effect, now) {
                    waiting.extend(daemon.mind.handle(event, now, &mut |_| 0));
                }
            }
        }
    }
    assert_eq!(asked, 1);
    assert_eq!(daemon.mind.warmup.status(now).state, WarmupState::Warm);
    assert_eq!(daemon.published[0].1, Maker::Rules);
}

// Section 11, point 15
#[test]
fn shared_channels_get_a_bulletin_without_what_is_private() {
    let cortex = open(&Disk::new());
    memories(&cortex);
    let mut secret = of(MemoryType::Identity, 99, "The user is looking for another job");
    secret.visibility = Visibility::Private;
    save(&cortex, day(-1), secret);
    let mut daemon = Daemon::new(cortex, true, MindSettings::default(), MindState::default());
    daemon.hours(0..3);
    assert_eq!(daemon.calls, 2);
    let text = |audience| daemon.mind.bulletin(&audience).unwrap().text.clone();
    assert!(text(Audience::Owner).contains("another job"));
    assert!(!text(Audience::Shared).contains("another job"));
}

// Design, law 6
#[test]
fn without_a_provider_everything_still_works() {
    let cortex = open(&Disk::new());
    fill(&cortex, 90);
    let mut daemon = Daemon::new(cortex, false, MindSettings::default(), MindState::default());
    daemon.send(MindEvent::Dispatched(ProcessType::Channel), Millis(START));
    assert_eq!(daemon.cold, 1);
    daemon.hours(0..48);
    assert_eq!(daemon.calls, 0);
    assert!(daemon.mind.warmup.status(Millis(START)).ready_for_work());
    daemon.send(MindEvent::Dispatched(ProcessType::Channel), Millis(START + 48 * HOUR));
    assert_eq!(daemon.cold, 1);
    assert!(daemon.published.iter().all(|(_, maker, why)| *maker == Maker::Rules && why.is_none()));
}

#[test]
fn the_kill_switch_and_an_empty_budget_leave_the_rules_to_write() {
    for kill in [true, false] {
        let cortex = open(&Disk::new());
        memories(&cortex);
        let mut settings = MindSettings::default();
        settings.budget.kill_switch = kill;
        settings.budget.bulletin_tokens_per_day = 10;
        let mut daemon = Daemon::new(cortex, true, settings, MindState::default());
        daemon.hours(0..24);
        assert_eq!(daemon.calls, 0);
        assert_eq!(daemon.mind.bulletin(&Audience::Owner).unwrap().maker, Maker::Rules);
        assert_eq!(daemon.mind.budget.reserved(), Cost::default());
        // With money again, the model writes within two hours.
        daemon.mind.settings.budget = mind::settings::BudgetSettings::default();
        daemon.hours(24..27);
        assert_eq!(daemon.calls, 1);
    }
}

#[test]
fn a_broken_provider_is_left_alone_and_the_jobs_go_on() {
    let cortex = open(&Disk::new());
    memories(&cortex);
    let mut daemon = Daemon::new(cortex, true, MindSettings::default(), MindState::default());
    daemon.model_works = false;
    daemon.hours(0..24 * 7);
    assert!(daemon.calls <= 3, "{}", daemon.calls);
    let bulletin = daemon.mind.jobs.view().into_iter().find(|job| job.name == "bulletin").unwrap();
    assert_eq!(bulletin.breaker.failures, 0, "the job itself did its work");
    assert!(daemon.mind.breakers.get("provider:made-up").unwrap().failures > 0);
}

// T12: a breaker of a provider closes on its first success, on a changed setting and by a reset
#[test]
fn a_provider_that_works_again_is_asked_again() {
    let cortex = open(&Disk::new());
    memories(&cortex);
    let mut daemon = Daemon::new(cortex, true, MindSettings::default(), MindState::default());
    let (name, now) = ("provider:made-up", Millis(START));
    let break_it = |mind: &mut Mind| {
        let policy = mind::breaker::BreakerPolicy::of(&mind.settings.cortex);
        for _ in 0..mind.settings.cortex.circuit_breaker_threshold {
            mind.breakers.failed(name, "status 500", policy, now);
        }
        assert!(!mind.breakers.admit(name, now));
    };
    break_it(&mut daemon.mind);
    daemon.mind.provider_answered("made-up", now);
    assert!(daemon.mind.breakers.admit(name, now));
    break_it(&mut daemon.mind);
    let (settings, provider) = (daemon.mind.settings.clone(), daemon.mind.provider.clone());
    daemon.mind.reconfigure(settings, provider, now).unwrap();
    assert!(daemon.mind.breakers.admit(name, now));
    break_it(&mut daemon.mind);
    assert_eq!(daemon.mind.reset(), [name]);
    assert!(daemon.mind.breakers.admit(name, now));
    break_it(&mut daemon.mind);
    let state = daemon.mind.state();
    let mut again = Daemon::new(daemon.cortex, true, MindSettings::default(), state);
    assert!(again.mind.breakers.admit(name, now), "whoever starts again may have mended it");
}

// house 6.2: a run by rules used to switch the model off for everybody while it ran
#[test]
fn a_run_by_rules_asks_no_model_and_leaves_other_runs_theirs() {
    let cortex = open(&Disk::new());
    memories(&cortex);
    let mut daemon = Daemon::new(cortex, true, MindSettings::default(), MindState::default());
    let now = Millis(START);
    let effects = daemon.mind.run_now(BULLETIN, ModelUse::Never, now).unwrap();
    // Settings that are read again while it runs do not let the model in.
    let (settings, provider) = (daemon.mind.settings.clone(), daemon.mind.provider.clone());
    daemon.mind.reconfigure(settings, provider, now).unwrap();
    daemon.carry_all(effects, now);
    assert_eq!(daemon.calls, 0);
    assert!(daemon.published.iter().all(|(_, maker, _)| *maker == Maker::Rules));
    assert_eq!(daemon.published.len(), 2, "for the owner and for shared channels");
    let effects = daemon.mind.run_now(BULLETIN, ModelUse::Allowed, now).unwrap();
    daemon.carry_all(effects, now);
    assert_eq!(daemon.calls, 1);
}

fn said(channel: &str, text: &str) -> Observation {
    Observation {
        at: Millis(START),
        channel: Some(channel.into()),
        private: false,
        what: Occurrence::Said(text.into()),
        memory: None,
        entry: None,
    }
}

fn tool_failed(daemon: &mut Daemon, minute: i64) {
    let event = ProcessEvent::ToolCompleted {
        process: ProcessId::worker("w1"),
        tool_name: "web_fetch".to_owned(),
        error: Some("no such host".to_owned()),
        broken: true,
    };
    daemon.send(MindEvent::Process(event), Millis(START + minute * 60_000));
}

/// The titles of what a look would propose.
fn proposed(daemon: &Daemon, language: Language) -> Vec<String> {
    let look = daemon.mind.patterns_input(language);
    let plan = look.plan(&daemon.cortex.read().unwrap(), Millis(START + HOUR)).unwrap();
    plan.proposals.iter().filter_map(|one| one.action.title().map(str::to_owned)).collect()
}

// house 6.1: a look used to replace everything watched by its own copy
#[test]
fn what_tools_did_during_a_look_is_not_lost() {
    let cortex = open(&Disk::new());
    let mut daemon = Daemon::new(cortex, false, MindSettings::default(), MindState::default());
    let mut look = daemon.mind.patterns_input(Language::English);
    for channel in ["general", "billing"] {
        look.observe(&said(channel, "My timezone is Europe/Berlin"));
    }
    for minute in 0..3 {
        tool_failed(&mut daemon, minute);
    }
    assert!(daemon.mind.apply_patterns(look));
    let titles = proposed(&daemon, Language::English);
    assert!(titles.iter().any(|title| title.contains("web_fetch keeps failing")), "{titles:?}");
    assert!(titles.iter().any(|title| title.contains("Europe/Berlin")), "{titles:?}");
}

#[test]
fn a_look_that_comes_too_late_changes_nothing() {
    let cortex = open(&Disk::new());
    let mut daemon = Daemon::new(cortex, false, MindSettings::default(), MindState::default());
    let look = |daemon: &Daemon| {
        let mut look = daemon.mind.patterns_input(Language::English);
        look.observe(&said("general", "My timezone is Europe/Berlin"));
        look
    };
    let (first, second) = (look(&daemon), look(&daemon));
    assert!(daemon.mind.apply_patterns(first));
    let watched = daemon.mind.state().watch;
    assert!(!daemon.mind.apply_patterns(second), "the same entries would count twice");
    assert_eq!(daemon.mind.state().watch, watched);
    let before_erasure = look(&daemon);
    daemon.mind.erase(1);
    assert!(!daemon.mind.apply_patterns(before_erasure), "it may hold what was erased");
    assert!(daemon.mind.state().watch.is_empty());
}

// house 6.3: topics were counted by English stems whatever the actor's language was
#[test]
fn topics_are_counted_in_the_language_of_the_actor() {
    let asked = |language: Language| {
        let cortex = open(&Disk::new());
        let mut daemon = Daemon::new(cortex, false, MindSettings::default(), MindState::default());
        let mut look = daemon.mind.patterns_input(language);
        for word in ["Datenbank", "Datenbanken", "Datenbank", "Datenbanken", "Datenbank"] {
            look.observe(&said("general", &format!("{word}?")));
        }
        assert!(daemon.mind.apply_patterns(look));
        proposed(&daemon, language)
    };
    assert_eq!(asked(Language::German), ["Keeps asking about Datenbank"]);
    assert_eq!(asked(Language::English), Vec::<String>::new());
}

// mind 89, 94, 109
#[test]
fn what_tools_do_and_people_say_becomes_memories() {
    let cortex = open(&Disk::new());
    let mut daemon = Daemon::new(cortex, false, MindSettings::default(), MindState::default());
    for minute in 0..3 {
        tool_failed(&mut daemon, minute);
    }
    let mut look = daemon.mind.patterns_input(Language::English);
    for channel in ["general", "billing"] {
        look.observe(&said(channel, "My timezone is Europe/Berlin"));
    }
    assert!(daemon.mind.apply_patterns(look));
    daemon.hours(0..4);
    let text = &daemon.mind.bulletin(&Audience::Owner).unwrap().text;
    assert!(text.contains("User is based in the Europe/Berlin timezone"), "{text}");
    assert!(text.contains("The tool web_fetch keeps failing: no such host"), "{text}");
    let breaker = daemon.mind.breakers.get("tool:web_fetch").unwrap();
    assert_eq!(breaker.trips, 1);
}

// section 11, point 11; issue 6: a breaker that acts, closed, open and half-open
#[test]
fn a_tool_that_keeps_failing_is_left_alone_and_then_tried_once() {
    let cortex = open(&Disk::new());
    let mut daemon = Daemon::new(cortex, false, MindSettings::default(), MindState::default());
    let tool = "web_fetch";
    let ended = |daemon: &mut Daemon, error: Option<&str>, broken: bool, secs: i64| {
        let event = ProcessEvent::ToolCompleted {
            process: ProcessId::worker("w1"),
            tool_name: tool.to_owned(),
            error: error.map(str::to_owned),
            broken,
        };
        daemon.send(MindEvent::Process(event), Millis(START + secs * 1_000));
    };
    let may = |daemon: &mut Daemon, secs: i64| {
        daemon.mind.may_use_tool(tool, Millis(START + secs * 1_000))
    };
    for second in 0..10 {
        ended(&mut daemon, Some("no such page"), false, second);
    }
    assert_eq!(may(&mut daemon, 10), Ok(()), "asked wrongly, it is not the tool that is broken");
    for second in 10..13 {
        ended(&mut daemon, Some("no network"), true, second);
    }
    let why = may(&mut daemon, 13).unwrap_err();
    assert!(why.contains("web_fetch keeps failing (no network)"), "{why}");
    assert!(daemon.mind.may_use_tool("other", Millis(START)).is_ok());
    // After the cool-down of half an hour one try passes; it fails, then one that works.
    assert!(may(&mut daemon, 1_811).is_err());
    assert!(may(&mut daemon, 1_812).is_ok() && may(&mut daemon, 1_813).is_err());
    ended(&mut daemon, Some("no network"), true, 1_814);
    assert!(may(&mut daemon, 1_815).is_err() && may(&mut daemon, 3_614).is_ok());
    ended(&mut daemon, None, false, 3_615);
    assert!(may(&mut daemon, 3_616).is_ok() && may(&mut daemon, 3_616).is_ok());
}

#[test]
fn the_same_events_give_the_same_effects() {
    let run = || {
        let cortex = open(&Disk::new());
        fill(&cortex, 45);
        let mut daemon = Daemon::new(cortex, true, MindSettings::default(), MindState::default());
        daemon.hours(0..30);
        (daemon.mind.state(), daemon.cortex.root().unwrap())
    };
    assert_eq!(run(), run());
}

// mind 40
#[test]
fn a_warm_up_warms_store_embedder_and_bulletin() {
    let cortex = open(&Disk::new());
    let mut daemon = Daemon::new(cortex, false, MindSettings::default(), MindState::default());
    let effects = daemon.mind.handle(MindEvent::Tick, Millis(START), &mut |_| 0);
    let steps: Vec<WarmStep> = effects
        .iter()
        .filter_map(|effect| match effect {
            MindEffect::Warm { step, .. } => Some(*step),
            _ => None,
        })
        .collect();
    assert_eq!(steps, [WarmStep::Store, WarmStep::Embedder]);
    assert!(effects.iter().any(|effect| matches!(effect, MindEffect::Gather { .. })));
}
