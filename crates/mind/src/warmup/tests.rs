//! Warm-up on a made-up clock.

use super::*;

fn at(secs: i64) -> Millis {
    Millis(secs * 1_000)
}

fn warm() -> Warmup {
    let mut warmup = Warmup::new("ada", None);
    warmup.tick(&WarmupSettings::default(), at(0));
    for step in [WarmStep::Store, WarmStep::Embedder, WarmStep::Bulletin] {
        warmup.step_done(1, step, Ok(()), at(1));
    }
    warmup
}

// mind 28-32
#[test]
fn the_bulletin_is_made_again_when_it_has_no_age_or_is_old_enough() {
    let settings = WarmupSettings::default();
    let status = |last: Option<i64>, age: Option<u64>| WarmupStatus {
        last_refresh_unix_ms: last,
        bulletin_age_secs: age,
        ..WarmupStatus::default()
    };
    let due = |status: &WarmupStatus| should_generate_bulletin(&settings, status, at(10_000));
    assert!(due(&status(None, None)));
    assert!(!due(&status(None, Some(3_599))) && due(&status(None, Some(3_600))));
    assert!(!due(&status(Some(6_401_000), Some(9_999))) && due(&status(Some(6_400_000), None)));
    assert!(!due(&status(Some(99_000_000), None)), "a clock that was set back");
    let zero = WarmupSettings { refresh_secs: 0, ..WarmupSettings::default() };
    assert!(!should_generate_bulletin(&zero, &status(Some(10_000_000), None), at(10_000)));
    assert!(should_generate_bulletin(&zero, &status(Some(9_999_000), None), at(10_000)));
}

// mind 34, 35
#[test]
fn the_status_has_the_seeds_fields_and_states() {
    let status = WarmupStatus {
        state: WarmupState::Degraded,
        last_refresh_unix_ms: Some(-5_i64),
        bulletin_age_secs: Some(7_u64),
        last_error: Some("no store".to_owned()),
    };
    let text = serde_json::to_string(&status).unwrap();
    assert_eq!(
        text,
        r#"{"state":"degraded","last_refresh_unix_ms":-5,"bulletin_age_secs":7,"last_error":"no store"}"#
    );
    assert_eq!(serde_json::from_str::<WarmupStatus>(&text).unwrap(), status);
    for state in ["cold", "warming", "warm", "degraded"] {
        let read: WarmupState = serde_json::from_str(&format!("{state:?}")).unwrap();
        assert_eq!(read.name(), state);
    }
}

// mind 45
#[test]
fn ready_means_warm_with_a_refresh() {
    for state in [WarmupState::Cold, WarmupState::Warming, WarmupState::Warm, WarmupState::Degraded]
    {
        for last_refresh_unix_ms in [None, Some(1)] {
            let status = WarmupStatus { state, last_refresh_unix_ms, ..WarmupStatus::default() };
            let ready = state == WarmupState::Warm && last_refresh_unix_ms.is_some();
            assert_eq!(status.ready_for_work(), ready);
        }
    }
}

// mind 33, 35-41
#[test]
fn a_pass_warms_store_embedder_and_bulletin() {
    let mut warmup = Warmup::new("ada", None);
    assert_eq!(warmup.status(at(0)).state, WarmupState::Cold);
    let effects = warmup.tick(&WarmupSettings::default(), at(0));
    let steps: Vec<&WarmupEffect> =
        effects.iter().filter(|e| matches!(e, WarmupEffect::Do { .. })).collect();
    assert_eq!(steps.len(), 3);
    assert_eq!(warmup.status(at(0)).state, WarmupState::Warming);
    assert!(warmup.tick(&WarmupSettings::default(), at(0)).is_empty(), "one at a time");
    let warmup = warm();
    assert!(warmup.status(at(1)).ready_for_work());
    assert_eq!(warmup.status(at(61)).bulletin_age_secs, Some(60));
}

// mind 42, 43
#[test]
fn a_pass_that_fails_or_hangs_is_degraded_with_its_reason_and_tried_again() {
    let settings = WarmupSettings::default();
    let mut warmup = Warmup::new("ada", None);
    warmup.tick(&settings, at(0));
    warmup.step_done(1, WarmStep::Embedder, Err("no model".into()), at(1));
    warmup.step_done(1, WarmStep::Store, Ok(()), at(1));
    assert!(warmup.tick(&settings, at(29)).is_empty());
    warmup.tick(&settings, at(30));
    let status = warmup.status(at(30));
    assert_eq!(status.state, WarmupState::Degraded);
    assert_eq!(status.last_error.as_deref(), Some("no model; bulletin did not end in time"));
    assert!(warmup.step_done(1, WarmStep::Bulletin, Ok(()), at(31)).is_empty(), "too late");
    assert!(warmup.tick(&settings, at(59)).is_empty(), "not at once");
    assert!(!warmup.tick(&settings, at(60)).is_empty());
    warmup.tick(&settings, at(90));
    assert!(
        warmup.tick(&settings, at(149)).is_empty() && !warmup.tick(&settings, at(150)).is_empty()
    );
}

// mind 27, 46, 47
#[test]
fn a_refresh_is_due_every_refresh_secs_and_the_state_stays_warm() {
    let settings = WarmupSettings::default();
    let mut warmup = warm();
    let mut refreshes = Vec::new();
    for second in 1..=7_300 {
        for effect in warmup.tick(&settings, at(second)) {
            assert_eq!(effect, WarmupEffect::Refresh);
            assert_eq!(warmup.status(at(second)).state, WarmupState::Warm);
            refreshes.push(second);
            warmup.refreshed(Ok(()), at(second));
        }
    }
    assert_eq!(refreshes, [3_601, 7_201]);
    warmup.refreshed(Err("disk full".into()), at(7_301));
    assert_eq!(warmup.status(at(7_301)).state, WarmupState::Degraded);
    warmup.refreshed(Ok(()), at(7_302));
    assert_eq!(warmup.status(at(7_302)).last_error, None);
}

// mind 44, 48-51, 134
#[test]
fn a_cold_dispatch_is_counted_with_its_labels_and_a_warm_one_is_not() {
    let mut warmup = Warmup::new("ada", None);
    for process in [ProcessType::Channel, ProcessType::Worker, ProcessType::Channel] {
        assert!(warmup.dispatch(process));
    }
    assert_eq!(warmup.cold_dispatch_total(), [("ada", "channel", 2), ("ada", "worker", 1)]);
    assert!(!warm().dispatch(ProcessType::Channel));
}

#[test]
fn switched_off_it_stays_cold() {
    let off = WarmupSettings { enabled: false, ..WarmupSettings::default() };
    let mut warmup = Warmup::new("ada", Some(at(0)));
    assert!(warmup.tick(&off, at(9_999)).is_empty());
    assert_eq!(warmup.status(at(1)).state, WarmupState::Cold);
}
