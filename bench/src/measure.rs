//! Timing and the table: a measured value, what it is compared with, the ratio and the bar it must meet.

use std::fmt::Display;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Sorted samples of one operation.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<Duration>);

impl Samples {
    pub fn new(mut times: Vec<Duration>) -> Samples {
        times.sort_unstable();
        Samples(times)
    }

    pub fn of(count: usize, mut run: impl FnMut(usize)) -> Samples {
        Samples::new((0..count).map(|i| timed(|| run(i)).1).collect())
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    fn at(&self, percent: usize) -> Duration {
        self.0.get(self.0.len() * percent / 100).copied().unwrap_or_default()
    }

    pub fn p50(&self) -> Duration {
        self.at(50)
    }

    pub fn p95(&self) -> Duration {
        self.at(95)
    }

    pub fn p99(&self) -> Duration {
        self.at(99)
    }

    pub fn most(&self) -> Duration {
        self.0.last().copied().unwrap_or_default()
    }
}

pub fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let value = run();
    (value, start.elapsed())
}

/// Processor time of all threads of this process. It is what an idle machine would show as wall time.
pub fn cpu() -> Duration {
    since_start(ClockId::ProcessCPUTime)
}

/// Processor time of this thread.
pub fn thread_cpu() -> Duration {
    since_start(ClockId::ThreadCPUTime)
}

fn since_start(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// A figure of this process in bytes, by its name in `/proc/self/status`; nothing where there is no such file.
pub fn memory(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1_024)
}

/// How busy the machine is: runnable processes over the last minute.
pub fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split_whitespace().next().unwrap_or("unknown").to_owned()
}

pub fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

pub fn per_second(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

pub fn heading() {
    println!("{:<44} {:>22}  {:<44} {:<26} verdict", "what", "measured", "beside", "bar");
}

pub fn row(what: &str, measured: impl Display, beside: impl Display, bar: impl Display, met: bool) {
    let verdict = if met { "met" } else { "NOT MET" };
    println!("{what:<44} {measured:>22}  {beside:<44} {bar:<26} {verdict}");
}

pub fn note(what: &str, measured: impl Display) {
    println!("{what:<44} {measured:>22}");
}

/// A measured value beside others, without a bar.
pub fn compared(what: &str, measured: impl Display, beside: impl Display) {
    println!("{what:<44} {measured:>22}  {beside}");
}

/// Progress goes to standard error; the table stays clean.
pub fn say(what: impl Display) {
    eprintln!("bench: {what}");
}
