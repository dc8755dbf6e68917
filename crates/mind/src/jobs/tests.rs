//! Jobs on a made-up clock.

use super::*;

const HOUR: i64 = 3_600_000;
const POLICY: BreakerPolicy = BreakerPolicy { threshold: 3, cool_down_ms: 2 * HOUR };

fn jobs() -> Jobs {
    Jobs::new(vec![JobSpec::new("bulletin", "a test", HOUR, POLICY)], JobStates::new(), Millis(0))
}

fn none(_: u64) -> u64 {
    0
}

/// Ticks and answers every start with `outcome`; returns the number of starts.
fn step(jobs: &mut Jobs, now: i64, outcome: std::result::Result<&str, &str>) -> Vec<String> {
    let mut started = Vec::new();
    for effect in jobs.tick(Millis(now)) {
        if let JobEffect::Start { job, run, .. } = effect {
            let outcome = outcome.map(str::to_owned).map_err(str::to_owned);
            jobs.ended(&job, &run, outcome, Millis(now), &mut none).unwrap();
            started.push(run);
        }
    }
    started
}

// mind 4, 70
#[test]
fn a_job_runs_once_per_interval_however_often_the_clock_ticks() {
    let mut jobs = jobs();
    let runs: usize = (0..24 * 60).map(|m| step(&mut jobs, m * 60_000, Ok("done")).len()).sum();
    assert_eq!(runs, 24);
}

#[test]
fn a_simulated_year_of_hourly_ticks_is_quick_and_exact() {
    let mut jobs = Jobs::new(
        vec![
            JobSpec::new("bulletin", "a test", HOUR, POLICY),
            JobSpec::new("maintenance", "a test", 24 * HOUR, POLICY),
        ],
        JobStates::new(),
        Millis(0),
    );
    let runs: usize = (0..365 * 24).map(|h| step(&mut jobs, h * HOUR, Ok("done")).len()).sum();
    assert_eq!(runs, 365 * 24 + 365);
    assert_eq!(jobs.states()["maintenance"].reports.len(), REPORTS_MAX);
}

#[test]
fn a_job_that_runs_is_not_started_again_and_is_cancelled_then_abandoned() {
    let mut jobs = jobs();
    let JobEffect::Start { run, deadline, .. } = jobs.tick(Millis(0)).remove(0) else { panic!() };
    assert!(jobs.tick(Millis(1)).is_empty());
    assert!(matches!(jobs.run_now("bulletin", Millis(1)), Err(MindError::JobRunning { .. })));
    let running = jobs.view().remove(0).running.unwrap();
    assert_eq!(running.deadline_unix_ms, deadline.get());
    let (job, run2) = ("bulletin".to_owned(), run.clone());
    let cancel = JobEffect::Cancel { job: job.clone(), run: run2.clone() };
    assert_eq!(jobs.tick(deadline), [cancel]);
    assert!(jobs.tick(deadline).is_empty(), "asked once");
    let later = Millis(deadline.get() + 600_000);
    assert!(jobs.tick(Millis(later.get() - 1)).is_empty());
    assert_eq!(jobs.tick(later), [JobEffect::Abandon { job, run: run2 }]);
    let late = jobs.ended("bulletin", &run, Ok("too late".into()), later, &mut none);
    assert!(matches!(late, Err(MindError::NotThatRun { .. })));
    let last = jobs.view().remove(0).last.unwrap();
    assert_eq!(last.ending, JobEnding::TimedOut);
}

#[test]
fn failures_wait_longer_each_time_and_then_the_breaker_acts() {
    let mut jobs = jobs();
    let mut starts = Vec::new();
    for second in 0..4 * 3_600 {
        let now = second * 1_000;
        starts.extend(step(&mut jobs, now, Err("no provider")).iter().map(|_| second));
    }
    // 30 s, 60 s, then two hours of rest, one try, two hours of rest.
    assert_eq!(starts, [0, 30, 90, 90 + 7_200]);
    let view = jobs.view().remove(0);
    assert_eq!(view.breaker.trips, 2);
    assert_eq!(view.next_unix_ms, Some((90 + 14_400) * 1_000));
    assert_eq!(step(&mut jobs, (90 + 14_400) * 1_000, Ok("fine")).len(), 1);
    assert_eq!(jobs.view()[0].breaker.failures, 0);
}

#[test]
fn pause_holds_a_job_and_run_now_starts_even_a_paused_one() {
    let mut jobs = jobs();
    jobs.pause("bulletin").unwrap();
    assert!(jobs.tick(Millis(HOUR)).is_empty() && jobs.view()[0].next_unix_ms.is_none());
    let JobEffect::Start { run, cause, .. } = jobs.run_now("bulletin", Millis(HOUR)).unwrap()
    else {
        panic!()
    };
    assert_eq!(cause, JobCause::Asked);
    jobs.ended("bulletin", &run, Ok("done".into()), Millis(HOUR), &mut none).unwrap();
    jobs.resume("bulletin").unwrap();
    assert!(jobs.tick(Millis(2 * HOUR - 1)).is_empty());
    assert_eq!(jobs.tick(Millis(2 * HOUR)).len(), 1);
    assert!(matches!(jobs.pause("nap"), Err(MindError::UnknownJob(_))));
}

#[test]
fn a_restart_keeps_the_plan_and_names_what_was_interrupted() {
    let spec = || vec![JobSpec::new("maintenance", "a test", 24 * HOUR, POLICY)];
    let mut jobs = Jobs::new(spec(), JobStates::new(), Millis(0));
    let mut runs = 0;
    // Restarted every hour, the daily job still runs every day.
    for hour in 0..72 {
        let now = Millis(hour * HOUR);
        let text = serde_json::to_string(jobs.states()).unwrap();
        jobs = Jobs::new(spec(), serde_json::from_str(&text).unwrap(), now);
        runs += step(&mut jobs, now.get(), Ok("done")).len();
    }
    assert_eq!(runs, 3);
    let now = Millis(80 * HOUR);
    assert_eq!(jobs.tick(now).len(), 1);
    let jobs = Jobs::new(spec(), jobs.states().clone(), now);
    assert_eq!(jobs.view()[0].last.as_ref().unwrap().ending, JobEnding::Interrupted);
    assert_eq!(jobs.view()[0].next_unix_ms, Some(now.get() + 30_000));
}

#[test]
fn jitter_comes_from_outside_and_stays_within_its_bound() {
    let mut jobs = jobs();
    let JobEffect::Start { run, .. } = jobs.tick(Millis(0)).remove(0) else { panic!() };
    let mut greedy = |max: u64| max + 1_000_000;
    jobs.ended("bulletin", &run, Ok(String::new()), Millis(0), &mut greedy).unwrap();
    assert_eq!(jobs.view()[0].next_unix_ms, Some(HOUR + HOUR / 20));
}

#[test]
fn new_intervals_count_at_once_and_what_runs_goes_on() {
    let mut jobs = jobs();
    let JobEffect::Start { run, .. } = jobs.tick(Millis(0)).remove(0) else { panic!() };
    jobs.reconfigure(vec![JobSpec::new("bulletin", "a test", HOUR / 2, POLICY)], Millis(1));
    jobs.ended("bulletin", &run, Ok(String::new()), Millis(1), &mut none).unwrap();
    assert_eq!(jobs.view()[0].next_unix_ms, Some(1 + HOUR / 2));
}
