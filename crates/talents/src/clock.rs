//! What comes in from outside: the time and chance.
//!
//! Nothing else in the bus, the runner or the supervisor reads a clock or rolls dice, so each of them can be tested
//! on a clock that a test moves and on dice that a test chooses.

use std::fmt::Debug;
use std::sync::Arc;

use jiff::Timestamp;

/// Tells the time of day. Waiting is the runtime's business; this is for stamps, days and midnights.
pub trait Clock: Debug + Send + Sync + 'static {
    fn now(&self) -> Timestamp;

    /// Milliseconds since 1970, the unit of every `ts` on the wire; never negative.
    fn millis(&self) -> u64 {
        u64::try_from(self.now().as_millisecond()).unwrap_or(0)
    }
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A number in `0.0 .. 1.0`, for the jitter of a wait.
pub trait Jitter: Debug + Send + Sync + 'static {
    fn roll(&self) -> f64;
}

/// The operating system's randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemJitter;

impl Jitter for SystemJitter {
    fn roll(&self) -> f64 {
        // Without randomness waits lose their jitter, nothing else.
        f64::from(getrandom::u32().unwrap_or(u32::MAX / 2)) / (f64::from(u32::MAX) + 1.0)
    }
}

/// The clock and the dice that the parts of a daemon share.
#[derive(Clone, Debug)]
pub struct Timing {
    pub clock: Arc<dyn Clock>,
    pub jitter: Arc<dyn Jitter>,
}

impl Timing {
    pub fn system() -> Timing {
        Timing { clock: Arc::new(SystemClock), jitter: Arc::new(SystemJitter) }
    }
}
