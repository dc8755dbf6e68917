//! Supervision on a made-up clock.

use super::*;

fn at(secs: i64) -> Millis {
    Millis(secs * 1_000)
}

fn settings() -> SupervisionSettings {
    SupervisionSettings::default()
}

fn worker(supervisor: &mut ProcessSupervisor, id: &str, secs: i64) -> ProcessId {
    let started = ProcessEvent::WorkerStarted {
        worker_id: id.into(),
        channel_id: Some("general".into()),
        task: "a task".into(),
        started_at: secs * 1_000,
    };
    supervisor.observe(&started, at(secs));
    ProcessId::worker(id)
}

/// Looks every half minute up to `until`, and gathers what is done.
fn watch(
    supervisor: &mut ProcessSupervisor,
    from: i64,
    until: i64,
) -> Vec<(i64, SupervisionEffect)> {
    let mut done = Vec::new();
    for second in (from..=until).step_by(30) {
        supervisor.heartbeat(at(second));
        done.extend(supervisor.tick(&settings(), at(second)).into_iter().map(|e| (second, e)));
    }
    done
}

// mind 53-59
#[test]
fn events_have_the_seeds_fields_and_survive_the_log() {
    let event = ProcessEvent::WorkerComplete {
        worker_id: "w1".into(),
        channel_id: Some("general".into()),
        result: "done".into(),
        notify: true,
    };
    let logged = ProcessLogEntry { seq: 7, at_unix_ms: 5, event };
    let text = serde_json::to_string(&logged).unwrap();
    assert_eq!(
        text,
        concat!(
            r#"{"seq":7,"at_unix_ms":5,"event":"worker_complete","worker_id":"w1","#,
            r#""channel_id":"general","result":"done","notify":true}"#
        )
    );
    assert_eq!(serde_json::from_str::<ProcessLogEntry>(&text).unwrap(), logged);
    let branch = r#"{"event":"branch_started","branch_id":"b","channel_id":"c","description":"d","started_at":1}"#;
    assert!(serde_json::from_str::<ProcessEvent>(branch).is_ok());
}

// section 11, point 10: who waits for its turn is not stuck, and its time begins with its turn
#[test]
fn a_worker_in_the_queue_is_left_alone_and_lives_from_its_turn_on() {
    let mut supervisor = ProcessSupervisor::default();
    let id = worker(&mut supervisor, "w1", 0);
    supervisor.observe(&ProcessEvent::Queued { process: id.clone() }, at(1));
    assert_eq!(watch(&mut supervisor, 0, 9_000), []);
    let begins = ProcessEvent::WorkerStatus {
        worker_id: "w1".into(),
        channel_id: Some("general".into()),
        status: "begins".into(),
    };
    supervisor.observe(&begins, at(9_000));
    let process = supervisor.get(&id).unwrap();
    assert_eq!((process.status.as_str(), process.started_unix_ms), ("begins", 9_000_000));
    assert_eq!(watch(&mut supervisor, 9_030, 9_300), []);
    assert!(!watch(&mut supervisor, 9_330, 9_330).is_empty(), "now it is stuck");
}

// mind 52, 60-63, 65; section 11, point 10
#[test]
fn a_worker_without_progress_is_asked_to_stop_then_ended_and_told_only_after_it_is_stored() {
    let mut supervisor = ProcessSupervisor::default();
    let id = worker(&mut supervisor, "w1", 0);
    // It never sent another event: it is watched from its registration.
    let done = watch(&mut supervisor, 0, 300);
    assert!(done.is_empty(), "{done:?}");
    let done = watch(&mut supervisor, 330, 330);
    let why = "no progress for 330 s between calls".to_owned();
    assert_eq!(
        done[0].1,
        SupervisionEffect::Warn { process: id.clone(), running_secs: 330, why: why.clone() }
    );
    assert_eq!(
        done[1].1,
        SupervisionEffect::Store { process: id.clone(), record: ProcessRecord::TimingOut { why } }
    );
    assert_eq!(done[2].1, SupervisionEffect::Cancel(id.clone()));
    let told = supervisor.stored(&id);
    let timeout =
        ProcessEvent::WorkerTimeout { worker_id: "w1".into(), channel_id: Some("general".into()) };
    assert_eq!(told, [SupervisionEffect::Emit(timeout)]);
    let done = watch(&mut supervisor, 360, 420);
    assert_eq!(done.last().unwrap(), &(360, SupervisionEffect::Kill(id.clone())));
    assert_eq!((supervisor.cancels_total, supervisor.kills_total), (1, 1));
    let effects = supervisor.ended(&id, "aborted", true).unwrap();
    assert!(matches!(&effects[..], [SupervisionEffect::Store { .. }]), "nobody is told yet");
    let told = supervisor.stored(&id);
    assert!(matches!(&told[..], [SupervisionEffect::Emit(ProcessEvent::WorkerComplete { .. })]));
    assert!(supervisor.get(&id).is_none());
}

