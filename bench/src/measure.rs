//! Timing and the table: a measured value, what it is compared with, the ratio and the bar it must meet.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// Sorted samples of one operation.
pub struct Samples(Vec<Duration>);

impl Samples {
    pub fn of(count: usize, mut run: impl FnMut(usize)) -> Samples {
        let mut times: Vec<_> = (0..count)
            .map(|i| {
                let start = Instant::now();
                run(i);
                start.elapsed()
            })
            .collect();
        times.sort_unstable();
        Samples(times)
    }

    pub fn p50(&self) -> Duration {
        self.0[self.0.len() / 2]
    }

    pub fn p95(&self) -> Duration {
        self.0[self.0.len() * 95 / 100]
    }

    pub fn p99(&self) -> Duration {
        self.0[self.0.len() * 99 / 100]
    }
}

pub fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let value = run();
    (value, start.elapsed())
}

pub fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

pub fn per_second(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

pub fn row(what: &str, measured: impl Display, beside: impl Display, bar: impl Display, met: bool) {
    let verdict = if met { "met" } else { "NOT MET" };
    println!("{what:<44} {measured:>22}  {beside:<44} {bar:<26} {verdict}");
}

pub fn note(what: &str, measured: impl Display) {
    println!("{what:<44} {measured:>22}");
}