// mind 130; section 11, point 10
#[test]
fn phases_have_their_own_patience_and_progress_counts() {
    let mut supervisor = ProcessSupervisor::default();
    let id = worker(&mut supervisor, "w1", 0);
    supervisor.observe(&ProcessEvent::CompletionStarted { process: id.clone() }, at(0));
    assert!(watch(&mut supervisor, 0, 600).is_empty(), "a long call to a model is no death");
    supervisor.observe(&ProcessEvent::CompletionEnded { process: id.clone(), tokens: 9 }, at(600));
    let tool = ProcessEvent::ToolStarted { process: id.clone(), tool_name: "build".into() };
    supervisor.observe(&tool, at(610));
    assert!(watch(&mut supervisor, 630, 2_400).is_empty());
    supervisor.observe(&ProcessEvent::Waiting { process: id.clone() }, at(2_400));
    assert!(watch(&mut supervisor, 2_430, 9_000).is_empty(), "it waits for a person");
    let text = supervisor.explain(&id, &settings(), at(9_000)).unwrap();
    assert!(text.contains("is not stuck") && text.contains("waiting for a person"), "{text}");
}

// mind 61, 66-69
#[test]
fn lifetimes_end_even_those_who_make_progress() {
    let mut supervisor = ProcessSupervisor::default();
    let w = worker(&mut supervisor, "w1", 0);
    let started = ProcessEvent::BranchStarted {
        branch_id: "b1".into(),
        channel_id: "general".into(),
        description: "thinks".into(),
        started_at: 0,
    };
    supervisor.observe(&started, at(0));
    let mut cancelled = Vec::new();
    for second in (0..=3_660).step_by(30) {
        for id in [&w, &ProcessId::branch("b1")] {
            supervisor.observe(
                &ProcessEvent::CompletionEnded { process: id.clone(), tokens: 1 },
                at(second),
            );
        }
        for effect in supervisor.tick(&settings(), at(second)) {
            if let SupervisionEffect::Cancel(id) = effect {
                cancelled.push((second, id.id.clone()));
                supervisor.ended(&id, "stopped", false).unwrap();
                supervisor.stored(&id);
            }
        }
    }
    assert_eq!(cancelled, [(630, "b1".to_owned()), (3_630, "w1".to_owned())]);
}

#[test]
fn one_look_acts_on_a_limited_number_oldest_first() {
    let mut supervisor = ProcessSupervisor::default();
    for n in 0..20 {
        worker(&mut supervisor, &format!("w{n:02}"), n);
    }
    supervisor.tick(&settings(), at(390));
    supervisor.heartbeat(at(400));
    let cancelled = |effects: Vec<SupervisionEffect>| -> Vec<String> {
        let ids = effects.into_iter().filter_map(|effect| match effect {
            SupervisionEffect::Cancel(id) => Some(id.id),
            _ => None,
        });
        ids.collect()
    };
    let first = cancelled(supervisor.tick(&settings(), at(400)));
    assert_eq!(first.len(), 8);
    assert_eq!(first[0], "w00");
    supervisor.heartbeat(at(410));
    assert_eq!(cancelled(supervisor.tick(&settings(), at(410))).len(), 8);
}

#[test]
fn nothing_is_done_on_old_news_or_after_a_sleep() {
    let mut supervisor = ProcessSupervisor::default();
    let id = worker(&mut supervisor, "w1", 0);
    supervisor.tick(&settings(), at(300));
    // The bus is silent: no news is not the same as no progress.
    let effects = supervisor.tick(&settings(), at(400));
    assert!(matches!(&effects[..], [SupervisionEffect::Stale { .. }]));
    supervisor.lagged();
    supervisor.heartbeat(at(430));
    assert!(matches!(
        &supervisor.tick(&settings(), at(430))[..],
        [SupervisionEffect::Stale { .. }]
    ));
    supervisor.resynced(std::slice::from_ref(&id), at(460));
    assert!(supervisor.tick(&settings(), at(460)).is_empty());
    // Eight hours asleep count for nobody.
    supervisor.heartbeat(at(29_000));
    assert!(matches!(
        &supervisor.tick(&settings(), at(29_000))[..],
        [SupervisionEffect::Stale { .. }]
    ));
    supervisor.heartbeat(at(29_030));
    assert!(supervisor.tick(&settings(), at(29_030)).is_empty());
}

// mind 64
#[test]
fn a_cancel_that_fails_is_kept_and_followed_by_force() {
    let mut supervisor = ProcessSupervisor::default();
    let id = worker(&mut supervisor, "w1", 0);
    let effects = supervisor.cancel(&id, "ada", at(1)).unwrap();
    assert_eq!(effects, [SupervisionEffect::Cancel(id.clone())]);
    assert!(supervisor.cancel(&id, "ada", at(1)).unwrap().is_empty(), "once");
    supervisor.cancel_failed(&id, "broken pipe").unwrap();
    supervisor.heartbeat(at(2));
    let effects = supervisor.tick(&settings(), at(2));
    assert_eq!(effects.last(), Some(&SupervisionEffect::Kill(id.clone())));
    assert_eq!(supervisor.get(&id).unwrap().last_error.as_deref(), Some("broken pipe"));
    let missing = supervisor.cancel(&ProcessId::worker("nobody"), "ada", at(2)).unwrap_err();
    assert_eq!(missing.code(), "unknown_process");
}

#[test]
fn channels_are_warned_about_and_never_ended() {
    let mut supervisor = ProcessSupervisor::default();
    let started = ProcessEvent::ChannelStarted { channel_id: "general".into(), started_at: 0 };
    supervisor.observe(&started, at(0));
    assert!(watch(&mut supervisor, 0, 9_000).is_empty(), "an idle channel is not stuck");
    let process = ProcessId::channel("general");
    supervisor.observe(&ProcessEvent::CompletionStarted { process }, at(9_000));
    let done = watch(&mut supervisor, 9_000, 9_700);
    assert!(matches!(&done[..], [(_, SupervisionEffect::Warn { .. })]), "{done:?}");
}
